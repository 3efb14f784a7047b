"""Where the objective is evaluated: here, in processes of our own, or on somebody's executor.

All are used alike: ``start`` evaluations, at most ``capacity`` at a time, and take those that
have come to their end from ``finished``. What goes wrong in one of them is its own affair.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import random
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from threading import Thread
from typing import Any, Protocol

import numpy as np

from ._array import Host

Objective = Callable[[Any], Any]
KILLED = ("KilledWorker",)  # Dask's name for what others call a broken executor
POLL = 0.05  # seconds between two looks at futures that cannot be waited for
WATCH = 0.5  # seconds between two looks at whether the run is still there

log = logging.getLogger("transect")


@dataclass(frozen=True)
class Outcome:
    """How an evaluation ended: with a value, an error, or with the worker's end."""

    value: Any = None
    error: str | None = None  # what the objective raised
    lost: str | None = None  # what became of the worker, which says nothing about the point
    late: bool = False


class Evaluator(Protocol):
    """Evaluates points, several at a time."""

    capacity: int

    def start(self, id: int, x: Host) -> None:
        """Begin with the evaluation of x (D,)."""
        ...

    def finished(self) -> Mapping[int, Outcome]:
        """By their ids, evaluations that ended; waits for one, at least."""
        ...

    def close(self) -> None:
        """Stop what is under way."""
        ...


def outcome_of(f: Objective, x: Host) -> Outcome:
    """Evaluate here and now. An interrupt is none of the objective's errors."""
    try:
        return Outcome(f(x))
    except Exception as error:
        return Outcome(error=f"{type(error).__name__}: {error}")


class Here:
    """One after the other, in this very thread."""

    capacity = 1

    def __init__(self, f: Objective) -> None:
        self.f, self._next = f, deque[tuple[int, Host]]()

    def start(self, id: int, x: Host) -> None:
        self._next.append((id, x))

    def finished(self) -> Mapping[int, Outcome]:
        id, x = self._next.popleft()
        return {id: outcome_of(self.f, x)}

    def close(self) -> None:
        self._next.clear()


@dataclass(eq=False)
class _Worker:
    process: Any
    pipe: Connection
    id: int | None = None  # of what it evaluates
    until: float = float("inf")


