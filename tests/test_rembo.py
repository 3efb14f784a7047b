"""REMBO: its embeddings, its interleaved runs, and what their models see."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest

from helpers import bowl
from transect import GPUCB, REMBO, UCB, Optimizer, RandomSearch, Trial
from transect.embedding import Clipped, Psi
from transect.strategies import Setting
from transect.strategies.rembo import KERNELS

Point = NDArray[np.float64]

D = 10
CUBE = [(-1.0, 1.0)] * D  # in the unit box points are handed out unchanged
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
one_or_four = pytest.mark.parametrize("k", [1, 4])


def advance(
    opt: Optimizer, steps: int, f: Callable[[Trial], float] = lambda t: bowl(t.x)
) -> list[Trial]:
    """Ask and tell; the trials as asked."""
    asked = []
    for _ in range(steps):
        asked.append(opt.ask())
        opt.tell(asked[-1], f(asked[-1]))
    return asked


def quick(strategy: REMBO, seed: int = 0, n_init: int = 6) -> Optimizer:
    """An optimizer whose suggestions take little time."""
    return Optimizer(CUBE, strategy, seed=seed, n_init=n_init, suggest_evals=600)


def maps(opt: Optimizer) -> list[Clipped]:
    return [run.clipped for run in opt._state.runs]


def seen(clipped: Clipped, kernel: str, y: Point) -> Point:
    """What a process sees of y (p, d)."""
    v = y / clipped.side
    if kernel == "y":
        return v
    points: Point = (clipped if kernel == "x" else Psi(clipped)).points(v)
    return points


# --- embeddings ------------------------------------------------------------------------


@one_or_four
@every_kernel
def test_points_are_clipped_images_of_the_logged_y(kernel: str, k: int) -> None:
    d = 3
    opt = quick(REMBO(d=d, k=k, kernel=kernel), n_init=12)
    clipped_somewhere = 0
    for trial in advance(opt, 20):
        A, y = maps(opt)[trial.info["run"]].A, trial.info["y"]
        assert y.shape == (d,)
        assert np.all(np.abs(y) <= math.sqrt(d))
        x = np.clip((y[None, :] @ A.T)[0], -1.0, 1.0)
        assert trial.x.tobytes() == x.tobytes()
        np.testing.assert_allclose(x, np.clip(A @ y, -1.0, 1.0), rtol=0.0, atol=1e-14)
        clipped_somewhere += bool(np.any(np.abs(x) == 1.0))
    assert clipped_somewhere > 5


def test_y_uses_all_of_its_box() -> None:
    opt = Optimizer([(-1.0, 1.0)] * 50, REMBO(d=4), seed=0, n_init=400)
    y = np.array([opt.ask().info["y"] for _ in range(400)])
    assert kstest(y.ravel() / 2.0, "uniform", args=(-1.0, 2.0)).pvalue > 1e-4


def test_entries_are_standard_normal_and_matrices_differ() -> None:
    state = REMBO(d=5, k=4).start(Setting(400, 3))
    matrices = [run.clipped.A for run in state.runs]
    for A in matrices:
        assert A.shape == (400, 5)
        assert np.var(A) == pytest.approx(1.0, abs=4.5 * math.sqrt(2.0 / A.size))
        assert kstest(A.ravel(), "norm").pvalue > 1e-4
    for one, other in itertools.combinations(matrices, 2):
        assert not np.any(one == other)
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 4.5 / math.sqrt(one.size)


def test_matrices_depend_on_the_seed_alone() -> None:
    one, same, other = (
        REMBO(d=2, k=2).start(Setting(6, seed)).runs[1].clipped.A for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.any(one == other)


@one_or_four
def test_the_middle_is_in_every_embedding(k: int) -> None:
    opt = Optimizer(CUBE, REMBO(d=3, k=k), seed=0)
    for clipped in maps(opt):
        assert not np.any(clipped.points(np.zeros((1, 3))))


def test_initial_points_are_embedded_draws() -> None:
    """The first d coordinates of the points that random search would have, times √d."""
    draws = Optimizer(CUBE, RandomSearch(), seed=4, n_init=12)
    opt = Optimizer(CUBE, REMBO(d=3), seed=4, n_init=12)
    for i in range(12):
        u, trial = draws.ask().x, opt.ask()
        y = math.sqrt(3) * u[:3]
        assert trial.info["source"] == "initial"
        assert trial.info["run"] == i % 4
        assert np.array_equal(trial.info["y"], y)
        x = np.clip((y[None, :] @ maps(opt)[i % 4].A.T)[0], -1.0, 1.0)
        assert trial.x.tobytes() == x.tobytes()


# --- interleaved runs ------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 4])
def test_runs_take_turns(k: int) -> None:
    opt = quick(REMBO(d=2, k=k), n_init=5)
    assert [t.info["run"] for t in advance(opt, 16)] == [i % k for i in range(16)]


def test_runs_take_turns_with_points_in_flight_and_failures() -> None:
    opt = quick(REMBO(d=2, k=3), n_init=6)
    advance(opt, 12, lambda t: math.nan if t.id % 4 == 0 else bowl(t.x))
    assert sorted(opt.ask().info["run"] for _ in range(6)) == [0, 0, 1, 1, 2, 2]


@one_or_four
@every_kernel
def test_a_model_has_the_data_of_its_run_alone(kernel: str, k: int) -> None:
    opt = quick(REMBO(d=2, k=k, kernel=kernel), n_init=12)
    searched = 0
    for _ in range(20):
        trial = opt.ask()
        run = opt._state.runs[trial.info["run"]]
        if "evaluations" in trial.info:
            searched += 1
            own = [t for t in opt.trials[:-1] if t.info["run"] == trial.info["run"]]
            y = np.array([t.info["y"] for t in own])
            gp, model = run.model.gp, run.model
            np.testing.assert_allclose(gp.X, seen(run.clipped, kernel, y), rtol=0.0, atol=1e-14)
            values = -np.array([t.value for t in own])
            np.testing.assert_allclose(model.shift + model.scale * gp.y, values, atol=1e-12)
        opt.tell(trial, bowl(trial.x))
    assert searched == 8


@every_kernel
def test_what_one_run_observes_does_not_reach_the_others(kernel: str) -> None:
    """Other values in runs 1 to 3 leave every point of run 0 as it was."""

    def points(noise: float) -> list[bytes]:
        opt = quick(REMBO(d=2, kernel=kernel), seed=2, n_init=12)
        advance(opt, 24, lambda t: bowl(t.x) + (noise * t.id if t.info["run"] else 0.0))
        return [t.x.tobytes() for t in opt.trials]

    one, other = points(0.0), points(7.0)
    assert one[::4] == other[::4]
    assert one[17:20] != other[17:20], "the others do follow their values"


def test_each_run_counts_its_own_steps() -> None:
    opt = quick(REMBO(d=2, k=2), n_init=6)
    advance(opt, 15)
    for run, count in ((0, 5), (1, 4)):
        infos = [t.info for t in opt.trials if t.info["run"] == run]
        assert [info["t"] for info in infos[3:]] == list(range(1, count + 1))


# --- the search ------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("d", [1, 3])
def test_suggestions_maximise_the_bound_of_their_run(kernel: str, d: int) -> None:
    opt = Optimizer(CUBE, REMBO(d=d, k=2, kernel=kernel), seed=1, n_init=8)
    for trial in advance(opt, 8):
        assert "ucb" not in trial.info
    for _ in range(6):
        trial = opt.ask()
        run = opt._state.runs[trial.info["run"]]
        ucb, model = UCB(trial.info["beta"]), run.model
        y = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, d)) * run.clipped.side
        others = ucb.value(*model.gp.posterior(seen(run.clipped, kernel, y)))
        at = seen(run.clipped, kernel, trial.info["y"][None])
        here = float(ucb.value(*model.gp.posterior(at))[0])
        assert here >= np.max(others) - 1e-6
        assert trial.info["ucb"] == pytest.approx(model.shift + model.scale * here, rel=1e-6)
        opt.tell(trial, bowl(trial.x))


def test_beta_is_gp_ucbs_with_d_for_D() -> None:
    for kernel in KERNELS:
        opt = Optimizer(CUBE, REMBO(d=2, k=1, kernel=kernel, delta=0.05), seed=0, n_init=4)
        for t, trial in enumerate(advance(opt, 7)[4:], start=1):
            cover = t**2 * 2 * 2.0 * math.sqrt(math.log(4.0 * 2 / 0.05))
            expected = 2.0 * math.log(2.0 * math.pi**2 * t**2 / 0.15) + 4.0 * math.log(cover)
            assert trial.info["beta"] == pytest.approx(expected, rel=1e-12)


def test_the_kernel_matters() -> None:
    points = []
    for kernel in KERNELS:
        opt = Optimizer(CUBE, REMBO(d=2, k=1, kernel=kernel), seed=0, n_init=6)
        points.append(advance(opt, 7)[-1].x)
    for one, other in itertools.combinations(points, 2):
        assert not np.allclose(one, other, atol=1e-4)


@every_kernel
@pytest.mark.parametrize("acquisition", ["ucb", "log-ei"])
def test_an_embedded_bowl_is_minimised(kernel: str, acquisition: str) -> None:
    """Its middle is in the embedding: y = 0."""
    strategy = REMBO(d=2, k=1, kernel=kernel, beta="practical", acquisition=acquisition)
    opt = quick(strategy, n_init=5)
    advance(opt, 25, lambda t: float(np.sum(t.x**2)))
    assert opt.best is not None
    assert opt.best.value is not None
    assert opt.best.value < 0.05


def test_points_told_from_elsewhere_have_no_y_and_stay_out_of_the_models() -> None:
    opt = Optimizer(CUBE, REMBO(d=2, k=1), seed=0, n_init=4)
    best = np.full(D, 0.3)
    opt.tell(best, 0.0)
    asked = advance(opt, 8)
    assert opt.best is opt.trials[0]
    model = opt._state.runs[0].model
    assert model.gp.n == len(asked) - 1
    assert all("y" in t.info for t in asked)


# --- corners ---------------------------------------------------------------------------


@every_kernel
@one_or_four
@pytest.mark.parametrize("dimensions", [1, 3])
def test_as_many_coordinates_as_variables_is_the_identity(
    kernel: str, k: int, dimensions: int
) -> None:
    bounds = [(-1.0, 1.0)] * dimensions
    strategy = REMBO(d=dimensions, k=k, kernel=kernel)
    opt = Optimizer(bounds, strategy, seed=0, n_init=12, suggest_evals=600)
    for clipped in maps(opt):
        assert np.array_equal(clipped.A, np.eye(dimensions))
        assert clipped.side == 1.0
    for trial in advance(opt, 16):
        assert np.array_equal(trial.x, trial.info["y"])
        assert np.all(np.abs(trial.info["y"]) <= 1.0)


@pytest.mark.parametrize("acquisition", ["ucb", "log-ei"])
def test_one_run_of_all_coordinates_is_gp_ucb(acquisition: str) -> None:
    strategies: list[Any] = [
        REMBO(d=4, k=1, kernel="y", acquisition=acquisition),
        GPUCB(acquisition=acquisition),
    ]
    runs = []
    for strategy in strategies:
        opt = Optimizer([(-3.0, 5.0)] * 4, strategy, seed=6, n_init=5)
        advance(opt, 12)
        opt.ask()
        opt.ask()
        runs.append(np.array([t.x for t in opt.trials]))
    assert runs[0].tobytes() == runs[1].tobytes()


@pytest.mark.parametrize(("dimensions", "d"), [(1, 1), (4, 4), (5, 5), (6, 5), (40, 5)])
def test_five_coordinates_by_default(dimensions: int, d: int) -> None:
    opt = Optimizer([(-1.0, 1.0)] * dimensions, REMBO(), seed=0)
    assert opt.ask().info["y"].shape == (d,)
    assert maps(opt)[0].side == (1.0 if d == dimensions else math.sqrt(5))


@pytest.mark.parametrize("d", [11, 10**9])
def test_more_coordinates_than_variables(d: int) -> None:
    with pytest.raises(ValueError, match=f"d must be at most D = 10, got {d}"):
        Optimizer(CUBE, REMBO(d=d))
