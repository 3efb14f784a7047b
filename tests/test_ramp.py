"""The ramp-loss task: the formula, what an evaluation costs, and what is refused."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from made_up import isolate, make_up
from transect._array import Host
from transect.problems import make
from transect.problems.ramp import FEW, UPDATES, RampLoss


def examples(L: int = 30, p: int = 40, seed: int = 0) -> tuple[Host, Host]:
    """Half of the entries zero; classes that a hyperplane parts but for a few."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(L, p)) * (rng.random((L, p)) < 0.5)
    y = np.where(X @ rng.normal(size=p) + rng.normal(size=L) > 0.0, 1.0, -1.0)
    return X, y


def slow(X: Any, y: Any, u: Host, s: float = 0.0, C: float = 1.0) -> float:
    """½|w|² + C·Σ (H_1 - H_s)(y·(w·v + b)) with hinges H_a(m) = max(0, a - m), in loops."""
    w, b = u[:-1], u[-1]
    total = 0.0
    for v, label in zip(X, y, strict=True):
        margin = label * (sum(wi * vi for wi, vi in zip(w, v, strict=True)) + b)
        total += max(0.0, 1.0 - margin) - max(0.0, s - margin)
    return float(0.5 * sum(wi * wi for wi in w) + C * total)


def random_point(D: int, seed: int = 1, scale: float = 0.3) -> Host:
    return np.random.default_rng(seed).uniform(-scale, scale, D)


def loss_of(problem: Any) -> RampLoss:
    assert isinstance(problem.objective, RampLoss)
    return problem.objective


# --- the formula ------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("s", "C"), [(0.0, 1.0), (-1.0, 2.0), (0.5, 10.0), (-0.3, 0.25)])
def test_values_are_those_of_a_slow_loop(s: float, C: float, sparse: bool) -> None:
    X, y = examples()
    problem = make("ramp", 41, data=(scipy.sparse.csr_array(X) if sparse else X, y), s=s, C=C)
    for seed in range(5):
        u = random_point(41, seed)
        assert problem(u) == pytest.approx(slow(X, y, u, s, C), rel=1e-12)


def test_each_part_of_the_ramp_by_hand() -> None:
    """Margins 2, 1, 0.5, 0, -1 and -2, for s = -1: flat, the corner, the slope, flat again."""
    X = np.array([[2.0], [1.0], [0.5], [0.0], [-1.0], [-2.0]])
    loss = RampLoss(X, np.ones(6), s=-1.0)
    np.testing.assert_array_equal(loss.margins(np.ones(1), 0.0), X[:, 0])
    np.testing.assert_array_equal(loss.ramp(X[:, 0]), [0.0, 0.0, 0.5, 1.0, 2.0, 2.0])
    assert loss(np.array([1.0, 0.0])) == 0.5 + 5.5


def test_nothing_costs_one_for_each_example() -> None:
    X, y = examples()
    for C in (1.0, 2.0, 5.0, 10.0):
        assert make("ramp", 41, data=(X, y), C=C)(np.zeros(41)) == 30.0 * C
    assert make("ramp", 41, data="digits-like")(np.zeros(41)) == 300.0


def test_the_bias_is_not_regularised() -> None:
    """With w = 0 the value is that of the ramp alone, for any b: y·b is the margin."""
    X, y = examples()
    problem = make("ramp", 41, data=(X, y), B=10.0)
    u = np.zeros(41)
    u[-1] = 10.0
    assert problem(u) == np.sum(y == -1.0)
    u[-1] = -10.0
    assert problem(u) == np.sum(y == 1.0)


