"""HeSBO: the hashing embedding, what it can reach, and what its model sees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from helpers import bowl
from transect import GPUCB, UCB, HeSBO, Optimizer, RandomSearch, Trial
from transect.problems import camelback
from transect.strategies import Setting

Point = NDArray[np.float64]

SIGMAS = 4.5  # a correct share is missed once in some hundred thousand draws


def matrix(state: Any) -> Point:
    """S (D, d) with x = S·y, column by column."""
    return np.array([state.point(e) for e in np.eye(state.d)]).T


def advance(opt: Optimizer, steps: int, f: Callable[[Point], float] = bowl) -> list[Trial]:
    asked = []
    for _ in range(steps):
        asked.append(opt.ask())
        opt.tell(asked[-1], f(asked[-1].x))
    return asked


# --- the hash --------------------------------------------------------------------------


@given(D=st.integers(1, 60), share=st.floats(0.0, 1.0), seed=st.integers(0, 2**62))
@settings(deadline=None, max_examples=60)
def test_exactly_one_entry_of_a_row_is_a_sign(D: int, share: float, seed: int) -> None:
    d = max(1, round(share * D))
    S = matrix(HeSBO(d=d).start(Setting(D, seed)))
    assert S.shape == (D, d)
    assert np.array_equal(np.sum(np.abs(S) == 1.0, axis=1), np.ones(D))
    assert np.count_nonzero(S) == D


def test_buckets_and_signs_are_uniform_and_independent() -> None:
    D, d = 4000, 5
    S = matrix(HeSBO(d=d).start(Setting(D, 1)))
    row, column = np.nonzero(S)
    signs = S[row, column]
    cells = Counter(zip(column.tolist(), signs.tolist(), strict=True))
    assert len(cells) == 2 * d
    assert chisquare(list(cells.values())).pvalue > 1e-4


def test_two_coordinates_share_a_bucket_with_probability_one_in_d() -> None:
    for d in (2, 5):
        count = 0
        for seed in range(1500):
            bucket = HeSBO(d=d).start(Setting(30, seed)).bucket
            count += bool(bucket[3] == bucket[17])
        share, spread = count / 1500, math.sqrt((1.0 / d) * (1.0 - 1.0 / d) / 1500)
        assert abs(share - 1.0 / d) < SIGMAS * spread


def test_the_hash_depends_on_the_seed_and_stays_during_a_run() -> None:
    one, same, other = (matrix(HeSBO(d=3).start(Setting(20, seed))) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    opt = Optimizer([(-1.0, 1.0)] * 20, HeSBO(d=3), seed=0, n_init=3)
    S = matrix(opt._state)
    advance(opt, 8)
    assert np.array_equal(matrix(opt._state), S)


# --- what can be reached ---------------------------------------------------------------


def columns_of(S: Point, active: list[int]) -> list[int]:
    """The buckets of the active coordinates."""
    return [int(np.flatnonzero(S[i])[0]) for i in active]


@pytest.mark.parametrize("where", ["first", "last", "random"])
def test_runs_are_stuck_if_and_only_if_active_coordinates_collide(where: str) -> None:
    """Least regret of all that can be reached: 1.0316 with a collision, none without."""
    D, d = 12, 5
    problem = camelback(D, active=where)
    assert problem.optimum is not None
    active = np.flatnonzero(problem.optimum).tolist()
    seen = Counter[bool]()
    for seed in range(40):
        S = matrix(HeSBO(d=d).start(Setting(D, seed)))
        one, other = columns_of(S, active)
        collide = one == other
        seen[collide] += 1
        if collide:  # one coordinate of y is all that counts
            y = np.random.default_rng(seed).uniform(-1.0, 1.0, (401, d))
            y[:, one] = np.linspace(-1.0, 1.0, 401)
            regrets = np.array([problem(x) for x in y @ S.T]) - problem.least
            assert np.min(regrets) == pytest.approx(1.0316284535, abs=1e-9)
        else:
            y = np.zeros(d)
            for i, column in zip(active, (one, other), strict=True):
                y[column] = S[i, column] * problem.optimum[i]
            assert problem(S @ y) == pytest.approx(problem.least, abs=1e-12)
    assert min(seen[True], seen[False]) >= 3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_shared_bucket_leaves_nothing_below_zero(sign: float) -> None:
    """On u_2 = ±u_1 the camelback is least in the middle, whatever the signs: f = 0."""
    problem = camelback(2)
    u = np.linspace(-1.0, 1.0, 20001)
    values = np.array([problem(np.array([a, sign * a])) for a in u])
    assert np.min(values) == 0.0
    assert np.count_nonzero(values == 0.0) == 1


def test_runs_reach_what_their_hash_allows() -> None:
    """Some seeds of each kind: those that collide stay at 0, the others go below."""
    problem = camelback(12)
    kinds = set()
    for seed in range(40):
        strategy = HeSBO(d=3, beta="practical")
        opt = Optimizer([(-1.0, 1.0)] * 12, strategy, seed=seed, n_init=8, suggest_evals=1000)
        S = matrix(opt._state)
        collide = bool(np.any(S[0] * S[1]))
        if collide in kinds:
            continue
        kinds.add(collide)
        advance(opt, 45, problem)
        assert opt.best is not None
        assert opt.best.value is not None
        if collide:
            assert 0.0 <= opt.best.value < 0.1
        else:
            assert opt.best.value < -0.9
    assert kinds == {True, False}


# --- a run -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run() -> tuple[Optimizer, list[tuple[Trial, Any]]]:
    """Trials with the state after each, twelve variables in three buckets."""
    opt = Optimizer([(-1.0, 1.0)] * 12, HeSBO(d=3), seed=0, n_init=5)
    done = []
    for _ in range(16):
        trial = opt.ask()
        done.append((trial, opt._state))
        opt.tell(trial, bowl(trial.x))
    return opt, done


def test_points_are_signed_copies_of_the_logged_y(
    run: tuple[Optimizer, list[tuple[Trial, Any]]],
) -> None:
    opt, done = run
    S = matrix(opt._state)
    column = np.argmax(np.abs(S), axis=1)
    for trial, _ in done:
        y = trial.info["y"]
        assert y.shape == (3,)
        assert np.all(np.abs(y) <= 1.0), "nothing is clipped"
        assert trial.x.tobytes() == (S[np.arange(12), column] * y[column]).tobytes()


def test_the_model_is_of_y(run: tuple[Optimizer, list[tuple[Trial, Any]]]) -> None:
    y = np.array([trial.info["y"] for trial, _ in run[1]])
    values = -np.array([bowl(trial.x) for trial, _ in run[1]])
    for i, (trial, state) in enumerate(run[1]):
        if trial.info["source"] == "strategy":
            model = state.model
            assert np.array_equal(model.gp.X, y[:i])
            np.testing.assert_allclose(
                model.shift + model.scale * model.gp.y, values[:i], atol=1e-12
            )


def test_suggestions_maximise_the_bound(run: tuple[Optimizer, list[tuple[Trial, Any]]]) -> None:
    for trial, state in run[1][5:]:
        ucb, gp = UCB(trial.info["beta"]), state.model.gp
        others = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, 3))
        here = float(ucb.value(*gp.posterior(trial.info["y"][None]))[0])
        assert here >= np.max(ucb.value(*gp.posterior(others))) - 1e-6
        expected = state.model.shift + state.model.scale * here
        assert trial.info["ucb"] == pytest.approx(expected, rel=1e-6)


def test_beta_is_gp_ucbs_with_d_for_D(run: tuple[Optimizer, list[tuple[Trial, Any]]]) -> None:
    for t, (trial, _) in enumerate(run[1][5:], start=1):
        cover = t**2 * 3 * 2.0 * math.sqrt(math.log(4.0 * 3 / 0.1))
        expected = 2.0 * math.log(2.0 * math.pi**2 * t**2 / 0.3) + 6.0 * math.log(cover)
        assert trial.info["t"] == t
        assert trial.info["beta"] == pytest.approx(expected, rel=1e-12)


def test_initial_points_are_embedded_draws() -> None:
    """The first d coordinates of the points that random search would have."""
    draws = Optimizer([(-1.0, 1.0)] * 9, RandomSearch(), seed=4, n_init=10)
    opt = Optimizer([(-1.0, 1.0)] * 9, HeSBO(d=4), seed=4, n_init=10)
    S = matrix(opt._state)
    for _ in range(10):
        u, trial = draws.ask().x, opt.ask()
        assert trial.info["source"] == "initial"
        assert np.array_equal(trial.info["y"], u[:4])
        assert np.array_equal(trial.x, S @ u[:4])


def test_points_told_from_elsewhere_have_no_y_and_stay_out_of_the_model() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 8, HeSBO(d=2), seed=0, n_init=4)
    opt.tell(np.full(8, 0.3), 0.0)
    advance(opt, 8)
    assert opt.best is opt.trials[0]
    assert opt._state.model.gp.n == 7


# --- corners ---------------------------------------------------------------------------


@pytest.mark.parametrize(("D", "acquisition"), [(1, "ucb"), (4, "ucb"), (4, "log-ei")])
def test_as_many_buckets_as_variables_is_gp_ucb(D: int, acquisition: str) -> None:
    runs = []
    strategies: list[Any] = [HeSBO(d=D, acquisition=acquisition), GPUCB(acquisition=acquisition)]
    for strategy in strategies:
        opt = Optimizer([(-3.0, 5.0)] * D, strategy, seed=6, n_init=5)
        advance(opt, 12)
        opt.ask()
        opt.ask()
        runs.append(np.array([t.x for t in opt.trials]))
    assert runs[0].tobytes() == runs[1].tobytes()
    assert np.array_equal(matrix(HeSBO(d=D).start(Setting(D, 0))), np.eye(D))


def test_with_as_many_buckets_as_variables_points_told_from_elsewhere_count() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 3, HeSBO(d=3), seed=0, n_init=4)
    for x in np.random.default_rng(0).uniform(-1.0, 1.0, (4, 3)):
        opt.tell(x, bowl(x))
    assert opt.ask().info["evaluations"] > 0  # a search in a model, no random point


@pytest.mark.parametrize(("D", "d"), [(1, 1), (4, 4), (5, 5), (6, 5), (40, 5)])
def test_five_buckets_by_default(D: int, d: int) -> None:
    assert HeSBO().start(Setting(D, 0)).d == d


@pytest.mark.parametrize("d", [5, 10**9])
def test_more_buckets_than_variables(d: int) -> None:
    with pytest.raises(ValueError, match=f"d must be at most D = 4, got {d}"):
        Optimizer([(-1.0, 1.0)] * 4, HeSBO(d=d))
