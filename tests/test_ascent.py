"""The batched ascent against SciPy's L-BFGS-B from the same starting points."""

from __future__ import annotations

import math
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from helpers import make_gp, numeric_gradient
from transect._array import Host
from transect.acquisition import UCB, Acquisition, LogEI
from transect.ascent import CURVATURE, Objective, _Fixed, _two_loops, ascend
from transect.subspace import Subspace
from transect.view import View


def scipy_ascend(objective: Objective, V: Host, lower: Host, upper: Host) -> tuple[Host, Host]:
    """End points (s, d) and values (s,) of L-BFGS-B, one start after the other."""
    climbs = [_scipy_climb(objective, i, v, lower, upper) for i, v in enumerate(V)]
    return np.array([x for x, _ in climbs]), np.array([value for _, value in climbs])


def _scipy_climb(
    objective: Objective, row: int, v: Host, lower: Host, upper: Host
) -> tuple[Host, float]:
    def negative(x: Host) -> tuple[float, Host]:
        value, grad = objective(x[None, :], np.array([row]))
        return -float(value[0]), -grad[0]

    result = minimize(
        negative,
        v,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(lower, upper, strict=True)),
        options={"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-9},
    )
    return np.asarray(result.x), -float(result.fun)


def cube(d: int) -> tuple[Host, Host]:
    return np.full(d, -1.0), np.full(d, 1.0)


def quadratic(d: int, condition: float, rng: np.random.Generator) -> Objective:
    """Concave, with curvatures 1 to ``condition``; its peak may lie outside the cube."""
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    H = Q * np.geomspace(1.0, condition, d) @ Q.T
    peak = rng.uniform(-1.5, 1.5, d)

    def objective(V: Host, rows: Host) -> tuple[Host, Host]:
        down = (V - peak) @ H
        return -0.5 * np.sum(down * (V - peak), axis=1), -down

    return objective


def rosenbrock(V: Host, rows: Host) -> tuple[Host, Host]:
    """Upside down, on twice the cube: the peak is at (½, …, ½)."""
    a, b = 2.0 * V[:, :-1], 2.0 * V[:, 1:]
    valley = b - a * a
    grad = np.zeros_like(V)
    grad[:, :-1] += 800.0 * a * valley + 4.0 * (1.0 - a)
    grad[:, 1:] -= 400.0 * valley
    return -np.sum(100.0 * valley**2 + (1.0 - a) ** 2, axis=1), grad


def acquisition_on_the_box(acquisition: Acquisition, kernel: str, n: int, D: int) -> Objective:
    gp = make_gp(kernel, n=n, D=D)
    return View.of_subspace(gp, Subspace.whole(D)).objective(acquisition)


