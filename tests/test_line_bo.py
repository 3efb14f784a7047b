"""LineBO: its lines, the queries on them, and the point they go through."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers import bowl
from transect import UCB, LineBO, Optimizer
from transect.strategies import History, Proposal, Setting
from transect.strategies.line_bo import DIRECTIONS, TINY

Point = NDArray[np.float64]

D = 6
every_direction = pytest.mark.parametrize("direction", DIRECTIONS)


def evaluations(n: int, dimensions: int = D, seed: int = 0) -> History:
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, dimensions))
    return History(X, -np.array([bowl(x) for x in X]), X[:0])


def steps(strategy: LineBO, history: History, count: int, seed: int = 0) -> list[Proposal]:
    """``count`` suggestions in a row, each of them evaluated."""
    state = strategy.start(Setting(history.X.shape[1], seed, suggest_evals=800))
    proposals = []
    for t in range(count):
        p = strategy.suggest(state, history, np.random.default_rng([seed, t]))
        proposals.append(p)
        state = p.state
        history = History(
            np.vstack([history.X, p.x]), np.append(history.y, -bowl(p.x)), history.pending
        )
    return proposals


def by_line(proposals: list[Proposal]) -> list[list[Proposal]]:
    return [list(group) for _, group in itertools.groupby(proposals, lambda p: p.info["line"])]


def on_grid(line: Any, count: int = 2001) -> Point:
    """Points (count, D) of a line, from end to end."""
    points: Point = line.segment.point(
        np.linspace(line.segment.lower[0], line.segment.upper[0], count)[:, None]
    )
    return points


def value(acquisition: UCB, p: Proposal, x: Point) -> Point:
    """Standardised bounds (p,) at x (p, D) under the proposal's model."""
    bound: Point = acquisition.value(*p.state.model.gp.posterior(x))
    return bound


@pytest.fixture(scope="module", params=DIRECTIONS)
def run(request: pytest.FixtureRequest) -> list[Proposal]:
    """Forty suggestions after eight evaluations."""
    return steps(LineBO(direction=request.param), evaluations(8), 40)


# --- lines -----------------------------------------------------------------------------


def test_queries_are_collinear_with_the_point_the_line_goes_through(run: list[Proposal]) -> None:
    for group in by_line(run):
        through = group[0].state.line.through
        away = np.array([p.x - through for p in group])
        assert np.array_equal([p.state.line.through for p in group], [through] * len(group))
        direction = group[0].state.line.segment.basis[:, 0]
        residue = away - np.outer(away @ direction, direction) / (direction @ direction)
        assert np.max(np.abs(residue)) < 1e-12
        # without what the strategy says of itself: the points span one dimension
        assert np.linalg.matrix_rank(away, tol=1e-9) <= 1


def test_lines_are_counted_and_have_at_most_ten_queries(run: list[Proposal]) -> None:
    lines = by_line(run)
    assert [group[0].info["line"] for group in lines] == list(range(len(lines)))
    assert len(lines) >= 4
    for group in lines:
        assert [p.info["query"] for p in group] == list(range(1, len(group) + 1))
        assert len(group) <= 10


def test_lines_of_less_than_five_queries_ended_at_an_evaluated_end(run: list[Proposal]) -> None:
    known = evaluations(8).X
    asked = 0
    for group in by_line(run)[:-1]:
        asked += len(group)
        if len(group) < 5:
            points = np.vstack([known, [p.x for p in run[:asked]]])
            ends = on_grid(group[0].state.line, 2)
            gaps = np.max(np.abs(points[:, None, :] - ends[None, :, :]), axis=2)
            assert np.min(gaps) < 10.0 * TINY


def test_segments_reach_from_side_to_side_of_the_box(run: list[Proposal]) -> None:
    for p in run:
        segment = p.state.line.segment
        (lower,), (upper,) = segment.lower, segment.upper
        assert lower <= 0.0 <= upper
        assert upper - lower > TINY
        for s in (lower, upper):
            end = segment.offset + s * segment.basis[:, 0]
            assert np.max(np.abs(end)) == pytest.approx(1.0, abs=1e-12)
        assert np.all(np.abs(p.x) <= 1.0)


@every_direction
def test_the_first_line_goes_through_the_best_of_the_initial_points(direction: str) -> None:
    history = evaluations(8)
    p = steps(LineBO(direction=direction), history, 1)[0]
    assert np.array_equal(p.state.line.through, history.X[np.argmax(history.y)])


def test_failed_evaluations_are_not_the_best() -> None:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 3))
    history = History(X, np.array([1.0, math.nan, 3.0, 2.0]), X[:0])
    assert np.array_equal(steps(LineBO(), history, 1)[0].state.line.through, X[2])


