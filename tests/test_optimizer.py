"""Ask and tell: ids, units, sign, order, pending points, failures, seeds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import Bounds

from helpers import bowl
from transect import GPUCB, MSUCB, Box, Optimizer, RandomSearch, Trial
from transect.pace import machine
from transect.strategies import History, Proposal, Setting, Strategy, as_drawn

Point = NDArray[np.float64]

MODELS: list[Any] = [
    "ms-ucb",
    "gp-ucb",
    MSUCB(d=2, n0=3, alpha=1),
    GPUCB(acquisition="log-ei"),
]
STRATEGIES = [*MODELS, "random"]
CUBE = [(-1.0, 1.0)] * 4
FAILURES = [math.nan, math.inf, -math.inf, None, np.float32("nan"), 10**400, -(10**400)]


def name_of(strategy: str | Strategy) -> str:
    return strategy if isinstance(strategy, str) else repr(strategy)[:40]


def advance(opt: Optimizer, f: Callable[[Point], Any], steps: int) -> list[Trial]:
    """Ask and tell ``steps`` times; the trials as asked."""
    asked = []
    for _ in range(steps):
        asked.append(opt.ask())
        opt.tell(asked[-1], f(asked[-1].x))
    return asked


def points(opt: Optimizer) -> Point:
    return np.array([t.x for t in opt.trials])


def closest_pair(x: Point) -> float:
    """Least distance, in the largest coordinate, between two rows."""
    gaps = np.max(np.abs(x[:, None, :] - x[None, :, :]), axis=2)
    return float(np.min(gaps[~np.eye(len(x), dtype=bool)]))


@dataclass
class Spy:
    """Suggests what it is told to, and keeps what it was shown."""

    answer: Callable[[int], Point]
    name: ClassVar[str] = "spy"
    settings: list[Setting] = field(default_factory=list)
    seen: list[History] = field(default_factory=list)
    deadlines: list[float | None] = field(default_factory=list)

    def start(self, setting: Setting) -> int:
        self.settings.append(setting)
        return 0

    initial = as_drawn

    def suggest(
        self, state: int, history: History, rng: np.random.Generator, deadline: float | None = None
    ) -> Proposal:
        self.seen.append(history)
        self.deadlines.append(deadline)
        return Proposal(self.answer(state), {"state": state}, state + 1)


# --- ids and states --------------------------------------------------------------------


def test_ids_count_all_trials_asked_or_told() -> None:
    opt = Optimizer(CUBE, "random", seed=0)
    ids = [opt.ask().id, opt.tell(np.zeros(4), 1.0).id, opt.ask().id, opt.tell(np.ones(4), 1.0).id]
    assert ids == [0, 1, 2, 3]
    assert [t.id for t in opt.trials] == ids


def test_a_trial_is_pending_until_it_is_told() -> None:
    opt = Optimizer(CUBE, "random", seed=0)
    asked = opt.ask()
    assert (asked.state, asked.value, asked.error) == ("pending", None, None)
    told = opt.tell(asked, 3)
    assert (told.state, told.value, told.error) == ("done", 3.0, None)
    assert type(told.value) is float
    assert told is opt.trials[asked.id]
    assert told.info == asked.info
    assert asked.state == "pending", "a trial that was handed out never changes"


def test_trials_is_a_snapshot() -> None:
    opt = Optimizer(CUBE, "random", seed=0)
    before = opt.trials
    opt.ask()
    assert len(before) == 0
    assert len(opt.trials) == 1


def test_a_told_point_is_recorded_as_such() -> None:
    opt = Optimizer(CUBE, "random", seed=0)
    x = np.array([0.1, 0.2, 0.3, 0.4])
    told = opt.tell(x, 5.0)
    x[:] = 0.0
    assert told.info["source"] == "told"
    assert told.x.tolist() == [0.1, 0.2, 0.3, 0.4]


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda x: np.array([x])])
def test_a_point_may_be_told_in_any_form_of_a_vector(form: Callable[[list[float]], Any]) -> None:
    told = Optimizer(CUBE, "random").tell(form([0.0, 0.5, -0.5, 1.0]), 1.0)
    assert told.x.shape == (4,)
    assert told.x.tolist() == [0.0, 0.5, -0.5, 1.0]


# --- units -----------------------------------------------------------------------------

WILD_BOUNDS = [
    [(1e-9, 1e9)] * 3,
    [(-1e300, 1e300)] * 2,
    [(-1.7e308, 1.7e308)],
    [(0.0, 1e-300), (1e300, 1.5e300)],
    [(1e15, 1e15 + 8.0), (-7.0, -6.999)],
    [(-5.0, 0.0), (1e-9, 1e9), (100.0, 101.0)],
]


def share_of_width(x: Point, bounds: list[Any]) -> Point:
    """Where x (..., D) is between its bounds, 0 to 1; halves first, so nothing overflows."""
    lower, upper = np.array(bounds).T / 2.0
    share: Point = (x / 2.0 - lower) / (upper - lower)
    return share


@pytest.mark.parametrize("strategy", ["ms-ucb", "gp-ucb", "random"])
@pytest.mark.parametrize("bounds", WILD_BOUNDS, ids=str)
def test_points_are_inside_the_users_bounds(bounds: list[Any], strategy: str) -> None:
    opt = Optimizer(bounds, strategy, seed=1, n_init=8)
    lower, upper = np.array(bounds).T
    advance(opt, lambda x: bowl(share_of_width(x, bounds)), 14)
    x = points(opt)
    assert np.all(np.isfinite(x))
    assert np.all((x >= lower) & (x <= upper))
    assert "strategy" in {t.info.get("source") for t in opt.trials}


@pytest.mark.parametrize("bounds", WILD_BOUNDS, ids=str)
def test_initial_points_spread_over_the_whole_box(bounds: list[Any]) -> None:
    opt = Optimizer(bounds, seed=2, n_init=200)
    x = np.array([opt.ask().x for _ in range(200)])
    share = share_of_width(x, bounds)
    assert np.all(np.min(share, axis=0) < 0.05)
    assert np.all(np.max(share, axis=0) > 0.95)
    assert np.all(np.abs(np.mean(share, axis=0) - 0.5) < 0.1)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name_of)
def test_a_run_does_not_depend_on_the_units(strategy: str | Strategy) -> None:
    """Powers of two scale exactly, so the two runs agree bit by bit."""
    unit = Optimizer(CUBE, strategy, seed=3, n_init=6)
    scaled = Optimizer([(-8.0, 8.0)] * 4, strategy, seed=3, n_init=6)
    advance(unit, bowl, 12)
    advance(scaled, lambda x: bowl(x / 8.0), 12)
    assert np.array_equal(8.0 * points(unit), points(scaled))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name_of)
def test_told_points_are_as_good_as_asked_ones(strategy: str | Strategy) -> None:
    """Telling the initial design as bare points leads to the same first suggestion."""
    bounds = [(-8.0, 8.0)] * 3
    asking = Optimizer(bounds, strategy, seed=4, n_init=7)
    telling = Optimizer(bounds, strategy, seed=4, n_init=7)
    for trial in advance(asking, bowl, 7):
        telling.tell(trial.x, bowl(trial.x))
    assert np.array_equal(asking.ask().x, telling.ask().x)


@pytest.mark.parametrize(
    "bounds",
    [
        np.array([[-2.0, 0.0], [5.0, 6.0]]),
        ((-2, 0), (5, 6)),
        Bounds([-2.0, 5.0], [0.0, 6.0]),
        Box.of([(-2, 0), (5, 6)]),
    ],
    ids=["array", "tuples", "scipy", "Box"],
)
def test_bounds_in_every_form(bounds: Any) -> None:
    expected = Optimizer([(-2.0, 0.0), (5.0, 6.0)], "random", seed=5)
    assert np.array_equal(Optimizer(bounds, "random", seed=5).ask().x, expected.ask().x)


def test_later_changes_of_the_bounds_array_do_not_matter() -> None:
    bounds = np.array([[0.0, 1.0], [0.0, 1.0]])
    opt = Optimizer(bounds, "random", seed=5)
    bounds[:] = [[7.0, 8.0], [7.0, 8.0]]
    assert np.all(opt.ask().x <= 1.0)


# --- sign ------------------------------------------------------------------------------


@pytest.mark.parametrize(("maximize", "expected"), [(False, 1), (True, 2)])
def test_best_is_the_least_or_the_largest(maximize: bool, expected: int) -> None:
    opt = Optimizer(CUBE, "random", seed=0, maximize=maximize)
    assert opt.best is None
    for value in (0.5, -3.0, 7.0, 2.0):
        opt.tell(opt.ask(), value)
    opt.ask()  # pending trials have no say
    opt.tell(opt.ask(), math.inf)  # nor have failures
    opt.tell(opt.ask(), -math.inf)
    assert opt.best is opt.trials[expected]


def test_best_of_values_that_are_zero() -> None:
    opt = Optimizer(CUBE, "random", seed=0)
    for value in (1.0, 0.0, 2.0):
        opt.tell(opt.ask(), value)
    assert opt.best is opt.trials[1]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name_of)
def test_maximising_is_minimising_the_negative(strategy: str | Strategy) -> None:
    low = Optimizer(CUBE, strategy, seed=6, n_init=6)
    high = Optimizer(CUBE, strategy, seed=6, n_init=6, maximize=True)
    advance(low, bowl, 11)
    advance(high, lambda x: -bowl(x), 11)
    assert np.array_equal(points(low), points(high))
    assert low.best is not None
    assert high.best is not None
    assert low.best.id == high.best.id


@pytest.mark.parametrize("maximize", [False, True])
def test_strategies_see_values_to_maximise_in_the_order_of_their_tells(maximize: bool) -> None:
    spy = Spy(lambda i: np.full(2, 0.1 * i))
    opt = Optimizer([(0.0, 4.0), (0.0, 4.0)], spy, n_init=4, seed=0, maximize=maximize)
    asked = [opt.ask() for _ in range(4)]
    opt.tell(asked[2], 10.0)
    opt.tell(asked[0], None)
    opt.tell([4.0, 0.0], 30.0)
    opt.ask()
    (history,) = spy.seen
    sign = 1.0 if maximize else -1.0
    np.testing.assert_array_equal(history.y, [sign * 10.0, math.nan, sign * 30.0])
    told = np.array([asked[2].x, asked[0].x, [4.0, 0.0]])
    np.testing.assert_allclose(history.X, told / 2.0 - 1.0, atol=1e-15)
    pending = np.array([asked[1].x, asked[3].x])
    np.testing.assert_allclose(history.pending, pending / 2.0 - 1.0, atol=1e-15)


def test_strategies_are_given_the_state_they_returned() -> None:
    spy = Spy(lambda i: np.full(4, 0.1 * i))
    opt = Optimizer(CUBE, spy, n_init=1, seed=0)
    opt.tell(opt.ask(), 0.0)
    asked = [opt.ask() for _ in range(3)]
    assert [t.info["state"] for t in asked] == [0, 1, 2]
    assert len(spy.settings) == 1
    assert spy.settings[0].D == 4


# --- order and pending points ----------------------------------------------------------


def test_tells_may_come_in_any_order() -> None:
    opt = Optimizer(CUBE, "gp-ucb", seed=7, n_init=3)
    asked = [opt.ask() for _ in range(6)]
    for trial in (asked[4], asked[1], asked[5], asked[0]):
        opt.tell(trial, bowl(trial.x))
    opt.ask()
    assert [t.state for t in opt.trials] == [
        *("done", "done", "pending", "pending", "done", "done", "pending")
    ]
    for trial in opt.trials:
        assert trial.value in (None, bowl(trial.x))


def test_the_initial_design_does_not_depend_on_the_order_of_its_tells() -> None:
    forward, backward = (Optimizer(CUBE, "gp-ucb", seed=8, n_init=10) for _ in range(2))
    asked = [(forward.ask(), backward.ask()) for _ in range(10)]
    for one, other in asked:
        assert np.array_equal(one.x, other.x)
    for one, _ in asked:
        forward.tell(one, bowl(one.x))
    for _, other in reversed(asked):
        backward.tell(other, bowl(other.x))
    assert [t.value for t in forward.trials] == [t.value for t in backward.trials]
    # The data are the same, so the model is the same up to rounding.
    ucb = forward.ask().info["ucb"], backward.ask().info["ucb"]
    assert ucb[0] == pytest.approx(ucb[1], rel=1e-3)


def test_asking_without_telling_gives_random_points_that_differ() -> None:
    opt = Optimizer(CUBE, "gp-ucb", seed=9, n_init=5)
    asked = [opt.ask() for _ in range(30)]
    assert {t.info["source"] for t in asked} == {"initial"}
    assert closest_pair(points(opt)) > 1e-3


@pytest.mark.parametrize("strategy", MODELS, ids=name_of)
def test_suggestions_keep_away_from_pending_points(strategy: str | Strategy) -> None:
    opt = Optimizer(CUBE, strategy, seed=10, n_init=10)
    advance(opt, bowl, 10)
    asked = [opt.ask() for _ in range(6)]
    assert {t.info["source"] for t in asked} == {"strategy"}
    assert closest_pair(points(opt)) > 1e-3


def test_a_failed_pending_point_can_be_told_late() -> None:
    opt = Optimizer(CUBE, "gp-ucb", seed=11, n_init=4)
    late = opt.ask()
    advance(opt, bowl, 8)
    opt.tell(late, None)
    assert opt.ask().info["source"] == "strategy"
    assert opt.trials[late.id].state == "failed"


# --- the initial design ----------------------------------------------------------------


@pytest.mark.parametrize(("told", "random_points"), [(0, 6), (2, 4), (6, 0), (9, 0)])
def test_told_points_count_towards_the_initial_design(told: int, random_points: int) -> None:
    opt = Optimizer(CUBE, "gp-ucb", seed=12, n_init=6)
    rng = np.random.default_rng(0)
    for _ in range(told):
        x = rng.uniform(-1, 1, 4)
        opt.tell(x, bowl(x))
    sources = [t.info["source"] for t in advance(opt, bowl, random_points + 2)]
    assert sources == ["initial"] * random_points + ["strategy"] * 2


def test_five_points_are_random_by_default() -> None:
    asked = advance(Optimizer(CUBE, "gp-ucb", seed=13), bowl, 7)
    assert [t.info["source"] for t in asked] == ["initial"] * 5 + ["strategy"] * 2


def test_the_strategy_waits_for_a_first_value() -> None:
    opt = Optimizer(CUBE, "gp-ucb", seed=14, n_init=2)
    asked = advance(opt, lambda x: math.nan, 5)
    assert {t.info["source"] for t in asked} == {"initial"}
    opt.tell(opt.ask(), 1.0)
    assert opt.ask().info["source"] == "strategy"


def test_suggest_first_comes_before_anything_else_and_in_order() -> None:
    first = np.array([[-0.5, 0.0, 0.5, 1.0], [0.25, 0.25, 0.25, 0.25]])
    kept = first.copy()
    opt = Optimizer(CUBE, "gp-ucb", seed=15, n_init=4)
    opt.suggest_first(first)
    opt.suggest_first([-1, -1, -1, -1])
    first[:] = 9.0
    asked = advance(opt, bowl, 5)
    assert np.array_equal([t.x for t in asked[:2]], kept)
    assert asked[2].x.tolist() == [-1.0] * 4
    sources = [t.info["source"] for t in asked]
    assert sources == ["given"] * 3 + ["initial"] + ["strategy"]


def test_suggest_first_works_in_the_middle_of_a_run() -> None:
    opt = Optimizer(CUBE, "gp-ucb", seed=16, n_init=3)
    advance(opt, bowl, 5)
    opt.suggest_first([0.1, 0.2, 0.3, 0.4])
    sources = [t.info["source"] for t in advance(opt, bowl, 2)]
    assert opt.trials[5].x.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert sources == ["given", "strategy"]


# --- seeds -----------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name_of)
def test_the_same_seed_gives_the_same_run(strategy: str | Strategy) -> None:
    def run(seed: int) -> Point:
        opt = Optimizer([(-3.0, 5.0)] * 6, strategy, seed=seed, n_init=6)
        advance(opt, bowl, 10)
        opt.ask()
        opt.ask()  # with a pending point
        return points(opt)

    assert np.array_equal(run(17), run(17))
    assert not np.any(np.all(run(17) == run(18), axis=1)), "every point depends on the seed"


def test_runs_without_a_seed_differ() -> None:
    one, other = (Optimizer(CUBE, "random").ask().x for _ in range(2))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("seed", [0, np.int64(5), 2**64, 10**30])
def test_any_integer_is_a_seed(seed: Any) -> None:
    one, other = (Optimizer(CUBE, "ms-ucb", seed=seed).ask().x for _ in range(2))
    assert np.array_equal(one, other)


def test_large_seeds_are_not_cut_off() -> None:
    one, other = (Optimizer(CUBE, "random", seed=s).ask().x for s in (1, 2**64 + 1))
    assert not np.array_equal(one, other)


def test_a_run_leaves_the_global_random_state_alone() -> None:
    np.random.seed(0)  # noqa: NPY002  the state under test
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    advance(Optimizer(CUBE, "ms-ucb", seed=0, n_init=3), bowl, 5)
    assert np.random.random() == expected  # noqa: NPY002


# --- failures --------------------------------------------------------------------------


@pytest.mark.parametrize("value", FAILURES, ids=lambda v: str(v)[:8])
@pytest.mark.parametrize("bare", [False, True])
def test_a_failure_is_recorded_with_its_reason(value: Any, bare: bool) -> None:
    opt = Optimizer(CUBE, "random", seed=0)
    failed = opt.tell(np.zeros(4) if bare else opt.ask(), value)
    assert (failed.state, failed.value) == ("failed", None)
    beyond = {10**400: "inf", -(10**400): "-inf"}  # what a float holds
    shown = beyond.get(value, str(value))
    assert failed.error == f"the value is {shown}"
    assert opt.trials == (failed,)
    assert opt.best is None


def test_fail_records_the_reason_given() -> None:
    opt = Optimizer(CUBE, "random", seed=0)
    failed = opt.fail(opt.ask(), "the solver did not converge")
    assert (failed.state, failed.value) == ("failed", None)
    assert failed.error == "the solver did not converge"
    assert opt.trials == (failed,)
    with pytest.raises(ValueError, match="trial 0 was told already"):
        opt.fail(failed, "again")
    assert opt.trials == (failed,)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name_of)
def test_failed_points_are_never_asked_again(strategy: str | Strategy) -> None:
    """The objective fails where it would be best, so a strategy would like to come back."""
    opt = Optimizer(CUBE, strategy, seed=19, n_init=8)
    advance(opt, lambda x: None if bowl(x) < 1.2 else bowl(x), 30)
    states = [t.state for t in opt.trials]
    assert states.count("failed") >= 2
    assert "done" in states
    assert closest_pair(points(opt)) >= 1e-9


def test_the_model_keeps_away_from_failures() -> None:
    """Half of the box fails; few suggestions fall into it once that is known."""
    opt = Optimizer([(-1.0, 1.0)] * 2, GPUCB(beta=1.0), seed=20, n_init=12)
    advance(opt, lambda x: math.nan if x[0] < 0.0 else float(x[0] + x[1] ** 2), 36)
    late = [t.state for t in opt.trials[-16:]]
    assert late.count("failed") <= 6


# --- duplicates ------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name_of)
def test_a_constant_objective_is_never_asked_twice_at_a_point(strategy: str | Strategy) -> None:
    opt = Optimizer([(-1.0, 1.0)] * 2, strategy, seed=21, n_init=5)
    advance(opt, lambda x: 4.0, 60)
    assert len(np.unique(points(opt), axis=0)) == 60


def test_a_strategy_that_repeats_itself_gets_another_point_evaluated() -> None:
    spy = Spy(lambda i: np.zeros(4))
    opt = Optimizer(CUBE, spy, seed=22, n_init=1)
    asked = advance(opt, bowl, 6)
    assert [t.info["source"] for t in asked[:2]] == ["initial", "strategy"]
    assert {t.info["source"] for t in asked[2:]} == {"instead of a duplicate"}
    assert closest_pair(points(opt)) > 1e-3


def test_pending_told_and_failed_points_are_not_repeated() -> None:
    spots = np.array([[0.5] * 4, [-0.5] * 4, [0.25] * 4])
    opt = Optimizer(CUBE, Spy(lambda i: spots[i]), seed=23, n_init=1)
    opt.tell(spots[0], 1.0)
    opt.tell(spots[1], None)
    opt.suggest_first(spots[2])
    assert np.array_equal(opt.ask().x, spots[2])
    for _ in range(3):
        assert opt.ask().info["source"] == "instead of a duplicate"


@pytest.mark.parametrize("D", [1, 7, 8, 255, 256, 257, 1000])
def test_points_that_differ_in_one_coordinate_are_no_duplicates(D: int) -> None:
    spot = np.linspace(-0.5, 0.5, D)
    opt = Optimizer([(-1.0, 1.0)] * D, Spy(lambda i: spot), seed=25, n_init=1)
    for i in {0, 1 % D, D // 3, D // 2, D - 1}:
        beside = spot.copy()
        beside[i] += 1e-8
        opt.tell(beside, 1.0)
    assert opt.ask().info["source"] == "strategy"
    assert opt.ask().info["source"] == "instead of a duplicate"


def test_the_user_may_tell_a_point_twice() -> None:
    opt = Optimizer(CUBE, "gp-ucb", seed=24, n_init=4)
    for value in (1.0, 2.0, 1.5, 1.0):
        opt.tell(np.zeros(4), value)
    assert opt.best is opt.trials[0]
    assert opt.ask().info["source"] == "strategy"


# --- one variable ----------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["ms-ucb", "gp-ucb"])
def test_one_variable_is_optimised(strategy: str) -> None:
    opt = Optimizer([(10.0, 20.0)], strategy, seed=25, n_init=5)
    advance(opt, lambda x: (float(x[0]) - 13.7) ** 2, 20)
    assert opt.best is not None
    assert opt.best.x.shape == (1,)
    assert opt.best.value is not None
    assert opt.best.value < 1e-3


# --- info ------------------------------------------------------------------------------

EXPECTED_INFO = {
    "ms-ucb": "ucb best_slice margin beta beta_kind t slice slices subspaces evaluations "
    "observations jitter",
    "gp-ucb": "acquisition t subspaces evaluations ucb beta beta_kind observations jitter",
    "random": "",
}


@pytest.mark.parametrize("name", EXPECTED_INFO)
def test_info_says_how_a_point_was_found(name: str) -> None:
    asked = advance(Optimizer([(-1.0, 1.0)] * 8, name, seed=26, n_init=3), bowl, 5)
    assert set(asked[0].info) == {"source", "seconds"}
    assert set(asked[-1].info) == {
        *("source", "seconds", "told", "pending"),
        *EXPECTED_INFO[name].split(),
    }
    for trial in asked:
        assert isinstance(trial.info["seconds"], float)
        assert trial.info["seconds"] >= 0.0


def test_info_of_ms_ucb_is_consistent() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 8, MSUCB(n0=4, alpha=1), seed=27, n_init=3)
    infos = [t.info for t in advance(opt, bowl, 6)[3:]]
    assert [info["t"] for info in infos] == [1, 2, 3]
    assert [info["subspaces"] for info in infos] == [4, 12, 24]
    for info in infos:
        assert 0 <= info["slice"] < info["subspaces"]
        assert info["evaluations"] > info["subspaces"]
        assert info["ucb"] == pytest.approx(info["best_slice"] + info["margin"])


def test_info_of_log_ei_has_no_beta() -> None:
    opt = Optimizer(CUBE, GPUCB(acquisition="log-ei"), seed=28, n_init=4)
    info = advance(opt, bowl, 5)[-1].info
    assert info["acquisition"] == "log-ei"
    assert math.isfinite(info["log_ei"])
    assert not {"beta", "ucb"} & set(info)


@pytest.mark.parametrize("strategy", ["ms-ucb", "gp-ucb"])
def test_ucb_is_in_the_units_of_the_maximised_function(strategy: str) -> None:
    """Values scaled by a power of two scale the bound exactly; it exceeds what is known."""
    one, other = (Optimizer(CUBE, strategy, seed=29, n_init=6) for _ in range(2))
    ucb = advance(one, bowl, 7)[-1].info["ucb"]
    scaled = advance(other, lambda x: 1024.0 * bowl(x), 7)[-1].info["ucb"]
    assert scaled == 1024.0 * ucb
    assert ucb > max(-bowl(t.x) for t in one.trials[:6])


# --- time ------------------------------------------------------------------------------


def test_the_strategy_is_told_when_to_stop() -> None:
    spy = Spy(lambda i: np.full(4, 0.1 * i))
    opt = Optimizer(CUBE, spy, seed=30, n_init=1, suggest_time=1000.0)
    opt.tell(opt.ask(), 0.0)
    before = time.perf_counter()
    opt.ask()
    after = time.perf_counter()
    (deadline,) = spy.deadlines
    assert deadline is not None
    assert before + 999.99 <= deadline <= after + 999.99


def test_without_suggest_time_there_is_no_deadline() -> None:
    spy = Spy(lambda i: np.full(4, 0.1 * i))
    opt = Optimizer(CUBE, spy, seed=30, n_init=1)
    opt.tell(opt.ask(), 0.0)
    opt.ask()
    assert spy.deadlines == [None]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name_of)
@pytest.mark.parametrize("suggest_time", [1e-9, 60, np.float64(60.0)])
def test_a_suggestion_comes_whatever_the_time(strategy: str | Strategy, suggest_time: Any) -> None:
    opt = Optimizer([(2.0, 3.0)] * 6, strategy, seed=31, n_init=3, suggest_time=suggest_time)
    asked = advance(opt, bowl, 6)
    assert asked[-1].info["source"] == "strategy"
    assert np.all((points(opt) >= 2.0) & (points(opt) <= 3.0))


@pytest.mark.parametrize("strategy", MODELS, ids=name_of)
def test_time_that_suffices_does_not_change_the_run(strategy: str | Strategy) -> None:
    free = Optimizer(CUBE, strategy, seed=32, n_init=4)
    timed = Optimizer(CUBE, strategy, seed=32, n_init=4, suggest_time=3600.0)
    advance(free, bowl, 7)
    advance(timed, bowl, 7)
    assert np.array_equal(points(free), points(timed))


# --- threads and settings --------------------------------------------------------------


def test_floating_point_settings_of_the_user_are_left_alone() -> None:
    opt = Optimizer(CUBE, "ms-ucb", seed=33, n_init=3)
    with np.errstate(all="raise"):
        before = np.geterr()
        advance(opt, lambda x: 5.0, 6)
        assert np.geterr() == before


def test_floating_point_flags_of_a_suggestion_do_not_reach_the_user() -> None:
    def careless(i: int) -> Point:
        np.log(np.zeros(1))
        return np.full(4, 0.5)

    opt = Optimizer(CUBE, Spy(careless), seed=33, n_init=1)
    opt.tell(opt.ask(), 0.0)
    with np.errstate(all="raise"):
        assert opt.ask().x.tolist() == [0.5] * 4


def test_a_strategy_object_can_serve_two_optimizers() -> None:
    shared = MSUCB(d=2, n0=2)
    one, other = (Optimizer(CUBE, shared, seed=s, n_init=3) for s in (34, 35))
    for _ in range(6):
        advance(one, bowl, 1)
        advance(other, bowl, 1)
    alone = Optimizer(CUBE, MSUCB(d=2, n0=2), seed=35, n_init=3)
    advance(alone, bowl, 6)
    assert np.array_equal(points(other), points(alone))


def test_a_strategy_may_be_named_or_given() -> None:
    named, given = (Optimizer(CUBE, s, seed=36) for s in ("random", RandomSearch()))
    assert np.array_equal(named.ask().x, given.ask().x)


# --- what was evaluated stays --------------------------------------------------------------


def test_recorded_points_cannot_be_overwritten() -> None:
    opt = Optimizer(CUBE, "random", seed=0)
    trial = opt.ask()
    with pytest.raises(ValueError, match="read-only"):
        trial.x[:] = 99.0
    told = opt.tell(np.zeros(4), 1.0)
    with pytest.raises(ValueError, match="read-only"):
        told.x[:] = 99.0


def test_a_certificate_counts_only_slices_that_were_looked_at() -> None:
    opt = Optimizer(CUBE, MSUCB(d=2, n0=200_000), seed=0, n_init=40, suggest_time=1e-9)
    advance(opt, bowl, 41)
    assert 0 < opt.trials[-1].info["subspaces"] < 200_000


# --- a limit for one suggestion --------------------------------------------------------------


class Standstill:
    """A clock that only moves when told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


