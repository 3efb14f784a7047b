"""minimize and maximize: what they return, what stops them, what they put up with."""

from __future__ import annotations

import io
import logging
import math
import pickle
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

import transect
from transect import maximize, minimize
from transect.optimizer import KEPT
from transect.strategies import History, Proposal, Setting, as_drawn

Point = NDArray[np.float64]
Result = Any  # OptimizeResult: its attributes are set at run time

SQUARE = [(-1.0, 1.0), (0.0, 4.0)]


def bowl(x: Point) -> float:
    return float(np.sum((x - 0.25) ** 2))


class Objective:
    """A function that keeps the points it was called at; ``answers`` override its values."""

    def __init__(self, f: Callable[[Point], Any] = bowl, answers: dict[int, Any] | None = None):
        self.f, self.answers = f, answers or {}
        self.calls: list[Point] = []

    def __call__(self, x: Point) -> Any:
        self.calls.append(x.copy())
        answer = self.answers.get(len(self.calls) - 1, self.f)
        if isinstance(answer, BaseException):
            raise answer
        return answer(x) if callable(answer) else answer


def sources(result: Result) -> list[str]:
    return [t.info["source"] for t in result.trials]


# --- the result ------------------------------------------------------------------------


def test_the_result_has_scipys_names() -> None:
    f = Objective()
    r: Result = minimize(f, SQUARE, 12, "random", seed=0)
    assert isinstance(r, OptimizeResult)
    assert (r.nfev, len(f.calls), len(r.trials)) == (12, 12, 12)
    assert r.success is True
    assert r.message == "made all 12 evaluations"
    assert r.x_iters.shape == (12, 2)
    assert np.array_equal(r.x_iters, f.calls)
    assert r.func_vals.tolist() == [bowl(x) for x in f.calls]
    assert isinstance(r.fun, float)
    assert r.fun == min(r.func_vals)
    assert np.array_equal(r.x, r.x_iters[np.argmin(r.func_vals)])


def test_a_result_is_shown_in_short() -> None:
    r: Result = minimize(bowl, [(-1.0, 1.0)] * 100, 30, "random", seed=0)
    assert str(r) == repr(r)
    lines = [tuple(line.strip().split(": ", 1)) for line in str(r).splitlines()]
    names = ["message", "success", "fun", "x", "nfev", "trials", "guarantee"]
    assert [name for name, _ in lines] == names
    assert "..." in lines[3][1]
    assert lines[5:] == [("trials", "30 of them"), ("guarantee", str(r.guarantee))]
    again = pickle.loads(pickle.dumps(r))
    assert str(again) == str(r)
    assert list(again) == list(r)
    assert dir(r) == sorted(r)
    assert np.array_equal(again.x_iters, r.x_iters)
    del r.trials, r.guarantee
    assert "guarantee" not in str(r)


def test_maximize_returns_the_largest_value_with_its_own_sign() -> None:
    r: Result = maximize(lambda x: -bowl(x), SQUARE, 12, "random", seed=0)
    assert r.fun == max(r.func_vals) < 0.0
    assert np.array_equal(r.x, r.x_iters[np.argmax(r.func_vals)])


@pytest.mark.parametrize("strategy", ["ms-ucb", "gp-ucb", "random"])
def test_maximize_is_minimize_of_the_negative(strategy: str) -> None:
    low: Result = minimize(bowl, SQUARE, 14, strategy, seed=1)
    high: Result = maximize(lambda x: -bowl(x), SQUARE, 14, strategy, seed=1)
    assert np.array_equal(low.x_iters, high.x_iters)
    assert np.array_equal(low.func_vals, -high.func_vals)
    assert low.fun == -high.fun


def test_the_optimizer_gives_the_same_run() -> None:
    r: Result = minimize(bowl, SQUARE, 12, "gp-ucb", seed=2, n_init=4)
    opt = transect.Optimizer(SQUARE, "gp-ucb", seed=2, n_init=4)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    assert np.array_equal(r.x_iters, [t.x for t in opt.trials])


