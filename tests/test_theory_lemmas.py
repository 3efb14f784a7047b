"""The lemmas and the regret bounds against independent transcriptions and quoted numbers.

Here the formulas are checked; test_theory_coverage.py checks by sampling what they promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from helpers import covariance
from transect import RBF, GaussianProcess, Hyperparameters
from transect.theory import (
    corner_distance,
    corrected_beta,
    corrected_lemma3_beta,
    corrected_lemma4,
    corrected_regret_bound,
    corrected_step_bound,
    information_gain,
    lemma2_beta,
    lemma3_beta,
    lemma4,
    lipschitz,
    ms_ucb_beta,
    published_distance,
    rate_exponent,
    regret_bound,
    slice_count,
    step_bound,
    sup_norm_distance,
)
from transect.theory.irwin_hall import log_cdf, log_quantile

times = st.integers(1, 10_000)
deltas = st.floats(0.001, 0.999)
constants = st.floats(0.5, 50.0)
counts = st.integers(1, 10**9)
Bound = Callable[..., float]


def root_of_factorial(n: int) -> float:
    """(n!)^{1/n}, n ≤ 150."""
    return math.pow(math.factorial(n), 1 / n)


# --- sums of uniforms ------------------------------------------------------------------


def exact_log_cdf(x: float, n: int) -> float:
    """Log P[U_1 + … + U_n ≤ x] in rational arithmetic."""
    at = Fraction(x)
    terms = ((-1) ** k * math.comb(n, k) * (at - k) ** n for k in range(math.floor(at) + 1))
    p = Fraction(sum(terms), math.factorial(n))
    if 2 * p > 1:
        return math.log1p(-float(1 - p))
    return math.log(p.numerator) - math.log(p.denominator)


@pytest.mark.parametrize("n", [*range(1, 26), 30, 40, 50, 60])
def test_sums_of_uniforms_against_rational_arithmetic(n: int) -> None:
    """Ten digits of the probability, however small; of its complement where it is large."""
    for share in (0.001, 0.01, 0.02, 0.04, 0.1, 0.2, 0.3, 0.4, 0.47, 0.499, 0.5):
        x = share * n
        expected = exact_log_cdf(x, n)
        assert log_cdf(x, n) == pytest.approx(expected, rel=1e-12, abs=1e-10)
        above = math.log1p(-math.exp(expected))
        assert log_cdf(n - x, n) == pytest.approx(above, rel=1e-9)


@given(st.integers(1, 60), st.floats(0.01, 0.99))
@settings(deadline=None, max_examples=100)
def test_quantiles_against_rational_arithmetic(n: int, share: float) -> None:
    log_p = exact_log_cdf(share * n, n)
    assert log_quantile(log_p, n) == pytest.approx(share * n, rel=1e-6, abs=1e-9)


def test_short_sums() -> None:
    """One uniform and two: x, x²/2 and 1 - (2 - x)²/2."""
    for x in (0.1, 0.5, 0.9):
        assert log_cdf(x, 1) == pytest.approx(math.log(x), rel=1e-12)
        assert log_cdf(x, 2) == pytest.approx(math.log(x**2 / 2), rel=1e-12)
        assert log_cdf(1 + x, 2) == pytest.approx(math.log(1 - (1 - x) ** 2 / 2), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 20, 21, 1000, 100_000])
def test_ends_and_middle(n: int) -> None:
    assert log_cdf(0.0, n) == log_cdf(-1.0, n) == -math.inf
    assert log_cdf(float(n), n) == log_cdf(n + 1.0, n) == 0.0
    assert log_cdf(n / 2, n) == pytest.approx(math.log(0.5), rel=1e-9)
    assert log_quantile(math.log(0.5), n) == pytest.approx(n / 2, rel=1e-9)
    assert log_quantile(0.0, n) == n


@pytest.mark.parametrize("n", [2, 21, 95, 1000, 100_000])
def test_below_one_it_is_a_power(n: int) -> None:
    """x^n/n!, and continuous at one, where the formula changes."""
    for x in (1e-3, 0.5, 1.0):
        assert log_cdf(x, n) == pytest.approx(n * math.log(x) - math.lgamma(n + 1), rel=1e-14)
    assert log_cdf(1.0 + 1e-9, n) == pytest.approx(log_cdf(1.0, n), abs=2e-9 * n + 1e-9)
    log_p = 3.0 * n * math.log(0.1) - math.lgamma(n + 1)
    assert log_quantile(log_p, n) == pytest.approx(1e-3, rel=1e-9)


@pytest.mark.parametrize("sigmas", [-6.0, -4.0, -2.0, -1.0, -0.1, 0.1, 1.0, 2.0])
def test_sums_of_many_uniforms_are_normal(sigmas: float) -> None:
    """At n = 10⁵, up to Edgeworth's first correction, which is of order 1/n."""
    n = 100_000
    x = n / 2 + sigmas * math.sqrt(n / 12)
    # The excess kurtosis -6/(5n) moves the distribution function by its share of φ·He₃.
    density = math.exp(-(sigmas**2) / 2) / math.sqrt(2 * math.pi)
    correction = (1.2 / n) / 24 * (sigmas**3 - 3 * sigmas) * density
    expected = math.log(math.exp(float(log_ndtr(sigmas))) + correction)
    assert log_cdf(x, n) == pytest.approx(expected, abs=3e-7)
    assert log_cdf(x, n) != pytest.approx(float(log_ndtr(sigmas)), abs=1e-9)


