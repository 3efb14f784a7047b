"""Problems on [-1, 1]^D: formulas, optima, shifts, rotations, noise, the registry."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect._array import Host
from transect.problems import BY_NAME, Problem, ackley, branin, camelback, levy, make, rastrigin
from transect.problems.placement import Formula, place

Vector = Sequence[float]
FULL = [
    "ackley",
    "levy",
    "hyper-ellipsoid",
    "schwefel-1.2",
    "rosenbrock",
    "rastrigin",
    "styblinski-tang",
]
EMBEDDED = ["camelback", "branin", "hartmann6"]
PLACINGS: dict[str, dict[str, Any]] = {
    "as published": {},
    "shifted": {"shift_seed": 1},
    "shifted far": {"shift_seed": 2, "shift": 0.8},
    "rotated": {"rotation_seed": 3},
    "both": {"shift_seed": 4, "shift": 0.8, "rotation_seed": 4},
}


def best_point(problem: Problem) -> Host:
    assert problem.optimum is not None
    return problem.optimum


# --- the formulas once more, in plain loops ------------------------------------------


def reference_ackley(x: Vector) -> float:
    squares = sum(v**2 for v in x) / len(x)
    waves = sum(math.cos(2 * math.pi * v) for v in x) / len(x)
    return 20 + math.e - 20 * math.exp(-0.2 * math.sqrt(squares)) - math.exp(waves)


def reference_levy(x: Vector) -> float:
    w = [1 + (v - 1) / 4 for v in x]
    total = math.sin(math.pi * w[0]) ** 2
    for v in w[:-1]:
        total += (v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2)
    return total + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)


def reference_rosenbrock(x: Vector) -> float:
    return sum(100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in pairwise(x))


def reference_rastrigin(x: Vector) -> float:
    return 10 * len(x) + sum(v**2 - 10 * math.cos(2 * math.pi * v) for v in x)


def reference_camelback(x: Vector) -> float:
    a, b = x
    return 4 * a**2 - 2.1 * a**4 + a**6 / 3 + a * b - 4 * b**2 + 4 * b**4


def reference_branin(x: Vector) -> float:
    b, c, t = 5.1 / (4 * math.pi**2), 5 / math.pi, 1 / (8 * math.pi)
    return (x[1] - b * x[0] ** 2 + c * x[0] - 6) ** 2 + 10 * (1 - t) * math.cos(x[0]) + 10


REFERENCES: dict[str, tuple[Callable[[Vector], float], float]] = {  # formula and R
    "ackley": (reference_ackley, 32.768),
    "levy": (reference_levy, 10.0),
    "hyper-ellipsoid": (
        lambda x: sum(sum(v**2 for v in x[: i + 1]) for i in range(len(x))),
        65.536,
    ),
    "schwefel-1.2": (lambda x: sum(sum(x[: i + 1]) ** 2 for i in range(len(x))), 65.536),
    "rosenbrock": (reference_rosenbrock, 2.048),
    "rastrigin": (reference_rastrigin, 5.12),
    "styblinski-tang": (lambda x: sum(v**4 - 16 * v**2 + 5 * v for v in x) / 2, 5.0),
}


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("D", [2, 7])
def test_full_problems_follow_their_formulas(name: str, D: int) -> None:
    reference, R = REFERENCES[name]
    problem = make(name, D)
    shifted = make(name, D, shift_seed=5)
    s = best_point(shifted) - best_point(problem)
    for u in np.random.default_rng(D).uniform(-1, 1, (20, D)):
        assert problem(u) == pytest.approx(reference((R * u).tolist()), rel=1e-12)
        assert shifted(u) == pytest.approx(reference((R * (u - s)).tolist()), rel=1e-11)


def test_embedded_problems_follow_their_formulas() -> None:
    for u in np.random.default_rng(0).uniform(-1, 1, (20, 5)):
        expected = reference_camelback([3 * u[0], 2 * u[1]])
        assert camelback(5)(u) == pytest.approx(expected, rel=1e-12)
        expected = reference_branin([2.5 + 7.5 * u[0], 7.5 + 7.5 * u[1]])
        assert branin(5)(u) == pytest.approx(expected, rel=1e-12)


def test_values_worked_out_by_hand() -> None:
    one = np.ones(3)
    expected = 20 - 20 * math.exp(-0.2 * 32.768) + math.e
    expected -= math.exp(math.cos(2 * math.pi * 32.768))
    assert ackley(3)(one) == pytest.approx(expected)
    # x = (5, 1): w = (2, 1); sin²(2π) + 1·(1 + 10 sin²(2π + 1))
    assert levy(2)([0.5, 0.1]) == pytest.approx(1 + 10 * math.sin(1.0) ** 2)
    assert make("hyper-ellipsoid", 3)([1 / 65.536, 0, 0]) == pytest.approx(3.0)
    assert make("hyper-ellipsoid", 3)([0, 0, 1 / 65.536]) == pytest.approx(1.0)
    assert make("schwefel-1.2", 3)(one / 65.536) == pytest.approx(1 + 4 + 9)
    assert make("rosenbrock", 3)([0, 0, 0]) == pytest.approx(2.0)
    assert rastrigin(3)(0.5 * one / 5.12) == pytest.approx(3 * 20.25)
    assert make("styblinski-tang", 3)(one / 5.0) == pytest.approx(-15.0)
    assert camelback(2)([1 / 3, 1 / 2]) == pytest.approx(4 - 2.1 + 1 / 3 + 1)
    assert branin(2)([-1 / 3, -1]) == pytest.approx(36 + 20 - 10 / (8 * math.pi))  # x = (0, 0)


def test_hartmann6_at_published_points() -> None:
    """The optimum as the literature rounds it, and one peak, where its own term is its weight."""
    published = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]
    assert make("hartmann6", 6)(2 * np.array(published) - 1) == pytest.approx(-3.32237, abs=1e-5)
    third = np.array([0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650])
    curvatures_and_peaks = [
        (1.0, [10, 3, 17, 3.5, 1.7, 8], [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886]),
        (1.2, [0.05, 10, 17, 0.1, 8, 14], [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991]),
        (3.2, [17, 8, 0.05, 10, 0.1, 14], [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381]),
    ]
    expected = -3.0
    for weight, a, p in curvatures_and_peaks:
        expected -= weight * math.exp(
            -sum(k * (x - q) ** 2 for k, x, q in zip(a, third.tolist(), p, strict=True))
        )
    assert make("hartmann6", 6)(2 * third - 1) == pytest.approx(expected)


# --- least values and optima ---------------------------------------------------------


@pytest.mark.parametrize("placing", PLACINGS)
@pytest.mark.parametrize("name", [*FULL, *EMBEDDED])
@pytest.mark.parametrize("D", [6, 30])
def test_least_value_is_at_the_optimum_inside_the_box(name: str, placing: str, D: int) -> None:
    problem = make(name, D, **PLACINGS[placing])
    assert problem.D == problem.box.D == D
    assert best_point(problem).shape == (D,)
    assert np.all(np.abs(best_point(problem)) <= 1.0)
    assert problem(best_point(problem)) == pytest.approx(problem.least, abs=1e-9)


@given(
    name=st.sampled_from([*FULL, *EMBEDDED]),
    placing=st.sampled_from(sorted(PLACINGS)),
    seed=st.integers(0, 2**32),
    radius=st.sampled_from([2.0, 0.1, 1e-3]),
)
@settings(max_examples=300, deadline=None)
def test_no_point_is_below_the_least_value(
    name: str, placing: str, seed: int, radius: float
) -> None:
    problem = make(name, 8, **PLACINGS[placing])
    step = np.random.default_rng(seed).uniform(-radius, radius, 8)
    u = np.clip(best_point(problem) + step, -1.0, 1.0)
    assert problem(u) >= problem.least - 1e-12 * max(1.0, abs(problem.least))


@pytest.mark.parametrize("name", ["camelback", "branin"])
def test_nothing_is_lower_outside_the_usual_domain(name: str) -> None:
    """Shifts and rotations lead there; the objective takes points outside the box, too."""
    problem = make(name, 2)
    grid = np.linspace(-3.0, 3.0, 241)
    values = [problem([a, b]) for a in grid for b in grid]
    assert min(values) >= problem.least


def test_one_variable_is_enough_for_most() -> None:
    for name in FULL:
        if name != "rosenbrock":
            problem = make(name, 1, rotation_seed=0, shift_seed=0)
            assert problem(best_point(problem)) == pytest.approx(problem.least, abs=1e-9)


# --- shift and rotation --------------------------------------------------------------


@pytest.mark.parametrize(("name", "x_best", "R"), [("ackley", 0, 32.768), ("levy", 1, 10)])
def test_shift_is_the_seeded_uniform_draw(name: str, x_best: float, R: float) -> None:
    draw = np.random.default_rng(3).uniform(-0.5, 0.5, 100)
    shifted = best_point(make(name, 100, shift_seed=3))
    assert np.array_equal(shifted, x_best / R + draw)
    assert not np.array_equal(shifted, best_point(make(name, 100, shift_seed=4)))
    assert np.array_equal(best_point(make(name, 100)), np.full(100, x_best / R))


@pytest.mark.parametrize("most", [0.5, 0.8])
def test_shift_reaches_its_limits_or_the_wall(most: float) -> None:
    usual = -2.903534 / 5.0
    shifted = best_point(make("styblinski-tang", 4000, shift_seed=0, shift=most))
    assert shifted.min() == pytest.approx(-1.0, abs=1e-2)
    assert shifted.max() == pytest.approx(usual + most, abs=1e-2)


def test_rotation_is_orthogonal_and_about_the_optimum() -> None:
    sphere = Formula("sphere", lambda x: float(x @ x), R=2.0, x_best=0.0)
    rotated = place(sphere, 9, np.arange(9), 1, rotation_seed=2)
    for u in np.random.default_rng(0).uniform(-1, 1, (20, 9)):
        away = u - best_point(rotated)
        assert rotated(u) == pytest.approx(4.0 * (away @ away))


def test_rotation_mixes_the_coordinates() -> None:
    """With x = x* + R·Q·(u - u*), a step along u_j moves x by R times column j of Q."""
    coordinates: list[Host] = []

    def record(x: Host) -> float:
        coordinates.append(x)
        return 0.0

    formula = Formula("record", record, R=3.0, x_best=1.0)
    problem = place(formula, 5, np.arange(5), 0, rotation_seed=1)
    for column in np.eye(5):
        problem(best_point(problem) + 0.1 * column)
    Q = (np.array(coordinates).T - 1.0) / 0.3
    assert np.allclose(Q @ Q.T, np.eye(5))
    assert np.abs(Q).max() < 0.99


@pytest.mark.parametrize("name", [*FULL, *EMBEDDED])
def test_rotation_is_seeded(name: str) -> None:
    u = np.random.default_rng(0).uniform(-1, 1, 7)
    value = make(name, 7, rotation_seed=1)(u)
    assert make(name, 7, rotation_seed=1)(u) == value
    assert make(name, 7, rotation_seed=2)(u) != value
    assert make(name, 7)(u) != value


def test_a_rotated_embedded_problem_varies_in_a_plane() -> None:
    problem = branin(12, rotation_seed=0)
    step = 1e-6 * np.eye(12)
    gradients = [
        [problem(u + e) - problem(u - e) for e in step]
        for u in np.random.default_rng(0).uniform(-1, 1, (6, 12))
    ]
    sizes = np.linalg.svd(np.array(gradients), compute_uv=False)
    assert sizes[2] < 1e-3 * sizes[1]


# --- active coordinates --------------------------------------------------------------


def active_coordinates(problem: Problem) -> list[int]:
    rng = np.random.default_rng(0)
    u = rng.uniform(-1, 1, problem.D)
    found = []
    for i in range(problem.D):
        moved = u.copy()
        moved[i] = rng.uniform(-1, 1)
        if problem(moved) != problem(u):
            found.append(i)
    return found


@pytest.mark.parametrize(("name", "k"), [("camelback", 2), ("branin", 2), ("hartmann6", 6)])
@pytest.mark.parametrize("shift_seed", [None, 1])
def test_only_the_active_coordinates_matter(name: str, k: int, shift_seed: int | None) -> None:
    def where(**options: Any) -> list[int]:
        return active_coordinates(make(name, 20, shift_seed=shift_seed, **options))

    assert where() == where(active="first") == list(range(k))
    assert where(active="last") == list(range(20 - k, 20))
    assert len(where(active="random")) == k
    assert where(active="random", active_seed=1) == where(active="random", active_seed=1)
    assert where(active="random", active_seed=1) != where(active="random", active_seed=2)


# --- noise ---------------------------------------------------------------------------


def test_noise_is_seeded_call_by_call() -> None:
    u = np.full(4, 0.2)
    first, second = levy(4, noise=2.0, noise_seed=1), levy(4, noise=2.0, noise_seed=1)
    values = [first(u) for _ in range(5)]
    assert values == [second(u) for _ in range(5)]
    assert len(set(values)) == 5
    assert levy(4, noise=2.0, noise_seed=2)(u) != values[0]
    assert replace(first, noise_seed=1)(u) == values[0]  # a fresh copy starts anew


def test_noise_has_its_standard_deviation_and_can_be_left_out() -> None:
    u = np.full(4, 0.2)
    noisy = rastrigin(4, noise=3.0)
    assert noisy.noiseless(u) == rastrigin(4)(u)
    noise = np.array([noisy(u) for _ in range(2000)]) - noisy.noiseless(u)
    assert noise.std() == pytest.approx(3.0, rel=0.1)
    assert abs(noise.mean()) < 0.3


# --- pickling, bad input, the registry -----------------------------------------------


@pytest.mark.parametrize("name", [*FULL, *EMBEDDED])
def test_a_pickled_problem_goes_on_where_it_stood(name: str) -> None:
    problem = make(name, 7, shift_seed=1, rotation_seed=2, noise=0.5)
    u = np.full(7, 0.3)
    problem(u)
    copy: Problem = pickle.loads(pickle.dumps(problem))
    assert (copy.name, copy.least) == (name, problem.least)
    assert np.array_equal(best_point(copy), best_point(problem))
    assert copy.noiseless(u) == problem.noiseless(u)
    assert copy(u) == problem(u)


def test_a_problem_without_limits_has_no_constraints() -> None:
    assert ackley(3).constraints(np.zeros(3)).shape == (0,)


@pytest.mark.parametrize(
    ("name", "D", "options", "message"),
    [
        ("ackley", 0, {}, "D must be an integer of at least 1, got 0"),
        ("ackley", 2.5, {}, "D must be an integer"),
        ("styblinski-tang", "2", {}, "D must be an integer"),
        ("rosenbrock", 1, {}, "D must be an integer of at least 2, got 1"),
        ("camelback", 1, {}, "at least 2"),
        ("hartmann6", 5, {}, "at least 6"),
        ("branin", 5, {"active": "middle"}, "'first', 'last' or 'random', got 'middle'"),
        ("branin", 5, {"active": "random", "active_seed": -1}, "active_seed"),
        ("levy", 5, {"shift_seed": -1}, "shift_seed"),
        ("levy", 5, {"shift_seed": 0, "shift": 0.0}, "shift must be a positive number"),
        ("levy", 5, {"rotation_seed": 0.5}, "rotation_seed"),
        ("levy", 5, {"noise": -1.0}, "noise must be a number of at least 0, got -1.0"),
        ("levy", 5, {"noise": math.nan}, "noise"),
        ("levy", 5, {"noise_seed": -1}, "noise_seed"),
        ("rover", 59, {}, "rover has D = 60, got 59"),
        ("mopta08", 125, {}, "mopta08 has D = 124, got 125"),
        ("sphere", 5, {}, "no problem 'sphere'; there are ackley, .*, mopta08"),
    ],
)
def test_bad_input_is_named(name: str, D: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(name, D, **options)


@pytest.mark.parametrize("u", [np.zeros(4), np.zeros((1, 3)), 0.0])
def test_a_vector_of_the_wrong_length_is_refused(u: Any) -> None:
    with pytest.raises(ValueError, match="ackley takes a vector of 3 numbers, got shape"):
        ackley(3)(u)


def test_registry_has_every_problem_under_its_own_name() -> None:
    assert list(BY_NAME) == [*FULL, *EMBEDDED, "rover", "mopta08", "network", "ramp"]
    for name in (*FULL, *EMBEDDED):
        assert make(name, 6).name == name
