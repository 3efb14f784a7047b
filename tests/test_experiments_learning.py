"""The learning tasks as experiments: their figures, references, and values computed together."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transect._array import Host
from transect.box import Box
from transect.cli import main
from transect.experiments import command, pictures, runner
from transect.experiments.figures import FIGURES, Figure, Kind
from transect.experiments.pack import pack, unpack
from transect.experiments.pictures import draw, loss_curve
from transect.experiments.runner import TRIES, Failed, run_all
from transect.experiments.store import Store
from transect.experiments.summaries import costs, medians
from transect.experiments.table import Cell, Table
from transect.experiments.task import (
    MOST_EVALS,
    Evaluate,
    ProblemSpec,
    Result,
    Task,
    run,
    suggest_evals,
)
from transect.experiments.together import Evaluator, Question, ask
from transect.problems import Problem
from transect.problems.network import NetworkLoss
from transect.problems.problem import Draw
from transect.problems.ramp import RampLoss
from transect.strategies import GPUCB, RandomSearch

NETWORK = ProblemSpec("network", 100, data="digits")
RAMP = ProblemSpec("ramp", 41, data="digits-like", C=2.0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


# --- problems by name -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        (ProblemSpec("ackley", 20), "ackley-20"),
        (ProblemSpec("levy", 100, shifted=True), "levy-100-shifted"),
        (ProblemSpec("camelback", 50, active="first"), "camelback-first-50"),
        (ProblemSpec("camelback", 50, True, "random"), "camelback-random-50-shifted"),
        (ProblemSpec("network", 500, data="mnist"), "network-mnist-500"),
        (ProblemSpec("ramp", 5001, data="gisette-like", C=1.0), "ramp-gisette-like-5001-C1"),
        (
            ProblemSpec("ramp", 501, data="gisette-like", C=10.0, B=10.0),
            "ramp-gisette-like-501-C10-B10",
        ),
    ],
)
def test_labels_say_what_the_problem_is(spec: ProblemSpec, label: str) -> None:
    assert spec.label == label
    assert Task("random", RandomSearch(), spec, 7).key == f"{label}/random/007"


def test_labels_tell_all_problems_of_the_figures_apart() -> None:
    specs = {panel.problem for figure in FIGURES.values() for panel in figure.panels}
    assert len({spec.label for spec in specs}) == len(specs)


def test_settings_reach_the_problem() -> None:
    problem = replace(RAMP, B=3.0).build(0)
    assert isinstance(problem.objective, RampLoss)
    assert problem.objective.C == 2.0
    assert problem.D == 41
    np.testing.assert_array_equal(problem.box.upper, np.full(41, 3.0))
    np.testing.assert_array_equal(RAMP.build(0).box.upper, np.ones(41))
    network = NETWORK.build(6)
    assert isinstance(network.objective, NetworkLoss)
    assert network.objective.seed == 6
    assert network.objective.device is None
    assert network.objective.images.name == "digits"
    other = NETWORK.build(6, "somewhere")
    assert isinstance(other.objective, NetworkLoss)
    assert other.objective.device == "somewhere"
    assert ProblemSpec("ackley", 5).build(0, "somewhere").D == 5


def test_the_acquisitions_budget_has_a_floor_and_a_cap() -> None:
    """The first three figures, of at most 100 dimensions, are below the cap."""
    budgets = {2: 1000, 33: 1000, 34: 1020, 50: 1500, 100: 3000, 5001: MOST_EVALS}
    assert {D: suggest_evals(D) for D in budgets} == budgets
    assert 3000 <= MOST_EVALS < 30 * 5001


# --- figures --------------------------------------------------------------------------------

FIVE = ["ms-ucb-d10-1-1", "line-bo", "sre-d10", "rembo-d10", "hesbo-d10"]
LEARNERS = [*FIVE, "gp-ucb-practical", "random"]


@pytest.mark.parametrize(
    ("name", "problems", "quick", "reference", "repeats", "evals"),
    [
        (
            "fig4",
            ["network-mnist-100", "network-mnist-500"],
            ["network-digits-100"],
            "all-adam",
            10,
            200,
        ),
        (
            "fig5",
            [
                *(f"ramp-gisette-like-5001-C{C}" for C in (1, 2, 5, 10)),
                "ramp-gisette-like-5001-C1-B10",
            ],
            [f"ramp-gisette-like-501-C{C}" for C in (1, 2, 5, 10)],
            "linear-svm",
            15,
            300,
        ),
    ],
)
def test_what_the_figures_run(
    name: str, problems: list[str], quick: list[str], reference: str, repeats: int, evals: int
) -> None:
    """Every line on every problem with every seed, once; references are one evaluation."""
    figure = FIGURES[name]
    for tasks, where, seeds, length in (
        (figure.tasks(), problems, repeats, evals),
        (figure.tasks(quick=True), quick, 3, 60),
        (figure.tasks(2, 30), problems, 2, 30),
        (figure.tasks(1, 22, quick=True), quick, 1, 22),
    ):
        expected = {
            f"{problem}/{label}/{seed:03d}"
            for problem in where
            for label in (*LEARNERS, reference)
            for seed in range(seeds)
        }
        assert len(tasks) == len(expected)
        assert {task.key for task in tasks} == expected
        for task in tasks:
            if task.label == reference:
                assert (task.strategy, task.evals, task.suggest_evals) == (None, 1, None)
            else:
                assert task.strategy is not None
                assert task.evals == length
                assert task.suggest_evals == suggest_evals(task.problem.D)


def test_the_learners_have_the_papers_settings() -> None:
    """They have d = 10; MS-UCB one new slice at t = 1, two at t = 2, and so on."""
    by_label = {task.label: repr(task.strategy) for task in FIGURES["fig5"].tasks(1)}
    assert "d=10" in by_label["ms-ucb-d10-1-1"]
    assert "n0=1, alpha=1" in by_label["ms-ucb-d10-1-1"]
    assert all("d=10" in by_label[f"{name}-d10"] for name in ("sre", "rembo", "hesbo"))
    assert "practical" in by_label["gp-ucb-practical"]
    assert {task.label for task in FIGURES["fig4"].tasks(1)} == {*LEARNERS, "all-adam"}


def test_the_first_figures_are_as_they_were() -> None:
    counts = {name: (len(f.tasks()), len(f.tasks(quick=True))) for name, f in FIGURES.items()}
    assert counts["fig1"] == (8100, 270)
    assert counts["fig2"] == (660, 66)
    assert counts["fig3"] == (480, 48)
    assert all(FIGURES[name].evals == 200 for name in ("fig1", "fig2", "fig3"))


# --- references -----------------------------------------------------------------------------


def test_a_reference_is_one_value_that_is_kept_and_packed(store: Store, tmp_path: Path) -> None:
    tasks = [Task("linear-svm", None, RAMP, seed, evals=1) for seed in range(2)]
    assert run_all(tasks, store, workers=1) == {}
    expected = RAMP.build(0).references["linear-svm"](0)
    for task in tasks:
        result = store.load(task)
        assert result is not None
        assert result.values.tolist() == [expected]
        assert result.least == 0.0
        assert (result.evaluations.shape, result.seconds.shape) == ((0,), (0,))
        assert result.evaluations.dtype == np.int64
    assert store.missing(tasks) == []
    table = store.table(tasks)
    pack(table, tmp_path / "packed.npz")
    for found in (table, unpack(tmp_path / "packed.npz")):
        cell = found.cells["ramp-digits-like-41-C2", "linear-svm"]
        assert cell.seeds == (0, 1)
        assert cell.final.tolist() == [expected] * 2
        assert cell.regret.shape == (2, 1)
        assert (cell.evaluations, cell.seconds) == (0.0, 0.0)


def test_a_reference_takes_the_seed_of_its_task() -> None:
    values = [run(Task("all-adam", None, NETWORK, seed, evals=1)).values[0] for seed in (0, 3)]
    assert values == [NETWORK.build(9).references["all-adam"](seed) for seed in (0, 3)]
    assert values[0] != values[1]


def test_results_of_a_strategy_are_not_those_of_a_reference(store: Store) -> None:
    """Should they ever have one name."""
    task = Task("linear-svm", None, RAMP, 0, evals=1)
    store.save(task, run(task))
    assert store.table([replace(task, strategy=RandomSearch())]).cells == {}


def test_a_reference_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="all-adam"):
        run(Task("all-adam", None, RAMP, 0, evals=1))


# --- values computed together ---------------------------------------------------------------


class Sums:
    """In place of a network: u's sum, plus what the value is drawn from."""

    def __init__(self, seed: int) -> None:
        self.seed, self.calls = seed, 0
        self.batches: list[int] = []

    def __call__(self, u: Host) -> float:
        return float(self.together(u[None, :], [self.draw()])[0])

    def draw(self) -> Draw:
        self.calls += 1
        return self.seed, self.calls

    def together(self, points: Host, draws: Sequence[Draw]) -> Host:
        self.batches.append(len(points))
        return np.array([value_of(u, draw) for u, draw in zip(points, draws, strict=True)])


