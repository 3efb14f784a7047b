"""Data that make matrices singular and numbers overflow: the model never raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transect import GPUCB, MSUCB, Anchored, LineBO, Optimizer, Surrogate
from transect._array import Host

D = 8
RNG = np.random.default_rng(0)


def scattered(n: int) -> Host:
    return RNG.uniform(-1.0, 1.0, (n, D))


def with_outlier(value: float) -> Host:
    y = RNG.standard_normal(60)
    y[7] = value
    return y


repeated = np.repeat(scattered(5), 20, axis=0)
CASES: dict[str, tuple[Host, Host]] = {
    "one point": (scattered(1), np.ones(1)),
    "points repeated, the same values": (repeated, np.ones(100)),
    "points repeated, other values": (repeated, RNG.standard_normal(100)),
    "constant": (scattered(60), np.full(60, 3.0)),
    "1e300": (scattered(60), 1e300 * RNG.uniform(-1.0, 1.0, 60)),
    "1e-300": (scattered(60), 1e-300 * RNG.uniform(-1.0, 1.0, 60)),
    "two scales": (scattered(60), np.where(RNG.random(60) < 0.5, 1e-200, 1e200)),
    "one of 1e12": (scattered(60), with_outlier(1e12)),
    "one of -1e12": (scattered(60), with_outlier(-1e12)),
    "all in a corner": (np.clip(1.0 + 1e-9 * scattered(80), -1.0, 1.0), RNG.standard_normal(80)),
    "all on a line": (np.outer(np.linspace(-1.0, 1.0, 90), np.ones(D)), np.linspace(0.0, 1.0, 90)),
    "a step": (scattered(100), (np.arange(100) % 2).astype(float)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("strategy", ["anchored", "gp-ucb", "ms-ucb", "line-bo", "dropout-ucb"])
def test_a_run_goes_on(strategy: str, case: str) -> None:
    X, y = CASES[case]
    opt = Optimizer([(-1.0, 1.0)] * D, strategy, seed=0, n_init=1)
    for x, value in zip(X, y, strict=True):
        opt.tell(x, value)
    for i in range(3):
        trial = opt.ask()
        assert np.all(np.abs(trial.x) <= 1.0)
        opt.tell(trial, y[i % len(y)])


@pytest.mark.parametrize("kind", [Anchored, GPUCB, MSUCB, LineBO])
def test_jitter_is_added_where_it_is_needed_and_reported(kind: Any) -> None:
    def jitter(noise: float, times: int) -> float:
        surrogate = Surrogate(known=(2.0, 1.0, noise))
        opt = Optimizer([(-1.0, 1.0)] * D, kind(surrogate=surrogate), seed=0, n_init=1)
        for x in np.repeat(repeated[::20], times, axis=0):
            opt.tell(x, 1.0)
        return float(opt.ask().info["jitter"])

    assert jitter(1e-4, 3) == jitter(1e-18, 1) == 0.0
    assert 0.0 < jitter(1e-18, 3) < 1e-6
