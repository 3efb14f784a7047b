"""Values of many runs computed together: what is asked, answered, kept and done again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transect._array import Host
from transect.box import Box
from transect.cli import main
from transect.experiments import command, runner, together
from transect.experiments.runner import TRIES, Failed, run_all
from transect.experiments.store import Store
from transect.experiments.task import (
    Evaluate,
    ProblemSpec,
    Result,
    Task,
    run,
)
from transect.experiments.together import Evaluator, Question, ask
from transect.problems import Problem
from transect.problems.problem import Draw
from transect.strategies import RandomSearch

NETWORK = ProblemSpec("network", 100, data="digits")
RAMP = ProblemSpec("ramp", 41, data="digits-like", C=2.0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


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
                # before it is dead: a dead one is no longer listed
                (process,) = (p for p in multiprocessing.active_children() if p.pid == self.killed)
                os.kill(self.killed, signal.SIGKILL)
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


def test_a_run_that_is_done_again_has_its_answers(builds: Builds, tmp_path: Path) -> None:
    """As after the death of a worker; and the file has each of them once."""
    questions = [question("a/b/000", SMALL, 0)]
    evaluator = Evaluator(None, tmp_path)
    assert evaluator.answer(questions) == evaluator.answer(questions)
    assert builds.batches == [1]
    assert len((tmp_path / "a/b/000.values").read_text().splitlines()) == 1


@pytest.mark.parametrize("line", ["", "nonsense", "three words here", "name no-number"])
def test_a_damaged_line_is_passed_over(line: str, builds: Builds, tmp_path: Path) -> None:
    first, second = (question("a/b/000", SMALL, 0, call, at=call) for call in (1, 2))
    Evaluator(None, tmp_path).answer([first])
    path = tmp_path / "a/b/000.values"
    path.write_text(path.read_text() + line + "\n")
    Evaluator(None, tmp_path).answer([second])
    builds.objectives.clear()
    assert Evaluator(None, tmp_path).answer([first, second]) == answers_to([first, second])
    assert builds.batches == []


def test_answers_of_another_version_are_not_taken(
    builds: Builds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [question("a/b/000", SMALL, 0)]
    Evaluator(None, tmp_path).answer(questions)
    monkeypatch.setattr(together, "__version__", "0.0.0")
    builds.objectives.clear()
    Evaluator(None, tmp_path).answer(questions)
    assert builds.batches == [1]


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
