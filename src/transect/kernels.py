"""Stationary kernels as functions of the squared, length-scaled distance.

With ``sq = Σ_i ((x_i - x'_i) / ℓ_i)²`` a kernel is a scalar function k(sq), k(0) = 1.
Differentiating in ``sq`` instead of the distance removes the square root's singular
point: dk/dsq is finite at sq = 0 for both kernels here, and a gradient in x is one
matrix product away (``∂sq/∂x = 2 (x - x') / ℓ²``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from ._array import Array, namespace


class Kernel(Protocol):
    """A kernel k(sq) with k(0) = 1 and its derivative."""

    @property
    def name(self) -> str: ...

    def value(self, sq: Array) -> Array:
        """k(sq), same shape as ``sq``."""
        ...

    def value_slope(self, sq: Array) -> tuple[Array, Array]:
        """k(sq) and dk/dsq; they share the exponential."""
        ...


@dataclass(frozen=True)
class Matern52:
    """Matérn kernel with ν = 5/2: k = (1 + s + s²/3)·exp(-s), s = sqrt(5·sq).

    ds/dsq = 5/(2s) and dk/ds = -(s/3)(1 + s)·exp(-s), so
    dk/dsq = -(5/6)(1 + s)·exp(-s): the 1/s cancels.
    """

    name: ClassVar[str] = "matern52"

    def value(self, sq: Array) -> Array:
        xp = namespace(sq)
        s = xp.sqrt(5.0 * sq)
        k = s / 3.0  # from here on in place: new arrays cost as much as the arithmetic
        k += 1.0
        k *= s
        k += 1.0
        k *= xp.exp(-s)
        return k

    def value_slope(self, sq: Array) -> tuple[Array, Array]:
        xp = namespace(sq)
        s = xp.sqrt(5.0 * sq)
        k = xp.exp(-s)
        s += 1.0
        s *= k  # (1 + s)·exp(-s)
        k *= sq
        k *= 5.0 / 3.0  # s²/3·exp(-s)
        k += s
        s *= -5.0 / 6.0
        return k, s


@dataclass(frozen=True)
class RBF:
    """Squared-exponential kernel: k = exp(-sq/2), dk/dsq = -k/2."""

    name: ClassVar[str] = "rbf"

    def value(self, sq: Array) -> Array:
        return namespace(sq).exp(-0.5 * sq)

    def value_slope(self, sq: Array) -> tuple[Array, Array]:
        k = self.value(sq)
        return k, -0.5 * k


KERNELS: dict[str, Kernel] = {"matern52": Matern52(), "rbf": RBF()}


def squared_distance(A: Array, B: Array) -> Array:
    """|a - b|² for all rows: (p, D), (q, D) -> (p, q), by one matrix product."""
    xp = namespace(A)
    a, b = xp.vecdot(A, A), xp.vecdot(B, B)  # (p,), (q,)
    # rounding may leave -1e-16 where the rows agree
    return xp.clip(a[:, None] + b[None, :] - 2.0 * (A @ B.T), 0.0, None)
