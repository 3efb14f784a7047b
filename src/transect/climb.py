"""Candidates and what is done with them: look at their values, climb, keep the best.

Between the steps of a search, candidates are a ``Pool`` on the host; a ``Climber`` computes
on the model's device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._array import Array, Host, like, namespace, to_host
from ._clock import late
from ._threads import each_block, spans
from .acquisition import Acquisition
from .ascent import EXACT, ascend
from .view import View, Warped

LOOK = 256  # points evaluated together
PORTION = 2e8  # multiplications between two glances at the clock
SAME = 0.05  # climbs that end closer than this are at one maximum


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates: subspace (k,), as a row of a view, coordinates v (k, d), value (k,)."""

    row: NDArray[np.intp]
    v: Host
    value: Host

    def __getitem__(self, order: NDArray[np.intp]) -> Pool:
        return Pool(self.row[order], self.v[order], self.value[order])

    def join(self, other: Pool) -> Pool:
        """Both, one after the other."""
        return Pool(
            np.concatenate([self.row, other.row]),
            np.concatenate([self.v, other.v]),
            np.concatenate([self.value, other.value]),
        )

    def best(self, count: int, cap: int | None = None) -> Pool:
        """The best ``count``, best first; at most ``cap`` on one subspace."""
        order = np.argsort(-self.value, kind="stable")
        if cap is not None:
            rows = self.row[order]
            by_row = np.argsort(rows, kind="stable")
            first = np.append(True, np.diff(rows[by_row]) > 0)
            place = np.arange(len(rows)) - np.maximum.accumulate(first * np.arange(len(rows)))
            order = order[np.sort(by_row[place < cap])]
        return self[order[:count]]

    def distinct(self, across: bool = False) -> Pool:
        """Without the lower one of any two that met on their climbs; best first.

        ``across``: also of two on different rows, where rows are parts of one space.
        """
        pool = self.best(len(self.row))
        # Pairs on one subspace, the lower one first: few of all pairs.
        alike = np.full((len(pool.row),) * 2, across) | (pool.row[:, None] == pool.row[None, :])
        low, high = np.nonzero(np.tril(alike, k=-1))
        near = np.max(np.abs(pool.v[low] - pool.v[high]), axis=1, initial=0.0) < SAME
        return pool[np.setdiff1d(np.arange(len(pool.row)), low[near])]


class Meter:
    """Counts acquisition evaluations, and says how many a budget still allows."""

    def __init__(self, budget: float = math.inf) -> None:
        self.budget = budget
        self.used = 0

    @property
    def left(self) -> float:
        return max(0, self.budget - self.used)


class Climber:
    """Evaluates an acquisition on the subspaces of a view, as often as its meter allows."""

    def __init__(
        self,
        view: View | Warped,
        acquisition: Acquisition,
        box: tuple[Host, Host],
        meter: Meter,
        deadline: float | None = None,
    ) -> None:
        """``box``: lower and upper ends (d,) of the coordinates v."""
        self.view, self.acquisition = view, acquisition
        self.meter, self.deadline = meter, deadline
        self.lower, self.upper = (like(view.gp.X, end) for end in box)

    def look(self, row: NDArray[np.intp], v: Host) -> Pool:
        """Values at v (k, d) on the subspaces ``row`` (k,).

        At the first ones only, if the meter or the clock does not allow more.
        """
        X = self.view.gp.X
        count = int(min(len(v), self.meter.left))
        row, v = row[:count], v[:count]

        def job(span: tuple[int, int]) -> Host:
            at = slice(*span)
            value = self.view.value(self.acquisition, like(X, v[at]), like(X, row[at], int))
            host: Host = to_host(value)
            return host

        values = [np.empty(0)]
        for start, stop in self._portions(count):
            values += each_block(
                job, [(start + i, start + j) for i, j in spans(stop - start, LOOK)]
            )
            if late(self.deadline):
                break
        value = np.concatenate(values)
        self.meter.used += len(value)
        return Pool(row[: len(value)], v[: len(value)], value)

    def _portions(self, count: int) -> list[tuple[int, int]]:
        """Points between two glances at the clock, as [start, stop)."""
        if self.deadline is None:
            return [(0, count)]
        size = max(8, int(PORTION / self.view.units))
        return [(i, min(i + size, count)) for i in range(0, count, size)]

    def climb(self, pool: Pool, rounds: int, tolerance: float = EXACT) -> Pool:
        """Ascend from every candidate on its own subspace, for so many rounds at most.

        In coordinates in which the model changes as fast in every direction: where length-scales
        differ, that takes fewer rounds. ``tolerance``: see ``ascend``.
        """
        allowed = self.meter.left / max(1, len(pool.row))
        if allowed < 2 or late(self.deadline):  # a first round only looks at where it starts
            return pool
        X = self.view.gp.X
        rows, scale = like(X, pool.row, int), self.view.scale
        objective = self.view.objective(self.acquisition)

        def scaled(V: Array, i: Array) -> tuple[Array, Array]:
            value, grad = objective(V / scale, rows[i])
            return value, grad / scale

        climb = ascend(
            scaled,
            like(X, pool.v) * scale,
            self.lower * scale,
            self.upper * scale,
            rounds=int(min(rounds, allowed)),
            tolerance=tolerance,
            deadline=self.deadline,
        )
        self.meter.used += climb.evaluations
        V = namespace(X).clip(climb.V / scale, self.lower, self.upper)
        return Pool(pool.row, to_host(V), to_host(climb.value))
