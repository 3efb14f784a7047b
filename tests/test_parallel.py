"""Evaluations side by side: in processes of our own and on executors, and what befalls them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import has_ended, is_alive
from transect import Optimizer, maximize, minimize
from transect.evaluate import Here, OnExecutor, Outcome, Processes
from transect.journal import read

BOX = [(-1.0, 1.0)] * 6


def bowl(x: Any) -> float:
    return float(np.sum(np.square(x)))


def run(f: Any, evals: int = 30, **options: Any) -> Any:
    return minimize(f, BOX, evals, **{"seed": 0, "n_init": 6, "progress": False, **options})


@pytest.mark.parametrize("strategy", ["anchored", "ms-ucb", "rembo", "random"])
def test_all_evaluations_are_made(strategy: str) -> None:
    r = run(bowl, strategy=strategy, workers=3)
    assert (r.nfev, len(r.trials), r.message) == (30, 30, "made all 30 evaluations")
    assert r.fun == min(bowl(x) for x in r.x_iters)
    assert max(t.info.get("pending", 0) for t in r.trials) == 2


def test_points_side_by_side_keep_away_from_each_other(tmp_path: Path) -> None:
    """Only those in flight together: later ones may settle beside a point that proved good."""

    def slow(x: Any) -> float:
        started = time.monotonic()
        time.sleep(0.1)
        np.save(tmp_path / f"{started}.npy", [started, time.monotonic(), *x])
        return bowl(x)

    run(slow, 22, workers=4)
    made = np.array([np.load(file) for file in tmp_path.iterdir()])
    made = made[np.argsort(made[:, 0])]
    gaps = [
        np.linalg.norm(earlier[2:] - later[2:])
        for j, later in enumerate(made)
        for earlier in made[:j]
        if later[0] < earlier[1]
    ]
    assert len(gaps) > 10
    assert min(gaps) > 0.01


def test_they_are_indeed_made_side_by_side(tmp_path: Path) -> None:
    def slow(x: Any) -> float:
        started = time.monotonic()
        time.sleep(0.15)
        with (tmp_path / "spans").open("a") as file:
            file.write(f"{started} {time.monotonic()}\n")
        return bowl(x)

    run(slow, 9, strategy="random", workers=3)
    spans = np.loadtxt(tmp_path / "spans")
    together = [np.sum((spans[:, 0] <= t) & (t < spans[:, 1])) for t in spans[:, 0]]
    assert max(together) == 3


def test_a_time_limit_alone_moves_evaluations_to_a_process_and_says_so() -> None:
    calls: list[Any] = []

    def f(x: Any) -> float:
        calls.append(x)
        return float(os.getpid())

    assert set(run(f, 3, strategy="random", eval_time=60.0).func_vals) != {float(os.getpid())}
    assert calls == []
    assert "in a process of its own, also without ``workers``" in str(minimize.__doc__)


def test_an_error_is_of_its_evaluation_alone() -> None:
    def f(x: Any) -> float:
        if x[0] > 0.0:
            raise ValueError("to the right")
        return bowl(x)

    r = run(f, workers=2)
    failed = [t for t in r.trials if t.state == "failed"]
    assert failed
    assert {t.error for t in failed} == {"ValueError: to the right"}
    assert all(t.x[0] > 0.0 for t in failed)
    assert r.nfev == 30


def test_a_value_that_is_no_number_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="the objective's value"):
        run(lambda x: "high", workers=2)
    numbers_first = [[-0.5] * 6, [-0.4] * 6]
    r = run(lambda x: "high" if x[0] > 0.3 else bowl(x), workers=2, x0=numbers_first)
    assert any("must be one real number" in str(t.error) for t in r.trials)


class Deadly:
    """Ends its process where x_0 > 0.3; only the first so many times."""

    def __init__(self, folder: Path, times: int) -> None:
        self.folder, self.times = folder, times

    def __call__(self, x: Any) -> float:
        if x[0] > 0.3 and len(list(self.folder.iterdir())) < self.times:
            (self.folder / f"{time.monotonic_ns()}").touch()
            os._exit(7)
        return bowl(x)


def test_a_dead_process_costs_its_evaluation_which_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    r = run(Deadly(tmp_path, 2), workers=3, retries=2)
    dead = len(list(tmp_path.iterdir()))
    assert r.nfev == 30
    assert dead >= 2  # two may die at once
    assert not any(t.state == "failed" for t in r.trials)
    assert caplog.text.count("is made again: its process ended, exit code 7") == dead


def test_what_always_kills_its_process_has_failed(tmp_path: Path) -> None:
    r = run(Deadly(tmp_path, 10**6), workers=2, retries=1)
    failed = [t for t in r.trials if t.state == "failed"]
    assert {t.error for t in failed} == {"its process ended, exit code 7"}
    assert all(t.x[0] > 0.3 for t in failed)
    assert all(t.x[0] <= 0.3 for t in r.trials if t.state == "done")
    assert len(list(tmp_path.iterdir())) == 2 * len(failed) > 0


@pytest.mark.parametrize("workers", [None, 2])
def test_an_evaluation_that_takes_too_long_is_stopped(workers: int | None) -> None:
    def f(x: Any) -> float:
        if x[0] > 0.5:
            time.sleep(3600)
        return bowl(x)

    r = run(f, 12, workers=workers, eval_time=0.3, strategy="random")
    slow = [t for t in r.trials if t.x[0] > 0.5]
    assert slow
    assert [t.error for t in slow] == ["took longer than 0.3 s"] * len(slow)
    assert all(t.state == "done" for t in r.trials if t.x[0] <= 0.5)


def test_what_the_objective_started_ends_with_it(tmp_path: Path) -> None:
    def f(x: Any) -> float:
        child = subprocess.Popen(["sleep", "3600"])
        (tmp_path / str(child.pid)).touch()
        return float(child.wait())

    r = run(f, 2, workers=2, eval_time=0.3, strategy="random")
    assert [t.error for t in r.trials] == ["took longer than 0.3 s"] * 2
    for mark in tmp_path.iterdir():
        assert has_ended(mark.name)


def test_processes_draw_their_own_numbers() -> None:
    r = run(lambda x: float(np.random.rand()), 8, strategy="random", workers=4)  # noqa: NPY002
    assert len(set(r.func_vals)) == 8


def test_maximize_takes_workers_too() -> None:
    r: Any = maximize(lambda x: -bowl(x), BOX, 8, "random", workers=2, progress=False)
    assert r.fun == max(-bowl(x) for x in r.x_iters)


def test_the_callback_can_stop_it() -> None:
    def stop(r: Any) -> None:
        if r.nfev >= 4:
            raise StopIteration

    r = run(bowl, workers=2, callback=stop)
    assert (r.nfev, r.message) == (4, "stopped by the callback")


# --- executors -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_on_an_executor(kind: Any) -> None:
    with kind(3) as executor:
        r = run(bowl, executor=executor)
    assert (r.nfev, max(t.info.get("pending", 0) for t in r.trials)) == (30, 2)


def test_fewer_at_a_time_than_the_executor_could() -> None:
    with ThreadPoolExecutor(4) as executor:
        r = run(bowl, executor=executor, workers=1)
    np.testing.assert_array_equal(r.x_iters, run(bowl).x_iters)


class Plain:
    """Has submit, and nothing that the standard library could wait for."""

    class Later:
        def __init__(self, value: float) -> None:
            self.value, self.asked = value, 0

        def done(self) -> bool:
            self.asked += 1
            return self.asked > 2

        def result(self) -> float:
            return self.value

        def cancel(self) -> None:
            raise AssertionError

    def submit(self, f: Any, x: Any) -> Any:
        return self.Later(f(x))


def test_anything_with_submit_will_do() -> None:
    assert run(bowl, 12, executor=Plain(), workers=2).nfev == 12
    with pytest.raises(ValueError, match="say with workers="):
        run(bowl, executor=Plain())
    with pytest.raises(TypeError, match="executor must have submit"):
        run(bowl, executor=3)


def test_an_executor_that_is_none_or_cannot_take_the_objective() -> None:
    with pytest.raises(TypeError, match=r"executor must make what has submit\(f, x\), it made 3"):
        run(bowl, executor=lambda: 3, workers=2)
    with (
        ProcessPoolExecutor(2) as executor,
        pytest.raises(TypeError, match="cannot be sent to other processes"),
    ):
        run(lambda x: 1.0, executor=executor)


def two_processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2)


@pytest.mark.parametrize("make", ["a function", "a class", "loky"])
def test_another_executor_is_made_for_one_that_breaks(make: str, tmp_path: Path) -> None:
    makers: dict[str, Any] = {"a function": two_processes, "a class": ProcessPoolExecutor}
    if make == "loky":
        makers[make] = pytest.importorskip("loky").get_reusable_executor
    options = {"executor": makers[make], "workers": 2, "retries": 6}
    r = run(Deadly(tmp_path, 3), **options)
    assert r.nfev == 30
    assert len(list(tmp_path.iterdir())) >= 3  # two may die at once
    assert not any(t.state == "failed" for t in r.trials)


def test_a_broken_executor_ends_the_run_and_the_journal_goes_on(tmp_path: Path) -> None:
    path, marks = tmp_path / "run.db", tmp_path / "marks"
    marks.mkdir()
    f = Deadly(marks, 1)
    with (
        ProcessPoolExecutor(2) as executor,
        pytest.raises(RuntimeError, match="takes no more evaluations"),
    ):
        run(f, executor=executor, journal=path)
    there = sum(t.state == "done" for t in read(path).trials)
    r = run(f, workers=2, journal=path)
    assert (r.nfev, sum(t.state == "done" for t in r.trials)) == (30, 30)
    assert there < 30


def test_an_evaluation_on_an_executor_that_takes_too_long_is_given_up() -> None:
    class Never:
        def submit(self, f: Any, x: Any) -> Any:
            future: Future[float] = Future()
            if x[0] <= 0.5:
                future.set_result(f(x))
            return future

    r = run(bowl, 12, executor=Never(), workers=2, eval_time=0.2, strategy="random")
    late = [t for t in r.trials if t.state == "failed"]
    assert late
    assert all(t.x[0] > 0.5 and t.error == "took longer than 0.2 s" for t in late)


def test_an_evaluation_that_waits_for_a_worker_takes_no_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Those that are given up run on, on the threads that others wait for."""

    def slow(x: Any) -> float:
        time.sleep(1.2 if x[0] > 0.5 else 0.005)
        return bowl(x)

    with ThreadPoolExecutor(2) as executor:
        r = run(slow, 10, executor=executor, eval_time=0.4, strategy="random")
    for t in r.trials:
        assert (t.error == "took longer than 0.4 s") == (t.x[0] > 0.5)
    assert any(t.error for t in r.trials)
    assert "all workers are at evaluations that were given up" in caplog.text


