"""What a method is, and the two simplest: uniform points, and an evolution strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from transect._array import Host

from .tasks import N_INIT


@dataclass(frozen=True)
class Start:
    """What a method knows before the first value."""

    D: int
    seed: int
    evals: int  # how many there will be, the initial ones included


class Method(Protocol):
    """A minimiser on [-1, 1]^D, first told N_INIT points that it did not ask for.

    What it asks for depends on its seed and on what it was told, so that a run goes on after a
    pause when everything is told again. One that ``replays`` remembers more than that and is
    asked for every point again, too: it must be fast.
    """

    replays: bool

    def tell(self, x: Host, y: float) -> None:
        """The value y at x (D,)."""

    def ask(self) -> Host:
        """The next point (D,)."""


class Random:
    """Uniform points."""

    replays = False

    def __init__(self, start: Start) -> None:
        self.start, self.told = start, 0

    def tell(self, x: Host, y: float) -> None:
        self.told += 1

    def ask(self) -> Host:
        return draws(self.start, self.told).uniform(-1.0, 1.0, self.start.D)


class Centre:
    """A (1+1) evolution strategy with the one-fifth rule, from the best initial point.

    In high dimension that is the middle of the box nearly always, hence its name: what is gained
    by going on from there without a model.
    """

    replays = False
    # The best of 15 settings over 29 tasks, on other seeds: steps of this length in all, shared
    # by the coordinates, and this factor of a success, which four failures take back.
    first_length = 0.5
    rise = 1.2

    def __init__(self, start: Start) -> None:
        self.start, self.told = start, 0
        self.best, self.least = np.zeros(start.D), math.inf
        self.step = self.first_length / math.sqrt(start.D)

    def tell(self, x: Host, y: float) -> None:
        better = y < self.least
        if self.told >= N_INIT:
            self.step *= self.rise if better else self.rise**-0.25
        if better:
            self.best, self.least = x, y
        self.told += 1

    def ask(self) -> Host:
        noise = draws(self.start, self.told).standard_normal(self.start.D)
        return np.clip(self.best + self.step * noise, -1.0, 1.0)


def draws(start: Start, told: int) -> np.random.Generator:
    """The random numbers of the ask after ``told`` evaluations, the same after a pause."""
    return np.random.default_rng([start.seed, told])


def draw_seed(start: Start, told: int) -> int:
    """The same for libraries that take a number of 31 bits."""
    return int(draws(start, told).integers(2**31))
