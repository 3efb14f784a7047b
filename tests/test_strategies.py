"""The strategies: what the paper says of MS-UCB, and a contract that all of them keep."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import kstest

from transect import GPUCB, MSUCB, UCB, GaussianProcess, Optimizer, RandomSearch, Slices
from transect._array import Host
from transect.fit import Surrogate
from transect.strategies import BY_NAME, History, Proposal, Setting, Strategy, as_drawn, resolve

Point = NDArray[np.float64]
Floats = NDArray[np.float32] | Point

ARD = Surrogate(ard=True)


def wavy(x: Point) -> Point:
    """A smooth function to maximise, of points (..., D): values (...)."""
    value: Point = np.sum(np.sin(2.0 * x + 0.5), axis=-1) - np.sum((x - 0.2) ** 2, axis=-1)
    return value


def history(D: int, n: int = 15, seed: int = 0, failures: int = 0, pending: int = 0) -> History:
    """``n`` evaluations of ``wavy``, the last ``failures`` of them failed; read-only arrays."""
    rng = np.random.default_rng([seed, D])
    X = rng.uniform(-1.0, 1.0, (n, D))
    y = wavy(X)
    y[n - failures :] = math.nan
    return frozen(X, y, rng.uniform(-1.0, 1.0, (pending, D)))


def frozen(X: Point, y: Point, pending: Point) -> History:
    for array in (X, y, pending):
        array.setflags(write=False)
    return History(X, y, pending)


def extended(old: History, x: Point) -> History:
    return frozen(np.vstack([old.X, x]), np.append(old.y, wavy(x)), old.pending.copy())


def steps(strategy: Strategy, D: int, count: int, seed: int = 0, **kinds: int) -> list[Proposal]:
    """``count`` suggestions in a row, each of them evaluated."""
    state, known = strategy.start(Setting(D, seed)), history(D, seed=seed, **kinds)
    proposals = []
    for t in range(count):
        proposals.append(strategy.suggest(state, known, np.random.default_rng([seed, t])))
        state, known = proposals[-1].state, extended(known, proposals[-1].x)
    return proposals


@dataclass
class Recorder:
    """A strategy that keeps what another one proposes."""

    inner: Strategy
    states: list[Any] = field(default_factory=list)  # as started
    proposals: list[Proposal] = field(default_factory=list)
    name: ClassVar[str] = "recorder"

    def start(self, setting: Setting) -> Any:
        self.states.append(self.inner.start(setting))
        return self.states[-1]

    initial = as_drawn

    def suggest(
        self, state: Any, history: History, rng: np.random.Generator, deadline: float | None = None
    ) -> Proposal:
        self.proposals.append(self.inner.suggest(state, history, rng, deadline))
        return self.proposals[-1]


def slices_of(proposal: Proposal) -> Slices:
    slices: Slices = proposal.state.screen.slices
    return slices


def drawn(proposal: Proposal) -> Point:
    """Z_t, (m, D-d), exactly as float64."""
    return slices_of(proposal).z(0, proposal.info["subspaces"]).astype(np.float64)


def ucb(proposal: Proposal, x: Point, gp: GaussianProcess | None = None) -> Point:
    """Standardised upper confidence bounds (p,) at x (p, D), under the proposal's model."""
    model = proposal.state.model.gp if gp is None else gp
    value: Point = UCB(proposal.info["beta"]).value(*model.posterior(x))
    return value


def size(t: int, n0: int, alpha: int) -> int:
    """|Z_t| = N0·Σ_{k≤t} k^α."""
    return n0 * sum(int(k**alpha) for k in range(1, t + 1))


def is_row(x: Floats, table: Floats) -> bool:
    """Whether x is bitwise a row of the table."""
    return x.tobytes() in {row.tobytes() for row in table}


# --- MS-UCB: the set Z_t ---------------------------------------------------------------

