"""A budget of acquisition evaluations: kept, used, and counted as it was spent."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers import bowl, make_gp
from transect import (
    GPUCB,
    MSUCB,
    REMBO,
    SRE,
    UCB,
    Anchored,
    DropoutUCB,
    GaussianProcess,
    HeSBO,
    LineBO,
    Optimizer,
    Subspace,
    Surrogate,
    Trial,
)
from transect.engine import FINALISTS, search_subspace
from transect.screen import Screen
from transect.strategies import BY_NAME, History, Proposal, Setting, Strategy

Point = NDArray[np.float64]

WITH_MODEL = [name for name in BY_NAME if name != "random"]

VARIANTS: dict[str, Strategy] = {
    **{name: BY_NAME[name]() for name in WITH_MODEL},
    "anchored, insured": Anchored(insurance=1.0),
    "ms-ucb, many slices": MSUCB(d=3, n0=40, alpha=1),
    "ms-ucb, more slices than evaluations": MSUCB(d=2, n0=6000),
    "ms-ucb, all free": MSUCB(d=8),
    "gp-ucb, log-ei": GPUCB(acquisition="log-ei"),
    "dropout-ucb, one": DropoutUCB(d=1, fill="random"),
    "line-bo, coordinate": LineBO(direction="coordinate"),
    "line-bo, descent": LineBO(direction="descent", least=1, most=2),
    "sre, short": SRE(d=2, m=2, max_evals=32),
    "rembo, y": REMBO(d=2, k=1, kernel="y"),
    "rembo, x": REMBO(d=2, k=1, kernel="x"),
    "hesbo, two": HeSBO(d=2, acquisition="log-ei"),
}
every_variant = pytest.mark.parametrize("strategy", VARIANTS.values(), ids=VARIANTS.keys())


def run(
    strategy: Strategy, evals: int | None, count: int = 20, n_init: int = 12, D: int = 8
) -> list[Trial]:
    """Trials as asked; twelve of them first, so that each of REMBO's runs has a model."""
    opt = Optimizer([(-1.0, 1.0)] * D, strategy, seed=0, n_init=n_init, suggest_evals=evals)
    asked = []
    for _ in range(count):
        asked.append(opt.ask())
        opt.tell(asked[-1], bowl(asked[-1].x))
    return asked


def searched(trials: list[Trial]) -> list[Any]:
    """The infos of what was searched for: not the random points at the start of a stage."""
    infos = [t.info for t in trials if t.info["source"] == "strategy"]
    return [i for i in infos if "evaluations" in i or not i.get("stage")]


def used(strategy: Strategy) -> float:
    """The share of a budget that is used at least; Anchored's steps need what they need."""
    return 0.0 if strategy.name == "anchored" else 0.8


# --- kept and used -----------------------------------------------------------------------


@pytest.mark.parametrize("evals", [100, 400, 2000, 6000])
@every_variant
def test_suggestions_use_their_budget_and_no_more(strategy: Strategy, evals: int) -> None:
    infos = searched(run(strategy, evals, count=16 if evals > 1000 else 24))
    assert len(infos) >= 3
    for info in infos:
        assert info["evaluations"] <= evals
        assert info["evaluations"] >= used(strategy) * evals


@pytest.mark.parametrize("D", [1, 2, 60])
@pytest.mark.parametrize("name", WITH_MODEL)
def test_budgets_hold_in_any_dimension(name: str, D: int) -> None:
    for info in searched(run(BY_NAME[name](), 700, count=16, D=D)):
        assert used(BY_NAME[name]()) * 700 <= info["evaluations"] <= 700


@pytest.mark.parametrize("name", WITH_MODEL)
def test_budgets_hold_with_failures_and_points_in_flight(name: str) -> None:
    opt = Optimizer([(-1.0, 1.0)] * 8, name, seed=0, n_init=16, suggest_evals=700)
    for i in range(16):
        trial = opt.ask()
        opt.tell(trial, math.nan if i % 5 == 0 else bowl(trial.x))
    for info in searched([opt.ask() for _ in range(5)]):
        assert used(opt.strategy) * 700 <= info["evaluations"] <= 700