class Recorder:
    """Passes calls on and remembers points and rows."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.points: list[Host] = []
        self.rows: list[Host] = []

    def __call__(self, V: Host, rows: Host) -> tuple[Host, Host]:
        self.points.append(V.copy())
        self.rows.append(rows.copy())
        value, grad = self.objective(V, rows)
        return value, grad


# --- where it ends ------------------------------------------------------------------------


def test_does_not_jam_next_to_a_bound() -> None:
    """Ill-conditioned, with the maximum on a bound that the climb nears slantwise."""
    H, c = np.array([[952.0, 215.0], [215.0, 49.0]]), np.array([-1.0, 1.2])

    def objective(V: Host, rows: Host) -> tuple[Host, Host]:
        pull = (V - c) @ H
        return -0.5 * np.sum(pull * (V - c), axis=1), -pull

    got = ascend(objective, np.array([[-0.4, -0.9]]), *cube(2), rounds=1000)
    assert got.value[0] > -0.0089


@given(st.integers(1, 8), st.floats(1.0, 30.0), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_bounded_quadratics(d: int, condition: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    objective, V = quadratic(d, condition, rng), rng.uniform(-1.0, 1.0, (5, d))
    got = ascend(objective, V, *cube(d))
    ends, values = scipy_ascend(objective, V, *cube(d))
    # A concave function has one maximum; the best of SciPy's climbs is there, though now and
    # then one of them ends before it. Our last step gained less than 1e-9; the steps it
    # spared add up to a few hundred.
    best = int(np.argmax(values))
    np.testing.assert_allclose(got.value, values[best], rtol=1e-6, atol=1e-6)
    where = np.broadcast_to(ends[best], got.V.shape)
    np.testing.assert_allclose(got.V, where, rtol=0.0, atol=2e-3)  # curvature 1: sqrt(2e-6)


def test_box_that_is_not_the_cube() -> None:
    lower, upper = np.array([-3.0, 0.5]), np.array([-1.0, 200.0])

    def objective(V: Host, rows: Host) -> tuple[Host, Host]:
        gap = V - np.array([-2.2, 300.0])
        return -np.sum(gap * gap, axis=1), -2.0 * gap

    got = ascend(objective, np.array([[-3.0, 0.5], [-1.0, 200.0]]), lower, upper)
    np.testing.assert_allclose(got.V, [[-2.2, 200.0]] * 2, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(("d", "starts"), [(2, 40), (3, 20)])
def test_rosenbrock(d: int, starts: int) -> None:
    V = np.random.default_rng(0).uniform(-1.0, 1.0, (starts, d))
    got = ascend(rosenbrock, V, *cube(d))
    _, values = scipy_ascend(rosenbrock, V, *cube(d))
    assert np.mean(np.abs(got.value - values) <= 1e-6) >= 0.95
    np.testing.assert_allclose(got.V[got.value > -1e-6], 0.5, rtol=0.0, atol=2e-3)


def test_rosenbrocks_gradient() -> None:
    V = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 4))
    numeric = numeric_gradient(lambda x: rosenbrock(x, x)[0], V)
    np.testing.assert_allclose(rosenbrock(V, V)[1], numeric, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("acquisition", [UCB(4.0), LogEI(0.5)])
@pytest.mark.parametrize(("n", "D"), [(40, 10), (60, 30)])
def test_acquisition_with_one_maximum(acquisition: Acquisition, n: int, D: int) -> None:
    """The same maximum as SciPy's from at least 19 of 20 starts."""
    objective = acquisition_on_the_box(acquisition, "matern52", n, D)
    V = np.random.default_rng(0).uniform(-1.0, 1.0, (20, D))
    got = ascend(objective, V, *cube(D))
    _, values = scipy_ascend(objective, V, *cube(D))
    assert np.mean(np.abs(got.value - values) <= 1e-6) >= 0.95


@pytest.mark.parametrize("acquisition", [UCB(4.0), UCB(50.0), LogEI(1.0)])
@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
@pytest.mark.parametrize(("n", "D"), [(8, 1), (15, 3)])
def test_acquisition_with_many_maxima(
    acquisition: Acquisition, kernel: str, n: int, D: int
) -> None:
    """From one start both may climb different peaks; the ascent ends on a peak, too.

    So SciPy gains nothing when it goes on from there, and both find the same best one.
    """
    objective = acquisition_on_the_box(acquisition, kernel, n, D)
    V = np.random.default_rng(0).uniform(-1.0, 1.0, (50, D))
    got = ascend(objective, V, *cube(D))
    _, polished = scipy_ascend(objective, got.V, *cube(D))
    assert np.mean(polished - got.value <= 1e-6) >= 0.95
    _, values = scipy_ascend(objective, V, *cube(D))
    assert abs(got.value.max() - values.max()) <= 1e-6


def test_start_at_the_maximum_stays() -> None:
    got = ascend(lambda V, rows: (-np.sum(V * V, axis=1), -2.0 * V), np.zeros((2, 3)), *cube(3))
    assert np.array_equal(got.V, np.zeros((2, 3)))
    assert got.rounds <= 2


def test_gradient_that_points_out_of_the_box_ends_the_start() -> None:
    got = ascend(lambda V, rows: (np.sum(V, axis=1), np.ones_like(V)), np.ones((1, 3)), *cube(3))
    assert np.array_equal(got.V, np.ones((1, 3)))
    assert got.rounds <= 2


