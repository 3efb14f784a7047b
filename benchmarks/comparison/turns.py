"""Runs of one process that take turns: while one waits for its likelihood, the others go on.

A change to another run costs 2 µs so, and one of processes ten times that and the caches' content.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from transect._array import Host
from transect.kernels import Kernel

from . import closed_form
from .server import IDLE, Asked, Slots

PATIENCE = 100.0  # seconds after which the server is taken for gone; it compiles at first

Work = Callable[[], int]


def in_turns(works: Sequence[Work], slots: Slots, rows: Sequence[int]) -> list[int | str]:
    """What each work returns, or what it raises, as text: not all errors can leave a process.

    Each has its likelihoods evaluated by the server, in its row of ``slots``; one that asks for
    none goes to its end at once.
    """
    from greenlet import getcurrent, greenlet

    arrays, before = slots.arrays(), Settings.now()
    found: list[int | str] = [0] * len(works)

    def do(i: int) -> None:
        before.restore()
        try:
            found[i] = works[i]()
        except Exception as error:  # it ends this run only
            found[i] = repr(error)

    def wait() -> None:
        own = Settings.now()
        getcurrent().parent.switch()
        own.restore()

    def likelihood(kernel: Kernel, X: Host, y: Host) -> Asked:
        return Asked(arrays, row_of[getcurrent()], wait, kernel, X, y)

    turns = [greenlet(do) for _ in works]
    row_of = dict(zip(turns, rows, strict=True))
    by_itself, closed_form.likelihood_of = closed_form.likelihood_of, likelihood
    try:
        for i, turn in enumerate(turns):
            turn.switch(i)
        _go_round([turn for turn in turns if not turn.dead], row_of, slots)
    finally:
        for turn in turns:
            if not turn.dead:
                turn.throw()  # so that it saves what it has
        before.restore()
        closed_form.likelihood_of = by_itself
    return found


def _go_round(turns: list[Any], row_of: Mapping[Any, int], slots: Slots) -> None:
    """Go on with one whose likelihood is there, until all are at their end."""
    state = slots.arrays()["state"]
    while turns:
        if not slots.answered[slots.hand_of[row_of[turns[0]]]].acquire(timeout=PATIENCE):
            raise RuntimeError("the server of likelihoods does not answer")
        turn = next(turn for turn in turns if state[row_of[turn]] == IDLE)
        turn.switch()
        if turn.dead:
            turns.remove(turn)


class Settings(NamedTuple):
    """What libraries set for their process for a while: each run has its own."""

    filters: Any
    show: Any
    random: Any

    @staticmethod
    def now() -> Settings:
        import torch

        return Settings(warnings.filters, _shown_by(), torch.get_rng_state())

    def restore(self) -> None:
        import torch

        warnings.filters = self.filters
        warnings._showwarnmsg_impl = self.show  # type: ignore[attr-defined]
        torch.set_rng_state(self.random)


def _shown_by() -> Any:
    return warnings._showwarnmsg_impl  # type: ignore[attr-defined]