SCHEDULES = [(1, 0), (10, 0), (1, 1), (3, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(("n0", "alpha"), SCHEDULES)
def test_the_number_of_slices_is_exact(n0: int, alpha: int) -> None:
    proposals = steps(MSUCB(d=2, n0=n0, alpha=alpha), D=5, count=5)
    assert [p.info["t"] for p in proposals] == [1, 2, 3, 4, 5]
    assert [p.info["subspaces"] for p in proposals] == [size(t, n0, alpha) for t in range(1, 6)]
    assert [len(drawn(p)) for p in proposals] == [size(t, n0, alpha) for t in range(1, 6)]


@pytest.mark.parametrize(("n0", "alpha"), SCHEDULES)
def test_the_sets_are_nested(n0: int, alpha: int) -> None:
    sets = [drawn(p) for p in steps(MSUCB(d=2, n0=n0, alpha=alpha), D=5, count=4)]
    for earlier, later in itertools.pairwise(sets):
        assert np.array_equal(later[: len(earlier)], earlier)


def test_slices_are_uniform_in_the_box() -> None:
    z = Slices(D=9, d=2, key=5).z(0, 4000)
    assert z.shape == (4000, 7)
    assert z.dtype == np.float32
    assert np.all((z >= -1.0) & (z < 1.0))
    for column in z.T:
        assert kstest(column, "uniform", args=(-1.0, 2.0)).pvalue > 1e-4
    correlation = np.corrcoef(z.T) - np.eye(7)
    assert np.max(np.abs(correlation)) < 0.1
    assert len(np.unique(z, axis=0)) == 4000


@given(
    D=st.integers(1, 40),
    fixed=st.integers(0, 40),
    key=st.integers(0, 2**63 - 1),
    start=st.integers(0, 50),
    count=st.integers(0, 30),
)
@settings(deadline=None, max_examples=50)
def test_any_part_of_the_set_can_be_drawn_again(
    D: int, fixed: int, key: int, start: int, count: int
) -> None:
    slices = Slices(D, D - min(fixed, D), key)
    part = slices.z(start, start + count)
    assert part.shape == (count, min(fixed, D))
    assert np.array_equal(part, slices.z(0, start + count)[start:])


def test_the_set_depends_on_the_seed() -> None:
    one, other = (steps(MSUCB(d=1), D=4, count=1, seed=s)[0] for s in (1, 2))
    assert not np.any(drawn(one) == drawn(other))


# --- MS-UCB: the suggestion ------------------------------------------------------------


@given(
    D=st.integers(2, 30),
    share=st.floats(0.0, 1.0),
    n0=st.integers(1, 5),
    alpha=st.integers(0, 2),
    seed=st.integers(0, 2**31),
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_suggestions_are_the_best_points_of_their_slices(
    D: int, share: float, n0: int, alpha: int, seed: int
) -> None:
    """x_t lies bitwise on a slice of Z_t, in the box, and no random point of Z_t is better."""
    d = round(share * D)
    for t, p in enumerate(steps(MSUCB(d=d, n0=n0, alpha=alpha), D, count=2, seed=seed), start=1):
        assert p.x.shape == (D,)
        assert np.all(np.abs(p.x) <= 1.0)
        assert p.info["subspaces"] == (1 if d == D else size(t, n0, alpha))
        Z = drawn(p)
        assert is_row(p.x[: D - d], Z)
        assert np.array_equal(p.x[: D - d], Z[p.info["slice"]])
        rng = np.random.default_rng(seed)
        z = Z[rng.integers(0, len(Z), 1000)]
        others = np.hstack([z, rng.uniform(-1.0, 1.0, (1000, d))])
        assert np.max(ucb(p, others)) <= ucb(p, p.x[None])[0] + 1e-6


@pytest.mark.parametrize("d", [1, 3])
def test_suggestions_are_best_with_pending_points_too(d: int) -> None:
    D, known = 6, history(6, pending=3)
    strategy = MSUCB(d=d, n0=8)
    p = strategy.suggest(strategy.start(Setting(D, 1)), known, np.random.default_rng(1))
    gp = p.state.model.gp.hallucinate(known.pending)
    rng = np.random.default_rng(2)
    z = drawn(p)[rng.integers(0, 8, 1000)]
    others = np.hstack([z, rng.uniform(-1.0, 1.0, (1000, d))])
    assert np.max(ucb(p, others, gp)) <= ucb(p, p.x[None], gp)[0] + 1e-6


@pytest.mark.parametrize("n0", [1, 25, 400])
def test_no_point_of_a_grid_on_all_slices_is_better(n0: int) -> None:
    """One free coordinate, so that a grid leaves nothing to hide."""
    v = np.linspace(-1.0, 1.0, 101)
    for p in steps(MSUCB(d=1, n0=n0, alpha=0), D=4, count=3):
        Z = drawn(p)
        grid = np.column_stack([np.repeat(Z, len(v), axis=0), np.tile(v, len(Z))])
        assert ucb(p, p.x[None])[0] >= np.max(ucb(p, grid)) - 1e-6


@pytest.mark.parametrize(("D", "d"), [(6, 2), (6, 6)])
def test_the_certificate_is_the_bound_at_the_suggestion(D: int, d: int) -> None:
    for p in steps(MSUCB(d=d, n0=3), D, count=3):
        model = p.state.model
        expected = model.shift + model.scale * float(ucb(p, p.x[None])[0])
        assert p.info["ucb"] == pytest.approx(expected, rel=1e-6)
        assert p.info["best_slice"] <= p.info["ucb"] + abs(p.info["margin"])


@pytest.mark.parametrize("t", [1, 3])
def test_without_free_coordinates_the_best_drawn_point_is_chosen(t: int) -> None:
    p = steps(MSUCB(d=0, n0=300), D=5, count=t)[-1]
    Z = drawn(p)
    assert len(Z) == 300 * t
    best = int(np.argmax(ucb(p, Z)))
    assert p.info["slice"] == best
    assert np.array_equal(p.x, Z[best])


def test_in_the_unit_box_the_optimizer_hands_the_slice_out_unchanged() -> None:
    D, d = 12, 3
    recorder = Recorder(MSUCB(d=d, n0=2, alpha=1))
    opt = Optimizer([(-1.0, 1.0)] * D, recorder, seed=4, n_init=5)
    for _ in range(11):
        trial = opt.ask()
        opt.tell(trial, -float(wavy(trial.x)))
    asked = [t for t in opt.trials if t.info["source"] == "strategy"]
    assert len(asked) == len(recorder.proposals) == 6
    for trial, proposal in zip(asked, recorder.proposals, strict=True):
        assert trial.x.tobytes() == proposal.x.tobytes()
        assert is_row(trial.x[: D - d], drawn(proposal))


# --- MS-UCB: what it can and cannot reach ----------------------------------------------


@pytest.mark.parametrize("d", [1, 3])
def test_the_best_value_never_beats_the_oracle_floor(d: int) -> None:
    """On f = |x - s|², the least value on slice z is |z - s_z|²: nothing on Z_t is lower."""
    D, seed = 6, 5
    s = np.random.default_rng(seed).uniform(-0.5, 0.5, D)
    recorder = Recorder(MSUCB(d=d, n0=2, beta=1.0))
    opt = Optimizer([(-1.0, 1.0)] * D, recorder, seed=seed, n_init=8)
    for _ in range(30):
        trial = opt.ask()
        opt.tell(trial, float(np.sum((trial.x - s) ** 2)))
    values = [t.value for t in opt.trials if t.info["source"] == "strategy"]
    best = math.inf
    for value, proposal in zip(values, recorder.proposals, strict=True):
        assert value is not None
        best = min(best, value)
        floor = float(np.min(np.sum((drawn(proposal) - s[: D - d]) ** 2, axis=1)))
        assert best >= floor - 1e-12
    assert best < floor + 0.3, "and it comes near it"


def minimum(opt: Optimizer, f: Callable[[Point], float], evaluations: int) -> float:
    """The least value of f that so many evaluations find."""
    for _ in range(evaluations):
        trial = opt.ask()
        opt.tell(trial, f(trial.x))
    assert opt.best is not None
    assert opt.best.value is not None
    return opt.best.value


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_function_of_the_free_coordinates_is_low_dimensional(seed: int) -> None:
    """With a length-scale per coordinate the fixed ones drop out of the model."""
    opt = Optimizer([(-1.0, 1.0)] * 20, MSUCB(d=2, beta="practical", surrogate=ARD), seed=seed)
    assert minimum(opt, lambda x: float(np.sum((x[-2:] - 0.3) ** 2)), 50) < 1e-3


# --- MS-UCB: corners and options -------------------------------------------------------


@pytest.mark.parametrize("beta", ["paper", "practical", 4.0, lambda t: 2.0 + t])
@pytest.mark.parametrize("D", [1, 3, 12])
def test_all_coordinates_free_is_gp_ucb(D: int, beta: Any) -> None:
    ours = steps(MSUCB(d=D, beta=beta, n0=7, alpha=2), D, count=3)
    theirs = steps(GPUCB(beta=beta), D, count=3)
    for one, other in zip(ours, theirs, strict=True):
        assert one.x.tobytes() == other.x.tobytes()
        for key in ("ucb", "beta", "beta_kind", "t", "evaluations", "subspaces"):
            assert one.info[key] == other.info[key]


def test_all_coordinates_free_is_gp_ucb_in_a_run() -> None:
    runs = []
    for strategy in (MSUCB(d=4), GPUCB()):
        opt = Optimizer([(-3.0, 5.0)] * 4, strategy, seed=6, n_init=5)
        for _ in range(10):
            trial = opt.ask()
            opt.tell(trial, float(np.sum(trial.x**2)))
        opt.ask()
        opt.ask()
        runs.append(np.array([t.x for t in opt.trials]))
    assert np.array_equal(runs[0], runs[1])


@pytest.mark.parametrize(("D", "d"), [(1, 1), (3, 3), (5, 5), (6, 5), (40, 5)])
def test_five_coordinates_are_free_by_default(D: int, d: int) -> None:
    one, other = (steps(s, D, count=2)[-1] for s in (MSUCB(), MSUCB(d=d)))
    assert np.array_equal(one.x, other.x)


def paper_beta(t: int, D: int, d: int, delta: float, a: float, b: float) -> float:
    """β_t as section 1 and 2 of the specification have it."""
    if d == 0:
        return 4.0 * math.log(math.pi**2 * t**2 / (2.0 * delta))
    if d == D:
        inner = t**2 * D * b * 2.0 * math.sqrt(math.log(4.0 * D * a / delta))
        return 2.0 * math.log(2.0 * math.pi**2 * t**2 / (3.0 * delta)) + 2.0 * D * math.log(inner)
    inner = 2.0 * b * d * math.sqrt(math.log(6.0 * D * a / delta)) * t**2
    return 2.0 * math.log(math.pi**2 * t**2 / delta) + 2.0 * d * math.log(inner)


BETAS: list[tuple[Any, str, Callable[[float, int, int, int], float]]] = [
    # (argument, kind in info, number from published β_t, t, d, |Z_t|)
    ("paper", "paper", lambda paper, t, d, m: paper),
    # without free coordinates the published β_t is twice what the union is added to
    ("corrected", "corrected", lambda p, t, d, m: (p if d else p / 2) + 2.0 * math.log(m)),
    ("practical", "practical", lambda paper, t, d, m: paper / (8.0 * max(d, 1))),
    (2.5, "number", lambda paper, t, d, m: 2.5),
    (3, "number", lambda paper, t, d, m: 3.0),
    (lambda t: 0.5 * t, "callable", lambda paper, t, d, m: 0.5 * t),
]


def label(value: Any) -> str:
    """A name for a case that is the same in every process."""
    return "function" if callable(value) else str(value)


@pytest.mark.parametrize(("beta", "kind", "expected"), BETAS, ids=label)
@pytest.mark.parametrize("d", [0, 1, 3, 6])
def test_beta_of_every_kind(
    beta: Any, kind: str, expected: Callable[[float, int, int, int], float], d: int
) -> None:
    D, delta, a, b = 6, 0.05, 2.0, 1.5
    strategy = MSUCB(d=d, n0=3, alpha=1, beta=beta, delta=delta, a=a, b=b)
    for t, p in enumerate(steps(strategy, D, count=3), start=1):
        m = 1 if d == D else size(t, 3, 1)
        assert p.info["beta_kind"] == kind
        paper = paper_beta(t, D, d, delta, a, b)
        assert p.info["beta"] == pytest.approx(expected(paper, t, d, m), rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 0.2])
@pytest.mark.parametrize(
    ("beta", "kind", "expected"), [b for b in BETAS if b[1] != "corrected"], ids=label
)
def test_beta_of_gp_ucb(beta: Any, kind: str, expected: Any, scale: float) -> None:
    D = 4
    strategy = GPUCB(beta=beta, beta_scale=scale, delta=0.05, a=2.0, b=1.5)
    for t, p in enumerate(steps(strategy, D, count=3), start=1):
        paper = paper_beta(t, D, D, 0.05, 2.0, 1.5)
        assert p.info["beta_kind"] == kind
        assert p.info["beta"] == pytest.approx(scale * expected(paper, t, D, 1), rel=1e-12)


def test_a_larger_beta_explores_more() -> None:
    """The posterior deviation at the suggestion grows with β, its mean falls."""
    low, high = (steps(MSUCB(d=3, n0=30, beta=b), D=5, count=1)[0] for b in (0.01, 100.0))
    gp = low.state.model.gp
    (mean_low, mean_high), (var_low, var_high) = gp.posterior(np.array([low.x, high.x]))
    assert var_high > var_low
    assert mean_high < mean_low


@pytest.mark.parametrize("d", [1, 3])
def test_permute_frees_other_coordinates(d: int) -> None:
    D, seed = 12, 8
    proposals = steps(MSUCB(d=d, n0=2, permute=True), D, count=4, seed=seed)
    orders = [slices_of(p).order for p in proposals]
    assert orders[0] is not None
    assert sorted(orders[0].tolist()) == list(range(D))
    fixed, free = orders[0][: D - d], orders[0][D - d :]
    assert set(free.tolist()) != set(range(D - d, D))
    for p, order in zip(proposals, orders, strict=True):
        assert order is not None
        assert np.array_equal(order, orders[0]), "shuffled once"
        assert is_row(p.x[fixed], drawn(p))
        assert not is_row(p.x[: D - d], drawn(p))


def test_permutations_depend_on_the_seed() -> None:
    strategy = MSUCB(d=2, permute=True)
    states = [strategy.start(Setting(20, seed)) for seed in (1, 1, 2)]
    free = [np.arange(20)[s.screen.slices.free].tolist() for s in states]
    assert free[0] == free[1]
    assert free[0] != free[2]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_function_of_the_permuted_free_coordinates_is_low_dimensional(seed: int) -> None:
    recorder = Recorder(MSUCB(d=2, beta="practical", permute=True, surrogate=ARD))
    opt = Optimizer([(-1.0, 1.0)] * 15, recorder, seed=seed)
    (start,) = recorder.states
    free = start.screen.slices.free
    assert minimum(opt, lambda x: float(np.sum((x[free] - 0.3) ** 2)), 50) < 1e-3


# --- GP-UCB ----------------------------------------------------------------------------


@pytest.mark.parametrize("D", [1, 3, 12])
def test_gp_ucb_maximises_its_bound_over_the_box(D: int) -> None:
    for p in steps(GPUCB(), D, count=3):
        others = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, D))
        assert np.max(ucb(p, others)) <= ucb(p, p.x[None])[0] + 1e-6
        expected = p.state.model.shift + p.state.model.scale * float(ucb(p, p.x[None])[0])
        assert p.info["ucb"] == pytest.approx(expected, rel=1e-6)