@given(st.integers(2, 100_000), st.floats(0.001, 0.99), st.floats(1.001, 1.2))
@settings(deadline=None, max_examples=100)
def test_distribution_function_rises_and_is_inverted(n: int, share: float, factor: float) -> None:
    x = share * n
    log_p = log_cdf(x, n)
    assert log_cdf(factor * x, n) > log_p or log_p > -1e-12
    if -1e6 < log_p < -1e-6:
        assert log_quantile(log_p, n) == pytest.approx(x, rel=1e-8)


def test_deep_tails() -> None:
    """Far below what a float holds the logarithm stays exact: against Chernoff's bound.

    P[S ≤ x] ≤ M(s)^n·e^{-sx}, and the least of these misses by a power of n only.
    """
    for n in (100, 1000, 100_000):
        for share in (0.02, 0.1, 0.3):
            s = -np.geomspace(1e-3, 1e3, 20_001)
            chernoff = float(np.min(n * (np.log(-np.expm1(s)) - np.log(-s)) - s * share * n))
            log_p = log_cdf(share * n, n)
            assert chernoff - 2.0 * math.log(n) < log_p < chernoff


# --- Lemmas 2 and 3 --------------------------------------------------------------------


@given(times, deltas)
@settings(deadline=None, max_examples=50)
def test_lemma2(t: int, delta: float) -> None:
    """β⁰_t = 2 log(π²t²/(6δ)), with which the two tails of a normal are at most 6δ/(π²t²)."""
    beta = lemma2_beta(t, delta)
    assert beta == pytest.approx(2 * math.log(math.pi**2 * t**2 / (6 * delta)), rel=1e-13)
    assert math.exp(-beta / 2) == pytest.approx(6 * delta / (math.pi**2 * t**2), rel=1e-12)


@given(times, st.integers(1, 5000), st.integers(1, 100), deltas, constants, constants)
@settings(deadline=None, max_examples=100)
def test_lemma3(t: int, D: int, d: int, delta: float, a: float, b: float) -> None:
    """β¹_t = 2 log(π²t²/(3δ)) + 2d log(2bd·sqrt(log(2Da/δ))·t²), the last log at least 0."""
    cover = 2 * b * d * math.sqrt(math.log(max(2 * D * a / delta, 1.0))) * t**2
    expected = 2 * math.log(math.pi**2 * t**2 / (3 * delta)) + 2 * d * math.log(max(cover, 1.0))
    assert lemma3_beta(t, D, d, delta, a, b) == pytest.approx(expected, rel=1e-13)