def value_of(u: Host, draw: Draw) -> float:
    return float(np.sum(u)) + 100.0 * draw[0] + 10_000.0 * draw[1]


def sums(D: int, seed: int) -> Problem:
    return Problem("sums", Box.of([(-1.0, 1.0)] * D), Sums(seed), least=0.0)


def points_of(task: Task) -> Host:
    """The points a fake run asks about, (evals, D)."""
    rng = np.random.default_rng(task.seed)
    return rng.uniform(-1.0, 1.0, (task.evals, task.problem.D))


def expected_values(task: Task) -> list[float]:
    points = points_of(task)
    return [value_of(u, (task.seed, i + 1)) for i, u in enumerate(points)]


def result_of(task: Task, values: list[float]) -> Result:
    return Result(task.key, np.array(values), 0.0, np.zeros(0, np.int64), np.zeros(0))


# What workers do.


def asks(task: Task, evaluate: Evaluate) -> Result:
    problem = sums(task.problem.D, task.seed)
    return result_of(task, [evaluate(problem, u) for u in points_of(task)])


def attempt(task: Task) -> int:
    """Which attempt this is, from 1."""
    with open(Path(os.environ["TRANSECT_TEST_NOTES"]) / str(task.seed), "a") as file:
        file.write("x")
        return file.tell()


