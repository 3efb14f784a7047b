"""Numbers of problems that are not ours to ship, read from a folder of the user's.

The folder is the one given, or else the one that the environment variable TRANSECT_DATA
names; each problem has its own sub-folder in it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Host

VARIABLE = "TRANSECT_DATA"


@dataclass(frozen=True, eq=False)
class Numbers:
    """The arrays of one .npz file, each checked when it is taken."""

    path: Path
    arrays: Mapping[str, NDArray[Any]]

    @staticmethod
    def load(name: str, folder: str | Path | None) -> Numbers:
        """From the file ``name``, a path within the folder of all data."""
        path = find(name, folder)
        content = io.BytesIO(path.read_bytes())
        try:
            with np.load(content) as file:
                return Numbers(path, {key: file[key] for key in file.files})
        except Exception as error:  # damage has many faces: half a dozen types come out of zipfile
            raise ValueError(f"{path} is damaged or no .npz file: {error}") from error

    def floats(self, key: str, *shape: int | None) -> Host:
        """Finite numbers of that shape, where None is any length."""
        array = self._take(key)
        fits = array.ndim == len(shape) and all(
            n in (None, m) for n, m in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise ValueError(
                f"{self.path}: {key} must be finite numbers of shape {shape}, "
                f"is {array.dtype} of shape {array.shape}"
            )
        return array.astype(np.float64)

    def number(self, key: str) -> float:
        return float(self.floats(key))

    def integers(self, key: str, n: int | None) -> NDArray[np.intp]:
        """Whole numbers (n,)."""
        array = self.floats(key, n)
        if not np.array_equal(array, np.rint(array)):
            raise ValueError(f"{self.path}: {key} must be whole numbers")
        return array.astype(np.intp)

    def words(self, key: str, n: int, allowed: tuple[str, ...]) -> list[str]:
        """``n`` of the ``allowed`` words."""
        words = [str(word) for word in self._take(key).ravel()]
        if len(words) != n or not set(words) <= set(allowed):
            raise ValueError(f"{self.path}: {key} must be {n} words out of {', '.join(allowed)}")
        return words

    def _take(self, key: str) -> NDArray[Any]:
        if key not in self.arrays:
            raise ValueError(f"{self.path} has no array {key!r}")
        return self.arrays[key]


def find(name: str, folder: str | Path | None) -> Path:
    """The path of the file ``name`` in the folder of all data."""
    advice = f"set {VARIABLE} to the folder that holds it, or pass folder="
    given = os.environ.get(VARIABLE) if folder is None else folder
    if not given:
        raise FileNotFoundError(f"{name} is needed and no folder was given: {advice}")
    path = Path(given).expanduser() / name
    if not path.is_file():
        raise FileNotFoundError(f"{name} is not in {given}: {advice}")
    return path