def log_expected_improvement(mean: Point, var: Point, best: float) -> Point:
    """By numerical integration over the normal distribution, ten deviations either way."""
    z = np.linspace(-10.0, 10.0, 20001)
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    gain = np.maximum(mean[:, None] + np.sqrt(var)[:, None] * z - best, 0.0)
    improvement: Point = np.log(np.trapezoid(gain * density, z, axis=1))
    return improvement


def test_log_ei_maximises_the_expected_improvement() -> None:
    for p in steps(GPUCB(acquisition="log-ei"), 2, count=2):
        gp, scale = p.state.model.gp, p.state.model.scale
        best = float(np.max(gp.posterior(gp.X)[0]))
        mean, var = gp.posterior(p.x[None])
        here = log_expected_improvement(mean, var, best)[0]
        assert p.info["log_ei"] == pytest.approx(here + math.log(scale), abs=1e-3)
        mean, var = gp.posterior(np.random.default_rng(0).uniform(-1.0, 1.0, (300, 2)))
        with np.errstate(divide="ignore"):  # no improvement at all is -inf
            there = log_expected_improvement(mean, var, best)
        assert np.max(there) <= here + 1e-6


def test_the_acquisition_matters() -> None:
    one, other = (steps(GPUCB(acquisition=a), 3, count=1)[0] for a in ("ucb", "log-ei"))
    assert not np.allclose(one.x, other.x, atol=1e-3)


