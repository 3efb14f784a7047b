"""Subspaces inside the box; slices that any process can draw again."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from transect._array import Host
from transect.subspace import Slices, Subspace

# --- slices -------------------------------------------------------------------------------


@given(
    st.integers(1, 40),
    st.integers(0, 2**63 - 1),
    st.lists(st.integers(0, 60), max_size=5),
    st.integers(1, 60),
)
@settings(deadline=None, max_examples=80)
def test_any_partition_gives_the_same_rows(n: int, key: int, cuts: list[int], stop: int) -> None:
    slices = Slices(n + 2, 2, key)
    whole = slices.z(0, stop)
    edges = sorted({0, stop, *(c for c in cuts if c < stop)})
    parts = [slices.z(a, b) for a, b in pairwise(edges)]
    assert whole.shape == (stop, n)
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 95, 5000])
def test_rows_far_out_are_addressable(n: int) -> None:
    slices = Slices(n + 5, 5, 3)
    block = slices.z(1_000_000, 1_000_004)
    assert np.array_equal(slices.z(1_000_002, 1_000_003), block[2:3])
    assert slices.z(5, 5).shape == (0, n)


def test_growing_sets_are_nested() -> None:
    slices = Slices(12, 2, 0)
    assert np.array_equal(slices.z(0, 10), slices.z(0, 1000)[:10])


def test_rows_and_numbers_do_not_repeat() -> None:
    z = Slices(30, 5, 1).z(0, 2000)
    assert len(np.unique(z, axis=0)) == 2000
    # 50,000 draws of 2^24 values: about 75 pairs agree by chance.
    assert len(np.unique(z)) > z.size - 150


@pytest.mark.parametrize("n", [1, 5, 8, 13])
def test_rows_are_uniform(n: int) -> None:
    z = Slices(n + 3, 3, 42).z(0, 20_000 // n)
    assert z.dtype == np.float32
    assert np.all((z >= -1.0) & (z < 1.0))
    wide = z.astype(np.float64).reshape(-1)
    # Standard errors at 20,000 draws: mean 0.004, variance 0.002.
    assert wide.mean() == pytest.approx(0.0, abs=0.02)
    assert wide.var() == pytest.approx(1.0 / 3.0, abs=0.01)
    assert kstest(wide, "uniform", args=(-1.0, 2.0)).pvalue > 1e-3


def test_columns_and_neighbouring_rows_are_independent() -> None:
    z = Slices(12, 2, 5).z(0, 5000).astype(np.float64)
    columns = np.corrcoef(z.T) - np.eye(10)
    rows = np.corrcoef(z[:-1].T, z[1:].T)[:10, 10:]
    # Correlations of 5000 draws have a standard error of 0.014; five of them.
    assert np.abs(columns).max() < 0.07
    assert np.abs(rows).max() < 0.07


def test_keys_give_different_rows() -> None:
    sets = [Slices(20, 5, key).z(0, 50) for key in (0, 1, 2, 2**40, 2**63 - 1)]
    for i, one in enumerate(sets):
        for other in sets[:i]:
            assert not np.any(np.all(one == other, axis=1))


def test_float64_holds_the_numbers_exactly() -> None:
    z = Slices(20, 5, 9).z(0, 100)
    assert np.array_equal(z.astype(np.float64) * 2**23, np.round(z.astype(np.float64) * 2**23))
    x = Slices(20, 5, 9).point(z, np.zeros((100, 5)))
    assert np.array_equal(x[:, :15].astype(np.float32), z)


def test_first_coordinates_are_fixed_last_ones_free() -> None:
    slices = Slices(5, 2, 0)
    x = slices.point(np.array([1, 2, 3], dtype=np.float32), np.array([4.0, 5.0]))
    assert np.array_equal(x, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert np.array_equal(np.arange(5)[slices.fixed], [0, 1, 2])
    assert np.array_equal(np.arange(5)[slices.free], [3, 4])


def test_permuted_order() -> None:
    order = np.array([3, 0, 4, 2, 1])
    slices = Slices(5, 2, 0, order)
    z, v = slices.z(0, 3), np.random.default_rng(0).uniform(-1.0, 1.0, (3, 2))
    x = slices.point(z, v)
    assert np.array_equal(x[:, order], np.concatenate([z, v], axis=1))
    assert np.array_equal(x[:, slices.fixed], z)
    assert np.array_equal(x[:, slices.free], v)
    assert np.array_equal(z, Slices(5, 2, 0).z(0, 3))


def test_all_coordinates_free() -> None:
    slices, v = Slices(4, 4, 0), np.array([[0.1, 0.2, 0.3, 0.4]])
    z = slices.z(3, 4)
    assert z.shape == (1, 0)
    assert np.array_equal(slices.point(z, v), v)


def test_all_coordinates_fixed() -> None:
    slices = Slices(4, 0, 0)
    z = slices.z(0, 6)
    assert z.shape == (6, 4)
    assert np.array_equal(slices.point(z, np.zeros((6, 0))), z)


# --- one subspace -------------------------------------------------------------------------

finite = st.floats(-1.0, 1.0)


@st.composite
def lines(draw: st.DrawFn) -> tuple[Host, Host]:
    """A point of the cube, also on its faces, and a direction, also along axes."""
    D = draw(st.integers(1, 6))
    x = draw(st.lists(finite, min_size=D, max_size=D))
    component = st.one_of(st.just(0.0), st.floats(1e-6, 1e6), st.floats(-1e6, -1e-6))
    direction = draw(st.lists(component, min_size=D, max_size=D))
    direction[draw(st.integers(0, D - 1))] = draw(st.sampled_from([1.0, -2.0]))
    return np.array(x), np.array(direction)


@given(lines())
@settings(deadline=None, max_examples=200)
def test_segment_is_the_part_of_the_line_inside_the_box(line: tuple[Host, Host]) -> None:
    x, direction = line
    segment = Subspace.segment(x, direction)
    lower, upper = float(segment.lower[0]), float(segment.upper[0])
    assert segment.d == 1
    assert lower <= 0.0 <= upper
    assert np.array_equal(segment.point(np.zeros(1)), x)
    for s in np.linspace(lower, upper, 7):
        assert np.all(np.abs(x + s * direction) <= 1.0 + 1e-12)
        np.testing.assert_allclose(segment.point(np.array([s])), x + s * direction, atol=1e-12)
    # Its ends are on the faces: no longer segment fits.
    for end, sign in ((lower, -1.0), (upper, 1.0)):
        outward = (x + end * direction) * np.sign(direction) * sign
        assert np.max(outward[direction != 0.0]) >= 1.0 - 1e-12


@given(lines(), st.lists(finite, min_size=1, max_size=4))
@settings(deadline=None, max_examples=50)
def test_points_never_leave_the_box(line: tuple[Host, Host], shares: list[float]) -> None:
    segment = Subspace.segment(*line)
    share = np.abs(np.array(shares))[:, None]
    v = segment.lower + share * (segment.upper - segment.lower)  # (k, 1)
    x = segment.point(v)
    assert x.shape == (len(shares), len(line[0]))
    assert np.all(np.abs(x) <= 1.0)


def test_segment_without_a_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="direction"):
        Subspace.segment(np.zeros(3), np.zeros(3))


def test_segment_at_a_corner_that_points_away_is_a_point() -> None:
    segment = Subspace.segment(np.array([1.0, 1.0]), np.array([1.0, -1.0]))
    assert np.array_equal([segment.lower, segment.upper], [[0.0], [0.0]])
    segment = Subspace.segment(np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    assert np.array_equal([segment.lower, segment.upper], [[-2.0], [0.0]])


def test_whole_box() -> None:
    whole = Subspace.whole(3)
    assert whole.d == 3
    assert np.array_equal(whole.lower, [-1.0, -1.0, -1.0])
    assert np.array_equal(whole.upper, [1.0, 1.0, 1.0])
    v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 5, 3))
    assert np.array_equal(whole.point(v), v)


def test_embedding_is_affine_and_clipped() -> None:
    basis = np.array([[1.0, 0.0], [0.5, -1.0], [2.0, 2.0]])
    plane = Subspace(np.array([0.1, 0.2, 0.3]), basis, np.full(2, -1.0), np.full(2, 1.0))
    assert plane.d == 2
    v = np.array([[0.2, 0.1], [1.0, 1.0]])
    expected = [[0.3, 0.2, 0.9], [1.0, -0.3, 1.0]]  # 0.1 + 1 and 0.3 + 4 are cut off
    np.testing.assert_allclose(plane.point(v), expected, rtol=1e-14)
