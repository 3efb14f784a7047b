"""Anchored: candidates through the best points, insured steps, certificates, whole runs."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import bowl, make_data, make_hyper
from transect import UCB, Anchored, GaussianProcess, LogEI, Optimizer, Surrogate, minimize
from transect._array import Host
from transect.anchors import FAMILIES, OFFSPRING, STARTS, best_points, evolve, search_anchored
from transect.certificate import of_strategy
from transect.gp import Hyperparameters
from transect.kernels import Matern52
from transect.probes import MOVED, STEP
from transect.problems import ackley, hartmann6, levy
from transect.strategies.choice import (
    FAR,
    FIRST_STEP,
    GROWN,
    GROWTH,
    KAPPA,
    LONGEST,
    SHORTEST,
    doubt,
    otherwise,
    parent,
    step_size,
    usual,
)
from transect.theory import corrected_beta, gp_ucb_beta

KNOWN = Surrogate(known=(2.0, 1.0, 1e-4))
CUBE = [(-1.0, 1.0)] * 6


def process(D: int, n: int = 30, seed: int = 0) -> GaussianProcess:
    return GaussianProcess.from_data(make_hyper(D=D), *make_data(n, D, seed))


def search(gp: GaussianProcess, seed: int = 0, **limits: Any) -> Any:
    anchors, best = best_points(gp)
    return search_anchored(gp, LogEI(best), anchors, np.random.default_rng(seed), **limits)


def values(gp: GaussianProcess, acquisition: Any, points: Host) -> Host:
    return np.asarray(acquisition.value(*gp.posterior(points)))


# --- families ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@given(D=st.integers(1, 300), count=st.integers(1, 40), anchors=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_candidates_are_as_many_as_asked_for(family: str, D: int, count: int, anchors: int) -> None:
    draw, _ = FAMILIES[family]
    rng = np.random.default_rng(count)
    points = draw(rng.uniform(-1.0, 1.0, (anchors, D)), rng, count)
    assert points.shape == (count, D)
    assert np.all(np.isfinite(points))


@pytest.mark.parametrize("D", [3, 20, 1000])
def test_slices_through_the_anchors_change_some_of_their_coordinates(D: int) -> None:
    draw, _ = FAMILIES["moves"]
    anchors = np.full((3, D), [[0.1], [0.2], [0.3]])
    before = anchors.copy()
    points = draw(anchors, np.random.default_rng(0), 300)
    np.testing.assert_array_equal(anchors, before)
    moved = points - np.tile(anchors, (100, 1))  # the anchors in turn
    changed = np.count_nonzero(moved, axis=1)
    assert np.all(changed >= 1)
    assert np.max(changed) <= min(D, MOVED)
    if D == 1000:
        assert np.median(changed) == MOVED
    assert np.std(moved[moved != 0.0]) == pytest.approx(STEP, rel=0.1)


# --- the search ----------------------------------------------------------------------------


@pytest.mark.parametrize("D", [1, 2, 20, 300])
def test_the_value_is_that_of_the_point(D: int) -> None:
    gp = process(D)
    found = search(gp)
    _, best = best_points(gp)
    assert np.all(np.abs(found.x) <= 1.0)
    assert found.value == pytest.approx(values(gp, LogEI(best), found.x[None, :])[0], rel=1e-9)
    assert found.family in FAMILIES
    assert found.evaluations > len(FAMILIES) * STARTS


@pytest.mark.parametrize("D", [2, 10, 100])
def test_more_is_found_than_by_as_many_random_looks(D: int) -> None:
    gp = process(D, n=60)
    _, best = best_points(gp)
    found = search(gp)
    uniform = np.random.default_rng(1).uniform(-1.0, 1.0, (20 * found.evaluations, D))
    assert found.value > np.max(values(gp, LogEI(best), uniform)) + 0.1


def test_the_maximum_is_found_in_two_dimensions() -> None:
    gp = process(2, n=12)
    axis = np.linspace(-1.0, 1.0, 201)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for acquisition in (UCB(4.0), LogEI(best_points(gp)[1])):
        anchors, _ = best_points(gp)
        found = search_anchored(gp, acquisition, anchors, np.random.default_rng(0))
        assert found.value > np.max(values(gp, acquisition, grid)) - 1e-3


def test_the_end_is_a_maximum_of_the_box() -> None:
    """No coordinate of the point can be moved, up to the bounds, for a larger value."""
    gp = process(8, n=40)
    _, best = best_points(gp)
    x = search(gp).x
    e = 1e-3 * np.eye(8)
    around = np.clip(np.concatenate([x + e, x - e]), -1.0, 1.0)
    assert np.max(values(gp, LogEI(best), around)) < values(gp, LogEI(best), x[None, :])[0] + 1e-4


def test_the_best_points_are_those_of_the_model() -> None:
    gp = process(3)
    anchors, best = best_points(gp, 4)
    mean = np.asarray(gp.posterior(gp.X)[0])
    np.testing.assert_allclose(gp.posterior(anchors)[0], np.sort(mean)[:-5:-1], rtol=1e-10)
    assert best == pytest.approx(np.max(mean), rel=1e-12)


@pytest.mark.parametrize("budget", [100, 400, 5000])
def test_a_budget_is_kept_and_used(budget: int) -> None:
    found = search(process(30), budget=budget)
    assert 0.3 * budget < found.evaluations <= budget


def test_a_known_point_is_not_found_again() -> None:
    """With noise, the largest acquisition may be at a corner that is known already."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.ones((1, 4)), rng.uniform(-1.0, 1.0, (40, 4))])
    plane = replace(make_hyper(D=4), lengthscale=np.full(4, 20.0), amplitude=100.0, noise=0.1)
    gp = GaussianProcess.from_data(plane, X, np.sum(X, axis=1))
    anchors, _ = best_points(gp, 1)
    ends = search_anchored(gp, UCB(0.01), anchors, np.random.default_rng(0))
    assert not np.any(np.all(ends.x == X, axis=1))
    assert values(gp, UCB(0.01), X[:1])[0] > ends.value, "where the climbs had ended"