def dies_while_computing(task: Task, evaluate: Evaluate) -> Result:
    """The first attempt at seed 1 ends after its first value."""
    if attempt(task) == 1 and task.seed == 1:
        evaluate(sums(task.problem.D, task.seed), points_of(task)[0])
        os.kill(os.getpid(), signal.SIGKILL)
    return asks(task, evaluate)


def dies_or_raises(task: Task, evaluate: Evaluate) -> Result:
    if task.seed == 1:
        attempt(task)
        evaluate(sums(task.problem.D, task.seed), points_of(task)[0])
        os._exit(3)
    if task.seed == 2:
        evaluate(sums(task.problem.D, task.seed), points_of(task)[0])
        raise ZeroDivisionError("one divided by nothing")
    return asks(task, evaluate)


def tells_its_process(task: Task, evaluate: Evaluate) -> Result:
    """As ``asks``, with its process' number as the first coordinate of a first point."""
    attempt(task)
    problem = sums(task.problem.D, task.seed)
    evaluate(problem, np.array([float(os.getpid())]))
    return result_of(task, [evaluate(problem, u) for u in points_of(task)])


def computes_itself(task: Task, evaluate: Evaluate) -> Result:
    """A problem whose values cannot be computed together."""
    problem = task.problem.build(task.seed)
    return result_of(task, [evaluate(problem, u) for u in points_of(task)])


class Recording(Evaluator):
    """Answers as ``Sums`` does, and remembers how many questions came at once."""

    def __init__(self) -> None:
        super().__init__(None, Path("nowhere"))
        self.batches: list[int] = []
        self.seen: list[tuple[str, Draw]] = []

    def answer(self, questions: Sequence[Question]) -> list[float]:
        self.batches.append(len(questions))
        self.seen += [(question.run, question.draw) for question in questions]
        return [value_of(question.u, question.draw) for question in questions]


class Killing(Recording):
    """The first process of seed 1 that asks is killed while it waits."""

    killed = 0

    def answer(self, questions: Sequence[Question]) -> list[float]:
        for question in questions:
            if question.draw == (1, 1) and not self.killed:
                self.killed = int(question.u[0])
                os.kill(self.killed, signal.SIGKILL)
                (process,) = (p for p in multiprocessing.active_children() if p.pid == self.killed)
                process.join(10)
        return super().answer(questions)


def fake_tasks(lengths: Sequence[int], D: int = 3) -> list[Task]:
    spec = ProblemSpec("ackley", D)
    return [Task("fake", None, spec, seed, evals=n) for seed, n in enumerate(lengths)]


def kill_all() -> None:
    for process in multiprocessing.active_children():
        process.kill()


