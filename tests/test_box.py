"""Units: the map between the user's box and [-1, 1]^D, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds

from transect._array import Host
from transect.box import Box

EPS = float(np.finfo(np.float64).eps)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    """Boxes with widths from 1e-300 to 1e300, around centres of any size."""
    pairs = []
    for _ in range(draw(st.integers(1, 4))):
        width = draw(st.floats(1.0, 10.0)) * 10.0 ** draw(st.integers(-300, 299))
        lower = draw(st.sampled_from([0.0, -0.5, -1.0, 1.0, -7.3, 1e3])) * width
        pairs.append((lower, lower + width))
    return Box.of(pairs)


@st.composite
def boxes_and_units(draw: st.DrawFn) -> tuple[Box, Host]:
    box = draw(boxes())
    u = draw(st.lists(st.floats(-1.0, 1.0), min_size=box.D, max_size=box.D))
    return box, np.array(u)


@given(boxes_and_units())
@example((Box.of([(-2.75, -2.6)]), np.array([1.0])))  # centre + half_width rounds upwards
@settings(deadline=None, max_examples=200)
def test_from_unit_stays_inside_the_bounds(case: tuple[Box, Host]) -> None:
    box, u = case
    x = box.from_unit(u)
    assert np.all((box.lower <= x) & (x <= box.upper))


@given(boxes_and_units())
@settings(deadline=None, max_examples=200)
def test_user_units_survive_the_way_there_and_back(case: tuple[Box, Host]) -> None:
    box, u = case
    x = box.from_unit(u)
    there = box.to_unit(x)
    assert np.all(np.abs(there) <= 1.0)
    largest = np.maximum(np.abs(box.lower), np.abs(box.upper))
    assert np.all(np.abs(box.from_unit(there) - x) <= 4.0 * EPS * largest)


@given(boxes_and_units())
@settings(deadline=None, max_examples=200)
def test_unit_coordinates_survive_the_way_there_and_back(case: tuple[Box, Host]) -> None:
    box, u = case
    # A coordinate 1000 widths from zero keeps three digits less.
    largest = np.maximum(np.abs(box.lower), np.abs(box.upper)) / box.half_width
    assert np.all(np.abs(box.to_unit(box.from_unit(u)) - u) <= 4.0 * EPS * largest)


@given(boxes())
@settings(deadline=None, max_examples=100)
def test_ends_and_centre(box: Box) -> None:
    ones = np.ones(box.D)
    spacing = 2.0 * np.spacing(np.maximum(np.abs(box.lower), np.abs(box.upper)))
    assert np.all(np.abs(box.from_unit(-ones) - box.lower) <= spacing)
    assert np.all(np.abs(box.from_unit(ones) - box.upper) <= spacing)
    assert np.array_equal(box.from_unit(0.0 * ones), box.centre)
    assert np.array_equal(box.to_unit(box.centre), 0.0 * ones)


def test_map_is_affine_on_a_batch() -> None:
    box = Box.of([(0.0, 4.0), (-10.0, 10.0)])
    u = np.array([[[-1.0, 0.5]], [[0.5, -0.2]]])  # (2, 1, 2)
    x = np.array([[[0.0, 5.0]], [[3.0, -2.0]]])
    np.testing.assert_allclose(box.from_unit(u), x, rtol=1e-15)
    np.testing.assert_allclose(box.to_unit(x), u, rtol=1e-15)


def test_the_widest_box_does_not_overflow() -> None:
    largest = float(np.finfo(np.float64).max)
    box = Box.of([(-largest, largest)])
    assert box.from_unit(np.array([-1.0])) == -largest
    assert box.to_unit(np.array([largest])) == 1.0
    assert box.to_unit(np.array([0.5 * largest])) == 0.5
    box = Box.of([(0.5 * largest, largest)])
    assert box.from_unit(np.array([0.0])) == 0.75 * largest
    assert box.to_unit(np.array([0.75 * largest])) == 0.0


def test_points_outside_are_pulled_to_the_unit_box() -> None:
    box = Box.of([(0.0, 1.0)])
    assert box.to_unit(np.array([1.5])) == 1.0
    assert box.from_unit(np.array([-2.0])) == 0.0


@pytest.mark.parametrize(
    "bounds",
    [
        [(0, 1), (-2, 3)],
        ((0.0, 1.0), (-2.0, 3.0)),
        np.array([[0, 1], [-2, 3]]),
        np.array([[0, 1], [-2, 3]], dtype=np.float32),
        Bounds([0, -2], [1, 3]),
        Box(np.array([0.0, -2.0]), np.array([1.0, 3.0])),
    ],
)
def test_kinds_of_bounds(bounds: Any) -> None:
    box = Box.of(bounds)
    assert box.D == 2
    assert box.lower.dtype == box.upper.dtype == np.float64
    assert np.array_equal(box.lower, [0.0, -2.0])
    assert np.array_equal(box.upper, [1.0, 3.0])


def test_a_box_made_directly_is_checked_as_well() -> None:
    """Otherwise an optimizer would ask for points outside all bounds."""
    lower = np.zeros(2)
    box = Box(lower, [1, 1])  # type: ignore[arg-type]
    lower[:] = 9.0
    assert box.from_unit(np.ones(2)).tolist() == [1.0, 1.0]
    assert box.lower.dtype == box.upper.dtype == np.float64
    bad: list[tuple[Any, Any, str]] = [
        ([1.0], [0.0], r"lower < upper; bounds\[0\] is \(1.0, 0.0\)"),
        ([0.0, np.nan], [1.0, 1.0], r"finite; bounds\[1\] is \(nan, 1.0\)"),
        ([0.0], [5e-324], r"too close; bounds\[0\]"),
        ([0.0], [1.0, 2.0], r"two vectors .* got shapes \(1,\) and \(2,\)"),
        (0.0, 1.0, r"two vectors .* got shapes \(\) and \(\)"),
        (["low"], [1.0], "must be real numbers"),
        ([], [], "at least one variable"),
    ]
    for low, high, message in bad:
        with pytest.raises(ValueError, match=message):
            Box(low, high)


def test_scipy_bounds_broadcast() -> None:
    box = Box.of(Bounds(-1.0, [2.0, 3.0, 4.0]))
    assert np.array_equal(box.lower, [-1.0, -1.0, -1.0])
    assert np.array_equal(box.upper, [2.0, 3.0, 4.0])
    assert Box.of(Bounds(0.0, 1.0)).D == 1


def test_later_changes_of_the_callers_array_do_not_reach_the_box() -> None:
    table = np.array([[0.0, 1.0], [0.0, 1.0]])
    box = Box.of(table)
    table[:] = 7.0
    assert np.array_equal(box.upper, [1.0, 1.0])
    assert np.array_equal(box.lower, [0.0, 0.0])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(0, 1), (np.nan, 1)], r"finite; bounds\[1\] is \(nan, 1.0\)"),
        ([(0, 1), (0, 1), (0, np.inf)], r"finite; bounds\[2\] is \(0.0, inf\)"),
        ([(-np.inf, 0)], r"finite; bounds\[0\]"),
        (Bounds([0.0], [np.inf]), r"finite; bounds\[0\]"),
        ([(0, 1), (2, 2)], r"lower < upper; bounds\[1\] is \(2.0, 2.0\)"),
        ([(3, 2)], r"lower < upper; bounds\[0\] is \(3.0, 2.0\)"),
        ([0, 1], r"shape \(D, 2\).*got shape \(2,\)"),
        ([(0, 1, 2)], r"shape \(D, 2\).*got shape \(1, 3\)"),
        (3.0, r"shape \(D, 2\).*got shape \(\)"),
        (np.zeros((2, 2, 2)), r"shape \(D, 2\).*got shape \(2, 2, 2\)"),
        ([], r"shape \(D, 2\).*got shape \(0,\)"),
        (np.zeros((0, 2)), "at least one variable"),
        ([(0, 1), (0,)], "must be real numbers"),
        ([("low", "high")], "must be real numbers"),
        ([(0, [1])], "must be real numbers"),
    ],
)
def test_bad_bounds_are_refused(bounds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Box.of(bounds)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([0.5, 11.0, 0.0], r"x0 must lie inside.*coordinate 1 is 11.0, allowed is \[0.0, 10.0\]"),
        ([0.5, 5.0, -1.5], r"x0 must lie inside.*coordinate 2 is -1.5"),
        ([np.nan, 5.0, 0.0], r"x0 must lie inside.*coordinate 0 is nan"),
        ([0.5, np.inf, 0.0], r"x0 must lie inside.*coordinate 1 is inf"),
        ([[0.5, 5.0, 0.0], [0.5, -3.0, 0.0]], r"x0 must lie inside.*coordinate 1 is -3.0"),
        ([0.5, 5.0], r"x0 must have 3 coordinates.*got shape \(2,\)"),
        ([[0.5], [5.0], [0.0]], r"x0 must have 3 coordinates.*got shape \(3, 1\)"),
        (0.5, r"x0 must have 3 coordinates.*got shape \(\)"),
        (np.zeros((1, 1, 3)), r"x0 must have 3 coordinates"),
        ("point", "x0 must be a vector of 3 real numbers"),
        ([0.5, None, [1.0]], "x0 must be a vector of 3 real numbers"),
    ],
)
def test_check_points_names_what_is_wrong(x: Any, message: str) -> None:
    box = Box.of([(0.0, 1.0), (0.0, 10.0), (-1.0, 1.0)])
    with pytest.raises(ValueError, match=message):
        box.check_points(x, "x0")


def test_check_points_takes_one_point_or_many_and_copies() -> None:
    box = Box.of([(0.0, 1.0), (0.0, 10.0)])
    many = np.array([[0.0, 10.0], [1.0, 0.0]])  # corners are inside
    points = box.check_points(many, "x0")
    assert np.array_equal(points, many)
    assert not np.shares_memory(points, many)
    assert np.array_equal(box.check_points([1, 2], "x0"), [[1.0, 2.0]])


def test_samples_fill_the_unit_box() -> None:
    box = Box.of([(0.0, 1.0), (100.0, 1e9)])
    u = box.sample(np.random.default_rng(0), 4000)
    assert u.shape == (4000, 2)
    assert np.all(np.abs(u) <= 1.0)
    # The mean of 4000 draws has a standard error of 0.009, the variance one of 0.005.
    np.testing.assert_allclose(u.mean(axis=0), 0.0, atol=0.04)
    np.testing.assert_allclose(u.var(axis=0), 1.0 / 3.0, atol=0.02)