def test_a_point_that_only_others_know_is_not_found_either() -> None:
    gp = process(4)
    anchors, best = best_points(gp)

    def step(**taken: Any) -> Any:
        return evolve(gp, LogEI(best), anchors[0], 0.5, np.random.default_rng(0), **taken)

    for find in (partial(search, gp), step):
        first = find()
        second = find(taken=[first.x[None, :]])
        assert not np.array_equal(second.x, first.x)
        assert second.value <= first.value


def test_a_best_point_in_a_corner_leaves_the_run_to_the_strategy() -> None:
    run = minimize(lambda x: float(np.sum(x)), CUBE[:5], 60, seed=0, progress=False)
    sources = [t.info["source"] for t in run.trials]
    assert run.fun == -5.0
    assert sources.count("instead of a duplicate") <= 6
    far = [np.max(t.x) for t in run.trials[-20:]]
    assert np.median(far) < 0.0, "points next to the corner, not anywhere"


def test_a_larger_budget_finds_no_less() -> None:
    small, large = (
        np.median([search(process(30, seed=s), seed=s, budget=b).value for s in range(8)])
        for b in (100, 5000)
    )
    assert large > small


def test_there_is_a_point_when_time_is_over() -> None:
    found = search(process(200), deadline=time.perf_counter() - 1.0)
    assert np.all(np.abs(found.x) <= 1.0)
    assert found.evaluations < 100
    assert search(process(200), deadline=time.perf_counter() + 1e6).evaluations > 100


# --- evolution -----------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.01, 0.3])
def test_the_best_of_random_steps_is_taken(sigma: float) -> None:
    gp = process(20)
    anchors, best = best_points(gp)
    found = evolve(gp, LogEI(best), anchors[0], sigma, np.random.default_rng(0))
    assert found.evaluations == OFFSPRING
    assert found.family == "evolution"
    assert found.value == pytest.approx(values(gp, LogEI(best), found.x[None, :])[0])
    length = np.linalg.norm(found.x - anchors[0]) / math.sqrt(20)
    assert 0.5 * sigma < length < 1.5 * sigma, "however near the model would rather stay"
    few = evolve(gp, LogEI(best), anchors[0], sigma, np.random.default_rng(0), budget=10)
    assert few.evaluations == 10
    assert few.value <= found.value


