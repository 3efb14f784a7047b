"""Twenty functions that nothing was tuned on: whoever tunes a method leaves them alone.

Of any number of variables. Twelve are formulas from the literature, ten of them with the optimum
moved at random and five of those rotated; seven are drawn at random by their seed, most of them
small versions of what people optimise, and so is the policy for a cart-pole. A function of a seed
makes each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from transect._array import Host
from transect.box import Box
from transect.problems.placement import Formula, place
from transect.problems.problem import Problem
from transect.problems.synthetic import schwefel12

SHIFT = 0.6  # the most that a coordinate of a formula's optimum is moved
STREAM = 5  # keeps the draws apart from others of the same seed
UNKNOWN = math.nan  # least values that nobody needs

Objective = Callable[[Host], float]
Maker = Callable[[int, int], Problem]  # of the number of variables and a seed


def _griewank(x: Host) -> float:
    i = np.arange(1, len(x) + 1)
    return float(x @ x / 4000.0 - np.prod(np.cos(x / np.sqrt(i))) + 1.0)


def _schwefel(x: Host) -> float:
    return float(418.9829 * len(x) - x @ np.sin(np.sqrt(np.abs(x))))


def _dixon_price(x: Host) -> float:
    i = np.arange(2, len(x) + 1)
    return float((x[0] - 1.0) ** 2 + i @ (2.0 * x[1:] ** 2 - x[:-1]) ** 2)


def _zakharov(x: Host) -> float:
    s = float(0.5 * np.arange(1, len(x) + 1) @ x)
    return float(x @ x) + s**2 + s**4


def _powers(x: Host) -> float:
    i = np.arange(1, len(x) + 1)
    return float(np.sum(np.abs(x) ** (1.0 + 4.0 * i / len(x))))


def _alpine(x: Host) -> float:
    return float(np.sum(np.abs(x * np.sin(x) + 0.1 * x)))


def _salomon(x: Host) -> float:
    r = math.sqrt(float(x @ x))
    return 1.0 - math.cos(2.0 * math.pi * r) + 0.1 * r


def _steps(x: Host) -> float:
    return float(np.sum(np.floor(x + 0.5) ** 2))


def _distance(x: Host) -> float:
    return float(np.sum(np.abs(x)))


def _powell(x: Host) -> float:
    """Of groups of four; what is left over has no effect."""
    a, b, c, d = x[: len(x) // 4 * 4].reshape(-1, 4).T
    return float(
        np.sum((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4)
    )


def _formula(formula: Formula, rotated: bool = False) -> Maker:
    def maker(D: int, seed: int) -> Problem:
        rotation = seed if rotated else None
        return place(formula, D, np.arange(D), seed, shift=SHIFT, rotation_seed=rotation)

    return maker


def _dixon_price_of(D: int, seed: int) -> Problem:
    i = np.arange(1, D + 1, dtype=np.float64)
    optimum = np.exp2(np.exp2(1.0 - i) - 1.0)
    return _formula(Formula("dixon-price", _dixon_price, 10.0, optimum))(D, seed)


def _problem(name: str, D: int, objective: Objective, noise: float = 0.0) -> Problem:
    return Problem(name, Box.of(np.tile([-1.0, 1.0], (D, 1))), objective, UNKNOWN, noise=noise)


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, STREAM])


def schwefel(D: int, seed: int) -> Problem:
    """Not moved: the optimum is far from the middle, and outside of the domain it falls further."""
    return place(Formula("schwefel", _schwefel, 500.0, 420.9687), D, np.arange(D), None)


def michalewicz(D: int, seed: int) -> Problem:
    """A deep ditch for every variable; the same for all seeds."""
    i = np.arange(1, D + 1)

    def value(u: Host) -> float:
        x = np.pi / 2 + np.pi / 2 * u
        return float(-np.sum(np.sin(x) * np.sin(i * x * x / np.pi) ** 20))

    return _problem("michalewicz", D, value)


def lasso(D: int, seed: int) -> Problem:
    """Squared errors of a linear model and a penalty; a tenth of the weights are not 0."""
    rng = _rng(seed)
    A, true = rng.standard_normal((2 * D, D)), np.zeros(D)
    there = rng.choice(D, max(3, D // 10), replace=False)
    true[there] = rng.uniform(-0.8, 0.8, len(there))
    y = A @ true + 0.1 * rng.standard_normal(2 * D)
    return _problem(
        "lasso", D, lambda u: float(np.mean((A @ u - y) ** 2) + 0.01 * np.sum(np.abs(u)))
    )


def errors(D: int, seed: int) -> Problem:
    """The share of 300 examples that a linear classifier gets wrong: flat, with jumps."""
    rng = _rng(seed)
    A, true = rng.standard_normal((300, D)), 3.0 * rng.standard_normal(D) / math.sqrt(D)
    y = np.sign(A @ true + 0.5 * rng.standard_normal(300))
    return _problem("errors", D, lambda u: float(np.mean(y * (A @ u) <= 0.0)))


def gaussian_process(D: int, seed: int) -> Problem:
    """A draw from one with length-scale √D/2, as a sum of 2000 waves."""
    rng = _rng(seed)
    W = rng.standard_normal((2000, D)) / (0.5 * math.sqrt(D))
    phase, height = rng.uniform(0.0, 2.0 * np.pi, 2000), rng.standard_normal(2000)
    return _problem(
        "gaussian-process", D, lambda u: float(height @ np.cos(W @ u + phase)) / math.sqrt(1000.0)
    )


def sines(D: int, seed: int) -> Problem:
    """A sum of functions of one variable each, with several optima."""
    rng = _rng(seed)
    frequency, phase = rng.uniform(1.0, 6.0, (D, 4)), rng.uniform(0.0, 2.0 * np.pi, (D, 4))
    height = rng.standard_normal((D, 4))
    return _problem(
        "sines", D, lambda u: float(np.sum(height * np.sin(frequency * u[:, None] + phase)))
    )


def noisy_bowl(D: int, seed: int) -> Problem:
    """What one coordinate can gain is drowned in noise."""
    centre = _rng(seed).uniform(-0.5, 0.5, D)
    return _problem("noisy-bowl", D, lambda u: float(np.mean((u - centre) ** 2)), noise=0.02)


def steep_bowl(D: int, seed: int) -> Problem:
    """Its exponential: values from 1 to thousands and more."""
    centre = _rng(seed).uniform(-0.5, 0.5, D)
    return _problem("steep-bowl", D, lambda u: math.exp(20.0 * np.mean((u - centre) ** 2)))


def hidden_waves(D: int, seed: int) -> Problem:
    """Eight variables matter, the last of them most."""
    rng = _rng(seed)
    active, centre = rng.choice(D, 8, replace=False), rng.uniform(-0.7, 0.7, 8)
    weight = np.arange(1, 9)

    def value(u: Host) -> float:
        v = u[active] - centre
        return float(weight @ v**2 + 0.5 * np.sum(np.sin(5.0 * v) ** 2))

    return _problem("hidden-waves", D, value)


def cart_pole(D: int, seed: int) -> Problem:
    """Weights of a network with one hidden layer that swings a pole up; the same for all seeds."""
    hidden = D // 6

    def value(u: Host) -> float:
        w = 3.0 * u[: 6 * hidden]
        A, shift, out = w[: 4 * hidden].reshape(hidden, 4), w[4 * hidden : -hidden], w[-hidden:]
        x, dx, angle, turn = 0.0, 0.0, math.pi, 0.0
        cost = 0.0
        for _ in range(200):  # of 0.04 seconds each
            seen = np.array([x, dx, math.sin(angle), turn / 5.0])
            force = 10.0 * math.tanh(float(out @ np.tanh(A @ seen + shift)))
            sin, cos = math.sin(angle), math.cos(angle)
            pushed = (force + 0.05 * turn**2 * sin) / 1.1
            ddangle = (9.8 * sin - cos * pushed) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
            ddx = pushed - 0.05 * ddangle * cos / 1.1
            x, dx = min(5.0, max(-5.0, x + 0.04 * dx)), dx + 0.04 * ddx
            angle, turn = angle + 0.04 * turn, min(15.0, max(-15.0, turn + 0.04 * ddangle))
            cost += 1.0 - math.cos(angle) + 0.1 * x**2
        return cost / 200.0

    return _problem("cart-pole", D, value)


UNSEEN: Mapping[str, Maker] = {
    "griewank": _formula(Formula("griewank", _griewank, 600.0, 0.0), rotated=True),
    "schwefel": schwefel,
    "dixon-price": _dixon_price_of,
    "michalewicz": michalewicz,
    "zakharov": _formula(Formula("zakharov", _zakharov, 7.5, 0.0, centre=2.5)),
    "powers": _formula(Formula("powers", _powers, 1.0, 0.0), rotated=True),
    "schwefel-1.2": lambda D, seed: schwefel12(D, seed, shift=SHIFT),
    "alpine": _formula(Formula("alpine", _alpine, 10.0, 0.0), rotated=True),
    "salomon": _formula(Formula("salomon", _salomon, 100.0, 0.0)),
    "steps": _formula(Formula("steps", _steps, 5.0, 0.0), rotated=True),
    "distance": _formula(Formula("distance", _distance, 1.0, 0.0)),
    "powell": _formula(Formula("powell", _powell, 4.5, 0.0, centre=0.5), rotated=True),
    "lasso": lasso,
    "errors": errors,
    "gaussian-process": gaussian_process,
    "sines": sines,
    "noisy-bowl": noisy_bowl,
    "steep-bowl": steep_bowl,
    "hidden-waves": hidden_waves,
    "cart-pole": cart_pole,
}