@given(times, st.integers(1, 5000), deltas, constants)
@settings(deadline=None, max_examples=50)
def test_lemma3_without_free_coordinates(t: int, D: int, delta: float, b: float) -> None:
    """β¹_t = 2 log(π²t²/(6δ)), whatever D, a and b."""
    expected = 2 * math.log(math.pi**2 * t**2 / (6 * delta))
    assert lemma3_beta(t, D, 0, delta, 2.0, b) == pytest.approx(expected, rel=1e-13)


@given(times, st.integers(1, 5000), st.integers(1, 20), deltas, constants, constants)
@settings(deadline=None, max_examples=50)
def test_published_beta_is_lemma3_at_a_third(
    t: int, D: int, d: int, delta: float, a: float, b: float
) -> None:
    """Hence 2bd and 6Da in β_t, not 4bd and 12Da, and no less than Lemma 2 asks for."""
    beta = ms_ucb_beta(t, D, d, delta, a, b)
    assert beta == pytest.approx(lemma3_beta(t, D, d, delta / 3, a, b), rel=1e-13)
    assert beta > lemma2_beta(t, delta / 3)


def test_guards() -> None:
    """Arguments of logarithms below one count as one: no term is negative, no root undefined."""
    plain = 2 * math.log(math.pi**2 / 0.3)
    assert lemma3_beta(1, 10, 2, 0.1, 1.0, 1e-9) == pytest.approx(plain, rel=1e-14)
    assert lemma3_beta(1, 1, 2, 0.1, 1e-9, 1.0) == pytest.approx(plain, rel=1e-14)
    assert lipschitz(1, 0.1, 1e-9) == 0.0


@given(times, st.integers(1, 500), st.integers(0, 10), st.integers(1, 10**12), deltas)
@settings(deadline=None, max_examples=50)
def test_corrected_lemma3(t: int, D: int, d: int, m: int, delta: float) -> None:
    """+ 2 log m: what is left to each slice of the failure probability is one part in m."""
    beta = corrected_lemma3_beta(t, D, d, m, delta, 1.5, 2.0)
    printed = lemma3_beta(t, D, d, delta, 1.5, 2.0)
    assert beta == pytest.approx(printed + 2 * math.log(m), rel=1e-13)
    assert math.exp(-(beta - printed) / 2) == pytest.approx(1 / m, rel=1e-9)


# --- Lemma 4: distances ----------------------------------------------------------------


def test_numbers_of_lemma4() -> None:
    """At n = 95, |Z| = 200, δ = 0.1: 34.6 in the proof, 69.2 in the text, 182 of 190, 82.8."""
    n, m = 95, 200
    assert published_distance(n, m) / 2 == pytest.approx(34.6, abs=0.05)
    assert published_distance(n, m) == pytest.approx(69.2, abs=0.05)
    assert sup_norm_distance(n, m) == pytest.approx(182, abs=0.5)
    assert 2 * n == 190
    assert corner_distance(n, m) == pytest.approx(82.8, abs=0.05)


@given(st.integers(1, 150), counts, deltas)
@settings(deadline=None, max_examples=100)
def test_distances(n: int, m: int, delta: float) -> None:
    """2·(n!)^{1/n}·(log(2/δ)/m)^{1/n} and 2n·(log(2/δ)/m)^{1/n}, the latter at most 2n."""
    root = (math.log(2 / delta) / m) ** (1 / n)
    assert published_distance(n, m, delta) == pytest.approx(
        2 * root_of_factorial(n) * root, rel=1e-11
    )
    assert sup_norm_distance(n, m, delta) == pytest.approx(2 * n * min(root, 1.0), rel=1e-12)


@given(st.integers(1, 60), st.integers(1, 10**6), deltas)
@settings(deadline=None, max_examples=60)
def test_distance_from_a_corner(n: int, m: int, delta: float) -> None:
    """All of m points are farther away with probability δ/2: (1 - F(θ/2))^m = δ/2."""
    share = math.exp(exact_log_cdf(corner_distance(n, m, delta) / 2, n))
    assert m * math.log1p(-share) == pytest.approx(math.log(delta / 2), rel=1e-6)


