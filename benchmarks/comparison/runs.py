"""A run and its file, from which it goes on where it stopped.

Points are rounded to single precision before they are evaluated, so the file has exactly those.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transect._array import Host
from transect.problems.data import Numbers, keep

from .method import Method, Start
from .registry import factory
from .tasks import EVERY_TASK, N_INIT, Instance, initial_points, instance

SAVE_EVERY = 20.0  # seconds
SAME = 1e-4  # a replayed point is the stored one up to this: other machines round differently

log = logging.getLogger("comparison")


@dataclass(frozen=True)
class Job:
    """One method on one instance of a task, with so many evaluations."""

    task: str
    method: str
    seed: int
    evals: int

    def path(self, folder: Path) -> Path:
        return folder / self.task / self.method.replace(":", "-") / f"{self.seed:03d}.npz"


@dataclass(eq=False)
class Run:
    """What was evaluated, in order. The initial points took no time."""

    X: list[NDArray[np.float32]]  # n of (D,)
    y: list[float]
    seconds: list[float]  # ask and tell

    def save(self, job: Job, path: Path) -> None:
        arrays: dict[str, NDArray[Any]] = {
            "task": np.array(job.task),
            "method": np.array(job.method),
            "seed": np.array(job.seed),
            "X": np.array(self.X, dtype=np.float32).reshape(-1, EVERY_TASK[job.task].D),
            "y": np.array(self.y, dtype=np.float64),
            "seconds": np.array(self.seconds, dtype=np.float32),
        }
        keep(path, arrays)


def load(path: Path) -> Run:
    """The run in that file; one without any evaluation where there is none."""
    if not path.is_file():
        return Run([], [], [])
    arrays = Numbers.read(path).arrays
    return Run(list(arrays["X"]), arrays["y"].tolist(), arrays["seconds"].tolist())


def length(path: Path) -> int:
    """How many evaluations the file has, without a look at the points."""
    if not path.is_file():
        return 0
    with np.load(path) as arrays:
        return len(arrays["y"])


def carry_on(
    job: Job, folder: Path, stop: Callable[[float], bool], count: Callable[[], Any]
) -> int:
    """Continue a run to its end, or until ``stop``; returns how many evaluations it has.

    ``stop`` is called with the seconds of the last suggestion before the next; ``count`` after
    each evaluation.
    """
    path = job.path(folder)
    run, objective = load(path), instance(job.task, job.seed)
    if len(run.y) < N_INIT:
        run = _begin(job, objective)
    method = _restored(job, run)
    if method is None:
        log.warning("%s: the method asks for other points now, so it begins anew", path)
        run = _begin(job, objective)
        method = _restored(job, run)
        assert method is not None  # nothing was asked for
    saved, last = time.monotonic(), 0.0
    try:
        while len(run.y) < job.evals and not stop(last):
            last = _step(method, run, objective)
            count()
            if time.monotonic() > saved + SAVE_EVERY:
                run.save(job, path)
                saved = time.monotonic()
    finally:
        run.save(job, path)
    return len(run.y)


def _begin(job: Job, objective: Instance) -> Run:
    X = list(initial_points(job.task, job.seed))
    return Run(X, [objective(x.astype(np.float64), i) for i, x in enumerate(X)], [0.0] * N_INIT)


def _step(method: Method, run: Run, objective: Instance) -> float:
    """One evaluation more; returns the seconds it took beside the objective's."""
    start = time.perf_counter()
    x = rounded(method.ask())
    asked = time.perf_counter() - start
    point = x.astype(np.float64)
    y = objective(point, len(run.y))
    if not math.isfinite(y):
        raise ValueError(f"evaluation {len(run.y)} has the value {y}")
    start = time.perf_counter()
    method.tell(point, y)
    seconds = asked + time.perf_counter() - start
    run.X.append(x)
    run.y.append(y)
    run.seconds.append(seconds)
    return seconds


def rounded(x: Host) -> NDArray[np.float32]:
    """In single precision, inside the box."""
    return np.clip(x, -1.0, 1.0).astype(np.float32)


def _restored(job: Job, run: Run) -> Method | None:
    """The method as it was after the run so far; None if it would have asked for other points."""
    method = factory(job.method)(Start(EVERY_TASK[job.task].D, job.seed, job.evals))
    for i, (x, y) in enumerate(zip(run.X, run.y, strict=True)):
        if method.replays and i >= N_INIT and np.max(np.abs(rounded(method.ask()) - x)) > SAME:
            return None
        method.tell(x.astype(np.float64), y)
    return method
