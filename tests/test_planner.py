"""The planner: what it lists is what theory and cost model say, and what it marks fits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import transect
from transect import MSUCB, Surrogate, minimize, planner
from transect.acquisition import UCB
from transect.cli import main
from transect.costs import (
    SECONDS,
    Shape,
    Speed,
    memory_at,
    run_seconds,
    shape_at,
    speed,
    suggestion_seconds,
)
from transect.fit import Surrogate as Recipe
from transect.planner import Plan
from transect.screen import TABLES, Screen
from transect.subspace import Slices
from transect.theory import corrected_step_bound, rate_exponent, slice_count


@pytest.fixture(autouse=True)
def reference_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that are the same wherever the tests run."""
    monkeypatch.setattr(planner, "speed", lambda: Speed())


# --- plans ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"suggest_time": 0.1},
        {"total_time": 10.0},
        {"memory": 1e8},
        {"suggest_time": 0.2, "total_time": 12.0, "memory": 2e8},
    ],
)
def test_what_is_affordable_keeps_to_every_limit(limits: dict[str, Any]) -> None:
    plan = transect.plan(60, 200, **limits)
    for option in plan.options:
        needs = (option.seconds, option.total, option.memory)
        names = ("suggest_time", "total_time", "memory")
        within = all(n <= limits.get(k, math.inf) for n, k in zip(needs, names, strict=True))
        shape = shape_at(MSUCB(option.d, option.n0, option.alpha), option.d, 60, plan.n_init, 195)
        assert option.affordable == (within and shape.held == option.slices)
    assert plan.chosen is min(plan.affordable, key=lambda o: (o.bound, o.total))
    assert 0 < len(plan.affordable) < len(plan.options)


def test_the_columns_are_what_the_theory_says() -> None:
    for option in transect.plan(50, 120, n_init=10).options:
        m = slice_count(110, option.n0, option.alpha)
        assert option.slices == m
        assert option.exponent == rate_exponent(50 - option.d, option.alpha)
        assert option.bound == corrected_step_bound(110, 50, option.d, m, 1.0)


def test_more_time_never_means_a_worse_bound() -> None:
    times = (0.02, 0.03, 0.05, 0.1, 0.3, 1.0)
    bounds = [transect.plan(30, 100, suggest_time=seconds).chosen.bound for seconds in times]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]


def test_the_best_one_runs() -> None:
    plan = transect.plan(8, 16, suggest_time=0.05, n_init=6)
    assert plan.best.beta == "corrected"
    assert (plan.best.d, plan.best.n0, plan.best.alpha) == (
        plan.chosen.d,
        plan.chosen.n0,
        plan.chosen.alpha,
    )
    r = minimize(lambda x: float(x @ x), [(-1, 1)] * 8, 16, plan.best, n_init=6, progress=False)
    assert r.trials[-1].info["slices"] == plan.chosen.slices


def test_the_table_marks_the_best_and_says_what_it_is_worth() -> None:
    text = str(transect.plan(100, 500, suggest_time=0.5, memory=5e8))
    lines = text.splitlines()
    assert lines[0] == (
        "MS-UCB for 100 variables, 500 evaluations (5 of them random); "
        "budget: 0.5 s a suggestion, 500 MB"
    )
    assert [line.split()[0] == "best" for line in lines[3:6]] == [True, False, False]
    assert "promises nothing" in text
    assert "more settings fit" in text


def test_nothing_fits() -> None:
    plan = transect.plan(100, 300, suggest_time=1e-6)
    assert plan.affordable == ()
    for ask in (lambda: plan.best, lambda: plan.chosen):
        with pytest.raises(
            ValueError, match="nothing fits into 1e-06 s a suggestion: the cheapest"
        ):
            ask()
    assert "Nothing fits; this is the cheapest setting." in str(plan)


@pytest.mark.parametrize("max_evals", [2, 3, 6, 9, 10, 40])
def test_the_initial_design_is_the_runs(max_evals: int) -> None:
    n_init = transect.Optimizer([(-1, 1)] * 10, max_evals=max_evals).n_init
    assert transect.plan(10, max_evals).n_init == n_init
    assert transect.plan(10, 40, n_init=12).n_init == 12