@given(st.integers(1, 10**9), deltas)
@settings(deadline=None, max_examples=50)
def test_distance_from_a_corner_on_a_line(m: int, delta: float) -> None:
    """For n = 1, 2·(1 - (δ/2)^{1/m}); many points, log(2/δ)/m of the box apart."""
    expected = -2 * math.expm1(math.log(delta / 2) / m)
    assert corner_distance(1, m, delta) == pytest.approx(expected, rel=1e-9)


@given(st.integers(1, 2000), st.integers(1, 10**15), deltas)
@settings(deadline=None, max_examples=100)
def test_cubes_are_never_below_the_exact_distance(n: int, m: int, delta: float) -> None:
    assert corner_distance(n, m, delta) <= sup_norm_distance(n, m, delta) * (1 + 1e-9) <= 2.1 * n


@given(st.integers(1, 20), st.integers(0, 60), deltas)
@settings(deadline=None, max_examples=100)
def test_published_distance_holds_as_far_as_the_ball_fits(n: int, k: int, delta: float) -> None:
    """Up to 2, where a ball around a corner first leaves the box; no closer than it must be."""
    m = 2**k
    published, exact = published_distance(n, m, delta), corner_distance(n, m, delta)
    if published <= 2.0:
        assert exact <= published * (1 + 1e-9)
    if m > 10**4 * math.factorial(n):
        assert exact == pytest.approx(published, rel=1e-3)


def test_published_distance_is_too_small_beyond() -> None:
    assert published_distance(95, 200) < corner_distance(95, 200)
    assert published_distance(10, 200) < corner_distance(10, 200)


@pytest.mark.parametrize("distance", [published_distance, sup_norm_distance, corner_distance])
@given(st.integers(1, 3000), st.integers(10, 10**8), st.floats(0.001, 0.9))
@settings(deadline=None, max_examples=40)
def test_distances_are_monotone(distance: Bound, n: int, m: int, delta: float) -> None:
    """They fall as slices are added, and grow as δ falls and as dimensions are added.

    The published one does not where (log(2/δ)/m)^{1/n} is above one; hence m ≥ 10.
    """
    at = distance(n, m, delta)
    assert at > 0.0
    assert distance(n, 2 * m, delta) <= at * (1 + 1e-9)
    assert distance(n, m, delta / 2) >= at * (1 - 1e-9)
    assert distance(n + 1, m, delta) >= at * (1 - 1e-9)


@pytest.mark.parametrize(("n", "digits"), [(2, 400), (95, 512), (100_000, 20_000)])
def test_distances_with_more_slices_than_floats_can_count(n: int, digits: int) -> None:
    """At α = 2n - 1 there are some t^{2n} of them; where the ball fits, both forms agree."""
    m = 10**digits
    distances = [of(n, m) for of in (corner_distance, published_distance, sup_norm_distance)]
    assert 0.0 < min(distances) <= max(distances) < 2.0 * n
    assert (distances[0] == pytest.approx(distances[1], rel=1e-9)) == (n < 100_000)


# --- Lemma 4: values -------------------------------------------------------------------


@given(st.integers(1, 5000), deltas, constants, constants)
@settings(deadline=None, max_examples=50)
def test_lipschitz(D: int, delta: float, a: float, b: float) -> None:
    """L = b·sqrt(log(2Da/δ)), so that D·a·exp(-(L/b)²) = δ/2."""
    L = lipschitz(D, delta, a, b)
    assert pytest.approx(b * math.sqrt(math.log(max(2 * D * a / delta, 1.0))), rel=1e-13) == L
    if 2 * D * a > delta:
        assert D * a * math.exp(-((L / b) ** 2)) == pytest.approx(delta / 2, rel=1e-9)


