"""The same lines on other array libraries give the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers import make_data, make_gp, make_hyper
from transect import _array, _products
from transect._array import Array, Host
from transect.acquisition import UCB, LogEI
from transect.gp import GaussianProcess, Hyperparameters
from transect.kernels import KERNELS, squared_distance
from transect.subspace import Slices, Subspace
from transect.view import View

D = 4
both_kernels = pytest.mark.parametrize("kernel", sorted(KERNELS))
both_scales = pytest.mark.parametrize("ard", [False, True])


@pytest.fixture(params=["numpy", "array_api_strict"])
def xp(request: pytest.FixtureRequest) -> Any:
    """An array namespace; array_api_strict refuses what the standard does not name."""
    if request.param == "numpy":
        return np
    import array_api_strict

    return array_api_strict


def same(got: Array, expected: Host, xp: Any, atol: float = 1e-12) -> None:
    """Equal numbers, in an array of the library that was asked for."""
    assert isinstance(got, type(xp.asarray(0.0))) or xp is np
    np.testing.assert_allclose(_array.to_host(got), expected, rtol=0.0, atol=atol)


def in_library(xp: Any, hyper: Hyperparameters) -> Hyperparameters:
    return replace(hyper, lengthscale=xp.asarray(hyper.lengthscale))


def make_pair(xp: Any, kernel: str, ard: bool) -> tuple[GaussianProcess, GaussianProcess]:
    """One process on ``xp`` and the same on NumPy."""
    hyper, (X, y) = make_hyper(kernel, D, ard), make_data(15, D)
    on_xp = GaussianProcess.from_data(in_library(xp, hyper), xp.asarray(X), xp.asarray(y))
    return on_xp, GaussianProcess.from_data(hyper, X, y)


def points(p: int, seed: int = 1) -> Host:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (p, D))


def test_at_least(xp: Any) -> None:
    found = _array.at_least(xp.asarray([[-1.0, 2.0, np.nan]]), 0.5)
    same(found, np.array([[0.5, 2.0, np.nan]]), xp)


@both_kernels
def test_kernels(xp: Any, kernel: str) -> None:
    A, B = points(5), points(7, 2)
    sq = squared_distance(xp.asarray(A), xp.asarray(B))
    same(sq, squared_distance(A, B), xp)
    expected = squared_distance(A, B)
    same(KERNELS[kernel].value(sq), KERNELS[kernel].value(expected), xp)
    pairs = zip(KERNELS[kernel].value_slope(sq), KERNELS[kernel].value_slope(expected), strict=True)
    for a, b in pairs:
        same(a, b, xp)


@both_scales
@both_kernels
def test_posterior(xp: Any, kernel: str, ard: bool) -> None:
    gp, plain = make_pair(xp, kernel, ard)
    P = points(9)
    for a, b in zip(gp.posterior(xp.asarray(P)), plain.posterior(P), strict=True):
        same(a, b, xp, 1e-11)
    for a, b in zip(gp.posterior_grad(xp.asarray(P)), plain.posterior_grad(P), strict=True):
        same(a, b, xp, 1e-10)
    assert gp.log_likelihood() == pytest.approx(plain.log_likelihood(), rel=1e-12)


@both_scales
@both_kernels
def test_condition_hallucinate_and_with_values(xp: Any, kernel: str, ard: bool) -> None:
    gp, plain = make_pair(xp, kernel, ard)
    X, y = make_data(4, D, seed=8)
    P = points(9)
    pairs = [
        (gp.condition(xp.asarray(X), xp.asarray(y)), plain.condition(X, y)),
        (gp.hallucinate(xp.asarray(X)), plain.hallucinate(X)),
        (gp.with_values(-gp.y), plain.with_values(-plain.y)),
    ]
    for one, other in pairs:
        same(one.weights, other.weights, xp, 1e-9)
        for a, b in zip(one.posterior(xp.asarray(P)), other.posterior(P), strict=True):
            same(a, b, xp, 1e-11)


def test_jitter(xp: Any) -> None:
    X, y = make_data(4, D)
    hyper = in_library(xp, make_hyper("rbf", D, noise=1e-30))
    gp = GaussianProcess.from_data(
        hyper, xp.asarray(np.repeat(X, 9, axis=0)), xp.asarray(np.repeat(y, 9))
    )
    assert gp.jitter > 0.0
    X[0, 0] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        GaussianProcess.from_data(hyper, xp.asarray(X), xp.asarray(y))


@pytest.mark.parametrize("acquisition", [UCB(3.0), LogEI(0.5)])
def test_acquisitions(xp: Any, acquisition: UCB | LogEI) -> None:
    mean = np.array([-1e4, -120.0, -99.0, -2.0, -0.5, 0.0, 3.0, 40.0])  # every branch of LogEI
    var = np.linspace(0.5, 2.0, 8)
    args = xp.asarray(mean), xp.asarray(var)
    expected = acquisition.partials(mean, var)
    same(acquisition.value(*args), expected[0], xp)
    for a, b in zip(acquisition.partials(*args), expected, strict=True):
        same(a, b, xp, 1e-10)


@both_scales
@pytest.mark.parametrize("acquisition", [UCB(3.0), LogEI(0.5)])
def test_views(xp: Any, ard: bool, acquisition: UCB | LogEI) -> None:
    gp, plain = make_pair(xp, "matern52", ard)
    slices = Slices(D, 2, 1)
    line = Subspace.segment(points(1)[0], points(1, 3)[0])
    cases: list[tuple[Callable[[GaussianProcess], View], Host]] = [
        (lambda g: View.of_subspace(g, Subspace.whole(D)), points(6)),
        (lambda g: View.of_subspace(g, line), 0.3 * points(6)[:, :1]),
        (lambda g: View.of_slices(g, slices, slices.z(0, 6)), points(6)[:, :2]),
    ]
    for view, V in cases:
        rows = np.arange(6)
        got = view(gp).objective(acquisition)(xp.asarray(V), xp.asarray(rows))
        for a, b in zip(got, view(plain).objective(acquisition)(V, rows), strict=True):
            same(a, b, xp, 1e-10)


# --- the gate itself ----------------------------------------------------------------------


def test_namespace_and_like(xp: Any) -> None:
    array = xp.asarray([1.0, 2.0])
    other = _array.like(array, [3.0, 4.0])
    assert other.dtype == array.dtype
    assert type(other) is type(array)
    assert _array.like(array, [3, 4], dtype=xp.int64).dtype == xp.int64
    assert _array.namespace(array).asarray(0.0).dtype == array.dtype


def test_to_host_keeps_the_dtype(xp: Any) -> None:
    for dtype in (xp.float64, xp.float32, xp.int64):
        host = _array.to_host(xp.asarray([1, 2, 3], dtype=dtype))
        assert isinstance(host, np.ndarray)
        assert str(host.dtype) in str(dtype)
        assert np.array_equal(host, [1, 2, 3])


def test_cholesky_of_a_matrix_that_is_not_positive_definite(xp: Any) -> None:
    assert _array.cholesky(xp.asarray([[1.0, 2.0], [2.0, 1.0]])) is None
    assert _array.cholesky(xp.asarray([[float("nan"), 0.0], [0.0, 1.0]])) is None
    L = _array.cholesky(xp.asarray([[4.0, 2.0], [2.0, 5.0]]))
    np.testing.assert_allclose(_array.to_host(L), [[2.0, 0.0], [1.0, 2.0]], rtol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_inverse_lower(xp: Any, n: int) -> None:
    L = np.tril(np.random.default_rng(0).uniform(0.5, 1.0, (n, n))) + 3.0 * np.eye(n)
    inverse = _array.to_host(_array.inverse_lower(xp.asarray(L)))
    np.testing.assert_allclose(inverse @ L, np.eye(n), rtol=0.0, atol=1e-14)
    assert np.array_equal(inverse, np.tril(inverse))


@pytest.mark.parametrize("n", [1, 199, 200, 511, 512, 672, 700])  # below, at and beyond a cut
@pytest.mark.parametrize("p", [1, 3, 4, 5, 16])  # few, more and many
@pytest.mark.parametrize("copies", [False, True])
def test_products(xp: Any, n: int, p: int, copies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_products, "copies_matrices", lambda: copies)
    rng = np.random.default_rng(n)
    B, A = rng.standard_normal((n, n)), rng.standard_normal((p, n))
    L = np.tril(B)
    a, b = xp.asarray(A), xp.asarray(L)
    same(_products.times(a, xp.asarray(B)), A @ B, xp, 1e-12)
    same(_products.times_lower(a, b), A @ L, xp, 1e-12)
    same(_products.times_lower_transposed(a, b), A @ L.T, xp, 1e-12)


def test_few_rows_are_multiplied_one_by_one_where_a_matrix_would_be_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((3, 600)), rng.standard_normal((600, 600))
    monkeypatch.setattr(_products, "copies_matrices", lambda: True)
    assert np.array_equal(_products.times(A, B), [row @ B for row in A])
    monkeypatch.setattr(_products, "copies_matrices", lambda: False)
    assert np.array_equal(_products.times(A, B), A @ B)


def test_special_functions(xp: Any) -> None:
    from scipy import special

    x = np.linspace(-3.0, 30.0, 20)
    same(_array.erfcx(xp.asarray(x)), special.erfcx(x), xp, 0.0)
    same(_array.ndtr(xp.asarray(x)), special.ndtr(x), xp, 0.0)


def test_without_a_device_nothing_is_copied() -> None:
    gp = make_gp()
    assert _array.to_device(gp.X, None) is gp.X