@pytest.mark.parametrize("solve", [minimize, maximize])
@pytest.mark.parametrize("strategy", ["ms-ucb", "gp-ucb"])
def test_the_same_seed_gives_the_same_run(solve: Any, strategy: str) -> None:
    runs = [solve(bowl, SQUARE, 14, strategy, seed=s).x_iters for s in (3, 3, 4)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_runs_without_a_seed_differ() -> None:
    one, other = (minimize(bowl, SQUARE, 2, "random").x_iters for _ in range(2))
    assert not np.array_equal(one, other)


def test_a_single_evaluation_is_a_run() -> None:
    r: Result = minimize(bowl, SQUARE, 1, seed=0)
    assert (r.nfev, r.success) == (1, True)


# --- the callback and what stops a run -------------------------------------------------


def test_the_callback_sees_every_evaluation() -> None:
    seen: list[Result] = []
    minimize(bowl, SQUARE, 7, "random", seed=5, callback=seen.append)
    assert [r.nfev for r in seen] == list(range(1, 8))
    assert {r.message for r in seen} == {"running"}
    for r in seen:
        assert r.fun == min(r.func_vals)
        assert len(r.x_iters) == r.nfev


def test_the_callback_is_called_before_anything_has_worked() -> None:
    seen: list[Result] = []
    f = Objective(answers={0: None})
    minimize(f, SQUARE, 2, "random", seed=5, callback=seen.append)
    assert (seen[0].x, seen[0].success, seen[0].message) == (None, False, "running")
    assert math.isnan(seen[0].fun)
    assert seen[1].success is True


def test_stop_iteration_from_the_callback_ends_the_run() -> None:
    def stop(r: Result) -> None:
        if r.nfev == 4:
            raise StopIteration

    f = Objective()
    r: Result = minimize(f, SQUARE, 50, "random", seed=6, callback=stop)
    assert (r.nfev, len(f.calls)) == (4, 4)
    assert r.success is True
    assert r.message == "stopped by the callback"


def test_what_the_callback_returns_does_not_matter() -> None:
    r: Result = minimize(bowl, SQUARE, 5, "random", seed=6, callback=lambda r: True)
    assert r.nfev == 5


@pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_other_exceptions_from_the_callback_propagate(error: BaseException) -> None:
    def callback(r: Result) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        minimize(bowl, SQUARE, 5, "random", seed=7, callback=callback)
    assert caught.value is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupted_objective_ends_the_run(error: BaseException) -> None:
    f = Objective(answers={2: error})
    with pytest.raises(type(error)):
        minimize(f, SQUARE, 10, "random", seed=7)
    assert len(f.calls) == 3


class Clock:
    """A clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_no_evaluation_starts_after_max_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    def slow(x: Point) -> float:
        clock.now += 3.0
        return bowl(x)

    r: Result = minimize(slow, SQUARE, 100, "random", seed=8, max_time=10.0)
    assert r.nfev == 4  # they start at 0, 3, 6 and 9 seconds
    assert r.success is True
    assert r.message == "stopped after max_time = 10.0 s"


def test_no_time_at_all_is_a_run_without_evaluations() -> None:
    f = Objective()
    r: Result = minimize(f, SQUARE, 5, "random", seed=8, max_time=1e-9)
    assert (r.nfev, f.calls, r.x, r.success) == (0, [], None, False)
    assert r.x_iters.shape == (0, 2)
    assert r.func_vals.shape == (0,)
    assert "max_time" in r.message


def test_time_that_suffices_changes_nothing() -> None:
    free: Result = minimize(bowl, SQUARE, 10, "gp-ucb", seed=8)
    timed: Result = minimize(
        bowl, SQUARE, 10, "gp-ucb", seed=8, max_time=3600, suggest_time=np.float64(3600)
    )
    assert np.array_equal(free.x_iters, timed.x_iters)
    assert timed.message == "made all 10 evaluations"


# --- x0 and y0 -------------------------------------------------------------------------

ONE = [[0.5, 2.0]]
TWO = [[0.5, 2.0], [-1.0, 4.0]]


@pytest.mark.parametrize(
    ("x0", "expected"),
    [
        ([0.5, 2.0], ONE),
        ((0.5, 2), ONE),
        (np.array([0.5, 2.0]), ONE),
        (np.array([0.5, 2.0], dtype=np.float32), ONE),
        (np.array(ONE), ONE),
        ([-1, 4], [[-1.0, 4.0]]),
        (TWO, TWO),
        (tuple(map(tuple, TWO)), TWO),
        (np.array(TWO), TWO),
        ([np.array(p) for p in TWO], TWO),
        (np.array(TWO, order="F"), TWO),
    ],
)
def test_x0_is_evaluated_first(x0: Any, expected: list[list[float]]) -> None:
    f = Objective()
    r: Result = minimize(f, SQUARE, 6, "random", seed=9, x0=x0)
    assert np.array_equal(r.x_iters[: len(expected)], expected)
    assert (r.nfev, len(f.calls)) == (6, 6)


@pytest.mark.parametrize(
    ("x0", "y0", "values"),
    [
        (ONE[0], 0.25, [0.25]),
        (ONE[0], 3, [3.0]),
        (ONE, np.float32(0.25), [0.25]),
        (ONE, np.array(0.25), [0.25]),
        (ONE, [0.25], [0.25]),
        (TWO, [0.25, 1], [0.25, 1.0]),
        (TWO, (0.25, 1), [0.25, 1.0]),
        (TWO, np.array([0.25, 1.0]), [0.25, 1.0]),
        (TWO, np.array([[0.25], [1.0]]), [0.25, 1.0]),
        (TWO, [math.nan, 1.0], [math.nan, 1.0]),
        (TWO, [None, 1.0], [math.nan, 1.0]),
        (TWO, [math.inf, 1.0], [math.nan, 1.0]),
    ],
)
def test_y0_takes_x0_as_evaluated(x0: Any, y0: Any, values: list[float]) -> None:
    f = Objective()
    r: Result = minimize(f, SQUARE, 4, "random", seed=9, x0=x0, y0=y0)
    given = len(values)
    np.testing.assert_array_equal(r.func_vals[:given], values)
    assert np.array_equal(r.x_iters[:given], np.atleast_2d(x0))
    assert np.array_equal(r.x_iters[given:], f.calls), "f is not called at x0"
    assert (r.nfev, len(f.calls)) == (4, 4)
    assert [source == "told" for source in sources(r)] == [True] * given + [False] * 4
    assert [t.state == "failed" for t in r.trials[:given]] == [math.isnan(v) for v in values]


def test_a_value_in_y0_can_be_the_best_one() -> None:
    r: Result = minimize(bowl, SQUARE, 4, "random", seed=9, x0=TWO, y0=[5.0, -100.0])
    assert r.fun == -100.0
    assert r.x.tolist() == TWO[1]
    assert r.nfev == 4


def test_the_arrays_of_the_user_are_neither_kept_nor_changed() -> None:
    x0, y0 = np.array(TWO), np.array([1.0, 2.0])
    r: Result = minimize(bowl, SQUARE, 3, "random", seed=9, x0=x0, y0=y0)
    assert x0.tolist() == TWO
    assert y0.tolist() == [1.0, 2.0]
    x0[:] = 0.0
    assert np.array_equal([t.x for t in r.trials[:2]], TWO)


# --- the initial design ----------------------------------------------------------------


@pytest.mark.parametrize(("max_evals", "expected"), [(1, 1), (2, 1), (7, 3), (10, 5), (50, 5)])
def test_half_of_the_evaluations_at_most_five_are_random(max_evals: int, expected: int) -> None:
    r: Result = minimize(bowl, SQUARE, max_evals, "gp-ucb", seed=10)
    assert sources(r).count("initial") == expected
    assert set(sources(r)[:expected]) == {"initial"}


@pytest.mark.parametrize("n_init", [1, 3, 9, np.int64(3)])
def test_n_init_is_how_many_points_are_random(n_init: int) -> None:
    r: Result = minimize(bowl, SQUARE, 10, "gp-ucb", seed=10, n_init=n_init)
    assert sources(r) == ["initial"] * n_init + ["strategy"] * (10 - n_init)


def test_x0_counts_towards_n_init() -> None:
    r: Result = minimize(bowl, SQUARE, 6, "gp-ucb", seed=10, n_init=4, x0=TWO)
    assert np.array_equal(r.x_iters[:2], TWO)
    assert sources(r) == ["given"] * 2 + ["initial"] * 2 + ["strategy"] * 2


def test_points_in_y0_count_towards_n_init() -> None:
    r: Result = minimize(bowl, SQUARE, 4, "gp-ucb", seed=10, n_init=4, x0=TWO, y0=[1.0, 2.0])
    assert sources(r) == ["told"] * 2 + ["initial"] * 2 + ["strategy"] * 2


# --- failures --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (StopIteration(), "StopIteration: "),
        (TypeError("inside f"), "TypeError: inside f"),
        (math.nan, "the value is nan"),
        (-math.inf, "the value is -inf"),
        (10**400, "the value is inf"),
        (None, "the value is None"),
    ],
    ids=str,
)
@pytest.mark.parametrize("at", [0, 3])
def test_a_failure_is_recorded_and_the_run_goes_on(answer: Any, reason: str, at: int) -> None:
    f = Objective(answers={at: answer})
    r: Result = minimize(f, SQUARE, 8, "gp-ucb", seed=11, n_init=4)
    assert (r.nfev, len(f.calls)) == (8, 8)
    assert r.success is True
    failed = r.trials[at]
    assert (failed.state, failed.value, failed.error) == ("failed", None, reason)
    assert np.flatnonzero(np.isnan(r.func_vals)).tolist() == [at]
    assert r.fun == np.nanmin(r.func_vals)


def test_an_objective_that_only_ends_with_one_mistake_ends_the_run() -> None:
    f = Objective(answers=dict.fromkeys(range(8), AttributeError("no_such_thing")))
    with pytest.raises(RuntimeError, match=r"first 3 evaluations .* AttributeError: .*no_such"):
        minimize(f, SQUARE, 8, "random", seed=11)
    assert len(f.calls) == 3


@pytest.mark.parametrize(
    "answers",
    [
        {i: ValueError("no mesh") for i in range(8)},  # as of a region that fails
        {i: TypeError(f"case {i}") for i in range(8)},
        {i: TypeError("inside f") for i in range(1, 8)},
    ],
    ids=["another error", "different ones", "not the first"],
)
def test_other_failures_do_not(answers: dict[int, Any]) -> None:
    r: Result = minimize(Objective(answers=answers), SQUARE, 8, "random", seed=11)
    assert r.nfev == 8


def test_failures_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    f = Objective(answers={1: ValueError("no mesh"), 2: math.nan})
    with caplog.at_level(logging.WARNING, logger="transect"):
        minimize(f, SQUARE, 5, "random", seed=11)
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "evaluation 2 failed: ValueError: no mesh" in text  # the second, as in reports
    assert "evaluation 3 failed: the value is nan" in text
    assert "2 of 5 evaluations failed" in text


NO_NUMBERS = [
    ([1.0, 2.0], "list"),
    ([1.0], "list"),
    (np.array([1.0, 2.0]), r"array of shape \(2,\)"),
    (np.zeros((0,)), r"array of shape \(0,\)"),
    ("1.0", "str '1.0'"),
    (np.str_("1.0"), "str_"),
    (b"1", "bytes"),
    ({}, "dict"),
    (1 + 2j, "complex"),
    (bowl, "function"),
]


@pytest.mark.parametrize(("value", "what"), NO_NUMBERS, ids=lambda v: str(v)[:20])
def test_a_first_value_that_is_no_number_is_an_error(value: Any, what: str) -> None:
    f = Objective(lambda x: value)
    with pytest.raises(TypeError, match=f"the objective's value must be one real number.*{what}"):
        minimize(f, SQUARE, 8, "random", seed=12)
    assert len(f.calls) == 1


@pytest.mark.parametrize(("value", "what"), NO_NUMBERS, ids=lambda v: str(v)[:20])
def test_a_later_value_that_is_no_number_is_a_failure(value: Any, what: str) -> None:
    f = Objective(answers={3: lambda x: value})
    r: Result = minimize(f, SQUARE, 8, "random", seed=12)
    assert r.nfev == 8
    assert [t.state == "failed" for t in r.trials] == [i == 3 for i in range(8)]
    assert "must be one real number" in r.trials[3].error


@pytest.mark.parametrize(
    "value",
    [
        2.5,
        np.float64(2.5),
        np.float32(2.5),
        np.float16(2.5),
        np.array(2.5),
        np.array([2.5]),
        np.array([[2.5]], dtype=np.float32),
        Fraction(5, 2),
        2,
        np.int8(2),
        np.uint64(2),
        np.array([2]),
        True,
        np.True_,
    ],
    ids=repr,
)
def test_anything_that_is_one_number_is_a_value(value: Any) -> None:
    r: Result = minimize(lambda x: value, SQUARE, 3, "random", seed=13)
    expected = float(np.asarray(value, dtype=np.float64).item())
    assert r.func_vals.tolist() == [expected] * 3
    assert type(r.fun) is float


# --- what the objective is given -------------------------------------------------------


@pytest.mark.parametrize("strategy", ["gp-ucb", "random"])
def test_the_objective_cannot_change_what_is_recorded(strategy: str) -> None:
    def vandal(x: Point) -> float:
        value = bowl(x)
        x[:] = 77.0
        return value

    kind: Result = minimize(bowl, SQUARE, 8, strategy, seed=14, x0=TWO)
    r: Result = minimize(vandal, SQUARE, 8, strategy, seed=14, x0=TWO)
    assert np.array_equal(r.x_iters, kind.x_iters)
    assert np.array_equal(r.x, kind.x)


def test_the_objective_is_given_a_plain_vector() -> None:
    seen: list[tuple[Any, ...]] = []

    def f(x: Point) -> float:
        seen.append((type(x), x.shape, x.dtype, x.flags.writeable, x.flags.c_contiguous))
        return bowl(x)

    minimize(f, SQUARE, 6, "gp-ucb", seed=14, n_init=3, x0=np.array(TWO, order="F"))
    assert set(seen) == {(np.ndarray, (2,), np.dtype(np.float64), True, True)}


def test_the_objective_runs_under_the_users_floating_point_settings() -> None:
    seen = []

    def f(x: Point) -> float:
        seen.append(np.geterr())
        return bowl(x)

    with np.errstate(all="raise"):
        minimize(f, SQUARE, 8, "ms-ucb", seed=14, n_init=4)
        expected = np.geterr()
    assert all(settings == expected for settings in seen)


# --- what is printed -------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["ms-ucb", "gp-ucb", "random"])
def test_a_normal_run_prints_nothing(strategy: str, capfd: pytest.CaptureFixture[str]) -> None:
    minimize(bowl, SQUARE, 8, strategy, seed=15)
    maximize(bowl, SQUARE, 8, strategy, seed=15)
    assert capfd.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("options", "shown"), [({}, True), ({"progress": False}, False)])
def test_a_bar_is_shown_on_a_terminal_only(
    options: dict[str, bool], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    minimize(bowl, SQUARE, 5, "random", seed=15, progress=options.get("progress", True))
    assert ("transect" in terminal.getvalue()) == shown
    assert ("best" in terminal.getvalue()) == shown


# --- quality ---------------------------------------------------------------------------


def camelback(x: Point) -> float:
    """Six-hump camelback on [-1, 1]^2, minus its least value."""
    a, b = 3.0 * float(x[0]), 2.0 * float(x[1])
    value = (4.0 - 2.1 * a**2 + a**4 / 3.0) * a**2 + a * b + (-4.0 + 4.0 * b**2) * b**2
    return value + 1.0316284535


def shifted_bowl(x: Point) -> float:
    shift = np.random.default_rng(5).uniform(-0.5, 0.5, len(x))
    return float(np.sum((x - shift) ** 2))


def final_values(f: Callable[[Point], float], D: int, max_evals: int, strategy: Any) -> Point:
    """Best values (3,) of three seeds; strategy None is the default."""
    options = {} if strategy is None else {"strategy": strategy}
    return np.array(
        [minimize(f, [(-1.0, 1.0)] * D, max_evals, seed=s, **options).fun for s in range(3)]
    )


def assert_clearly_better(found: Point, random: Point) -> None:
    """Never worse with the same seed, and half the value or less at most seeds."""
    assert np.all(found <= random)
    assert np.median(found / random) < 0.5


@pytest.mark.parametrize(
    ("f", "D", "max_evals"), [(shifted_bowl, 2, 45), (camelback, 2, 45), (shifted_bowl, 30, 60)]
)
def test_the_default_beats_random_search(
    f: Callable[[Point], float], D: int, max_evals: int
) -> None:
    found, random = (final_values(f, D, max_evals, s) for s in (None, "random"))
    assert_clearly_better(found, random)


# --- what is left of max_time ------------------------------------------------------------------


class Patient:
    """Suggests points in a row, takes its time, and keeps when it should have been done."""

    name: ClassVar[str] = "patient"
    initial = as_drawn

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds
        self.left: list[float | None] = []

    def start(self, setting: Setting) -> int:
        return 1

    def suggest(
        self, state: int, history: History, rng: Any, deadline: float | None = None
    ) -> Proposal:
        self.left.append(None if deadline is None else deadline - self.clock.now)
        self.clock.now += self.seconds
        return Proposal(np.full(2, 0.01 * state), {}, state + 1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


def slow_bowl(clock: Clock, seconds: float) -> Callable[[Point], float]:
    def slow(x: Point) -> float:
        clock.now += seconds
        return bowl(x)

    return slow


@pytest.mark.parametrize("run", [minimize, maximize])
def test_a_suggestion_is_given_what_is_left_of_max_time(run: Any, clock: Clock) -> None:
    strategy: Any = Patient(clock, 1.0)
    r: Result = run(slow_bowl(clock, 2.0), SQUARE, 100, strategy, n_init=1, max_time=10.0)
    # The one initial point takes 2 seconds, every other one 3.
    assert strategy.left == pytest.approx([8.0 - KEPT, 5.0 - KEPT, 2.0 - KEPT])
    assert r.nfev == 4
    assert r.message == "stopped after max_time = 10.0 s"


def test_the_time_of_a_suggestion_counts_if_it_is_the_shorter_one(clock: Clock) -> None:
    strategy: Any = Patient(clock, 1.0)
    minimize(
        slow_bowl(clock, 2.0), SQUARE, 100, strategy, n_init=1, max_time=10.0, suggest_time=4.0
    )
    assert strategy.left == pytest.approx([4.0 - KEPT, 4.0 - KEPT, 2.0 - KEPT])


def test_without_max_time_a_suggestion_has_no_deadline(clock: Clock) -> None:
    strategy: Any = Patient(clock, 1.0)
    minimize(slow_bowl(clock, 2.0), SQUARE, 4, strategy, n_init=1)
    assert strategy.left == [None, None, None]
    minimize(slow_bowl(clock, 2.0), SQUARE, 3, strategy, n_init=1, suggest_time=4.0)
    assert strategy.left[3:] == pytest.approx([4.0 - KEPT, 4.0 - KEPT])


@pytest.mark.parametrize("strategy", ["gp-ucb", "ms-ucb", "line-bo"])
def test_max_time_that_suffices_gives_the_same_run(strategy: str) -> None:
    free: Result = minimize(bowl, SQUARE, 16, strategy, seed=8, n_init=5)
    timed: Result = minimize(bowl, SQUARE, 16, strategy, seed=8, n_init=5, max_time=1e9)
    assert np.array_equal(free.x_iters, timed.x_iters)