@given(st.integers(1, 100), counts, st.integers(0, 20), deltas, constants, constants)
@settings(deadline=None, max_examples=50)
def test_lemma4(n: int, m: int, d: int, delta: float, a: float, b: float) -> None:
    """v0·(log(2/δ)/m)^{1/n}, v0 = 2b·sqrt(log(2Da/δ))·(n!)^{1/n}."""
    D = n + d
    v0 = 2 * b * math.sqrt(math.log(max(2 * D * a / delta, 1.0))) * root_of_factorial(n)
    expected = v0 * (math.log(2 / delta) / m) ** (1 / n)
    assert lemma4(n, m, D, delta, a, b) == pytest.approx(expected, rel=1e-11)


@given(st.integers(1, 60), st.integers(1, 10**6), deltas, constants, constants, times)
@settings(deadline=None, max_examples=50)
def test_corrected_lemma4(n: int, m: int, delta: float, a: float, b: float, t: int) -> None:
    """L times the distance from a corner; for all t at once that at 6δ/(π²t²)."""
    L = lipschitz(n + 2, delta, a, b)
    once = L * corner_distance(n, m, delta)
    assert corrected_lemma4(n, m, n + 2, delta, a, b) == pytest.approx(once, rel=1e-12)
    each = L * corner_distance(n, m, 6 * delta / (math.pi**2 * t**2))
    always = corrected_lemma4(n, m, n + 2, delta, a, b, t)
    assert always == pytest.approx(each, rel=1e-12)
    assert always >= once * (1 - 1e-12)


def test_shares_of_delta_add_up() -> None:
    t = np.arange(1.0, 1e6)
    assert np.sum(6 / (math.pi**2 * t**2)) == pytest.approx(1.0, abs=1e-6)


# --- the regret of a step --------------------------------------------------------------

fixed = st.integers(1, 60)
free = st.integers(0, 10)
sigmas = st.floats(0.0, 2.0)


@given(times, fixed, free, counts, sigmas, deltas, constants, constants)
@settings(deadline=None, max_examples=60)
def test_step_bound(
    t: int, n: int, d: int, m: int, sigma: float, delta: float, a: float, b: float
) -> None:
    """2·sqrt(β_t)·σ + 1/t² + v0·(log(6/δ)/m)^{1/n}."""
    D = n + d
    v0 = 2 * b * math.sqrt(math.log(max(2 * D * a / delta, 1.0))) * root_of_factorial(n)
    expected = (
        2 * math.sqrt(ms_ucb_beta(t, D, d, delta, a, b)) * sigma
        + 1 / t**2
        + v0 * (math.log(6 / delta) / m) ** (1 / n)
    )
    assert step_bound(t, D, d, m, sigma, delta, a, b) == pytest.approx(expected, rel=1e-11)


@given(times, fixed, free, st.integers(1, 10**6), sigmas, deltas, constants, constants)
@settings(deadline=None, max_examples=60)
def test_corrected_step_bound(
    t: int, n: int, d: int, m: int, sigma: float, delta: float, a: float, b: float
) -> None:
    """The corrected β_t at δ, and Lemma 4 at δ/3, for all t at once."""
    D = n + d
    L = b * math.sqrt(math.log(max(6 * D * a / delta, 1.0)))
    expected = (
        2 * math.sqrt(corrected_beta(t, D, d, m, delta, a, b)) * sigma
        + 1 / t**2
        + L * corner_distance(n, m, 2 * delta / (math.pi**2 * t**2))
    )
    assert corrected_step_bound(t, D, d, m, sigma, delta, a, b) == pytest.approx(expected, rel=1e-9)


def test_step_bound_on_the_whole_box() -> None:
    """No coordinate fixed, no distance."""
    beta = corrected_beta(7, 4, 4, 1, 0.1)
    expected = 2 * math.sqrt(beta) * 0.3 + 1 / 49
    assert corrected_step_bound(7, 4, 4, 1, 0.3) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("bound", [step_bound, corrected_step_bound])
