"""The ablation: variants of the default strategy, their tasks, and the table made of them."""

from __future__ import annotations

import math
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

import ablation
from comparison.ablations import ABLATED, ABLATIONS, Ablated
from comparison.method import Start
from comparison.practice import PENALTY
from comparison.registry import factory
from comparison.runs import Job, Run
from comparison.summary import CHECKPOINTS, Key, Summary
from comparison.tasks import ABLATION_TASKS, N_INIT, TASKS, UNSEEN_TASKS, initial_points, instance
from comparison.trust_region import FIRST, LEAST, MOST, side
from transect._array import Host
from transect.acquisition import UCB, LogEI

ONE, OTHER = "levy-20", "rastrigin-20"


def points(name: str, task: str = ONE, steps: int = 12, seed: int = 0) -> Host:
    """What a variant asks for after the initial points (steps, D)."""
    start, objective = Start(ABLATION_TASKS[task].D, seed, N_INIT + steps), instance(task, seed)
    method = factory(ABLATED + name)(start)
    X = list(initial_points(task, seed).astype(np.float64))
    for i in range(N_INIT + steps):
        if i >= N_INIT:
            X.append(method.ask())
        method.tell(X[i], objective(X[i], i))
    return np.array(X[N_INIT:])


@pytest.mark.parametrize("name", ABLATIONS)
def test_variants_ask_for_points_of_the_box(name: str) -> None:
    X = points(name)
    assert np.all(np.abs(X) <= 1.0)
    assert len(np.unique(X, axis=0)) == len(X)


def test_the_first_variant_is_the_default_strategy() -> None:
    start, objective = Start(20, 0, N_INIT + 12), instance(ONE, 0)
    default = factory("transect:anchored")(start)
    X = [*initial_points(ONE, 0).astype(np.float64), *points("as-it-is")]
    for i, x in enumerate(X):
        if i >= N_INIT:
            np.testing.assert_array_equal(default.ask(), x)
        default.tell(x, objective(x, i))


# The others differ where noise is seen, where there are few points, or after many of them.
AT_ONCE = [
    *("slices", "no-climb", "moves", "box", "one-anchor", "region", "turbo-region", "insured-20"),
    *("bound", "one-scale", "one-scale-ml", "ard-ml", "ard-scaled", "unlike", "rbf"),
    *("noisy",),
]


@pytest.mark.parametrize("name", AT_ONCE)
def test_variants_ask_for_other_points(name: str) -> None:
    assert np.any(points(name) != points("as-it-is"))


def test_nothing_is_left_of_a_variant() -> None:
    names = {name for variant in ABLATIONS.values() for name in variant.instead}
    before = {name: resolve_name(name) for name in names}
    for variant in ABLATIONS:
        points(variant, steps=1)
    assert all(resolve_name(name) is before[name] for name in names)


def test_one_acquisition_throughout() -> None:
    """Of 100 variables, with 20 points: a bound, unless it is to be expected improvement."""
    for name, kind in (("as-it-is", UCB), ("improvement", LogEI), ("bound", UCB)):
        found = _acquisitions(name, "ackley-100")
        assert {type(a) for a in found} == {kind}, name
    for name, kind in (("as-it-is", LogEI), ("improvement", LogEI), ("bound", UCB)):
        found = _acquisitions(name, ONE)
        assert {type(a) for a in found} == {kind}, name


def _acquisitions(name: str, task: str) -> list[object]:
    """What a variant's first three suggestions climb."""
    found: list[object] = []
    D = ABLATION_TASKS[task].D
    method, objective = Ablated(Start(D, 0, N_INIT + 3), name), instance(task, 0)
    for i, x in enumerate(initial_points(task, 0).astype(np.float64)):
        method.tell(x, objective(x, i))
    for i in range(3):
        x = method.ask()
        asked = method.ours.asked
        assert asked is not None
        found.append(UCB(asked.info["kappa"] ** 2) if "kappa" in asked.info else LogEI(0.0))
        method.tell(x, objective(x, N_INIT + i))
    return found


# --- tasks --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ABLATION_TASKS)
def test_tasks_by_seed(name: str) -> None:
    X = initial_points(name, 0).astype(np.float64)
    first, other = instance(name, 0), instance(name, 1)
    assert first.problem.D == ABLATION_TASKS[name].D == X.shape[1]
    assert first(X[1], 5) == first(X[1], 5) != other(X[1], 5)
    for problem in (made.problem for made in (first, other)):
        if problem.optimum is not None:
            assert problem.noiseless(problem.optimum) == pytest.approx(problem.least, abs=1e-6)


def test_no_instance_is_one_of_those_that_are_reported() -> None:
    assert not ABLATION_TASKS.keys() & (TASKS.keys() | UNSEEN_TASKS.keys())
    x = np.zeros(20)  # of the same function, moved as far, and rotated with odd seeds in both
    seen = {instance("rosenbrock-20-rotated-0.8", seed)(x, 0) for seed in range(10)}
    assert not seen & {instance("rosenbrock-20", seed)(x, 0) for seed in range(10)}


