"""Numbers of problems that are not ours to ship, read from a folder of the user's.

The folder is the one given, or else the one that the environment variable TRANSECT_DATA
names; each problem has its own sub-folder in it. What is downloaded or built is kept in a
folder of our own: the one that TRANSECT_CACHE names, else transect in $XDG_CACHE_HOME or in
~/.cache.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import io
import math
import os
import tempfile
import threading
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Host

VARIABLE = "TRANSECT_DATA"
CACHE_VARIABLE = "TRANSECT_CACHE"


@dataclass(frozen=True, eq=False)
class Numbers:
    """The arrays of one .npz file, each checked when it is taken."""

    path: Path | str  # where they are from
    arrays: Mapping[str, NDArray[Any]]

    @staticmethod
    def load(name: str, folder: str | Path | None) -> Numbers:
        """From the file ``name``, a path within the folder of all data."""
        return Numbers.read(find(name, folder))

    @staticmethod
    def read(path: Path) -> Numbers:
        """From the file at ``path``. Never unpickles."""
        content = io.BytesIO(path.read_bytes())
        try:
            with np.load(content, allow_pickle=False) as file:
                return Numbers(path, {key: file[key] for key in file.files})
        except Exception as error:  # damage has many faces: half a dozen types come out of zipfile
            raise ValueError(f"{path} is damaged or no .npz file: {error}") from error

    def floats(self, key: str, *shape: int | None) -> Host:
        """Finite numbers of that shape, where None is any length."""
        array = self.take(key)
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
        words = [str(word) for word in self.take(key).ravel()]
        if len(words) != n or not set(words) <= set(allowed):
            raise ValueError(f"{self.path}: {key} must be {n} words out of {', '.join(allowed)}")
        return words

    def take(self, key: str) -> NDArray[Any]:
        """As it is in the file."""
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


def look(name: str, folder: str | Path | None) -> Path | None:
    """The path of the file ``name`` in the folder of all data, None where it is not there."""
    given = os.environ.get(VARIABLE) if folder is None else folder
    path = Path(given or ".").expanduser() / name
    return path if given and path.is_file() else None


def read_idx(path: Path, ndim: int) -> NDArray[np.uint8]:
    """Bytes in the format of MNIST's files, packed or not: (n,), or (n, rest) where ndim > 1.

    The format: 0, 0, 8 for bytes, ndim, ndim lengths of four bytes each, the entries.
    """
    content = _unpacked(path)
    magic = bytes([0, 0, 8, ndim])
    if content[:4] != magic:
        found = content[:4].hex(" ")
        raise ValueError(f"{path} must begin with bytes {magic.hex(' ')}, found {found or 'none'}")
    start = 4 + 4 * ndim
    head = content[4:start].ljust(4 * ndim, b"\0")  # a head that is cut off counts nothing
    shape = [int.from_bytes(head[i : i + 4], "big") for i in range(0, 4 * ndim, 4)]
    if len(content) - start != math.prod(shape):
        size = max(len(content) - start, 0)
        raise ValueError(f"{path} must have entries of shape {tuple(shape)}, found {size} bytes")
    array = np.frombuffer(content, np.uint8, offset=start)
    return array if ndim == 1 else array.reshape(shape[0], math.prod(shape[1:]))


def read_text(path: Path, rows: int, columns: int) -> NDArray[np.int32]:
    """Whole numbers (rows, columns) of a text, with blanks and line ends between them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # that is how NumPy says that a word is no number
            numbers = np.fromstring(_unpacked(path).decode("ascii"), np.int32, sep=" ")
    except (ValueError, DeprecationWarning) as error:
        raise ValueError(f"{path} is damaged or no text of whole numbers: {error}") from error
    if numbers.size != rows * columns:
        raise ValueError(
            f"{path} must have {rows} rows of {columns} numbers, found {numbers.size} numbers"
        )
    return numbers.reshape(rows, columns)


def _unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    try:
        return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def cache() -> Path:
    """The folder of what was downloaded or built; it need not exist yet."""
    if given := os.environ.get(CACHE_VARIABLE):
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "transect"


def keep(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write ``arrays`` as the .npz file ``path``, which is there in full or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(suffix=".part", prefix=f"{path.stem}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def openml(
    name: str, version: int | str, folder: str, files: Sequence[str], page: str
) -> tuple[Any, NDArray[np.float64]]:
    """Entries (n, p), dense or sparse, and labels (n,) of a data set of OpenML.

    FileNotFoundError where that fails, with how to get its ``files`` from ``page`` by hand.
    """
    fetch = scikit_learn("datasets", f"{name} of OpenML").fetch_openml
    parser = "auto" if importlib.util.find_spec("pandas") else "liac-arff"  # pandas' is faster
    place = cache()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as home, _watched(Path(home), name):
            got = fetch(name, version=version, data_home=home, as_frame=False, parser=parser)
        return got.data, np.asarray(got.target).astype(str).astype(np.float64)
    except (OSError, HTTPException, EOFError, zlib.error, ValueError) as error:
        raise FileNotFoundError(
            f"{folder} is not at hand and could not be had from OpenML ({error}). By hand: put "
            f"{', '.join(files)} from {page} into a folder named {folder}, and set {VARIABLE} to "
            "the folder that this one is in."
        ) from None  # dozens of lines from the depths of urllib, and their gist is in brackets


@contextmanager
def _watched(folder: Path, title: str) -> Iterator[None]:
    """A progress bar of the bytes that arrive in ``folder``: ``fetch_openml`` has none."""
    from tqdm import tqdm

    done = threading.Event()
    bar = tqdm(desc=f"{title} from OpenML", unit="B", unit_scale=True, mininterval=0.5)

    def watch() -> None:
        while not done.wait(0.1):
            bar.update(max(_size(folder) - bar.n, 0))  # what is moved may be missing for a moment

    thread = threading.Thread(target=watch, daemon=True)
    with bar:
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            bar.update(max(_size(folder) - bar.n, 0))


def _size(folder: Path) -> int:
    """Bytes of all files in the folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # moved away meanwhile
                total += os.stat(os.path.join(place, name)).st_size
    return total


def scikit_learn(module: str, what: str) -> Any:
    """That module of scikit-learn, which ``what`` needs."""
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise ImportError(
            f"{what} comes through scikit-learn, which the extra 'data' brings: "
            "pip install 'transect[data]'"
        ) from error
