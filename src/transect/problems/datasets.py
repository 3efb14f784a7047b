"""Images and two-class data sets, each checked against what was published about it.

MNIST (LeCun and Cortes), Gisette (Guyon 2003), a stand-in for Gisette (see ``stand_in``) and
scikit-learn's digits. A data set is taken from the first of these that has it: the folder of
the user's (see ``data``); what was kept of an earlier download; OpenML. A folder that is given
as an argument must have it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._checks import whole_number
from .data import (
    CACHE_VARIABLE,
    VARIABLE,
    Numbers,
    cache,
    keep,
    look,
    openml,
    read_idx,
    read_text,
    scikit_learn,
)
from .stand_in import TOP, stand_in

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Images:
    """Grey images of the digits 0 to 9."""

    name: str
    pixels: NDArray[np.uint8]  # (n, p)
    labels: NDArray[np.int64]  # (n,), 0..9
    levels: int  # the largest value of a pixel


@dataclass(frozen=True, eq=False)
class Split:
    """Examples of two classes."""

    X: csr_array[np.uint16]  # (L, p), 0..999, without explicit zeros
    y: NDArray[np.int8]  # (L,), +1 or -1


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """A data set of two classes in its two parts."""

    name: str
    levels: int  # the largest value of a feature
    train: Split
    valid: Split


@dataclass(frozen=True)
class ImageFacts:
    """What is published about one of the two parts of MNIST."""

    files: tuple[str, str]  # images, labels
    counts: tuple[int, ...]  # of each digit
    total: int  # the sum of all pixels


@dataclass(frozen=True)
class Facts:
    """What is published about a data set of two classes, for training and validation."""

    name: str
    features: int
    each: tuple[int, int]  # examples of each class
    totals: tuple[tuple[int, int], ...]  # the sums of all entries, of each known edition


SIDE = 28
MNIST = (
    ImageFacts(
        ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        1_567_298_545,
    ),
    ImageFacts(
        ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
        (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
        264_923_200,
    ),
)
GISETTE = Facts("gisette", 5000, (3000, 500), ((3_197_297_133, 529_310_977),))
GISETTE_LIKE = Facts(
    "gisette-like",
    5000,
    (3000, 500),
    (
        (3_233_232_027, 537_118_592),
        (3_216_855_001, 533_533_841),
    ),  # one made elsewhere, the one made here
)
SEED = 2003  # of the stand-ins made here
PARTS = ("train", "valid")
GISETTE_FILES = [f"gisette_{part}.{what}" for part in PARTS for what in ("data", "labels")]


def mnist(folder: str | Path | None = None) -> Images:
    """The 60000 training images of MNIST, then the 10000 test images; 28 by 28 pixels."""
    if paths := _mnist_files(folder):
        arrays = [read_idx(path, 3 if "images" in path.name else 1) for path in paths]
        return _images(arrays[0::2], arrays[1::2], paths)
    return _kept("mnist", _mnist_of_openml, _mnist_of_numbers)


def digits() -> Images:
    """The 1797 images of scikit-learn's ``load_digits``; 8 by 8 pixels."""
    bunch = scikit_learn("datasets", "digits").load_digits()
    pixels = _whole("load_digits", "pixels", bunch.data, (1797, 64), 0, 16)
    labels = _whole("load_digits", "labels", bunch.target, (1797,), 0, 9)
    return Images("digits", pixels.astype(np.uint8), labels.astype(np.int64), 16)


def gisette(folder: str | Path | None = None) -> TwoClasses:
    """Gisette: 6000 training and 1000 validation examples of 5000 features."""
    paths = _files([f"gisette/{name}" for name in GISETTE_FILES], folder)
    if not paths:
        return _kept("gisette", _gisette_of_openml, lambda found: _two_classes(GISETTE, found))
    arrays: dict[str, NDArray[Any]] = {}
    for i, part in enumerate(PARTS):
        rows = 2 * GISETTE.each[i]
        X = read_text(paths[2 * i], rows, GISETTE.features)
        arrays |= _sparse(part, paths[2 * i], X, read_text(paths[2 * i + 1], rows, 1)[:, 0])
    return _two_classes(GISETTE, Numbers(paths[0].parent, arrays), paths)


