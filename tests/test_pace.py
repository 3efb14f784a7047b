"""Models within a time limit: how many observations, how good a fit, and nothing without need.

No test measures time. Deadlines are long past or far away, or the clock is a made-up one on
which work takes just as long as it is predicted to.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers import bowl, log_posterior, make_data
from transect import (
    GPUCB,
    MSUCB,
    REMBO,
    SRE,
    DropoutUCB,
    GaussianProcess,
    HeSBO,
    Hyperparameters,
    LineBO,
    Optimizer,
    Surrogate,
)
from transect._array import Host
from transect._clock import deadline_in, late, left, part_of
from transect.fit import Refit, _pack, _spread
from transect.kernels import KERNELS
from transect.likelihood import LogPosterior
from transect.model import Model, Rows
from transect.pace import (
    CAUTION,
    FEW,
    FIRST,
    SHARE,
    TELLING,
    Pace,
    _growing,
    _likelihood,
    _most_telling_first,
    advance_within,
    machine,
    prepare,
)
from transect.strategies import BY_NAME, History, Strategy
from transect.strategies.protocol import Belief

PAST, AMPLE = -math.inf, 1e12
Index = NDArray[np.intp]

SURROGATES = {
    "one length-scale": Surrogate(),
    "ard": Surrogate(ard=True),
    "rbf, priors": Surrogate(kernel="rbf", prior="dimension-scaled"),
}
every_surrogate = pytest.mark.parametrize("surrogate", SURROGATES.values(), ids=SURROGATES.keys())


def within(
    surrogate: Surrogate, previous: Model | None, X: Host, y: Host, deadline: float, **more: Any
) -> Model:
    return advance_within(surrogate, previous, X, y, None, deadline, **more)


def rows_of(model: Model) -> Index:
    """Which rows of the history the model is of."""
    return np.arange(model.gp.n) if model.rows is None else model.rows.index


def hastily(
    surrogate: Surrogate, X: Host, y: Host, start: int, previous: Model | None = None
) -> list[Model]:
    """The models of the first ``start`` observations, then one more at a time, in no time."""
    models = []
    for n in range(start, len(y) + 1):
        previous = within(surrogate, previous, X[:n], y[:n], PAST)
        models.append(previous)
    return models


def plain(surrogate: Surrogate, model: Model, X: Host, y: Host) -> Model:
    """The model of X and y, computed in one go, with the hyper-parameters of ``model``."""
    return surrogate.advance(model, X, y, other_inputs=True, refit=Refit(0))


def assert_same_posterior(one: Model, other: Model, D: int, atol: float = 1e-8) -> None:
    P = np.random.default_rng(99).uniform(-1.0, 1.0, (40, D))
    for a, b in zip(one.gp.posterior(P), other.gp.posterior(P), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=atol)


def assert_bitwise(one: Model, other: Model) -> None:
    assert one.rows is None
    assert other.rows is None
    assert (one.shift, one.scale, one.fitted_on) == (other.shift, other.scale, other.fitted_on)
    size = one.gp.hyper.lengthscale.size
    assert np.array_equal(_pack(one.gp.hyper, size), _pack(other.gp.hyper, size))
    for name in ("X", "y", "L", "L_inv", "whitened"):
        assert np.array_equal(getattr(one.gp, name), getattr(other.gp, name)), name
    assert np.array_equal(one.base, other.base)


def log_posterior_at(surrogate: Surrogate, X: Host, u: Host, hyper: Hyperparameters) -> float:
    size = X.shape[1] if surrogate.ard else 1
    posterior = log_posterior(surrogate.kernel, X, u, surrogate.ard, surrogate.prior)
    return posterior.value(_pack(hyper, size))


# --- a clock on which work takes what it is predicted to ---------------------------------


class Steady:
    """A pace that is known and stays."""

    def __init__(self, unit: float) -> None:
        self.unit = unit
        self.learnt: list[tuple[float, float]] = []

    def seconds(self, units: float) -> float:
        return CAUTION * self.unit * units

    def learn(self, units: float, seconds: float) -> None:
        self.learnt.append((units, seconds))


class World:
    """A clock that moves by the work done: models that grow, and likelihoods."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, unit: float) -> None:
        self.now, self.pace = 1000.0, Steady(unit)
        self.fits: list[int] = []  # observations behind each likelihood evaluated
        self.sizes: list[int] = []  # of the models made
        advance, evaluate = Surrogate.advance, LogPosterior.__call__
        value, mean = LogPosterior.value, LogPosterior.mean

        def timed_advance(surrogate: Surrogate, *data: Any, **more: Any) -> Model:
            model = advance(surrogate, *data, **more)
            known = data[0] if data[0] and data[0].gp.hyper is model.gp.hyper else None
            old = 0 if known is None or more.get("other_inputs") else known.gp.n
            new = model.gp.n - old
            self.work(_growing(old, new, model.gp.X.shape[1]) if new else 0.0)
            self.sizes.append(model.gp.n)
            return model

        def timed(call: Callable[..., Any]) -> Callable[..., Any]:
            def job(posterior: LogPosterior, theta: Host) -> Any:
                n, D = posterior.X.shape
                self.fits.append(n)
                self.work(_likelihood(Surrogate(ard=posterior.base is None), n, D))
                return call(posterior, theta)

            return job

        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        for module in ("pace", "engine"):
            monkeypatch.setattr(f"transect.{module}.machine", lambda: self.pace)
        monkeypatch.setattr(Surrogate, "advance", timed_advance)
        monkeypatch.setattr(LogPosterior, "value", timed(value))
        monkeypatch.setattr(LogPosterior, "mean", timed(mean))
        monkeypatch.setattr(LogPosterior, "__call__", timed(evaluate))

    def work(self, units: float) -> None:
        self.now += self.pace.unit * units

    def passed(self, job: Callable[[], Model]) -> tuple[Model, float]:
        """What ``job`` gives, and the time it takes."""
        before = self.now
        return job(), self.now - before


def watch_fits(monkeypatch: pytest.MonkeyPatch) -> list[Host]:
    """The points of every fit from now on."""
    seen: list[Host] = []
    fit = Surrogate.fit

    def kept(surrogate: Surrogate, X: Host, *data: Any) -> Hyperparameters:
        seen.append(X)
        return fit(surrogate, X, *data)

    monkeypatch.setattr(Surrogate, "fit", kept)
    return seen


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch, 1e-9)


