"""Kernels against scikit-learn, their slopes against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sklearn_kernels

from helpers import numeric_gradient
from transect._array import Host
from transect.kernels import KERNELS, RBF, Matern52, squared_distance

NAMES = sorted(KERNELS)


def reference(name: str, A: Host, B: Host, lengthscale: float | Host) -> Host:
    if name == "rbf":
        return np.asarray(sklearn_kernels.RBF(lengthscale)(A, B))
    return np.asarray(sklearn_kernels.Matern(lengthscale, nu=2.5)(A, B))


@pytest.mark.parametrize("lengthscale", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_scikit_learns(name: str, lengthscale: float) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.uniform(-1, 1, (20, 4)), rng.uniform(-1, 1, (30, 4))
    k = KERNELS[name].value(squared_distance(A, B) / lengthscale**2)
    np.testing.assert_allclose(k, reference(name, A, B, lengthscale), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_values_with_a_lengthscale_per_coordinate(name: str) -> None:
    rng = np.random.default_rng(1)
    A, B = rng.uniform(-1, 1, (20, 4)), rng.uniform(-1, 1, (30, 4))
    scales = np.array([0.2, 0.7, 1.5, 6.0])
    k = KERNELS[name].value(squared_distance(A / scales, B / scales))
    np.testing.assert_allclose(k, reference(name, A, B, scales), rtol=1e-11, atol=1e-14)


def test_names_agree_with_the_table() -> None:
    assert {name: kernel.name for name, kernel in KERNELS.items()} == {n: n for n in NAMES}
    assert NAMES == ["matern52", "rbf"]


@pytest.mark.parametrize("name", NAMES)
def test_value_slope_gives_the_value(name: str) -> None:
    sq = np.geomspace(1e-12, 1e5, 200)
    value, _ = KERNELS[name].value_slope(sq)
    np.testing.assert_allclose(value, KERNELS[name].value(sq), rtol=1e-14, atol=0.0)


@pytest.mark.parametrize("name", NAMES)
def test_slope_is_the_derivative(name: str) -> None:
    kernel = KERNELS[name]
    sq = np.geomspace(0.05, 50.0, 60)
    numeric = numeric_gradient(lambda s: np.asarray(kernel.value(s[:, 0])), sq[:, None], 1e-3)
    np.testing.assert_allclose(kernel.value_slope(sq)[1], numeric[:, 0], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("kernel", "slope"), [(Matern52(), -5.0 / 6.0), (RBF(), -0.5)])
def test_at_distance_zero(kernel: Matern52 | RBF, slope: float) -> None:
    value, got = kernel.value_slope(np.zeros(1))
    assert value == 1.0
    assert got == slope
    # The one-sided rule of second order leaves an error of h^1.5: k has a term sq^2.5.
    h = 1e-5
    right = (4.0 * kernel.value(np.array(h)) - kernel.value(np.array(2 * h)) - 3.0) / (2.0 * h)
    assert right == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_far_away_is_zero_without_warnings(name: str) -> None:
    value, slope = KERNELS[name].value_slope(np.array([1e6, 1e100]))
    assert np.array_equal(value, [0.0, 0.0])
    assert np.array_equal(np.abs(slope), [0.0, 0.0])


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50)
def test_squared_distance_is_the_naive_loop(p: int, q: int, D: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = rng.uniform(-1, 1, (p, D)), rng.uniform(-1, 1, (q, D))
    naive = [[sum((s - t) ** 2 for s, t in zip(a, b, strict=True)) for b in B] for a in A]
    np.testing.assert_allclose(squared_distance(A, B), naive, rtol=0.0, atol=1e-15 * (D + 10))


def test_squared_distance_is_never_negative() -> None:
    X = np.random.default_rng(0).normal(size=(200, 50)) * 1e3
    sq = squared_distance(X, X + 1e-9)
    assert np.all(sq >= 0.0)
    assert np.any(sq == 0.0)  # where rounding had to be cut off


@given(
    st.sampled_from(NAMES),
    st.integers(1, 25),
    st.integers(1, 8),
    st.floats(0.1, 10.0),
    st.integers(0, 2**32 - 1),
)
@example("matern52", 15, 7, 9.79296875, 233)  # with entries above 1
@settings(deadline=None, max_examples=60)
def test_matrices_are_positive_semidefinite(
    name: str, n: int, D: int, lengthscale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, D))[rng.integers(n, size=n)]  # some rows twice
    K = KERNELS[name].value(squared_distance(X, X) / lengthscale**2)
    # Distances are known to about 4·D·eps/ℓ², which n entries of a row can add up.
    rounding = 1e-15 * n * (10.0 + 4.0 * D / lengthscale**2)
    assert np.linalg.eigvalsh(K).min() >= -rounding
    # Where rows are equal up to rounding, k(sq) is a product of three rounded factors near 1.
    assert np.all(1.0 + 2.0 * np.finfo(np.float64).eps >= K)
