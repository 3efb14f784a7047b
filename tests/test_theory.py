"""Schedules, costs and information: each formula against its transcription and its numbers.

The lemmas and the regret bounds are in test_theory_lemmas.py, what holds how often in
test_theory_coverage.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import Parameter, signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import covariance
from transect import RBF, GaussianProcess, Hyperparameters, Matern52, theory
from transect._array import Host
from transect.theory import (
    corrected_beta,
    corrected_lemma3_beta,
    gp_ucb_beta,
    gp_ucb_calls,
    information_gain,
    information_rate,
    lemma2_beta,
    ms_ucb_beta,
    ms_ucb_calls,
    pays_off,
    practical_scale,
    rate_exponent,
    slice_count,
    slice_count_bound,
    variance_constant,
)
from transect.theory.cost import log_slice_counts

times = st.integers(1, 10_000)
deltas = st.floats(0.001, 0.999)
constants = st.floats(0.5, 50.0)
Schedule = Callable[[int, int, float, float, float], float]  # of t, D, δ, a and b


def test_public_names_are_there() -> None:
    assert sorted(theory.__all__) == list(theory.__all__)
    assert all(callable(getattr(theory, name)) for name in theory.__all__)


def test_defaults() -> None:
    """δ = 0.1 and a = b = 1 wherever they are left open, as in the paper's experiments."""
    expected = {"delta": 0.1, "a": 1.0, "b": 1.0, "n": None, "t": None, "nu": math.inf}
    for name in theory.__all__:
        for parameter in signature(getattr(theory, name)).parameters.values():
            if parameter.default is not Parameter.empty:
                assert parameter.default == expected[parameter.name], name


# --- schedules -------------------------------------------------------------------------


@given(times, st.integers(1, 5000), st.integers(1, 100), deltas, constants, constants)
@settings(deadline=None, max_examples=100)
def test_ms_ucb_beta(t: int, D: int, d: int, delta: float, a: float, b: float) -> None:
    """β_t = 2 log(π²t²/δ) + 2d log(2bd·sqrt(log(6Da/δ))·t²)."""
    expected = 2 * math.log(math.pi**2 * t**2 / delta) + 2 * d * math.log(
        2 * b * d * math.sqrt(math.log(6 * D * a / delta)) * t**2
    )
    assert ms_ucb_beta(t, D, d, delta, a, b) == pytest.approx(expected, rel=1e-13)


@given(times, st.integers(1, 5000), deltas)
@settings(deadline=None, max_examples=50)
def test_ms_ucb_beta_without_free_coordinates(t: int, D: int, delta: float) -> None:
    """For d = 0, β_t = 4 log(π²t²/(2δ)), whatever D, a and b."""
    expected = 4 * math.log(math.pi**2 * t**2 / (2 * delta))
    assert ms_ucb_beta(t, D, 0, delta) == pytest.approx(expected, rel=1e-14)
    assert ms_ucb_beta(t, D, 0, delta, 3.0, 5.0) == ms_ucb_beta(t, D, 0, delta)


@given(times, st.integers(1, 5000), deltas, constants, constants)
@settings(deadline=None, max_examples=100)
def test_gp_ucb_beta(t: int, D: int, delta: float, a: float, b: float) -> None:
    """β_t = 2 log(2π²t²/(3δ)) + 2D log(t²·D·b·r·sqrt(log(4Da/δ))), r = 2."""
    cover = max(t**2 * D * b * 2 * math.sqrt(math.log(4 * D * a / delta)), 1.0)
    expected = 2 * math.log(2 * math.pi**2 * t**2 / (3 * delta)) + 2 * D * math.log(cover)
    assert gp_ucb_beta(t, D, delta, a, b) == pytest.approx(expected, rel=1e-13)


def test_logarithms_are_guarded() -> None:
    """Arguments below one count as one, so that no term is negative."""
    plain = 2 * math.log(math.pi**2 / 0.1)
    assert ms_ucb_beta(1, 10, 2, 0.1, 1.0, 1e-9) == pytest.approx(plain, rel=1e-14)
    assert ms_ucb_beta(1, 1, 2, 0.1, 1e-9, 1.0) == pytest.approx(plain, rel=1e-14)
    plain = 2 * math.log(2 * math.pi**2 / 0.3)
    assert gp_ucb_beta(1, 10, 0.1, 1.0, 1e-9) == pytest.approx(plain, rel=1e-14)
    assert gp_ucb_beta(1, 1, 0.1, 1e-9, 1.0) == pytest.approx(plain, rel=1e-14)