# --- deadlines ---------------------------------------------------------------------------


def test_what_is_left_of_a_deadline(world: World) -> None:
    assert deadline_in(None) is None
    assert deadline_in(3.0) == 1003.0
    assert left(None) == math.inf
    assert left(1003.0) == 3.0
    assert left(997.0) == left(1000.0) == 0.0
    assert part_of(None, 0.3) is None
    assert part_of(1010.0, 0.3) == 1003.0
    assert part_of(990.0, 0.3) == 1000.0
    assert [late(None), late(999.0), late(1000.0), late(1001.0)] == [False, True, True, False]


# --- the pace of a machine ---------------------------------------------------------------


def test_a_clock_that_stands_still_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.perf_counter", lambda: 5.0)
    assert Pace().seconds(1.0) > 0.0


def test_a_pace_follows_how_long_work_took() -> None:
    pace = Pace()
    assert 0.0 < pace.seconds(1.0) < 1.0
    assert pace.seconds(100.0) == pytest.approx(100.0 * pace.seconds(1.0))
    for _ in range(60):
        pace.learn(1000.0, 5.0)
    assert pace.seconds(1000.0) == pytest.approx(5.0 * CAUTION)
    pace.learn(1000.0, 15.0)
    assert pace.seconds(1000.0) == pytest.approx(10.0 * CAUTION), "half of the way"
    assert CAUTION > 1.0, "rather too slow than too fast"


def test_a_process_has_one_pace_which_is_measured_beforehand() -> None:
    machine.cache_clear()
    prepare()
    assert machine.cache_info().currsize == 1
    assert machine() is machine()


def test_a_likelihood_of_many_length_scales_costs_more() -> None:
    one, many = (_likelihood(Surrogate(ard=ard), 50, 1000) for ard in (False, True))
    assert many - one == 2.0 * 50 * 50 * 1000


def test_the_pace_of_growing_is_learnt(world: World) -> None:
    X, y = make_data(400, 5)
    within(Surrogate(), None, X, y, PAST)
    small = Surrogate().advance(None, X[:50], y[:50])
    within(Surrogate(), small, X[:51], y[:51], PAST)
    assert world.pace.learnt == [], "small jobs take what calls take"
    model = Surrogate().advance(None, X[:300], y[:300])
    within(Surrogate(), model, X, y, PAST)
    within(Surrogate(), model, X[:301], y[:301], PAST)
    assert [units for units, _ in world.pace.learnt] == [_growing(300, FEW, 5), _growing(300, 1, 5)]
    begun = within(Surrogate(), None, X, y, world.now + 4.0)
    assert _growing(0, begun.fitted_on, 5) > TELLING, "but it is fitted, which takes another time"
    for units, seconds in world.pace.learnt:
        assert seconds == pytest.approx(world.pace.unit * units)


# --- with ample time nothing depends on the clock ----------------------------------------


VARIANTS: dict[str, Strategy] = {
    **{name: BY_NAME[name]() for name in BY_NAME},
    "ms-ucb, many": MSUCB(d=2, n0=20, alpha=1, permute=True),
    "ms-ucb, points": MSUCB(d=0, n0=50),
    "gp-ucb, log-ei": GPUCB(acquisition="log-ei", surrogate=Surrogate(ard=True)),
    "dropout, ard": DropoutUCB(d=3, surrogate=Surrogate(ard=True)),
    "dropout, box": DropoutUCB(d=6),
    "line-bo, descent": LineBO(direction="descent", least=1, most=2),
    "line-bo, coordinate": LineBO(direction="coordinate", least=1, most=3, beta=4.0),
    "sre, short": SRE(d=2, m=2, max_evals=14),
    "rembo, y": REMBO(d=2, k=1, kernel="y"),
    "rembo, x": REMBO(d=3, k=2, kernel="x"),
    "hesbo, two": HeSBO(d=2, surrogate=Surrogate(kernel="rbf", prior="dimension-scaled")),
}
every_variant = pytest.mark.parametrize("strategy", VARIANTS.values(), ids=VARIANTS.keys())


def run(
    strategy: Strategy, told: int = 0, steps: int = 16, D: int = 6, **options: Any
) -> list[tuple[bytes, str]]:
    """Points and certificates of a run with failures and with points in flight."""
    opt = Optimizer([(-3.0, 5.0)] * D, strategy, **{"seed": 7, "n_init": 6, **options})
    for x in np.random.default_rng(5).uniform(-3.0, 5.0, (told, D)):
        opt.tell(x, math.nan if x[0] > 4.5 else bowl(x))
    for i in range(steps):
        trial = opt.ask()
        if i != steps - 4:  # one stays in flight
            opt.tell(trial, math.nan if i % 5 == 3 else bowl(trial.x))
    kept = [{k: v for k, v in t.info.items() if k != "seconds"} for t in opt.trials]
    return [(t.x.tobytes(), repr(info)) for t, info in zip(opt.trials, kept, strict=True)]


@every_variant
def test_ample_time_gives_the_same_run(strategy: Strategy) -> None:
    assert run(strategy, suggest_time=1e9) == run(strategy)


@pytest.mark.parametrize(
    "strategy",
    [GPUCB(beta="practical"), MSUCB(d=3, alpha=1), LineBO(), DropoutUCB(d=3)],
    ids=lambda s: s.name,
)
def test_ample_time_gives_the_same_run_after_many_points_at_once(strategy: Strategy) -> None:
    """So many that candidates are looked at in several portions."""
    options = {"told": 480, "steps": 5, "D": 10}
    assert run(strategy, suggest_time=1e9, **options) == run(strategy, **options)


@every_surrogate
def test_ample_time_gives_the_same_models(surrogate: Surrogate) -> None:
    X, y = make_data(60, 4)
    y[[3, 30, 57]] = math.nan
    free = timed = None
    for n in (30, 31, 32, 45, 58, 60, 60):
        free = surrogate.advance(free, X[:n], y[:n])
        timed = within(surrogate, timed, X[:n], y[:n], AMPLE)
        assert_bitwise(timed, free)


