"""What MS-UCB's suggestions take, seconds and memory, before anything is run.

The work of a suggestion is counted in a few kinds of units. What a unit takes was measured on
one machine (``benchmarks/planner.py --fit``); how much slower or faster another one is, in
computing and in moving memory, is found out by two small jobs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ._threads import quiet_blas
from .fit import Surrogate
from .screen import CANDIDATES, LEAST_PROBES, MOST_PER_SLICE, TABLES
from .strategies import MSUCB, History, Setting
from .theory import slice_count

STOPS = 24  # of a run, at which its suggestions' seconds are predicted, to be summed
KERNEL = 64  # multiplications that a kernel value takes as long as

# Seconds a unit takes on the machine they were measured on: two cores of an AMD EPYC.
SECONDS = {
    "call": 1.6e-3,
    "observation": 2.5e-5,
    "pair": 8.1e-8,  # of observations: the factor's new row, and the search's products
    "candidate": 5.9e-7,
    "number": 6.1e-9,  # drawn for new slices, and their distances
    "probe": 5.8e-11,  # multiplications for points on new slices
    "read": 4.1e-11,  # bytes: all slices beside the new observation
    "fit": 2.0e-3,
    "likelihood": 1.7e-10,
    "rebuild": 2.2e-11,  # multiplications for all candidates anew
}
SMALL_JOBS = (0.090, 0.0012)  # seconds of the two small jobs there


@dataclass(frozen=True)
class Speed:
    """How much longer this machine takes than the other one did."""

    computing: float = 1.0
    reading: float = 1.0


@dataclass(frozen=True)
class Shape:
    """Of a search: D dimensions, d of them free, n observations, m slices, ``new`` of them new."""

    D: int
    d: int
    n: int
    m: int
    new: int

    @property
    def per_slice(self) -> int:
        """Candidates on every slice."""
        return int(np.clip(CANDIDATES // self.m, 1, MOST_PER_SLICE))

    @property
    def bytes_per_slice(self) -> int:
        return 4 * (self.per_slice * self.n + (self.D - self.d) + self.n)

    @property
    def held(self) -> int:
        """Slices that the tables have room for."""
        return min(self.m, max(64, int(TABLES / self.bytes_per_slice)))


@cache
def speed() -> Speed:
    """Of this machine, measured in a fraction of a second."""
    A, x = np.ones((4000, 2000), dtype=np.float32), np.ones(2000, dtype=np.float32)
    with quiet_blas():
        computing = _least(3, _small_search())
        reading = _least(5, lambda: A @ x)
    return Speed(computing / SMALL_JOBS[0], reading / SMALL_JOBS[1])


def suggestion_seconds(machine: Speed, shape: Shape, surrogate: Surrogate) -> float:
    """Of one suggestion, refits shared out among those between them."""
    between = 1.0
    if shape.n > surrogate.refit_always:
        between = max(1.0, (1.0 - 1.0 / surrogate.refit_growth) * shape.n)
    refit = _seconds(machine, _refit_units(shape)) / between
    return _seconds(machine, _units(shape)) + (refit if surrogate.known is None else 0.0)


def run_seconds(
    machine: Speed, strategy: MSUCB, d: int, D: int, n_init: int, max_evals: int
) -> float:
    """Of all suggestions of a run."""
    T = max_evals - n_init
    stops = np.unique(np.linspace(1, T, STOPS).round().astype(int))
    each = [
        suggestion_seconds(machine, shape_at(strategy, d, D, n_init, int(t)), strategy.surrogate)
        for t in stops
    ]
    return float(np.trapezoid(each, stops)) + each[0]


def shape_at(strategy: MSUCB, d: int, D: int, n_init: int, t: int) -> Shape:
    """Of suggestion t of a run."""
    m = slice_count(t, strategy.n0, strategy.alpha)
    return Shape(D, d, n_init + t, m, strategy.n0 * t**strategy.alpha)


def memory_at(shape: Shape) -> float:
    """Bytes of tables, model and observations at their largest."""
    model = 8.0 * (6 * shape.n**2 + 3 * shape.n * shape.D)
    return 1.25 * shape.held * shape.bytes_per_slice + model


def _units(shape: Shape) -> dict[str, float]:
    """The work of a suggestion without a refit."""
    n, fixed = shape.n, shape.D - shape.d
    tries = max(shape.per_slice, LEAST_PROBES) if shape.d else 1
    return {
        "call": 1,
        "observation": n,
        "pair": n * n,
        "candidate": shape.held * shape.per_slice,
        "number": shape.new * fixed,
        "probe": shape.new * tries * n * (n + KERNEL),
        "read": 4 * shape.held * fixed,
    }


def _refit_units(shape: Shape) -> dict[str, float]:
    """The work of a refit: the likelihood, and all candidates anew."""
    n = shape.n
    tries = max(shape.per_slice, LEAST_PROBES) if shape.d else 1
    return {
        "fit": 1,
        "likelihood": n * n * (n + 600),
        "rebuild": shape.m * tries * n * (n + KERNEL),
    }


def _seconds(machine: Speed, units: Mapping[str, float]) -> float:
    return sum(
        number * SECONDS[kind] * (machine.reading if kind == "read" else machine.computing)
        for kind, number in units.items()
    )


def _least(times: int, job: Callable[[], Any]) -> float:
    """Seconds of a job, the least of some tries."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _small_search() -> Callable[[], None]:
    """Ten suggestions, in 50 dimensions, without a refit."""
    D, n = 50, 60
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n + 10, D))
    y = -np.sum(X * X, axis=1)
    strategy = MSUCB(d=5, n0=10, surrogate=Surrogate(known=(5.0, 1.0, 1e-2)))
    state = replace(strategy.start(Setting(D, 0)), t=n)

    def job() -> None:
        at = state
        for k in range(n, n + 10):
            history = History(X[:k], y[:k], X[:0])
            at = strategy.suggest(at, history, np.random.default_rng(k)).state

    return job
