"""Functions of all D variables u in [-1, 1]^D, x = R·u, with known optima.

Each takes ``shift_seed``, which moves the optimum from its usual place, often the middle of
the box where every embedding finds it, and the ``Options``: ``shift``, ``rotation_seed``,
``noise`` and ``noise_seed``. ``placement`` says what they do.
"""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from .._array import Host
from .._checks import whole_number
from .placement import Formula, Options, place
from .problem import Problem


def ackley(D: int, shift_seed: int | None = None, **options: Unpack[Options]) -> Problem:
    """Ackley's function, R = 32.768: many local minima on a funnel, flat far out."""
    return _problem(Formula("ackley", _ackley, 32.768, 0.0), D, shift_seed, options)


def levy(D: int, shift_seed: int | None = None, **options: Unpack[Options]) -> Problem:
    """Levy's function, R = 10: wavy in every coordinate; optimum at x = 1."""
    return _problem(Formula("levy", _levy, 10.0, 1.0), D, shift_seed, options)


def hyper_ellipsoid(D: int, shift_seed: int | None = None, **options: Unpack[Options]) -> Problem:
    """The rotated-hyper-ellipsoid function, R = 65.536: Σ_j (D-j+1)·x_j², separable."""
    formula = Formula("hyper-ellipsoid", _hyper_ellipsoid, 65.536, 0.0)
    return _problem(formula, D, shift_seed, options)


def schwefel12(D: int, shift_seed: int | None = None, **options: Unpack[Options]) -> Problem:
    """Schwefel's function 1.2, R = 65.536: Σ_i (Σ_{j≤i} x_j)², every variable interacts."""
    return _problem(Formula("schwefel-1.2", _schwefel12, 65.536, 0.0), D, shift_seed, options)


def rosenbrock(D: int, shift_seed: int | None = None, **options: Unpack[Options]) -> Problem:
    """Rosenbrock's function, R = 2.048, D ≥ 2: a curved valley; optimum at x = 1."""
    D = whole_number("D", D, 2)
    return _problem(Formula("rosenbrock", _rosenbrock, 2.048, 1.0), D, shift_seed, options)


def rastrigin(D: int, shift_seed: int | None = None, **options: Unpack[Options]) -> Problem:
    """Rastrigin's function, R = 5.12: a parabola with deep regular dents, separable."""
    return _problem(Formula("rastrigin", _rastrigin, 5.12, 0.0), D, shift_seed, options)


def styblinski_tang(D: int, shift_seed: int | None = None, **options: Unpack[Options]) -> Problem:
    """Styblinski and Tang's function, R = 5: two minima per coordinate; least at x = -2.9035."""
    D = whole_number("D", D, 1)
    x_best, least = -2.903534027771177, -39.16616570377142 * D
    return _problem(
        Formula("styblinski-tang", _styblinski_tang, 5.0, x_best, least), D, shift_seed, options
    )


def _problem(formula: Formula, D: int, shift_seed: int | None, options: Options) -> Problem:
    D = whole_number("D", D, 1)
    return place(formula, D, np.arange(D), shift_seed, **options)


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


def _schwefel12(x: Host) -> float:
    sums = np.cumsum(x)
    return float(sums @ sums)


def _rosenbrock(x: Host) -> float:
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def _rastrigin(x: Host) -> float:
    return float(np.sum(x * x + 10.0 * (1.0 - np.cos(2.0 * np.pi * x))))


def _styblinski_tang(x: Host) -> float:
    return float(0.5 * np.sum(x**4 - 16.0 * x**2 + 5.0 * x))