def test_steps_are_as_many_as_there_is_time_for() -> None:
    gp = process(20)
    anchors, best = best_points(gp)

    def count(seconds: float) -> int:
        rng, end = np.random.default_rng(0), time.perf_counter() + seconds
        return int(evolve(gp, LogEI(best), anchors[0], 0.1, rng, deadline=end).evaluations)

    assert count(-1.0) == 1
    assert count(1e6) == OFFSPRING


def test_steps_grow_with_success_and_shrink_without() -> None:
    assert step_size([]) == FIRST_STEP
    assert step_size([(None, 1.0), (None, 2.0)]) == FIRST_STEP
    assert step_size([(None, 1.0), (0.3, 2.0)]) == pytest.approx(0.3 * GROWTH)
    assert step_size([(None, 1.0), (0.3, 0.5)]) == pytest.approx(0.3 * GROWTH**-0.25)
    assert step_size([(None, 1.0), (0.3, math.nan)]) == pytest.approx(0.3 * GROWTH**-0.25)
    assert step_size([(None, math.nan), (0.3, 0.5)]) == pytest.approx(0.3 * GROWTH)
    assert step_size([(None, 1.0), (0.99, 2.0)]) == LONGEST


@given(steps=st.lists(st.tuples(st.floats(SHORTEST, LONGEST), st.floats(-1.0, 1.0)), max_size=9))
def test_steps_are_never_too_short_to_tell_anything(steps: list[tuple[float, float]]) -> None:
    assert SHORTEST <= step_size(steps) <= LONGEST


def test_after_the_shortest_steps_come_long_ones() -> None:
    assert step_size([(None, 1.0), (1.01 * SHORTEST, 0.0)]) == FIRST_STEP
    assert step_size([(None, 1.0), (1.01 * SHORTEST, 2.0)]) < 2.0 * SHORTEST


def test_a_success_surpasses_all_values_so_far() -> None:
    assert step_size([(0.3, 1.0), (None, 5.0), (0.3, 4.0)]) < 0.3
    assert step_size([(0.3, 1.0), (None, 5.0), (0.3, 6.0)]) > 0.3


def test_one_success_in_five_keeps_the_step() -> None:
    sigma, run = 0.3, [(None, 0.0)]
    for value in (1.0, 0.0, 0.0, 0.0, 0.0):
        run.append((sigma, value))  # type: ignore[arg-type]
        sigma = step_size(run)
    assert sigma == pytest.approx(0.3)


def test_steps_are_from_the_best_value_that_the_model_can_believe() -> None:
    X = np.linspace(-1.0, 1.0, 9)[:, None]
    y = 3.0 * np.array([0.0, 0.1, 0.0, 0.1, 0.9, 1.0, 0.95, 1.02, 0.9])
    lucky = y.copy()
    lucky[1] = 3.1  # alone among zeros
    hyper = make_hyper(D=1, noise=0.2)
    assert parent(GaussianProcess.from_data(hyper, X, y)) == X[7]
    assert parent(GaussianProcess.from_data(hyper, X, lucky)) == X[7]
    sharp = make_hyper(D=1, noise=1e-8)
    assert parent(GaussianProcess.from_data(sharp, X, lucky)) == X[1]


def noisy(noise: float) -> GaussianProcess:
    hyper = replace(make_hyper(D=4, noise=noise), amplitude=1.0)
    return GaussianProcess.from_data(hyper, *make_data(30, 4))


def test_a_model_is_doubted_where_it_sees_noise_and_its_climbs_fail() -> None:
    assert doubt(noisy(1.0), []) == 1.0
    assert doubt(noisy(1.0), [False] * 3) == 1.0
    assert doubt(noisy(1e-6), [False] * 30) < 1e-4, "what it explains, it explains"
    assert doubt(noisy(1.0), [True] * 30) == 0.0
    half = doubt(noisy(0.05), [False])
    assert half == pytest.approx(0.05 / 1.05 / 0.1)
    assert doubt(noisy(0.05), [False, True]) == pytest.approx(half / 16.0)