@pytest.mark.parametrize("insurance", [0.0, 0.5])
def test_what_anchored_says_it_evaluated_is_what_it_evaluated(
    insurance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also its glances at MS-UCB's slices; one more look has the bound of the point it found."""
    opt = Optimizer(
        [(-1.0, 1.0)] * 4, Anchored(insurance=insurance), seed=0, n_init=12, suggest_evals=100
    )
    for _ in range(60):  # as many slices
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    points = 0

    def counted(method: str) -> None:
        original = getattr(GaussianProcess, method)

        def call(self: GaussianProcess, sq: Any) -> Any:
            nonlocal points
            points += len(sq)
            return original(self, sq)

        monkeypatch.setattr(GaussianProcess, method, call)

    counted("posterior_at")
    counted("posterior_parts")
    for _ in range(6):
        points = 0
        trial = opt.ask()
        if not trial.info["insured"]:  # a screen has tables of its own
            assert points == trial.info["evaluations"] + 1
            assert points <= 101
        opt.tell(trial, bowl(trial.x))


def test_without_free_coordinates_the_drawn_points_are_all_there_is_to_evaluate() -> None:
    for info in searched(run(MSUCB(d=0, n0=50), 2000)):
        assert info["evaluations"] <= 2000
    for info in searched(run(MSUCB(d=0, n0=5000), 2000)):
        assert info["evaluations"] <= 2000


@pytest.mark.parametrize("budget", [2, 5, 16, 17, 40])
def test_the_least_budgets_find_a_point(budget: int) -> None:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (8, 3))
    gp = Surrogate().advance(None, X, wavy(X)).gp
    whole = Subspace.whole(3)
    found = search_subspace(whole, gp, UCB(4.0), np.random.default_rng(1), budget=budget)
    assert found.evaluations <= budget
    assert np.all(np.abs(found.x) <= 1.0)


def test_random_points_at_the_start_of_a_stage_take_no_evaluations() -> None:
    trials = run(SRE(d=2, m=2, max_evals=32), 500, count=32)
    later = [t.info for t in trials if t.info["stage"] == 1]
    assert ["evaluations" in info for info in later] == [False] * 4 + [True] * 12


def test_a_budget_does_not_change_who_takes_part() -> None:
    """MS-UCB counts all of its slices, and says how many of them it looked at."""
    for info in searched(run(MSUCB(d=2, n0=6000), 600)):
        assert info["slices"] == 6000 * info["t"]
        assert 0 < info["subspaces"] <= 600