def done(
    tasks: list[Task], workers: int, work: Any, evaluator: Evaluator
) -> dict[int, Result | Failed]:
    """What comes out of workers that ask, by seed; all of it in half a minute."""
    found: dict[int, Result | Failed] = {}
    values = 0
    watch = threading.Timer(30.0, kill_all)
    watch.start()
    try:
        for event in runner._on_processes(tasks, workers, work, evaluator):
            if isinstance(event, int):
                values += event
            elif event[1] is not None:
                found[event[0].seed] = event[1]
    finally:
        watch.cancel()
    assert multiprocessing.active_children() == []
    if isinstance(evaluator, Recording):
        assert values == sum(evaluator.batches)
    return found


def assert_right(found: dict[int, Result | Failed], tasks: Sequence[Task]) -> None:
    for task in tasks:
        result = found[task.seed]
        assert isinstance(result, Result)
        assert result.key == task.key
        assert result.values.tolist() == expected_values(task)


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("TRANSECT_TEST_NOTES", str(folder))
    return folder


def attempts(notes: Path) -> dict[int, int]:
    return {int(path.name): path.stat().st_size for path in notes.iterdir()}


def test_a_question_and_its_answer_go_through_a_pipe() -> None:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    task = fake_tasks([1])[0]
    problem = sums(3, seed=4)
    answers: list[float] = []
    for call in (1, 2):
        u = np.full(3, 0.25 * call)
        thread = threading.Thread(target=lambda: answers.append(ask(theirs, task, problem, u)))  # noqa: B023
        thread.start()
        assert ours.poll(10)
        question = ours.recv()
        assert isinstance(question, Question)
        assert (question.run, question.problem) == (task.key, task.problem)
        assert question.draw == (4, call)
        np.testing.assert_array_equal(question.u, u)
        ours.send(7.0 + call)
        thread.join(10)
    assert answers == [8.0, 9.0]


def test_an_objective_that_takes_one_point_is_not_asked_about() -> None:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    problem = RAMP.build(0)
    assert ask(theirs, Task("random", None, RAMP, 0), problem, np.zeros(41)) == 600.0
    assert not ours.poll(0)


