"""Synthetic functions of any number of variables u in [-1, 1]^D, to be minimised.

Each has its least value 0. With ``shift_seed`` the optimum moves from its usual place, often
the middle of the box, by a seeded uniform shift of up to half a unit per coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._array import Host
from ..box import Box


@dataclass(frozen=True, eq=False)
class Problem:
    """f(u) = formula(R·(u - shift)) on [-1, 1]^D; ``optimum`` is where it is 0."""

    name: str
    formula: Callable[[Host], float]
    R: float
    shift: Host  # (D,)
    optimum: Host  # (D,)

    @property
    def box(self) -> Box:
        return Box.of(np.tile([-1.0, 1.0], (len(self.shift), 1)))

    def __call__(self, u: Host) -> float:
        return self.formula(self.R * (np.asarray(u, dtype=np.float64) - self.shift))


def ackley(D: int, shift_seed: int | None = None) -> Problem:
    """Ackley's function, R = 32.768: many local minima on a funnel, flat far out."""
    return _problem("ackley", _ackley, 32.768, np.zeros(D), shift_seed)


def levy(D: int, shift_seed: int | None = None) -> Problem:
    """Levy's function, R = 10: wavy in every coordinate; optimum at x = 1."""
    return _problem("levy", _levy, 10.0, np.ones(D), shift_seed)


def hyper_ellipsoid(D: int, shift_seed: int | None = None) -> Problem:
    """The rotated-hyper-ellipsoid function, R = 65.536: Σ_j (D-j+1)·x_j², separable."""
    return _problem("hyper-ellipsoid", _hyper_ellipsoid, 65.536, np.zeros(D), shift_seed)


def _problem(
    name: str, formula: Callable[[Host], float], R: float, x_best: Host, shift_seed: int | None
) -> Problem:
    shift = np.zeros(len(x_best))
    if shift_seed is not None:
        shift = np.random.default_rng(shift_seed).uniform(-0.5, 0.5, len(x_best))
    return Problem(name, formula, R, shift, x_best / R + shift)


def _ackley(x: Host) -> float:
    root = math.sqrt(float(np.mean(x * x)))
    waves = float(np.mean(np.cos(2.0 * np.pi * x)))
    return -20.0 * math.exp(-0.2 * root) - math.exp(waves) + 20.0 + math.e


def _levy(x: Host) -> float:
    w = 1.0 + (x - 1.0) / 4.0
    first = math.sin(math.pi * w[0]) ** 2
    middle = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:-1] + 1.0) ** 2)
    last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
    return float(first + np.sum(middle) + last)


def _hyper_ellipsoid(x: Host) -> float:
    return float(np.arange(len(x), 0, -1) @ (x * x))