def test_a_dask_cluster_whose_workers_are_killed(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    f = Deadly(tmp_path, 2)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        r = run(f, 14, executor=client.get_executor(), workers=2, retries=3)
    assert r.nfev == 14
    assert len(list(tmp_path.iterdir())) >= 2
    assert not any(t.state == "failed" for t in r.trials)


def test_loky_takes_what_cannot_be_pickled_and_says_who_died(tmp_path: Path) -> None:
    loky = pytest.importorskip("loky")
    with loky.ProcessPoolExecutor(2) as executor:
        r = run(lambda x: float(np.sum(np.square(x))), 14, executor=executor)
        assert (r.nfev, max(t.info.get("pending", 0) for t in r.trials)) == (14, 1)
    journal, f = tmp_path / "run.db", Deadly(tmp_path / "marks", 1)
    f.folder.mkdir()
    with (
        loky.ProcessPoolExecutor(2) as executor,
        pytest.raises(RuntimeError, match="one of its workers died"),
    ):
        run(f, 14, executor=executor, journal=journal)
    with loky.ProcessPoolExecutor(2) as executor:  # a pool of this kind breaks as a whole
        r = run(f, 14, executor=executor, journal=journal)
    assert (r.nfev, sum(t.state == "failed" for t in r.trials)) == (14, 0)


MPI_SCRIPT = """
from mpi4py.futures import MPIPoolExecutor
from transect import minimize

def f(x):
    if x[0] > 0.3:
        raise ValueError("a hole")
    return float((x**2).sum())

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        r = minimize(f, [(-1.0, 1.0)] * 6, 20, executor=executor, seed=0, progress=False)
    failed = sum(t.state == "failed" for t in r.trials)
    print(r.nfev, failed, sum(x[0] > 0.3 for x in r.x_iters), r.trials[-1].info["pending"])
"""


def test_mpi(tmp_path: Path) -> None:
    """One process asks and tells, two evaluate."""
    pytest.importorskip("mpi4py")
    script = tmp_path / "script.py"
    script.write_text(MPI_SCRIPT)
    mpiexec = Path(sys.executable).with_name("mpiexec")
    python = [sys.executable, "-m", "mpi4py.futures", str(script)]
    done = subprocess.run(
        [mpiexec, "-launcher", "fork", "-n", "3", *python],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    evaluations, failed, in_the_hole, pending = map(int, done.stdout.split())
    assert (evaluations, failed, pending) == (20, in_the_hole, 1)
    assert failed > 0


# --- interrupted -----------------------------------------------------------------------------

SCRIPT = """
import sys, time
from transect import minimize
def f(x):
    time.sleep(0.05)
    return float((x ** 2).sum())
print("begun", flush=True)
minimize(f, [(-1.0, 1.0)] * 6, 60, seed=0, n_init=6, workers=2, journal=sys.argv[1], progress=False)
"""


LONG = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from transect import minimize
def f(x):
    Path(sys.argv[2], str(os.getpid())).touch()
    time.sleep(3600)
def two():
    return ProcessPoolExecutor(2)
where = {"workers": 2} if sys.argv[3] == "workers" else {"executor": two}
minimize(f, [(-1.0, 1.0)] * 6, 60, seed=0, n_init=6, journal=sys.argv[1], progress=False, **where)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("where", ["workers", "pool"])
def test_what_outlives_a_killed_run_does_not_keep_its_journal(tmp_path: Path, where: str) -> None:
    """Copies of the process that was killed had its lock, and evaluated on."""
    path, script, marks = tmp_path / "run.db", tmp_path / "script.py", tmp_path / "marks"
    marks.mkdir()
    script.write_text(LONG)
    process = subprocess.Popen(
        [sys.executable, str(script), str(path), str(marks), where], start_new_session=True
    )
    until = time.monotonic() + 60
    while len(list(marks.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    evaluators = [mark.name for mark in marks.iterdir()]
    try:
        process.kill()
        process.wait()
        with Optimizer(BOX, seed=0, n_init=6, max_evals=60, journal=path) as opt:
            assert len(opt.pending) == 2
        assert where == "pool" or all(map(has_ended, evaluators))
    finally:
        for pid in filter(is_alive, evaluators):
            os.kill(int(pid), signal.SIGKILL)


def evaluated(path: Path) -> int:
    """How many evaluations the journal of a run has; one that has just begun is no journal yet."""
    try:
        return sum(t.state == "done" for t in read(path).trials)
    except (FileNotFoundError, ValueError):
        return 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_in_the_middle_and_taken_up_again(tmp_path: Path, how: signal.Signals) -> None:
    path, script = tmp_path / "run.db", tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    until = time.monotonic() + 60
    while evaluated(path) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(process.pid, how) if how == signal.SIGINT else process.send_signal(how)
    _, error = process.communicate(timeout=30)
    assert process.returncode != 0
    if how == signal.SIGINT:
        assert b"takes this run up again" in error or b"KeyboardInterrupt" in error
    before = read(path).trials
    assert 0 < sum(t.state == "done" for t in before) < 60
    r = run(bowl, 60, workers=2, journal=path)
    assert r.nfev == 60
    done = [t for t in before if t.state == "done"]
    assert all(np.array_equal(t.x, r.trials[t.id].x) for t in before)
    assert [r.trials[t.id].value for t in done] == [t.value for t in done]


# --- parts -----------------------------------------------------------------------------------


def test_one_after_the_other_here() -> None:
    here = Here(bowl)
    here.start(0, np.ones(2))
    here.start(1, np.zeros(2))
    assert here.finished() == {0: Outcome(2.0)}
    assert here.finished() == {1: Outcome(0.0)}


def test_a_process_that_died_while_idle_is_replaced() -> None:
    workers = Processes(bowl, 1)
    try:
        workers.start(0, np.ones(3))
        assert workers.finished() == {0: Outcome(3.0)}
        workers._workers[0].process.kill()
        workers._workers[0].process.join()
        for id in range(3):
            workers.start(id, np.ones(3))
            (outcome,) = workers.finished().values()
            if outcome.value is not None:
                break
        assert outcome == Outcome(3.0)
    finally:
        workers.close()


def test_a_value_that_cannot_be_sent_is_an_error() -> None:
    workers = Processes(lambda x: lambda: x, 1)
    try:
        workers.start(0, np.ones(3))
        assert "cannot be sent back" in str(workers.finished()[0].error)
    finally:
        workers.close()


def test_a_mistake_leaves_no_processes_behind() -> None:
    """Python would wait for them at its end."""
    mistakes: list[dict[str, Any]] = [{"bounds": [(1.0, 0.0)]}, {"x0": [5.0]}, {"max_time": -1.0}]
    for mistake in mistakes:
        with pytest.raises(ValueError, match=next(iter(mistake)).removesuffix("s")):
            minimize(bowl, **{"bounds": [(0.0, 1.0)], "workers": 2, **mistake})
    assert multiprocessing.active_children() == []


def test_bad_arguments() -> None:
    for options in ({"workers": 0}, {"eval_time": -1.0}, {"retries": -1}):
        with pytest.raises(ValueError, match=next(iter(options))):
            run(bowl, **options)


def test_the_size_of_an_executor_is_its_own() -> None:
    with ThreadPoolExecutor(5) as executor:
        assert OnExecutor(bowl, executor, None).capacity == 5
        assert OnExecutor(bowl, executor, 2).capacity == 2


def test_an_optimizer_can_be_used_without_a_journal() -> None:
    with Optimizer(BOX, "random") as opt:
        assert (opt.journal, opt.resumed) == (None, False)
