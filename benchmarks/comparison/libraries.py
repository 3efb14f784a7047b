"""pycma and Optuna, whose optimisers are used whole and with their defaults."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from transect._array import Host

from . import gp_sampler
from .method import Start, draw_seed, draws
from .tasks import N_INIT


class Pycma:
    """CMA-ES from the best initial point, with first steps of ``step`` in a coordinate.

    The other initial points are of no use to it: as uniform points they say nothing about a
    distribution around its start, and injected ones would be evaluated again.
    """

    replays = True

    def __init__(self, start: Start, step: float) -> None:
        self.start, self.step = start, step
        self.best, self.least = np.zeros(start.D), math.inf
        self.strategy: Any = None
        self.asked: list[Host] = []  # of this generation, those without a value first
        self.values: list[float] = []

    def tell(self, x: Host, y: float) -> None:
        if self.strategy is None:
            if y < self.least:
                self.best, self.least = x, y
            return
        self.values.append(y)
        if len(self.values) == len(self.asked):
            self.strategy.tell(self.asked, self.values)
            self.asked, self.values = [], []

    def ask(self) -> Host:
        if self.strategy is None:
            self.strategy = self._begin()
        if not self.asked:
            self.asked = self.strategy.ask()
        return np.asarray(self.asked[len(self.values)], dtype=np.float64)

    def _begin(self) -> Any:
        import cma

        rng = draws(self.start, N_INIT)
        options = {
            "bounds": [-1.0, 1.0],
            "seed": np.nan,  # it would be NumPy's global one
            "randn": lambda *shape: rng.standard_normal(shape),
            "verbose": -9,
        }
        return cma.CMAEvolutionStrategy(self.best, self.step, options)


class Optuna:
    """A sampler of Optuna's, asked for all coordinates at once.

    ``renewed``: there is a new sampler for every ask. One that is not keeps what it learnt at the
    last ask, and lacks it only for the first one after a pause.
    """

    replays = False

    def __init__(self, start: Start, sampler: Callable[[int], Any], renewed: bool) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.start, self.sampler, self.renewed, self.told = start, sampler, renewed, 0
        self.names = [f"x{i}" for i in range(start.D)]
        self.space: dict[str, Any] = {
            name: optuna.distributions.FloatDistribution(-1.0, 1.0) for name in self.names
        }
        self.study = optuna.create_study()
        self.started = False
        self.asked: Any = None

    @staticmethod
    def tpe(start: Start) -> Optuna:
        import optuna

        return Optuna(start, lambda seed: optuna.samplers.TPESampler(seed=seed), renewed=True)

    @staticmethod
    def gp(start: Start) -> Optuna:
        """GPSampler, which starts a fit from the last one's length-scales."""
        import optuna

        return Optuna(start, lambda seed: optuna.samplers.GPSampler(seed=seed), renewed=False)

    def tell(self, x: Host, y: float) -> None:
        import optuna

        if self.asked is None:
            params = dict(zip(self.names, x.tolist(), strict=True))
            trial = optuna.trial.create_trial(params=params, distributions=self.space, value=y)
            self.study.add_trial(trial)
        else:
            self.study.tell(self.asked, y)
            self.asked = None
        self.told += 1

    def ask(self) -> Host:
        if self.renewed or not self.started:
            self.study.sampler = self.sampler(draw_seed(self.start, self.told))
            self.started = True
        with gp_sampler.closed():
            self.asked = self.study.ask(self.space)
        params = self.asked.params  # a copy of all of them at every look
        return np.array([params[name] for name in self.names])
