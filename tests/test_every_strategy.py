"""What every strategy keeps: runs that can be repeated, bounds, odd histories, clear errors."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import transect
from helpers import bowl
from transect import (
    GPUCB,
    MSUCB,
    REMBO,
    SRE,
    Anchored,
    DropoutUCB,
    HeSBO,
    LineBO,
    Optimizer,
    RandomSearch,
    Surrogate,
    Trial,
    maximize,
    minimize,
)
from transect.strategies import BY_NAME, Strategy, resolve
from transect.trial import Ledger

Point = NDArray[np.float64]

CUBE = [(-1.0, 1.0)] * 6
EMBEDDED = ("sre", "rembo", "hesbo")  # that search coordinates other than the box's own
WITH_MODEL = [name for name in BY_NAME if name != "random"]
WITH_BETA = [name for name in WITH_MODEL if name != "anchored"]

# Every strategy with its defaults, and with every option at another value.
VARIANTS: dict[str, Strategy] = {
    **{name: BY_NAME[name]() for name in BY_NAME},
    "anchored, insured": Anchored(0.5, 0.2, Surrogate()),
    "ms-ucb, permuted": MSUCB(d=2, n0=3, alpha=1, beta="corrected", permute=True),
    "gp-ucb, log-ei": GPUCB(acquisition="log-ei", surrogate=Surrogate(ard=True)),
    "dropout, random": DropoutUCB(d=2, fill="random", beta=2.0),
    "dropout, copy": DropoutUCB(d=3, fill="copy", surrogate=Surrogate(ard=True)),
    "dropout, mix": DropoutUCB(d=1, fill="mix", p=0.5, acquisition="log-ei"),
    "line-bo, coordinate": LineBO(direction="coordinate", least=1, most=3, beta="practical"),
    "line-bo, descent": LineBO(direction="descent", surrogate=Surrogate(kernel="rbf")),
    "sre, short": SRE(d=2, m=2, max_evals=12, beta="practical"),
    "sre, log-ei": SRE(d=1, m=3, max_evals=15, acquisition="log-ei"),
    "rembo, y": REMBO(d=2, k=1, kernel="y"),
    "rembo, x": REMBO(d=3, k=2, kernel="x", beta="practical"),
    "rembo, psi": REMBO(d=2, k=1, acquisition="log-ei"),
    "hesbo, log-ei": HeSBO(d=2, acquisition="log-ei"),
    "hesbo, ard": HeSBO(d=3, beta=4.0, surrogate=Surrogate(ard=True, prior="dimension-scaled")),
}

every_name = pytest.mark.parametrize("name", BY_NAME)
every_beta = pytest.mark.parametrize("name", WITH_BETA)
every_model = pytest.mark.parametrize("name", WITH_MODEL)
every_variant = pytest.mark.parametrize("strategy", VARIANTS.values(), ids=VARIANTS.keys())


def advance(opt: Optimizer, steps: int, f: Callable[[Point], Any] = bowl) -> list[Trial]:
    """Ask and tell; the trials as asked."""
    asked = []
    for _ in range(steps):
        asked.append(opt.ask())
        opt.tell(asked[-1], f(asked[-1].x))
    return asked


def points(opt: Optimizer) -> Point:
    return np.array([t.x for t in opt.trials])


def quick(bounds: Any, strategy: str | Strategy, **options: Any) -> Optimizer:
    """An optimizer whose suggestions take little time."""
    return Optimizer(bounds, strategy, **{"seed": 0, "n_init": 6, "suggest_evals": 600, **options})


def greedy(name: str) -> Strategy:
    """With a small β, where there is one."""
    strategy: Strategy = BY_NAME[name](**({"beta": 1.0} if name in WITH_BETA else {}))
    return strategy


# --- by name, as an object, through every entry ------------------------------------------


def test_all_strategies_are_here() -> None:
    assert set(BY_NAME) == {
        *("anchored", "ms-ucb", "gp-ucb", "dropout-ucb", "line-bo", "sre", "rembo", "hesbo"),
        "random",
    }
    for name, kind in BY_NAME.items():
        assert kind.name == name
        assert getattr(transect, kind.__name__) is kind, "and part of the public interface"


@every_name
def test_a_name_stands_for_the_strategy_with_its_defaults(name: str) -> None:
    strategy = resolve(name)
    assert strategy == BY_NAME[name]()
    assert resolve(strategy) is strategy
    named, given = quick(CUBE, name), quick(CUBE, BY_NAME[name]())
    advance(named, 10)
    advance(given, 10)
    assert points(named).tobytes() == points(given).tobytes()


@every_name
def test_minimize_and_maximize(name: str) -> None:
    low: Any = minimize(bowl, CUBE, 14, name, seed=1, progress=False)
    high: Any = maximize(lambda x: -bowl(x), CUBE, 14, BY_NAME[name](), seed=1, progress=False)
    assert low.success
    assert (low.nfev, low.x.shape) == (14, (6,))
    assert low.fun == min(low.func_vals) == bowl(low.x)
    assert high.fun == max(high.func_vals) == -low.fun
    assert low.x_iters.tobytes() == high.x_iters.tobytes(), "the sign is nobody else's business"


# --- seeds -------------------------------------------------------------------------------


@every_variant
def test_the_same_seed_gives_the_same_run(strategy: Strategy) -> None:
    def run(seed: int) -> list[Trial]:
        opt = quick([(-3.0, 5.0)] * 6, strategy, seed=seed)
        advance(opt, 9, lambda x: math.nan if x[0] > 4.0 else bowl(x))
        opt.ask()
        opt.ask()  # with a point in flight
        return list(opt.trials)

    one, same, other = run(17), run(17), run(18)
    for a, b in zip(one, same, strict=True):
        assert a.x.tobytes() == b.x.tobytes()
        assert repr(without_time(a)) == repr(without_time(b))
    equal = [np.array_equal(a.x, b.x) for a, b in zip(one, other, strict=True)]
    first = strategy.name == "anchored"  # whose first point is always the middle
    assert not any(equal[first:]), "every point depends on the seed"


def without_time(trial: Trial) -> dict[str, Any]:
    return {key: value for key, value in trial.info.items() if key != "seconds"}


@every_variant
def test_a_strategy_object_can_be_pickled_and_copied(strategy: Strategy) -> None:
    copies = [
        copy.deepcopy(strategy),
        copy.copy(strategy),
        pickle.loads(pickle.dumps(strategy)),
    ]
    alone = quick(CUBE, strategy)
    advance(alone, 9)
    for other in copies:
        assert other == strategy
        assert repr(other) == repr(strategy)
    opt = quick(CUBE, copies[2])
    advance(opt, 9)
    assert points(opt).tobytes() == points(alone).tobytes()


@every_name
def test_a_copied_optimizer_goes_on_as_the_original(name: str) -> None:
    opt = quick(CUBE, name, n_init=12)
    advance(opt, 14)
    opt.ask()
    copies = [copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))]
    expected = [t.x.tobytes() for t in advance(opt, 2)]
    for other in copies:
        assert [t.x.tobytes() for t in advance(other, 2)] == expected


@every_name
def test_strategies_share_nothing_between_runs(name: str) -> None:
    shared = BY_NAME[name]()
    one, other = quick(CUBE, shared, seed=1), quick([(0.0, 4.0)] * 3, shared, seed=2)
    for _ in range(12):
        advance(one, 1)
        advance(other, 1)
    alone = quick([(0.0, 4.0)] * 3, BY_NAME[name](), seed=2)
    advance(alone, 12)
    assert points(other).tobytes() == points(alone).tobytes()


# --- bounds and dimensions -----------------------------------------------------------------

ODD_BOUNDS = [(3.0, 1000.0), (-1e-3, 2e-3), (1e15, 1e15 + 8.0), (-7.0, -6.999), (-1e300, 1e300)]


@every_variant
def test_points_are_inside_the_bounds(strategy: Strategy) -> None:
    lower, upper = np.array(ODD_BOUNDS).T
    opt = quick(ODD_BOUNDS, strategy)
    advance(opt, 12, lambda x: bowl((x / 2.0 - lower / 2.0) / (upper / 2.0 - lower / 2.0)))
    assert np.all((points(opt) >= lower) & (points(opt) <= upper))
    assert "strategy" in {t.info["source"] for t in opt.trials}


@pytest.mark.parametrize("n_init", [1, 5])
@pytest.mark.parametrize("D", [1, 2, 3])
@every_name
def test_few_variables(name: str, D: int, n_init: int) -> None:
    opt = quick([(-2.0, 4.0)] * D, name, n_init=n_init)
    advance(opt, 10)
    assert points(opt).shape == (10, D)
    assert [t.info["source"] for t in opt.trials[:n_init]] == ["initial"] * n_init
    assert "initial" not in [t.info["source"] for t in opt.trials[n_init:]]
    assert all(t.state == "done" for t in opt.trials)


@every_model
def test_one_variable_is_optimised(name: str) -> None:
    opt = quick([(-2.0, 4.0)], greedy(name), seed=3, max_evals=25)
    advance(opt, 25)
    assert opt.best is not None
    assert opt.best.value is not None
    assert opt.best.value < 0.01


# --- odd histories -------------------------------------------------------------------------


@every_name
def test_points_told_from_elsewhere(name: str) -> None:
    """None of them was made by the strategy; some are told in between."""
    opt = quick(CUBE, name, max_evals=30)
    rng = np.random.default_rng(0)
    for _ in range(8):
        x = rng.uniform(-1.0, 1.0, 6)
        opt.tell(x, bowl(x))
    for _ in range(10):
        advance(opt, 1)
        x = rng.uniform(-1.0, 1.0, 6)
        opt.tell(x, bowl(x))
    assert {t.info["source"] for t in opt.trials} <= {"told", "strategy"}
    assert np.all(np.abs(points(opt)) <= 1.0)


@every_name
def test_known_points_and_values(name: str) -> None:
    x0 = np.array([np.full(6, 0.3), np.full(6, 0.5), np.full(6, -0.5)])
    known: Any = minimize(
        bowl, CUBE, 12, name, seed=0, x0=x0, y0=[bowl(x) for x in x0], n_init=6, progress=False
    )
    assert known.fun == 0.0
    assert known.nfev == 12
    first: Any = minimize(bowl, CUBE, 12, name, seed=0, x0=x0, n_init=6, progress=False)
    assert np.array_equal(first.x_iters[:3], x0)
    assert first.nfev == 12


@every_name
def test_failures(name: str) -> None:
    """A third of the box fails, the best of it included; the first points all do."""
    opt = quick(CUBE, name, max_evals=40)
    for _ in range(4):
        opt.tell(opt.ask(), math.nan)
    advance(opt, 26, lambda x: math.nan if x[0] > 0.3 else bowl(x))
    states = [t.state for t in opt.trials]
    assert states.count("failed") >= 4
    assert states.count("done") > 5
    assert opt.best is not None
    assert opt.best.x[0] <= 0.3


@every_name
def test_several_points_in_flight(name: str) -> None:
    opt = quick(CUBE, name, max_evals=40)
    advance(opt, 10)
    flying = [opt.ask() for _ in range(5)]
    for _ in range(3):
        opt.tell(flying[3], bowl(flying[3].x))
        opt.fail(flying[1], "lost")
        opt.tell(flying[0].x, bowl(flying[0].x))  # by its point
        flying = [flying[2], flying[4], *(opt.ask() for _ in range(3))]
    x = points(opt)
    gaps = np.max(np.abs(x[:, None, :] - x[None, :, :]), axis=2)[~np.eye(len(x), dtype=bool)]
    assert np.min(gaps) > 1e-9, "no point twice"
    assert [t.info["source"] for t in opt.trials[:10]] == ["initial"] * 6 + ["strategy"] * 4


@pytest.mark.parametrize(
    "strategy",
    [
        GPUCB(beta=4.0),
        SRE(d=2, m=1, beta=4.0),
        REMBO(d=2, k=1, kernel="y", beta=4.0),
        REMBO(d=2, k=1, kernel="x", beta=4.0),
        REMBO(d=2, k=1, kernel="psi", beta=4.0),
        HeSBO(d=2, beta=4.0),
    ],
    ids=lambda s: f"{s.name} {getattr(s, 'kernel', '')}",
)
def test_points_in_flight_lower_the_bound(strategy: Strategy) -> None:
    """Each takes the uncertainty away from where it is, so less and less is left to find."""
    opt = quick(CUBE, strategy, suggest_evals=None)
    advance(opt, 8)
    bounds = [opt.ask().info["ucb"] for _ in range(4)]
    scale = float(np.std([t.value for t in opt.trials if t.value is not None]))
    for one, following in pairwise(bounds):
        assert following < one - 1e-3 * scale


@every_name
def test_a_point_that_is_known_already_gives_way_to_a_random_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made of the same draw as random search's, and with coordinates of its own in a model."""
    opt, draws = quick(CUBE, name, n_init=12), quick(CUBE, "random", n_init=100)
    advance(opt, 12)
    advance(draws, 12)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "has", lambda self, u, before=None: True)
        trial = opt.ask()
    u = draws.ask().x
    assert trial.info["source"] == "instead of a duplicate"
    assert ("insured" in trial.info) == (name == "anchored")  # what the certificate goes by
    if name in EMBEDDED:
        side = math.sqrt(5) if name == "rembo" else 1.0
        assert np.array_equal(trial.info["y"], side * u[:5])
        assert "ucb" not in trial.info
    else:
        assert trial.x.tobytes() == u.tobytes()
    opt.tell(trial, bowl(trial.x))
    assert advance(opt, 1)[0].info["source"] == "strategy"