# --- queries ---------------------------------------------------------------------------


def test_queries_maximise_the_bound_on_their_line(run: list[Proposal]) -> None:
    for p in run:
        ucb = UCB(p.info["beta"])
        here = float(value(ucb, p, p.x[None])[0])
        assert here >= np.max(value(ucb, p, on_grid(p.state.line))) - 1e-6
        model = p.state.model
        told = (p.info["ucb"] - model.shift) / model.scale  # of values near 0 few digits are left
        assert told == pytest.approx(here, rel=1e-6)


def test_the_model_is_of_all_dimensions_and_all_evaluations(run: list[Proposal]) -> None:
    known = np.vstack([evaluations(8).X, [p.x for p in run]])
    for i, p in enumerate(run):
        assert np.array_equal(p.state.model.gp.X, known[: 8 + i])


def test_beta_is_ms_ucbs_with_one_free_coordinate(run: list[Proposal]) -> None:
    for t, p in enumerate(run, start=1):
        cover = 2.0 * math.sqrt(math.log(6.0 * D / 0.1)) * t**2
        expected = 2.0 * math.log(math.pi**2 * t**2 / 0.1) + 2.0 * math.log(cover)
        assert p.info["t"] == t
        assert p.info["beta"] == pytest.approx(expected, rel=1e-12)
        assert p.info["beta_kind"] == "paper"


# --- from line to line -----------------------------------------------------------------


def test_the_next_line_goes_through_the_largest_mean_of_the_last(run: list[Proposal]) -> None:
    moved = 0
    for last, following in itertools.pairwise(by_line(run)):
        p, old, new = following[0], last[0].state.line, following[0].state.line
        # p's model, which the old line is judged by, has all its queries
        mean = value(UCB(0.0), p, on_grid(old))
        at_old, at_new = value(UCB(0.0), p, np.array([old.through, new.through]))
        assert at_new >= at_old
        assert at_new >= np.max(mean) - 1e-6
        if not np.array_equal(new.through, old.through):
            moved += 1
            away, direction = new.through - old.through, old.segment.basis[:, 0]
            residue = away - (away @ direction) / (direction @ direction) * direction
            assert np.max(np.abs(residue)) < 1e-12
    assert moved >= 2


def test_the_point_stays_where_nothing_on_the_line_is_better() -> None:
    """A cone's tip is the best of any line through it."""
    rng = np.random.default_rng(0)
    X = np.vstack([np.zeros(3), rng.uniform(-1.0, 1.0, (40, 3))])
    history = History(X, -np.linalg.norm(X, axis=1), X[:0])
    strategy = LineBO(beta=1e-6)
    state: Any = strategy.start(Setting(3, 0))
    for t in range(25):
        p = strategy.suggest(state, history, np.random.default_rng(t))
        state = p.state
        history = History(
            np.vstack([history.X, p.x]),
            np.append(history.y, -np.linalg.norm(p.x)),
            history.pending,
        )
    assert state.line.index >= 2
    assert np.max(np.abs(state.line.through)) < 0.02


@pytest.mark.parametrize(("gap", "queries"), [(1e6, 5), (1e-12, 10)])
def test_a_line_ends_early_when_little_is_left_to_gain(gap: float, queries: int) -> None:
    """With a small β the bound is largest inside of a bowl's lines, not at their ends."""
    proposals = steps(LineBO(gap=gap, beta=0.01), evaluations(30, 3), 31)
    sizes = [len(group) for group in by_line(proposals)[:-1]]
    assert sizes == [queries] * len(sizes)
    assert len(sizes) >= 3


def test_a_line_ends_at_once_when_its_best_end_is_known() -> None:
    """A slope in every coordinate: the bound is largest at the end that was evaluated first."""
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 3))
    history, strategy = History(X, X.sum(axis=1), X[:0]), LineBO("coordinate", beta=1e-6)
    state: Any = strategy.start(Setting(3, 0))
    for t in range(3):
        p = strategy.suggest(state, history, np.random.default_rng(t))
        assert (p.info["line"], p.info["query"]) == (t, 1)
        assert p.x[t] == 1.0
        state = p.state
        history = History(
            np.vstack([history.X, p.x]), np.append(history.y, p.x.sum()), history.pending
        )


@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 3), (7, 7)])
def test_queries_a_line_can_be_chosen(least: int, most: int) -> None:
    strategy = LineBO(least=least, most=most, gap=1e-12, beta=0.01)
    sizes = [len(g) for g in by_line(steps(strategy, evaluations(30, 3), 16))[:-1]]
    assert sizes == [most] * len(sizes)


# --- directions ------------------------------------------------------------------------