def test_a_fifth_of_the_box_is_punished_and_never_the_optimum() -> None:
    rng = np.random.default_rng(1)
    for seed in range(4):
        made = instance("punished-levy-50", seed)
        values = np.array([made(u, 0) for u in rng.uniform(-1.0, 1.0, (1000, 50))])
        assert 0.15 < np.mean(values >= PENALTY) < 0.25
        assert made.problem.optimum is not None
        assert made(made.problem.box.to_unit(made.problem.optimum), 0) < 1e-6


def test_noise_is_a_tenth_of_the_values_spread() -> None:
    made, rng = instance("noisy-levy-50", 2), np.random.default_rng(3)
    U = rng.uniform(-1.0, 1.0, (300, 50))
    spread = np.std([made.noiseless(u) for u in U])
    off = [made(u, i) - made.noiseless(u) for i, u in enumerate(U)]
    assert np.std(off) / spread == pytest.approx(0.1, rel=0.25)


def test_true_values_are_where_the_best_ones_were_seen() -> None:
    made = instance("noisy-levy-50", 0)
    X = initial_points("noisy-levy-50", 0)[:4]
    u = X.astype(np.float64)
    run = Run(list(X), [5.0, 3.0, 4.0, 1.0], [0.0] * 4)
    true = [made.noiseless(x) for x in u]
    assert ablation.true_values(run, made).tolist() == [true[0], true[1], true[1], true[3]]


# --- the trust region ---------------------------------------------------------------------


def test_the_region_doubles_and_halves() -> None:
    first = [0.0] * N_INIT
    assert side(first, 4) == FIRST
    assert side([*first, 1.0, 2.0, 3.0], 4) == MOST
    assert side([*first, *range(1, 10)], 4) == MOST
    assert side([*first, *[-1.0] * 4], 4) == FIRST / 2
    assert side([*first, *[-1.0] * 3, 1.0, *[-1.0] * 3], 4) == FIRST
    halvings = int(math.log2(FIRST / LEAST))
    assert side([*first, *[-1.0] * 4 * halvings], 4) >= LEAST
    assert side([*first, *[-1.0] * 4 * (halvings + 1)], 4) == FIRST


def test_points_stay_in_the_region() -> None:
    """Where every third failure halves it, they are ever closer to the best point."""
    X = points("region", OTHER, steps=60)
    objective = instance(OTHER, 0)
    known = [*initial_points(OTHER, 0).astype(np.float64), *X]
    values = [-objective(x, i) for i, x in enumerate(known)]
    far = 0
    for i in range(N_INIT, len(known)):
        best = known[int(np.argmax(values[:i]))]
        far += bool(np.max(np.abs(known[i] - best)) > 3.0 * side(values[:i], 10))
    assert far <= 6  # noise makes another point the model's best one, and some are insured


# --- the table ----------------------------------------------------------------------------


def made_up(tasks: list[str], change: float) -> Summary:
    """The variant "rbf" ends at 4 and gains 10; the default ends higher by ``change``."""
    keys = [Key(t, ABLATED + m, s) for t in tasks for s in range(2) for m in ("as-it-is", "rbf")]
    best = np.full((len(keys), len(CHECKPOINTS)), 14.0, dtype=np.float32)
    last = CHECKPOINTS.index(200)
    best[:, last:] = np.nan
    best[:, last] = [4.0 if key.method.endswith("rbf") else 4.0 + change for key in keys]
    return Summary(tuple(keys), best, np.zeros(len(keys), dtype=np.float32))


def test_gains_are_shares_of_the_larger_improvement() -> None:
    made = made_up([ONE], 2.0)
    assert ablation.gains(made, ABLATED + "rbf", ONE) == pytest.approx([0.2, 0.2])
    worse = made_up([ONE], -2.0)
    assert ablation.gains(worse, ABLATED + "rbf", ONE) == pytest.approx([-2 / 12, -2 / 12])


def test_the_table_says_how_sure_it_is() -> None:
    tasks = list(ABLATION_TASKS)[:12]
    lines = ablation.table(made_up(tasks, 2.0), {ABLATED + "rbf": "RBF kernel"}).splitlines()
    cells = [cell.strip() for cell in lines[-1].strip("|").split("|")]
    assert cells[0] == "RBF kernel"
    assert cells[1:4] == ["0.50", "0.50", "1.00"]
    assert cells[5:7] == ["24", "+0.20 ± 0.00"]
    assert float(cells[-1]) == pytest.approx(2 * 0.5**12, rel=0.1)


def test_runs_go_on_and_are_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--out", str(tmp_path / "runs"), "--pack", str(tmp_path / "packed.npz")]
    chosen = ["--variants", "ablation:as-it-is,ablation:rbf", "--tasks", ONE, "--seeds", "1"]
    ablation.main([*words, *chosen, "--workers", "1"])
    printed = capsys.readouterr().out
    assert "| RBF kernel |" in printed
    job = Job(ONE, ABLATED + "rbf", 0, ablation.EVALS)
    assert job.path(tmp_path / "runs").is_file()
    ablation.main(["--report", "--packed", str(tmp_path / "packed.npz"), "--out", "nowhere"])
    assert capsys.readouterr().out == printed