class Builds:
    """In place of ``ProblemSpec.build``: sums, and what was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[ProblemSpec, int, Any]] = []
        self.objectives: dict[ProblemSpec, Sums] = {}
        monkeypatch.setattr(
            ProblemSpec, "build", lambda spec, seed, device=None: self.build(spec, seed, device)
        )

    def build(self, spec: ProblemSpec, seed: int, device: Any) -> Problem:
        self.calls.append((spec, seed, device))
        problem = sums(spec.D, seed)
        assert isinstance(problem.objective, Sums)
        self.objectives[spec] = problem.objective
        return problem

    @property
    def batches(self) -> list[int]:
        return [n for objective in self.objectives.values() for n in objective.batches]


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    return Builds(monkeypatch)


SMALL, LARGE = ProblemSpec("network", 20, data="x"), ProblemSpec("network", 30, data="x")


def question(run: str, problem: ProblemSpec, seed: int, call: int = 1, at: int = 0) -> Question:
    u = np.random.default_rng(at).uniform(-1.0, 1.0, problem.D)
    return Question(run, problem, u, (seed, call))


def answers_to(questions: Sequence[Question]) -> list[float]:
    return [value_of(q.u, q.draw) for q in questions]


def test_questions_on_one_problem_are_answered_at_once(builds: Builds, tmp_path: Path) -> None:
    """Mixed ones are told apart, and each gets the answer to its own."""
    evaluator = Evaluator("somewhere", tmp_path)
    for call in (1, 2):
        questions = [
            question(f"run/{i}", spec, seed=i, call=call, at=10 * call + i)
            for i, spec in enumerate([SMALL, LARGE, SMALL, SMALL, LARGE])
        ]
        assert evaluator.answer(questions) == answers_to(questions)
    assert builds.calls == [(SMALL, 0, "somewhere"), (LARGE, 0, "somewhere")]
    assert builds.objectives[SMALL].batches == [3, 3]
    assert builds.objectives[LARGE].batches == [2, 2]


def test_answers_are_kept_until_their_run_is_over(builds: Builds, tmp_path: Path) -> None:
    """Another evaluator has them at once, and computes those alone that are new."""
    first = [question("a/b/000", SMALL, 0, call, at=call) for call in (1, 2)]
    assert Evaluator(None, tmp_path).answer(first) == answers_to(first)
    other = [
        question("a/b/000", SMALL, 0, 3, at=3),
        first[1],
        question("a/b/000", SMALL, 0, 2, at=9),  # another point
        question("a/b/000", SMALL, 1, 2, at=2),  # another draw
        question("a/b/001", SMALL, 0, 2, at=2),  # another run
        first[0],
    ]
    builds.objectives.clear()
    again = Evaluator(None, tmp_path)
    assert again.answer(other) == answers_to(other)
    assert builds.batches == [4]
    assert again.answer(first) == answers_to(first)
    assert builds.batches == [4]
    again.forget("a/b/000")
    builds.objectives.clear()
    assert Evaluator(None, tmp_path).answer(first) == answers_to(first)
    assert builds.batches == [2]


@pytest.mark.parametrize("cut", [1, 5, 30, 75])
def test_an_answer_that_was_cut_off_is_computed_again(
    cut: int, builds: Builds, tmp_path: Path
) -> None:
    questions = [question("a/b/000", SMALL, 0, call, at=call) for call in (1, 2)]
    Evaluator(None, tmp_path).answer(questions)
    (path,) = (p for p in tmp_path.rglob("*") if p.is_file())
    path.write_bytes(path.read_bytes()[:-cut])
    for batches in ([1], []):  # and is whole afterwards
        builds.objectives.clear()
        assert Evaluator(None, tmp_path).answer(questions) == answers_to(questions)
        assert builds.batches == batches


def test_an_interrupted_run_goes_on_from_its_answers(
    builds: Builds, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second go computes what the first did not, and leaves results alone."""

    class Interrupted(Evaluator):
        times = 3

        def answer(self, questions: Sequence[Question]) -> list[float]:
            if not self.times:
                raise KeyboardInterrupt
            self.times -= 1
            return super().answer(questions)

    tasks = fake_tasks([5, 5])
    with monkeypatch.context() as patched:
        patched.setattr(runner, "Evaluator", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_all(tasks, store, workers=2, device="x", work=asks, progress=False)
    assert builds.batches == [2, 2, 2]
    builds.objectives.clear()
    assert run_all(tasks, store, workers=2, device="x", work=asks, progress=False) == {}
    assert builds.batches == [2, 2]
    for task in tasks:
        result = store.load(task)
        assert result is not None
        assert result.values.tolist() == expected_values(task)
    files = [path for path in store.folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json"}


def test_all_runs_that_wait_are_answered_together() -> None:
    """As long as all of them go on; the draws are those of a run by itself."""
    tasks, evaluator = fake_tasks([4, 2, 4]), Recording()
    assert_right(done(tasks, 3, asks, evaluator), tasks)
    assert evaluator.batches == [3, 3, 2, 2]
    assert sorted(evaluator.seen) == sorted(
        (task.key, (task.seed, call + 1)) for task in tasks for call in range(task.evals)
    )


def test_workers_take_the_next_run_while_others_wait() -> None:
    """Two at a time: when the short one is over, the third asks together with the long one."""
    tasks, evaluator = fake_tasks([6, 2, 3]), Recording()
    assert_right(done(tasks, 2, asks, evaluator), tasks)
    assert evaluator.batches == [2, 2, 2, 2, 2, 1]


def test_a_worker_that_dies_while_it_computes_costs_one_attempt(notes: Path) -> None:
    tasks, evaluator = fake_tasks([3, 3, 3]), Recording()
    assert_right(done(tasks, 2, dies_while_computing, evaluator), tasks)
    assert attempts(notes) == {0: 1, 1: 2, 2: 1}


def test_a_worker_that_dies_while_it_waits_costs_one_attempt(notes: Path) -> None:
    tasks, evaluator = fake_tasks([3, 3, 3], D=1), Killing()
    found = done(tasks, 3, tells_its_process, evaluator)
    assert evaluator.killed
    assert attempts(notes) == {0: 1, 1: 2, 2: 1}
    for task in tasks:
        result = found[task.seed]
        assert isinstance(result, Result)
        points = points_of(task)
        assert result.values.tolist() == [
            value_of(u, (task.seed, i + 2)) for i, u in enumerate(points)
        ]


def test_runs_that_fail_hold_nobody_up(notes: Path) -> None:
    """One kills its workers, another raises."""
    tasks, evaluator = fake_tasks([5, 5, 5, 5]), Recording()
    found = done(tasks, 2, dies_or_raises, evaluator)
    assert found[1] == Failed(f"its process died {TRIES} times, at last with code 3")
    assert found[2] == Failed("ZeroDivisionError: one divided by nothing")
    assert attempts(notes) == {1: TRIES}
    assert_right(found, [tasks[0], tasks[3]])


def test_runs_that_do_not_ask_compute_their_values_themselves() -> None:
    tasks, evaluator = fake_tasks([3, 3]), Recording()
    found = done(tasks, 1, computes_itself, evaluator)
    assert evaluator.batches == []
    for task in tasks:
        problem, result = task.problem.build(0), found[task.seed]
        assert isinstance(result, Result)
        assert result.values.tolist() == [problem(u) for u in points_of(task)]


def test_no_worker_is_left_when_the_evaluation_fails(store: Store) -> None:
    class Broken(Evaluator):
        def answer(self, questions: Sequence[Question]) -> list[float]:
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        done(fake_tasks([3]), 1, asks, Broken(None, store.folder))
    assert multiprocessing.active_children() == []


def test_results_do_not_depend_on_a_device(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way, but that the other end computes with NumPy; references go along."""
    devices: list[Any] = []
    batches: list[int] = []

    class OnNumPy(Evaluator):
        def __init__(self, device: Any, folder: Path) -> None:
            devices.append(device)
            super().__init__(None, folder)

        def answer(self, questions: Sequence[Question]) -> list[float]:
            batches.append(len(questions))
            return super().answer(questions)

    monkeypatch.setattr(runner, "Evaluator", OnNumPy)
    tasks = [Task("random", RandomSearch(), NETWORK, seed, evals=4) for seed in range(2)]
    tasks.append(Task("all-adam", None, NETWORK, 0, evals=1))
    assert run_all(tasks, store, workers=2, device="cuda:1", progress=False) == {}
    assert devices == ["cuda:1"]
    assert sum(batches) == 8
    assert 2 in batches
    for task in tasks:
        result = store.load(task)
        assert result is not None
        np.testing.assert_allclose(result.values, run(task).values, rtol=1e-6)


def test_progress_counts_evaluations(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(runner, "Evaluator", lambda device, folder: Recording())
    assert run_all(fake_tasks([30]), store, workers=1, device="x", work=slow_asks) == {}
    shown = capsys.readouterr().err
    assert "evaluations of 1 runs" in shown
    assert "1/1" in shown


def slow_asks(task: Task, evaluate: Evaluate) -> Result:
    time.sleep(0.3)  # the bar is drawn ten times a second at most
    return asks(task, evaluate)


def test_dask_and_a_device_do_not_go_together(
    store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="either a Dask cluster or a device, not both"):
        run_all(fake_tasks([1]), store, dask="tcp://127.0.0.1:1", device="cpu")
    both = ["--dask", "tcp://127.0.0.1:1", "--device", "cpu", "--out", str(tmp_path)]
    assert main(["bench", "run", "fig4", "--quick", "--strategies", "random", *both]) == 2
    assert "not both" in capsys.readouterr().err


def test_the_command_passes_the_device_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    def recorded(tasks: Any, store: Any, *rest: Any) -> dict[str, str]:
        calls.append(rest)
        return {}

    monkeypatch.setattr(command, "run_all", recorded)
    monkeypatch.setattr(command, "cores", lambda: 3)
    line = ["bench", "run", "fig4", "--quick", "--out", str(tmp_path)]
    assert main(line) == 0
    assert main([*line, "--device", "cuda"]) == 0
    assert main([*line, "--device", "cuda", "--workers", "5"]) == 0
    assert calls == [(3, None, None), (12, None, "cuda"), (5, None, "cuda")]


# --- from the command line ------------------------------------------------------------------


def test_a_quick_figure_from_runs_to_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, packed = tmp_path / "results", tmp_path / "results.npz"
    size = ["--quick", "--evals", "22", "--repeats", "1"]
    chosen = ["--strategies", "random,all-adam", "--workers", "1"]
    assert main(["bench", "run", "fig4", *size, *chosen, "--out", str(results)]) == 0
    out = capsys.readouterr().out
    assert "2 runs of 22 evaluations" in out
    assert "all 2 runs are in" in out
    names = sorted(str(path.relative_to(results)) for path in results.rglob("*.json"))
    assert names == [f"network-digits-100/{what}/000.json" for what in ("all-adam", "random")]
    found = ["--results", str(results), *size]

    assert main(["bench", "pack", str(packed), *found]) == 0
    table = unpack(packed)
    keys = [("network-digits-100", "all-adam"), ("network-digits-100", "random")]
    assert sorted(table.cells) == keys
    adam, random = (table.cells[key] for key in keys)
    assert (adam.regret.shape, random.regret.shape) == ((1, 1), (1, 22))
    assert 0.2 < adam.final[0] < random.final[0] < 2.0
    capsys.readouterr()

    for source in (found, ["--results", str(packed)]):
        assert main(["bench", "medians", "fig4", *source]) == 0
        (row,) = (
            line for line in capsys.readouterr().out.splitlines() if "network-digits-100" in line
        )
        assert row.endswith(f"| {random.final[0]:.3g} | {adam.final[0]:.3g} |")
        assert main(["bench", "costs", *source]) == 0
        assert "| random | " in capsys.readouterr().out
    assert main(["bench", "plot", "fig4", *found, "--out", str(tmp_path / "new")]) == 0
    drawn = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [path.name for path in drawn] == ["fig4-digits.png", "fig4-digits-each.png"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in drawn)


def test_tables_have_a_column_for_the_reference() -> None:
    table = learning_table(FIGURES["fig5"])
    rows = medians(FIGURES["fig5"], table).splitlines()
    assert rows[0] == f"| fig5 | {' | '.join(LEARNERS)} | linear-svm |"
    assert len(rows) == 2 + 5 + 4
    (row,) = (row for row in rows if row.startswith("| ramp-gisette-like-501-C10 |"))
    assert row.endswith("| 40 |")
    assert "D = 501" in costs(table).splitlines()[0]


# --- pictures -------------------------------------------------------------------------------


def cell(values: Host, final: Any = None) -> Cell:
    least = np.fmin.reduce(values, axis=1)
    return Cell(tuple(range(len(values))), values, least if final is None else final, 100.0, 0.01)


def learning_table(figure: Figure, reference: float = 40.0) -> Table:
    """Losses between 100 and 220, and references of one value."""
    rng = np.random.default_rng(0)
    cells = {}
    for panel in figure.panels:
        for line in figure.lines:
            level = np.full((3, 1), reference)
            values = level if line.strategy is None else rng.uniform(100.0, 220.0, (3, 40))
            cells[panel.problem.label, line.label] = cell(values)
    return Table(cells)


@pytest.fixture
def canvases(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is drawn, by the name of its file, instead of the file."""
    found: dict[str, Any] = {}

    def finish(canvas: Any, figure: Any, grid: Any, table: Any, path: Path) -> Path:
        found[path.name] = canvas
        return path

    monkeypatch.setattr(pictures, "_finish", finish)
    return found


def labelled(ax: Any) -> dict[str, Any]:
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def test_loss_curve_is_the_least_so_far_as_it_is() -> None:
    curve = loss_curve(cell(np.array([[3.0, 5.0, 1.0, 2.0], [4.0, np.nan, 6.0, 0.5]])))
    np.testing.assert_array_equal(curve, [[3.0, 3.0, 1.0, 1.0], [4.0, 4.0, 4.0, 0.5]])


def test_losses_are_drawn_as_they_are(canvases: dict[str, Any], tmp_path: Path) -> None:
    """The best so far, and each; a mean over the repeats, from the first evaluation on."""
    figure = FIGURES["fig4"]
    table = learning_table(figure)
    draw(figure, table, tmp_path)
    assert list(canvases) == [
        f"fig4-{data}{what}.png" for data in ("mnist", "digits") for what in ("", "-each")
    ]
    values = table.cells["network-mnist-500", "sre-d10"].regret
    titles = {line.label: line.title for line in figure.lines}
    ylabels = {"": "best loss so far", "-each": "loss of each evaluation"}
    for what, expected in (("", np.minimum.accumulate(values, axis=1)), ("-each", values)):
        canvas = canvases[f"fig4-mnist{what}.png"]
        assert canvas.get_supylabel() == ylabels[what]
        assert len(canvas.axes) == 2
        ax = canvas.axes[1]
        assert ax.get_title() == "mnist, D = 500"
        assert ax.get_yscale() == "linear"
        line = labelled(ax)[titles["sre-d10"]]
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 41))
        np.testing.assert_allclose(line.get_ydata(), expected.mean(axis=0))


@pytest.mark.parametrize(("reference", "word"), [(70.0, False), (130.0, False), (0.85, True)])
def test_a_reference_is_a_level_line_or_far_below_a_word(
    reference: float, word: bool, canvases: dict[str, Any], tmp_path: Path
) -> None:
    """It never flattens the curves."""
    figure = FIGURES["fig5"]
    draw(figure, learning_table(figure, reference), tmp_path)
    ax = canvases["fig5-progress-each.png"].axes[0]
    texts = [text.get_text() for text in ax.texts]
    low, high = ax.get_ylim()
    if word:
        assert texts == ["linear SVM: 0.85"]
        assert "linear SVM" not in labelled(ax)
        assert 50.0 < low < 110.0
    else:
        assert texts == []
        line = labelled(ax)["linear SVM"]
        assert set(line.get_ydata()) == {reference}
        assert low <= reference <= high
    assert high < 260.0
    assert len(labelled(ax)) == len(LEARNERS) + (not word)


def test_a_reference_alone_is_drawn(canvases: dict[str, Any], tmp_path: Path) -> None:
    cells = {("network-digits-100", "all-adam"): cell(np.full((2, 1), 0.35))}
    draw(FIGURES["fig4"], Table(cells), tmp_path)
    ax = canvases["fig4-digits.png"].axes[0]
    assert set(labelled(ax)) == {"all weights by Adam"}
    assert "no results:" in ax.texts[0].get_text()
    assert "MS-UCB" in ax.texts[0].get_text()


def test_what_was_reached_is_drawn_side_by_side(canvases: dict[str, Any], tmp_path: Path) -> None:
    """A mark for each C and strategy, with its spread, on a logarithmic axis; none hides one."""
    figure = FIGURES["fig5"]
    table = learning_table(figure)
    missing = ("ramp-gisette-like-5001-C5", "hesbo-d10")
    draw(figure, Table({k: c for k, c in table.cells.items() if k != missing}), tmp_path)
    (ax,) = canvases["fig5-final.png"].axes
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "loss reached"
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert ticks == ["C = 1", "C = 2", "C = 5", "C = 10"]
    (grid,) = (grid for grid in figure.grids if grid.kind is Kind.FINAL)
    marks = labelled(ax)
    assert list(marks) == [line.title for line in grid.lines]
    places: list[float] = []
    for line in grid.lines:
        data, _, (bars,) = marks[line.title].lines
        panels = [p for p in grid.panels if (p.problem.label, line.label) != missing]
        finals = [table.cells[panel.problem.label, line.label].final for panel in panels]
        np.testing.assert_allclose(data.get_ydata(orig=False), [final.mean() for final in finals])
        x = data.get_xdata(orig=False)
        np.testing.assert_array_equal(np.round(x), [grid.panels.index(p) for p in panels])
        spans = np.array([segment[:, 1] for segment in bars.get_segments()])
        spread = [final.std() for final in finals]
        np.testing.assert_allclose(spans[:, 1] - spans[:, 0], 2.0 * np.array(spread), atol=1e-9)
        places += x.tolist()
    assert len({round(x, 6) for x in places}) == len(places)


def test_pictures_of_odd_results_are_files(tmp_path: Path) -> None:
    """Where a spread is as large as its mean, a reference next to nothing, a strategy failed."""
    figure = replace(FIGURES["fig5"], grids=FIGURES["fig5"].quick, quick=())
    problems = [panel.problem.label for panel in figure.panels]
    cells = dict(learning_table(figure, 1e-3).cells)
    cells[problems[0], "random"] = cell(np.array([[1.0], [1.0], [1e4]]))
    cells[problems[1], "random"] = cell(np.full((2, 30), np.nan))
    paths = draw(figure, Table(cells), tmp_path)
    names = ("progress-501", "progress-501-each", "final-501")
    assert [path.name for path in paths] == [f"fig5-{name}.png" for name in names]
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert 5_000 < path.stat().st_size < 300_000


def test_gp_ucb_practical_runs_on_the_ramp_loss() -> None:
    """A strategy on a learning task, from the first point to the last."""
    task = Task("gp-ucb-practical", GPUCB(beta="practical"), RAMP, 0, 23, suggest_evals(41))
    result = run(task)
    assert result.values.shape == (23,)
    assert np.isfinite(result.values).all()
    assert result.evaluations.shape == (3,)
    np.testing.assert_array_equal(run(task).values, result.values)