def gisette_like(folder: str | Path | None = None) -> TwoClasses:
    """The stand-in for Gisette, of the same shape. Never call results on it Gisette results.

    A folder may have it as gisette_like/gisette_like.npz. Else it is made from MNIST, always
    the same one, and kept; it differs in what was drawn from the one in that file, so results on
    the two do not compare exactly.
    """
    name = "gisette_like/gisette_like.npz"
    if path := look(name, folder):
        return _two_classes(GISETTE_LIKE, Numbers.read(path))
    try:
        _mnist_files(folder)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"neither {name} nor MNIST, to make it from: {error}") from error
    return _kept(
        "gisette_like",
        lambda: Numbers("the stand-in made of MNIST", _stand_in(GISETTE_LIKE, mnist(folder))),
        lambda found: _two_classes(GISETTE_LIKE, found),
    )


def digits_like(features: int = 500) -> TwoClasses:
    """The stand-in's recipe on scikit-learn's digits: 300 training, 60 validation examples."""
    facts = Facts("digits-like", whole_number("features", features, 2), (150, 30), ())
    return _two_classes(facts, Numbers("digits", _stand_in(facts, digits())))


def _stand_in(facts: Facts, images: Images) -> dict[str, NDArray[Any]]:
    features, each = facts.features, facts.each
    return stand_in(images.pixels, images.labels, images.levels, features, each, SEED)


# --- checks --------------------------------------------------------------------------


def _images(
    pixels: Sequence[NDArray[Any]], labels: Sequence[NDArray[Any]], sources: Sequence[Path | str]
) -> Images:
    """MNIST from its two parts; ``sources`` says where images, labels, images, labels are from."""
    for i, facts in enumerate(MNIST):
        images, digit, n = sources[2 * i], sources[2 * i + 1], sum(facts.counts)
        _whole(images, "pixels", pixels[i], (n, SIDE * SIDE), 0, 255)
        _whole(digit, "labels", labels[i], (n,), 0, 9)
        counts = tuple(np.bincount(labels[i].astype(np.int64), minlength=10).tolist())
        _same(digit, "the numbers of the digits 0 to 9", counts, [facts.counts])
        _same(images, "the sum of all pixels", int(pixels[i].sum(dtype=np.int64)), [facts.total])
    return Images(
        "mnist",
        np.concatenate(pixels).astype(np.uint8, copy=False),
        np.concatenate(labels).astype(np.int64),
        255,
    )


def _two_classes(
    facts: Facts, numbers: Numbers, sources: Sequence[Path | str] | None = None
) -> TwoClasses:
    """From the arrays of the stand-in's file; ``sources`` as for ``_images``."""
    places = sources or [numbers.path] * 4
    train, valid = (_split(facts, i, numbers, *places[2 * i : 2 * i + 2]) for i in (0, 1))
    return TwoClasses(facts.name, TOP, train, valid)


def _split(facts: Facts, i: int, numbers: Numbers, source: Path | str, labels: Path | str) -> Split:
    """From _data, _indices, _indptr (CSR) and _y of part ``i``."""
    part, each, rows = PARTS[i], facts.each[i], 2 * facts.each[i]
    y, data, indices, indptr = (
        numbers.take(f"{part}_{key}") for key in ("y", "data", "indices", "indptr")
    )
    _whole(labels, f"{part}_y", y, (rows,), -1, 1)
    counts = (int((y == 1).sum()), int((y == -1).sum()))
    _same(labels, f"the numbers of +1 and -1 in {part}_y", counts, [(each, each)])
    _whole(source, f"{part}_data", data, (data.size,), 1, TOP)
    _whole(source, f"{part}_indices", indices, (data.size,), 0, facts.features - 1)
    _whole(source, f"{part}_indptr", indptr, (rows + 1,), 0, data.size)
    ends = indptr.astype(np.int32)
    if ends[0] != 0 or ends[-1] != data.size or (np.diff(ends) < 0).any():
        raise ValueError(f"{source}: {part}_indptr must rise from 0 to {data.size}")
    X = csr_array(
        (data.astype(np.uint16), indices.astype(np.int32), ends), shape=(rows, facts.features)
    )
    if not X.has_canonical_format:
        raise ValueError(f"{source}: {part}_indices must rise within each row")
    if facts.totals:
        known = [totals[i] for totals in facts.totals]
        _same(source, f"the sum of {part}_data", int(data.sum(dtype=np.int64)), known)
    return Split(X, y.astype(np.int8))