def test_ample_time_gives_the_same_models_of_other_inputs() -> None:
    X, y = make_data(50, 6)
    surrogate = Surrogate()
    free = timed = None
    for n, chosen in ((40, [0, 1]), (41, [1, 4]), (50, [0, 5])):
        data = X[:n, chosen], y[:n]
        free = surrogate.advance(free, *data, other_inputs=True)
        timed = within(surrogate, timed, *data, AMPLE, other_inputs=True)
        assert_bitwise(timed, free)


def test_ample_after_a_model_of_the_first_observations() -> None:
    """One that has not chosen among them goes on as if there had been no limit."""
    X, y = make_data(60, 4)
    surrogate = Surrogate(refit_always=10)
    hasty = within(surrogate, None, X[:FIRST], y[:FIRST], PAST)
    assert np.array_equal(rows_of(hasty), np.arange(FIRST))
    timed = within(surrogate, hasty, X, y, AMPLE)
    assert_bitwise(timed, surrogate.advance(replace(hasty, rows=None), X, y))


@pytest.mark.parametrize("due", [True, False])
def test_time_for_the_model_without_its_fit_is_not_ample(due: bool, world: World) -> None:
    X, y = make_data(200, 5)
    surrogate = Surrogate()
    previous = surrogate.advance(None, X[:150], y[:150])
    previous = replace(previous, fitted_on=150 if due else 199)
    growing = world.pace.seconds(_growing(150, 50, 5))
    model = within(surrogate, previous, X, y, world.now + 1.1 * growing / SHARE)
    assert (model.rows is None) is not due
    model = within(surrogate, previous, X, y, world.now + 0.9 * growing / SHARE)
    assert model.rows is not None
    assert np.array_equal(rows_of(within(surrogate, previous, X, y, AMPLE)), np.arange(200))


def test_a_first_model_needs_time_for_its_fit(world: World) -> None:
    X, y = make_data(200, 5)
    growing = world.pace.seconds(_growing(0, 200, 5))
    model = within(Surrogate(), None, X, y, world.now + 2.0 * growing / SHARE)
    assert model.rows is not None


# --- with no time --------------------------------------------------------------------------


@every_surrogate
def test_a_first_model_in_no_time(surrogate: Surrogate) -> None:
    X, y = make_data(300, 5)
    model = within(surrogate, None, X, y, PAST)
    rows = rows_of(model)
    assert len(rows) == model.gp.n == len(set(rows)) == FIRST
    half = FIRST // 2
    assert set(np.argsort(-y)[:half]) <= set(rows), "the best are there"
    assert set(range(300 - half, 300)) <= set(rows), "the latest are there"
    assert np.array_equal(model.gp.X, X[rows])
    np.testing.assert_allclose(model.shift + model.scale * model.gp.y, y[rows], atol=1e-12)
    assert model.fitted_on == FIRST


@pytest.mark.parametrize("n", [3, FIRST - 1, FIRST])
def test_a_first_model_of_few_has_all_in_their_order(n: int) -> None:
    X, y = make_data(n, 3)
    model = within(Surrogate(), None, X, y, PAST)
    assert np.array_equal(rows_of(model), np.arange(n))
    assert np.shares_memory(model.gp.X, X), "not copied"


@every_surrogate
def test_a_model_gains_a_few_rows_each_time_until_all_are_there(surrogate: Surrogate) -> None:
    X, y = make_data(300, 5)
    model = within(surrogate, None, X, y, PAST)
    sizes = [model.gp.n]
    while model.gp.n < 300:
        before, model = model, within(surrogate, model, X, y, PAST)
        assert np.array_equal(rows_of(model)[: before.gp.n], rows_of(before)), "at its end"
        assert model.gp.hyper is before.gp.hyper, "there is no time for a fit"
        sizes.append(model.gp.n)
    assert np.all(np.diff(sizes)[:-1] == FEW)
    assert sorted(rows_of(model)) == list(range(300))
    assert within(surrogate, model, X, y, PAST) is model, "and stays as it is"


def test_the_order_of_the_most_telling() -> None:
    rows = np.array([2, 3, 5, 7, 8, 11])
    y = np.full(12, -99.0)
    y[rows] = [1.0, math.nan, 9.0, 4.0, math.nan, 6.0]
    # The best are 5, 11, 7, 2; the latest 11, 8, 7, 5.
    assert _most_telling_first(rows, y).tolist() == [5, 11, 8, 7, 2, 3]


def test_few_new_observations_always_get_in() -> None:
    X, y = make_data(90, 5)
    surrogate = Surrogate()
    model = within(surrogate, None, X[:40], y[:40], PAST)
    for told in (41, 42, 45, 53, 54, 62, 70, 71):
        model = within(surrogate, model, X[:told], y[:told], PAST)
        assert np.array_equal(rows_of(model), np.arange(told))


def test_the_last_told_gets_in_while_hundreds_wait() -> None:
    X, y = make_data(320, 5)
    models = hastily(Surrogate(), X, y, 300)
    for n, model in zip(range(300, 321), models, strict=True):
        assert n - 1 in rows_of(model)


@every_surrogate
@pytest.mark.parametrize("failures", [0, 40])
def test_a_model_of_rows_is_the_plain_model_of_these(surrogate: Surrogate, failures: int) -> None:
    X, y = make_data(220, 4)
    y[np.random.default_rng(3).permutation(220)[:failures]] = math.nan
    models = hastily(surrogate, X, y, 200)
    for model in (models[0], models[1], models[-1]):
        rows = rows_of(model)
        assert np.array_equal(model.gp.X, X[rows])
        assert_same_posterior(model, plain(surrogate, model, X[rows], y[rows]), 4)


def test_distances_of_rows_are_theirs() -> None:
    X, y = make_data(120, 4)
    model = hastily(Surrogate(), X, y, 110)[-1]
    points = X[rows_of(model)]
    gap = points[:, None, :] - points[None, :, :]
    np.testing.assert_allclose(model.base, np.sum(gap**2, axis=2), rtol=0.0, atol=1e-12)


@every_surrogate
def test_after_haste_ample_time_makes_up_for_everything(surrogate: Surrogate) -> None:
    X, y = make_data(140, 4)
    hasty = hastily(surrogate, X, y, 135)[-1]
    assert hasty.gp.n < 140
    model = within(surrogate, hasty, X, y, AMPLE)
    assert sorted(rows_of(model)) == list(range(140))
    assert model.fitted_on == 140
    rows = rows_of(model)
    assert_same_posterior(model, plain(surrogate, model, X[rows], y[rows]), 4)
    u = (y - model.shift) / model.scale
    fresh = surrogate.fit(X, u)
    got = log_posterior_at(surrogate, X, u, model.gp.hyper)
    assert got >= log_posterior_at(surrogate, X, u, hasty.gp.hyper)
    if not surrogate.ard:  # which has many maxima
        assert got >= log_posterior_at(surrogate, X, u, fresh) - 0.5