class Processes:
    """Processes of our own: the end of one costs what it was at, and another takes its place."""

    def __init__(self, f: Objective, count: int, limit: float | None = None) -> None:
        """``limit``: seconds an evaluation may take."""
        self.f, self.capacity, self.limit = f, count, limit
        self._context = multiprocessing.get_context()
        self._forks = self._context.get_start_method() == "fork"
        if not self._forks:
            _must_pickle(f)
        self._workers: list[_Worker] = []  # none before there is something to do

    def _hire(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        # A copy of this process has our ends of all pipes, and would never see them closed.
        inherited = [ours, *(worker.pipe for worker in self._workers)] if self._forks else []
        arguments = (self.f, theirs, inherited)
        # No daemon: the objective may start processes of its own.
        process = self._context.Process(target=_work, args=arguments)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def start(self, id: int, x: Host) -> None:
        worker = next((worker for worker in self._workers if worker.id is None), None)
        if worker is None:
            worker = self._hire()
            self._workers.append(worker)
        try:
            worker.pipe.send(x)
        except OSError:  # it died while it had nothing to do
            worker = self._replaced(worker)
            worker.pipe.send(x)
        worker.id = id
        worker.until = time.monotonic() + self.limit if self.limit else float("inf")

    def finished(self) -> Mapping[int, Outcome]:
        found: dict[int, Outcome] = {}
        while not found:
            busy = [worker for worker in self._workers if worker.id is not None]
            soonest = min(worker.until for worker in busy) - time.monotonic()
            timeout = None if soonest == float("inf") else max(0.0, soonest)
            wait_for([worker.pipe for worker in busy], timeout)
            for worker in busy:
                outcome = self._outcome(worker)
                if outcome is not None and worker.id is not None:
                    found[worker.id] = outcome
                    worker.id = None
                    if outcome.lost or outcome.late:
                        self._replaced(worker)
        return found

    def _replaced(self, worker: _Worker) -> _Worker:
        """Another one in its place."""
        _dismiss(worker)
        self._workers.remove(worker)
        self._workers.append(self._hire())
        return self._workers[-1]

    def _outcome(self, worker: _Worker) -> Outcome | None:
        """None, if it is still at work."""
        if worker.pipe.poll():
            try:
                outcome: Outcome = worker.pipe.recv()
                return outcome
            except (EOFError, OSError):
                worker.process.join(1.0)
                return Outcome(lost=f"its process ended, exit code {worker.process.exitcode}")
        if time.monotonic() >= worker.until:
            return Outcome(error=f"took longer than {self.limit:g} s", late=True)
        return None

    def close(self) -> None:
        for worker in self._workers:
            _dismiss(worker)
        self._workers = []


class OnExecutor:
    """Futures of an executor: of concurrent.futures, Dask, mpi4py or loky.

    ``executor`` may be a function that makes one: then, when it breaks, another is made. It takes
    evaluations in the order in which they are handed in, ``count`` at a time.
    """

    def __init__(
        self, f: Objective, executor: Any, count: int | None, limit: float | None = None
    ) -> None:
        self._make: Callable[[], Any] | None = None
        if isinstance(executor, type) or not hasattr(executor, "submit"):
            if not callable(executor):
                raise TypeError(
                    f"executor must have submit(f, x), or make one that has, got {executor!r:.100}"
                )
            self._make, executor = executor, executor()
            if not hasattr(executor, "submit"):
                raise TypeError(
                    f"executor must make what has submit(f, x), it made {executor!r:.100}"
                )
        if isinstance(executor, ProcessPoolExecutor):
            _must_pickle(f)
        self.f, self.executor, self.limit = f, executor, limit
        self.capacity = count or _size_of(executor)
        self._flying: dict[Any, int] = {}  # futures in their order, and their ids
        self._until: dict[Any, float] = {}  # of those that have a worker
        self._given_up: list[Any] = []  # futures that run on, and keep their workers

    def start(self, id: int, x: Host) -> None:
        try:
            future = self.executor.submit(self.f, x)
        except BrokenExecutor as error:
            if self._make is None:
                raise RuntimeError(
                    "the executor takes no more evaluations, since one of its workers died "
                    f"({error}); executor=function, which makes one, would be called again"
                ) from error
            self._retire()
            self.executor, self._given_up = self._make(), []
            future = self.executor.submit(self.f, x)
        self._flying[future] = id

    def finished(self) -> Mapping[int, Outcome]:
        found: dict[int, Outcome] = {}
        while not found:
            self._start_clocks()
            soonest = min(self._until.values(), default=float("inf")) - time.monotonic()
            timeout = None if soonest == float("inf") else max(0.0, soonest)
            _wait([*self._flying, *self._given_up], timeout)
            for future, id in list(self._flying.items()):
                if future.done():
                    found[id] = _outcome_of_future(future)
                elif time.monotonic() >= self._until.get(future, float("inf")):
                    if not future.cancel():  # an executor cannot be told to stop it
                        self._given_up.append(future)
                    found[id] = Outcome(error=f"took longer than {self.limit:g} s", late=True)
                if id in found:
                    del self._flying[future]
                    self._until.pop(future, None)
        return found

    def _start_clocks(self) -> None:
        """Of evaluations that a worker has come to: those that wait for one take no time."""
        if self.limit is None:
            return
        self._given_up = [future for future in self._given_up if not future.done()]
        free = self.capacity - len(self._given_up)
        if free <= 0:
            log.warning("all workers are at evaluations that were given up; the run waits for one")
        for future in list(self._flying)[: max(0, free)]:
            self._until.setdefault(future, time.monotonic() + self.limit)

    def close(self) -> None:
        for future in self._flying:
            future.cancel()
        self._flying = {}
        if self._make is not None:  # it is ours
            self._retire()

    def _retire(self) -> None:
        if hasattr(self.executor, "shutdown"):
            self.executor.shutdown(wait=False)


def _work(f: Objective, pipe: Connection, inherited: Sequence[Connection]) -> None:
    """What a process of our own does: evaluate what comes, until nothing comes any more."""
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own, with all that the objective starts
        Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    for end in inherited:
        end.close()
    random.seed()  # copies of one process would all draw the same numbers
    np.random.seed()  # noqa: NPY002 - the objective may use it
    try:
        while True:
            outcome = outcome_of(f, pipe.recv())
            try:
                pipe.send(outcome)
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                pipe.send(Outcome(error=f"the value cannot be sent back: {error}"))
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # the run is over


def _end_with(parent: int) -> None:
    """End this process, and what it started, when the run was killed: nobody waits for it."""
    while os.getppid() == parent:
        time.sleep(WATCH)
    os.killpg(0, signal.SIGTERM)  # on which programs are ended that have a group of their own
    time.sleep(1.0)
    os.killpg(0, signal.SIGKILL)


def _dismiss(worker: _Worker) -> None:
    """End a process, and whatever the objective has started there."""
    worker.pipe.close()
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        try:
            os.killpg(worker.process.pid, number)
        except (AttributeError, OSError):  # no groups here, or it has none yet, or is gone
            worker.process.terminate()
        worker.process.join(1.0)
        if worker.process.exitcode is not None:
            return
    worker.process.kill()
    worker.process.join()


def _must_pickle(f: Objective) -> None:
    try:
        pickle.dumps(f)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"the objective cannot be sent to other processes: {error}; define it with def at the "
            "top of a module, or use an executor that can send it (loky, Dask)"
        ) from None


def _size_of(executor: Any) -> int:
    """How many evaluations an executor runs at a time."""
    count = getattr(executor, "_max_workers", None)
    client = getattr(executor, "_client", None)  # Dask's
    if count is None and client is not None:
        count = sum(client.ncores().values())
    if not count:
        raise ValueError("say with workers= how many evaluations the executor can run at a time")
    return int(count)


def _wait(futures: list[Any], timeout: float | None) -> None:
    """Until one of the futures is done, or for so many seconds."""
    try:
        wait(futures, timeout, FIRST_COMPLETED)
    except AttributeError:  # not of the kind that the standard library can wait for
        until = float("inf") if timeout is None else time.monotonic() + timeout
        while time.monotonic() < until and not any(future.done() for future in futures):
            time.sleep(POLL)


def _outcome_of_future(future: Any) -> Outcome:
    try:
        return Outcome(future.result())
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        gone = isinstance(error, BrokenExecutor | CancelledError) or type(error).__name__ in KILLED
        return Outcome(lost=what) if gone else Outcome(error=what)