@given(times, fixed, st.integers(1, 10), st.integers(10, 10**6), deltas, constants)
@settings(deadline=None, max_examples=40)
def test_step_bounds_are_monotone(
    bound: Bound, t: int, n: int, d: int, m: int, delta: float, b: float
) -> None:
    """In σ, b and δ; without deviation, more slices are better and more dimensions worse."""
    at = bound(t, n + d, d, m, 0.0, delta, 1.0, b)
    slack = 1 - 1e-9
    assert bound(t, n + d, d, 2 * m, 0.0, delta, 1.0, b) * slack <= at
    assert bound(t, n + d + 1, d, m, 0.0, delta, 1.0, b) >= at * slack
    assert bound(t, n + d, d, m, 0.0, 0.9 * delta, 1.0, b) > at * slack
    assert bound(t, n + d, d, m, 0.0, delta, 1.0, 2 * b) > at * slack
    assert bound(t, n + d, d, m, 0.5, delta, 1.0, b) > at


# --- the regret of a run ---------------------------------------------------------------


def transcribed_regret(T: int, D: int, d: int, n0: int, alpha: int, gamma: float) -> float:
    """Proposition "Bounding R_T" at δ = 0.1, a = 1.5, b = 2, σ² = 0.01."""
    n, log6 = D - d, math.log(60)
    C1 = 8 / math.log(1 + 100)
    v0 = 2 * 2 * math.sqrt(math.log(2 * D * 1.5 / 0.1)) * root_of_factorial(n)
    first = math.sqrt(ms_ucb_beta(T, D, d, 0.1, 1.5, 2.0) * C1 * T * gamma)
    second = 2 * v0 * (log6 / n0) ** (1 / n)
    if alpha >= 2 * n:
        factor = 1.0
    elif alpha >= n - 1:
        factor = 1 + math.log(T)
    else:
        factor = n / (n - alpha - 1) * T ** (1 - (alpha + 1) / n)
    return float(first + second * factor + math.pi**2 / 6)


@pytest.mark.parametrize("d", [0, 1, 5])
@pytest.mark.parametrize("n", [1, 2, 5, 95])
def test_regimes_of_the_regret_bound(n: int, d: int) -> None:
    """α ≥ 2n, n - 1 ≤ α < 2n, 0 ≤ α < n - 1, on both sides of both borders."""
    for alpha in {0, 1, max(n - 2, 0), n - 1, n, 2 * n - 1, 2 * n, 2 * n + 1}:
        for T, n0 in ((1, 1), (300, 7)):
            bound = regret_bound(T, n + d, d, n0, alpha, 12.0, 0.01, 0.1, 1.5, 2.0)
            expected = transcribed_regret(T, n + d, d, n0, alpha, 12.0)
            assert bound == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("n", "alpha"), [(1, 0), (3, 0), (3, 1), (3, 2), (3, 5), (3, 6), (20, 4)])
@pytest.mark.parametrize("T", [1, 5, 200])
def test_regret_bound_is_at_least_the_sum_of_steps(n: int, alpha: int, T: int) -> None:
    """What the three regimes sum: v0·(log(6/δ)/|Z_t|)^{1/n} and 1/t²."""
    total = sum(step_bound(t, n + 2, 2, slice_count(t, 3, alpha), 0.0) for t in range(1, T + 1))
    assert regret_bound(T, n + 2, 2, 3, alpha, 0.0, 0.01) >= total


@given(st.integers(1, 40), fixed, free, st.integers(1, 20), st.integers(0, 12), deltas, constants)
@settings(deadline=None, max_examples=50)
def test_corrected_regret_bound(
    T: int, n: int, d: int, n0: int, alpha: int, delta: float, b: float
) -> None:
    """Σ_t L·2n·(log(π²t²/δ)/|Z_t|)^{1/n}, each at most L·2n, and β_T with + 2 log|Z_T|."""
    D, a, gamma, noise = n + d, 1.5, 3.0, 0.05
    L = b * math.sqrt(math.log(6 * D * a / delta))
    m = [slice_count(t, n0, alpha) for t in range(1, T + 1)]
    beta = corrected_beta(T, D, d, m[-1], delta, a, b)
    expected = math.sqrt(8 / math.log(21) * T * beta * gamma) + math.pi**2 / 6
    for t in range(1, T + 1):
        root = (math.log(math.pi**2 * t**2 / delta) / m[t - 1]) ** (1 / n)
        expected += L * 2 * n * min(root, 1.0)
    bound = corrected_regret_bound(T, D, d, n0, alpha, gamma, noise, delta, a, b)
    assert bound == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("alpha", [0, 1, 3])