def test_the_coordinate_oracle_changes_one_coordinate_after_the_other() -> None:
    for p in steps(LineBO(direction="coordinate"), evaluations(8), 40):
        line = p.state.line
        changed = np.flatnonzero(p.x != line.through)
        assert set(changed.tolist()) <= {line.index % D}
        assert (line.segment.lower[0], line.segment.upper[0]) == pytest.approx(
            (-1.0 - line.through[line.index % D], 1.0 - line.through[line.index % D])
        )


def test_random_directions_have_length_one_and_no_preference() -> None:
    history, strategy = evaluations(2, 3), LineBO()  # two points: no time goes into fits
    state = strategy.start(Setting(3, 0, suggest_evals=100))
    directions = []
    for seed in range(250):
        p = strategy.suggest(state, history, np.random.default_rng(seed))
        directions.append(p.state.line.segment.basis[:, 0])
    assert np.linalg.norm(directions, axis=1) == pytest.approx(1.0)
    # Moments of a uniform direction in three dimensions, within 4.5 standard errors.
    assert np.max(np.abs(np.mean(directions, axis=0))) < 4.5 * math.sqrt(1 / 3 / 250)
    spread = np.array(directions).T @ np.array(directions) / 250
    assert np.max(np.abs(spread - np.eye(3) / 3.0)) < 4.5 * math.sqrt(4 / 45 / 250)


@pytest.mark.parametrize("seed", range(3))
def test_descent_goes_where_the_mean_improves(seed: int) -> None:
    """Towards the bowl's middle, and uphill from the start."""
    history = evaluations(40, seed=seed)
    p = steps(LineBO(direction="descent"), history, 1, seed)[0]
    line = p.state.line
    direction = line.segment.basis[:, 0]
    _, _, slope, _ = p.state.model.gp.posterior_grad(line.through[None])
    assert direction @ slope[0] > 0.0
    to_middle = 0.3 - line.through
    assert direction @ to_middle > 0.9 * np.linalg.norm(to_middle)
    assert np.linalg.norm(direction) == pytest.approx(1.0)


def test_descent_is_random_where_the_mean_leads_nowhere() -> None:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (10, 4))
    history = History(X, np.full(10, 2.0), X[:0])
    directions = [
        steps(LineBO(direction="descent"), history, 1, seed)[0].state.line.segment.basis[:, 0]
        for seed in range(3)
    ]
    assert np.linalg.norm(directions, axis=1) == pytest.approx(1.0)
    for one, other in itertools.combinations(directions, 2):
        assert abs(float(one @ other)) < 0.99


# --- corners ---------------------------------------------------------------------------


class Counted(np.random.Generator):
    """A generator that refuses to draw directions for ever."""

    normals = 0

    def normal(self, *args: Any, **options: Any) -> Any:
        self.normals += 1
        assert self.normals < 1000, "a direction is drawn again and again"
        return super().normal(*args, **options)


@pytest.mark.parametrize("dimensions", [1, 2, 5, 40])
@every_direction
def test_a_line_leads_out_of_a_corner(direction: str, dimensions: int) -> None:
    """Of random directions at a corner of D faces, one in 2^(D-1) leads into the box."""
    rng = np.random.default_rng(dimensions)
    X = rng.uniform(-1.0, 1.0, (6, dimensions))
    X[0] = np.sign(X[0])
    history = History(X, X @ X[0], X[:0])  # largest at the corner
    strategy = LineBO(direction=direction)
    state = strategy.start(Setting(dimensions, 0, suggest_evals=1000))
    p = strategy.suggest(state, history, Counted(np.random.PCG64(0)))
    line = p.state.line
    assert np.array_equal(line.through, X[0])
    assert line.segment.upper[0] - line.segment.lower[0] > TINY
    assert np.all(np.abs(p.x) <= 1.0)


@every_direction
def test_one_variable(direction: str) -> None:
    """Every line is the whole box."""
    opt = Optimizer([(10.0, 20.0)], LineBO(direction=direction), seed=0, n_init=3)
    for _ in range(16):
        trial = opt.ask()
        opt.tell(trial, (float(trial.x[0]) - 13.7) ** 2)
    assert opt.best is not None
    assert opt.best.value is not None
    assert opt.best.value < 0.1


@every_direction
def test_points_in_flight_stay_on_the_line(direction: str) -> None:
    opt = Optimizer([(-1.0, 1.0)] * 4, LineBO(direction=direction), seed=1, n_init=6)
    for _ in range(6):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    asked = [opt.ask() for _ in range(4)]
    best = opt.best
    assert best is not None
    assert {t.info["line"] for t in asked} == {0}
    away = np.array([t.x - best.x for t in asked])
    assert np.linalg.matrix_rank(away, tol=1e-9) == 1
    assert len(np.unique(np.round(away, 6), axis=0)) == 4
