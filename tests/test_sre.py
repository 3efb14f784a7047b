"""SRE: how evaluations are divided up, what each embedding is, and what its model knows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest

from helpers import bowl
from transect import SRE, UCB, Optimizer, RandomSearch, Trial, minimize
from transect.strategies import Setting

Point = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """Trials as told, and the stage each of them was asked in."""

    trials: tuple[Trial, ...]
    stages: list[Any]

    def of(self, index: int) -> list[Trial]:
        return [t for t in self.trials if t.info["stage"] == index]


def run(
    strategy: SRE,
    B: int,
    D: int = 10,
    n_init: int = 4,
    f: Callable[[Point], float] = bowl,
    seed: int = 0,
    evals: int | None = 400,
) -> Run:
    """B evaluations in the unit box, where points are handed out unchanged."""
    opt = Optimizer(
        [(-1.0, 1.0)] * D, strategy, seed=seed, n_init=n_init, max_evals=B, suggest_evals=evals
    )
    stages = []
    for _ in range(B):
        trial = opt.ask()
        stages.append(opt._state.stage)
        opt.tell(trial, f(trial.x))
    return Run(opt.trials, stages)


@pytest.fixture(scope="module")
def plain() -> Run:
    """Five embeddings of dimension 3 in ten variables, 61 evaluations."""
    return run(SRE(d=3), 61, evals=None)


# --- evaluations -----------------------------------------------------------------------

SHARES = [
    # B, m, d, evaluations of each embedding
    (61, 5, 3, [12, 12, 12, 12, 13]),
    (44, 5, 2, [8, 8, 8, 8, 12]),
    (40, 5, 5, [8, 8, 8, 8, 8]),  # B = m·(d + 3): just enough
    (39, 5, 5, [9, 9, 9, 12]),
    (24, 5, 5, [8, 8, 8]),
    (23, 5, 5, [11, 12]),
    (15, 5, 5, [15]),
    (6, 5, 5, [6]),
    (1, 5, 5, [1]),
    (20, 1, 3, [20]),
    (21, 2, 3, [10, 11]),
]


@pytest.mark.parametrize(("B", "m", "d", "shares"), SHARES)
def test_evaluations_are_divided_up(B: int, m: int, d: int, shares: list[int]) -> None:
    """Equal shares, the rest to the last; fewer embeddings where B < m·(d + 3)."""
    done = run(SRE(d=d, m=m), B, n_init=min(4, max(1, B // 2)))
    stages = [t.info["stage"] for t in done.trials]
    assert stages == sorted(stages), "one after the other"
    assert [stages.count(i) for i in range(max(stages) + 1)] == shares
    assert sum(shares) == B


def test_there_are_as_many_matrices_as_embeddings(plain: Run) -> None:
    matrices = {stage.A.tobytes() for stage in plain.stages}
    assert len(matrices) == 5
    for trial, stage in zip(plain.trials, plain.stages, strict=True):
        assert stage.index == trial.info["stage"]
        assert stage.A.shape == (10, 3)


@pytest.mark.parametrize(
    ("own", "of_run", "B"), [(None, 30, 30), (None, None, 200), (40, 30, 40), (40, None, 40)]
)
def test_whose_number_of_evaluations_counts(own: int | None, of_run: int | None, B: int) -> None:
    """The strategy's own; else the run's; else 200. All asked at once after a first value."""
    opt = Optimizer([(-1.0, 1.0)] * 3, SRE(d=1, m=2, max_evals=own), n_init=500, max_evals=of_run)
    opt.tell(opt.ask(), 1.0)
    stages = [0] + [opt.ask().info["stage"] for _ in range(B)]
    assert Counter(stages) == {0: B // 2, 1: B // 2 + 1}


def test_minimize_divides_up_its_evaluations() -> None:
    done: Any = minimize(bowl, [(-1.0, 1.0)] * 6, 25, SRE(d=2), seed=0, progress=False)
    assert [t.info["stage"] for t in done.trials] == [i for i in range(5) for _ in range(5)]


def test_after_the_last_evaluation_the_last_embedding_goes_on() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 4, SRE(d=1, m=3, max_evals=12), seed=0, n_init=2)
    for _ in range(16):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    assert [t.info["stage"] for t in opt.trials[-6:]] == [2] * 6


def test_failed_evaluations_count() -> None:
    done = run(SRE(d=2, m=3), 24, f=lambda x: math.nan if x[0] > 0.2 else bowl(x))
    assert any(t.state == "failed" for t in done.trials)
    assert Counter(t.info["stage"] for t in done.trials) == {0: 8, 1: 8, 2: 8}


# --- embeddings ------------------------------------------------------------------------


def test_points_are_made_of_their_logged_parts(plain: Run) -> None:
    for trial, stage in zip(plain.trials, plain.stages, strict=True):
        y, c = trial.info["y"], trial.info["c"]
        assert y.shape == (3,)
        assert np.all(np.abs(y) <= 1.0)
        assert -1.0 <= c <= 1.0
        x = np.clip(c * stage.anchor + stage.A @ y, -1.0, 1.0)
        assert trial.x.tobytes() == x.tobytes()


def test_the_first_embedding_has_no_anchor(plain: Run) -> None:
    for trial, stage in zip(plain.trials, plain.stages, strict=True):
        if trial.info["stage"] == 0:
            assert trial.info["c"] == 0.0
            assert not np.any(stage.anchor)
    assert any(t.info["c"] != 0.0 for t in plain.of(1))


def test_the_anchor_is_the_best_point_when_the_embedding_begins(plain: Run) -> None:
    for index in range(1, 5):
        first = next(i for i, t in enumerate(plain.trials) if t.info["stage"] == index)
        before = plain.trials[:first]
        best = min(before, key=lambda t: t.value or math.inf)
        for stage in plain.stages:
            if stage.index == index:
                assert stage.anchor.tobytes() == best.x.tobytes()
                assert stage.value == -bowl(best.x), "values are maximised inside"


@pytest.mark.parametrize("seed", range(3))
def test_the_anchor_never_worsens(seed: int) -> None:
    done = run(SRE(d=2, m=4), 28, D=5, seed=seed)
    anchors = [stage.anchor for stage in done.stages if stage.index > 0]
    values = [bowl(anchor) for anchor in anchors]
    for one, following in itertools.pairwise(values):
        assert following <= one
    best = min(t.value for t in done.trials if t.value is not None)
    assert best <= values[-1]


def test_a_point_told_from_elsewhere_can_be_the_anchor() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 6, SRE(d=2, m=2), seed=0, n_init=2, max_evals=16)
    good = np.full(6, 0.3)
    opt.tell(good, bowl(good))
    for _ in range(9):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    assert opt._state.stage.index == 1
    assert np.array_equal(opt._state.stage.anchor, good)


@pytest.mark.parametrize("d", [1, 4, 9])
def test_entries_are_normal_of_variance_one_over_d(d: int) -> None:
    D = 2000 // d
    opt = Optimizer([(-1.0, 1.0)] * D, SRE(d=d, m=2, max_evals=2 * (d + 3)), seed=1, n_init=100)
    opt.tell(opt.ask(), 1.0)
    first = opt._state.stage.A
    for _ in range(d + 4):
        opt.ask()
    assert opt._state.stage.index == 1
    for A in (first, opt._state.stage.A):
        # Within 4.5 standard errors of the mean and the variance of normal draws.
        assert abs(np.mean(A)) < 4.5 / math.sqrt(d * A.size)
        assert np.var(A) * d == pytest.approx(1.0, abs=4.5 * math.sqrt(2.0 / A.size))
        assert kstest(math.sqrt(d) * A.ravel(), "norm").pvalue > 1e-4


def test_matrices_depend_on_the_seed() -> None:
    one, other = (run(SRE(d=2, m=1), 1, n_init=1, seed=s).stages[0].A for s in (0, 1))
    assert not np.any(one == other)


# --- initial points --------------------------------------------------------------------


def test_initial_points_are_embedded_draws() -> None:
    """The first d coordinates of the points that random search would have."""
    D, d, n_init = 7, 3, 9
    draws = Optimizer([(-1.0, 1.0)] * D, RandomSearch(), seed=5, n_init=n_init)
    done = run(SRE(d=d), 50, D=D, n_init=n_init, seed=5)
    for trial, stage in zip(done.trials[:n_init], done.stages, strict=False):
        u = draws.ask().x
        assert trial.info["source"] == "initial"
        assert trial.info["stage"] == 0
        assert np.array_equal(trial.info["y"], u[:d])
        assert trial.x.tobytes() == np.clip(stage.A @ u[:d], -1.0, 1.0).tobytes()


def test_later_embeddings_start_with_d_plus_two_random_points(plain: Run) -> None:
    for index in range(1, 5):
        searched = ["evaluations" in t.info for t in plain.of(index)]
        assert searched == [False] * 5 + [True] * (len(searched) - 5)
        v = np.array([[*t.info["y"], t.info["c"]] for t in plain.of(index)[:5]])
        assert len(np.unique(v)) == v.size, "drawn one by one"
    assert ["evaluations" in t.info for t in plain.of(0)] == [False] * 4 + [True] * 8


# --- the model -------------------------------------------------------------------------


def searched(done: Run) -> list[tuple[int, Trial, Any]]:
    """The evaluations a model was asked for: when, which, in which stage."""
    return [
        (i, trial, stage)
        for i, (trial, stage) in enumerate(zip(done.trials, done.stages, strict=True))
        if "evaluations" in trial.info
    ]


def test_the_free_observation_is_in_the_model(plain: Run) -> None:
    """C = 1 and y = 0 give the anchor, whose value is known."""
    later = [(t, s) for _, t, s in searched(plain) if s.index > 0]
    assert len(later) > 10
    for _, stage in later:
        gp, model, free = stage.model.gp, stage.model, stage.model.gp.X[0]
        assert free.tolist() == [0.0, 0.0, 0.0, 1.0]
        assert model.shift + model.scale * gp.y[0] == pytest.approx(-bowl(stage.anchor))
        assert np.count_nonzero(np.all(free == gp.X, axis=1)) == 1


def test_each_embedding_has_a_model_of_its_own_evaluations(plain: Run) -> None:
    for i, trial, stage in searched(plain):
        before = [t for t in plain.trials[:i] if t.info["stage"] == trial.info["stage"]]
        V = np.array([[*t.info["y"], t.info["c"]] for t in before])
        values = -np.array([t.value for t in before])
        if stage.index == 0:
            V = V[:, :3]
        gp, model = stage.model.gp, stage.model
        free = 1 if stage.index else 0
        assert np.array_equal(gp.X[free:], V)
        np.testing.assert_allclose(model.shift + model.scale * gp.y[free:], values, atol=1e-12)


def test_suggestions_maximise_the_bound_of_their_model(plain: Run) -> None:
    for _, trial, stage in searched(plain):
        gp, ucb = stage.model.gp, UCB(trial.info["beta"])
        v = np.append(trial.info["y"], trial.info["c"])[: gp.X.shape[1]]
        here = float(ucb.value(*gp.posterior(v[None]))[0])
        others = np.random.default_rng(0).uniform(-1.0, 1.0, (500, len(v)))
        assert here >= np.max(ucb.value(*gp.posterior(others))) - 1e-6
        expected = stage.model.shift + stage.model.scale * here
        assert trial.info["ucb"] == pytest.approx(expected, rel=1e-6)


def test_beta_is_gp_ucbs_in_the_dimension_of_the_search(plain: Run) -> None:
    for _, trial, stage in searched(plain):
        t, k = trial.info["t"], 3 + (stage.index > 0)
        cover = t**2 * k * 2.0 * math.sqrt(math.log(4.0 * k / 0.1))
        expected = 2.0 * math.log(2.0 * math.pi**2 * t**2 / 0.3) + 2.0 * k * math.log(cover)
        assert trial.info["beta"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("acquisition", ["ucb", "log-ei"])
def test_the_best_value_improves_from_embedding_to_embedding(acquisition: str) -> None:
    """Optimum off the middle and off every first embedding: later ones get closer."""
    strategy = SRE(d=2, m=4, beta="practical", acquisition=acquisition)
    done = run(strategy, 60, D=8, n_init=5)
    best = [min(t.value for t in done.of(i) if t.value is not None) for i in range(4)]
    assert min(best[1:]) < best[0]


# --- corners ---------------------------------------------------------------------------


@pytest.mark.parametrize("D", [1, 2, 3])
def test_as_many_coordinates_as_variables(D: int) -> None:
    done = run(SRE(), 5 * (D + 3), D=D, n_init=2)
    assert max(t.info["stage"] for t in done.trials) == 4
    for trial, stage in zip(done.trials, done.stages, strict=True):
        assert stage.A.shape == (D, D)
        x = np.clip(trial.info["c"] * stage.anchor + stage.A @ trial.info["y"], -1.0, 1.0)
        assert trial.x.tobytes() == x.tobytes()


@pytest.mark.parametrize("d", [5, 10**9])
def test_more_coordinates_than_variables(d: int) -> None:
    with pytest.raises(ValueError, match=f"d must be at most D = 4, got {d}"):
        SRE(d=d).start(Setting(4, 0))
    with pytest.raises(ValueError, match=f"d must be at most D = 4, got {d}"):
        Optimizer([(-1.0, 1.0)] * 4, SRE(d=d))


def test_a_stage_without_a_value_goes_on() -> None:
    """Everything after the first embedding fails: nothing but the anchor is known."""
    calls = itertools.count()
    done = run(SRE(d=1, m=2), 20, f=lambda x: bowl(x) if next(calls) < 10 else math.nan)
    assert [t.state for t in done.trials[10:]] == ["failed"] * 10
    assert [t.info["stage"] for t in done.trials[10:]] == [1] * 10


def test_no_embedding_is_skipped_when_points_are_asked_for_in_batches() -> None:
    """25 points in flight before the first value are two and a half shares of ten."""
    opt = Optimizer([(-1.0, 1.0)] * 6, SRE(d=2, m=5), seed=0, n_init=5, max_evals=50)
    asked = [opt.ask() for _ in range(25)]
    for trial in asked:
        opt.tell(trial, bowl(trial.x))
    for _ in range(25):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    assert list(dict.fromkeys(t.info["stage"] for t in opt.trials)) == [0, 1, 2, 3, 4]
