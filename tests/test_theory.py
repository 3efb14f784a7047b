"""Each formula against its transcription and the numbers quoted for it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.theory import (
    corrected_beta,
    gp_ucb_beta,
    ms_ucb_beta,
    practical_scale,
    slice_count,
)

times = st.integers(1, 10_000)
deltas = st.floats(0.001, 0.999)
constants = st.floats(0.5, 50.0)


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


@given(times, st.integers(1, 500), st.integers(0, 10), st.integers(1, 10**12))
@settings(deadline=None, max_examples=50)
def test_corrected_beta_covers_all_slices(t: int, D: int, d: int, m: int) -> None:
    gap = corrected_beta(t, D, d, m) - ms_ucb_beta(t, D, d)
    assert gap == pytest.approx(2 * math.log(m), rel=1e-10, abs=1e-10)


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
