"""Random points to try on a slice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