@given(
    st.integers(0, 2**32 - 1),
    st.floats(-5.0, 0.9),
    st.floats(0.01, 100.0),
    st.floats(0.0, 3.0),
    st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_bounds_whatever_the_point(
    seed: int, s: float, C: float, scale: float, sparse: bool
) -> None:
    """½|w|² ≤ f ≤ ½|w|² + C·L·(1 - s), f(0) = C·L·min(1, 1 - s), f rises with C."""
    X, y = examples(10, 6, seed)
    data = (scipy.sparse.csc_array(X) if sparse else X, y)
    u = random_point(7, seed, scale)
    half = 0.5 * float(u[:-1] @ u[:-1])
    problem, dearer = (make("ramp", 7, data=data, s=s, C=c) for c in (C, 2.0 * C))
    value = problem(u)
    assert half <= value <= half + C * 10.0 * (1.0 - s) * (1.0 + 1e-12)
    assert dearer(u) >= value
    assert dearer(u) - half == pytest.approx(2.0 * (value - half), rel=1e-9, abs=1e-9)
    assert problem(np.zeros(7)) == pytest.approx(C * 10.0 * min(1.0, 1.0 - s), rel=1e-12)


# --- scaling ----------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_slope_and_offset_are_those_of_the_features(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 1000, (30, 12)) * (rng.random((30, 12)) < 0.3)
    y = rng.choice([-1.0, 1.0], 30)
    X: Any = scipy.sparse.csr_array(levels.astype(np.uint16)) if sparse else levels
    scaled = 2.0 * levels / 999.0 - 1.0
    trick = RampLoss(X, y, slope=2.0 / 999.0, offset=-1.0, s=-0.5, C=3.0)
    for seed in range(5):
        u = random_point(13, seed)
        assert trick(u) == pytest.approx(RampLoss(scaled, y, s=-0.5, C=3.0)(u), rel=1e-12)
        assert trick(u) == pytest.approx(slow(scaled, y, u, -0.5, 3.0), rel=1e-12)


def test_named_data_are_scaled_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training examples, their first D - 1 features, least -1 and at most 1."""
    isolate(tmp_path, monkeypatch)
    world = make_up(tmp_path, monkeypatch)
    X, y = world.gisette[:2]
    problem = make("ramp", 9, data="gisette", folder=world.folder, C=2.0)
    scaled = 2.0 * X[:, :8] / 999.0 - 1.0
    for seed in range(3):
        u = random_point(9, seed)
        assert problem(u) == pytest.approx(slow(scaled, y, u, 0.0, 2.0), rel=1e-12)
    like = make("ramp", 301, data="gisette-like", folder=world.folder)
    assert like(np.zeros(301)) == 80.0
    assert loss_of(like).columns.shape == (300, 80)


def test_the_box_and_what_else_the_problem_says() -> None:
    X, y = examples()
    for B in (1.0, 10.0, 0.5):
        problem = make("ramp", 21, data=(X, y), B=B)
        np.testing.assert_array_equal(problem.box.lower, np.full(21, -B))
        np.testing.assert_array_equal(problem.box.upper, np.full(21, B))
        assert (problem.name, problem.D, problem.least, problem.optimum) == ("ramp", 21, 0.0, None)
    u = random_point(21)
    assert make("ramp", 21, data=(X, y))(u) == pytest.approx(slow(X[:, :20], y, u), rel=1e-12)
    noisy = make("ramp", 21, data=(X, y), noise=1.0, noise_seed=3)
    assert noisy.noiseless(u) == problem(u)
    assert noisy(u) != problem(u)


# --- points that change in a few coordinates ----------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("p", [3, 40])
def test_any_sequence_of_points_gives_the_values_of_fresh_ones(sparse: bool, p: int) -> None:
    """They change in 0, 1, a few, many or all coordinates, the bias among them or not."""
    X, y = examples(30, p)
    data: Any = scipy.sparse.csr_array(X) if sparse else X
    loss = RampLoss(data, y, slope=0.7, offset=0.2)
    rng = np.random.default_rng(0)
    u = random_point(p + 1)
    scaled = 0.7 * X + 0.2
    for _ in range(500):
        k = rng.choice([0, 1, 1, 2, 3, p // 4, p // 2, p + 1])
        which = rng.choice(p + 1, min(k, p + 1), replace=False)
        u = u.copy()
        u[which] = rng.uniform(-1.0, 1.0, len(which))
        half = 0.5 * float(u[:-1] @ u[:-1])
        margins = y * (scaled @ u[:-1] + u[-1])
        expected = half + float(np.sum(np.clip(1.0 - margins, 0.0, 1.0)))
        assert loss(u) == pytest.approx(expected, rel=1e-12)


def test_hundreds_of_updates_stay_exact() -> None:
    """One coordinate at a time, over and over."""
    X, y = examples()
    loss, u = RampLoss(X, y), random_point(41)
    rng = np.random.default_rng(0)
    for _ in range(500):
        u[rng.integers(41)] = rng.uniform(-1.0, 1.0)
        last = loss(u)
    assert last == pytest.approx(RampLoss(X, y)(u), rel=1e-12)


@pytest.mark.parametrize("k", [1, 9, 10])
def test_few_changes_look_at_their_columns_alone(k: int) -> None:
    """All others are made nan after the first value; of 40, less than ten are few."""
    X, y = examples()
    loss, u = RampLoss(X.copy(), y), random_point(41)
    loss(u)
    u = u.copy()
    u[:k] += 0.1
    expected = slow(X, y, u)
    loss.columns[k:] = math.nan
    if FEW * k < 40:
        assert loss(u) == pytest.approx(expected, rel=1e-12)
    else:
        assert math.isnan(loss(u))


def test_products_are_computed_afresh_once_in_a_while() -> None:
    """An error in what is kept is gone after UPDATES updates, in time not before."""
    X, y = examples()
    loss, u = RampLoss(X, y), random_point(41)
    loss(u)
    assert loss._last is not None
    w, product, _ = loss._last
    loss._last = (w, product + 0.01, 0)
    right = []
    for i in range(UPDATES + 1):
        u[i % 40] += 0.01
        right.append(loss(u) == pytest.approx(RampLoss(X, y)(u), rel=1e-12))
    assert right[-1]
    assert not any(right[:-1])


def test_an_array_that_is_used_again_does_no_harm() -> None:
    X, y = examples()
    loss, u = RampLoss(X, y), random_point(41)
    problem = make("ramp", 41, data=(X, y))
    for i in range(20):
        u[i] += 0.2  # in place: the same array each time
        expected = slow(X, y, u)
        assert loss(u) == pytest.approx(expected, rel=1e-12)
        assert problem(u) == pytest.approx(expected, rel=1e-12)
    before = u.copy()
    loss(u)
    np.testing.assert_array_equal(u, before)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_point_that_is_no_good_does_not_spoil_the_next(bad: float) -> None:
    X, y = examples()
    problem, u = make("ramp", 41, data=(X, y)), random_point(41)
    expected = problem(u)
    wrong = u.copy()
    wrong[3] = bad
    with np.errstate(invalid="ignore"):
        assert not problem(wrong) < math.inf
        assert problem(u) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_data_changed_afterwards_do_no_harm(order: Any) -> None:
    X, y = examples()
    mine, labels = np.array(X, order=order), y.copy()
    sparse = scipy.sparse.csc_array(X)
    problems = [make("ramp", 41, data=(mine, labels)), make("ramp", 41, data=(sparse, labels))]
    mine[:] = 0.0
    labels *= -1.0
    sparse.data[:] = 0.0
    u = random_point(41)
    for problem in problems:
        assert problem(u) == pytest.approx(slow(X, y, u), rel=1e-12)


def test_a_pickled_copy_gives_the_same_values() -> None:
    X, y = examples()
    problem = make("ramp", 41, data=(scipy.sparse.csr_array(X), y), C=2.0)
    points = [random_point(41)] * 3
    points = [u + 0.01 * i * np.eye(41)[i] for i, u in enumerate(points)]
    problem(points[0])
    copy = pickle.loads(pickle.dumps(problem))
    for u in points:
        assert copy(u) == pytest.approx(slow(X, y, u, C=2.0), rel=1e-12)
        assert problem(u) == pytest.approx(slow(X, y, u, C=2.0), rel=1e-12)
    assert copy.references["linear-svm"](0) == problem.references["linear-svm"](0)


def test_threads_do_not_disturb_each_other() -> None:
    """Four at once, in small steps around points of their own."""
    X, y = examples()
    problem = make("ramp", 41, data=(X, y))
    rng = np.random.default_rng(0)
    walks = []
    for seed in range(4):
        steps = np.zeros((400, 41))
        steps[np.arange(400), rng.integers(0, 41, 400)] = rng.uniform(-0.1, 0.1, 400)
        walks.append(random_point(41, seed) + np.cumsum(steps, axis=0))
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda walk: [problem(u) for u in walk], walks))
    for walk, found in zip(walks, values, strict=True):
        expected = [RampLoss(X, y)(u) for u in walk]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_another_thread_has_read_stays_as_it_is() -> None:
    X, y = examples()
    loss, u = RampLoss(X, y), random_point(41)
    loss(u)
    read = loss._last
    assert read is not None
    w, product = read[0].copy(), read[1].copy()
    u[0] += 0.1
    loss(u)
    np.testing.assert_array_equal(read[0], w)
    np.testing.assert_array_equal(read[1], product)


# --- the reference ------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, 10.0])
def test_a_support_vector_machine_is_far_below_chance(C: float) -> None:
    problem = make("ramp", 101, data="digits-like", C=C)
    assert list(problem.references) == ["linear-svm"]
    value = problem.references["linear-svm"](0)
    random = [problem(random_point(101, seed, 1.0)) for seed in range(20)]
    assert 0.0 < value < 0.05 * problem(np.zeros(101))
    assert value < 0.5 * min(random)
    assert problem.references["linear-svm"](1) == value


def test_the_machines_value_is_the_same_for_dense_and_sparse_data() -> None:
    """Its weights are those of the scaled features, however they are given."""
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 100, (80, 10)) * (rng.random((80, 10)) < 0.6)
    y = np.where(levels @ rng.normal(size=10) + 20.0 > 0.0, 1.0, -1.0)
    values = [
        RampLoss(X, y, slope=0.02, offset=offset).linear_svm(0)
        for X in (levels, scipy.sparse.csr_array(levels))
        for offset in (0.0, -1.0)
    ]
    explicit = RampLoss(0.02 * levels - 1.0, y).linear_svm(0)
    assert values == pytest.approx([values[0]] * 4, rel=1e-6)
    assert explicit == pytest.approx(values[0], rel=0.02)  # its bias is regularised a little


def test_the_reference_leaves_values_as_they_are() -> None:
    X, y = examples()
    problem, u = make("ramp", 41, data=(X, y)), random_point(41)
    before = problem(u)
    problem.references["linear-svm"](0)
    assert problem(u) == pytest.approx(before, rel=1e-12)


# --- what is refused ----------------------------------------------------------------------


def changed(X: Host, value: float) -> Host:
    X = X.copy()
    X[3, 4] = value
    return X


X, Y = examples()


@pytest.mark.parametrize(
    ("D", "options", "message"),
    [
        (1, {}, "D must be an integer of at least 2, got 1"),
        (42, {}, "the data have 40 features, so D is at most 41"),
        (41, {"s": 1.0}, "s must be a number below 1, got 1.0"),
        (41, {"s": math.nan}, "s must be a number below 1"),
        (41, {"s": -math.inf}, "s must be a number below 1"),
        (41, {"s": "0"}, "s must be a number below 1, got '0'"),
        (41, {"C": 0.0}, "C must be a positive number, got 0.0"),
        (41, {"C": math.inf}, "C must be a positive number"),
        (41, {"B": -1.0}, "B must be a positive number, got -1.0"),
        (41, {"noise": -1.0}, "noise must be a number of at least 0"),
        (41, {"noise_seed": -1}, "noise_seed must be an integer"),
        (41, {"data": "iris"}, r"data must be one of gisette, .*, or \(X, y\), got 'iris'"),
        (41, {"data": (X, (Y + 1.0) / 2.0)}, r"the classes in data must be \+1 or -1"),
        (41, {"data": (X, changed(X, math.nan)[:, 4])}, r"the classes in data must be \+1 or -1"),
        (41, {"data": (X, Y[:-1])}, r"got shapes \(30, 40\) and \(29,\)"),
        (41, {"data": (X[0], Y)}, r"features \(L, p\) and classes \(L,\)"),
        (41, {"data": (X, Y[:, None])}, r"got shapes \(30, 40\) and \(30, 1\)"),
        (41, {"data": ([["a"] * 40] * 30, Y)}, "not real numbers"),
    ],
)
def test_bad_input_is_named(D: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make("ramp", D, **({"data": (X, Y)} | options))


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_that_are_no_numbers_are_refused(value: float, sparse: bool) -> None:
    features: Any = scipy.sparse.csr_array(changed(X, value)) if sparse else changed(X, value)
    with pytest.raises(ValueError, match="data"):
        make("ramp", 41, data=(features, Y))


@pytest.mark.parametrize("data", [None, (X,), (X, Y, Y), X], ids=["None", "X,", "X, y, y", "X"])
def test_data_that_are_no_pair_are_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="data"):
        make("ramp", 41, data=data)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_any_form_of_a_sparse_array_will_do(form: str, kind: str) -> None:
    features = getattr(scipy.sparse, f"{form}_{kind}")(X)
    u = random_point(21)
    problem = make("ramp", 21, data=(features, Y))
    assert problem(u) == pytest.approx(slow(X[:, :20], Y, u), rel=1e-12)


def test_no_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="classes in data must be"):
        make("ramp", 3, data=(np.zeros((0, 2)), np.zeros(0)))
