"""Random embeddings x = clip(A·y), and the inputs a process may see their points by.

Two maps for processes that are not defined on y itself: the clipped point x, and ψ of Binois,
Ginsbourger and Roustant (2015), which puts points that clipping made equal close together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._array import Array, Host, like, namespace


@dataclass(frozen=True, eq=False)
class Clipped:
    """v (p, d) in [-1, 1] to x = clip(A·side·v) (p, D)."""

    A: Host  # (D, d)
    side: float = 1.0  # y = side·v

    @property
    def width(self) -> int:
        return len(self.A)

    def raw(self, V: Array) -> Array:
        """A·y before it is clipped, (p, D)."""
        return (self.side * V) @ like(V, self.A).T

    def points(self, V: Array) -> Array:
        return namespace(V).clip(self.raw(V), -1.0, 1.0)

    def points_and_pull_back(self, V: Array) -> tuple[Array, Callable[[Array], Array]]:
        raw = self.raw(V)
        return namespace(V).clip(raw, -1.0, 1.0), lambda G: self.pull_back(raw, G)

    def pull_back(self, raw: Array, G: Array) -> Array:
        """The chain rule at ``raw`` (p, D): a clipped coordinate is constant."""
        xp = namespace(raw)
        return self.side * (xp.where(xp.abs(raw) <= 1.0, G, xp.zeros_like(G)) @ like(G, self.A))


@dataclass(frozen=True, eq=False)
class Psi:
    """v (p, d) to ψ(x) for x = clip(A·side·v), in an orthonormal basis of range(A), (p, d).

    Where nothing is clipped ψ = x. Elsewhere, with z the orthogonal projection of x on
    range(A) and z' = z / max_i |z_i| its image on the box's boundary,
    ψ = z' + ‖x - z'‖·z'/‖z'‖. Everything is in range(A), hence has d coordinates q = Qᵀψ;
    they are scaled so that they are of order one.
    """

    clipped: Clipped

    @cached_property
    def _Q(self) -> Host:
        basis: Host = np.linalg.qr(self.clipped.A)[0]  # (D, d)
        return basis

    @property
    def width(self) -> int:
        return self.clipped.width

    @property
    def _scale(self) -> float:
        D, d = self.clipped.A.shape
        return float(np.sqrt(d / D))

    def points(self, V: Array) -> Array:
        return self._scale * self._parts(V).q

    def points_and_pull_back(self, V: Array) -> tuple[Array, Callable[[Array], Array]]:
        parts = self._parts(V)
        return self._scale * parts.q, lambda G: self._pull_back(parts, G)

    def _parts(self, V: Array) -> _PsiParts:
        xp = namespace(V)
        raw = self.clipped.raw(V)
        x = xp.clip(raw, -1.0, 1.0)
        Q = like(V, self._Q)
        q_z = x @ Q  # z in the basis
        z = q_z @ Q.T
        at = xp.argmax(xp.abs(z), axis=1)  # where |z_i| is largest
        top = xp.take_along_axis(z, at[:, None], axis=1)[:, 0]
        mu = xp.where(top == 0.0, xp.ones_like(top), xp.abs(top))
        q_1 = q_z / mu[:, None]  # z'
        h = _safe(xp.sqrt(xp.vecdot(q_1, q_1)))
        # ‖x - z'‖², since z' is in range(A) and x - z is orthogonal to it
        gap = xp.vecdot(x, x) - 2.0 * xp.vecdot(q_z, q_1) + h * h
        r = xp.sqrt(xp.clip(gap, 0.0, None))
        inside = xp.all(xp.abs(raw) <= 1.0, axis=1)
        q = xp.where(inside[:, None], q_z, q_1 * (1.0 + r / h)[:, None])
        return _PsiParts(raw, x, q_z, q_1, q, mu, h, r, xp.sign(top), at, inside)

    def _pull_back(self, p: _PsiParts, G: Array) -> Array:
        """Reverse-mode chain rule through ``_parts``, line by line from its end."""
        xp = namespace(G)
        Q = like(G, self._Q)
        g = self._scale * G
        g_s = xp.vecdot(g, p.q_1)  # of the stretch s = 1 + r/h
        g_r = g_s / p.h
        by_gap = g_r / _safe(p.r)  # r·dr = x·dx - q_1·dq_z - q_z·dq_1 + q_1·dq_1
        g_q_1 = (
            (1.0 + p.r / p.h)[:, None] * g
            - (g_s * p.r / p.h**3)[:, None] * p.q_1
            + by_gap[:, None] * (p.q_1 - p.q_z)
        )
        g_mu = -xp.vecdot(g_q_1, p.q_1) / p.mu
        g_q_z = (
            g_q_1 / p.mu[:, None]
            - by_gap[:, None] * p.q_1
            + (g_mu * p.sign)[:, None] * xp.take(Q, p.at, axis=0)
        )
        outside = by_gap[:, None] * p.x + g_q_z @ Q.T
        return self.clipped.pull_back(p.raw, xp.where(p.inside[:, None], g @ Q.T, outside))


@dataclass(frozen=True, eq=False)
class _PsiParts:
    """What ψ is made of; q_… are coordinates in the orthonormal basis."""

    raw: Array  # (p, D), A·y
    x: Array  # (p, D), clipped
    q_z: Array  # (p, d), projection
    q_1: Array  # (p, d), on the boundary
    q: Array  # (p, d), ψ
    mu: Array  # (p,), max |z_i|
    h: Array  # (p,), ‖z'‖
    r: Array  # (p,), ‖x - z'‖
    sign: Array  # (p,), of the z_i that is largest
    at: Array  # (p,), which one that is
    inside: Array  # (p,), nothing clipped


def _safe(positive: Array) -> Array:
    """The array with ones instead of zeros, to divide by."""
    xp = namespace(positive)
    return xp.where(positive > 0.0, positive, xp.ones_like(positive))
