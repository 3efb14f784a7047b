"""Many runs: each done once, whatever dies, fails or is interrupted meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from transect import _threads
from transect.experiments.runner import TRIES, run_all
from transect.experiments.store import Store
from transect.experiments.task import ProblemSpec, Result, Task, run
from transect.strategies import RandomSearch

PROBLEM = ProblemSpec("ackley", 20)


def tasks(seeds: Iterable[int]) -> list[Task]:
    return [Task("random", RandomSearch(), PROBLEM, seed, evals=25) for seed in seeds]


# What workers do. Their notes are files named after the task, one line for each attempt.


def note(task: Task) -> int:
    """Note an attempt; how many there have been."""
    path = Path(os.environ["TRANSECT_TEST_NOTES"]) / str(task.seed)
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")
    return len(path.read_text().splitlines())


def plain(task: Task) -> Result:
    note(task)
    values = np.array([float(task.seed)])
    return Result(task.key, values, 0.0, np.array([1]), np.array([0.5]))


def dies_once_by_signal(task: Task) -> Result:
    if note(task) == 1 and task.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(task)


def dies_always(task: Task) -> Result:
    if task.seed == 1:
        note(task)
        os._exit(3)
    return plain(task)


def raises(task: Task) -> Result:
    if task.seed == 1:
        raise ZeroDivisionError("one divided by nothing")
    return plain(task)


def interrupts_the_parent(task: Task) -> Result:
    if task.seed == 2:
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)  # killed long before
    return plain(task)


def thread_counts(task: Task) -> Result:
    counts = {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}
    values = np.array([_threads._workers(), max(counts)], dtype=np.float64)
    return Result(task.key, values, 0.0, np.array([1]), np.array([0.5]))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("TRANSECT_TEST_NOTES", str(folder))
    return folder


def attempts(notes: Path) -> dict[int, int]:
    return {int(p.name): len(p.read_text().splitlines()) for p in notes.iterdir()}


def test_results_do_not_depend_on_where_they_are_made(store: Store) -> None:
    assert run_all(tasks(range(3)), store, workers=2) == {}
    for task in tasks(range(3)):
        loaded = store.load(task)
        assert loaded is not None
        np.testing.assert_array_equal(loaded.values, run(task).values)


def test_only_what_is_missing_is_done(store: Store, notes: Path) -> None:
    assert run_all(tasks([0, 2]), store, workers=2, work=plain) == {}
    assert run_all(tasks(range(4)), store, workers=2, work=plain) == {}
    assert attempts(notes) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert store.missing(tasks(range(4))) == []


def test_a_killed_worker_costs_one_attempt(store: Store, notes: Path) -> None:
    assert run_all(tasks(range(5)), store, workers=2, work=dies_once_by_signal) == {}
    assert store.missing(tasks(range(5))) == []
    assert attempts(notes)[1] == 3  # died; and, as the others, noted by both functions
    assert all(attempts(notes)[seed] == 2 for seed in (0, 2, 3, 4))


def test_a_task_that_kills_its_workers_is_named_and_the_rest_done(
    store: Store, notes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failed = run_all(tasks(range(5)), store, workers=2, work=dies_always)
    assert failed == {"ackley-20/random/001": "its process died 3 times, at last with code 3"}
    assert attempts(notes) == {0: 1, 1: TRIES, 2: 1, 3: 1, 4: 1}
    assert "ackley-20/random/001 failed" in caplog.text
    assert store.missing(tasks(range(5))) == tasks([1])


def test_a_task_that_raises_is_named_and_the_rest_done(store: Store, notes: Path) -> None:
    failed = run_all(tasks(range(4)), store, workers=1, work=raises)
    assert failed == {"ackley-20/random/001": "ZeroDivisionError: one divided by nothing"}
    assert store.missing(tasks(range(4))) == tasks([1])


def test_an_interrupted_run_stops_at_once_and_is_continued(
    store: Store, notes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_all(tasks(range(4)), store, workers=1, work=interrupts_the_parent)
    assert "stopped: 2 of 4 runs done" in caplog.text
    assert multiprocessing.active_children() == []
    assert store.missing(tasks(range(4))) == tasks([2, 3])
    assert run_all(tasks(range(4)), store, workers=1, work=plain) == {}
    assert attempts(notes) == {0: 1, 1: 1, 2: 1, 3: 1}


def test_a_full_disk_ends_the_run(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        run_all(tasks(range(2)), store, workers=1, work=plain)
    assert "stopped: 0 of 2 runs done" in caplog.text
    assert multiprocessing.active_children() == []


def test_a_killed_run_leaves_whole_results_and_no_processes(store: Store, notes: Path) -> None:
    """The parent is killed with no chance to clean up."""
    program = (
        "from test_experiments_runner import Store, plain, run_all, tasks\n"
        "if __name__ == '__main__':\n"
        f"    run_all(tasks(range(10_000)), Store({str(store.folder)!r}), workers=1, work=plain)\n"
    )
    script = notes.parent / "program.py"
    script.write_text(program)
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    parent = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": path})
    wait_for(lambda: len(list(store.folder.rglob("*.json"))) > 5)
    parent.kill()
    parent.wait()
    worker = int((notes / "0").read_text())
    wait_for(lambda: not alive(worker))
    done = 10_000 - len(store.missing(tasks(range(10_000))))
    assert done == len(list(store.folder.rglob("*.json"))) > 5
    assert list(store.folder.rglob("*.set-aside-*")) == []


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not collected does not."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_workers_have_one_thread_each(store: Store) -> None:
    assert run_all(tasks([0]), store, workers=1, work=thread_counts) == {}
    loaded = store.load(tasks([0])[0])
    assert loaded is not None
    assert loaded.values.tolist() == [1.0, 1.0]


def test_repeats_come_one_after_the_other_long_tasks_first(store: Store, notes: Path) -> None:
    mixed = [
        Task(label, RandomSearch(), ProblemSpec("ackley", D), seed, 25, budget)
        for label, budget in (("limited", 2000), ("all", None))
        for D in (20, 100)
        for seed in (0, 1)
    ]
    order: list[str] = []

    class Recording(Store):
        def save(self, task: Task, result: Result) -> None:
            order.append(task.key)

    run_all(mixed, Recording(store.folder), workers=1, work=plain)
    first = ["ackley-100/all", "ackley-20/all", "ackley-100/limited", "ackley-20/limited"]
    assert order == [f"{key}/{seed:03d}" for seed in (0, 1) for key in first]


def test_bad_numbers_of_workers_are_named(store: Store) -> None:
    with pytest.raises(ValueError, match="workers must be an integer of at least 1"):
        run_all(tasks([0]), store, workers=0)


def test_progress_shows_what_is_running(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run_all(tasks(range(2)), store, workers=1, work=plain)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "ackley-20/random/001" in shown


def test_a_log_has_few_lines_of_progress(
    store: Store, notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal: one at the start, one every minute and one at the end."""
    run_all(tasks(range(9)), store, workers=1, work=plain)
    shown = capsys.readouterr().err
    assert "9/9" in shown
    assert shown.count("transect:") <= 3
    run_all(tasks(range(10)), store, workers=1, work=plain, progress=False)
    assert capsys.readouterr().err == ""
