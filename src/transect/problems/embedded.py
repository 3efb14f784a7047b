"""Functions of few variables hidden in D: u in [-1, 1]^D, and most coordinates do nothing.

``active`` says where the ones that count sit: "first", "last", or at "random" places drawn
with ``active_seed``. Strategies that treat coordinates differently can differ by orders of
magnitude between them. With ``rotation_seed`` no coordinate is idle: the function varies in a
random linear subspace. ``shift_seed`` and the ``Options`` are those of ``placement``.
"""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from .._array import Host
from .._checks import whole_number
from .placement import Formula, Options, place
from .problem import Problem

ACTIVE_STREAM = 2  # see placement.ROTATION_STREAM

# Hartmann's constants, in the form of Dixon and Szegő (1978).
_WEIGHT = np.array([1.0, 1.2, 3.0, 3.2])  # (4,)
_CURVATURE = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)  # (4, 6)
_PEAK = np.array(
    [
        [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ]
)  # (4, 6)


def camelback(
    D: int,
    shift_seed: int | None = None,
    *,
    active: str = "first",
    active_seed: int = 0,
    **options: Unpack[Options],
) -> Problem:
    """The six-hump camelback, x = (3·u_1, 2·u_2), D ≥ 2; least at this optimum and at minus it.

    The leading terms x_1⁶/3 and 4·x_2⁴ hold it up far out; a grid finds nothing lower nearer.
    """
    formula = Formula(
        "camelback",
        _camelback,
        R=np.array([3.0, 2.0]),
        x_best=np.array([0.08984201310031807, -0.7126564030207396]),
        least=-1.0316284534898774,
    )
    return place(formula, D, _active(active, 2, D, active_seed), shift_seed, **options)


def branin(
    D: int,
    shift_seed: int | None = None,
    *,
    active: str = "first",
    active_seed: int = 0,
    **options: Unpack[Options],
) -> Problem:
    """Branin's function, x in [-5, 10] × [0, 15], D ≥ 2; one of its three optima.

    A square plus 10 + (10 - 10/8π)·cos x_1, so nowhere below 10/8π.
    """
    formula = Formula(
        "branin",
        _branin,
        R=np.array([7.5, 7.5]),
        x_best=np.array([math.pi, 2.275]),
        least=10.0 / (8.0 * math.pi),
        centre=np.array([2.5, 7.5]),
    )
    return place(formula, D, _active(active, 2, D, active_seed), shift_seed, **options)


def hartmann6(
    D: int,
    shift_seed: int | None = None,
    *,
    active: str = "first",
    active_seed: int = 0,
    **options: Unpack[Options],
) -> Problem:
    """Hartmann's function of six variables, x in [0, 1]^6, D ≥ 6.

    Its four peaks lie in [0, 1]^6, and clipping a point to that brings it nearer to each, so
    nothing outside is lower.
    """
    formula = Formula(
        "hartmann6",
        _hartmann6,
        R=np.full(6, 0.5),
        x_best=np.array(
            [
                0.20168951100670543,
                0.15001069182345797,
                0.47687397422189703,
                0.2753324304940561,
                0.31165161660011326,
                0.6573005340656204,
            ]
        ),
        least=-3.3223680114155147,
        centre=np.full(6, 0.5),
    )
    return place(formula, D, _active(active, 6, D, active_seed), shift_seed, **options)


def _active(where: str, k: int, D: int, seed: int) -> NDArray[np.intp]:
    """The k of D coordinates that count (k,), in ascending order."""
    D = whole_number("D", D, k)
    if where == "first":
        return np.arange(k)
    if where == "last":
        return np.arange(D - k, D)
    if where == "random":
        rng = np.random.default_rng([whole_number("active_seed", seed, 0), ACTIVE_STREAM])
        return np.sort(rng.choice(D, k, replace=False))
    raise ValueError(f"active must be 'first', 'last' or 'random', got {where!r}")


def _camelback(x: Host) -> float:
    a, b = float(x[0]) ** 2, float(x[1]) ** 2
    return (4.0 - 2.1 * a + a * a / 3.0) * a + float(x[0] * x[1]) + (-4.0 + 4.0 * b) * b


def _branin(x: Host) -> float:
    x1, x2 = float(x[0]), float(x[1])
    valley = x2 - 5.1 / (4.0 * math.pi**2) * x1**2 + 5.0 / math.pi * x1 - 6.0
    return valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x1) + 10.0


def _hartmann6(x: Host) -> float:
    return -float(_WEIGHT @ np.exp(-np.sum(_CURVATURE * (x - _PEAK) ** 2, axis=1)))