@given(times, st.integers(1, 500), st.integers(1, 10), st.integers(1, 10**12))
@settings(deadline=None, max_examples=50)
def test_corrected_beta_covers_all_slices(t: int, D: int, d: int, m: int) -> None:
    """+ 2 log m."""
    gap = corrected_beta(t, D, d, m) - ms_ucb_beta(t, D, d)
    assert gap == pytest.approx(2 * math.log(m), rel=1e-10, abs=1e-10)


@given(times, st.integers(1, 500), st.integers(1, 10**12), deltas)
@settings(deadline=None, max_examples=50)
def test_corrected_beta_without_free_coordinates(t: int, D: int, m: int, delta: float) -> None:
    """For d = 0, 2 log(π²t²/(2δ)) + 2 log m: below the published one for m < π²t²/(2δ)."""
    expected = 2 * math.log(math.pi**2 * t**2 / (2 * delta)) + 2 * math.log(m)
    corrected = corrected_beta(t, D, 0, m, delta)
    assert corrected == pytest.approx(expected, rel=1e-13)
    assert corrected_beta(t, D, 0, m, delta, 3.0, 5.0) == corrected
    less = corrected < ms_ucb_beta(t, D, 0, delta)
    assert less == (m < math.pi**2 * t**2 / (2 * delta))


@given(times, st.integers(1, 500), st.integers(0, 10), st.integers(1, 10**9), deltas, constants)
@settings(deadline=None, max_examples=100)
def test_corrected_beta_is_what_the_lemmas_ask_for(
    t: int, D: int, d: int, m: int, delta: float, b: float
) -> None:
    """Each lemma at δ/3: Lemma 3 over all slices asks for exactly this, Lemma 2 for less."""
    beta = corrected_beta(t, D, d, m, delta, 1.5, b)
    lemma3 = corrected_lemma3_beta(t, D, d, m, delta / 3, 1.5, b)
    assert beta == pytest.approx(lemma3, rel=1e-12)
    assert beta >= lemma2_beta(t, delta / 3) * (1 - 1e-14)


SCHEDULES: list[Schedule] = [
    lambda t, D, delta, a, b: ms_ucb_beta(t, D, 3, delta, a, b),
    lambda t, D, delta, a, b: ms_ucb_beta(t, D, 0, delta, a, b),
    lambda t, D, delta, a, b: corrected_beta(t, D, 3, t, delta, a, b),
    lambda t, D, delta, a, b: corrected_beta(t, D, 0, t, delta, a, b),
    gp_ucb_beta,
]


@pytest.mark.parametrize("beta", SCHEDULES)
@given(times, st.integers(1, 5000), st.floats(0.001, 0.9), constants, constants)
@settings(deadline=None, max_examples=30)
def test_schedules_grow(beta: Schedule, t: int, D: int, delta: float, a: float, b: float) -> None:
    """In t, D, a and b, and as δ falls."""
    here = beta(t, D, delta, a, b)
    assert here > 0.0
    assert beta(t + 1, D, delta, a, b) > here
    assert beta(t, D, 0.9 * delta, a, b) > here
    assert beta(t, D + 1, delta, a, b) >= here
    assert beta(t, D, delta, 1.1 * a, b) >= here
    assert beta(t, D, delta, a, 1.1 * b) >= here


def test_growth_at_most_slices() -> None:
    """Order of β_T in log T: published 4 + 4d, GP-UCB's 4 + 4D, corrected + 2(α + 1).

    At α = n - 1 that is half of GP-UCB's, not a share of d/D.
    """
    D, d, T = 100, 5, 10**60
    n = D - d

    def slope(of_T: float, of_T2: float) -> float:
        return (of_T2 - of_T) / math.log(T)

    log_m = [n * math.log(t) - math.log(n) for t in (T, T**2)]  # Σ k^{n-1} → t^n/n
    paper = [ms_ucb_beta(t, D, d) for t in (T, T**2)]
    box = [gp_ucb_beta(t, D) for t in (T, T**2)]
    corrected = [beta + 2 * x for beta, x in zip(paper, log_m, strict=True)]
    assert slope(*paper) == pytest.approx(4 + 4 * d, rel=1e-9)
    assert slope(*box) == pytest.approx(4 + 4 * D, rel=1e-9)
    assert slope(*corrected) == pytest.approx(4 + 4 * d + 2 * n, rel=1e-9)
    assert 0.5 < slope(*corrected) / slope(*box) < 0.55