@pytest.mark.parametrize("d", [0, 1])
def test_corrected_regret_bound_is_at_least_the_sum_of_steps(d: int, alpha: int) -> None:
    """For any points, with their own information gain in the place of γ_T."""
    T, D, noise = 25, 3, 0.02
    hyper = Hyperparameters(RBF(), np.array(0.7), 1.0, noise)
    X = np.random.default_rng([d, alpha]).uniform(-1.0, 1.0, (T, D))
    total = 0.0
    for t in range(1, T + 1):
        known = GaussianProcess.from_data(hyper, X[: t - 1], np.zeros(t - 1)) if t > 1 else None
        var = 1.0 if known is None else float(known.posterior(X[t - 1 : t])[1][0])
        m = slice_count(t, 2, alpha)
        total += corrected_step_bound(t, D, d, m, math.sqrt(var), 0.2, 1.0, 3.0)
    gamma = information_gain(covariance(hyper, X, X), noise)
    bound = corrected_regret_bound(T, D, d, 2, alpha, gamma, noise, 0.2, 1.0, 3.0)
    assert total <= bound


@pytest.mark.parametrize("bound", [regret_bound, corrected_regret_bound])
def test_theorem_2_replaces_n(bound: Bound) -> None:
    """With n = d_e only the second term changes, and is that of d_e dimensions."""
    T, D, d, d_e = 100, 50, 5, 4
    whole, effective, more = (
        bound(T, D, d, 1, 0, 9.0, 0.01, 0.1, 1.0, 1.0, n) for n in (None, d_e, d_e + 1)
    )
    first = bound(T, D, d, 1, 0, 0.0, 0.01, 0.1, 1.0, 1.0, d_e)
    assert effective < more < whole
    assert whole == bound(T, D, d, 1, 0, 9.0, 0.01, 0.1, 1.0, 1.0, D - d)
    learning = effective - first  # sqrt(C1·T·β_T·γ_T), which n is not in
    again = whole - bound(T, D, d, 1, 0, 0.0, 0.01, 0.1, 1.0, 1.0)
    assert learning == pytest.approx(again, rel=1e-9)


@pytest.mark.parametrize("bound", [step_bound, corrected_step_bound])
def test_theorem_2_at_a_step(bound: Bound) -> None:
    L = lipschitz(50, 0.1 / 3)
    effective = bound(7, 50, 5, 300, 0.0, 0.1, 1.0, 1.0, 4)
    assert effective < bound(7, 50, 5, 300, 0.0)
    if bound is corrected_step_bound:
        distance = corner_distance(4, 300, 0.2 / (math.pi**2 * 49))
        assert effective == pytest.approx(L * distance + 1 / 49, rel=1e-9)
    else:
        distance = 2 * root_of_factorial(4) * (math.log(60) / 300) ** 0.25
        assert effective == pytest.approx(lipschitz(50) * distance + 1 / 49, rel=1e-9)


def test_theorem_3_has_n_equal_to_D() -> None:
    """For d = 0 with β_t = 4 log(π²t²/(2δ)), free of D."""
    T, D, gamma = 50, 6, 7.0
    v0 = 2 * math.sqrt(math.log(2 * D / 0.1)) * root_of_factorial(D)
    beta = 4 * math.log(math.pi**2 * T**2 / 0.2)
    expected = (
        math.sqrt(8 / math.log(101) * T * beta * gamma)
        + 2 * v0 * math.log(60) ** (1 / D) * D / (D - 2) * T ** (1 - 2 / D)
        + math.pi**2 / 6
    )
    assert regret_bound(T, D, 0, 1, 1, gamma, 0.01) == pytest.approx(expected, rel=1e-11)


