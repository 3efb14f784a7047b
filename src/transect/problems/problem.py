"""What a problem is: an objective on a box, with what is known about its least value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from .._array import Host
from .._checks import is_real, numbers_array, whole_number
from ..box import Box

NOISE_STREAM = 3  # keeps the noise apart from other draws of the same seed

Draw: TypeAlias = tuple[int, int]  # a seed and the number of the call: what chance is drawn from


@runtime_checkable
class Batched(Protocol):
    """An objective with chance in it that values many points in little more time than one."""

    def draw(self) -> Draw:
        """What the next value is to be drawn from."""

    def together(self, points: Host, draws: Sequence[Draw]) -> Host:
        """Values (B,) of points (B, D), each as it would be alone, up to rounding."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A function of u (D,) in the units of ``box``, to be minimised.

    ``least`` is its least value, or the best known one, and ``optimum`` (D,) a point where
    that is reached, None where none is known. ``limits`` gives the constraints g (m,) of a
    problem that has some. ``references`` are values that other methods reach which look inside
    the problem, by name, as functions of a seed.

    With ``noise``, a standard deviation, the i-th call adds noise·ε_i, where ε_1, ε_2, … are
    the standard normal draws of ``noise_seed``: the same calls in the same order give the same
    values. A pickled copy goes on where the original stood, so copies that work side by side
    need seeds of their own: ``dataclasses.replace(problem, noise_seed=…)``. (The network task has
    its noise inside: there each copy is made with a seed of its own.)
    """

    name: str
    box: Box
    objective: Callable[[Host], float]
    least: float
    optimum: Host | None = None
    noise: float = 0.0
    noise_seed: int = 0
    limits: Callable[[Host], Host] | None = None
    references: Mapping[str, Callable[[int], float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (is_real(self.noise) and 0.0 <= self.noise < math.inf):
            raise ValueError(f"noise must be a number of at least 0, got {self.noise!r}")
        whole_number("noise_seed", self.noise_seed, 0)

    @property
    def D(self) -> int:
        return self.box.D

    def __call__(self, u: Any) -> float:
        value = self.noiseless(u)
        return value + self.noise * self._draws.standard_normal() if self.noise else value

    def noiseless(self, u: Any) -> float:
        """The value at u (D,) without noise."""
        return self.objective(self._vector(u))

    def constraints(self, u: Any) -> Host:
        """The constraints g (m,) at u (D,): feasible where g ≤ 0. m = 0: there is only the box."""
        point = self._vector(u)
        return np.zeros(0) if self.limits is None else self.limits(point)

    @cached_property
    def _draws(self) -> np.random.Generator:
        return np.random.default_rng([self.noise_seed, NOISE_STREAM])

    def _vector(self, u: Any) -> Host:
        point = numbers_array(u)
        if point.shape != (self.D,):
            raise ValueError(
                f"{self.name} takes a vector of {self.D} numbers, got shape {point.shape}"
            )
        return point
