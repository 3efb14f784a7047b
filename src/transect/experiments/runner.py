"""Doing tasks: on processes of this machine or on a Dask cluster, and keeping what comes out.

Workers only compute. This process alone writes results, each as soon as it is there, so an
interrupted run loses what was in flight and nothing else, and the next call goes on.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeAlias

from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from .. import __version__
from .._checks import whole_number
from .._threads import limit_threads
from .store import Store
from .task import Result, Task, run
from .together import Evaluator, Question, ask

TRIES = 3  # a task whose worker dies is tried again, in case it was not the task's doing

log = logging.getLogger("transect")


@dataclass(frozen=True)
class Failed:
    """Instead of a result: why there is none."""

    why: str


Work: TypeAlias = Callable[..., Result]  # of a task
Event: TypeAlias = tuple[Task, Result | Failed | None] | int  # None: started; values given


def run_all(
    tasks: Iterable[Task],
    store: Store,
    workers: int = 1,
    dask: str | None = None,
    device: str | None = None,
    progress: bool = True,
    work: Work = run,
) -> dict[str, str]:
    """Do the tasks that have no result yet; returns those that failed, and why, by their keys.

    workers: processes of this machine; with ``dask``, the address of a scheduler, the
    cluster's workers are used instead. With ``device``, a torch device, this process
    computes there what can be valued many at a time. work: what does a task, a function that
    other processes can import.
    """
    whole_number("workers", workers, 1)
    if dask and device:
        raise ValueError("either a Dask cluster or a device, not both")
    todo = _in_order(store.missing(tasks))
    evaluator = Evaluator(device, store.folder) if device else None
    events = (
        _on_cluster(todo, dask, work) if dask else _on_processes(todo, workers, work, evaluator)
    )
    failed: dict[str, str] = {}
    done = values = 0
    with logging_redirect_tqdm(), _bar(len(todo), progress) as bar, closing(events):
        running: dict[str, None] = {}  # in the order of their starts
        try:
            for event in events:
                if isinstance(event, int):
                    values += event
                    _show(bar, f"{values} evaluations of {len(running)} runs")
                    continue
                task, answer = event
                if answer is None:
                    running[task.key] = None
                    _show(bar, _briefly(running))
                    continue
                running.pop(task.key, None)
                if isinstance(answer, Failed):
                    failed[task.key] = answer.why
                    log.warning("%s failed: %s", task.key, answer.why)
                else:
                    store.save(task, answer)
                    if evaluator:
                        evaluator.forget(task.key)
                    done += 1
                bar.update()
        except BaseException:
            log.warning("stopped: %d of %d runs done; a later call does the rest", done, len(todo))
            raise
    return failed


def _in_order(tasks: Iterable[Task]) -> list[Task]:
    """Seed by seed, so that half of a run is half of the repeats of everything.

    Within a seed long tasks come first, so that the last ones to end are short.
    """
    return sorted(tasks, key=lambda t: (t.seed, t.suggest_evals is not None, -t.problem.D))


def _answer(work: Work, task: Task, version: str = __version__) -> Result | Failed:
    """What a worker does with a task. Workers share the cores, so each has one thread."""
    if version != __version__:
        return Failed(f"the worker has transect {__version__}, this is {version}")
    limit_threads(1)
    try:
        return work(task)
    except Exception as error:  # as text: not every exception survives the way back
        return Failed(f"{type(error).__name__}: {error}")


# --- processes of this machine ----------------------------------------------------------


class _Worker:
    """A process that does one task at a time, and the pipe to it.

    A pool of the standard library breaks as a whole when one of its processes dies, and
    does not say which task that was. With a pipe each, a death is known to be one task's.
    """

    def __init__(self, work: Work, asks: bool) -> None:
        # A new interpreter, no fork: a copy of our threads' locks could be one that is held.
        spawn = multiprocessing.get_context("spawn")
        self.pipe, end = spawn.Pipe()
        self.process: SpawnProcess = spawn.Process(
            target=_serve, args=(end, work, asks), daemon=True
        )
        with _interrupts_held():
            self.process.start()
        end.close()  # the worker's alone now, so that its death closes it

    def send(self, message: Any) -> None:
        """Also to a dead one: that is noticed when its answer is waited for."""
        with suppress(OSError):
            self.pipe.send(message)

    def stop(self) -> None:
        self.pipe.close()
        self.process.kill()  # it holds nothing that would be missed
        self.process.join()


def _serve(pipe: Connection, work: Work, asks: bool) -> None:
    """A worker's life: take a task, send its answer, until the other end is closed.

    asks: it does not value points itself, but asks the other end to.
    """
    with suppress(EOFError, OSError):  # half a message is an OSError
        while True:
            task = pipe.recv()
            each = partial(work, evaluate=partial(ask, pipe, task)) if asks else work
            pipe.send(_answer(each, task))


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until the block is over; processes started in it never see one.

    A terminal sends it to workers, too, who would each print where they were.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # The first process of a program starts multiprocessing's tracker, too, which would let
    # interrupts through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _on_processes(
    tasks: list[Task], count: int, work: Work, evaluator: Evaluator | None
) -> Generator[Event, None, None]:
    """As many workers as there are tasks for, ``count`` at most; dead ones are replaced.

    With an evaluator they ask for values, and get them when all of them wait.
    """
    waiting, deaths = deque(tasks), Counter[str]()
    idle: list[_Worker] = []
    busy: dict[_Worker, Task] = {}
    asked: dict[_Worker, Question] = {}  # of the busy ones
    try:
        while waiting or busy:
            while waiting and len(busy) < count:
                worker = idle.pop() if idle else _Worker(work, asks=evaluator is not None)
                busy[worker] = task = waiting.popleft()
                worker.send(task)
                yield task, None
            if evaluator and len(asked) == len(busy):
                values = evaluator.answer(list(asked.values()))
                for worker, value in zip(asked, values, strict=True):
                    worker.send(value)
                yield len(asked)
                asked.clear()
            ready = wait([worker.pipe for worker in busy if worker not in asked])
            for worker in [worker for worker in busy if worker.pipe in ready]:
                try:
                    answer = worker.pipe.recv()
                    if isinstance(answer, Question):
                        asked[worker] = answer
                        continue
                    task = busy.pop(worker)
                    idle.append(worker)
                except (EOFError, OSError):
                    worker.stop()
                    task = busy.pop(worker)
                    deaths[task.key] += 1
                    if deaths[task.key] < TRIES:
                        waiting.appendleft(task)
                        continue
                    code = worker.process.exitcode
                    answer = Failed(f"its process died {TRIES} times, at last with code {code}")
                yield task, answer
    finally:
        for worker in [*idle, *busy]:
            worker.stop()


# --- a Dask cluster -----------------------------------------------------------------------


def _on_cluster(tasks: list[Task], address: str, work: Work) -> Generator[Event, None, None]:
    """Every task is a future of its own. Dask gives the tasks of dead workers to others."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ImportError(
            "a Dask cluster needs distributed, which the extra 'dask' of transect brings"
        ) from None
    with Client(address) as client:
        answer = partial(_answer, work, version=__version__)
        futures = client.map(answer, tasks, pure=False)
        task_of = dict(zip(futures, tasks, strict=True))
        del futures  # the cluster keeps a result as long as we hold its future
        for future in as_completed(task_of):
            task = task_of.pop(future)
            if future.status == "cancelled":
                raise ConnectionError(f"the Dask cluster at {address} is gone")
            error = future.exception()
            yield task, Failed(f"{type(error).__name__}: {error}") if error else future.result()


def _bar(total: int, progress: bool) -> Any:
    """A bar; where there is no terminal, for a log, it is written once a minute only."""
    return tqdm(
        total=total,
        desc="transect",
        unit="run",
        smoothing=0,  # the rate over the whole run: long tasks and short ones take turns
        disable=not progress,
        mininterval=0.1 if sys.stderr.isatty() else 60.0,
        miniters=0,
    )


def _show(bar: Any, text: str) -> None:
    bar.set_postfix_str(text, refresh=False)
    bar.update(0)  # shows it if the last time was long enough ago


def _briefly(running: Iterable[str]) -> str:
    first, *others = running
    return f"{first} and {len(others)} more" if others else first
