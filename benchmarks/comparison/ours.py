"""Strategies of this library, through its Optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from transect import GPUCB, MSUCB, Optimizer
from transect._array import Host
from transect._threads import limit_threads
from transect.strategies import Strategy, resolve
from transect.trial import Trial

from .method import Start
from .tasks import N_INIT

PREFIX = "transect:"

# Others are taken by the library's own names for them.
STRATEGIES: Mapping[str, Callable[[], Strategy]] = {
    "gp-ucb": lambda: GPUCB(beta="practical"),
    "gp-ucb-log-ei": lambda: GPUCB(acquisition="log-ei"),
    "ms-ucb-1-1": lambda: MSUCB(n0=1, alpha=1),
}


def named(name: str) -> Strategy:
    """A strategy by the comparison's name for it, or the library's."""
    return STRATEGIES[name]() if name in STRATEGIES else resolve(name)


class Ours:
    """A strategy. Its model starts from the last one's, so a run that goes on is replayed."""

    replays = True

    def __init__(self, start: Start, strategy: Strategy) -> None:
        limit_threads(1)
        box = np.tile([-1.0, 1.0], (start.D, 1))
        own = max(1, start.evals - N_INIT)  # what was told is not counted as the run's own
        self.optimizer = Optimizer(box, strategy, seed=start.seed, n_init=N_INIT, max_evals=own)
        self.asked: Trial | None = None

    def tell(self, x: Host, y: float) -> None:
        self.optimizer.tell(x if self.asked is None else self.asked, y)
        self.asked = None

    def ask(self) -> Host:
        self.asked = self.optimizer.ask()
        return self.asked.x