def test_linear_function_ends_in_the_corner() -> None:
    slope = np.array([1.0, -1e-3, 1e3])
    V = np.random.default_rng(0).uniform(-1.0, 1.0, (10, 3))
    got = ascend(lambda V, rows: (V @ slope, slope + 0.0 * V), V, *cube(3))
    assert np.array_equal(got.V, np.tile([1.0, -1.0, 1.0], (10, 1)))


# --- what it promises on the way ----------------------------------------------------------


def wild(V: Host, rows: Host) -> tuple[Host, Host]:
    """Oscillates, has gradients that are wrong, and is nan in places."""
    value = np.sin(40.0 * V).sum(axis=1)
    grad = 40.0 * np.cos(40.0 * V) * np.where(np.sin(3.0 * V) > 0.5, -1.0, 1.0)
    hole = np.abs(V[:, 0]) < 0.2
    return np.where(hole, np.nan, value), grad


WAYS: list[Objective] = [
    rosenbrock,
    quadratic(3, 1e4, np.random.default_rng(0)),
    acquisition_on_the_box(LogEI(1.0), "rbf", 15, 3),
    wild,
]


@pytest.mark.parametrize("objective", WAYS)
def test_never_leaves_the_box_and_never_loses(objective: Objective) -> None:
    V = np.random.default_rng(1).uniform(-1.0, 1.0, (30, 3))
    V = V[np.abs(V[:, 0]) > 0.2]
    seen = Recorder(objective)
    got = ascend(seen, V, *cube(3))
    assert np.all(np.abs(np.concatenate(seen.points)) <= 1.0)
    assert np.all(got.value >= seen.objective(V, np.arange(len(V)))[0])
    value, _ = objective(got.V, np.arange(len(V)))
    np.testing.assert_allclose(got.value, value, rtol=1e-12)


@pytest.mark.parametrize("objective", WAYS[:3])
@pytest.mark.parametrize("rounds", [1, 2, 7, 25])
def test_rounds_and_evaluations_are_what_was_used(objective: Objective, rounds: int) -> None:
    seen = Recorder(objective)
    got = ascend(
        seen, np.random.default_rng(1).uniform(-1.0, 1.0, (30, 3)), *cube(3), rounds=rounds
    )
    assert got.rounds == len(seen.points) <= rounds
    assert got.evaluations == sum(len(p) for p in seen.points)


def test_more_rounds_never_lose() -> None:
    V = np.random.default_rng(1).uniform(-1.0, 1.0, (30, 2))
    values = [ascend(rosenbrock, V, *cube(2), rounds=r).value for r in (1, 2, 4, 8, 16, 32, 64)]
    assert np.all(np.diff(values, axis=0) >= 0.0)
    assert np.all(values[-1] > values[0])


def test_a_lower_tolerance_goes_further() -> None:
    V = np.random.default_rng(1).uniform(-1.0, 1.0, (30, 2))
    rough, fine = (ascend(rosenbrock, V, *cube(2), tolerance=t) for t in (1e-2, 1e-9))
    assert fine.evaluations > rough.evaluations
    assert fine.value.mean() > rough.value.mean()


def test_past_deadline_returns_the_starts() -> None:
    seen, V = Recorder(rosenbrock), np.random.default_rng(1).uniform(-1.0, 1.0, (5, 2))
    got = ascend(seen, V, *cube(2), deadline=-math.inf)
    assert got.rounds == len(seen.points) == 1
    assert np.array_equal(got.V, V)
    assert np.array_equal(got.value, rosenbrock(V, V)[0])


def test_deadline_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr("transect._clock.time", clock)
    V = np.random.default_rng(1).uniform(-1.0, 1.0, (5, 2))
    got = ascend(rosenbrock, V, *cube(2), deadline=6.0)
    assert got.rounds == 7  # the starts, and one round at each of the times 0 to 5
    monkeypatch.undo()
    assert np.array_equal(got.value, ascend(rosenbrock, V, *cube(2), rounds=7).value)


