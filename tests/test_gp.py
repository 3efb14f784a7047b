"""The Gaussian process against scikit-learn, finite differences and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from helpers import covariance, make_data, make_gp, make_hyper, numeric_gradient
from transect._array import Host
from transect.gp import VARIANCE_FLOOR, GaussianProcess, Hyperparameters
from transect.kernels import KERNELS, squared_distance

both_kernels = pytest.mark.parametrize("kernel", sorted(KERNELS))
both_scales = pytest.mark.parametrize("ard", [False, True])


def points(p: int, D: int, seed: int = 1) -> Host:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (p, D))


def reference(hyper: Hyperparameters, X: Host, y: Host) -> GaussianProcessRegressor:
    """The same process in scikit-learn, less its constant mean."""
    scale = hyper.lengthscale if hyper.lengthscale.ndim else float(hyper.lengthscale)
    base = RBF(scale) if hyper.kernel.name == "rbf" else Matern(scale, nu=2.5)
    kernel = ConstantKernel(hyper.amplitude) * base
    return GaussianProcessRegressor(kernel, alpha=hyper.noise, optimizer=None).fit(
        X, y - hyper.mean
    )


@pytest.mark.parametrize("noise", [1e-4, 0.3])
@both_scales
@both_kernels
def test_posterior_and_likelihood_are_scikit_learns(kernel: str, ard: bool, noise: float) -> None:
    hyper, (X, y) = make_hyper(kernel, 4, ard, noise), make_data(30, 4)
    gp, other = GaussianProcess.from_data(hyper, X, y), reference(hyper, X, y)
    P = np.concatenate([points(40, 4), X[:5]])  # at observations, too
    mean, std = other.predict(P, return_std=True)
    got_mean, got_var = gp.posterior(P)
    np.testing.assert_allclose(got_mean, hyper.mean + mean, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(got_var, std**2, rtol=0.0, atol=1e-10)
    assert gp.log_likelihood() == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-9)
    assert gp.jitter == 0.0
    assert gp.n == 30


def test_the_posterior_of_many_observations_is_scikit_learns() -> None:
    """Of so many that triangles are multiplied in strips."""
    hyper, (X, y) = make_hyper("matern52", 4, ard=True, noise=0.1), make_data(700, 4)
    gp = GaussianProcess.from_data(hyper, X[:650], y[:650]).condition(X[650:], y[650:])
    P = points(5, 4)
    mean, std = reference(hyper, X, y).predict(P, return_std=True)
    for got_mean, got_var, *_ in (gp.posterior(P), gp.posterior_grad(P)):
        np.testing.assert_allclose(got_mean, hyper.mean + mean, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(got_var, std**2, rtol=0.0, atol=1e-10)
    slope = numeric_gradient(lambda x: gp.posterior(x)[1], P)
    np.testing.assert_allclose(gp.posterior_grad(P)[3], slope, rtol=0.0, atol=1e-8)


@both_scales
@both_kernels
def test_posterior_grad_is_the_derivative(kernel: str, ard: bool) -> None:
    gp, P = make_gp(kernel, n=20, D=4, ard=ard), points(10, 4)
    mean, var, d_mean, d_var = gp.posterior_grad(P)
    np.testing.assert_allclose(mean, gp.posterior(P)[0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(var, gp.posterior(P)[1], rtol=0.0, atol=1e-12)
    # Rounding of 1e-14 in the values, divided by the step of 1e-3, and step⁴.
    numeric_mean = numeric_gradient(lambda x: np.asarray(gp.posterior(x)[0]), P)
    numeric_var = numeric_gradient(lambda x: np.asarray(gp.posterior(x)[1]), P)
    np.testing.assert_allclose(d_mean, numeric_mean, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(d_var, numeric_var, rtol=0.0, atol=1e-8)


@both_kernels
def test_gradient_at_an_observation(kernel: str) -> None:
    """The distance is zero there; its square root would not be differentiable."""
    gp = make_gp(kernel, n=12, D=3)
    P = gp.X[:4].copy()
    _, _, d_mean, d_var = gp.posterior_grad(P)
    assert np.all(np.isfinite(d_mean))
    # Matérn's third derivative jumps there, which leaves the rule an error of step².
    numeric = numeric_gradient(lambda x: np.asarray(gp.posterior(x)[0]), P, 1e-4)
    np.testing.assert_allclose(d_mean, numeric, rtol=0.0, atol=1e-6)
    numeric = numeric_gradient(lambda x: np.asarray(gp.posterior(x)[1]), P, 1e-4)
    np.testing.assert_allclose(d_var, numeric, rtol=0.0, atol=1e-6)


def assert_same_process(one: GaussianProcess, other: GaussianProcess, atol: float = 1e-10) -> None:
    P = points(30, one.X.shape[1], seed=9)
    assert np.array_equal(one.X, other.X)
    np.testing.assert_allclose(one.y, other.y, rtol=0.0, atol=atol)
    np.testing.assert_allclose(one.L, other.L, rtol=0.0, atol=atol)
    np.testing.assert_allclose(one.L_inv @ one.L, np.eye(one.n), rtol=0.0, atol=atol)
    for a, b in zip(one.posterior(P), other.posterior(P), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=atol)
    assert one.log_likelihood() == pytest.approx(other.log_likelihood(), abs=10 * atol)


@pytest.mark.parametrize("pieces", [[1], [5], [1, 1, 1], [2, 3, 1], [10, 10]])
@both_scales
@both_kernels
def test_condition_equals_from_data(kernel: str, ard: bool, pieces: list[int]) -> None:
    hyper, (X, y) = make_hyper(kernel, 4, ard), make_data(10 + sum(pieces), 4)
    gp = GaussianProcess.from_data(hyper, X[:10], y[:10])
    for k in pieces:
        gp = gp.condition(X[gp.n : gp.n + k], y[gp.n : gp.n + k])
    assert_same_process(gp, GaussianProcess.from_data(hyper, X, y))


@both_scales
def test_extend_equals_from_data(ard: bool) -> None:
    """With other values for the old points, and with distances that are known already."""
    hyper, (X, y) = make_hyper(D=4, ard=ard), make_data(25, 4)
    sq = squared_distance(X / hyper.lengthscale, X / hyper.lengthscale)
    whole = GaussianProcess.from_data(hyper, X, y)
    old = GaussianProcess.from_data(hyper, X[:15], np.zeros(15))
    assert_same_process(old.extend(X, y), whole)
    assert_same_process(old.extend(X, y, sq[15:]), whole)
    assert_same_process(GaussianProcess.from_data(hyper, X, y, sq), whole, 1e-13)


def test_condition_leaves_the_old_process_alone() -> None:
    gp, (X, y) = make_gp(n=10), make_data(12, 3, seed=5)
    before = [np.copy(a) for a in (gp.X, gp.y, gp.L, gp.L_inv, gp.whitened)]
    gp.condition(X, y)
    gp.hallucinate(X)
    gp.with_values(np.zeros(10))
    for old, new in zip(before, (gp.X, gp.y, gp.L, gp.L_inv, gp.whitened), strict=True):
        assert np.array_equal(old, new)


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_hallucinations_keep_the_mean_and_never_raise_the_variance(
    n: int, k: int, D: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-1, 1, (n, D)), rng.normal(size=n)
    gp = GaussianProcess.from_data(make_hyper(D=D), X, y)
    pending = rng.uniform(-1, 1, (k, D))
    after, P = gp.hallucinate(pending), np.concatenate([rng.uniform(-1, 1, (20, D)), pending, X])
    (mean, var), (mean_after, var_after) = gp.posterior(P), after.posterior(P)
    np.testing.assert_allclose(mean_after, mean, rtol=0.0, atol=1e-11)
    assert np.all(var_after <= var + 1e-13)
    assert np.all(var_after[20 : 20 + k] < var[20 : 20 + k])


def test_with_values_equals_from_data() -> None:
    gp = make_gp(n=12)
    y = np.random.default_rng(3).normal(size=12)
    assert_same_process(gp.with_values(y), GaussianProcess.from_data(gp.hyper, gp.X, y), 1e-13)


def test_weights_give_the_mean() -> None:
    gp, P = make_gp("rbf", n=12), points(6, 3)
    k = covariance(gp.hyper, P, gp.X)
    expected = gp.hyper.mean + k @ gp.weights
    np.testing.assert_allclose(gp.posterior(P)[0], expected, rtol=0.0, atol=1e-12)


@both_kernels
def test_one_observation_in_closed_form(kernel: str) -> None:
    hyper = make_hyper(kernel, 2, noise=0.25)
    x, P = np.array([[0.3, -0.4]]), points(8, 2)
    gp = GaussianProcess.from_data(hyper, x, np.array([2.0]))
    mean, var = gp.posterior(P)
    k = covariance(hyper, P, x)[:, 0]
    total = hyper.amplitude + hyper.noise
    gap = 2.0 - hyper.mean
    np.testing.assert_allclose(mean, hyper.mean + gap * k / total, rtol=1e-14)
    np.testing.assert_allclose(var, hyper.amplitude - k * k / total, rtol=1e-13)
    normal = -0.5 * gap**2 / total - 0.5 * np.log(2.0 * np.pi * total)
    assert gp.log_likelihood() == pytest.approx(normal, rel=1e-14)


@both_kernels
def test_far_from_the_data_the_prior_returns(kernel: str) -> None:
    hyper = Hyperparameters(KERNELS[kernel], np.array(0.01), 2.0, 1e-4, mean=-3.0)
    gp = GaussianProcess.from_data(hyper, np.full((3, 2), 0.9), np.array([1.0, 2.0, 3.0]))
    mean, var = gp.posterior(np.full((1, 2), -0.9))
    assert (mean[0], var[0]) == (-3.0, 2.0)


@both_kernels
def test_a_point_observed_twice_counts_as_their_mean_with_half_the_noise(kernel: str) -> None:
    X, y = make_data(6, 3)
    twice = GaussianProcess.from_data(
        make_hyper(kernel, 3, noise=0.1), np.tile(X, (2, 1)), np.concatenate([y + 0.5, y - 0.5])
    )
    once = GaussianProcess.from_data(make_hyper(kernel, 3, noise=0.05), X, y)
    P = points(20, 3)
    for a, b in zip(twice.posterior(P), once.posterior(P), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-12)


@both_kernels
def test_a_singular_matrix_gets_jitter_and_says_so(kernel: str) -> None:
    X, y = make_data(4, 3)
    hyper = make_hyper(kernel, 3, noise=1e-30)
    gp = GaussianProcess.from_data(hyper, np.repeat(X, 10, axis=0), np.repeat(y, 10))
    assert 0.0 < gp.jitter <= 1e-6
    K = covariance(hyper, gp.X, gp.X) + gp.jitter * np.eye(40)
    np.testing.assert_allclose(gp.L @ gp.L.T, K, rtol=0.0, atol=1e-14)
    mean, var = gp.posterior(X)
    np.testing.assert_allclose(mean, y, rtol=0.0, atol=1e-5)
    assert np.all((var > 0.0) & (var < 1e-5))


def test_conditioning_on_a_known_point_without_noise() -> None:
    gp = make_gp(n=10, noise=1e-30)
    assert gp.jitter == 0.0
    after = gp.condition(gp.X[:3], gp.y[:3])
    assert after.jitter > 0.0
    for a, b in zip(after.posterior(points(20, 3)), gp.posterior(points(20, 3)), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-6)


def test_jitter_adds_up_over_conditioning() -> None:
    X, y = make_data(4, 3)
    hyper = make_hyper("rbf", 3, noise=1e-30)
    gp = GaussianProcess.from_data(hyper, np.repeat(X, 10, axis=0), np.repeat(y, 10))
    after = gp.condition(points(2, 3), np.zeros(2))
    assert after.jitter >= gp.jitter > 0.0
    # The new observations get what the old ones needed; 1e-10 of 1.7 leaves five digits.
    added = np.diagonal(after.L @ after.L.T) - hyper.amplitude
    np.testing.assert_allclose(added, after.jitter, rtol=1e-4)


def test_variance_never_reaches_zero() -> None:
    gp = make_gp(n=10, noise=1e-30)
    _, var = gp.posterior(gp.X)
    assert np.all(var >= VARIANCE_FLOOR * gp.hyper.amplitude)


def test_a_covariance_that_is_not_finite_raises() -> None:
    X, y = make_data(5, 3)
    X[2, 1] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        GaussianProcess.from_data(make_hyper(D=3), X, y)
    gp = make_gp(n=5, D=3)
    with pytest.raises(FloatingPointError, match="not finite"):
        gp.condition(X, y)


@pytest.mark.parametrize("amplitude", [math.nan, math.inf, 0.0])
def test_a_hopeless_amplitude_raises_instead_of_looping(amplitude: float) -> None:
    X = np.zeros((2, 1))
    hyper = Hyperparameters(KERNELS["rbf"], np.array(1.0), amplitude, 0.0)
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="amplitude"):
        GaussianProcess.from_data(hyper, X, np.zeros(2))


def test_conditioning_on_nothing_changes_nothing() -> None:
    gp = make_gp()
    assert gp.condition(np.zeros((0, 3)), np.zeros(0)) is gp


@pytest.mark.parametrize("noise", [1e-6, 1e-2, 1.0])
def test_the_mean_at_the_data(noise: float) -> None:
    gp = make_gp(noise=noise)
    np.testing.assert_allclose(gp.smoothed, gp.posterior(gp.X)[0], atol=1e-9)
    more = gp.condition(*make_data(4, 3, seed=5))
    np.testing.assert_allclose(more.smoothed, more.posterior(more.X)[0], atol=1e-9)


def test_the_mean_at_data_that_need_jitter() -> None:
    X = np.repeat(make_data(4, 3)[0], 3, axis=0)
    gp = GaussianProcess.from_data(make_hyper(noise=1e-300), X, np.repeat([0.0, 1.0, 2.0, 3.0], 3))
    assert gp.jitter > 0.0
    np.testing.assert_allclose(gp.smoothed, gp.posterior(gp.X)[0], atol=1e-5)