# --- the contract ----------------------------------------------------------------------

CONTRACT: dict[str, Callable[[int], Strategy]] = {
    "ms-ucb": lambda D: MSUCB(),
    "ms-ucb, one free": lambda D: MSUCB(d=1, n0=2, alpha=2),
    "ms-ucb, none free": lambda D: MSUCB(d=0, n0=5),
    "ms-ucb, all free": lambda D: MSUCB(d=D),
    "ms-ucb, permuted": lambda D: MSUCB(d=D // 2, n0=3, permute=True, beta="corrected"),
    "ms-ucb, ard and rbf": lambda D: MSUCB(
        d=min(2, D), surrogate=Surrogate(kernel="rbf", ard=True, prior="dimension-scaled")
    ),
    "gp-ucb": lambda D: GPUCB(),
    "gp-ucb, log-ei": lambda D: GPUCB(acquisition="log-ei"),
    "gp-ucb, practical": lambda D: GPUCB(beta="practical"),
    "random": lambda D: RandomSearch(),
}

every_strategy = pytest.mark.parametrize("build", CONTRACT.values(), ids=CONTRACT.keys())
every_dimension = pytest.mark.parametrize("D", [1, 2, 20])

KINDS: list[dict[str, int]] = [
    {},
    {"pending": 4},
    {"failures": 5},
    {"failures": 14},  # one value is left
    {"failures": 5, "pending": 4},
    {"n": 1},
    {"n": 60},  # beyond the refit at every step
    {"n": 60, "failures": 20, "pending": 2},
]


@every_strategy
@every_dimension
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_suggestions_are_points_of_the_box(
    D: int, build: Callable[[int], Strategy], kind: dict[str, int]
) -> None:
    """Whatever the history: its read-only arrays raise when somebody writes to them."""
    for p in steps(build(D), D, count=2, **kind):
        assert p.x.shape == (D,)
        assert p.x.dtype == np.float64
        assert np.all(np.abs(p.x) <= 1.0)
        for value in p.info.values():
            assert isinstance(value, str) or np.isfinite(value)


@every_strategy
@every_dimension
def test_suggestions_are_deterministic(D: int, build: Callable[[int], Strategy]) -> None:
    runs = [steps(build(D), D, count=3, failures=2, pending=1) for _ in range(2)]
    for one, other in zip(*runs, strict=True):
        assert one.x.tobytes() == other.x.tobytes()
        assert dict(one.info) == dict(other.info)


@every_strategy
@every_dimension
def test_histories_are_left_alone(D: int, build: Callable[[int], Strategy]) -> None:
    strategy, known = build(D), history(D, failures=2, pending=2)
    copies = [a.copy() for a in (known.X, known.y, known.pending)]
    p = strategy.suggest(strategy.start(Setting(D, 0)), known, np.random.default_rng(0))
    for array, copy in zip((known.X, known.y, known.pending), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert not np.shares_memory(array, p.x), "the point is the caller's own"


@every_strategy
@every_dimension
def test_pending_points_may_come_and_go(D: int, build: Callable[[int], Strategy]) -> None:
    """Pending points are told, fail or stay; the state goes on through all of it."""
    strategy = build(D)
    state, known = strategy.start(Setting(D, 1)), history(D, n=45)
    pending = history(D, seed=1, pending=6).pending
    for t, count in enumerate((0, 3, 1, 6, 0)):
        now = frozen(known.X.copy(), known.y.copy(), pending[:count].copy())
        p = strategy.suggest(state, now, np.random.default_rng(t))
        assert np.all(np.abs(p.x) <= 1.0)
        state = p.state
        known = extended(known, p.x)
        if t == 2:  # a failure in between
            known = frozen(
                np.vstack([known.X, pending[0]]), np.append(known.y, math.nan), known.pending
            )


@every_strategy
@every_dimension
def test_a_deadline_in_the_past_still_gives_a_point(
    D: int, build: Callable[[int], Strategy]
) -> None:
    strategy = build(D)
    state = strategy.start(Setting(D, 0))
    for known in (history(D), history(D, n=60, pending=2)):
        p = strategy.suggest(state, known, np.random.default_rng(0), deadline=0.0)
        assert np.all(np.abs(p.x) <= 1.0)
        if "slice" in p.info:
            assert is_row(p.x[slices_of(p).fixed], drawn(p))
        state = strategy.start(Setting(D, 0))


@every_strategy
def test_suggestions_depend_on_the_generator_or_the_data(build: Callable[[int], Strategy]) -> None:
    D = 6
    strategy = build(D)
    base = strategy.suggest(strategy.start(Setting(D, 0)), history(D), np.random.default_rng(0))
    moved = strategy.suggest(
        strategy.start(Setting(D, 1)), history(D, seed=3), np.random.default_rng(1)
    )
    assert not np.array_equal(base.x, moved.x)


def test_random_search_is_uniform_and_ignores_the_data() -> None:
    strategy = RandomSearch()
    state = strategy.start(Setting(3, 0))
    rng, again = np.random.default_rng(0), np.random.default_rng(0)
    one = [strategy.suggest(state, history(3), rng).x for _ in range(500)]
    other = [strategy.suggest(state, history(3, seed=1, pending=2), again).x for _ in range(500)]
    assert np.array_equal(one, other)
    assert kstest(np.ravel(one), "uniform", args=(-1.0, 2.0)).pvalue > 1e-4


@pytest.mark.parametrize("name", ["ms-ucb", "gp-ucb", "random"])
def test_names_stand_for_strategies_with_their_defaults(name: str) -> None:
    strategy = resolve(name)
    assert strategy == BY_NAME[name]()
    assert strategy.name == name


def test_an_object_stands_for_itself() -> None:
    strategy = MSUCB(d=1)
    assert resolve(strategy) is strategy


# --- states ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_an_earlier_state_can_be_continued_in_another_way(seed: int) -> None:
    """The tables notice that what they hold belongs to another branch of the run."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (60, 3))
    y = -np.sum((X - 0.2) ** 2, axis=1)
    strategy = MSUCB(d=0, n0=2000, beta=4.0)  # no free part: the search is exact

    def after(x: Host, value: float) -> History:
        return History(np.vstack([X, x]), np.append(y, value), X[:0])

    def second(branch: bool) -> Any:
        first = strategy.suggest(
            strategy.start(Setting(3, seed)), History(X, y, X[:0]), np.random.default_rng(1)
        )
        if branch:
            strategy.suggest(first.state, after(-first.x, -1.0), np.random.default_rng(2))
        following = after(first.x, -1.5)
        return strategy.suggest(first.state, following, np.random.default_rng(2)).info["ucb"]

    assert second(True) == pytest.approx(second(False), rel=1e-9)


def test_ms_ucb_loads_what_it_needs_before_the_first_suggestion() -> None:
    """The imports take longer than many suggestions, and none of them is in one."""
    code = (
        "import sys, transect\n"
        "lazy = 'scipy.optimize' not in sys.modules\n"
        "transect.Optimizer([(0, 1)] * 8, transect.MSUCB(d=2))\n"
        "print(lazy, 'scipy.optimize' in sys.modules, 'scipy.linalg' in sys.modules)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["True", "True", "True"]