def test_few_variables() -> None:
    assert {option.d for option in transect.plan(2, 10).options} == {1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 10), "D must be"),
        ((10, 1), "max_evals must be"),
        ((10, 10.5), "max_evals must be"),
    ],
)
def test_bad_sizes(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        transect.plan(*arguments)


@pytest.mark.parametrize("name", ["suggest_time", "total_time", "memory"])
def test_bad_limits(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a positive number, got 0"):
        transect.plan(10, 20, **{name: 0})


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--dim", "30", "--evals", "100", "--seconds", "0.5"]) == 0
    out = capsys.readouterr().out
    best = transect.plan(30, 100, suggest_time=0.5).chosen
    assert f"MSUCB(d={best.d}, n0={best.n0}, alpha={best.alpha}, beta='corrected')" in out
    assert "best" in out
    limits = ["--seconds", "1", "--total", "1e-9", "--memory", "2"]
    assert main(["plan", "--dim", "30", "--evals", "100", *limits]) == 1
    assert "1 s a suggestion, 1e-09 s in all, 2 GB" in capsys.readouterr().out
    assert main(["plan", "--dim", "30", "--evals", "1"]) == 2


# --- costs ----------------------------------------------------------------------------------

AT = Shape(D=200, d=5, n=150, m=3000, new=30)


@pytest.mark.parametrize("name", ["D", "n", "m", "new"])
def test_more_of_anything_takes_longer(name: str) -> None:
    more = replace(AT, **{name: 2 * getattr(AT, name)})
    if name == "m":  # candidates are shared out among slices: as many, until there is one each
        more = replace(AT, m=100_000)
    plain = suggestion_seconds(Speed(), AT, Recipe())
    assert suggestion_seconds(Speed(), more, Recipe()) > plain


def test_speeds_scale_their_parts() -> None:
    plain = suggestion_seconds(Speed(), AT, Recipe())
    assert suggestion_seconds(Speed(2.0, 2.0), AT, Recipe()) == pytest.approx(2.0 * plain)
    reads = 4 * AT.held * (AT.D - AT.d) * SECONDS["read"]
    slow = suggestion_seconds(Speed(1.0, 3.0), AT, Recipe())
    assert slow - plain == pytest.approx(2.0 * reads)


def test_refits_are_shared_out() -> None:
    known = suggestion_seconds(Speed(), AT, Surrogate(known=(1.0, 1.0, 1.0)))
    often = suggestion_seconds(Speed(), AT, Surrogate(refit_always=1000))
    seldom = suggestion_seconds(Speed(), AT, Surrogate())
    very = suggestion_seconds(Speed(), AT, Surrogate(refit_growth=2.0))
    assert known < very < seldom < often
    assert (often - known) / (seldom - known) == pytest.approx(150 / 11, rel=1e-9)


def test_a_run_is_the_sum_of_its_suggestions() -> None:
    strategy = MSUCB(n0=2, alpha=1)
    each = [
        suggestion_seconds(Speed(), shape_at(strategy, 5, 80, 20, t), strategy.surrogate)
        for t in range(1, 181)
    ]
    assert run_seconds(Speed(), strategy, 5, 80, 20, 200) == pytest.approx(sum(each), rel=0.03)


def test_this_machine_has_a_speed() -> None:
    assert 0.01 < speed().computing < 1000.0
    assert 0.01 < speed().reading < 1000.0


@pytest.mark.parametrize(("D", "n", "m"), [(40, 60, 3000), (300, 40, 500), (1200, 30, 700)])
def test_memory_is_that_of_the_tables(D: int, n: int, m: int) -> None:
    """To a third, in single precision; small tables are in double."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, D))
    gp = Surrogate(known=(5.0, 1.0, 0.1)).advance(None, X, X[:, 0]).gp
    screen = Screen(Slices(D, 5, 1))
    screen.update(gp, n, m, UCB(4.0), rng)
    width = 4 if "32" in str(screen.dtype) else 8
    held = width * (screen.W.data.size + m * n) + 4 * m * (D - 5)
    shape = Shape(D, 5, n, m, 1)
    assert shape.held * shape.bytes_per_slice == pytest.approx(held, rel=1 / 3 if width == 4 else 1)
    assert shape.per_slice == screen.per_slice
    assert memory_at(shape) > shape.held * shape.bytes_per_slice


def test_tables_hold_what_there_is_room_for() -> None:
    huge = Shape(D=5000, d=5, n=300, m=10**6, new=1)
    assert huge.held == int(TABLES / huge.bytes_per_slice) < huge.m
    assert memory_at(huge) < 2.0 * TABLES


def test_plans_are_records() -> None:
    plan = transect.plan(10, 30)
    assert isinstance(plan, Plan)
    assert plan == transect.plan(10, 30)