def test_every_point_comes_with_the_row_of_its_start() -> None:
    """Each start has its own function, and they end after different numbers of rounds."""
    rng = np.random.default_rng(2)
    peaks = rng.uniform(-0.9, 0.9, (12, 3))
    steep = np.geomspace(1.0, 30.0, 12)[:, None] ** np.linspace(0.0, 1.0, 3)  # (12, 3)

    def objective(V: Host, rows: Host) -> tuple[Host, Host]:
        gap = V - peaks[rows]
        return -np.sum(steep[rows] * gap * gap, axis=1), -2.0 * steep[rows] * gap

    seen = Recorder(objective)
    got = ascend(seen, rng.uniform(-1.0, 1.0, (12, 3)), *cube(3))
    np.testing.assert_allclose(got.V, peaks, rtol=0.0, atol=1e-3)
    np.testing.assert_allclose(got.value, 0.0, rtol=0.0, atol=1e-6)
    assert np.array_equal(seen.rows[0], np.arange(12))
    assert len({len(rows) for rows in seen.rows}) > 3  # so rows did drop out on the way
    assert all(np.all(np.diff(rows) > 0) for rows in seen.rows)


def test_starts_do_not_influence_each_other() -> None:
    V = np.random.default_rng(1).uniform(-1.0, 1.0, (10, 3))
    objective = quadratic(3, 20.0, np.random.default_rng(0))
    together = ascend(objective, V, *cube(3))
    for i, v in enumerate(V):
        alone = ascend(objective, v[None, :], *cube(3))
        np.testing.assert_allclose(alone.V[0], together.V[i], rtol=0.0, atol=1e-5)


def test_arguments_are_left_alone() -> None:
    V = np.random.default_rng(1).uniform(-2.0, 2.0, (20, 2))  # some outside the box
    kept = V.copy()
    lower, upper = cube(2)
    got = ascend(rosenbrock, V, lower, upper)
    assert np.array_equal(V, kept)
    assert np.array_equal([lower, upper], cube(2))
    assert np.all(np.abs(got.V) <= 1.0)


def loops(g: Host, S: Host, Y: Host, usable: Host, scale: float) -> Host:
    """Nocedal & Wright (2006), Alg. 7.4, step by step, newest first."""
    q, c = g.copy(), np.zeros(len(S))
    for i in np.flatnonzero(usable):
        c[i] = (S[i] @ q) / (S[i] @ Y[i])
        q -= c[i] * Y[i]
    p = scale * q
    for i in np.flatnonzero(usable)[::-1]:
        p += (c[i] - (Y[i] @ p) / (S[i] @ Y[i])) * S[i]
    return p


@given(d=st.integers(2, 30), seed=st.integers(0, 10_000), decades=st.integers(0, 5))
@settings(max_examples=200, deadline=None)
def test_two_triangular_systems_are_the_two_loops(d: int, seed: int, decades: int) -> None:
    """Also with steps of very different lengths, and where some of them are not to be used."""
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((3, 8, d)) * 10.0 ** rng.uniform(-decades, 0.0, (3, 8, 1))
    Y = S * 10.0 ** rng.uniform(-1.0, 1.0, d) * rng.choice([1.0, 1.0, -1.0], (3, 8, 1))
    g, scale = rng.standard_normal((3, d)), rng.uniform(0.1, 2.0, 3)
    usable = np.vecdot(S, Y) > CURVATURE * np.vecdot(Y, Y)
    T = _Fixed.of(*cube(d), memory=8).triangle(S @ np.matrix_transpose(Y), usable)
    got = _two_loops(g, S, Y, T, usable, scale)
    for k in range(3):
        expected = loops(g[k], S[k], Y[k], usable[k], scale[k])
        np.testing.assert_allclose(got[k], expected, atol=1e-7 * np.max(np.abs(expected)))
