"""The incremental tables say what a fresh computation says."""

from __future__ import annotations

import time

import numpy as np
import pytest

from transect import UCB, GaussianProcess, Hyperparameters, Matern52, Slices
from transect._array import Host
from transect.engine import search_slices
from transect.geometry import Geometry, Grid
from transect.screen import Screen

D, d = 12, 3
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (60, D))
Y = np.sin(X @ np.arange(1.0, D + 1) / D)
ACQUISITION = UCB(9.0)


def hyper(lengthscale: float | Host = 2.0, noise: float = 1e-3) -> Hyperparameters:
    return Hyperparameters(Matern52(), np.asarray(lengthscale), 1.3, noise, 0.2)


def posterior_of(screen: Screen) -> tuple[Host, Host]:
    """Mean and variance of every candidate, from its point, in double precision."""
    assert screen.gp is not None
    z = screen.geometry.z(np.arange(len(screen.geometry.index)))
    points = screen.slices.point(z[:, None, :].repeat(screen.per_slice, axis=1), screen.v)
    mean, var = screen.gp.posterior(points.reshape(-1, D))
    return mean, var


def agrees(screen: Screen) -> None:
    """The table's posterior, in single precision, against the real one."""
    mean, var = screen._posterior(screen._sums)
    true_mean, true_var = posterior_of(screen)
    np.testing.assert_allclose(mean, true_mean, atol=2e-4)
    np.testing.assert_allclose(var, true_var, atol=2e-4)


@pytest.mark.parametrize("lengthscale", [2.0, np.linspace(1.0, 4.0, D)])
def test_following_a_run_equals_a_fresh_table(lengthscale: float | Host) -> None:
    screen = Screen(Slices(D, d, 1))
    gp = GaussianProcess.from_data(hyper(lengthscale), X[:20], Y[:20])
    rng = np.random.default_rng(0)
    for n in range(20, 60, 4):
        if n > 20:
            gp = gp.extend(X[:n], Y[:n])
        screen.update(gp, n, 3 * n, ACQUISITION, rng)
        agrees(screen)
        assert screen.seen == len(screen.geometry.index) == 3 * n


def test_refit_rebuilds_the_candidates() -> None:
    screen = Screen(Slices(D, d, 1))
    rng = np.random.default_rng(0)
    for step, lengthscale in enumerate((2.0, 1.0, 3.0)):
        gp = GaussianProcess.from_data(hyper(lengthscale), X[: 30 + step], Y[: 30 + step])
        screen.update(gp, 30 + step, 50 + step, ACQUISITION, rng)
        agrees(screen)


def test_pending_columns_are_dropped_again() -> None:
    screen = Screen(Slices(D, d, 1))
    rng = np.random.default_rng(0)
    told = GaussianProcess.from_data(hyper(), X[:30], Y[:30])
    screen.update(told.hallucinate(X[50:53]), 30, 40, ACQUISITION, rng)
    agrees(screen)
    # another point is told; one of the three is still pending
    told = told.extend(X[:31], Y[:31])
    screen.update(told.hallucinate(X[51:52]), 31, 41, ACQUISITION, rng)
    agrees(screen)
    screen.update(told, 31, 41, ACQUISITION, rng)
    agrees(screen)


def test_changed_values_of_old_observations_are_seen() -> None:
    """The stand-in value of a failed point changes when a worse value comes in."""
    screen = Screen(Slices(D, d, 1))
    rng = np.random.default_rng(0)
    gp = GaussianProcess.from_data(hyper(), X[:30], Y[:30])
    screen.update(gp, 30, 40, ACQUISITION, rng)
    other = Y[:31].copy()
    other[4] = -3.0
    screen.update(gp.extend(X[:31], other), 31, 40, ACQUISITION, rng)
    agrees(screen)


def test_small_memory_keeps_the_best_slices_and_loses_little() -> None:
    slices = Slices(D, d, 1)
    gp = GaussianProcess.from_data(hyper(), X, Y)
    full = search_slices(Screen(slices), gp, ACQUISITION, 30000, np.random.default_rng(0))
    small = Screen(slices, memory=1e6)
    found = search_slices(small, gp, ACQUISITION, 30000, np.random.default_rng(0))
    assert small.seen == 30000
    assert len(small.geometry.index) < 4000
    assert found.value == pytest.approx(full.value, rel=1e-6)
    # and the dropped slices come back at the next rebuild
    again = GaussianProcess.from_data(hyper(2.1), X, Y)
    search_slices(small, again, ACQUISITION, 30000, np.random.default_rng(0))
    assert small.seen == 30000
    agrees(small)


def test_a_growing_set_is_searched_as_well_as_a_fresh_one() -> None:
    """After 25 steps of a run, the remembered table finds what an empty one finds."""
    slices = Slices(D, d, 3)
    screen = Screen(slices)
    gp = GaussianProcess.from_data(hyper(1.5), X[:20], Y[:20])
    for n in range(20, 45):
        if n > 20:
            gp = gp.extend(X[:n], Y[:n])
        followed = search_slices(screen, gp, ACQUISITION, 4 * n, np.random.default_rng(n))
        fresh = search_slices(Screen(slices), gp, ACQUISITION, 4 * n, np.random.default_rng(n))
        assert followed.value >= fresh.value - 1e-6 * abs(fresh.value)


