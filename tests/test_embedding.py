"""Random embeddings: x = clip(A·y), what a process sees of it, and the chain rule through both."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from helpers import make_gp, make_hyper, numeric_gradient
from transect import _array
from transect._array import Array, Host
from transect.acquisition import UCB, Acquisition, LogEI
from transect.embedding import Clipped, Psi
from transect.gp import GaussianProcess
from transect.view import Warp, Warped

STEP = 1e-5  # of the finite differences
MARGIN = 1e-3  # how far from a kink they are taken


@pytest.fixture(params=["numpy", "array_api_strict"])
def xp(request: pytest.FixtureRequest) -> Any:
    """An array namespace; array_api_strict refuses what the standard does not name."""
    if request.param == "numpy":
        return np
    import array_api_strict

    return array_api_strict


def embedding(D: int, d: int, side: float | None = None, seed: int = 0) -> Clipped:
    """As REMBO draws them."""
    A = np.random.default_rng([seed, D, d]).normal(size=(D, d))
    return Clipped(A, math.sqrt(d) if side is None else side)


EMBEDDINGS = [
    pytest.param(embedding(6, 1), id="6, 1"),
    pytest.param(embedding(12, 3), id="12, 3"),
    pytest.param(embedding(12, 3, side=1.0), id="12, 3, side 1"),
    pytest.param(embedding(30, 5), id="30, 5"),
    pytest.param(embedding(3, 2, seed=1), id="3, 2"),
    pytest.param(Clipped(np.eye(4)), id="identity"),
]
every_embedding = pytest.mark.parametrize("clipped", EMBEDDINGS)


def coordinates(clipped: Clipped, count: int = 60, seed: int = 1) -> Host:
    """V (count, d): a third of them so close to 0 that nothing is clipped."""
    d = clipped.A.shape[1]
    V = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, d))
    for i in range(0, count, 3):
        V[i] *= 0.9 / max(1.0, float(np.max(np.abs(clipped.side * clipped.A @ V[i]))))
    return V


def is_inside(clipped: Clipped, V: Host) -> Any:
    """Where nothing is clipped, (p,)."""
    return np.max(np.abs(clipped.side * V @ clipped.A.T), axis=1) <= 1.0


def slow_psi(A: Host, y: Host) -> Host:
    """ψ (D,) as section 6 of the specification has it, in all D dimensions."""
    raw = A @ y
    x = np.clip(raw, -1.0, 1.0)
    if np.all(np.abs(raw) <= 1.0):
        return x
    z = A @ np.linalg.solve(A.T @ A, A.T @ x)
    z_1 = z / np.max(np.abs(z))
    psi: Host = z_1 + np.linalg.norm(x - z_1) * z_1 / np.linalg.norm(z_1)
    return psi


# --- values ------------------------------------------------------------------------------


@every_embedding
def test_points_are_clipped_products(clipped: Clipped) -> None:
    V = coordinates(clipped)
    D, d = clipped.A.shape
    expected = [
        [
            min(1.0, max(-1.0, sum(clipped.A[i, j] * clipped.side * v[j] for j in range(d))))
            for i in range(D)
        ]
        for v in V
    ]
    np.testing.assert_allclose(clipped.points(V), expected, rtol=0.0, atol=1e-14)
    assert np.all(np.abs(clipped.points(V)) <= 1.0)


@every_embedding
def test_psi_is_its_formula_in_all_dimensions(clipped: Clipped) -> None:
    """Up to a rotation and a scale, which inner products see through."""
    V = coordinates(clipped)
    D, d = clipped.A.shape
    slow = np.array([slow_psi(clipped.A, clipped.side * v) for v in V])  # (p, D)
    q = Psi(clipped).points(V)
    assert q.shape == (60, d)
    np.testing.assert_allclose(q @ q.T, d / D * slow @ slow.T, rtol=0.0, atol=1e-12)


@every_embedding
def test_psi_is_the_point_where_nothing_is_clipped(clipped: Clipped) -> None:
    V = coordinates(clipped)
    V = V[is_inside(clipped, V)]
    assert len(V) >= 20
    D, d = clipped.A.shape
    x, q = clipped.points(V), Psi(clipped).points(V)
    np.testing.assert_allclose(q @ q.T, d / D * x @ x.T, rtol=0.0, atol=1e-13)


@every_embedding
def test_the_middle_maps_to_the_middle(clipped: Clipped) -> None:
    D, d = clipped.A.shape
    zero = np.zeros((1, d))
    assert np.array_equal(clipped.points(zero), np.zeros((1, D)))
    assert np.array_equal(Psi(clipped).points(zero), zero)


def test_psi_puts_points_together_that_clipping_made_equal() -> None:
    clipped = Clipped(np.array([[3.0], [-4.0], [2.5]]))
    V = np.array([[0.5], [0.7], [1.0]])
    assert np.array_equal(clipped.points(V), [[1.0, -1.0, 1.0]] * 3)
    q = Psi(clipped).points(V)
    np.testing.assert_allclose(q, np.broadcast_to(q[0], q.shape), rtol=1e-15)


def test_psi_tells_apart_what_projection_alone_does_not() -> None:
    """Points beyond the box keep their distance to it: ψ is farther out than the boundary."""
    clipped = embedding(12, 3)
    V = coordinates(clipped)
    outside = V[~is_inside(clipped, V)]
    D, d = clipped.A.shape
    for q in math.sqrt(D / d) * Psi(clipped).points(outside):
        psi = np.linalg.qr(clipped.A)[0] @ q
        assert np.max(np.abs(psi)) > 1.0


@every_embedding
def test_psi_is_continuous_where_clipping_begins(clipped: Clipped) -> None:
    V = coordinates(clipped)
    edge = V / np.max(np.abs(clipped.side * V @ clipped.A.T), axis=1)[:, None]
    psi = Psi(clipped)
    np.testing.assert_allclose(
        psi.points((1.0 + 1e-9) * edge), psi.points((1.0 - 1e-9) * edge), rtol=0.0, atol=1e-7
    )


# --- the chain rule ----------------------------------------------------------------------


def without_kinks(clipped: Clipped, V: Host) -> Host:
    """Those of V (p, d) at which clipping, and the largest |z_i|, stay the same nearby."""
    raw = clipped.side * V @ clipped.A.T
    smooth = np.min(np.abs(np.abs(raw) - 1.0), axis=1) > MARGIN
    Q = np.linalg.qr(clipped.A)[0]
    z = np.sort(np.abs(np.clip(raw, -1.0, 1.0) @ Q @ Q.T), axis=1)
    if z.shape[1] > 1:
        smooth &= (z[:, -1] - z[:, -2] > MARGIN) | is_inside(clipped, V)
    kept: Host = V[smooth]
    return kept


@pytest.mark.parametrize("kind", [lambda c: c, Psi], ids=["x", "psi"])
@every_embedding
def test_pull_back_is_the_transposed_derivative(
    clipped: Clipped, kind: Callable[[Clipped], Warp]
) -> None:
    warp = kind(clipped)
    V = without_kinks(clipped, coordinates(clipped, 200))
    inside = is_inside(clipped, V)
    assert np.count_nonzero(inside) >= 10
    assert np.count_nonzero(~inside) >= 10 or np.array_equal(clipped.A, np.eye(4))
    points, pull_back = warp.points_and_pull_back(V)
    assert np.array_equal(points, warp.points(V))
    G = np.random.default_rng(2).normal(size=points.shape)
    # With shorter steps, rounding of the root in ψ next to a kink counts for more than they do.
    step = 10.0 * STEP
    numeric = numeric_gradient(lambda v: np.sum(G * warp.points(v), axis=1), V, step)
    np.testing.assert_allclose(pull_back(G), numeric, rtol=0.0, atol=1e-8)


@every_embedding
def test_gradients_at_the_middle_and_deep_in_the_clipped_part_are_finite(clipped: Clipped) -> None:
    d = clipped.A.shape[1]
    V = np.vstack([np.zeros(d), np.ones(d), -np.ones(d), np.eye(d)])
    for warp in (clipped, Psi(clipped)):
        points, pull_back = warp.points_and_pull_back(V)
        with np.errstate(all="raise"):
            grad = pull_back(np.ones_like(points))
        assert np.all(np.isfinite(grad))


@every_embedding
@pytest.mark.parametrize("kind", [lambda c: c, Psi], ids=["x", "psi"])
def test_maps_on_other_array_libraries(
    xp: Any, clipped: Clipped, kind: Callable[[Clipped], Warp]
) -> None:
    V, warp = coordinates(clipped, 12), kind(clipped)
    expected, expected_back = warp.points_and_pull_back(V)
    got, back = warp.points_and_pull_back(xp.asarray(V))
    G = np.random.default_rng(2).normal(size=expected.shape)
    same(warp.points(xp.asarray(V)), expected, xp)
    same(got, expected, xp)
    same(back(xp.asarray(G)), expected_back(G), xp)


def same(got: Array, expected: Host, xp: Any, atol: float = 1e-12) -> None:
    """Equal numbers, in an array of the library that was asked for."""
    assert isinstance(got, type(xp.asarray(0.0))) or xp is np
    np.testing.assert_allclose(_array.to_host(got), expected, rtol=0.0, atol=atol)


# --- a process seen through a map --------------------------------------------------------


@dataclass(frozen=True)
class Bent:
    """v (p, 2) to (v_0 + v_1²/2, v_0·v_1, sin v_1): smooth everywhere."""

    width = 3

    def points(self, V: Array) -> Array:
        a, b = V[:, 0], V[:, 1]
        return np.stack([a + 0.5 * b * b, a * b, np.sin(b)], axis=1)

    def points_and_pull_back(self, V: Array) -> tuple[Array, Callable[[Array], Array]]:
        a, b = V[:, 0], V[:, 1]

        def pull_back(G: Array) -> Array:
            by_a = G[:, 0] + b * G[:, 1]
            by_b = b * G[:, 0] + a * G[:, 1] + np.cos(b) * G[:, 2]
            return np.stack([by_a, by_b], axis=1)

        return self.points(V), pull_back


def warps() -> list[tuple[Warp, Host]]:
    """Maps, and coordinates without kinks close by."""
    clipped = embedding(8, 2)
    V = without_kinks(clipped, coordinates(clipped, 60))
    return [
        (Bent(), np.random.default_rng(3).uniform(-1.0, 1.0, (40, 2))),
        (clipped, V),
        (Psi(clipped), V),
    ]


every_warp = pytest.mark.parametrize(("warp", "V"), warps(), ids=["bent", "x", "psi"])
both_kernels = pytest.mark.parametrize("kernel", ["matern52", "rbf"])
both_scales = pytest.mark.parametrize("ard", [False, True])
both_acquisitions = pytest.mark.parametrize("acquisition", [UCB(4.0), LogEI(0.8)])


def process(warp: Warp, V: Host, kernel: str, ard: bool) -> GaussianProcess:
    """A process on what the map makes of the coordinates."""
    return make_gp(kernel, n=15, D=warp.points(V).shape[1], ard=ard)


@both_acquisitions
@both_scales
@both_kernels
@every_warp
def test_values_through_a_map_are_those_at_its_points(
    warp: Warp, V: Host, kernel: str, ard: bool, acquisition: Acquisition
) -> None:
    gp = process(warp, V, kernel, ard)
    view, rows = Warped(gp, warp), np.zeros(len(V), dtype=np.int64)
    expected = acquisition.value(*gp.posterior(warp.points(V)))
    assert view.m == 1
    assert np.array_equal(view.value(acquisition, V, rows), expected)
    value, _ = view.objective(acquisition)(V, rows)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-11)


@both_acquisitions
@both_scales
@both_kernels
@every_warp
def test_gradients_through_a_map_are_derivatives(
    warp: Warp, V: Host, kernel: str, ard: bool, acquisition: Acquisition
) -> None:
    gp = process(warp, V, kernel, ard)
    view, rows = Warped(gp, warp), np.zeros(len(V), dtype=np.int64)
    _, grad = view.objective(acquisition)(V, rows)
    numeric = numeric_gradient(
        lambda v: np.asarray(view.value(acquisition, v, rows)), V, 10.0 * STEP
    )
    np.testing.assert_allclose(grad, numeric, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", [lambda c: c, Psi], ids=["x", "psi"])
def test_views_through_a_map_on_other_array_libraries(
    xp: Any, kind: Callable[[Clipped], Warp]
) -> None:
    clipped = embedding(8, 2)
    V, rows, warp = coordinates(clipped, 12), np.zeros(12, dtype=np.int64), kind(clipped)
    D = warp.points(V).shape[1]
    X, y = warp.points(coordinates(clipped, 15, seed=4)), np.sin(np.arange(15.0))
    hyper = make_hyper(D=D)
    plain = GaussianProcess.from_data(hyper, X, y)
    hyper = replace(hyper, lengthscale=xp.asarray(hyper.lengthscale))
    gp = GaussianProcess.from_data(hyper, xp.asarray(X), xp.asarray(y))
    args = xp.asarray(V), xp.asarray(rows)
    for acquisition in (UCB(3.0), LogEI(0.5)):
        expected = Warped(plain, warp).objective(acquisition)(V, rows)
        got = Warped(gp, warp).objective(acquisition)(*args)
        for a, b in zip(got, expected, strict=True):
            same(a, b, xp, 1e-9)
        same(Warped(gp, warp).value(acquisition, *args), expected[0], xp, 1e-9)