@given(st.integers(1, 200), st.integers(0, 500))
@settings(deadline=None, max_examples=100)
def test_rate_exponent(n: int, alpha: int) -> None:
    """1 - (α+1)/n, and 0 from α = n - 1 on: how fast the printed bound's second term grows."""
    assert rate_exponent(n, alpha) == pytest.approx(max(0.0, 1 - (alpha + 1) / n), abs=1e-12)
    assert (rate_exponent(n, alpha) > 0.0) == (alpha < n - 1)
    assert rate_exponent(0, alpha) == 0.0


@pytest.mark.parametrize(("n", "alpha"), [(4, 0), (4, 1), (10, 5), (95, 0)])
def test_rate_exponent_of_both_bounds(n: int, alpha: int) -> None:
    """Doubling T multiplies the second term by 2 to this power; corrected, by a log more."""
    power = 2.0 ** rate_exponent(n, alpha)

    def second(T: int) -> float:
        return regret_bound(T, n + 2, 2, 1, alpha, 0.0, 0.01) - math.pi**2 / 6

    assert second(4000) / second(2000) == pytest.approx(power, rel=1e-9)

    def corrected(T: int) -> float:
        # so many slices that no distance is that of the whole box
        return corrected_regret_bound(T, n + 2, 2, 10**6, alpha, 0.0, 0.01) - math.pi**2 / 6

    assert power * 0.99 < corrected(4000) / corrected(2000) < power * 1.1


@pytest.mark.parametrize("bound", [regret_bound, corrected_regret_bound])
@given(st.integers(2, 100), fixed, st.integers(1, 8), st.integers(1, 50), st.integers(0, 6))
@settings(deadline=None, max_examples=40)
def test_regret_bounds_are_monotone(
    bound: Bound, T: int, n: int, d: int, n0: int, alpha: int
) -> None:
    """In T, D, γ, the noise and 1/δ; with nothing to learn, N0 only helps."""
    at = bound(T, n + d, d, n0, alpha, 5.0, 0.1)
    assert bound(T + 1, n + d, d, n0, alpha, 5.0, 0.1) > at
    assert bound(T, n + d, d, n0, alpha, 6.0, 0.1) > at
    assert bound(T, n + d, d, n0, alpha, 5.0, 0.2) > at
    assert bound(T, n + d, d, n0, alpha, 5.0, 0.1, 0.05) > at
    assert bound(T, n + d, d, 2 * n0, alpha, 0.0, 0.1) <= bound(T, n + d, d, n0, alpha, 0.0, 0.1)
    # The printed bound's factor n/(n - α - 1) may fall as n grows: nothing is said of it there.
    if bound is corrected_regret_bound:
        assert bound(T, n + d + 1, d, n0, alpha, 5.0, 0.1) > at


@pytest.mark.parametrize("d", [0, 1, 5, 100])
@pytest.mark.parametrize("D", [200, 5000, 100_000])
def test_finite_in_many_dimensions(D: int, d: int) -> None:
    """No overflow and no warning, with up to t^{2n} slices."""
    n, T = D - d, 500
    for alpha in (0, 1, n - 1, 2 * n - 1, 2 * n):
        for bound in (regret_bound, corrected_regret_bound):
            value = bound(T, D, d, 1, alpha, 100.0, 1e-4)
            assert 0.0 < value < 1e12
    for m in (1, 500, 10**9, 10**4000):
        for step in (step_bound, corrected_step_bound):
            assert 0.0 < step(T, D, d, m, 0.5) < 1e9
        assert 0.0 < lemma4(n, m, D) < 1e9
        assert 0.0 < corrected_lemma4(n, m, D, t=T) < 1e9
    assert math.isfinite(corrected_lemma3_beta(T, D, d, 10**4000))