def test_numbers_of_the_correction() -> None:
    """At t = 500, D = 100, d = 5, α = 0: sqrt(β) goes from 13.86 to 14.30."""
    assert math.sqrt(ms_ucb_beta(500, 100, 5)) == pytest.approx(13.86, abs=0.005)
    m = slice_count(500, 1, 0)
    assert math.sqrt(corrected_beta(500, 100, 5, m)) == pytest.approx(14.30, abs=0.005)


def test_numbers_of_both_algorithms() -> None:
    """At D = 100, t = 1 to 500: GP-UCB 36 to 62, MS-UCB with d = 5 6.6 to 14."""
    assert math.sqrt(gp_ucb_beta(1, 100)) == pytest.approx(36.0, abs=0.5)
    assert math.sqrt(gp_ucb_beta(500, 100)) == pytest.approx(62.0, abs=0.5)
    assert math.sqrt(ms_ucb_beta(1, 100, 5)) == pytest.approx(6.6, abs=0.05)
    assert math.sqrt(ms_ucb_beta(500, 100, 5)) == pytest.approx(14.0, abs=0.5)


@pytest.mark.parametrize(("d", "scale"), [(0, 1 / 8), (1, 1 / 8), (5, 1 / 40), (100, 1 / 800)])
def test_practical_scale(d: int, scale: float) -> None:
    assert practical_scale(d) == pytest.approx(scale, rel=1e-15)


@pytest.mark.parametrize("D", [20, 100, 1000])
@pytest.mark.parametrize(("d", "most"), [(0, 2.9), (1, 2.8), (2, 2.6), (5, 2.5), (10, 2.5)])
def test_practical_range(D: int, d: int, most: float) -> None:
    """Sqrt(β_t) goes from about 1 to about 2.5 for t up to 500; a bit more for d < 2."""
    roots = [math.sqrt(practical_scale(d) * ms_ucb_beta(t, D, d)) for t in (1, 10, 100, 500)]
    assert 1.0 < roots[0] < roots[-1] < most


@pytest.mark.parametrize("D", [20, 100, 1000])
def test_practical_range_on_the_whole_box(D: int) -> None:
    roots = [math.sqrt(practical_scale(D) * gp_ucb_beta(t, D)) for t in (1, 10, 100, 500)]
    assert 1.0 < roots[0] < roots[-1] < 2.5


# --- costs -----------------------------------------------------------------------------


@given(st.integers(1, 200), st.integers(1, 50), st.integers(0, 8))
@settings(deadline=None, max_examples=100)
def test_slice_count_is_the_sum(t: int, n0: int, alpha: int) -> None:
    assert slice_count(t, n0, alpha) == sum(n0 * k**alpha for k in range(1, t + 1))


def test_slice_count_is_exact_beyond_float64() -> None:
    assert slice_count(500, 1, 1) == 125_250
    assert slice_count(0, 3, 0) == slice_count(0, 3, 1) == slice_count(0, 3, 2) == 0
    huge = slice_count(1000, 1, 20)
    assert isinstance(huge, int)
    assert huge - slice_count(999, 1, 20) == 1000**20


@pytest.mark.parametrize(("n0", "alpha"), [(1, 0), (10, 0), (1, 1), (3, 2), (2, 7)])
def test_logarithms_of_slice_counts(n0: int, alpha: int) -> None:
    expected = [math.log(slice_count(t, n0, alpha)) for t in range(1, 61)]
    assert log_slice_counts(60, n0, alpha) == pytest.approx(expected, rel=1e-13)


