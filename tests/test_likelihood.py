"""The objective of a fit: against scikit-learn, SciPy and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import lognorm, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from helpers import log_posterior, make_data, numeric_gradient
from transect._array import Host
from transect.fit import PRIORS
from transect.kernels import KERNELS
from transect.likelihood import Around, LogNormal, Shrunk, dimension_scaled, shrunk

both_kernels = pytest.mark.parametrize("kernel", sorted(KERNELS))
both_scales = pytest.mark.parametrize("ard", [False, True])
every_prior = pytest.mark.parametrize("prior", sorted(PRIORS))


def thetas(size: int, count: int = 4) -> Host:
    """Logarithms (count, size + 2) of length-scales, amplitude and noise."""
    rng = np.random.default_rng(7)
    low = [math.log(0.3)] * size + [-1.0, math.log(1e-3)]
    high = [math.log(5.0)] * size + [1.0, math.log(0.5)]
    return rng.uniform(low, high, (count, size + 2))


def sklearn_log_likelihood(kernel: str, X: Host, u: Host, theta: Host) -> tuple[float, Host]:
    """Value and gradient in (log ℓ, log amplitude, log noise), by scikit-learn."""
    scale = np.exp(theta[:-2])
    base = RBF(scale) if kernel == "rbf" else Matern(scale, nu=2.5)
    whole = ConstantKernel(math.exp(theta[-2])) * base + WhiteKernel(math.exp(theta[-1]))
    gp = GaussianProcessRegressor(whole, alpha=0.0, optimizer=None).fit(X, u)
    value, grad = gp.log_marginal_likelihood(gp.kernel_.theta, eval_gradient=True)
    return float(value), np.concatenate([grad[1:-1], grad[:1], grad[-1:]])


@both_scales
@both_kernels
def test_likelihood_and_gradient_are_scikit_learns(kernel: str, ard: bool) -> None:
    X, u = make_data(25, 4)
    fixed = log_posterior(kernel, X, u, ard, "none", learn_mean=False)
    learnt = log_posterior(kernel, X, u, ard, "none")
    for theta in thetas(4 if ard else 1):
        assert fixed.mean(theta) == 0.0
        check_likelihood(kernel, X, u, theta, fixed(theta))
        check_likelihood(kernel, X, u - learnt.mean(theta), theta, learnt(theta))


def check_likelihood(kernel: str, X: Host, u: Host, theta: Host, got: tuple[float, Host]) -> None:
    expected, expected_grad = sklearn_log_likelihood(kernel, X, u, theta)
    assert got[0] == pytest.approx(expected, rel=1e-10, abs=1e-9)
    np.testing.assert_allclose(got[1], expected_grad, rtol=1e-8, atol=1e-8)


@both_scales
@both_kernels
def test_mean_is_the_best_constant(kernel: str, ard: bool) -> None:
    X, u = make_data(25, 4)
    posterior = log_posterior(kernel, X, u, ard, "none")
    for theta in thetas(4 if ard else 1):
        mean, (value, _) = posterior.mean(theta), posterior(theta)
        for other in (mean - 0.1, mean + 0.1):
            moved = log_posterior(kernel, X, u - other, ard, "none", learn_mean=False)
            assert moved(theta)[0] < value
        # A shift of all values moves the mean with them and changes nothing else.
        shifted = log_posterior(kernel, X, u + 2.0, ard, "none")
        assert shifted.mean(theta) == pytest.approx(mean + 2.0, abs=1e-11)
        assert shifted(theta)[0] == pytest.approx(value, abs=1e-9)


@both_scales
@both_kernels
def test_priors_add_their_log_densities(kernel: str, ard: bool) -> None:
    X, u = make_data(25, 4)
    priors = dimension_scaled(4)
    assert isinstance(priors.lengthscale, LogNormal)
    assert isinstance(priors.noise, LogNormal)
    for theta in thetas(4 if ard else 1):
        value, _ = log_posterior(kernel, X, u, ard, "dimension-scaled")(theta)
        bare, _ = log_posterior(kernel, X, u, ard, "none")(theta)
        added = np.sum(scipy_log_density(priors.lengthscale, np.exp(theta[:-2])))
        added += np.sum(scipy_log_density(priors.noise, np.exp(theta[-1:])))
        assert value == pytest.approx(bare + added, rel=1e-12)


@every_prior
@both_scales
@both_kernels
def test_gradient_is_the_derivative(kernel: str, ard: bool, prior: str) -> None:
    X, u = make_data(25, 4)
    posterior = log_posterior(kernel, X, u, ard, prior)
    at = thetas(4 if ard else 1)
    grad = np.array([posterior(theta)[1] for theta in at])
    numeric = numeric_gradient(lambda t: np.array([posterior(row)[0] for row in t]), at, 3e-3)
    if prior == "dimension-scaled":  # the amplitude is fixed, so it must not move
        assert np.all(grad[:, -2] == 0.0)
        numeric[:, -2] = 0.0
    # Values of size 100 carry rounding of 1e-12 or so; the step divides it.
    np.testing.assert_allclose(grad, numeric, rtol=1e-6, atol=1e-7)


def test_matrix_that_cannot_be_factored_is_minus_infinity() -> None:
    X, u = np.zeros((5, 2)), np.arange(5.0)
    value, grad = log_posterior("rbf", X, u, False, "none")(np.array([0.0, 0.0, -800.0]))
    assert value == -math.inf
    assert np.array_equal(grad, np.zeros(3))


def scipy_log_density(prior: LogNormal, x: Host) -> Host:
    return np.asarray(lognorm(s=prior.spread, scale=math.exp(prior.loc)).logpdf(x))


@given(st.floats(-5.0, 5.0), st.floats(0.1, 3.0), st.floats(-6.0, 6.0))
@settings(deadline=None, max_examples=50)
def test_log_normal_is_scipys(loc: float, spread: float, log_x: float) -> None:
    prior = LogNormal(loc, spread)
    value, slope = prior.log_density(log_x)
    expected = scipy_log_density(prior, np.exp(np.array([log_x])))[0]
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-11)
    h = 1e-3  # the density is a parabola in log x: central differences are exact
    numeric = (prior.log_density(log_x + h)[0] - prior.log_density(log_x - h)[0]) / (2.0 * h)
    assert slope == pytest.approx(numeric, rel=1e-7, abs=1e-8)


def test_log_normal_sums_over_lengthscales() -> None:
    prior, log_x = LogNormal(0.5, 1.5), np.array([-1.0, 0.2, 3.0])
    value, slope = prior.log_density(log_x)
    assert value == pytest.approx(sum(prior.log_density(x)[0] for x in log_x), rel=1e-14)
    assert np.array_equal(slope, [prior.log_density(x)[1] for x in log_x])


@pytest.mark.parametrize(("loc", "spread"), [(0.0, 1.0), (2.0, math.sqrt(3.0)), (-4.0, 0.3)])
def test_log_normal_mode_is_exp_of_loc_minus_spread_squared(loc: float, spread: float) -> None:
    prior, mode = LogNormal(loc, spread), loc - spread**2
    top, slope = prior.log_density(mode)
    assert slope == pytest.approx(0.0, abs=1e-12)
    assert top > prior.log_density(mode + 0.01)[0]
    assert top > prior.log_density(mode - 0.01)[0]


@pytest.mark.parametrize("D", [1, 20, 500])
def test_dimension_scaled_priors(D: int) -> None:
    """Half of our length-scale, on a box twice as wide, has the published distribution."""
    priors = dimension_scaled(D)
    assert isinstance(priors.lengthscale, LogNormal)
    published = lognorm(s=math.sqrt(3.0), scale=math.exp(math.sqrt(2.0)) * math.sqrt(D))
    x = np.geomspace(0.1, 100.0, 9) * math.sqrt(D)
    ours = scipy_log_density(priors.lengthscale, 2.0 * x)
    np.testing.assert_allclose(ours, published.logpdf(x) - math.log(2.0), rtol=1e-12)
    assert priors.noise == LogNormal(-4.0, 1.0)
    assert not priors.learn_amplitude


def test_shrunk_length_scales_are_normal_around_their_mean() -> None:
    prior = Shrunk(loc=0.3, wide=0.7, spread=0.2)
    log_l = np.array([0.1, 0.4, -0.3, 0.9])
    m = log_l.mean()
    expected = norm(m, 0.2).logpdf(log_l).sum() + norm(0.3, 0.7).logpdf(m)
    at_top = 4 * norm(0.0, 0.2).logpdf(0.0) + norm(0.0, 0.7).logpdf(0.0)
    value, slope = prior.log_density(log_l)
    assert value == pytest.approx(expected - at_top, rel=1e-12)
    top, flat = prior.log_density(np.full(4, 0.3))
    assert top == 0.0 > value
    assert np.all(flat == 0.0)
    assert slope[3] < slope[0] < slope[2], "towards each other"


@pytest.mark.parametrize("D", [1, 20, 500])
def test_the_common_length_scale_grows_with_the_dimension(D: int) -> None:
    prior = shrunk(D).lengthscale
    assert prior is not None
    apart = [prior.log_density(np.full(D, math.log(c * math.sqrt(D))))[0] for c in (0.5, 1.0, 2.0)]
    assert apart[0] == pytest.approx(apart[2])
    assert apart[1] == pytest.approx(0.0, abs=1e-12)
    assert apart[1] > apart[0]
    assert shrunk(D).learn_amplitude


def test_little_noise_is_most_likely() -> None:
    noise = shrunk(100).noise
    assert noise == Around(math.log(1e-4), 0.5)
    assert noise.log_density(math.log(1e-4)) == (0.0, 0.0)
    assert noise.log_density(math.log(1e-2))[1] < 0.0 < noise.log_density(math.log(1e-6))[1]


@given(st.floats(-20.0, 5.0))
def test_a_prior_around_a_place_falls_like_a_normal_then_linearly(x: float) -> None:
    prior = Around(loc=-3.0, spread=0.5)
    value, slope = prior.log_density(x)
    assert value <= 0.0
    assert abs(slope) < 2.0
    step = 1e-5
    numeric = (prior.log_density(x + step)[0] - prior.log_density(x - step)[0]) / (2.0 * step)
    assert slope == pytest.approx(numeric, abs=1e-6)
    z = (x + 3.0) / 0.5
    assert -0.5 * z * z - 1e-12 <= value <= 1.0 - abs(z) + 1e-12
