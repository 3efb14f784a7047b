"""A formula placed on the box [-1, 1]^D: on some or all coordinates, shifted, rotated.

A formula of x (k,) has a usual domain centre ± R, where it is least at x*. It is laid on k
active coordinates of the box, and b (D,) is its optimum there: (x* - centre)/R, and 0 in the
coordinates that are not active. Placed, it is

    f(u) = formula(centre + R·w),    w = u - s at the active coordinates,
                            rotated: w = b + Q·(u - s - b) there,

with a shift s (D,) and an orthogonal Q, of which the k active rows are enough. The rotation is
about the optimum, x = x* + R·Q·(u - u*), so u* = b + s whatever Q is; and s is drawn such that
u* lies inside the box. Far from u* a formula is then used outside its usual domain: each one
here has its least value there, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from .._array import Host
from .._checks import positive_number, whole_number
from ..box import Box
from .problem import Problem

ROTATION_STREAM = 1  # one seed may serve for everything: each kind of draw has its own stream


class Options(TypedDict, total=False):
    """What every placed problem takes beside D and ``shift_seed``.

    shift: the most that a seeded shift moves a coordinate of the optimum (0.5).
    rotation_seed: seeds a rotation about the optimum (None: not rotated).
    noise, noise_seed: as in ``Problem``.
    """

    shift: float
    rotation_seed: int | None
    noise: float
    noise_seed: int


@dataclass(frozen=True, eq=False)
class Formula:
    """A function of x (k,), its usual domain and its least value; numbers count for all k."""

    name: str
    value: Callable[[Host], float]
    R: float | Host
    x_best: float | Host
    least: float = 0.0
    centre: float | Host = 0.0


@dataclass(frozen=True, eq=False)
class Placed:
    """The objective f(u), u (D,)."""

    formula: Formula
    active: NDArray[np.intp]  # (k,)
    b: Host  # (D,)
    shift: Host  # (D,)
    Q: Host | None  # (k, D), orthonormal rows

    def __call__(self, u: Host) -> float:
        w = u - self.shift  # (D,)
        if self.Q is None:
            w = w[self.active]  # (k,)
        else:
            w = self.b[self.active] + self.Q @ (w - self.b)  # (k,)
        return self.formula.value(self.formula.centre + self.formula.R * w)


def place(
    formula: Formula,
    D: int,
    active: NDArray[np.intp],
    shift_seed: int | None,
    *,
    shift: float = 0.5,
    rotation_seed: int | None = None,
    noise: float = 0.0,
    noise_seed: int = 0,
) -> Problem:
    """The problem on [-1, 1]^D with the formula on the coordinates ``active`` (k,)."""
    b = np.zeros(D)
    b[active] = (formula.x_best - formula.centre) / formula.R
    s = _shift(b, positive_number("shift", shift), shift_seed)
    Q = None if rotation_seed is None else _orthonormal_rows(len(active), D, rotation_seed)
    return Problem(
        formula.name,
        Box.of(np.tile([-1.0, 1.0], (D, 1))),
        Placed(formula, active, b, s, Q),
        formula.least,
        np.clip(b + s, -1.0, 1.0),  # rounding alone could leave the box
        noise,
        noise_seed,
    )


def _shift(b: Host, most: float, seed: int | None) -> Host:
    """Uniform in [-most, most]^D as far as b + s stays in the box: (D,); 0 without a seed."""
    if seed is None:
        return np.zeros(len(b))
    rng = np.random.default_rng(whole_number("shift_seed", seed, 0))
    return rng.uniform(np.maximum(-most, -1.0 - b), np.minimum(most, 1.0 - b))


def _orthonormal_rows(k: int, D: int, seed: int) -> Host:
    """(k, D), the first rows of a uniformly distributed orthogonal matrix."""
    rng = np.random.default_rng([whole_number("rotation_seed", seed, 0), ROTATION_STREAM])
    Q, R = np.linalg.qr(rng.standard_normal((D, k)))
    # LAPACK picks the signs; with those of R's diagonal the distribution is uniform.
    rows: Host = (Q * np.copysign(1.0, np.diagonal(R))).T
    return np.ascontiguousarray(rows)