def test_logarithms_of_slice_counts_beyond_float64() -> None:
    """Σ k^α is T^α times about 1/(1 - e^{-α/T})."""
    counts = log_slice_counts(500, 1, 200_000)
    assert np.all(np.isfinite(counts))
    assert counts[-1] == pytest.approx(200_000 * math.log(500), rel=1e-12)
    assert counts[0] == 0.0


@given(st.integers(1, 300), st.integers(1, 20), st.integers(0, 8))
@settings(deadline=None, max_examples=100)
def test_slice_count_bound(T: int, n0: int, alpha: int) -> None:
    """|Z_T| ≤ N0·((T+1)^{α+1} - 1)/(α+1), with equality at α = 0."""
    bound = slice_count_bound(T, n0, alpha)
    assert bound == pytest.approx(n0 * ((T + 1) ** (alpha + 1) - 1) / (alpha + 1), rel=1e-12)
    exact = slice_count(T, n0, alpha)
    assert bound == pytest.approx(exact) if alpha == 0 else bound > exact


def test_slice_count_bound_beyond_all_numbers() -> None:
    assert 1e290 < slice_count_bound(1000, 1, 99) < math.inf
    assert slice_count_bound(1000, 1, 110) == slice_count_bound(1000, 1, 200) == math.inf


@given(st.integers(1, 10**6), st.integers(1, 200), st.integers(0, 200), st.floats(1e-9, 0.9))
@settings(deadline=None, max_examples=50)
def test_calls(m: int, D: int, d: int, zeta: float) -> None:
    """The logarithms of m·ζ^{-d} and ζ^{-D}."""
    assert ms_ucb_calls(m, d, zeta) == pytest.approx(
        math.log(m) + d * math.log(1 / zeta), rel=1e-12, abs=1e-12
    )
    assert gp_ucb_calls(D, zeta) == pytest.approx(D * math.log(1 / zeta), rel=1e-12)
    assert ms_ucb_calls(1, D, zeta) == pytest.approx(gp_ucb_calls(D, zeta), rel=1e-14)


@given(st.integers(1, 12), st.integers(0, 4), st.integers(0, 30))
@settings(deadline=None, max_examples=200)
def test_where_it_pays_off(n: int, d: int, alpha: int) -> None:
    """Where the second term has no power of T, and for ζ = 1/(T+1)², N0 = 1 fewer calls."""
    T = 1000
    m = max(1, round(slice_count_bound(T, 1, alpha)))
    fewer = ms_ucb_calls(m, d, (T + 1.0) ** -2) < gp_ucb_calls(n + d, (T + 1.0) ** -2)
    if pays_off(n, alpha):
        assert rate_exponent(n, alpha) == 0.0
        assert fewer
    else:
        # (T+1)^{α+1}/(α+1) is less than (T+1)^{2n} a little beyond α = 2n - 1 as well
        assert rate_exponent(n, alpha) > 0.0 or not fewer or alpha <= 2 * n


def test_borders_of_where_it_pays_off() -> None:
    """From α = n - 1 to 2n - 2."""
    assert [alpha for alpha in range(300) if pays_off(95, alpha)] == list(range(94, 189))
    assert [alpha for alpha in range(10) if pays_off(1, alpha)] == [0]


# --- information -----------------------------------------------------------------------


def kernel_matrix(n: int, seed: int, amplitude: float = 1.0) -> tuple[Hyperparameters, Host, Host]:
    """A process in two dimensions, n points and the prior covariance of their values."""
    kernel = (Matern52(), RBF())[seed % 2]
    hyper = Hyperparameters(kernel, np.array(0.6), amplitude, 0.04)
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 2))
    return hyper, X, covariance(hyper, X, X)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [1, 5, 40])
