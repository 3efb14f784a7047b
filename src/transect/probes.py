"""Random points to try: on a slice, and on slices through points that are known to be good."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._array import Host

MOVED = 20  # coordinates that are moved, at most
STEP = 0.4  # standard deviation of a move, of a box side of 2
Single = NDArray[np.float32]


def all_corners(q: int, d: int) -> bool:
    """Whether the corners of a slice are at most half of q points."""
    return bool(2 ** (d + 1) <= q)


def random_probes(rng: np.random.Generator, shape: tuple[int, ...]) -> Single:
    """Points of [-1, 1]^d, (..., q, d): half uniform, half with coordinates at the ends.

    Upper confidence bounds like to be there; all corners are tried where they are few.
    """
    v = rng.uniform(-1.0, 1.0, shape).astype(np.float32)
    q, d = shape[-2:]
    if all_corners(q, d):
        v[..., -(2**d) :, :] = 2.0 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1) - 1.0
        return v
    snap = (rng.random(shape) < 0.6) & (rng.random((*shape[:-1], 1)) < 0.5)
    return np.where(snap, np.sign(v), v)


def near(points: Host, rng: np.random.Generator, count: int) -> Host:
    """Each of the points (k, d) in turn with up to ``MOVED`` coordinates moved (count, d).

    Not clipped to any box.
    """
    d = points.shape[1]
    moved: Host = points[np.arange(count) % len(points)]  # a copy
    at = rng.integers(0, d, (count, min(MOVED, d)))
    step = rng.normal(0.0, STEP, at.shape)
    np.put_along_axis(moved, at, np.take_along_axis(moved, at, axis=1) + step, axis=1)
    return moved