NOTHING = Surrogate(known=(2.0, 1.0, 1.0))  # half of what is seen is noise
FAILED = [False] * 10


def test_climbs_lead_far_where_there_is_noise() -> None:
    assert otherwise(noisy(1.0), [False]) == (1.0, 0.0)
    assert otherwise(noisy(1.0), FAILED) == (1.0, 0.0)
    assert otherwise(noisy(1.0), [True] * 10) == (0.0, 0.0)
    far, steps = otherwise(noisy(1e-6), FAILED[1:])
    assert far < 1e-4
    assert steps == 0.0, "before it has failed ten times"


def test_every_other_suggestion_is_made_otherwise_where_climbs_only_fail() -> None:
    far, steps = otherwise(noisy(1e-6), [True, *FAILED])
    assert (far, steps) == pytest.approx((0.5, 0.0), abs=1e-4), "30 points of 4 variables"
    far, steps = otherwise(process(40, n=30), FAILED)
    assert far == pytest.approx(doubt(process(40, n=30), FAILED))
    assert steps == pytest.approx(0.5 * (1.0 - far)), "30 points of 40"


def test_a_model_that_sees_noise_is_climbed_to_far_away() -> None:
    trials = run(Anchored(0.0, surrogate=NOTHING), 45, D=20).trials[5:]
    kappa = [t.info["kappa"] for t in trials]
    assert all(FAR[0] <= k <= FAR[1] for k in kappa)
    assert len(set(kappa)) == len(kappa), "drawn anew for every climb"
    usual = run(Anchored(0.0, surrogate=KNOWN), 45, D=20).trials[5:]
    away, near = (np.median([np.linalg.norm(t.x - 0.3) for t in ts]) for ts in (trials, usual))
    assert away > 2.0 * near, "bowl is least at 0.3"


def test_nothing_is_made_otherwise_where_the_model_explains_the_values() -> None:
    """In fewer steps than would be doubted if all of them failed."""
    infos = [t.info for t in run(Anchored(0.0, surrogate=KNOWN), 14, D=20).trials[5:]]
    assert not any(info["family"] == "evolution" for info in infos)
    assert not any(info.get("kappa", 0.0) > KAPPA[1] for info in infos)


def test_climbs_that_succeed_stay_near() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 20, Anchored(0.0, surrogate=NOTHING), seed=0, n_init=5)
    for i in range(60):  # every point is better than all before
        opt.tell(opt.ask(), -float(i))
    far = [t.info.get("kappa", 0.0) >= FAR[0] for t in opt.trials[5:]]
    assert far[0], "there has been no climb yet"
    assert not any(far[1:])


def worse_and_worse(D: int, steps: int) -> Optimizer:
    """After the initial points nothing surpasses the best one."""
    opt = Optimizer([(-1.0, 1.0)] * D, Anchored(0.0, surrogate=KNOWN), seed=0, n_init=5)
    for i in range(steps):
        opt.tell(opt.ask(), float(i))
    return opt


def test_random_steps_where_climbs_only_fail_and_points_are_few() -> None:
    """In 100 variables, from the eleventh suggestion on, about every other one."""
    opt = worse_and_worse(100, 55)
    evolved = [t.info["family"] == "evolution" for t in opt.trials[5:]]
    assert not any(evolved[:10])
    assert 12 <= sum(evolved[10:]) <= 28
    told = [(t.info.get("sigma"), -float(t.value or 0.0)) for t in opt.trials]
    for i, trial in enumerate(opt.trials):
        assert ("sigma" in trial.info) == (trial.info.get("family") == "evolution")
        if "sigma" in trial.info:
            assert trial.info["sigma"] == step_size(told[:i])
    assert len({sigma for sigma, _ in told}) > 5


