"""Problems: value at the optimum, reference values, seeded shifts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from transect.problems import Problem, ackley, hyper_ellipsoid, levy

Maker = Callable[..., Problem]


@pytest.mark.parametrize("make", [ackley, levy, hyper_ellipsoid])
@pytest.mark.parametrize("shift_seed", [None, 0, 7])
def test_least_value_is_zero_inside_the_box(make: Maker, shift_seed: int | None) -> None:
    problem = make(30, shift_seed=shift_seed)
    assert problem(problem.optimum) == pytest.approx(0.0, abs=1e-9)
    assert np.all(np.abs(problem.optimum) <= 1.0)
    for u in np.random.default_rng(0).uniform(-1, 1, (200, 30)):
        assert problem(u) > 0.0


def test_reference_values() -> None:
    R = 32.768
    expected = 20 - 20 * math.exp(-0.2 * R) + math.e - math.exp(math.cos(2 * math.pi * R))
    assert ackley(2)(np.ones(2)) == pytest.approx(expected)
    assert hyper_ellipsoid(3)(np.array([1.0, 0.0, 0.0]) / 65.536) == pytest.approx(3.0)
    assert hyper_ellipsoid(3)(np.array([0.0, 0.0, 1.0]) / 65.536) == pytest.approx(1.0)
    # x = (5, 1): w = (2, 1); sin²(2π) + 1·(1 + 10 sin²(2π + 1))
    assert levy(2)(np.array([0.5, 0.1])) == pytest.approx(1 + 10 * math.sin(1.0) ** 2)


def test_shift_is_seeded() -> None:
    assert np.array_equal(ackley(9, 3).optimum, ackley(9, 3).optimum)
    assert not np.array_equal(ackley(9, 3).optimum, ackley(9, 4).optimum)
    assert np.array_equal(ackley(9).optimum, np.zeros(9))