@pytest.mark.parametrize("value", [99, 0, -1, 200.0, True, "500", math.nan])
def test_bad_budgets(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^suggest_evals must be an integer of at least 100, got"):
        Optimizer([(-1.0, 1.0)] * 2, suggest_evals=value)


@pytest.mark.parametrize("value", [0, -1, 20.0, True, "50"])
def test_bad_numbers_of_evaluations(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^max_evals must be an integer of at least 1, got"):
        Optimizer([(-1.0, 1.0)] * 2, max_evals=value)


# --- honest ------------------------------------------------------------------------------


class Count:
    """Rows at which a posterior was computed."""

    def __init__(self) -> None:
        self.process = 0
        self.screen = 0


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Count]:
    """Counts what goes through a process, and the candidates that a screen computes itself."""
    count = Count()
    at, parts, sq = GaussianProcess.posterior_at, GaussianProcess.posterior_parts, Screen._sq

    def posterior_at(self: GaussianProcess, squares: Any) -> Any:
        count.process += squares.shape[0]
        return at(self, squares)

    def posterior_parts(self: GaussianProcess, squares: Any) -> Any:
        count.process += squares.shape[0]
        return parts(self, squares)

    def screen_sq(self: Screen, *args: Any, **options: Any) -> Any:
        squares = sq(self, *args, **options)
        count.screen += squares.shape[0]
        return squares

    with monkeypatch.context() as patch:
        patch.setattr(GaussianProcess, "posterior_at", posterior_at)
        patch.setattr(GaussianProcess, "posterior_parts", posterior_parts)
        patch.setattr(Screen, "_sq", screen_sq)
        yield count


@pytest.mark.parametrize("evals", [None, 1000])
@pytest.mark.parametrize(
    "strategy",
    [
        GPUCB(),
        DropoutUCB(d=3),
        HeSBO(d=3),
        SRE(d=3),
        REMBO(d=3, k=1),
        REMBO(d=3, k=1, kernel="x"),
        REMBO(d=3, k=1, kernel="y"),
        MSUCB(d=8),
    ],
    ids=lambda s: f"{s.name} {getattr(s, 'kernel', '')}",
)
def test_the_count_is_exact(
    strategy: Strategy, evals: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opt = Optimizer([(-1.0, 1.0)] * 8, strategy, seed=0, n_init=5, suggest_evals=evals)
    for _ in range(12):
        with counting(monkeypatch) as count:
            trial = opt.ask()
        assert count.process == trial.info.get("evaluations", 0)
        opt.tell(trial, bowl(trial.x))


@pytest.mark.parametrize("evals", [None, 1000])
@pytest.mark.parametrize("direction", ["random", "coordinate", "descent"])
def test_the_count_of_lines_is_honest(
    direction: str, evals: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the value at the point a line goes through, which is no part of a search."""
    strategy = LineBO(direction=direction, least=2, most=4)
    opt = Optimizer([(-1.0, 1.0)] * 8, strategy, seed=0, n_init=5, suggest_evals=evals)
    for _ in range(18):
        with counting(monkeypatch) as count:
            trial = opt.ask()
        assert abs(count.process - trial.info.get("evaluations", 0)) <= 2
        opt.tell(trial, bowl(trial.x))
    assert trial.info["line"] >= 2


@pytest.mark.parametrize("evals", [None, 1000, 2000])
@pytest.mark.parametrize("strategy", [MSUCB(d=3), MSUCB(d=2, n0=30, alpha=1), MSUCB(d=0, n0=300)])
def test_the_count_of_slices_is_honest(
    strategy: MSUCB, evals: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond forty values the model is not refitted, and tables are extended instead."""
    opt = Optimizer([(-1.0, 1.0)] * 8, strategy, seed=0, n_init=38, suggest_evals=evals)
    for _ in range(44):
        with counting(monkeypatch) as count:
            trial = opt.ask()
        spent = count.process + count.screen
        # Finalists that a screen keeps are computed once more.
        assert spent - FINALISTS <= trial.info.get("evaluations", 0) <= spent
        opt.tell(trial, bowl(trial.x))


# --- many slices -------------------------------------------------------------------------


def wavy(x: Point) -> Point:
    """A smooth function to maximise, of points (..., D): values (...)."""
    value: Point = np.sum(np.sin(2.0 * x + 0.5), axis=-1) - np.sum((x - 0.2) ** 2, axis=-1)
    return value


def late_steps(
    strategy: MSUCB, D: int, n: int, start: int, count: int, evals: int | None
) -> list[Proposal]:
    """``count`` suggestions from t = ``start`` on, each of them evaluated."""
    rng = np.random.default_rng(D)
    X = rng.uniform(-1.0, 1.0, (n, D))
    history = History(X, wavy(X), X[:0])
    state = replace(strategy.start(Setting(D, 3, suggest_evals=evals)), t=start - 1)
    proposals = []
    for t in range(count):
        p = strategy.suggest(state, history, np.random.default_rng([5, t]))
        proposals.append(p)
        state = p.state
        history = History(
            np.vstack([history.X, p.x]), np.append(history.y, wavy(p.x)), history.pending
        )
    return proposals


def found_and_looked_at(p: Proposal, count: int) -> tuple[float, float]:
    """The bound at a suggestion, and the best one at ``count`` random points of Z_t."""
    slices, size = p.state.screen.slices, p.info["slices"]
    rng = np.random.default_rng(size)
    z = slices.z(0, size)[rng.integers(0, size, count)]
    looks = np.hstack([z, rng.uniform(-1.0, 1.0, (count, slices.d))])
    gp, ucb = p.state.model.gp, UCB(p.info["beta"])
    found = ucb.value(*gp.posterior(np.vstack([p.x, looks])))
    return float(found[0]), float(np.max(found[1:]))


both_ways = pytest.mark.parametrize("n", [20, 60])  # refitted at every step, and rarely


@both_ways
@pytest.mark.parametrize(("D", "d"), [(20, 5), (20, 10), (12, 1)])
def test_many_more_slices_than_the_budget(D: int, d: int, n: int) -> None:
    """9455 slices at t = 30; a budget of 2000 looks at few of them."""
    proposals = late_steps(MSUCB(d=d, n0=1, alpha=2), D, n, start=30, count=5, evals=2000)
    for t, p in enumerate(proposals, start=30):
        size = sum(k * k for k in range(1, t + 1))
        assert p.info["slices"] == size
        assert 0.8 * 2000 <= p.info["evaluations"] <= 2000
        Z = p.state.screen.slices.z(0, size)
        fixed = p.x[: D - d]
        assert np.array_equal(fixed, Z[p.info["slice"]]), "bitwise a row of Z_t"
        assert np.all(np.abs(p.x) <= 1.0)
        here, _ = found_and_looked_at(p, 1)
        expected = p.state.model.shift + p.state.model.scale * here
        assert p.info["ucb"] == pytest.approx(expected, rel=1e-6)


@both_ways
@pytest.mark.parametrize(("D", "d"), [(20, 5), (20, 10)])
def test_what_is_found_is_better_than_as_many_random_looks(D: int, d: int, n: int) -> None:
    for p in late_steps(MSUCB(d=d, n0=1, alpha=2), D, n, start=30, count=5, evals=2000):
        found, looked_at = found_and_looked_at(p, 2000)
        assert found >= looked_at


@both_ways
@pytest.mark.parametrize(("D", "d"), [(12, 1), (20, 2)])
def test_where_little_is_free_some_random_looks_are_beaten(D: int, d: int, n: int) -> None:
    """Then most of a bound depends on the slice, and a budget is spent on searching few."""
    steps = late_steps(MSUCB(d=d, n0=1, alpha=2), D, n, start=30, count=8, evals=2000)
    gaps = [found - looked_at for found, looked_at in (found_and_looked_at(p, 250) for p in steps)]
    assert np.mean(gaps) > 0.0


@pytest.mark.parametrize("refits", [1, 1000])  # never after the first, or at each step
def test_every_slice_is_looked_at_where_the_budget_allows(refits: int) -> None:
    """Rather two points on each slice than four on some, as at the end of Figure 1's runs."""
    strategy = MSUCB(d=3, surrogate=Surrogate(refit_always=refits, refit_growth=9.0))
    for p in late_steps(strategy, 20, 30, start=176, count=5, evals=1000):
        assert p.info["subspaces"] == p.info["slices"] >= 176
        assert p.info["evaluations"] <= 1000


def test_slices_of_any_age_are_found() -> None:
    """Between refits good ones stay in the table while new ones come."""
    strategy = MSUCB(d=2, alpha=2, surrogate=Surrogate(refit_always=1, refit_growth=9.0))
    proposals = late_steps(strategy, 6, 30, start=25, count=8, evals=2000)
    ages = [p.info["slices"] - p.info["slice"] for p in proposals]
    assert min(ages) < max(ages)
    assert max(ages) > proposals[-1].info["slices"] - proposals[-2].info["slices"]


# --- quality -----------------------------------------------------------------------------


def first_values(
    strategy: Strategy, D: int, evals: int | None, seeds: range
) -> NDArray[np.float64]:
    """Bounds found by the first search after 15 evaluations, in units of the model."""
    values = []
    for seed in seeds:
        rng = np.random.default_rng([seed, D])
        X = rng.uniform(-1.0, 1.0, (15, D))
        state = strategy.start(Setting(D, seed, suggest_evals=evals))
        history = History(X, wavy(X), X[:0], [{"y": x, "run": 0} for x in X])
        p = strategy.suggest(state, history, np.random.default_rng(seed))
        model = (p.state.runs[0] if strategy.name == "rembo" else p.state).model
        values.append((p.info["ucb"] - model.shift) / model.scale)
    return np.array(values)


@pytest.mark.parametrize("D", [2, 8])
@pytest.mark.parametrize(
    "strategy",
    [GPUCB(beta=4.0), MSUCB(d=2, n0=20, beta=4.0), LineBO(beta=4.0)],
    ids=["gp-ucb", "ms-ucb", "line-bo"],
)
def test_no_budget_is_not_worse_than_a_huge_one(strategy: Strategy, D: int) -> None:
    seeds = range(4)
    free = first_values(strategy, D, None, seeds)
    huge = first_values(strategy, D, 60_000, seeds)
    np.testing.assert_allclose(free, huge, rtol=0.0, atol=5e-3)


@pytest.mark.parametrize("D", [8])
@pytest.mark.parametrize(
    "strategy",
    [GPUCB(beta=4.0), MSUCB(d=2, n0=20, beta=4.0)],
    ids=["gp-ucb", "ms-ucb"],
)
def test_a_larger_budget_finds_no_less(strategy: Strategy, D: int) -> None:
    small, middle, large = (
        float(np.mean(first_values(strategy, D, evals, range(6)))) for evals in (100, 500, 5000)
    )
    assert small <= middle + 1e-3
    assert middle <= large + 1e-3
    assert small < large


def test_no_more_points_are_made_than_a_budget_allows() -> None:
    """All moves of single coordinates in 3000 dimensions would be half a gigabyte and more."""
    D = 3000
    gp = make_gp(D=D)
    tracemalloc.start()
    search_subspace(Subspace.whole(D), gp, UCB(1.0), np.random.default_rng(0), budget=1600)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e8


def test_a_budget_is_the_only_thing_that_changes() -> None:
    """Without one, a run is what it was: the same points, whatever budgets others have."""
    plain = run(GPUCB(), None, count=16)
    again = run(GPUCB(), None, count=16)
    limited = run(GPUCB(), 300, count=16)
    assert [t.x.tobytes() for t in plain] == [t.x.tobytes() for t in again]
    assert [t.x.tobytes() for t in plain[:12]] == [t.x.tobytes() for t in limited[:12]]
    assert [t.x.tobytes() for t in plain[12:]] != [t.x.tobytes() for t in limited[12:]]