def test_far_climbs_where_climbs_only_fail_and_points_are_many() -> None:
    infos = [t.info for t in worse_and_worse(3, 55).trials[5:]]
    assert not any(info.get("family") == "evolution" for info in infos)
    far = [info.get("kappa", 0.0) >= FAR[0] for info in infos]
    assert not any(far[:10])
    assert 12 <= sum(far[10:]) <= 28


# --- the strategy --------------------------------------------------------------------------


def run(strategy: Anchored, steps: int, D: int = 6, **options: Any) -> Optimizer:
    opt = Optimizer([(-1.0, 1.0)] * D, strategy, seed=0, n_init=5, **options)
    for _ in range(steps):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    return opt


def test_the_middle_comes_first() -> None:
    opt = Optimizer([(0.0, 10.0), (-3.0, 1.0)], "anchored", seed=0)
    first, second = opt.ask(), opt.ask()
    assert first.x.tolist() == [5.0, -1.0]
    assert first.info["source"] == "initial"
    assert not np.array_equal(second.x, first.x)


def test_the_middle_is_not_asked_for_twice() -> None:
    opt = Optimizer(CUBE, "anchored", seed=0)
    opt.tell(np.zeros(6), 1.0)
    assert np.all(opt.ask().x != 0.0)


def test_the_middle_comes_after_points_of_the_users() -> None:
    opt = Optimizer(CUBE, "anchored", seed=0)
    opt.suggest_first(np.full(6, 0.5))
    assert opt.ask().x.tolist() == [0.5] * 6
    assert opt.ask().x.tolist() == [0.0] * 6


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (0.05, 2), (0.25, 10), (1.0, 40)])
def test_insured_steps_are_spread_evenly(share: float, expected: int) -> None:
    infos = [t.info for t in run(Anchored(insurance=share), 45, suggest_evals=200).trials[5:]]
    insured = [info["insured"] for info in infos if info["source"] == "strategy"]
    replaced = len(infos) - len(insured)  # points that were known already
    assert sum(insured) == expected - (replaced if share == 1.0 else 0)
    if expected == 10:
        assert np.flatnonzero(insured).tolist() == list(range(3, 40, 4))


def test_insured_steps_pass_the_gate() -> None:
    infos = [t.info for t in run(Anchored(insurance=0.5), 45).trials[5:]]
    insured = [info for info in infos if info["insured"]]
    assert all(info["margin"] >= 0.0 for info in insured)
    assert any(info["family"] == "slices" for info in insured)
    assert all(info["subspaces"] == info["slices"] == info["t"] for info in insured)
    known = {*FAMILIES, "evolution"}
    assert all(info["family"] in known for info in infos if not info["insured"])


def test_the_certificate_is_true() -> None:
    opt = run(Anchored(insurance=0.5), 25)
    infos = [t.info for t in opt.trials[5:]]
    for info in infos:
        assert info["margin"] == pytest.approx(info["ucb"] - info["best_slice"], abs=1e-9)
        assert info["beta_kind"] == "corrected"
        assert ("log_ei" in info or "kappa" in info) == (info["family"] != "slices")
        assert math.isfinite(info.get("log_ei", 0.0))
        assert 0 <= info["changed"] <= 6
    far = [i["changed"] for i in infos if i["family"] == "slices"]
    assert far
    assert min(far) >= 1


@pytest.mark.parametrize("D", [2, 5, 6, 12])
def test_the_gate_is_ms_ucbs_bound(D: int) -> None:
    """The certificate's numbers again, from a process and the theory's formulas by themselves."""
    opt = run(Anchored(insurance=0.5, surrogate=KNOWN), 25, D=D)
    length, amplitude, noise = KNOWN.known or (0.0, 0.0, 0.0)
    hyper = Hyperparameters(Matern52(), np.array(length), amplitude, noise)
    X = np.array([t.x for t in opt.trials])
    y = -np.array([t.value for t in opt.trials])
    d = min(5, D)
    for t in opt.trials[5:]:
        mean, var = GaussianProcess.from_data(hyper, X[: t.id], y[: t.id]).posterior(t.x[None, :])
        step = t.info["t"]
        slices = 1 if d == D else step
        published = gp_ucb_beta(step, D) if d == D else corrected_beta(step, D, d, slices)
        assert t.info["slices"] == slices
        assert t.info["beta"] == pytest.approx(published)
        assert t.info["ucb"] == pytest.approx(
            float(mean[0] + math.sqrt(published * var[0])), rel=1e-6
        )


