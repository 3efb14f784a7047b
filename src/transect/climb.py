"""Candidates and what is done with them: look at their values, climb, keep the best.

Between the steps of a search, candidates are a ``Pool`` on the host; a ``Climber`` computes
on the model's device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._array import Host, like, to_host
from ._threads import each_block, spans
from .acquisition import Acquisition
from .ascent import ascend
from .view import View

LOOK = 256  # points evaluated together
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

    def distinct(self) -> Pool:
        """Without the lower one of any two that met on their climbs; best first."""
        pool = self.best(len(self.row))
        near = np.max(np.abs(pool.v[:, None, :] - pool.v[None, :, :]), axis=2) < SAME  # (k, k)
        same = near & (pool.row[:, None] == pool.row[None, :])
        return pool[np.flatnonzero(~np.any(np.tril(same, k=-1), axis=1))]


class Climber:
    """Evaluates an acquisition on the subspaces of a view, and counts how often."""

    def __init__(
        self,
        view: View,
        acquisition: Acquisition,
        box: tuple[Host, Host],
        deadline: float | None,
    ) -> None:
        """``box``: lower and upper ends (d,) of the coordinates v."""
        self.view, self.acquisition, self.deadline = view, acquisition, deadline
        self.lower, self.upper = (like(view.gp.X, end) for end in box)
        self.evaluations = 0

    def look(self, row: NDArray[np.intp], v: Host) -> Pool:
        """Values at v (k, d) on the subspaces ``row`` (k,)."""
        X = self.view.gp.X

        def job(span: tuple[int, int]) -> Host:
            at = slice(*span)
            value = self.view.value(self.acquisition, like(X, v[at]), like(X, row[at], int))
            host: Host = to_host(value)
            return host

        self.evaluations += len(v)
        return Pool(row, v, np.concatenate(each_block(job, spans(len(v), LOOK))))

    def climb(self, pool: Pool, rounds: int) -> Pool:
        """Ascend from every candidate on its own subspace."""
        X = self.view.gp.X
        rows = like(X, pool.row, int)
        objective = self.view.objective(self.acquisition)
        climb = ascend(
            lambda V, i: objective(V, rows[i]),
            like(X, pool.v),
            self.lower,
            self.upper,
            rounds=rounds,
            deadline=self.deadline,
        )
        self.evaluations += climb.evaluations
        return Pool(pool.row, to_host(climb.V), to_host(climb.value))
