"""Runs on a real Dask cluster, one of whose workers is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster

from transect.experiments.runner import run_all
from transect.experiments.store import Store
from transect.experiments.task import ProblemSpec, Result, Task, run
from transect.strategies import RandomSearch

TASKS = [Task("random", RandomSearch(), ProblemSpec("ackley", 20), s, evals=25) for s in range(8)]


def kills_a_worker_once(task: Task) -> Result:
    """``run``, but the first worker to get seed 3 is gone, with all results it still holds."""
    try:
        if task.seed == 3:
            Path(os.environ["TRANSECT_TEST_KILLED"]).touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass
    return run(task)


def raises(task: Task) -> Result:
    raise ZeroDivisionError("one divided by nothing")


class CountingStore(Store):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.saved: list[str] = []

    def save(self, task: Task, result: Result) -> None:
        self.saved.append(task.key)
        super().save(task, result)


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "killed"
    monkeypatch.setenv("TRANSECT_TEST_KILLED", str(path))  # before the workers start
    return path


@pytest.fixture
def address(killed: Path, tmp_path: Path) -> Iterator[str]:
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        local_directory=str(tmp_path),
    ) as cluster:
        yield cluster.scheduler_address


def test_a_killed_worker_loses_nothing_and_nothing_is_done_twice(
    address: str, killed: Path, tmp_path: Path
) -> None:
    store = CountingStore(tmp_path / "results")
    assert run_all(TASKS, store, dask=address, work=kills_a_worker_once) == {}
    assert killed.exists()
    assert sorted(store.saved) == [task.key for task in TASKS]
    for task in TASKS:
        loaded = store.load(task)
        assert loaded is not None
        np.testing.assert_array_equal(loaded.values, run(task).values)
    # a task that raises is reported; what has a result is not done again
    other = Task("other", RandomSearch(), ProblemSpec("ackley", 20), 0)
    failed = run_all([*TASKS, other], store, dask=address, work=raises)
    assert failed == {"ackley-20/other/000": "ZeroDivisionError: one divided by nothing"}
    assert len(store.saved) == len(TASKS)


def test_without_distributed_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match="extra 'dask'"):
        run_all(TASKS, Store(tmp_path), dask="tcp://127.0.0.1:1")