@every_name
def test_everything_asked_before_anything_is_told(name: str) -> None:
    opt = quick(CUBE, name, max_evals=40)
    asked = [opt.ask() for _ in range(15)]
    assert {t.info["source"] for t in asked} == {"initial"}
    for trial in reversed(asked):
        opt.tell(trial, bowl(trial.x))
    assert advance(opt, 3)[0].info["source"] == "strategy"


@every_model
def test_after_all_of_this_the_model_still_improves(name: str) -> None:
    """Four variables, so that every embedding covers them."""
    opt = quick([(-1.0, 1.0)] * 4, greedy(name), seed=1, max_evals=60)
    rng = np.random.default_rng(1)
    corners = np.sign(rng.uniform(-1.0, 1.0, (4, 4)))
    for x in corners:
        opt.tell(x, bowl(x))
    for i in range(12):
        trial = opt.ask()
        opt.tell(trial, math.nan if i % 4 == 0 else bowl(trial.x))
    opt.ask()
    opt.ask()
    before = opt.best
    advance(opt, 30)
    assert before is not None
    assert before.value is not None
    assert opt.best is not None
    assert opt.best.value is not None
    assert opt.best.value < 0.6 * before.value


@every_variant
def test_a_constant_objective(strategy: Strategy) -> None:
    opt = quick(CUBE, strategy)
    advance(opt, 14, lambda x: 4.0)
    assert len(np.unique(points(opt), axis=0)) == 14