def _whole(
    source: Path | str, what: str, array: NDArray[Any], shape: tuple[int, ...], low: int, high: int
) -> NDArray[Any]:
    """``array``, which must be whole numbers from low to high of that shape."""
    found = f"{array.dtype} of shape {array.shape}"
    fits = array.shape == shape and array.dtype.kind in "biuf"
    if fits and array.size:
        least, most = array.min(), array.max()
        found += f" from {least} to {most}"
        whole = array.dtype.kind != "f" or np.array_equal(array, np.rint(array))
        fits = bool(low <= least <= most <= high and whole)
    if not fits:
        raise ValueError(
            f"{source}: {what} must be whole numbers from {low} to {high} of shape {shape}, "
            f"found {found}"
        )
    return array


def _same(source: Path | str, what: str, found: Any, known: Sequence[Any]) -> None:
    if found not in known:
        expected = " or ".join(str(value) for value in known)
        raise ValueError(f"{source}: {what} must be {expected}, found {found}")


# --- where the numbers are from ------------------------------------------------------


def _files(names: Sequence[str], folder: str | Path | None) -> list[Path]:
    """The paths of all files, packed or not. None is fine if no folder was given, some is not."""
    found = [look(f"{name}.gz", folder) or look(name, folder) for name in names]
    paths = [path for path in found if path]
    missing = [name for name, path in zip(names, found, strict=True) if not path]
    if missing and (paths or folder is not None):
        place = os.environ.get(VARIABLE) if folder is None else folder
        raise FileNotFoundError(f"not in {place}: {', '.join(missing)} (with .gz or without)")
    return paths


def _mnist_files(folder: str | Path | None) -> list[Path]:
    return _files([f"mnist/{name}" for part in MNIST for name in part.files], folder)


def _sparse(part: str, source: Path | str, X: Any, y: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Examples X (L, p), dense or sparse, as arrays of the stand-in's file."""
    rows = csr_array(X)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    data = _whole(source, f"entries of {part}", rows.data, rows.data.shape, 0, TOP)
    return {
        f"{part}_data": data.astype(np.uint16),
        f"{part}_indices": rows.indices.astype(np.int32),
        f"{part}_indptr": rows.indptr.astype(np.int32),
        f"{part}_y": y,
    }


def _kept(name: str, make: Callable[[], Numbers], check: Callable[[Numbers], T]) -> T:
    """What ``check`` gives of the numbers kept under ``name``, made first if there are none."""
    path = cache() / f"{name}.npz"
    if path.is_file():
        try:
            return check(Numbers.read(path))
        except ValueError as error:
            raise ValueError(f"{error}. Delete {path}, and it is made anew") from error
    numbers = make()
    result = check(numbers)
    try:
        keep(path, numbers.arrays)
    except OSError as error:
        warnings.warn(
            f"{name} is not kept for the next time ({error}): {CACHE_VARIABLE} can name a folder",
            stacklevel=3,
        )
    return result


def _mnist_of_numbers(numbers: Numbers) -> Images:
    pixels, labels = numbers.take("pixels"), numbers.take("labels")
    cut = [sum(MNIST[0].counts)]
    return _images(np.split(pixels, cut), np.split(labels, cut), [numbers.path] * 4)


def _mnist_of_openml() -> Numbers:
    source = "mnist_784 of OpenML"
    n = sum(sum(part.counts) for part in MNIST)
    files = [f"{name}.gz" for part in MNIST for name in part.files]
    X, y = openml("mnist_784", 1, "mnist", files, "https://ossci-datasets.s3.amazonaws.com/mnist")
    pixels = _whole(source, "pixels", np.asarray(X), (n, SIDE * SIDE), 0, 255)
    labels = _whole(source, "labels", y, (n,), 0, 9)
    return Numbers(source, {"pixels": pixels.astype(np.uint8), "labels": labels.astype(np.uint8)})


def _gisette_of_openml() -> Numbers:
    source = "gisette of OpenML"
    cut, n = 2 * GISETTE.each[0], 2 * sum(GISETTE.each)
    page = "https://archive.ics.uci.edu/dataset/170/gisette"
    X, y = openml("gisette", "active", "gisette", GISETTE_FILES, page)
    _same(source, "the shape", tuple(X.shape), [(n, GISETTE.features)])
    labels = _whole(source, "labels", y, (n,), -1, 1).astype(np.int8)
    rows = csr_array(X)
    train = _sparse("train", source, rows[:cut], labels[:cut])
    return Numbers(source, train | _sparse("valid", source, rows[cut:], labels[cut:]))
