"""The maximiser is honest: never below the paper's budget, nearly always the global best."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers import make_gp
from transect import RBF, UCB, GaussianProcess, Hyperparameters, LogEI, Matern52, Slices, Subspace
from transect._array import Host
from transect.acquisition import Acquisition
from transect.ascent import ascend
from transect.climb import Climber, Meter, Pool
from transect.embedding import Clipped
from transect.engine import Found, search_box, search_slices, search_subspace
from transect.kernels import squared_distance
from transect.screen import Screen
from transect.view import View, Warped


@dataclass(frozen=True)
class Instance:
    gp: GaussianProcess
    acquisition: Acquisition
    slices: Slices
    m: int

    def search(self, seed: int = 0, deadline: float | None = None) -> Found:
        rng = np.random.default_rng(seed)
        screen = Screen(self.slices)
        return search_slices(screen, self.gp, self.acquisition, self.m, rng, deadline=deadline)


def instance(seed: int) -> Instance:
    """D ≤ 30, d ≤ 5, up to 200 subspaces, n ≤ 100; smooth and rough models, UCB and LogEI."""
    rng = np.random.default_rng([2020, seed])
    D = int(rng.integers(2, 31))
    d = int(rng.integers(1, min(5, D - 1) + 1))
    m, n = int(rng.integers(1, 201)), int(rng.integers(5, 101))
    lengthscale = np.asarray(np.sqrt(D) * np.exp(rng.uniform(np.log(0.1), np.log(2.0))))
    if rng.random() < 0.3:
        lengthscale = lengthscale * np.exp(rng.normal(0.0, 0.5, D))
    noise = 10.0 ** rng.uniform(-6, -2)
    kernel = (Matern52(), RBF())[int(rng.integers(2))]
    X = rng.uniform(-1.0, 1.0, (n, D))
    K = kernel.value(squared_distance(X / lengthscale, X / lengthscale)) + noise * np.eye(n)
    y = np.linalg.cholesky(K + 1e-9 * np.eye(n)) @ rng.standard_normal(n)
    gp = GaussianProcess.from_data(Hyperparameters(kernel, lengthscale, 1.0, noise), X, y)
    beta = float(np.exp(rng.uniform(0.0, np.log(200.0))))
    acquisition = LogEI(float(y.max())) if rng.random() < 0.3 else UCB(beta)
    return Instance(gp, acquisition, Slices(D, d, seed + 1), m)


def climb_from(case: Instance, rows: np.ndarray, rng: np.random.Generator) -> float:
    """Best value of one ascent from a random point of each of the slices ``rows``."""
    view = View.of_slices(case.gp, case.slices, case.slices.z(0, case.m))
    objective = view.objective(case.acquisition)
    ends = np.ones(case.slices.d)
    best = -np.inf
    for part in np.array_split(rows, 1 + len(rows) // 2000):  # blocks that fit the cache

        def on_part(V: Host, i: np.ndarray, rows: np.ndarray = part) -> tuple[Host, Host]:
            return objective(V, rows[i])

        V = rng.uniform(-1.0, 1.0, (len(part), case.slices.d))
        climb = ascend(on_part, V, -ends, ends, rounds=100)
        best = max(best, float(climb.value.max()))
    return best


def scipy_best(case: Instance, rows: np.ndarray, rng: np.random.Generator) -> float:
    view = View.of_slices(case.gp, case.slices, case.slices.z(0, case.m))
    objective = view.objective(case.acquisition)

    def negative(v: Host, row: int) -> tuple[float, Host]:
        value, gradient = objective(v[None, :], np.array([row]))
        return -float(value[0]), -gradient[0]

    box = [(-1.0, 1.0)] * case.slices.d
    starts = rng.uniform(-1.0, 1.0, (len(rows), len(box)))
    ends = [
        minimize(negative, v, (r,), "L-BFGS-B", jac=True, bounds=box).fun
        for r, v in zip(rows, starts, strict=True)
    ]
    return -float(min(ends))


@pytest.mark.parametrize("block", range(8))
def test_maximiser_against_the_papers_budget_and_exhaustive_search(block: int) -> None:
    """200 instances in all. The paper's budget: 10·D climbs in total, by SciPy's L-BFGS-B.
    Exhaustive: 20 climbs on every slice, by our own, which test_ascent compares with SciPy's.
    """
    missed = []
    for seed in range(25 * block, 25 * block + 25):
        case = instance(seed)
        rng = np.random.default_rng(seed)
        found = case.search(seed).value
        budget = scipy_best(case, rng.integers(0, case.m, 10 * case.slices.D), rng)
        exhaustive = climb_from(case, np.repeat(np.arange(case.m), 20), rng)
        assert found >= budget - 1e-9 * abs(budget), seed
        if exhaustive - found > 1e-6 * abs(exhaustive):
            missed.append(seed)
    assert len(missed) <= 1, missed  # 24 of 25 are 96 %


def test_value_is_the_acquisition_at_the_point() -> None:
    for seed in range(10):
        case = instance(seed)
        found = case.search()
        mean, var = case.gp.posterior(found.x[None, :])
        assert found.value == pytest.approx(float(case.acquisition.value(mean, var)[0]), rel=1e-7)
        z = case.slices.z(found.subspace, found.subspace + 1)[0]
        assert np.array_equal(found.x[case.slices.fixed], z.astype(np.float64))
        assert np.all(np.abs(found.x) <= 1.0)
        assert 0 <= found.subspace < case.m


def test_points_alone_are_compared_exactly() -> None:
    """Without free coordinates: the best of the drawn points, by exhaustive evaluation."""
    case = instance(3)
    D = case.slices.D
    points = Slices(D, 0, key=5)
    found = search_slices(Screen(points), case.gp, UCB(4.0), 3000, np.random.default_rng(0))
    mean, var = case.gp.posterior(points.z(0, 3000).astype(np.float64))
    assert found.value == pytest.approx(float(UCB(4.0).value(mean, var).max()), rel=1e-9)


def test_deadline_returns_the_best_so_far() -> None:
    """A limit that has passed already still gives a point of the first slices."""
    case = instance(7)
    late = search_slices(
        Screen(case.slices, memory=1e5),
        case.gp,
        case.acquisition,
        20000,
        np.random.default_rng(0),
        deadline=time.perf_counter(),
    )
    full = case.search()
    assert np.all(np.abs(late.x) <= 1.0)
    assert np.isfinite(late.value)
    assert late.evaluations < 20000
    assert full.evaluations > 0


def test_same_generator_same_point() -> None:
    first, second = instance(11).search(5), instance(11).search(5)
    assert np.array_equal(first.x, second.x)


@pytest.mark.parametrize("acquisition", ["ucb", "log-ei"])
def test_whole_box_is_not_below_scipy_from_many_starts(acquisition: str) -> None:
    """The box at D = 20: against 60 SciPy climbs, half from random points, half from data."""
    rng = np.random.default_rng(8)
    D, n = 20, 60
    X = rng.uniform(-1.0, 1.0, (n, D))
    y = -np.sum((X - 0.3) ** 2, axis=1)
    y = (y - y.mean()) / y.std()
    gp = GaussianProcess.from_data(Hyperparameters(Matern52(), np.asarray(2.5), 1.0, 1e-4), X, y)
    chosen: Acquisition = UCB(2.0) if acquisition == "ucb" else LogEI(float(y.max()))
    found = search_subspace(Subspace.whole(D), gp, chosen, np.random.default_rng(0))
    objective = View.of_subspace(gp, Subspace.whole(D)).objective(chosen)

    def negative(v: Host) -> tuple[float, Host]:
        value, gradient = objective(v[None, :], np.zeros(1, int))
        return -float(value[0]), -gradient[0]

    starts = np.concatenate([rng.uniform(-1, 1, (30, D)), X[np.argsort(-y)[:30]]])
    box = [(-1.0, 1.0)] * D
    best = max(-float(minimize(negative, s, jac=True, bounds=box).fun) for s in starts)
    assert found.value >= best - 1e-6 * abs(best)


def test_segment_is_searched_to_its_maximum() -> None:
    case = instance(20)
    rng = np.random.default_rng(1)
    D = case.slices.D
    line = Subspace.segment(rng.uniform(-0.5, 0.5, D), rng.standard_normal(D))
    found = search_subspace(line, case.gp, case.acquisition, rng)
    grid = np.linspace(line.lower, line.upper, 4001)
    mean, var = case.gp.posterior(line.point(grid))
    best = float(case.acquisition.value(mean, var).max())
    assert found.value >= best - 1e-9 * abs(best)


# --- under a deadline ------------------------------------------------------------------------

PAST, AMPLE = -np.inf, 1e12


def climber(n: int, D: int, deadline: float | None) -> Climber:
    box = Subspace.whole(D)
    view = View.of_subspace(make_gp(n=n, D=D), box)
    return Climber(view, UCB(4.0), (box.lower, box.upper), Meter(), deadline)


def uniform(count: int, D: int) -> Host:
    return np.random.default_rng(0).uniform(-1.0, 1.0, (count, D))


@pytest.mark.parametrize(
    ("n", "D", "portion"), [(200, 300, 2000), (1000, 1000, 100), (1000, 9999, 18), (2000, 50000, 8)]
)
def test_portions_are_as_long_as_they_take_about_the_same_time(
    n: int, D: int, portion: int
) -> None:
    view = SimpleNamespace(gp=SimpleNamespace(X=np.zeros((1, 1))), units=float(n * (n + D)))
    box = np.zeros(D), np.ones(D)
    timed: Any = Climber(view, UCB(4.0), box, Meter(), AMPLE)  # type: ignore[arg-type]
    free: Any = Climber(view, UCB(4.0), box, Meter())  # type: ignore[arg-type]
    assert free._portions(5000) == [(0, 5000)]
    portions = timed._portions(5000)
    assert portions[0] == (0, portion)
    assert [i for start, stop in portions for i in range(start, stop)] == list(range(5000))
    assert timed._portions(0) == []


def test_what_a_point_costs_depends_on_what_it_is_seen_in() -> None:
    """On a line it is cheaper than in the box; where it is mapped to the box first, dearer."""
    rng, (n, D) = np.random.default_rng(0), (20, 1200)
    gp = make_gp(n=n, D=D)
    box, line = Subspace.whole(D), Subspace.segment(np.zeros(D), rng.standard_normal(D))
    whole, thin = View.of_subspace(gp, box), View.of_subspace(gp, line)
    warped = Warped(gp, Clipped(rng.standard_normal((D, 3))))
    assert (whole.units, thin.units) == (n * (n + D), n * (n + 1))
    assert warped.units > whole.units


@pytest.mark.parametrize("count", [1, 8, 9, 100])
def test_a_look_after_the_deadline_is_at_the_first_portion(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transect.climb.PORTION", 8 * 20 * 25)
    late, free = climber(20, 5, PAST), climber(20, 5, None)
    V, row = uniform(count, 5), np.zeros(count, dtype=np.intp)
    pool, full = late.look(row, V), free.look(row, V)
    looked = min(count, 8)
    assert len(pool.row) == len(pool.v) == len(pool.value) == late.meter.used == looked
    assert np.array_equal(pool.v, V[:looked])
    np.testing.assert_allclose(pool.value, full.value[:looked], rtol=0.0, atol=1e-13)
    assert free.meter.used == count


def test_a_look_stops_after_the_portion_in_which_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transect.climb.PORTION", 10 * 20 * 25)
    ticks = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    in_time = climber(20, 5, 3.0)
    pool = in_time.look(np.zeros(100, dtype=np.intp), uniform(100, 5))
    assert len(pool.row) == in_time.meter.used == 40  # the clock is read at 0, 1, 2 and 3


def test_a_look_in_time_is_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transect.climb.PORTION", 8 * 20 * 25)
    V, row = uniform(99, 5), np.zeros(99, dtype=np.intp)
    timed, free = climber(20, 5, AMPLE), climber(20, 5, None)
    pool, full = timed.look(row, V), free.look(row, V)
    assert timed.meter.used == 99
    assert np.array_equal(pool.v, V)
    np.testing.assert_allclose(pool.value, full.value, rtol=0.0, atol=1e-13)


def test_a_look_is_at_no_more_than_the_meter_allows_either() -> None:
    timed = climber(20, 5, AMPLE)
    timed.meter.budget = 7
    assert len(timed.look(np.zeros(99, dtype=np.intp), uniform(99, 5)).row) == 7
    assert len(timed.look(np.zeros(99, dtype=np.intp), uniform(99, 5)).row) == 0
    assert timed.meter.used == 7


def test_no_climb_begins_after_the_deadline() -> None:
    late = climber(20, 5, PAST)
    pool = late.look(np.zeros(8, dtype=np.intp), uniform(8, 5))
    assert late.climb(pool, 100) is pool
    assert late.meter.used == 8


@pytest.mark.parametrize("D", [4, 1100])
def test_a_climb_is_the_same_in_any_units(D: int) -> None:
    """Different length-scales are one length-scale in a box of other sides."""
    gp = make_gp(n=40, D=D, ard=True)
    common = np.exp(np.mean(np.log(gp.hyper.lengthscale)))
    factor = common / gp.hyper.lengthscale  # (D,)
    one = GaussianProcess.from_data(replace(gp.hyper, lengthscale=common), gp.X * factor, gp.y)
    V, row = uniform(5, D), np.zeros(5, dtype=np.intp)
    ends = []
    for process, unit in ((gp, np.ones(D)), (one, factor)):
        view = View.of_subspace(process, Subspace.whole(D))
        own = Climber(view, UCB(4.0), (-unit, unit), Meter())
        start = own.look(row, V * unit)
        ends.append(own.climb(start, 8))
        assert np.all(ends[-1].value > start.value)
        assert np.all(np.abs(ends[-1].v) <= unit)
    np.testing.assert_allclose(ends[0].v * factor, ends[1].v, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(ends[0].value, ends[1].value, rtol=1e-8)


@pytest.mark.parametrize("budget", [None, 500])
@pytest.mark.parametrize("D", [1, 6, 300, 1200])
def test_a_box_after_the_deadline(D: int, budget: int | None) -> None:
    """A point inside, with the value that it has."""
    gp, box = make_gp(n=60, D=D), (np.full(D, -0.5), np.full(D, 0.75))
    around = np.clip(gp.X[:3], *box)
    for known in (None, around):
        found = search_box(
            View.of_subspace(gp, Subspace.whole(D)),
            box,
            UCB(4.0),
            np.random.default_rng(0),
            around=known,
            budget=budget,
            deadline=PAST,
        )
        assert np.all((found.x >= box[0]) & (found.x <= box[1]))
        mean, var = gp.posterior(found.x[None, :])
        assert found.value == pytest.approx(float(UCB(4.0).value(mean, var)[0]), rel=1e-9)
        assert 1 <= found.evaluations <= (8 if budget is None else budget)


@pytest.mark.parametrize("D", [6, 1200])
def test_subspaces_after_the_deadline(D: int) -> None:
    gp, rng = make_gp(n=60, D=D), np.random.default_rng(1)
    line = Subspace.segment(rng.uniform(-0.5, 0.5, D), rng.standard_normal(D))
    for subspace in (Subspace.whole(D), line):
        found = search_subspace(subspace, gp, UCB(4.0), rng, deadline=PAST)
        assert np.all(np.abs(found.x) <= 1.0)
        mean, var = gp.posterior(found.x[None, :])
        assert found.value == pytest.approx(float(UCB(4.0).value(mean, var)[0]), rel=1e-8)


class Steady:
    """A pace that is known and stays: a microsecond for a thousand units."""

    def seconds(self, units: float) -> float:
        return 1e-9 * units


@pytest.mark.parametrize("budget", [None, 3000])
@pytest.mark.parametrize("D", [6, 100, 1200])
def test_more_time_more_candidates(
    D: int, budget: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that stands still: as many as there will be time for, never more than ever."""
    monkeypatch.setattr(time, "perf_counter", lambda: 100.0)
    monkeypatch.setattr("transect.engine.machine", Steady)
    looks: list[int] = []
    look = Climber.look

    def counted(self: Climber, row: Any, v: Host) -> Pool:
        looks.append(len(v))
        return look(self, row, v)

    monkeypatch.setattr(Climber, "look", counted)
    gp = make_gp(n=60, D=D)

    def search(deadline: float | None) -> tuple[int, Found]:
        looks.clear()
        rng = np.random.default_rng(0)
        box = Subspace.whole(D)
        found = search_subspace(box, gp, UCB(4.0), rng, budget=budget, deadline=deadline)
        return sum(looks[:2]), found

    seconds = [0.0, *np.geomspace(1e-4, 100.0, 12)]
    counts = [search(100.0 + s)[0] for s in seconds]
    free, found = search(None)
    assert counts[0] == 2
    assert np.all(np.diff(counts) >= 0)
    assert counts[-1] == free
    assert len(set(counts)) > 3
    timed = search(1e12)[1]
    assert np.array_equal(timed.x, found.x)
    assert (timed.value, timed.evaluations) == (found.value, found.evaluations)
