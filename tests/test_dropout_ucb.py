"""DropoutUCB: which coordinates are drawn, how the others are filled, what the model sees."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, kstest

from helpers import bowl
from transect import GPUCB, UCB, DropoutUCB, GaussianProcess, Optimizer
from transect.strategies import History, Proposal, Setting
from transect.strategies.dropout_ucb import FILLS

Point = NDArray[np.float64]

D = 5
SIGMAS = 4.5  # a correct share is missed once in some hundred thousand draws


def known(n: int = 8, dimensions: int = D, seed: int = 0) -> History:
    """Evaluations of minus the bowl."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, dimensions))
    return History(X, -np.sum((X - 0.3) ** 2, axis=1), X[:0])


def suggest(strategy: DropoutUCB, history: History, seed: int, evals: int | None = 100) -> Proposal:
    """The first suggestion after a history."""
    setting = Setting(history.X.shape[1], 0, suggest_evals=evals)
    return strategy.suggest(strategy.start(setting), history, np.random.default_rng(seed))


def run(strategy: Any, evaluations: int, dimensions: int = D, n_init: int = 6) -> Optimizer:
    """Some evaluations, one of them failed, and two more points in flight."""
    opt = Optimizer([(-1.0, 1.0)] * dimensions, strategy, seed=3, n_init=n_init)
    for i in range(evaluations):
        trial = opt.ask()
        opt.tell(trial, math.nan if i == 3 else bowl(trial.x))
    opt.ask()
    opt.ask()
    return opt


@pytest.fixture(scope="module")
def mixed() -> list[Proposal]:
    """Many first suggestions from one history, d = 2 of 5; on two points no time goes into fits."""
    return [suggest(DropoutUCB(d=2), known(2), seed) for seed in range(400)]


# --- the coordinates -------------------------------------------------------------------


def test_d_different_coordinates_are_drawn(mixed: list[Proposal]) -> None:
    for p in mixed:
        chosen = p.info["coordinates"]
        assert chosen.shape == (2,)
        assert len(set(chosen.tolist())) == 2
        assert set(chosen.tolist()) <= set(range(D))


def test_each_coordinate_is_drawn_with_frequency_d_of_D(mixed: list[Proposal]) -> None:
    counts = Counter(int(i) for p in mixed for i in p.info["coordinates"])
    share = 2 / D
    spread = math.sqrt(len(mixed) * share * (1.0 - share))
    for i in range(D):
        assert abs(counts[i] - len(mixed) * share) < SIGMAS * spread


def test_every_set_of_coordinates_is_as_likely(mixed: list[Proposal]) -> None:
    counts = Counter(tuple(sorted(p.info["coordinates"].tolist())) for p in mixed)
    assert set(counts) == set(combinations(range(D), 2))
    assert chisquare(list(counts.values())).pvalue > 1e-5


def test_coordinates_are_drawn_afresh_at_each_step() -> None:
    opt = run(DropoutUCB(d=2), 20, dimensions=12)
    drawn = [tuple(t.info["coordinates"]) for t in opt.trials if t.info["source"] == "strategy"]
    assert len(set(drawn)) > 10


# --- the others ------------------------------------------------------------------------


def test_copy_changes_at_most_d_coordinates_of_the_incumbent() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 9, DropoutUCB(d=3, fill="copy"), seed=0, n_init=5)
    for _ in range(20):
        incumbent, trial = opt.best, opt.ask()
        if trial.info["source"] == "strategy":
            assert incumbent is not None
            assert trial.info["fill"] == "copy"
            others = np.setdiff1d(np.arange(9), trial.info["coordinates"])
            assert len(others) == 6
            assert trial.x[others].tobytes() == incumbent.x[others].tobytes()
        opt.tell(trial, bowl(trial.x))
    assert "strategy" in {t.info["source"] for t in opt.trials}


def test_random_fills_are_uniform_and_ignore_the_data() -> None:
    strategy = DropoutUCB(d=1, fill="random")
    filled = []
    for seed in range(120):
        p = suggest(strategy, known(2, dimensions=9), seed)
        assert p.info["fill"] == "random"
        filled.append(np.delete(p.x, p.info["coordinates"]))
    assert kstest(np.ravel(filled), "uniform", args=(-1.0, 2.0)).pvalue > 1e-4


@pytest.mark.parametrize("p", [0.1, 0.6])
def test_mix_is_random_with_probability_p(mixed: list[Proposal], p: float) -> None:
    proposals = mixed
    if p != DropoutUCB().p:
        proposals = [suggest(DropoutUCB(d=2, p=p), known(2), seed) for seed in range(200)]
    count = sum(q.info["fill"] == "random" for q in proposals)
    n = len(proposals)
    assert abs(count - n * p) < SIGMAS * math.sqrt(n * p * (1.0 - p))


def test_mix_is_one_draw_for_all_coordinates(mixed: list[Proposal]) -> None:
    history = known(2)
    best = history.X[np.argmax(history.y)]
    for p in mixed:
        others = np.setdiff1d(np.arange(D), p.info["coordinates"])
        copied = p.x[others] == best[others]
        assert np.all(copied) if p.info["fill"] == "copy" else not np.any(copied)


def test_the_incumbent_is_the_best_that_did_not_fail() -> None:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (6, D))
    history = History(X, np.array([1.0, math.nan, 5.0, 2.0, math.nan, 0.0]), X[:0])
    p = suggest(DropoutUCB(d=1, fill="copy"), history, 0)
    assert np.count_nonzero(p.x != X[2]) <= 1


