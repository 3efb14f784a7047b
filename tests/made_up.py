"""Small made-up data sets as files, and a stand-in for OpenML."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from transect.problems import data, datasets
from transect.problems.data import CACHE_VARIABLE, VARIABLE
from transect.problems.datasets import Facts, ImageFacts, TwoClasses
from transect.problems.stand_in import stand_in

STAND_IN = "gisette_like/gisette_like.npz"
TRAIN_IMAGES, TRAIN_LABELS = (f"mnist/train-{n}-ubyte.gz" for n in ("images-idx3", "labels-idx1"))
TEST_IMAGES, TEST_LABELS = (f"mnist/t10k-{n}-ubyte.gz" for n in ("images-idx3", "labels-idx1"))
MNIST_FILES = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class World:
    """A folder with data sets, and the facts about them."""

    folder: Path
    pixels: tuple[NDArray[np.uint8], ...]  # of both parts; empty where they are not made up
    labels: tuple[NDArray[np.uint8], ...]
    gisette: tuple[NDArray[np.int64], ...] = ()  # X, y, X, y


def idx(array: NDArray[np.uint8], *shape: int) -> bytes:
    lengths = b"".join(n.to_bytes(4, "big") for n in shape)
    return bytes([0, 0, 8, len(shape)]) + lengths + array.tobytes()


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)


LOADERS: dict[str, Callable[..., Any]] = {
    "mnist": datasets.mnist,
    "gisette": datasets.gisette,
    "gisette_like": datasets.gisette_like,
}


def isolate(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty cache, no folder of data, and no way out to the network."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", Fake(None))
    return tmp_path / "cache"


def make_up(tmp_path: Path, monkeypatch: Patch) -> World:
    """All data sets on a small scale: 10 by 10 live pixels, and facts that fit them."""
    rng = np.random.default_rng(0)
    counts = ((3, 1, 2, 1, 40, 1, 2, 1, 1, 38), (1, 2, 1, 1, 9, 1, 1, 1, 1, 12))
    labels = [rng.permutation(np.repeat(np.arange(10, dtype=np.uint8), c)) for c in counts]
    pixels = [np.zeros((len(y), 28, 28), np.uint8) for y in labels]
    for images in pixels:
        images[:, 6:16, 9:19] = rng.integers(0, 256, (len(images), 10, 10))
    flat = [images.reshape(len(images), 784) for images in pixels]
    facts = tuple(
        ImageFacts(old.files, c, int(x.sum()))
        for old, c, x in zip(datasets.MNIST, counts, flat, strict=True)
    )
    monkeypatch.setattr(datasets, "MNIST", facts)
    for i, (x, y) in enumerate(zip(pixels, labels, strict=True)):
        write(tmp_path / "data" / MNIST_FILES[2 * i], idx(x, len(x), 28, 28))
        write(tmp_path / "data" / MNIST_FILES[2 * i + 1], idx(y, len(y)))
    arrays = stand_in(
        np.concatenate(flat), np.concatenate(labels).astype(np.int64), 255, 300, (40, 7), 1
    )
    sums = (int(arrays["train_data"].sum()), int(arrays["valid_data"].sum()))
    monkeypatch.setattr(datasets, "GISETTE_LIKE", Facts("gisette-like", 300, (40, 7), (sums,)))
    data.keep(tmp_path / "data" / STAND_IN, arrays)
    examples = write_gisette(tmp_path / "data", rng)
    sums = (int(examples[0].sum()), int(examples[2].sum()))
    monkeypatch.setattr(datasets, "GISETTE", Facts("gisette", 12, (5, 2), (sums,)))
    return World(tmp_path / "data", tuple(flat), tuple(labels), examples)


def write_gisette(folder: Path, rng: np.random.Generator) -> tuple[NDArray[np.int64], ...]:
    """UCI's four text files with 10 and 4 examples of 12 features."""
    examples: list[NDArray[np.int64]] = []
    for part, each in (("train", 5), ("valid", 2)):
        X = rng.integers(1, 1000, (2 * each, 12)) * (rng.uniform(size=(2 * each, 12)) < 0.3)
        y = rng.permutation(np.repeat([1, -1], each))
        lines = "".join(" ".join(map(str, row)) + " \n" for row in X)  # UCI has that last blank
        write(folder / f"gisette/gisette_{part}.data", lines.encode())
        write(folder / f"gisette/gisette_{part}.labels", "\n".join(map(str, y)).encode())
        examples += [X, y]
    return tuple(examples)


class Fake:
    """In place of ``fetch_openml``: gives or raises the answer, and remembers the calls."""

    def __init__(self, answer: Any, written: int = 0) -> None:
        self.answer, self.written = answer, written
        self.calls: list[tuple[str, Any]] = []
        self.homes: list[Path] = []

    def __call__(
        self, name: str, *, version: Any, data_home: str, as_frame: bool, parser: str
    ) -> Any:
        assert not as_frame
        assert parser in ("auto", "liac-arff")
        self.calls.append((name, version))
        self.homes.append(Path(data_home))
        (Path(data_home) / "sub").mkdir()
        (Path(data_home) / "sub" / "bytes").write_bytes(bytes(self.written))
        if isinstance(self.answer, BaseException):
            raise self.answer
        assert self.answer is not None, "no test may go to the network"
        return SimpleNamespace(data=self.answer[0], target=self.answer[1])


def fake(monkeypatch: Patch, answer: Any, written: int = 0) -> Fake:
    instead = Fake(answer, written)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", instead)
    return instead


def check_form(both: TwoClasses, features: int, each: tuple[int, int]) -> None:
    assert both.levels == 999
    for split, n in zip((both.train, both.valid), each, strict=True):
        assert split.X.shape == (2 * n, features)
        assert split.X.dtype == np.uint16
        assert split.X.indices.dtype == split.X.indptr.dtype == np.int32
        assert split.X.data.min() > 0
        assert split.X.data.max() <= 999
        assert split.y.dtype == np.int8
        assert [int((split.y == label).sum()) for label in (1, -1)] == [n, n]


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    changed = bytes(255 - byte for byte in content[middle : middle + 50])
    return content[:middle] + changed + content[middle + 50 :]
