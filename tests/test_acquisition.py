"""Acquisition functions against other formulas for them, and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from helpers import numeric_gradient
from transect._array import Host
from transect.acquisition import UCB, LogEI, _log_h

BRANCHES = (-1.0, -100.0)  # where the formula for log h changes
# Below -100 a series of four terms is used; the first one left out is 945·u⁻⁸. Above it
# 1 + u·Φ/φ has cancelled to 1e-4 of its terms, so rounding is a few times 1e-12.
SERIES = 5e-12


def moment(u: float, power: int) -> float:
    """∫₀^∞ s^power·exp(u·s - s²/2) ds for u ≤ 1, all of it positive: nothing cancels."""
    scale = max(1.0, -u)

    def integrand(r: float) -> float:
        s = r / scale
        return s**power * math.exp(u * s - 0.5 * s * s)

    return quad(integrand, 0.0, 60.0, epsabs=0.0, epsrel=1e-13, limit=200)[0] / scale


def reference(u: float) -> tuple[float, float, float]:
    """Log h, Φ/h, φ/h: h(u) = φ(u)·moment(u, 1) and Φ(u) = φ(u)·moment(u, 0)."""
    if u > 1.0:
        h = norm.pdf(u) + u * norm.cdf(u)
        return math.log(h), norm.cdf(u) / h, norm.pdf(u) / h
    c = moment(u, 1)
    log_pdf = -0.5 * u * u - 0.5 * math.log(2.0 * math.pi)
    return log_pdf + math.log(c), moment(u, 0) / c, 1.0 / c


def around(u: float) -> Host:
    """Numbers on both sides of u, from the next one to a tenth away."""
    gaps = np.geomspace(1e-15, 0.1, 60) * abs(u)
    return np.unique(np.concatenate([u - gaps, [u], u + gaps]))


U = np.unique(
    np.concatenate(
        [
            -np.geomspace(1e-3, 1e8, 80),
            np.linspace(-3.0, 30.0, 60),
            around(-1.0)[::6],
            around(-100.0)[::6],
        ]
    )
)


def test_log_h_is_the_integral() -> None:
    expected = np.array([reference(float(u)) for u in U]).T
    log_h, cdf_over_h, pdf_over_h = _log_h(U)
    np.testing.assert_allclose(log_h, expected[0], rtol=2e-13, atol=2e-14)
    np.testing.assert_allclose(cdf_over_h, expected[1], rtol=SERIES)
    np.testing.assert_allclose(pdf_over_h, expected[2], rtol=SERIES, atol=1e-200)


def test_log_h_far_above_and_below() -> None:
    log_h, cdf_over_h, pdf_over_h = _log_h(np.array([1e8, 1e150, -1e8]))
    np.testing.assert_allclose(log_h[:2], [math.log(1e8), math.log(1e150)], rtol=1e-15)
    np.testing.assert_allclose(cdf_over_h, [1e-8, 1e-150, 1e8], rtol=1e-12)
    np.testing.assert_allclose(pdf_over_h, [0.0, 0.0, 1e16], rtol=1e-12)
    expected = -0.5e16 - 0.5 * math.log(2.0 * math.pi) - 2.0 * math.log(1e8)
    assert log_h[2] == pytest.approx(expected, abs=2.0)  # two units in the last place


def test_log_h_rises_everywhere() -> None:
    u = np.unique(np.concatenate([-np.geomspace(1e-6, 1e8, 4000), np.geomspace(1e-6, 1e8, 4000)]))
    assert np.all(np.diff(_log_h(u)[0]) > 0.0)


@pytest.mark.parametrize("branch", BRANCHES)
def test_no_jump_where_the_formula_changes(branch: float) -> None:
    u = around(branch)
    log_h, cdf_over_h, pdf_over_h = _log_h(u)
    step = np.diff(u)
    # What the values may change by: slope times step, rounding, and the series' error.
    slope = np.maximum(np.abs(u[1:]), 1.0) + 1.0
    allowed = 1.1 * slope * step + 2e-15 * np.abs(log_h[1:]) + SERIES * (branch < -50.0)
    assert np.all(np.abs(np.diff(log_h)) <= allowed)
    for ratio in (cdf_over_h, pdf_over_h):
        relative = np.abs(np.diff(ratio)) / ratio[1:]
        assert np.all(relative <= 3.0 * step / abs(branch) + 1e-11 + SERIES * (branch < -50.0))


@given(st.floats(-50.0, 50.0), st.floats(1e-8, 1e4), st.floats(0.0, 1e4))
@settings(deadline=None, max_examples=100)
def test_ucb_and_its_partials(mean: float, var: float, beta: float) -> None:
    m, v = np.array([mean]), np.array([var])
    value, by_mean, by_var = UCB(beta).partials(m, v)
    assert value[0] == pytest.approx(mean + math.sqrt(beta * var), rel=1e-14, abs=1e-14)
    assert np.array_equal(value, UCB(beta).value(m, v))
    assert by_mean[0] == 1.0
    assert by_var[0] == pytest.approx(0.5 * math.sqrt(beta / var), rel=1e-14)


def test_partials_of_ucb_are_its_derivatives() -> None:
    check_partials(UCB(4.0), np.linspace(-3.0, 3.0, 7), np.geomspace(0.1, 4.0, 7))


@pytest.mark.parametrize("best", [-1.0, 0.0, 2.5])
def test_partials_of_log_ei_are_its_derivatives(best: float) -> None:
    check_partials(LogEI(best), np.linspace(-3.0, 3.0, 25), np.tile([0.1, 0.5, 1.0, 2.0, 4.0], 5))


@pytest.mark.parametrize("u", [-0.5, -20.0, -99.0, -150.0, -1e4])
def test_partials_of_log_ei_on_every_branch(u: float) -> None:
    """With σ = |u|, so that the differences' steps are small against 1/u."""
    sigma = max(1.0, -u)
    check_partials(LogEI(0.0), np.array([u * sigma]), np.array([sigma**2]), step=sigma * 1e-3)


