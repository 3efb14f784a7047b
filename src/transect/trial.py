"""One evaluation of the objective, and all of a run in their order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ._array import Host
from .box import Box, is_among
from .strategies import History


@dataclass(frozen=True, eq=False)
class Trial:
    """One evaluation: asked for, then done or failed.

    x is in the user's units, and read-only. info says how the point was found: always
    "source" ("initial", "strategy", "given" for x0, "told" or, where a strategy repeats a
    point, "instead of a duplicate") and "seconds"; of a search also its value, ucb or log_ei,
    beta, subspaces and evaluations, in units of the maximised function (-f when minimising);
    jitter, the noise that had to be added (values have variance 1) for a matrix that can be
    factored; and what the strategy's own docstring names.
    """

    id: int
    x: Host
    info: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None  # None while pending, and when failed
    state: str = "pending"  # "pending", "done" or "failed"
    error: str | None = None  # why it failed

    def ended(self, value: float, error: str | None) -> Trial:
        """The same, done; failed, if there is an ``error``."""
        if error is None:
            return replace(self, value=value, state="done")
        return replace(self, state="failed", error=error)


def made(trials: Iterable[Trial]) -> list[Trial]:
    """Those that were evaluated in the run: not told from elsewhere, and not pending."""
    return [t for t in trials if t.info["source"] != "told" and t.state != "pending"]


class Ledger:
    """The trials of a run: in the order they were asked for, and in the order they were told."""

    def __init__(self, box: Box, sign: float, rows: int) -> None:
        """``sign`` turns values into those to be maximised; ``rows``: trials to expect."""
        self.box, self.sign = box, sign
        self.trials: list[Trial] = []
        self.told: list[int] = []  # ids in the order of the tells
        self.known: list[int] = []  # how many had been told when each was asked for
        self._unit = _Rows(box.D, rows)  # all points in [-1, 1], by id
        self._told_unit = _Rows(box.D, rows)  # the told ones, in that order: never copied

    def __len__(self) -> int:
        return len(self.trials)

    def unit(self, id: int) -> Host:
        """The point (D,) in [-1, 1]."""
        u: Host = self._unit.data[id]
        return u

    def add(self, x: Host, info: Mapping[str, Any], u: Host | None = None) -> Trial:
        """A new trial at x (D,), which is u in [-1, 1]."""
        for array in (x, *info.values()):  # what was evaluated stays what was evaluated
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        trial = Trial(len(self.trials), x, info)
        self._unit.append(self.box.to_unit(x) if u is None else u)
        self.trials.append(trial)
        self.known.append(len(self.told))
        return trial

    def finish(self, id: int, value: float, error: str | None) -> Trial:
        """The trial has ended; see ``Trial.ended``."""
        self.trials[id] = self.trials[id].ended(value, error)
        self.told.append(id)
        self._told_unit.append(self._unit.data[id])
        return self.trials[id]

    def history(self, id: int | None = None) -> History:
        """What is known now; or what was known when trial ``id`` was asked for."""
        asked = len(self.trials) if id is None else id
        told = self.told if id is None else self.told[: self.known[id]]
        finished = set(told)
        flying = [i for i in range(asked) if i not in finished]
        trials = [self.trials[i] for i in told]
        y = np.array([math.nan if t.value is None else self.sign * t.value for t in trials])
        return History(
            self._told_unit.data[: len(told)],
            y,
            self._unit.data[flying],
            [t.info for t in trials],
            [self.trials[i].info for i in flying],
        )

    def pending_at(self, x: Host) -> Trial | None:
        """The trial in flight at exactly this point, told by its point instead of itself."""
        flying = (t for t in self.trials if t.state == "pending" and np.array_equal(t.x, x))
        return next(flying, None)

    def has(self, u: Host, before: int | None = None) -> bool:
        """Whether a trial is at u (D,); ``before``: of those asked for before this one."""
        return is_among(u, self._unit.data[:before])


class _Rows:
    """Rows (k, D) that grow by one at a time, without copying all of them each time."""

    def __init__(self, columns: int, rows: int) -> None:
        """``rows``: how many are expected."""
        self._data = np.empty((rows, columns))
        self._count = 0

    @property
    def data(self) -> Host:
        return self._data[: self._count]

    def append(self, row: Host) -> None:
        if self._count == len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[self._count] = row
        self._count += 1