def test_with_fewer_points_than_coordinates_a_bound_is_climbed() -> None:
    infos = [t.info for t in run(Anchored(0.0, surrogate=KNOWN), 25, D=12).trials[5:]]
    few = [info for info in infos if info["observations"] < 12]
    assert len(few) == 7
    kappa = [info["kappa"] for info in few]
    assert kappa[0] == KAPPA[0]
    assert np.all(np.diff(kappa) == pytest.approx((KAPPA[1] - KAPPA[0]) / GROWN))
    assert all(("kappa" in info) != ("log_ei" in info) for info in infos)
    assert all("log_ei" in info for info in infos[len(few) :])


def test_what_is_climbed_depends_on_how_many_points_there_are() -> None:
    gp = process(40, n=20)
    assert usual(gp, 0.3, 0, False) == UCB(KAPPA[0] ** 2)
    assert usual(gp, 0.3, 10_000, False) == UCB(KAPPA[1] ** 2)
    assert usual(gp, 0.3, 0, True) == LogEI(0.3)
    assert usual(process(20, n=20), 0.3, 0, False) == LogEI(0.3)


def test_changed_counts_against_the_best_point() -> None:
    """In many dimensions, before the climbs have time, a candidate changes few coordinates."""
    f = ackley(300, shift_seed=0)
    opt = Optimizer(f.box, Anchored(0.0), seed=0, n_init=6, suggest_time=1e-9)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, f(trial.x))
    slices = [t.info["changed"] for t in opt.trials[6:] if t.info["family"] == "moves"]
    assert slices
    assert max(slices) <= MOVED


def test_a_guarantee_that_holds() -> None:
    strategy = Anchored(insurance=0.25, delta=0.2, surrogate=KNOWN)
    opt = run(strategy, 20)
    assert opt.guarantee.holds
    assert "25 % of all" in str(opt.guarantee)
    assert "probability 0.8" in str(opt.guarantee)


def test_what_stands_in_its_way() -> None:
    assert "fitted" in of_strategy(Anchored(), 6).unmet[0]
    assert of_strategy(Anchored(insurance=0.0, surrogate=KNOWN), 6).statement is None


def test_in_few_dimensions_the_guarantee_is_gp_ucbs() -> None:
    strategy = Anchored(insurance=0.25, surrogate=KNOWN)
    assert "Srinivas" in str(strategy.guarantee(5))
    assert "Theorem 1" in str(strategy.guarantee(6))
    assert run(strategy, 20, D=3).guarantee.holds


def test_steps_that_are_not_insured_do_not_count_against_it() -> None:
    opt = run(Anchored(insurance=0.25, surrogate=KNOWN), 30)
    assert any(t.info.get("margin", 0.0) < 0.0 for t in opt.trials)
    assert opt.guarantee.holds


def test_points_in_flight_are_kept_apart() -> None:
    f = levy(50, shift_seed=0)
    opt = Optimizer(f.box, Anchored(), seed=0, n_init=20)
    for _ in range(30):
        trial = opt.ask()
        opt.tell(trial, f(trial.x))
    batch = np.array([opt.ask().x for _ in range(8)])
    assert [("kappa" in t.info) for t in opt.trials[30:]] == [True] + [False] * 7
    distances = np.linalg.norm(batch[:, None] - batch[None, :], axis=2)[np.triu_indices(8, 1)]
    assert np.min(distances) > 0.05
    for trial in opt.trials[30:]:
        opt.tell(trial, f(trial.x))
    assert opt.ask().info["source"] == "strategy"


# --- whole runs ----------------------------------------------------------------------------


def least(strategy: Any, f: Any, evals: int, seed: int) -> float:
    result: Any = minimize(f, f.box, evals, strategy, seed=seed, progress=False)
    return float(result.fun)