@every_variant
def test_values_of_any_size(strategy: Strategy) -> None:
    """The bounds a strategy reports scale with the values; powers of two do so exactly."""
    one, other = quick(CUBE, strategy), quick(CUBE, strategy)
    advance(one, 9)
    advance(other, 9, lambda x: 2.0**40 * bowl(x))
    assert points(one).tobytes() == points(other).tobytes()
    for a, b in zip(one.trials, other.trials, strict=True):
        assert a.info.get("ucb", 0.0) * 2.0**40 == b.info.get("ucb", 0.0)


# --- time ----------------------------------------------------------------------------------


@every_variant
def test_a_suggestion_comes_whatever_the_time(strategy: Strategy) -> None:
    for evals in (None, 600):
        opt = quick([(3.0, 1000.0)] * 6, strategy, suggest_time=1e-9, suggest_evals=evals)
        asked = advance(opt, 9)
        assert np.all((points(opt) >= 3.0) & (points(opt) <= 1000.0))
        assert asked[-1].info["source"] != "initial"


# --- info ----------------------------------------------------------------------------------


@every_variant
def test_info_says_how_a_point_was_found(strategy: Strategy) -> None:
    opt = quick([(-1.0, 1.0)] * 12, strategy, n_init=12)
    searched = 0
    for trial in advance(opt, 16):
        info = trial.info
        assert info["source"] in ("initial", "strategy")
        assert info["seconds"] >= 0.0
        if info["source"] == "strategy" and strategy.name != "random" and not is_start(info):
            searched += 1
            assert info["evaluations"] > 0
            assert info["subspaces"] >= 1
            assert info["t"] >= 1
            assert math.isfinite(info["log_ei"] if "log_ei" in info else info["ucb"])
            if "log_ei" not in info:
                assert info["beta"] > 0.0
                assert info["beta_kind"] in ("paper", "practical", "corrected", "number")
        else:
            assert "evaluations" not in info
    assert searched > 0 or strategy.name == "random"


