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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from transect._threads import limit_threads

from .runs import Job, carry_on, length
from .server import Slots, serving
from .tasks import EVERY_TASK, N_INIT
from .turns import in_turns

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Freed memory is kept, up to arrays of 2000 by 2000: to get it again from the system for every
# temporary array took up to half of the time of a likelihood. Where libc is not GNU's, no effect.
MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**30)}
IMPORTED = ["botorch.fit", "botorch.optim", "botorch.acquisition", "comparison.registry"]
LOOK_EVERY = 1.0  # seconds
MOST_NICE = 19  # of processes whose runs have most variables, where they share a device

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
    ``device`` those of BoTorch and TuRBO are all under way from the start, whatever their order,
    and the likelihoods of their fits are evaluated there together.
    """
    os.environ.update(dict.fromkeys(THREADS, "1") | MEMORY)  # for the workers, before they start
    missing = {job: job.evals - max(length(job.path(folder)), N_INIT) for job in jobs}
    todo = [job for job in jobs if missing[job] > 0]
    if not todo:
        return
    context: Any = multiprocessing.get_context("forkserver" if device else "spawn")
    if device:  # what they import is imported once
        context.set_forkserver_preload(IMPORTED)
    stop, count = context.Event(), context.Value("q", 0)
    until = None if limit is None else time.time() + limit
    bar = tqdm(total=sum(missing[job] for job in todo), desc="comparison", unit="evaluation")
    points = max(job.evals for job in todo)
    if device:
        hands = in_hands([EVERY_TASK[job.task].D for job in todo], workers)
    else:
        hands = [[row] for row in range(len(todo))]
    with (
        bar,
        _stopped_by_signals(stop),
        serving(context, hands, points, device) if device else nullcontext() as slots,
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=_begin, initargs=(stop, count, until, slots)
        ) as executor,
    ):
        pending = {
            executor.submit(
                _work, [todo[row] for row in hand], folder, hand, MOST_NICE * i // len(hands)
            ): [todo[row] for row in hand]
            for i, hand in enumerate(hands)
        }
        done = 0
        for each in _followed(pending, stop):
            done += each
            bar.set_postfix_str(f"{done} of {len(todo)} runs", refresh=False)
            bar.update(count.value - bar.n)
    if done < len(todo):
        log.warning("%d of %d runs done; a later call does the rest", done, len(todo))


def _followed(pending: dict[Future[list[int | str]], list[Job]], stop: Any) -> Iterator[int]:
    """Once in a while, how many more runs have come to their end."""
    while pending:
        finished, _ = wait(pending, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
        if stop.is_set():
            for future in pending:
                future.cancel()
        yield sum(_whole(pending.pop(future), future) for future in finished)


def in_hands(sizes: Sequence[int], count: int) -> list[list[int]]:
    """Which go to each of ``count`` processes at most, those of about one size together.

    While one of a process looks for the maximum of an acquisition, which takes long with many
    variables, the others of it wait. Those with few go first: their fits take most likelihoods.
    """
    order = np.argsort(sizes, kind="stable")
    return [hand.tolist() for hand in np.array_split(order, count) if len(hand)]


def _whole(jobs: Sequence[Job], future: Future[list[int | str]]) -> int:
    """How many runs came to their end. A method that fails stops its own run only."""
    if future.cancelled():
        return 0
    error, whole = future.exception(), 0
    results = [repr(error)] * len(jobs) if error else future.result()
    for job, found in zip(jobs, results, strict=True):
        if isinstance(found, str):
            log.warning("%s, %s, seed %d: %s", job.task, job.method, job.seed, found)
        else:
            whole += found >= job.evals
    return whole


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
    _shared.update(stop=stop, count=count, until=until, slots=slots)


def _work(jobs: Sequence[Job], folder: Path, rows: Sequence[int], nice: int) -> list[int | str]:
    """Evaluations that the runs have then, or why they failed."""
    works = [partial(_one, job, folder) for job in jobs]
    if _shared["slots"]:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        return in_turns(works, _shared["slots"], rows)
    return [work() for work in works]


def _one(job: Job, folder: Path) -> int:
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
