"""Subspaces of [-1, 1]^D on which an acquisition is maximised.

``Subspace`` is one affine piece, offset + basis·v with v in a box: the whole box, a
segment, an embedding. ``Slices`` is the paper's set Z_t: many axis-aligned pieces that
share their free coordinates and differ in where they fix the others (Definition 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._array import Host

FLOATS_PER_COUNT = 8  # float32 numbers that one tick of the Philox counter yields


@dataclass(frozen=True, eq=False)
class Subspace:
    """{offset + basis·v : lower ≤ v ≤ upper}, inside [-1, 1]^D."""

    offset: Host  # (D,)
    basis: Host | None  # (D, d); None is the identity, d = D
    lower: Host  # (d,)
    upper: Host  # (d,)

    @staticmethod
    def whole(D: int) -> Subspace:
        """The box [-1, 1]^D itself."""
        return Subspace(np.zeros(D), None, np.full(D, -1.0), np.full(D, 1.0))

    @staticmethod
    def segment(x: Host, direction: Host) -> Subspace:
        """The part of the line x + s·direction inside the box; s = 0 is x (D,)."""
        with np.errstate(all="ignore"):
            crossings = np.stack([(-1.0 - x) / direction, (1.0 - x) / direction])  # (2, D)
        crossings = crossings[:, direction != 0.0]
        if crossings.shape[1] == 0:
            raise ValueError("direction must not be zero")
        lower = min(0.0, float(np.max(np.min(crossings, axis=0))))
        upper = max(0.0, float(np.min(np.max(crossings, axis=0))))
        return Subspace(x, direction[:, None], np.array([lower]), np.array([upper]))

    @property
    def d(self) -> int:
        return len(self.lower)

    def point(self, v: Host) -> Host:
        """Points (..., D) of coordinates v (..., d)."""
        x = self.offset + (v if self.basis is None else v @ self.basis.T)
        return np.clip(x, -1.0, 1.0)


@dataclass(frozen=True)
class Slices:
    """The growing set Z_t: slice j fixes the first D-d coordinates at z_j.

    The z_j are uniform on [-1, 1]^(D-d) and come from a counter-based generator: z_j is
    a function of ``key`` and j alone, so a set is its key and its size, sets are nested,
    and any part of one can be drawn again instead of being held in memory. They are
    float32 numbers, which float64 holds exactly.

    ``order`` (D,) permutes coordinates: entry i of (z, v) is coordinate order[i].
    """

    D: int
    d: int
    key: int
    order: NDArray[np.intp] | None = None

    @property
    def fixed(self) -> slice | NDArray[np.intp]:
        """Index of the D-d fixed coordinates; a slice, hence views, unless permuted."""
        n = self.D - self.d
        return slice(0, n) if self.order is None else self.order[:n]

    @property
    def free(self) -> slice | NDArray[np.intp]:
        """Index of the d free coordinates."""
        n = self.D - self.d
        return slice(n, self.D) if self.order is None else self.order[n:]

    def z(self, start: int, stop: int) -> NDArray[np.float32]:
        """Rows z_start..z_stop-1, (stop - start, D-d), in [-1, 1)."""
        n = self.D - self.d
        ticks = -(-n // FLOATS_PER_COUNT)
        if ticks == 0:
            return np.zeros((stop - start, 0), dtype=np.float32)
        generator = np.random.Generator(np.random.Philox(key=self.key, counter=start * ticks))
        uniform = generator.random((stop - start, ticks * FLOATS_PER_COUNT), dtype=np.float32)
        uniform *= 2.0  # in place, and exact: multiples of 2^-23
        uniform -= 1.0
        return uniform[:, :n]

    def point(self, z: NDArray[np.float32], v: Host) -> Host:
        """Points (..., D) with fixed part z (..., D-d) and free part v (..., d)."""
        x = np.empty((*v.shape[:-1], self.D))
        x[..., self.fixed] = z
        x[..., self.free] = v
        return x