def test_the_history_is_never_written_to() -> None:
    X, y = make_data(200, 4)
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    models = hastily(Surrogate(), X, y, 150)
    for deadline in (PAST, AMPLE):
        last = within(Surrogate(), models[-1], X, y, deadline)
        assert not np.shares_memory(last.gp.X, X)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


def test_earlier_models_stay_as_they_are() -> None:
    X, y = make_data(260, 4)
    models = hastily(Surrogate(), X, y, 100)
    P = np.random.default_rng(0).uniform(-1.0, 1.0, (9, 4))
    for model in (models[0], models[5], models[80]):
        fresh = GaussianProcess.from_data(model.gp.hyper, X[rows_of(model)], model.gp.y)
        for a, b in zip(model.gp.posterior(P), fresh.posterior(P), strict=True):
            np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-8)


# --- rows of a history ---------------------------------------------------------------------


def integers(*numbers: int) -> Index:
    return np.array(numbers, dtype=np.intp)


def test_rows_in_the_order_of_the_history_are_not_copied() -> None:
    X, _ = make_data(9, 3)
    rows = Rows(integers()).and_more(integers(0, 1), X).and_more(integers(2), X)
    assert rows.copies is None
    assert np.shares_memory(rows.points(X), X)
    assert np.array_equal(rows.points(X), X[:3])


@pytest.mark.parametrize("start", [integers(), integers(0, 1), integers(0, 1, 2)])
def test_other_rows_are_copied(start: Index) -> None:
    X, _ = make_data(9, 3)
    rows = Rows(start).and_more(integers(7, 4), X)
    assert np.array_equal(rows.points(X), X[[*start, 7, 4]])
    assert rows.copies is not None
    assert not np.shares_memory(rows.points(X), X)


def test_each_row_is_copied_once() -> None:
    """Later rows go where there is room; what is there already is not touched."""
    X, _ = make_data(40, 3)
    rows = Rows(integers()).and_more(integers(30, 2), X)
    first, there = rows.points(X), rows.copies
    X[:] = math.nan  # would show in whatever is copied again
    for k in (5, 6, 39, 7):
        rows = rows.and_more(integers(k), X)
    assert rows.copies is there
    assert np.shares_memory(first, rows.points(X))
    assert np.all(np.isfinite(rows.points(X)[:2]))
    assert np.all(np.isnan(rows.points(X)[2:]))


def test_earlier_rows_stay_valid_when_there_is_no_more_room() -> None:
    X, _ = make_data(64, 3)
    rows = Rows(integers()).and_more(integers(3, 1), X[:4])
    every = [rows]
    for k in range(4, 64):
        every.append(every[-1].and_more(integers(k), X[: k + 1]))
    for k, rows in enumerate(every):
        assert np.array_equal(rows.points(X), X[[3, 1, *range(4, 4 + k)]])
    buffers = {id(rows.copies) for rows in every}
    assert len(buffers) <= 6, "room doubles"


def test_rows_grow_along_a_growing_history() -> None:
    """The history of a run is a longer array each time, at another place."""
    X, _ = make_data(20, 3)
    rows = Rows(integers()).and_more(integers(0, 1, 2), X[:3].copy())
    assert np.array_equal(rows.points(X), X[:3])
    rows = rows.and_more(integers(9), X[:10].copy()).and_more(integers(19), X.copy())
    assert np.array_equal(rows.points(X.copy()), X[[0, 1, 2, 9, 19]])


@pytest.mark.parametrize(("count", "most"), [(10, 3), (10, 10), (10, 11), (300, 48), (7, 1)])
def test_observations_for_a_fit_are_spread_evenly(count: int, most: int) -> None:
    rows = 3 * np.arange(count)
    chosen = _spread(rows, most)
    assert len(chosen) == len(set(chosen)) == min(count, most)
    assert set(chosen) <= set(rows)
    if 1 < most < count:
        assert (chosen[0], chosen[-1]) == (rows[0], rows[-1])
        gaps = np.diff(chosen) / 3
        assert gaps.max() - gaps.min() <= 1.0


# --- fits under a deadline -----------------------------------------------------------------


@every_surrogate
def test_a_fit_with_ample_time_is_the_plain_fit(surrogate: Surrogate) -> None:
    X, u = standardised(40, 3)
    size = 3 if surrogate.ard else 1
    one, other = surrogate.fit(X, u), surrogate.fit(X, u, deadline=AMPLE)
    assert np.array_equal(_pack(one, size), _pack(other, size))
    assert one.mean == other.mean
    one = surrogate.fit(X, u, warm=other)
    other = surrogate.fit(X, u, warm=other, deadline=AMPLE)
    assert np.array_equal(_pack(one, size), _pack(other, size))


@every_surrogate
def test_without_a_limit_a_model_is_fitted_to_the_end(surrogate: Surrogate) -> None:
    X, u = standardised(40, 3)
    size = 3 if surrogate.ard else 1
    hyper = surrogate.advance(None, X, u).gp.hyper
    np.testing.assert_allclose(_pack(hyper, size), _pack(surrogate.fit(X, u), size), rtol=1e-6)


def standardised(n: int, D: int, seed: int = 0) -> tuple[Host, Host]:
    X, y = make_data(n, D, seed)
    return X, (y - y.mean()) / y.std()


@every_surrogate
def test_a_fit_in_no_time_keeps_the_warm_start(surrogate: Surrogate) -> None:
    X, u = standardised(40, 3)
    warm = surrogate.fit(X[:20], u[:20])
    held = surrogate.fit(X, u, warm, deadline=PAST)
    size = 3 if surrogate.ard else 1
    np.testing.assert_allclose(_pack(held, size), _pack(warm, size), rtol=1e-12)


