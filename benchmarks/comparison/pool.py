"""Many runs at once, on processes of one thread each. What stops them loses nothing."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from tqdm import tqdm

from transect._threads import limit_threads

from .runs import Job, carry_on, length
from .server import Slots, serving, take_part
from .tasks import EVERY_TASK, N_INIT

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Freed memory is kept, up to arrays of 2000 by 2000: to get it again from the system for every
# temporary array took up to half of the time of a likelihood. Where libc is not GNU's, no effect.
MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**30)}
IMPORTED = ["botorch.fit", "botorch.optim", "botorch.acquisition", "comparison.registry"]
LOOK_EVERY = 1.0  # seconds

log = logging.getLogger("comparison")


def in_order(
    tasks: Sequence[str], methods: Sequence[str], seeds: Sequence[int], evals: int
) -> list[Job]:
    """Seed by seed, so that a part of the whole is the same part of everything.

    Within a seed the large tasks come first, so that the last ones to end are short.
    """
    large_first = sorted(tasks, key=lambda name: -EVERY_TASK[name].D)
    return [
        Job(task, method, seed, evals)
        for seed in seeds
        for method in methods
        for task in large_first
    ]


def run_all(
    jobs: Sequence[Job],
    folder: Path,
    workers: int,
    limit: float | None = None,
    device: str | None = None,
) -> None:
    """Carry on with the runs that are not at their end, for ``limit`` seconds at most.

    An interrupt or a SIGTERM stops all of them after the suggestions they are at. With a
    ``device`` the likelihoods of BoTorch's and TuRBO's fits are evaluated there, those of all
    workers together: then there may be several workers a core, as most of them wait.
    """
    os.environ.update(dict.fromkeys(THREADS, "1") | MEMORY)  # for the workers, before they start
    missing = {job: job.evals - max(length(job.path(folder)), N_INIT) for job in jobs}
    todo = [job for job in jobs if missing[job] > 0]
    context: Any = multiprocessing.get_context("forkserver" if device else "spawn")
    if device:  # many workers: what they import is imported once
        context.set_forkserver_preload(IMPORTED)
    stop, count = context.Event(), context.Value("q", 0)
    until = None if limit is None else time.time() + limit
    bar = tqdm(total=sum(missing[job] for job in todo), desc="comparison", unit="evaluation")
    points = max((job.evals for job in todo), default=N_INIT)
    with (
        bar,
        _stopped_by_signals(stop),
        serving(context, workers, points, device) if device else nullcontext() as slots,
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=_begin, initargs=(stop, count, until, slots)
        ) as executor,
    ):
        pending = {executor.submit(_work, job, folder): job for job in todo}
        done = 0
        while pending:
            finished, _ = wait(pending, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
            if stop.is_set():
                for future in pending:
                    future.cancel()
            done += sum(_is_whole(future, pending.pop(future)) for future in finished)
            bar.set_postfix_str(f"{done} of {len(todo)} runs", refresh=False)
            bar.update(count.value - bar.n)
    if done < len(todo):
        log.warning("%d of %d runs done; a later call does the rest", done, len(todo))


def _is_whole(future: Future[int], job: Job) -> bool:
    """Whether the run came to its end. A method that fails stops its own run only."""
    if future.cancelled():
        return False
    error = future.exception()
    if error is not None:
        log.warning("%s, %s, seed %d: %r", job.task, job.method, job.seed, error)
        return False
    return future.result() >= job.evals


@contextmanager
def _stopped_by_signals(stop: Any) -> Iterator[None]:
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- in the workers -----------------------------------------------------------------------

_shared: dict[str, Any] = {}  # what a worker has from its start; it cannot travel with a job


def _begin(stop: Any, count: Any, until: float | None, slots: Slots | None) -> None:
    # A terminal's interrupt reaches workers, too: they are told by ``stop`` instead.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.filterwarnings("ignore")  # the libraries', about data that they did not choose
    limit_threads(1)
    _shared.update(stop=stop, count=count, until=until)
    if slots:
        take_part(slots)


def _work(job: Job, folder: Path) -> int:
    if _late(0.0):
        return length(job.path(folder))
    return carry_on(job, folder, _late, _add_one)


def _late(seconds: float) -> bool:
    """Whether to stop, for a signal or because so many seconds more would be too late."""
    until = _shared["until"]
    return bool(_shared["stop"].is_set()) or (until is not None and time.time() + seconds > until)


def _add_one() -> None:
    with _shared["count"].get_lock():
        _shared["count"].value += 1
