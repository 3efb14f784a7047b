"""Bad input is refused with a message that helps; odd but legal input is put up with."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import Bounds, OptimizeResult

from transect import GPUCB, MSUCB, Optimizer, RandomSearch, Trial, maximize, minimize, report

Point = NDArray[np.float64]
Result = Any  # OptimizeResult: its attributes are set at run time
Case = tuple[Any, type[Exception], str]

SQUARE = [(-1.0, 1.0), (0.0, 4.0)]


def bowl(x: Point) -> float:
    return float(np.sum((x - 0.25) ** 2))


def label(value: Any) -> str:
    """A short name for a case, without the addresses that functions print."""
    return re.sub(r"\s+|0x\w+", " ", str(value))[:50]


# --- bounds ----------------------------------------------------------------------------

BAD_BOUNDS: list[tuple[Any, str]] = [
    ([(0.0, math.nan)], r"bounds must be finite; bounds\[0\] is \(0.0, nan\)"),
    ([(0, 1), (math.nan, 1)], r"bounds must be finite; bounds\[1\] is \(nan, 1.0\)"),
    ([(0, 1), (0, 1), (-math.inf, 1)], r"bounds must be finite; bounds\[2\] is \(-inf, 1.0\)"),
    (Bounds([0.0, 0.0], [1.0, np.inf]), r"bounds must be finite; bounds\[1\] is \(0.0, inf\)"),
    ([(0, 1), (2, 1)], r"bounds must have lower < upper; bounds\[1\] is \(2.0, 1.0\)"),
    ([(3, 3)], r"bounds must have lower < upper; bounds\[0\] is \(3.0, 3.0\)"),
    ((0, 1), r"bounds must have shape \(D, 2\).*got shape \(2,\)"),
    ([(0, 1, 2)], r"bounds must have shape \(D, 2\).*got shape \(1, 3\)"),
    ([0.0, 1.0, 2.0], r"bounds must have shape \(D, 2\).*got shape \(3,\)"),
    (np.zeros((2, 2, 2)), r"bounds must have shape \(D, 2\).*got shape \(2, 2, 2\)"),
    (5, r"bounds must have shape \(D, 2\).*got shape \(\)"),
    (None, r"bounds must have shape \(D, 2\).*got shape \(\)"),
    (np.zeros((0, 2)), "bounds must name at least one variable"),
    ([], r"bounds must have shape \(D, 2\)|bounds must name at least one variable"),
    ([(0, 1), (0,)], "bounds must be real numbers.*sequence of .* pairs"),
    ([("a", "b")], "bounds must be real numbers.*sequence of .* pairs"),
    ("unit", "bounds must be real numbers.*sequence of .* pairs"),
    ({"x": (0, 1)}, "bounds must be real numbers.*sequence of .* pairs"),
]


@pytest.mark.parametrize(("bounds", "message"), BAD_BOUNDS, ids=label)
def test_bad_bounds(bounds: Any, message: str) -> None:
    for start in (lambda: Optimizer(bounds), lambda: minimize(bowl, bounds, 5)):
        with pytest.raises(ValueError, match=message):
            start()


# --- strategies ------------------------------------------------------------------------

BAD_STRATEGIES: list[tuple[Callable[[], Any], str]] = [
    (lambda: MSUCB(d=-1), "d must be an integer of at least 0, got -1"),
    (lambda: MSUCB(d=2.5), r"d must be an integer of at least 0, got 2\.5"),  # type: ignore[arg-type]
    (lambda: MSUCB(d=True), "d must be an integer of at least 0, got True"),
    (lambda: MSUCB(d="2"), "d must be an integer of at least 0, got '2'"),  # type: ignore[arg-type]
    (lambda: MSUCB(n0=0), "n0 must be an integer of at least 1, got 0"),
    (lambda: MSUCB(n0=-3), "n0 must be an integer of at least 1, got -3"),
    (lambda: MSUCB(n0=1.0), r"n0 must be an integer of at least 1, got 1\.0"),  # type: ignore[arg-type]
    (lambda: MSUCB(alpha=-1), "alpha must be an integer of at least 0, got -1"),
    (lambda: MSUCB(alpha=0.5), r"alpha must be an integer of at least 0, got 0\.5"),  # type: ignore[arg-type]
    (lambda: MSUCB(a=0.0), r"a must be a positive number, got 0\.0"),
    (lambda: MSUCB(b=-1.0), r"b must be a positive number, got -1\.0"),
    (lambda: GPUCB(b=math.nan), "b must be a positive number, got nan"),
    (lambda: GPUCB(beta_scale=0.0), "beta_scale must be a positive number, got 0.0"),
    (lambda: GPUCB(beta_scale=math.inf), "beta_scale must be a positive number, got inf"),
    (lambda: GPUCB(acquisition="ei"), "acquisition must be 'ucb' or 'log-ei', got 'ei'"),
    (lambda: GPUCB(beta="corrected"), "beta must be 'paper', 'practical', .*got 'corrected'"),
]


@pytest.mark.parametrize(("build", "message"), BAD_STRATEGIES, ids=label)
def test_bad_arguments_of_a_strategy(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("strategy", [MSUCB, GPUCB])
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_delta_outside_zero_to_one(strategy: Callable[..., Any], delta: float) -> None:
    with pytest.raises(ValueError, match=f"delta must be a number between 0 and 1, got {delta}"):
        strategy(delta=delta)


@pytest.mark.parametrize("strategy", [MSUCB, GPUCB])
@pytest.mark.parametrize("beta", ["papper", "", 0, -1.0, math.nan, math.inf, True, None, [1.0]])
def test_beta_that_is_none_of_its_kinds(strategy: Callable[..., Any], beta: Any) -> None:
    expected = rf"beta must be 'paper', .*a positive number or a callable of t; got {beta!r}"
    with pytest.raises(ValueError, match=expected.replace("[", r"\[")):
        strategy(beta=beta)


@pytest.mark.parametrize("strategy", [MSUCB, GPUCB])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_beta_function_that_returns_nonsense(strategy: Any, value: float) -> None:
    opt = Optimizer(SQUARE, strategy(beta=lambda t: value), seed=0, n_init=1)
    opt.tell(opt.ask(), 1.0)
    before = snapshot(opt)
    with pytest.raises(ValueError, match=rf"beta must return .* number; beta\(1\) is {value}"):
        opt.ask()
    assert snapshot(opt) == before


@pytest.mark.parametrize("d", [3, 10**9, np.int64(3)])
def test_d_larger_than_the_dimension(d: int) -> None:
    with pytest.raises(ValueError, match=f"d must be at most D = 2, got {d}"):
        Optimizer(SQUARE, MSUCB(d=d))
    with pytest.raises(ValueError, match=f"d must be at most D = 2, got {d}"):
        minimize(bowl, SQUARE, 5, MSUCB(d=d))


@pytest.mark.parametrize("name", ["msucb", "", "MS-UCB", "bayes"])
def test_an_unknown_strategy_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match="strategy must be one of") as caught:
        Optimizer(SQUARE, name)
    for known in ("ms-ucb", "gp-ucb", "random", repr(name)):
        assert known in str(caught.value)
    assert ("did you mean" in str(caught.value)) == (name not in ("", "bayes"))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Anchored", "anchored"),
        ("MS-UCB", "ms-ucb"),
        ("msucb", "ms-ucb"),
        ("LineBO", "line-bo"),
        ("REMBO", "rembo"),
        ("dropout_ucb", "dropout-ucb"),
    ],
)
def test_a_name_that_is_nearly_right_is_refused_with_the_right_one(name: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"got {name!r}; did you mean {meant!r}\\?$"):
        Optimizer(SQUARE, name)


@pytest.mark.parametrize("strategy", [None, 3, ["ms-ucb"], object()], ids=label)
def test_a_strategy_of_the_wrong_type(strategy: Any) -> None:
    with pytest.raises(TypeError, match=r"strategy must be a name .*gp-ucb.*or a strategy object"):
        Optimizer(SQUARE, strategy)


# --- options ---------------------------------------------------------------------------

BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"seed": -1}, ValueError, "seed must not be negative, got -1"),
    ({"seed": 1.0}, TypeError, r"seed must be an integer or None, got 1\.0"),
    ({"seed": "1"}, TypeError, "seed must be an integer or None, got '1'"),
    ({"seed": True}, TypeError, "seed must be an integer or None, got True"),
    ({"n_init": 0}, ValueError, "n_init must be an integer of at least 1, got 0"),
    ({"n_init": -5}, ValueError, "n_init must be an integer of at least 1, got -5"),
    ({"n_init": 2.0}, ValueError, r"n_init must be an integer of at least 1, got 2\.0"),
    ({"n_init": True}, ValueError, "n_init must be an integer of at least 1, got True"),
    ({"suggest_time": 0}, ValueError, "suggest_time must be a positive number, got 0"),
    ({"suggest_time": -1.5}, ValueError, r"suggest_time must be a positive number, got -1\.5"),
    ({"suggest_time": math.nan}, ValueError, "suggest_time must be a positive number, got nan"),
]

BAD_RUN_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    *BAD_OPTIONS,
    ({"max_evals": 0}, ValueError, "max_evals must be an integer of at least 1, got 0"),
    ({"max_evals": -1}, ValueError, "max_evals must be an integer of at least 1, got -1"),
    ({"max_evals": 1.5}, ValueError, r"max_evals must be an integer of at least 1, got 1\.5"),
    ({"max_evals": 10.0}, ValueError, r"max_evals must be an integer of at least 1, got 10\.0"),
    ({"max_evals": True}, ValueError, "max_evals must be an integer of at least 1, got True"),
    ({"max_evals": "9"}, ValueError, "max_evals must be an integer of at least 1, got '9'"),
    ({"max_evals": None}, ValueError, "max_evals must be an integer of at least 1, got None"),
    ({"max_time": -1}, ValueError, "max_time must be a positive number, got -1"),
    ({"max_time": 0}, ValueError, "max_time must be a positive number, got 0"),
    ({"max_time": math.nan}, ValueError, "max_time must be a positive number, got nan"),
    ({"x0": [5.0, 0.0]}, ValueError, r"x0 must lie inside .* coordinate 0 is 5\.0.*\[-1\.0, 1\.0"),
    ({"x0": [[0, 0], [0, -1]]}, ValueError, r"x0 must lie inside .* coordinate 1 is -1\.0"),
    ({"x0": [math.nan, 0.0]}, ValueError, "x0 must lie inside the bounds; coordinate 0 is nan"),
    ({"x0": [0.0, math.inf]}, ValueError, "x0 must lie inside the bounds; coordinate 1 is inf"),
    ({"x0": [0.0]}, ValueError, r"x0 must have 2 coordinates.*got shape \(1,\)"),
    ({"x0": [0.0, 0.0, 0.0]}, ValueError, r"x0 must have 2 coordinates.*got shape \(3,\)"),
    ({"x0": []}, ValueError, r"x0 must have 2 coordinates.*got shape \(0,\)"),
    ({"x0": np.zeros((3, 1))}, ValueError, r"x0 must have 2 coordinates.*got shape \(3, 1\)"),
    ({"x0": np.zeros((1, 1, 2))}, ValueError, "x0 must have 2 coordinates.*got shape"),
    ({"x0": 0.0}, ValueError, r"x0 must have 2 coordinates.*got shape \(\)"),
    ({"x0": "origin"}, ValueError, "x0 must be a vector of 2 real numbers"),
    ({"x0": [[0, 0], [0]]}, ValueError, "x0 must be a vector of 2 real numbers"),
    ({"y0": 1.0}, ValueError, "y0 needs x0"),
    ({"y0": []}, ValueError, "y0 needs x0"),
    ({"x0": [0, 0], "y0": [1.0, 2.0]}, ValueError, "y0 must have one value per .*: 1, got 2"),
    ({"x0": [[0, 0], [1, 1]], "y0": 1.0}, ValueError, "y0 must have one value per .*: 2, got 1"),
    ({"x0": [0, 0], "y0": []}, ValueError, "y0 must have one value per .*: 1, got 0"),
    ({"x0": [0, 0], "y0": "one"}, TypeError, "y0 must be one real number.*got str 'one'"),
    ({"x0": [0, 0], "y0": [[1.0, 2.0]]}, TypeError, "y0 must be one real number.*list"),
    ({"x0": [0, 0], "y0": np.ones((1, 2))}, TypeError, r"y0 must be .*array of shape \(2,\)"),
    ({"strategy": "newton"}, ValueError, "strategy must be one of"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD_OPTIONS, ids=label)
def test_bad_options_of_the_optimizer(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Optimizer(SQUARE, "random", **options)


@pytest.mark.parametrize("solve", [minimize, maximize])
@pytest.mark.parametrize(("options", "error", "message"), BAD_RUN_OPTIONS, ids=label)
def test_bad_options_of_a_run(
    solve: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    calls: list[Point] = []
    with pytest.raises(error, match=message):
        solve(calls.append, SQUARE, **{"max_evals": 5, "strategy": "random", **options})
    assert calls == [], "what is wrong is said before the first evaluation"


@pytest.mark.parametrize("within", ["a", -0.1, math.nan, True, [1.0]], ids=label)
def test_a_limit_for_a_suggestion_that_is_none(within: Any) -> None:
    opt = Optimizer(SQUARE, "random")
    with pytest.raises(ValueError, match="within must be a number of seconds, at least 0, got"):
        opt.ask(within)
    assert opt.trials == ()


def test_a_device_without_torch_is_missed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="device 'cuda' needs torch"):
        Optimizer(SQUARE, device="cuda")


@pytest.mark.parametrize("run", [3, None, {"trials": ()}, OptimizeResult()], ids=label)
def test_a_report_on_what_is_no_run(run: Any) -> None:
    with pytest.raises(TypeError, match="run must be a result, or the path of a journal, got"):
        report(run)


@pytest.mark.parametrize("f", [None, 3.0, "bowl", [bowl]], ids=label)
def test_an_objective_that_cannot_be_called(f: Any) -> None:
    with pytest.raises(TypeError, match="f must be a function of one vector, got"):
        minimize(f, SQUARE, 5)


# --- tell: a refused call changes nothing ----------------------------------------------


def snapshot(opt: Optimizer) -> list[str]:
    """Everything that can be seen of an optimizer, except for what it would ask next."""
    return [repr(asdict(t)) for t in (*opt.trials, *([opt.best] if opt.best else []))]


def started() -> tuple[Optimizer, Trial, Trial]:
    """An optimizer with a told trial, a pending one and a queue of one point."""
    opt = Optimizer(SQUARE, "random", seed=0, n_init=3)
    told, pending = opt.ask(), opt.ask()
    opt.tell(told, 1.0)
    opt.suggest_first([0.5, 0.5])
    return opt, told, pending


def stranger() -> Trial:
    opt = Optimizer(SQUARE, "random", seed=99)
    return [opt.ask() for _ in range(2)][1]


Action = Callable[[Optimizer, Trial, Trial], Any]
REFUSED: list[tuple[str, Action, type[Exception], str]] = [
    (
        "a trial beyond the last",
        lambda opt, told, pending: opt.tell(Trial(7, pending.x), 1.0),
        ValueError,
        "trial 7 is not one this optimizer asked for",
    ),
    (
        "a negative id",
        lambda opt, told, pending: opt.tell(Trial(-1, pending.x), 1.0),
        ValueError,
        "trial -1 is not one this optimizer asked for",
    ),
    (
        "another optimizer's trial",
        lambda opt, told, pending: opt.tell(stranger(), 1.0),
        ValueError,
        "trial 1 is not one this optimizer asked for",
    ),
    (
        "twice",
        lambda opt, told, pending: opt.tell(told, 2.0),
        ValueError,
        "trial 0 was told already",
    ),
    (
        "a failure of a told trial",
        lambda opt, told, pending: opt.fail(told, "late"),
        ValueError,
        "trial 0 was told already",
    ),
    (
        "a point too short",
        lambda opt, told, pending: opt.tell([0.0], 1.0),
        ValueError,
        r"x must have 2 coordinates.*got shape \(1,\)",
    ),
    (
        "a scalar point",
        lambda opt, told, pending: opt.tell(0.0, 1.0),
        ValueError,
        r"x must have 2 coordinates.*got shape \(\)",
    ),
    (
        "two points",
        lambda opt, told, pending: opt.tell([[0.0, 0.0], [1.0, 1.0]], 1.0),
        ValueError,
        "x must be one point, got 2",
    ),
    (
        "no point",
        lambda opt, told, pending: opt.tell(np.zeros((0, 2)), 1.0),
        ValueError,
        "x must be one point, got 0",
    ),
    (
        "a point outside",
        lambda opt, told, pending: opt.tell([0.0, 4.1], 1.0),
        ValueError,
        r"x must lie inside the bounds; coordinate 1 is 4\.1, allowed is \[0\.0, 4\.0\]",
    ),
    (
        "a point with nan",
        lambda opt, told, pending: opt.tell([math.nan, 1.0], 1.0),
        ValueError,
        "x must lie inside the bounds; coordinate 0 is nan",
    ),
    (
        "words for a point",
        lambda opt, told, pending: opt.tell("here", 1.0),
        ValueError,
        "x must be a vector of 2 real numbers",
    ),
    (
        "None for a point",
        lambda opt, told, pending: opt.tell(None, 1.0),
        ValueError,
        "x must have 2 coordinates|x must be a vector of 2 real numbers",
    ),
    (
        "a string",
        lambda opt, told, pending: opt.tell(pending, "1.0"),
        TypeError,
        "value must be one real number.*got str '1.0'",
    ),
    (
        "a vector",
        lambda opt, told, pending: opt.tell(pending, np.ones(2)),
        TypeError,
        r"value must be one real number.*got an array of shape \(2,\)",
    ),
    (
        "a list",
        lambda opt, told, pending: opt.tell(pending, [1.0]),
        TypeError,
        r"value must be one real number.*got list \[1\.0\]",
    ),
    (
        "a complex number",
        lambda opt, told, pending: opt.tell(pending, 1j),
        TypeError,
        "value must be one real number.*got complex 1j",
    ),
    (
        "a vector for a bare point",
        lambda opt, told, pending: opt.tell([0.0, 1.0], np.ones(2)),
        TypeError,
        "value must be one real number.*got an array",
    ),
    (
        "a bad first point",
        lambda opt, told, pending: opt.suggest_first([[0.0, 1.0], [0.0, 9.0]]),
        ValueError,
        "points must lie inside the bounds",
    ),
    (
        "a number too long to print, for a bare point",
        lambda opt, told, pending: opt.tell([0.0, 1.0, 2.0], 10**5000),
        ValueError,
        "x must have 2 coordinates",
    ),
    (
        "a failure of a point that was not asked for",
        lambda opt, told, pending: opt.fail(cast(Any, np.zeros(2)), "broken"),
        TypeError,
        "trial must be one that was asked for",
    ),
    (
        "a complex NumPy number",
        lambda opt, told, pending: opt.tell(pending, np.complex128(1 + 2j)),
        TypeError,
        "value must be one real number",
    ),
    (
        "text in an array",
        lambda opt, told, pending: opt.tell(pending, np.array(["1.5"])),
        TypeError,
        "value must be one real number",
    ),
]


@pytest.mark.parametrize(
    ("action", "error", "message"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_a_refused_call_changes_nothing(
    action: Action, error: type[Exception], message: str
) -> None:
    opt, told, pending = started()
    before = snapshot(opt)
    with pytest.raises(error, match=message):
        action(opt, told, pending)
    assert snapshot(opt) == before
    twin, _, same = started()
    for other, trial in ((opt, pending), (twin, same)):
        other.tell(trial, 0.5)
    for _ in range(3):  # the queued point, a random one, one of the strategy
        assert np.array_equal(opt.ask().x, twin.ask().x)


def test_values_are_shortened_in_messages() -> None:
    opt, _, pending = started()
    with pytest.raises(TypeError, match="value must be one real number") as caught:
        opt.tell(pending, "x" * 10_000)
    assert len(str(caught.value)) < 400


# --- awkward but legal -----------------------------------------------------------------

Build = Callable[[int], Any]
STRATEGIES: dict[str, Build] = {
    "ms-ucb": lambda D: "ms-ucb",
    "gp-ucb": lambda D: "gp-ucb",
    "random": lambda D: "random",
    "d = 0": lambda D: MSUCB(d=0, n0=3),
    "d = D": lambda D: MSUCB(d=D),
}

every_strategy = pytest.mark.parametrize("build", STRATEGIES.values(), ids=STRATEGIES.keys())


def check_run(r: Result, bounds: list[tuple[float, float]], evaluations: int) -> None:
    """All evaluations made, inside the box, none twice; the best one is the best one."""
    lower, upper = np.array(bounds).T
    assert r.nfev == evaluations
    assert np.all((r.x_iters >= lower) & (r.x_iters <= upper))
    assert len(np.unique(r.x_iters, axis=0)) == len(r.x_iters)
    if r.success:
        assert r.fun == np.nanmin(r.func_vals)
    for trial in r.trials:
        for value in trial.info.values():
            assert isinstance(value, str) or np.isfinite(value)


def mixed(x: Point) -> float:
    """Values of all magnitudes and both signs."""
    exponent = round(float(x[0]) * 300.0)
    return math.copysign(10.0 ** abs(exponent), float(x[1])) * float(1.0 + x[2] ** 2)


AWKWARD: dict[str, Callable[[Point], float]] = {
    "constant": lambda x: 3.0,
    "zero": lambda x: 0.0,
    "two values": lambda x: float(x[0] > 0.0),
    "huge": lambda x: 1e300 * bowl(x),
    "tiny": lambda x: 1e-300 * bowl(x),
    "huge and flat": lambda x: 1e300,
    "as large as numbers get": lambda x: 1.7e308 if x[0] > 0.0 else -1.7e308,
    "far from zero": lambda x: 1e9 + 1e-3 * bowl(x),
    "mixed": mixed,
    "one outlier": lambda x: 1e12 if x[0] > 0.9 else bowl(x),
}


@every_strategy
@pytest.mark.parametrize("f", AWKWARD.values(), ids=AWKWARD.keys())
def test_awkward_objectives(f: Callable[[Point], float], build: Build) -> None:
    bounds = [(-1.0, 1.0)] * 4
    r: Result = minimize(f, bounds, 22, build(4), seed=1, n_init=10)
    assert r.success is True
    check_run(r, bounds, 22)


@every_strategy
def test_one_outlier_that_was_told(build: Build) -> None:
    """A value of 1e12 among values of about 1."""
    bounds = [(-1.0, 1.0)] * 4
    r: Result = minimize(bowl, bounds, 22, build(4), seed=2, n_init=10, x0=[1.0] * 4, y0=1e12)
    assert np.max(r.func_vals) == 1e12
    check_run(r, bounds, 22)


@every_strategy
def test_points_told_twice(build: Build) -> None:
    x = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [-0.5, 0.0, 0.5]] * 4)
    y = [1.0, 1.5, 2.0] * 4
    r: Result = minimize(bowl, [(-1.0, 1.0)] * 3, 10, build(3), seed=3, n_init=8, x0=x, y0=y)
    assert r.nfev == 10
    assert len(np.unique(r.x_iters, axis=0)) == 2 + 10


@every_strategy
def test_one_variable(build: Build) -> None:
    bounds = [(-2.0, 7.0)]
    r: Result = minimize(bowl, bounds, 20, build(1), seed=4, n_init=6)
    assert r.x.shape == (1,)
    check_run(r, bounds, 20)
    assert r.fun < 0.25


@every_strategy
@pytest.mark.parametrize("D", [1, 4])
def test_one_initial_point(D: int, build: Build) -> None:
    bounds = [(-1.0, 1.0)] * D
    r: Result = minimize(bowl, bounds, 10, build(D), seed=5, n_init=1)
    assert [t.info["source"] for t in r.trials].count("initial") == 1
    check_run(r, bounds, 10)


def explode(x: Point) -> float:
    raise RuntimeError("licence expired")


@every_strategy
@pytest.mark.parametrize(
    ("f", "why"),
    [
        (explode, "RuntimeError: licence expired"),
        (lambda x: math.nan, "the value is nan"),
        (lambda x: None, "the value is None"),
        (lambda x: math.inf, "the value is inf"),
    ],
    ids=["exception", "nan", "None", "inf"],
)
def test_all_evaluations_fail(f: Callable[[Point], Any], why: str, build: Build) -> None:
    r: Result = minimize(f, [(-1.0, 1.0)] * 3, 12, build(3), seed=6, n_init=4)
    assert r.success is False
    assert r.message == f"made all 12 evaluations; none gave a value, the first because: {why}"
    assert r.x is None
    assert math.isnan(r.fun)
    assert np.all(np.isnan(r.func_vals))
    check_run(r, [(-1.0, 1.0)] * 3, 12)


@every_strategy
def test_most_evaluations_fail(build: Build) -> None:
    """One value among failures is enough for a model."""
    calls: list[Point] = []

    def f(x: Point) -> float:
        calls.append(x)
        return 1.0 if len(calls) == 3 else math.nan

    r: Result = minimize(f, [(-1.0, 1.0)] * 3, 14, build(3), seed=7, n_init=4)
    assert r.success is True
    assert r.fun == 1.0
    check_run(r, [(-1.0, 1.0)] * 3, 14)


def test_numpy_integers_are_integers() -> None:
    numpy: dict[str, Any] = {"d": np.int64(1), "n0": np.int32(2), "alpha": np.uint8(1)}
    options: dict[str, Any] = {"seed": np.uint32(8), "n_init": np.int16(3)}
    evals: Any = np.int64(6)
    r: Result = minimize(bowl, SQUARE, evals, MSUCB(**numpy), **options)
    same: Result = minimize(bowl, SQUARE, 6, MSUCB(d=1, n0=2, alpha=1), seed=8, n_init=3)
    assert np.array_equal(r.x_iters, same.x_iters)


def test_strategies_compare_by_their_settings() -> None:
    assert MSUCB(d=3) == MSUCB(d=3) != MSUCB(d=4)
    assert RandomSearch() == RandomSearch()