@pytest.mark.parametrize(
    ("suggest_time", "within", "allowed"),  # a tenth of it is kept, and at most 10 ms
    [
        (None, 5.0, 4.99),
        (3.0, None, 2.99),
        (3.0, 5.0, 2.99),
        (5.0, 3.0, 2.99),
        (0.05, None, 0.045),
        (3.0, 0.0, 0.0),
        (None, None, None),
    ],
)
def test_the_smaller_of_two_limits_holds(
    suggest_time: float | None,
    within: float | None,
    allowed: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spy = Spy(lambda i: np.full(4, 0.1 * i))
    opt = Optimizer(CUBE, spy, seed=30, n_init=1, suggest_time=suggest_time)
    Standstill(monkeypatch)
    opt.tell(opt.ask(within), 0.0)
    opt.ask(within)
    opt.ask(within=within)
    expected = None if allowed is None else 100.0 + allowed
    assert spy.deadlines == pytest.approx([expected, expected], abs=1e-9)


def test_a_limit_for_one_suggestion_is_for_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(lambda i: np.full(4, 0.1 * i))
    opt = Optimizer(CUBE, spy, seed=30, n_init=1, suggest_time=7.0)
    clock = Standstill(monkeypatch)
    opt.tell(opt.ask(), 0.0)
    for within in (2.0, None, 1.0, 100.0):
        opt.ask(within)
        clock.now += 10.0
    assert spy.deadlines == pytest.approx([101.99, 116.99, 120.99, 136.99], abs=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=name_of)
def test_a_limit_that_is_over_at_once_still_gives_a_point(strategy: str | Strategy) -> None:
    opt = Optimizer(CUBE, strategy, seed=31, n_init=3)
    for _ in range(7):
        trial = opt.ask(within=0.0)
        opt.tell(trial, bowl(trial.x))
    assert trial.info["source"] == "strategy"
    assert np.all(np.abs(points(opt)) <= 1.0)


@pytest.mark.parametrize("strategy", MODELS, ids=name_of)
def test_a_limit_that_is_far_away_changes_nothing(strategy: str | Strategy) -> None:
    free, timed = (Optimizer(CUBE, strategy, seed=32, n_init=4) for _ in range(2))
    advance(free, bowl, 7)
    for _ in range(7):
        trial = timed.ask(within=1e9)
        timed.tell(trial, bowl(trial.x))
    assert np.array_equal(points(free), points(timed))


def test_points_to_ask_for_first_come_whatever_the_limit() -> None:
    opt = Optimizer(CUBE, "gp-ucb", seed=0)
    opt.suggest_first([0.1, 0.2, 0.3, 0.4])
    assert opt.ask(within=0.0).x.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_a_time_limit_is_prepared_for_before_the_first_suggestion() -> None:
    machine.cache_clear()
    Optimizer(CUBE, "gp-ucb", seed=0)
    assert machine.cache_info().currsize == 0
    Optimizer(CUBE, "gp-ucb", seed=0, suggest_time=1.0)
    assert machine.cache_info().currsize == 1