def test_information_gain(n: int, seed: int) -> None:
    """½ log det(I + K/σ²): by eigenvalues, by a model's factor and one observation at a time."""
    hyper, X, K = kernel_matrix(n, seed, amplitude=1.7)
    gain = information_gain(K, hyper.noise)
    eigenvalues = np.clip(np.linalg.eigvalsh(K), 0.0, None)
    assert gain == pytest.approx(0.5 * np.sum(np.log1p(eigenvalues / hyper.noise)), rel=1e-9)

    y = np.random.default_rng([seed, 1]).normal(size=n)
    gp = GaussianProcess.from_data(hyper, X, y)
    pivots = np.log(np.diagonal(gp.L)) - 0.5 * math.log(hyper.noise)
    assert gain == pytest.approx(float(np.sum(pivots)), rel=1e-9)

    # Entropy of the values told less that of the noise, whatever the values.
    fit = 0.5 * float(y @ np.linalg.solve(K + hyper.noise * np.eye(n), y))
    entropy = -gp.log_likelihood() - fit
    noise = 0.5 * n * math.log(2 * math.pi * hyper.noise)
    assert gain == pytest.approx(entropy - noise, rel=1e-9)

    steps = [0.5 * math.log1p(hyper.amplitude / hyper.noise)]
    for t in range(1, n):
        before = GaussianProcess.from_data(hyper, X[:t], y[:t])
        steps.append(0.5 * math.log1p(float(before.posterior(X[t : t + 1])[1][0]) / hyper.noise))
    assert gain == pytest.approx(sum(steps), rel=1e-9)


def test_information_gain_of_points_apart_and_together() -> None:
    """Of n independent points n·½ log(1 + 1/σ²); of one, n times, ½ log(1 + n/σ²)."""
    noise, n = 0.1, 7
    apart = information_gain(np.eye(n), noise)
    together = information_gain(np.ones((n, n)), noise)
    assert apart == pytest.approx(0.5 * n * math.log(1 + 1 / noise), rel=1e-12)
    assert together == pytest.approx(0.5 * math.log(1 + n / noise), rel=1e-12)
    assert information_gain(np.eye(3000), 1e-9) == pytest.approx(1500 * math.log1p(1e9), rel=1e-12)


@given(st.integers(2, 10**6), st.integers(1, 1000), st.floats(0.5, 20.0))
@settings(deadline=None, max_examples=50)
def test_information_rate(T: int, D: int, nu: float) -> None:
    """(log T)^{D+1} and T^{D(D+1)/(2ν + D(D+1))}·log T, as logarithms."""
    log_T = math.log(T)
    assert information_rate(T, D) == pytest.approx((D + 1) * math.log(log_T), rel=1e-12, abs=1e-12)
    share = D * (D + 1) / (2 * nu + D * (D + 1))
    expected = share * log_T + math.log(log_T)
    assert information_rate(T, D, nu) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_numbers_of_information_rate() -> None:
    """In two dimensions Matérn 5/2 has the power 6/11; the rougher it is, the closer to 1."""
    T = 10**6
    log_log = math.log(math.log(T))
    assert information_rate(T, 2, 2.5) == pytest.approx(6 / 11 * math.log(T) + log_log)
    assert information_rate(T, 1) == pytest.approx(2 * log_log)
    assert information_rate(T, 2, 0.5) > information_rate(T, 2, 2.5) > information_rate(T, 2, 50.0)


@given(st.floats(1e-8, 10.0))
@settings(deadline=None, max_examples=50)
def test_variance_constant(noise: float) -> None:
    """C1 = 8/log(1 + σ⁻²), not 8/log(1 + σ²), which grows without bound as noise falls."""
    assert variance_constant(noise) == pytest.approx(8 / math.log(1 + 1 / noise), rel=1e-7)
    assert variance_constant(0.5 * noise) < variance_constant(noise)


@pytest.mark.parametrize("seed", range(6))
def test_variance_constant_bounds_the_sum_of_variances(seed: int) -> None:
    """Σ 4σ²_{t-1}(x_t) ≤ C1·gain; with equality for one observation."""
    hyper, X, K = kernel_matrix(30, seed)
    constant = variance_constant(hyper.noise)
    first = constant * information_gain(K[:1, :1], hyper.noise)
    assert first == pytest.approx(4.0, rel=1e-12)
    total = 4.0
    for t in range(1, 30):
        gp = GaussianProcess.from_data(hyper, X[:t], np.zeros(t))
        total += 4.0 * float(gp.posterior(X[t : t + 1])[1][0])
        assert total <= constant * information_gain(K[: t + 1, : t + 1], hyper.noise)


@pytest.mark.parametrize("nu", [2.5, math.inf])
def test_the_gain_of_one_observation_has_no_rate(nu: float) -> None:
    assert information_rate(1, 7, nu) == -math.inf
