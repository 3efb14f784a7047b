"""Small versions of what people optimise, to tune and to take apart with.

Of any number of variables, in [-1, 1]^D, drawn at random by their seed. None is among the tasks
that are reported or unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from transect._array import Host
from transect.box import Box
from transect.problems.problem import Problem

from .unseen import Maker, Objective

STREAM = 7  # keeps the draws apart from others of the same seed
NOISE = 0.1  # standard deviation of what is added, of that of the values
PENALTY, PUNISHED = 1e9, 0.2  # what is added, and in how much of the box


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, STREAM])


def path(D: int, seed: int) -> Objective:
    """Length of a way through D/2 points in the plane, and what it touches of 20 obstacles."""
    rng = _rng(seed)
    centre, radius = rng.uniform(-0.8, 0.8, (20, 2)), rng.uniform(0.08, 0.25, 20)
    line = np.linspace(-1.0, 1.0, D // 2 + 2)[1:-1, None]  # from one corner to the other
    ends = np.array([[-1.0, -1.0]]), np.array([[1.0, 1.0]])

    def value(u: Host) -> float:
        way = np.concatenate([ends[0], line + 0.7 * u[: D // 2 * 2].reshape(-1, 2), ends[1]])
        between = 0.5 * (way[1:] + way[:-1])
        step = np.linalg.norm(np.diff(way, axis=0), axis=1)
        gap = np.linalg.norm(between[:, None] - centre, axis=2) - radius
        return float(step.sum() + 20.0 * step @ (1.0 / (1.0 + np.exp(40.0 * gap))).sum(axis=1))

    return value


def pendulum(D: int, seed: int) -> Objective:
    """A policy of D random features that swings a weak pendulum up."""
    rng = _rng(seed)
    A, shift = rng.standard_normal((D, 3)), rng.uniform(0.0, 2.0 * math.pi, D)

    def value(u: Host) -> float:
        angle, turn, cost = math.pi, 0.0, 0.0
        for _ in range(120):  # of 0.05 seconds each
            seen = np.array([math.cos(angle), math.sin(angle), turn / 4.0])
            torque = 2.0 * math.tanh(float(u @ np.cos(A @ seen + shift)))
            turn = min(8.0, max(-8.0, turn + 0.05 * (15.0 * math.sin(angle) + 3.0 * torque)))
            angle += 0.05 * turn
            cost += 1.0 - math.cos(angle) + 0.01 * turn**2 + 0.01 * torque**2
        return cost / 120.0

    return value


def ranking(D: int, seed: int) -> Objective:
    """The share of 400 pairs that a linear score puts in the wrong order: in levels."""
    rng = _rng(seed)
    A, true = rng.standard_normal((400, D)), rng.standard_normal(D)
    better = np.sign(A @ true + math.sqrt(0.3 * D) * rng.standard_normal(400))
    return lambda u: float(np.mean(better * (A @ u) <= 0.0))


def logistic(D: int, seed: int) -> Objective:
    """Logistic loss of 3·D examples and a penalty: smooth, one optimum."""
    rng = _rng(seed)
    A, true = rng.standard_normal((3 * D, D)), rng.uniform(-0.8, 0.8, D)
    y = np.sign(A @ true + rng.standard_normal(3 * D))
    return lambda u: float(np.mean(np.logaddexp(0.0, -y * (A @ u))) + 0.01 * u @ u)


def perceptron(D: int, seed: int) -> Objective:
    """Squared error of a network with four inputs and one hidden layer, D weights."""
    rng = _rng(seed)
    hidden = max(1, D // 6)
    inputs = rng.uniform(-1.0, 1.0, (100, 4))
    target = np.sin(3.0 * inputs[:, 0]) + inputs[:, 1] * inputs[:, 2] - inputs[:, 3] ** 2

    def value(u: Host) -> float:
        w = 2.0 * u[: 6 * hidden]
        A, shift, out = w[: 4 * hidden].reshape(4, hidden), w[4 * hidden : -hidden], w[-hidden:]
        return float(np.mean((np.tanh(inputs @ A + shift) @ out - target) ** 2))

    return value


def limits(D: int, seed: int) -> Objective:
    """A linear cost, and a penalty on every one of D/2 limits that is broken: with edges."""
    rng = _rng(seed)
    cost, m = rng.uniform(0.2, 1.0, D), D // 2
    A, bend = rng.standard_normal((m, D)) / math.sqrt(D), rng.uniform(0.2, 1.0, (m, D)) / D
    allowed = rng.uniform(0.2, 0.6, m)

    def value(u: Host) -> float:
        over = A @ u + bend @ (u + 0.5) ** 2 - allowed - 0.5 * float(np.mean(u))
        return float(cost @ u / D + 10.0 * np.mean(np.maximum(over, 0.0)))

    return value


def portfolio(D: int, seed: int) -> Objective:
    """Risk over return of D assets, with a cost of small positions."""
    rng = _rng(seed)
    days = rng.standard_normal((250, 5)) @ rng.standard_normal((5, D)) * 0.005
    days += 0.01 * rng.standard_normal((250, D)) + rng.normal(5e-4, 5e-4, D)

    def value(u: Host) -> float:
        share = np.exp(3.0 * u)
        share /= share.sum()
        gained = days @ share
        held = float(np.mean(share / (share + 0.3 / D)))
        return -16.0 * float(gained.mean() / gained.std()) + 0.5 * held

    return value


def antenna(D: int, seed: int) -> Objective:
    """The largest side lobe, in decibels, of D antennas in a row by their phases."""
    place = np.cumsum(_rng(seed).uniform(0.4, 0.8, D))  # in wavelengths
    angle = np.linspace(-np.pi / 2, np.pi / 2, 400)
    way = np.exp(2j * np.pi * np.sin(angle - 0.3)[:, None] * place)
    side = np.abs(angle - 0.3) > 2.0 / D

    def value(u: Host) -> float:
        power = np.abs(way @ np.exp(1j * np.pi * u)) ** 2
        main = power[~side].max()
        return float(10.0 * np.log10(power[side].max() / main))

    return value


def low_pass(D: int, seed: int) -> Objective:
    """The largest error of a filter with D coefficients: the worst of 200 frequencies."""
    edge = _rng(seed).uniform(0.2, 0.5)
    w = np.linspace(0.0, 1.0, 200)
    wave = np.cos(np.pi * w[:, None] * np.arange(D))
    outside = np.abs(w - edge) > 2.0 / D
    target = (w < edge).astype(np.float64)
    return lambda u: float(np.max(np.abs(wave @ (0.5 * u) - target)[outside]))


def features(D: int, seed: int) -> Objective:
    """Error of kernel regression by the weights of its D features, of which five matter."""
    rng = _rng(seed)
    X = rng.standard_normal((120, D))
    at = rng.choice(D, 5, replace=False)
    y = np.sin(X[:, at[0]]) + X[:, at[1]] * X[:, at[2]] + np.abs(X[:, at[3]]) + 0.5 * X[:, at[4]]
    y += 0.1 * rng.standard_normal(120)

    def value(u: Host) -> float:
        Z = math.sqrt(20.0 / D) * X * np.exp(2.5 * u - 1.5)
        norm = np.sum(Z * Z, axis=1)
        K = np.exp(-0.5 * np.maximum(norm[:, None] + norm - 2.0 * Z @ Z.T, 0.0))
        shown = K[:60, :60] + 0.05 * np.eye(60)
        guess = K[60:, :60] @ np.linalg.solve(shown, y[:60] - y[:60].mean()) + y[:60].mean()
        return float(np.mean((guess - y[60:]) ** 2))

    return value


def cluster(D: int, seed: int) -> Objective:
    """Energy of D/3 soft atoms that attract each other, in a box that they just fill."""
    m = D // 3
    drift, width = _rng(seed).uniform(-0.3, 0.3, 3), 0.6 * m ** (1.0 / 3.0)
    low, high = np.triu_indices(m, 1)

    def value(u: Host) -> float:
        at = width * u[: 3 * m].reshape(m, 3)
        sixth = np.sum((at[low] - at[high]) ** 2, axis=1) ** 3 + 0.3
        return float(np.mean(sixth**-2.0 - 2.0 / sixth) * m + np.mean((at - drift) ** 2))

    return value


def schedule(D: int, seed: int) -> Objective:
    """Weighted lateness of D jobs on one machine, in the order of their priorities: levels."""
    rng = _rng(seed)
    takes, weight = rng.uniform(1.0, 10.0, D), rng.uniform(0.1, 1.0, D)
    due = rng.uniform(0.2, 1.0, D) * takes.sum()

    def value(u: Host) -> float:
        order = np.argsort(u, kind="stable")
        late = np.maximum(np.cumsum(takes[order]) - due[order], 0.0)
        return float(weight[order] @ late / takes.sum())

    return value


PRACTICE: Mapping[str, Callable[[int, int], Objective]] = {
    "path": path,
    "pendulum": pendulum,
    "ranking": ranking,
    "logistic": logistic,
    "perceptron": perceptron,
    "limits": limits,
    "portfolio": portfolio,
    "antenna": antenna,
    "low-pass": low_pass,
    "features": features,
    "cluster": cluster,
    "schedule": schedule,
}


def practice(name: str) -> Maker:
    """What makes a problem of that name."""

    def made(D: int, seed: int) -> Problem:
        box = Box.of(np.tile([-1.0, 1.0], (D, 1)))
        return Problem(name, box, PRACTICE[name](D, seed), math.nan)

    return made


def noisy(maker: Maker) -> Maker:
    """The same problems with noise."""

    def made(D: int, seed: int) -> Problem:
        problem = maker(D, seed)
        points = np.random.default_rng(seed).uniform(-1.0, 1.0, (100, D))
        spread = np.std([problem.noiseless(problem.box.from_unit(u)) for u in points])
        return replace(problem, noise=NOISE * float(spread))

    return made


def punished(maker: Maker) -> Maker:
    """The same problems with a penalty behind a plane, as where limits are broken."""

    def made(D: int, seed: int) -> Problem:
        problem, rng = maker(D, seed), np.random.default_rng(seed)
        normal = rng.standard_normal(D)
        sample = rng.uniform(-1.0, 1.0, (2000, D)) @ normal
        bound = float(np.quantile(sample, 1.0 - PUNISHED))
        if problem.optimum is not None and problem.box.to_unit(problem.optimum) @ normal > bound:
            normal = -normal
        inside = problem.objective

        def value(x: Host) -> float:
            return inside(x) + PENALTY * float(problem.box.to_unit(x) @ normal > bound)

        return replace(problem, objective=value)

    return made
