"""A stand-in for Gisette, made from images of fours and nines by the recipe published for it.

Guyon, "Design of experiments for the NIPS 2003 variable selection benchmark" (2003). A four is
+1, a nine is -1. Pixels are scaled to [0, 1], and what is under 0.5 is set to 0. Half of the
features are measured on the image: all live pixels, those that are not 0 in every four and
nine, and products of pairs of them. The other half are probes: products of pairs too, each
with its images permuted by itself, so that they say nothing about the class. Values are
rounded to 0..999; features and images come in random order.

An earlier stand-in, made elsewhere (see ``datasets``), shows what the recipe leaves open: live
means live in any four or nine, not only in those chosen; a probe takes its values from all
fours and nines; no pair comes twice; and pixels of pairs lie around the middle of the upper
part of the image, where a four and a nine differ. Its draws cannot be told from it. Ours: pairs
without replacement, with probability proportional to a Gaussian weight of either pixel, whose
centre and spread are fitted to the pairs of that stand-in; measured pairs before the probes'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._array import Host

TOP = 999  # the largest value of a feature
PIXEL, PAIR, PROBE = 0, 1, 2  # kinds of feature
FOUR, NINE = 4, 9

_CENTRE = (0.38, 0.5)  # of pairs, as parts of the height and the width
_SPREAD = 0.1375  # of pairs, a standard deviation, as a part of height and width

Integers = NDArray[np.int64]


def ink(pixels: NDArray[np.uint8], levels: int) -> Host:
    """Pixels (n, p) of 0..levels as numbers in {0} ∪ [0.5, 1], one row per pixel: (p, n)."""
    scaled: Host = np.ascontiguousarray(pixels.T) / levels
    scaled[scaled < 0.5] = 0.0
    return scaled


def measure(values: Host, kind: int, a: int, b: int) -> NDArray[np.uint16]:
    """One feature of all images (n,), from ``ink`` (p, n): pixel a, or a times b."""
    value: Host = values[a] if kind == PIXEL else values[a] * values[b]
    rounded: Host = np.rint(TOP * value)
    return rounded.astype(np.uint16)


def draw_pairs(live: Integers, p: int, count: int, rng: np.random.Generator) -> Integers:
    """Distinct pairs a < b of live pixels (count, 2), the likely ones near the centre first."""
    side = int(np.sqrt(p))
    first, second = np.triu_indices(len(live), 1)
    if count > len(first):
        raise ValueError(f"{len(live)} live pixels have {len(first)} pairs, {count} are needed")
    row, column = (live // side + 0.5) / side, (live % side + 0.5) / side
    square = (row - _CENTRE[0]) ** 2 + (column - _CENTRE[1]) ** 2
    log_weight = -square / (2.0 * _SPREAD**2)
    # The arrival of exponential clocks is a draw without replacement (Efraimidis & Spirakis
    # 2006).
    uniform = rng.integers(1, 2**53, len(first)) / 2.0**53
    arrival = np.log(-np.log(uniform)) - log_weight[first] - log_weight[second]
    order = np.argsort(arrival, kind="stable")[:count]
    return np.column_stack([live[first[order]], live[second[order]]])


def draw_features(live: Integers, p: int, features: int, rng: np.random.Generator) -> Integers:
    """What each feature is: (kind, a, b), in random order (features, 3)."""
    probes = features // 2
    pixels = np.sort(rng.permutation(live)[: features - probes])  # all, unless they are too many
    pairs = draw_pairs(live, p, features - len(pixels), rng)
    kinds = np.full(features, PROBE)
    kinds[: features - probes] = PAIR
    kinds[: len(pixels)] = PIXEL
    info = np.column_stack([kinds, np.vstack([np.column_stack([pixels, pixels]), pairs])])
    return info[rng.permutation(features)]


def stand_in(
    pixels: NDArray[np.uint8],
    labels: NDArray[np.int64],
    levels: int,
    features: int,
    each: tuple[int, int],
    seed: int,
) -> dict[str, NDArray[Any]]:
    """From images (n, p): ``each`` many fours and as many nines for training and validation.

    Gives, for both splits, _data, _indices, _indptr (CSR), _y and the rows _mnist_id of the
    images, and feat_info (features, 3).
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    both = np.flatnonzero((labels == FOUR) | (labels == NINE))  # (m,)
    train, valid = _draw_images(labels[both], each, rng)
    values = ink(pixels[both], levels)  # (p, m)
    info = draw_features(np.flatnonzero(values.any(axis=1)), len(values), features, rng)
    chosen = np.concatenate([train, valid])
    X = np.empty((features, len(chosen)), np.uint16)
    for row, (kind, a, b) in zip(X, info, strict=True):
        images = rng.permutation(len(both))[: len(chosen)] if kind == PROBE else chosen
        row[:] = measure(values, kind, a, b)[images]
    arrays: dict[str, NDArray[Any]] = {"feat_info": info.astype(np.int16)}
    for name, rows, block in (
        ("train", train, X[:, : len(train)]),
        ("valid", valid, X[:, len(train) :]),
    ):
        sparse = csr_array(block.T)
        arrays[f"{name}_data"] = sparse.data
        arrays[f"{name}_indices"] = sparse.indices.astype(np.int32)
        arrays[f"{name}_indptr"] = sparse.indptr.astype(np.int32)
        arrays[f"{name}_y"] = np.where(labels[both[rows]] == FOUR, 1, -1).astype(np.int8)
        arrays[f"{name}_mnist_id"] = both[rows].astype(np.int32)
    return arrays


def _draw_images(
    labels: NDArray[np.int64], each: tuple[int, int], rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Rows of training and of validation images, both in random order."""
    train, valid = each
    drawn = [rng.permutation(np.flatnonzero(labels == label)) for label in (FOUR, NINE)]
    if min(len(rows) for rows in drawn) < train + valid:
        counts = " and ".join(str(len(rows)) for rows in drawn)
        raise ValueError(f"{train + valid} fours and nines are needed, there are {counts}")
    first = np.concatenate([rows[:train] for rows in drawn])
    second = np.concatenate([rows[train : train + valid] for rows in drawn])
    return rng.permutation(first), rng.permutation(second)