def check_partials(acquisition: UCB | LogEI, mean: Host, var: Host, step: float = 1e-3) -> None:
    def value(at: Host) -> Host:
        return np.asarray(acquisition.value(at[:, 0], at[:, 1]))

    got, by_mean, by_var = acquisition.partials(mean, var)
    at = np.stack([mean, var], axis=1)
    numeric = numeric_gradient(value, at, step)
    np.testing.assert_allclose(got, value(at), rtol=1e-15)
    # Rounding of the values (1e-16 of them) is divided by the step.
    rounding = 1e-14 * np.max(np.abs(got)) / step
    np.testing.assert_allclose(by_mean, numeric[:, 0], rtol=1e-7, atol=rounding)
    np.testing.assert_allclose(by_var, numeric[:, 1], rtol=1e-6, atol=rounding)


@given(st.floats(-5.0, 5.0), st.floats(0.3, 25.0), st.floats(-5.0, 5.0))
@settings(deadline=None, max_examples=100)
def test_log_ei_is_the_logarithm_of_ei(mean: float, var: float, best: float) -> None:
    sigma = math.sqrt(var)
    u = (mean - best) / sigma  # at least -18: EI does not underflow
    ei = sigma * (norm.pdf(u) + u * norm.cdf(u))
    if u < -4.0:  # this formula for EI cancels; the improvement's integral does not
        ei = sigma * norm.pdf(u) * moment(u, 1)
    got = LogEI(best).value(np.array([mean]), np.array([var]))[0]
    assert got == pytest.approx(math.log(ei), rel=1e-11, abs=1e-11)


def test_log_ei_by_sampling_the_improvement() -> None:
    """From the definition E[max(f - best, 0)]; the mean of 4e5 draws is good to 0.5 %."""
    draws = np.random.default_rng(0).normal(0.3, 0.8, 400_000)
    sampled = math.log(np.mean(np.maximum(draws - 0.9, 0.0)))
    assert LogEI(0.9).value(np.array(0.3), np.array(0.64)) == pytest.approx(sampled, abs=0.01)


def test_log_ei_is_finite_where_ei_underflows() -> None:
    mean, var = np.array([-1e3, -1.0, 1e3]), np.array([1e-12, 1e-12, 1e-12])
    for part in LogEI(0.0).partials(mean, var):
        assert np.all(np.isfinite(part))
    value, by_mean, _ = LogEI(0.0).partials(mean, var)
    assert np.all(np.diff(value) > 0.0)
    assert np.all(by_mean > 0.0)