def is_start(info: Any) -> bool:
    """A random point at the start of one of SRE's later embeddings."""
    return "stage" in info and info["stage"] > 0 and "ucb" not in info and "log_ei" not in info


@every_name
def test_what_was_evaluated_stays(name: str) -> None:
    """Models are made of what trials say of themselves, so nobody may write to it."""
    for trial in advance(quick(CUBE, name), 8):
        for value in (trial.x, *trial.info.values()):
            if isinstance(value, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    value[...] = 0


# --- initial points ------------------------------------------------------------------------


def initial_points(strategy: str | Strategy, D: int = 6, count: int = 8) -> list[Trial]:
    opt = quick([(-1.0, 1.0)] * D, strategy, seed=9, n_init=count)
    return [opt.ask() for _ in range(count)]


@pytest.mark.parametrize("name", [n for n in BY_NAME if n not in (*EMBEDDED, "anchored")])
def test_initial_points_are_the_same_in_the_box_itself(name: str) -> None:
    for one, other in zip(initial_points(name), initial_points("random"), strict=True):
        assert one.x.tobytes() == other.x.tobytes()
        assert set(one.info) == {"source", "seconds"}


@pytest.mark.parametrize("name", EMBEDDED)
def test_initial_points_of_embeddings_are_images_of_the_same_draws(name: str) -> None:
    d = 5
    side = math.sqrt(d) if name == "rembo" else 1.0
    trials = initial_points(name)
    for one, other in zip(trials, initial_points("random"), strict=True):
        assert np.array_equal(one.info["y"], side * other.x[:d])
        assert one.info["source"] == "initial"


@pytest.mark.parametrize("D", [1, 3])
@pytest.mark.parametrize("name", ["rembo", "hesbo"])
def test_initial_points_are_the_draws_where_the_embedding_is_the_identity(
    name: str, D: int
) -> None:
    for one, other in zip(initial_points(name, D), initial_points("random", D), strict=True):
        assert one.x.tobytes() == other.x.tobytes()


# --- bad arguments -------------------------------------------------------------------------

NO_COUNT: list[Any] = [0, -1, 2.5, True, "2", math.nan]
NO_SHARE: list[Any] = [0.0, 1.0, -0.1, 1.5, math.nan, math.inf, True, "0.1", None]
NO_POSITIVE: list[Any] = [0.0, -1.0, math.nan, math.inf, True, "1", None]
NO_BETA: list[Any] = ["papper", "", 0, -1.0, math.nan, math.inf, True, None, [1.0]]
NO_CHOICE: list[Any] = ["other", "", None, 3, ["ucb"]]

BAD: list[tuple[type[Any], str, list[Any]]] = [
    (Anchored, "insurance", [-0.1, 1.5, math.nan, math.inf, True, "0.1", None]),
    (Anchored, "delta", NO_SHARE),
    (MSUCB, "d", [-1, 2.5, True, "2"]),
    (MSUCB, "n0", [*NO_COUNT, None]),
    (MSUCB, "alpha", [-1, 0.5, True, "1", None]),
    (MSUCB, "beta", NO_BETA),
    (MSUCB, "delta", NO_SHARE),
    (MSUCB, "a", NO_POSITIVE),
    (MSUCB, "b", NO_POSITIVE),
    (GPUCB, "beta", [*NO_BETA, "corrected"]),
    (GPUCB, "beta_scale", NO_POSITIVE),
    (GPUCB, "delta", NO_SHARE),
    (GPUCB, "a", NO_POSITIVE),
    (GPUCB, "b", NO_POSITIVE),
    (GPUCB, "acquisition", NO_CHOICE),
    (DropoutUCB, "d", NO_COUNT),
    (DropoutUCB, "fill", NO_CHOICE),
    (DropoutUCB, "p", NO_SHARE),
    (DropoutUCB, "beta", [*NO_BETA, "corrected"]),
    (DropoutUCB, "delta", NO_SHARE),
    (DropoutUCB, "acquisition", NO_CHOICE),
    (LineBO, "direction", NO_CHOICE),
    (LineBO, "least", [*NO_COUNT, None]),
    (LineBO, "most", [*NO_COUNT, None, 4]),  # less than least
    (LineBO, "gap", NO_POSITIVE),
    (LineBO, "beta", [*NO_BETA, "corrected"]),
    (LineBO, "delta", NO_SHARE),
    (SRE, "d", NO_COUNT),
    (SRE, "m", [*NO_COUNT, None]),
    (SRE, "max_evals", NO_COUNT),
    (SRE, "beta", [*NO_BETA, "corrected"]),
    (SRE, "delta", NO_SHARE),
    (SRE, "acquisition", NO_CHOICE),
    (REMBO, "d", NO_COUNT),
    (REMBO, "k", [*NO_COUNT, None]),
    (REMBO, "kernel", [*NO_CHOICE, "matern52"]),
    (REMBO, "beta", [*NO_BETA, "corrected"]),
    (REMBO, "delta", NO_SHARE),
    (REMBO, "acquisition", NO_CHOICE),
    (HeSBO, "d", NO_COUNT),
    (HeSBO, "beta", [*NO_BETA, "corrected"]),
    (HeSBO, "delta", NO_SHARE),
    (HeSBO, "acquisition", NO_CHOICE),
]


@pytest.mark.parametrize(
    ("kind", "argument", "values"), BAD, ids=[f"{kind.__name__}.{name}" for kind, name, _ in BAD]
)
def test_bad_values_are_refused_by_name(kind: type[Any], argument: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises((ValueError, TypeError), match=rf"^{argument} must be ") as caught:
            kind(**{argument: value})
        assert repr(value) in str(caught.value), "and the message shows what was given"


def test_every_argument_is_in_the_table() -> None:
    for kind in BY_NAME.values():
        arguments = {field.name for field in fields(kind)}
        checked = {name for other, name, _ in BAD if other is kind}
        assert arguments - checked <= {"surrogate", "permute"}


@every_model
def test_a_surrogate_of_the_wrong_type(name: str) -> None:
    for value in (None, "rbf", Surrogate):
        with pytest.raises((ValueError, TypeError), match=r"^surrogate must be "):
            BY_NAME[name](surrogate=value)


@pytest.mark.parametrize("name", ["ms-ucb", "dropout-ucb", "sre", "rembo", "hesbo"])
@pytest.mark.parametrize("d", [7, np.int64(7), 10**9])
def test_more_coordinates_than_variables(name: str, d: int) -> None:
    with pytest.raises(ValueError, match=f"^d must be at most D = 6, got {d}$"):
        Optimizer(CUBE, BY_NAME[name](d=d))


@every_beta
def test_a_beta_function_that_returns_nonsense(name: str) -> None:
    opt = quick(CUBE, BY_NAME[name](beta=lambda t: -1.0), n_init=12)
    advance(opt, 12)
    with pytest.raises(ValueError, match=r"beta must return .* number; beta\(1\) is -1\.0"):
        opt.ask()
    assert len(opt.trials) == 12


# --- beta ------------------------------------------------------------------------------------

SEARCHED: list[tuple[type[Any], dict[str, Any], int]] = [
    # (strategy, arguments, dimension of the search in six variables)
    (MSUCB, {"d": 2}, 2),
    (MSUCB, {"d": 6}, 6),
    (GPUCB, {}, 6),
    (DropoutUCB, {"d": 3}, 3),
    (LineBO, {}, 1),
    (SRE, {"d": 3}, 3),
    (REMBO, {"d": 2, "k": 1}, 2),
    (REMBO, {"d": 2, "k": 1, "kernel": "x"}, 2),
    (HeSBO, {"d": 4}, 4),
]


@pytest.mark.parametrize(("kind", "arguments", "k"), SEARCHED)
def test_beta_of_every_kind(kind: type[Any], arguments: dict[str, Any], k: int) -> None:
    def beta(value: Any) -> tuple[float, str]:
        info = advance(quick(CUBE, kind(beta=value, **arguments)), 7)[-1].info
        return info["beta"], info["beta_kind"]

    paper, name = beta("paper")
    assert name == "paper"
    practical, name = beta("practical")
    assert practical == pytest.approx(paper / (8.0 * k))
    assert name == "practical"
    assert beta(2.5) == (2.5, "number")
    assert beta(lambda t: 3.0 * t) == (3.0, "callable")


# --- repr ----------------------------------------------------------------------------------


@every_variant
def test_repr_is_short_and_can_be_read_back(strategy: Strategy) -> None:
    text = repr(strategy)
    assert len(text) < 320
    assert "\n" not in text
    assert not re.search(r"0x[0-9a-f]+", text)
    assert text.startswith(type(strategy).__name__ + "(")
    assert eval(text, dict(vars(transect))) == strategy
    assert text == repr(copy.deepcopy(strategy))


@every_variant
def test_strategies_are_frozen(strategy: Strategy) -> None:
    before = repr(strategy)
    with pytest.raises(AttributeError):
        strategy.beta = 3.0  # type: ignore[attr-defined]
    assert repr(strategy) == before
    assert hash(strategy) == hash(copy.deepcopy(strategy))


def test_random_search_has_nothing_to_say() -> None:
    assert repr(RandomSearch()) == "RandomSearch()"


# --- on a device ---------------------------------------------------------------------------


@pytest.mark.torch
@every_variant
def test_runs_on_tensors_are_those_on_arrays(strategy: Strategy) -> None:
    """The first search finds the same bound; a run with failures and pending points goes on."""
    runs = []
    for device in (None, "cpu"):
        opt = Optimizer(CUBE, strategy, seed=0, n_init=12, device=device)
        for i in range(18):
            trial = opt.ask()
            if i != 14:  # stays in flight
                opt.tell(trial, math.nan if i == 5 else bowl(trial.x))
        runs.append(opt.trials)
    for one, other in zip(*runs, strict=True):
        assert one.info["source"] == other.info["source"]
        assert np.all(np.abs(other.x) <= 1.0)
    first = runs[0][12].info, runs[1][12].info
    for key in ("ucb", "log_ei"):
        assert first[0].get(key, 0.0) == pytest.approx(first[1].get(key, 0.0), abs=1e-6)
