"""The best values of many runs at a few checkpoints, small enough to be committed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transect.plots import best_so_far
from transect.problems.data import Numbers, keep

from .registry import UNTIMED
from .tasks import EVERY_TASK, N_INIT

CHECKPOINTS = (20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 175, 200, 250, 300, 350, 400)
TIMED = slice(180, 220)  # the evaluations whose seconds count; a mean, as work comes in bursts
ENOUGH = 10  # of them

Single = NDArray[np.float32]


class Key(NamedTuple):
    """Which run."""

    task: str
    method: str
    seed: int


@dataclass(frozen=True, eq=False)
class Summary:
    """Single precision throughout: what differs less is a tie."""

    keys: tuple[Key, ...]
    best: Single  # (runs, checkpoints), nan where a run is shorter
    seconds: Single  # (runs,), a suggestion, mean of ``TIMED``; nan where a run is shorter

    @property
    def tasks(self) -> list[str]:
        there = {key.task for key in self.keys}
        return [name for name in EVERY_TASK if name in there]

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(key.method for key in self.keys))

    def only(self, tasks: Iterable[str], methods: Iterable[str]) -> Summary:
        """These tasks and methods, in the order of the methods."""
        order = {name: place for place, name in enumerate(methods)}
        wanted = set(tasks)
        rows = [i for i, k in enumerate(self.keys) if k.task in wanted and k.method in order]
        rows.sort(key=lambda i: order[self.keys[i].method])
        return Summary(tuple(self.keys[i] for i in rows), self.best[rows], self.seconds[rows])

    def and_more(self, later: Summary) -> Summary:
        """The runs of both; of one that both have, what came further, or else the later."""
        keys = (*self.keys, *later.keys)
        best = np.concatenate([self.best, later.best])
        reached = np.count_nonzero(~np.isnan(best), axis=1)  # checkpoints
        chosen: dict[Key, int] = {}
        for i, key in enumerate(keys):
            if key not in chosen or reached[i] >= reached[chosen[key]]:
                chosen[key] = i
        rows = list(chosen.values())
        seconds = np.concatenate([self.seconds, later.seconds])
        return Summary(tuple(keys[i] for i in rows), best[rows], seconds[rows])

    def has(self, key: Key, evals: int) -> bool:
        """Whether that run came so far; not known between two checkpoints."""
        return evals in CHECKPOINTS and key.seed in self.at(key.task, key.method, evals)

    def at(self, task: str, method: str, evals: int) -> dict[int, float]:
        """The best values after so many evaluations, one of the checkpoints, by seed."""
        column = self.best[:, CHECKPOINTS.index(evals)]
        rows = self._rows.get((task, method), {})
        return {s: float(column[i]) for s, i in rows.items() if not np.isnan(column[i])}

    def curve(self, key: Key) -> Single:
        """(checkpoints,)."""
        curve: Single = self.best[self._rows[key.task, key.method][key.seed]]
        return curve

    @cached_property
    def _rows(self) -> Mapping[tuple[str, str], dict[int, int]]:
        rows: dict[tuple[str, str], dict[int, int]] = {}
        for i, key in enumerate(self.keys):
            rows.setdefault((key.task, key.method), {})[key.seed] = i
        return rows

    def save(self, path: Path) -> None:
        names = np.array([(key.task, key.method) for key in self.keys], dtype=np.str_)
        seeds = np.array([key.seed for key in self.keys], dtype=np.int32)
        keep(
            path,
            {"names": names, "seeds": seeds, "checkpoints": np.array(CHECKPOINTS),
             "best": self.best, "seconds": self.seconds},
        )  # fmt: skip

    @staticmethod
    def load(path: Path) -> Summary:
        numbers = Numbers.read(path)
        if numbers.integers("checkpoints", None).tolist() != list(CHECKPOINTS):
            raise ValueError(f"{path} has other checkpoints than {CHECKPOINTS}")
        names, seeds = numbers.take("names").tolist(), numbers.integers("seeds", None).tolist()
        keys = [Key(t, m, s) for (t, m), s in zip(names, seeds, strict=True)]
        return Summary(tuple(keys), numbers.take("best"), numbers.take("seconds"))

    @staticmethod
    def empty() -> Summary:
        checkpoints = len(CHECKPOINTS)
        return Summary((), np.empty((0, checkpoints), np.float32), np.empty(0, np.float32))

    @staticmethod
    def of_runs(folder: Path) -> Summary:
        """All runs in that folder, as far as they have come."""
        keys, best, seconds = [], [], []
        for path in sorted(folder.glob("*/*/*.npz")):
            with np.load(path) as run:  # without X, which is nearly all of it
                key = Key(str(run["task"]), str(run["method"]), int(run["seed"]))
                if key.task not in EVERY_TASK or len(run["y"]) <= N_INIT:
                    continue
                keys.append(key)
                best.append(at_checkpoints(run["y"]))
                times = run["seconds"][TIMED]
                enough = len(times) >= ENOUGH and key.method not in UNTIMED
                seconds.append(statistics.fmean(times.tolist()) if enough else np.nan)
        table = np.array(best, dtype=np.float32).reshape(-1, len(CHECKPOINTS))
        return Summary(tuple(keys), table, np.array(seconds, dtype=np.float32))


def at_checkpoints(y: NDArray[np.float64]) -> NDArray[np.float64]:
    best = best_so_far(y)
    return np.array([best[n - 1] if n <= len(best) else np.nan for n in CHECKPOINTS])