def test_an_interrupted_update_leaves_no_half_table(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(Slices(D, d, 1))
    rng = np.random.default_rng(0)
    gp = GaussianProcess.from_data(hyper(), X[:30], Y[:30])
    screen.update(gp, 30, 40, ACQUISITION, rng)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    following = gp.extend(X[:31], Y[:31])
    with monkeypatch.context() as patch:
        patch.setattr(Screen, "_append_slices", interrupt)
        with pytest.raises(KeyboardInterrupt):
            screen.update(following, 31, 41, ACQUISITION, rng)
    screen.update(following, 31, 41, ACQUISITION, rng)
    agrees(screen)
    assert screen.seen == len(screen.geometry.index) == 41


# --- memory and long slices -------------------------------------------------------------


def test_a_grid_keeps_rows_in_the_memory_it_has() -> None:
    grid = Grid(X, np.float32)
    grid.resize(50, 7)
    grid.data[...] = whole = np.arange(350, dtype=np.float32).reshape(50, 7)
    grid.reserve(80, 7)
    memory, rows = grid._data, np.arange(3, 50, 4)
    grid.keep(rows)
    assert np.array_equal(grid.data, whole[rows])
    grid.resize(80, 7)
    assert np.array_equal(grid.data[: len(rows)], whole[rows])
    assert grid._data is memory


@pytest.mark.parametrize("budget", [None, 1000])
def test_tables_of_long_slices_are_never_moved(budget: int | None) -> None:
    """Growing, pruning and refitting leave them in the memory they have."""
    wide = np.random.default_rng(1).uniform(-1.0, 1.0, (36, 1000))
    screen = Screen(Slices(1000, d, 1), budget=budget, evals=36)
    rng = np.random.default_rng(0)
    where = set()
    for step, lengthscale in enumerate((20.0, 20.0, 19.0, 19.0, 21.0)):
        n = 30 + step
        gp = GaussianProcess.from_data(hyper(lengthscale), wide[:n], Y[:n])
        screen.update(gp, n, 1000 + 300 * step, ACQUISITION, rng)
        grids = (screen.geometry._Z, screen.geometry._C, screen.W)
        where.add(tuple(grid._data.ctypes.data for grid in grids))
    assert len(where) == 1


def test_distances_of_long_slices_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget's small portions are no reason for small matrix products."""
    wide = np.random.default_rng(1).uniform(-1.0, 1.0, (30, 1000))
    screen = Screen(Slices(1000, d, 1), budget=1000)
    calls = []
    add = Geometry.add

    def counted(self: Geometry, start: int, stop: int) -> None:
        calls.append((start, stop))
        add(self, start, stop)

    monkeypatch.setattr(Geometry, "add", counted)
    gp = GaussianProcess.from_data(hyper(20.0), wide, Y[:30])
    found = search_slices(screen, gp, ACQUISITION, 600, np.random.default_rng(0))
    assert calls == [(100, 600)]
    assert screen.dtype == np.float32
    z = screen.slices.z(0, 600)
    assert np.array_equal(found.x[: 1000 - d], z[found.subspace])
    assert np.array_equal(screen.geometry.z(np.arange(20)), z[screen.geometry.index[:20]])
    value = float(ACQUISITION.value(*gp.posterior(found.x[None, :]))[0])
    assert found.value == pytest.approx(value, rel=1e-9)


def test_dropped_slices_leave_their_memory_to_later_ones() -> None:
    """Tables that outgrow their memory many times over stay within the space they started with."""
    screen = Screen(Slices(200, d, 1), memory=2e6)
    wide = np.random.default_rng(2).uniform(-1.0, 1.0, (31, 200))
    rng = np.random.default_rng(0)
    for n in (30, 31):
        gp = GaussianProcess.from_data(hyper(9.0), wide[:n], Y[:n])
        screen.update(gp, n, 10000 + n, ACQUISITION, rng)
        assert screen.geometry._Z.capacity * 4 * 197 <= 1.25 * 2e6
        rows = np.arange(len(screen.geometry.index))
        expected = np.concatenate([screen.slices.z(i, i + 1) for i in screen.geometry.index])
        assert np.array_equal(screen.geometry.z(rows), expected)
        sq = np.sum((expected[:, None, :] - wide[None, :n, : 200 - d]) ** 2, axis=2)
        np.testing.assert_allclose(screen.geometry.sq_at(rows) * 81.0, sq, rtol=1e-4)


def test_before_a_deadline_few_slices_are_measured_at_once() -> None:
    wide = np.random.default_rng(1).uniform(-1.0, 1.0, (30, 1000))
    screen = Screen(Slices(1000, d, 1))
    gp = GaussianProcess.from_data(hyper(20.0), wide, Y[:30])
    screen.update(gp, 30, 5000, ACQUISITION, np.random.default_rng(0), deadline=0.0)
    assert screen.v.shape[0] == len(screen.geometry.index) < 5000


def test_slices_measured_before_a_deadline_and_passed_over_after_it_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = np.random.default_rng(1).uniform(-1.0, 1.0, (30, 1000))
    screen = Screen(Slices(1000, d, 1), budget=1000)
    rng = np.random.default_rng(0)
    gp = GaussianProcess.from_data(hyper(20.0), wide, Y[:30])
    with monkeypatch.context() as patch:  # time for the distances, then suddenly none
        patch.setattr("transect.screen.late", lambda deadline: True)
        screen.update(gp, 30, 400, ACQUISITION, rng, deadline=time.perf_counter() + 1e6)
    early = screen.seen
    assert early < len(screen.geometry.index) == 400  # distances are there for all of them
    screen.update(gp, 30, 5000, ACQUISITION, rng)
    index = screen.geometry.index
    assert len(index) == screen.v.shape[0]
    assert np.all((index < early) | (index >= 4500))
    assert screen.seen == 5000
    assert np.any(index > 4900)