def test_a_function_of_many_variables_comes_down() -> None:
    """From 107 to 138 in the middle; random search and published GP-UCB stay above that."""
    found = [least("anchored", levy(50, shift_seed=s), 120, s) for s in range(3)]
    assert np.median(found) < 80.0


def test_a_function_of_few_of_its_variables_is_found_out() -> None:
    """Hartmann-6 hidden in 100 variables: least -3.32; random search is above -2."""
    problems = [hartmann6(100, active="random", active_seed=s) for s in range(3)]
    found = [least("anchored", f, 120, s) for s, f in enumerate(problems)]
    assert np.median(found) < -3.2


def test_noise_is_unlikely_until_climbs_only_fail() -> None:
    strategy = Anchored()
    assert strategy._surrogate([]) == strategy.surrogate
    assert strategy._surrogate([False] * 9) == strategy.surrogate
    assert strategy._surrogate([True] + [False] * 9) == strategy.surrogate
    noisy = replace(strategy.surrogate, prior="shrunk-noisy")
    assert strategy._surrogate([True] + [False] * 10) == noisy
    own = Surrogate(prior="dimension-scaled", ard=True)
    assert Anchored(surrogate=own)._surrogate([False] * 10) == own


@pytest.mark.parametrize("seed", range(3))
def test_what_is_nothing_but_noise_is_taken_for_it(seed: int) -> None:
    """At first it is explained by the points' places, where the model then finds nothing."""
    opt = Optimizer([(-1.0, 1.0)] * 20, Anchored(0.0), seed=seed, n_init=10)
    rng = np.random.default_rng(seed)
    shares = []
    for _ in range(60):
        opt.tell(opt.ask(), rng.standard_normal())
        for model in opt._state.models.values():
            hyper = model.gp.hyper
            shares.append(hyper.noise / (hyper.noise + hyper.amplitude))
    assert shares[0] < 0.01
    assert shares[-1] > 0.5


def test_noise_is_lived_with() -> None:
    """In the median of five runs, as rounding decides where a single one is lucky."""
    quiet, found = levy(20, shift_seed=1), []
    for seed in range(5):
        noisy = levy(20, shift_seed=1, noise=2.0, noise_seed=seed)
        result: Any = minimize(noisy, noisy.box, 120, "anchored", seed=seed, progress=False)
        found.append(quiet(result.x))
    assert np.median(found) < 0.5 * quiet(np.zeros(20))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_values_of_any_scale_give_the_same_run(scale: float) -> None:
    def points(factor: float) -> Host:
        def f(x: Host) -> float:
            return factor * bowl(x)

        result: Any = minimize(f, CUBE, 15, "anchored", seed=0, n_init=6, progress=False)
        return np.asarray(result.x_iters)

    np.testing.assert_allclose(points(1.0), points(scale), atol=1e-6)


@pytest.mark.parametrize("count", [1, 12])
def test_where_most_of_the_box_fails_the_search_stays_where_it_works(count: int) -> None:
    """A box of side 2 in twenty dimensions, of which a ball of radius 1 works."""
    rng = np.random.default_rng(0)
    x0 = np.clip(0.3 + 0.134 * rng.standard_normal((count, 20)), -1.0, 1.0)
    y0 = [bowl(x) for x in x0]

    def f(x: Host) -> float | None:
        return bowl(x) if bowl(x) < 1.0 else None

    assert max(y0) < 1.0
    result: Any = minimize(f, [(-1.0, 1.0)] * 20, 60, seed=0, x0=x0, y0=y0, progress=False)
    assert result.fun < 0.1 * min(y0)
    assert sum(t.state == "failed" for t in result.trials) < 25


def test_a_penalty_in_a_part_of_the_box_does_no_harm() -> None:
    f = levy(20, shift_seed=3)

    def penalised(x: Host) -> float:
        return 1e9 if np.sum(x[:5]) > 1.0 else f(x)

    result: Any = minimize(penalised, f.box, 100, "anchored", seed=0, progress=False)
    assert result.fun < 0.6 * f(np.zeros(20))