# --- the model -------------------------------------------------------------------------


@pytest.mark.parametrize("fill", FILLS)
def test_the_model_sees_the_chosen_coordinates_alone(fill: str) -> None:
    history = known(12, dimensions=8)
    p = suggest(DropoutUCB(d=3, fill=fill), history, 1)
    model = p.state.model
    assert np.array_equal(model.gp.X, history.X[:, p.info["coordinates"]])
    np.testing.assert_allclose(model.shift + model.scale * model.gp.y, history.y, atol=1e-12)


@pytest.mark.parametrize("n", [12, 60])  # refitted at every step, and rarely
def test_models_of_later_steps_are_of_their_own_coordinates(n: int) -> None:
    strategy, history = DropoutUCB(d=3), known(n, dimensions=8)
    state: Any = strategy.start(Setting(8, 0, suggest_evals=400))
    drawn = set()
    for t in range(4):
        p = strategy.suggest(state, history, np.random.default_rng(t))
        model, chosen = p.state.model, p.info["coordinates"]
        drawn.add(tuple(chosen))
        assert np.array_equal(model.gp.X, history.X[:, chosen])
        fresh = GaussianProcess.from_data(model.gp.hyper, model.gp.X, model.gp.y)
        P = np.random.default_rng(9).uniform(-1.0, 1.0, (20, 3))
        for a, b in zip(model.gp.posterior(P), fresh.posterior(P), strict=True):
            np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(model.shift + model.scale * model.gp.y, history.y, atol=1e-9)
        state = p.state
        history = History(
            np.vstack([history.X, p.x]), np.append(history.y, -bowl(p.x)), history.pending
        )
    assert len(drawn) > 1


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("seed", range(3))
def test_the_chosen_coordinates_maximise_the_bound(fill: str, seed: int) -> None:
    p = suggest(DropoutUCB(d=3, fill=fill), known(12, dimensions=8), seed, evals=None)
    gp, ucb = p.state.model.gp, UCB(p.info["beta"])
    here = float(ucb.value(*gp.posterior(p.x[p.info["coordinates"]][None]))[0])
    others = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, 3))
    assert np.max(ucb.value(*gp.posterior(others))) <= here + 1e-6
    assert p.info["ucb"] == pytest.approx(p.state.model.shift + p.state.model.scale * here)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_beta_is_gp_ucbs_with_d_for_D(d: int) -> None:
    opt = run(DropoutUCB(d=d, delta=0.05), 10)
    infos = [t.info for t in opt.trials if t.info["source"] == "strategy"]
    assert [info["t"] for info in infos] == [1, 2, 3, 4, 5, 6]
    for info in infos:
        t = info["t"]
        cover = t**2 * d * 2.0 * math.sqrt(math.log(4.0 * d / 0.05))
        expected = 2.0 * math.log(2.0 * math.pi**2 * t**2 / 0.15) + 2.0 * d * math.log(cover)
        assert info["beta"] == pytest.approx(expected, rel=1e-12)


def test_values_that_differ_at_equal_coordinates_are_noise() -> None:
    """Corners of a cube: a coordinate alone has two places, and many values at each."""
    rng = np.random.default_rng(0)
    X = np.sign(rng.uniform(-1.0, 1.0, (30, 8)))
    history = History(X, rng.normal(size=30), X[:0])
    for seed in range(5):
        p = suggest(DropoutUCB(d=1), history, seed)
        assert p.state.model.gp.hyper.noise > 0.1
        assert math.isfinite(p.info["ucb"])
        assert np.all(np.abs(p.x) <= 1.0)


def test_points_in_flight_are_projected_too() -> None:
    """A pending point where the bound is largest sends the suggestion elsewhere."""
    strategy, history = DropoutUCB(d=1), known(10, dimensions=2)
    first = suggest(strategy, history, 0, evals=None)
    at = int(first.info["coordinates"][0])
    again = suggest(strategy, History(history.X, history.y, first.x[None]), 0, evals=None)
    assert np.array_equal(again.info["coordinates"], first.info["coordinates"])
    assert abs(again.x[at] - first.x[at]) > 1e-3


# --- corners ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dimensions", "fill", "acquisition"),
    [(1, "mix", "ucb"), (4, "mix", "ucb"), (4, "random", "ucb"), (4, "copy", "log-ei")],
)
def test_all_coordinates_are_gp_ucb(dimensions: int, fill: str, acquisition: str) -> None:
    ours = run(DropoutUCB(d=dimensions, fill=fill, acquisition=acquisition), 12, dimensions)
    theirs = run(GPUCB(acquisition=acquisition), 12, dimensions)
    for one, other in zip(ours.trials, theirs.trials, strict=True):
        assert one.x.tobytes() == other.x.tobytes()
        for key in set(other.info) - {"seconds"}:
            assert one.info[key] == other.info[key]


@pytest.mark.parametrize(("dimensions", "d"), [(1, 1), (3, 3), (5, 5), (7, 5), (40, 5)])
def test_five_coordinates_by_default(dimensions: int, d: int) -> None:
    p = suggest(DropoutUCB(), known(dimensions=dimensions), 0)
    assert len(p.info["coordinates"]) == d


@pytest.mark.parametrize("d", [6, 10**9])
def test_more_coordinates_than_there_are(d: int) -> None:
    with pytest.raises(ValueError, match=f"d must be at most D = 5, got {d}"):
        Optimizer([(-1.0, 1.0)] * D, DropoutUCB(d=d))