@every_surrogate
@pytest.mark.parametrize("evaluations", range(1, 12))
def test_a_fit_stops_at_its_deadline_with_the_best_seen(
    surrogate: Surrogate, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that counts evaluations, never below where it started."""
    X, u = standardised(40, 3)
    warm = surrogate.fit(X[:25], u[:25])
    seen: list[float] = []
    value, evaluate = LogPosterior.value, LogPosterior.__call__

    def counted_value(posterior: LogPosterior, theta: Host) -> float:
        seen.append(value(posterior, theta))
        return seen[-1]

    def counted(posterior: LogPosterior, theta: Host) -> tuple[float, Host]:
        found = evaluate(posterior, theta)
        seen.append(found[0])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(LogPosterior, "value", counted_value)
        patch.setattr(LogPosterior, "__call__", counted)
        patch.setattr(time, "perf_counter", lambda: float(len(seen)))
        got = surrogate.fit(X, u, warm, deadline=float(evaluations))
    assert len(seen) <= evaluations, "one that begins in time is the last"
    reached = log_posterior_at(surrogate, X, u, got)
    assert reached == pytest.approx(max(seen), abs=1e-8)
    assert reached >= log_posterior_at(surrogate, X, u, warm) - 1e-9


def test_a_climb_that_meets_nothing_but_walls_ends_where_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, u = standardised(30, 3)
    warm = Surrogate().fit(X[:20], u[:20])
    monkeypatch.setattr(LogPosterior, "__call__", lambda p, theta: (-math.inf, 0.0 * theta))
    ticks = iter(range(10**6))
    with monkeypatch.context() as patch:
        patch.setattr(time, "perf_counter", lambda: float(next(ticks)))
        got = Surrogate().fit(X, u, warm, deadline=6.0)
    np.testing.assert_allclose(_pack(got, 1), _pack(warm, 1), rtol=1e-12)


def test_hyper_parameters_that_cannot_be_factored_have_a_mean() -> None:
    """Points that are there twice, a warm start without noise, and no time for another one."""
    X, u = standardised(15, 3)
    X, u = np.concatenate([X, X]), np.concatenate([u, u])
    warm = Hyperparameters(KERNELS["rbf"], np.array(50.0), 1.0, 1e-18)
    surrogate = Surrogate("rbf", noise_floor=1e-18)
    assert surrogate.fit(X, u, warm, deadline=PAST).mean == 0.0


DULL: dict[str, Callable[[int], tuple[Host, Host]]] = {
    "duplicates": lambda n: (make_data(n, 3)[0][np.arange(n) // 4], make_data(n, 3)[1]),
    "one point": lambda n: (np.full((n, 3), 0.25), make_data(n, 3)[1]),
    "constant": lambda n: (make_data(n, 3)[0], np.full(n, 7.0)),
    "zeros": lambda n: (make_data(n, 3)[0], np.zeros(n)),
    "one point, one value": lambda n: (np.full((n, 3), 0.25), np.full(n, -3.0)),
    "two values": lambda n: (make_data(n, 3)[0], np.r_[np.zeros(n - 1), 1e6]),
    "all but one failed": lambda n: (make_data(n, 3)[0], np.r_[2.0, np.full(n - 1, math.nan)]),
    "huge": lambda n: (make_data(n, 3)[0], 1e300 * make_data(n, 3)[1]),
}


@every_surrogate
@pytest.mark.parametrize("n", [4, 40, 120])
@pytest.mark.parametrize("data", DULL.values(), ids=DULL.keys())
def test_a_first_fit_in_no_time_is_finite(
    data: Callable[[int], tuple[Host, Host]], n: int, surrogate: Surrogate
) -> None:
    X, y = data(n)
    model = None
    for _ in range(3):
        model = within(surrogate, model, X, y, PAST)
        hyper = model.gp.hyper
        assert np.all(np.isfinite(_pack(hyper, 3 if surrogate.ard else 1)))
        assert math.isfinite(hyper.mean)
        assert math.isfinite(model.shift)
        assert 0.0 < model.scale < math.inf
        mean, var = model.gp.posterior(make_data(20, 3, seed=8)[0])
        assert np.all(np.isfinite(mean))
        assert np.all(var > 0.0)


def test_a_refit_under_a_deadline_is_never_on_fewer_than_before(world: World) -> None:
    """Over all limits; nor on more than there are, nor on hardly more than before."""
    X, y = make_data(300, 5)
    surrogate = Surrogate()
    seen = set()
    for limit in np.geomspace(1e-3, 100.0, 25):
        model = within(surrogate, None, X[:120], y[:120], world.now + limit)
        for n in (120, 150, 200, 201, 202, 260, 300):
            before = model
            model = within(surrogate, model, X[:n], y[:n], world.now + limit)
            held = model.gp.hyper is before.gp.hyper
            assert held == (model.fitted_on == before.fitted_on)
            assert held or model.fitted_on >= surrogate.refit_growth * before.fitted_on
            assert model.fitted_on <= model.gp.n
            seen.add(held)
    assert seen == {True, False}


def test_a_refit_needs_more_time_the_more_it_is_on(world: World) -> None:
    X, y = make_data(300, 5)
    surrogate = Surrogate()
    start = surrogate.advance(None, X[:60], y[:60])
    start = within(surrogate, start, X, y, AMPLE, other_inputs=False)
    start = replace(start, fitted_on=60)
    fitted = []
    for limit in np.geomspace(1e-3, 100.0, 40):
        model, _ = world.passed(
            lambda limit=limit: within(surrogate, start, X, y, world.now + limit)  # type: ignore
        )
        fitted.append(model.fitted_on)
    assert fitted[0] == 60
    assert fitted[-1] == 300
    assert np.all(np.diff(fitted) >= 0)
    assert len(set(fitted)) > 4, "and some are on a part"


def test_fits_on_a_part_use_only_that_part(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_data(300, 5)
    start = within(Surrogate(), None, X[:FIRST], y[:FIRST], PAST)
    world.fits.clear()
    seen = watch_fits(monkeypatch)
    cost = world.pace.seconds(8 * _likelihood(Surrogate(), 150, 5))
    rebuilt = world.pace.seconds(_growing(0, 300, 0) + _growing(FIRST, 252, 5))
    model = within(Surrogate(), start, X, y, world.now + (cost + rebuilt) / SHARE)
    assert model.gp.n == 300
    assert 1.1 * FIRST < model.fitted_on < 300
    assert set(world.fits) == {model.fitted_on}
    assert np.array_equal(seen[-1], X[_spread(rows_of(model), model.fitted_on)])


@every_surrogate
def test_a_refit_that_is_due_waits_for_time(surrogate: Surrogate) -> None:
    X, y = make_data(80, 3)
    model = within(surrogate, None, X[:40], y[:40], AMPLE)
    for n in range(41, 81):
        held = within(surrogate, model, X[:n], y[:n], PAST)
        assert held.gp.hyper is model.gp.hyper
        assert (held.shift, held.scale, held.fitted_on) == (model.shift, model.scale, 40)
        model = held
    caught_up = within(surrogate, model, X, y, AMPLE)
    assert caught_up.fitted_on == 80


def test_a_wild_value_waits_for_time_too() -> None:
    X, y = make_data(61, 3)
    model = within(Surrogate(), None, X[:60], y[:60], AMPLE)
    y[60] = model.shift + 1e6 * model.scale
    held = within(Surrogate(), model, X, y, PAST)
    assert held.gp.hyper is model.gp.hyper
    assert 60 in rows_of(held)
    assert within(Surrogate(), held, X, y, AMPLE).fitted_on == 61


def test_a_wild_value_forces_a_refit_of_chosen_rows_too() -> None:
    """Whatever the schedule says, as soon as there is time."""
    X, y = make_data(121, 3)
    model = within(Surrogate(), None, X[:120], y[:120], PAST)
    model = within(Surrogate(), model, X[:120], y[:120], AMPLE)
    assert rows_of(model).tolist() != list(range(120))
    calm = within(Surrogate(), model, X, y, AMPLE)
    assert (calm.gp.n, calm.fitted_on) == (121, 120)
    y[120] = model.shift + 1e6 * model.scale
    wild = within(Surrogate(), model, X, y, AMPLE)
    assert (wild.gp.n, wild.fitted_on) == (121, 121)


# --- within a time limit, on a clock on which predictions come true ------------------------

LIMITS = [float(limit) for limit in np.geomspace(1e-3, 300.0, 12)]


def forced(unit: float, surrogate: Surrogate, n: int, D: int) -> float:
    """What is done however late it is: a few rows more, an evaluation and a mean."""
    return unit * (_growing(n, FEW, D) + 2.0 * _likelihood(surrogate, n, D))


@every_surrogate
@pytest.mark.parametrize("limit", LIMITS)
def test_a_model_takes_its_share_of_the_time(
    limit: float, surrogate: Surrogate, world: World
) -> None:
    """300 observations at once, then one after the other."""
    X, y = make_data(310, 6)
    model = None
    for n in range(300, 311):
        model, passed = world.passed(
            lambda n=n, old=model: within(surrogate, old, X[:n], y[:n], world.now + limit)  # type: ignore
        )
        first = 10 * _likelihood(surrogate, FIRST, 6) if n == 300 else 0.0
        allowed = SHARE * limit + forced(world.pace.unit, surrogate, model.gp.n, 6)
        assert passed <= allowed + world.pace.unit * first, n


def test_a_refit_leaves_time_for_the_model_after_it(world: World) -> None:
    """Of a model that has all rows: over its share by an evaluation and the mean, hardly both."""
    X, y = make_data(300, 6)
    start = replace(Surrogate().advance(None, X, y), fitted_on=60)
    refits = 0
    for limit in np.geomspace(0.1, 100.0, 60):
        before = world.now
        model = within(Surrogate(), start, X, y, before + limit)
        refits += model is not start
        evaluation = world.pace.unit * _likelihood(Surrogate(), model.fitted_on, 6)
        assert world.now - before <= SHARE * limit + 1.8 * evaluation
    assert refits > 20


def test_a_first_fit_is_on_the_most_telling(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is time for more, but not for all."""
    X, y = make_data(300, 6)
    seen = watch_fits(monkeypatch)
    model = within(Surrogate(), None, X, y, world.now + 1.0)
    assert model.rows is not None
    assert FIRST <= len(seen[0]) < 300
    assert np.array_equal(seen[0], X[_most_telling_first(np.arange(300), y)[: len(seen[0])]])


def test_more_time_more_observations_and_a_better_fit(world: World) -> None:
    X, y = make_data(300, 6)
    sizes, fitted = [], []
    for limit in np.geomspace(1e-3, 100.0, 6):
        model = within(Surrogate(), None, X, y, world.now + limit)
        sizes.append(model.gp.n)
        fitted.append(model.fitted_on)
    assert (sizes[0], fitted[0]) == (FIRST, FIRST)
    assert (sizes[-1], fitted[-1]) == (300, 300)
    assert np.all(np.diff(sizes) >= 0)
    assert np.all(np.diff(fitted) >= 0)
    assert len(set(sizes)) > 2
    assert len(set(fitted)) > 2


def test_time_that_is_there_is_used(world: World) -> None:
    """Rows are added until the model's share is over, not a few at a time."""
    X, y = make_data(300, 6)
    start = within(Surrogate(), None, X[:FIRST], y[:FIRST], PAST)
    budget = world.pace.unit * _growing(FIRST, 100, 6)
    model = within(Surrogate(), start, X, y, world.now + budget / SHARE)
    assert 120 < model.gp.n < 300
    assert len(world.sizes) <= 6, "in few steps"


# --- other inputs, failures, points in flight ----------------------------------------------


@pytest.mark.parametrize("ard", [False, True])
def test_other_inputs_in_no_time(ard: bool) -> None:
    """Hyper-parameters are all that is left of the previous model: a model begins again."""
    X, y = make_data(300, 6)
    surrogate = Surrogate(ard=ard)
    previous = None
    for chosen in ([0, 3], [5, 1], [2, 4]):
        seen = X[:, chosen]
        model = within(surrogate, previous, seen, y, PAST, other_inputs=True)
        rows = rows_of(model)
        assert FIRST <= len(rows) < 300
        assert int(np.argmax(y)) in rows
        assert 299 in rows
        assert np.array_equal(model.gp.X, seen[rows])
        assert_same_posterior(model, plain(surrogate, model, seen[rows], y[rows]), 2)
        if previous is not None:
            assert model.gp.hyper is previous.gp.hyper
            assert (model.shift, model.scale) == (previous.shift, previous.scale)
        previous = model


def test_other_inputs_of_few_observations_are_all_there() -> None:
    X, y = make_data(FIRST, 6)
    one = within(Surrogate(), None, X[:, :2], y, PAST, other_inputs=True)
    other = within(Surrogate(), one, X[:, 3:5], y, PAST, other_inputs=True)
    assert np.array_equal(rows_of(other), np.arange(FIRST))
    assert np.array_equal(other.gp.X, X[:, 3:5])


def test_other_inputs_need_time_for_all_rows(world: World) -> None:
    X, y = make_data(300, 6)
    previous = Surrogate().advance(None, X[:299, :2], y[:299])
    seen = X[:, 2:4]
    step, anew = (world.pace.seconds(_growing(n, 300 - n, 2)) for n in (299, 0))
    assert step < 0.9 * anew
    for limit, ample in ((0.9 * anew, False), (1.1 * anew, True)):
        until = world.now + limit / SHARE
        model = within(Surrogate(), previous, seen, y, until, other_inputs=True)
        assert (model.rows is None) is ample


def test_other_inputs_grow_as_any_model_does(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun once, extended from then on."""
    X, y = make_data(300, 6)
    previous = Surrogate().advance(None, X[:, :2], y)
    begun: list[int] = []
    from_data = GaussianProcess.from_data

    def counted(hyper: Any, X: Host, *data: Any) -> GaussianProcess:
        begun.append(len(X))
        return from_data(hyper, X, *data)

    monkeypatch.setattr(GaussianProcess, "from_data", staticmethod(counted))
    limit = world.pace.seconds(_growing(0, 290, 2)) / SHARE
    model = within(Surrogate(), previous, X[:, 2:4], y, world.now + limit, other_inputs=True)
    assert model.gp.n > begun[0]
    assert len(begun) == 1


@pytest.mark.parametrize("limit", [0.01, 0.1, 1.0, 10.0])
def test_other_inputs_take_their_share_of_the_time(limit: float, world: World) -> None:
    X, y = make_data(400, 6)
    rng, previous = np.random.default_rng(0), None
    for n in range(390, 401):
        seen = X[:n, rng.permutation(6)[:2]]
        before = world.now
        model = within(Surrogate(), previous, seen, y[:n], before + limit, other_inputs=True)
        unit = world.pace.unit
        first = 20 * _likelihood(Surrogate(), FIRST, 2) + _growing(0, FIRST, 2)
        assert world.now - before <= (
            SHARE * limit + unit * first + forced(unit, Surrogate(), model.gp.n, 2)
        )
        if previous is not None:
            assert model.fitted_on >= previous.fitted_on
        previous = model


@pytest.mark.parametrize("failures", [1, 150, 290, 299])
def test_failures_among_the_rows(failures: int) -> None:
    X, y = make_data(300, 4)
    failed = np.random.default_rng(1).permutation(300)[:failures]
    y[failed] = math.nan
    surrogate = Surrogate()
    model = within(surrogate, None, X, y, PAST)
    for _ in range(4):
        rows = rows_of(model)
        assert int(np.nanargmax(y)) in rows
        ok = np.isfinite(y[rows])
        np.testing.assert_allclose(
            model.shift + model.scale * model.gp.y[ok], y[rows][ok], atol=1e-12
        )
        assert np.all(np.isfinite(model.gp.y))
        assert model.fitted_on <= np.count_nonzero(ok)
        assert_same_posterior(model, plain(surrogate, model, X[rows], y[rows]), 4)
        model = within(surrogate, model, X, y, PAST)
    caught_up = within(surrogate, model, X, y, AMPLE)
    assert sorted(rows_of(caught_up)) == list(range(300))


def test_failures_do_not_make_a_refit_due() -> None:
    X, y = make_data(160, 4)
    model = within(Surrogate(), None, X[:100], y[:100], PAST)
    model = within(Surrogate(), model, X[:100], y[:100], AMPLE)
    y[100:] = math.nan
    after = within(Surrogate(), model, X, y, AMPLE)
    assert after.gp.hyper.same_covariance(model.gp.hyper)
    assert (after.fitted_on, after.gp.n) == (100, 160)


def test_known_hyper_parameters_stay_in_haste() -> None:
    X, y = make_data(120, 4)
    surrogate = Surrogate(known=(1.5, 2.0, 0.01))
    for model in (*hastily(surrogate, X, y, 110), within(surrogate, None, X, y, AMPLE)):
        assert float(model.gp.hyper.lengthscale) == 1.5
        assert (model.gp.hyper.amplitude, model.gp.hyper.noise) == (2.0, 0.01)
        assert (model.shift, model.scale) == (0.0, 1.0)
        assert_same_posterior(
            model, plain(surrogate, model, X[rows_of(model)], y[rows_of(model)]), 4
        )


@pytest.mark.parametrize("deadline", [PAST, AMPLE])
def test_points_in_flight_are_added_to_the_model_of_rows(deadline: float) -> None:
    X, y = make_data(200, 4)
    pending, _ = make_data(3, 4, seed=5)
    belief = Belief.of(Surrogate(), None, History(X, y, pending), None, deadline)
    model, gp = belief.model, belief.gp
    assert model.gp.n == (FIRST if deadline == PAST else 200)
    assert gp.n == model.gp.n + 3
    P = np.concatenate([pending, make_data(30, 4, seed=6)[0]])
    (mean, var), (settled, before) = gp.posterior(P), model.gp.posterior(P)
    np.testing.assert_allclose(mean, settled, rtol=0.0, atol=1e-7)
    assert np.all(var <= before + 1e-12)
    assert np.all(var[:3] < before[:3])


def test_without_a_deadline_a_belief_is_the_plain_model() -> None:
    X, y = make_data(60, 4)
    belief = Belief.of(Surrogate(), None, History(X, y, np.zeros((0, 4))), None)
    assert_bitwise(belief.model, Surrogate().advance(None, X, y))


# --- whole suggestions ---------------------------------------------------------------------


@dataclass(frozen=True)
class Hasty:
    """A run of which 300 points were told at once, and which never has time."""

    opt: Optimizer
    models: list[Model]


@cache
def hasty_run(ard: bool) -> Hasty:
    strategy = GPUCB(beta="practical", surrogate=Surrogate(ard=ard))
    opt = Optimizer([(-3.0, 5.0)] * 6, strategy, seed=7, n_init=6, suggest_time=1e-9)
    for x in np.random.default_rng(5).uniform(-3.0, 5.0, (300, 6)):
        opt.tell(x, bowl(x))
    models = []
    for _ in range(45):
        trial = opt.ask()
        models.append(opt._state.model)
        opt.tell(trial, bowl(trial.x))
    return Hasty(opt, models)


@pytest.mark.parametrize("ard", [False, True])
def test_points_told_at_once_are_in_the_model_after_some_suggestions(ard: bool) -> None:
    run = hasty_run(ard)
    sizes = [model.gp.n for model in run.models]
    assert sizes[:3] == [FIRST, FIRST + FEW, FIRST + 2 * FEW]
    assert sizes[-1] == 344, "all but the last one asked for"
    assert all(np.array_equal(m.gp.hyper.lengthscale, run.models[0].gp.hyper.lengthscale)
               for m in run.models)  # fmt: skip
    told = run.opt._ledger.history()
    last = run.models[-1]
    rows = rows_of(last)
    assert_same_posterior(last, plain(Surrogate(ard=ard), last, told.X[rows], told.y[rows]), 6)


def test_no_point_is_suggested_twice_for_lack_of_time() -> None:
    sources = [trial.info["source"] for trial in hasty_run(False).opt.trials[300:]]
    assert sources == ["strategy"] * 45


@every_variant
def test_points_told_at_once_and_no_time(strategy: Strategy) -> None:
    opt = Optimizer([(-3.0, 5.0)] * 6, strategy, seed=7, n_init=6, suggest_time=1e-9)
    for x in np.random.default_rng(5).uniform(-3.0, 5.0, (300, 6)):
        opt.tell(x, bowl(x))
    for step in range(8):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
        assert np.all(np.abs(trial.x - 1.0) <= 4.0)
        assert trial.info.get("observations", 0) <= FIRST + step * FEW
    assert len({trial.x.tobytes() for trial in opt.trials}) == 308, "all different"


@pytest.mark.parametrize(
    "strategy", [HeSBO(d=2), REMBO(d=2, k=1), SRE(d=2, m=1)], ids=lambda s: s.name
)
def test_points_of_an_embedding_and_no_time(strategy: Strategy) -> None:
    """Only points of its own count: here those of a long initial design."""
    opt = Optimizer([(-3.0, 5.0)] * 6, strategy, seed=7, n_init=100, suggest_time=1e-9)
    for _ in range(103):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    suggested = [trial.info["observations"] for trial in opt.trials[100:]]
    assert suggested == [FIRST, FIRST + FEW, FIRST + 2 * FEW]


def test_a_line_that_is_done_is_left_in_no_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transect.climb.PORTION", 1.0)  # a few points between two glances
    opt = Optimizer([(-3.0, 5.0)] * 6, LineBO(least=1, most=1), seed=7, suggest_time=1e-9)
    for x in np.random.default_rng(5).uniform(-3.0, 5.0, (60, 6)):
        opt.tell(x, bowl(x))
    for _ in range(4):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
        assert trial.info["query"] == 1
        assert trial.info["evaluations"] < 100


@every_variant
def test_no_time_from_the_first_point_to_the_last(strategy: Strategy) -> None:
    points = run(strategy, steps=70, suggest_time=1e-9)
    for x, _ in points:
        assert np.all(np.abs(np.frombuffer(x) - 1.0) <= 4.0)


@pytest.mark.parametrize(
    "strategy", [GPUCB(beta="practical"), MSUCB(d=2, alpha=1), LineBO()], ids=lambda s: s.name
)
def test_after_haste_suggestions_are_searched_as_ever(strategy: Strategy) -> None:
    """With time again, the bound of the suggestion is that at its point in the whole model."""
    opt = Optimizer([(-1.0, 1.0)] * 6, strategy, seed=7, n_init=6, suggest_time=1e-9)
    for x in np.random.default_rng(5).uniform(-1.0, 1.0, (120, 6)):
        opt.tell(x, bowl(x))
    for _ in range(4):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    opt.suggest_time = 1e9
    trial = opt.ask()
    model = opt._state.model
    assert model.gp.n == model.fitted_on == 124
    mean, var = model.gp.posterior(trial.x[None, :])
    bound = float(mean[0] + math.sqrt(trial.info["beta"] * var[0]))
    assert trial.info["ucb"] == pytest.approx(model.shift + model.scale * bound, rel=1e-6)


# --- what went wrong once --------------------------------------------------------------------


def test_a_suggestion_without_a_limit_after_one_with() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 4, "gp-ucb", seed=0, n_init=5)
    for x in np.random.default_rng(0).uniform(-1.0, 1.0, (200, 4)):
        opt.tell(x, bowl(x))
    opt.ask(1e-9)
    opt.ask()
    model, told = opt._state.model, opt._ledger.history()
    rows = rows_of(model)
    assert sorted(rows) == list(range(200))
    assert_same_posterior(model, plain(Surrogate(), model, told.X[rows], told.y[rows]), 4)


def test_two_continuations_of_the_same_rows() -> None:
    """A state may be continued more than once, as after an interrupt."""
    X, _ = make_data(9, 3)
    rows = Rows(integers()).and_more(integers(8, 2), X)
    one, other = rows.and_more(integers(5, 6), X), rows.and_more(integers(7), X)
    assert np.array_equal(one.points(X), X[[8, 2, 5, 6]])
    assert np.array_equal(other.points(X), X[[8, 2, 7]])


def test_the_last_told_gets_in_while_some_wait() -> None:
    X, y = make_data(90, 5)
    model = within(Surrogate(), None, X[:40], y[:40], PAST)
    for n in range(80, 91):
        model = within(Surrogate(), model, X[:n], y[:n], PAST)
        assert n - 1 in rows_of(model)


def test_a_refit_of_other_inputs_is_never_on_fewer_than_before(world: World) -> None:
    X, y = make_data(300, 6)
    surrogate = Surrogate(refit_always=250)
    previous = within(surrogate, None, X[:200, :2], y[:200], AMPLE, other_inputs=True)
    limit = 4.0 * world.pace.seconds(_growing(0, FIRST, 2) + 8 * _likelihood(surrogate, FIRST, 2))
    model = within(surrogate, previous, X[:, 2:4], y, world.now + limit, other_inputs=True)
    assert model.fitted_on >= previous.fitted_on
