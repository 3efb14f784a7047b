"""What methods are compared on: 31 tasks from 20 to 5001 dimensions, 60 unseen ones, and more.

The 31: five functions in five sizes, each pair in one of four variants: axis-aligned or rotated,
with the optimum moved from its usual place by up to 0.5 or 0.8 of half a box width. Two functions
of few variables among 500, and four problems from practice. The unseen ones are twenty functions
in three sizes, on which nothing was tuned. Those of the ablation are of the kinds of the 31, in
other instances. Where an instance is drawn at random, the seed of the run draws it.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle
from typing import Any

import numpy as np

from transect._array import Host
from transect.problems import Problem, make
from transect.problems.problem import Batched

from .practice import PRACTICE, noisy, practice, punished
from .unseen import UNSEEN, Maker

N_INIT = 20
FUNCTIONS = ("ackley", "levy", "hyper-ellipsoid", "rosenbrock", "rastrigin")
SIZES = (20, 50, 100, 200, 500)
UNSEEN_SIZES = (10, 30, 150)
PRACTICE_SIZES = (100, 30)  # by turns
NOISE_STREAM = 6  # keeps noise apart from the draws that make an instance
APART = 5000  # seeds of instances that only the ablation has
FAR = 0.8  # half box widths that optima are moved by there, at most
HELD = 3  # instances a process keeps: runs of one task often follow each other

Seeding = Callable[[int], Mapping[str, Any]]  # the options of an instance that its seed decides


@dataclass(frozen=True)
class Task:
    """A problem by name, or what makes one of a seed. ``seeding`` is None where all are one."""

    name: str
    problem: str | Maker
    D: int
    options: Mapping[str, Any] = field(default_factory=dict)
    seeding: Seeding | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether instances differ."""
        return self.seeding is not None or not isinstance(self.problem, str)

    def build(self, seed: int) -> Problem:
        if not isinstance(self.problem, str):
            return self.problem(self.D, seed)
        seeded = self.seeding(seed) if self.seeding else {}
        return make(self.problem, self.D, **self.options, **seeded)


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem with a seed, on [-1, 1]^D."""

    problem: Problem
    seed: int

    def __call__(self, u: Host, i: int) -> float:
        """The value at u (D,) as the i-th evaluation, whatever was evaluated before.

        So a run that goes on later gets the values it would have got: noise is drawn from i, and
        a copy of the objective leaves no trace of this call in what the next one starts from.
        """
        objective: Any = self.problem.objective
        if isinstance(objective, Batched):
            x = self.problem.box.from_unit(u)
            return float(objective.together(x[None, :], [(self.seed, i)])[0])
        value = self.noiseless(u)
        if not self.problem.noise:
            return value
        noise = np.random.default_rng([self.seed, i, NOISE_STREAM]).standard_normal()
        return value + self.problem.noise * noise

    def noiseless(self, u: Host) -> float:
        """The value at u (D,) without the noise that is added to it."""
        return float(copy.copy(self.problem.objective)(self.problem.box.from_unit(u)))


def _synthetic() -> list[Task]:
    """The 25 pairs; along every row and column the four variants take turns."""
    tasks = []
    for i, name in enumerate(FUNCTIONS):
        for j, D in enumerate(SIZES):
            variant = (i + j) % 4
            shift, rotated = (0.8 if variant >= 2 else 0.5), variant % 2 == 1
            title = f"{name}-{D}-{'rotated' if rotated else 'aligned'}-{shift}"
            seeding = _rotation_and_shift if rotated else _shift
            tasks.append(Task(title, name, D, {"shift": shift}, seeding))
    return tasks


def _shift(seed: int) -> Mapping[str, Any]:
    return {"shift_seed": seed}


def _rotation_and_shift(seed: int) -> Mapping[str, Any]:
    return {"shift_seed": seed, "rotation_seed": seed}


def _hidden(seed: int) -> Mapping[str, Any]:
    return {"shift_seed": seed, "active_seed": seed}


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        *_synthetic(),
        Task("hartmann6-in-500", "hartmann6", 500, {"active": "random"}, _hidden),
        Task("branin-in-500", "branin", 500, {"active": "random"}, _hidden),
        Task("rover-60", "rover", 60),
        Task("mopta08-124", "mopta08", 124),
        Task("network-100", "network", 100, {"data": "digits"}),
        Task("ramp-5001", "ramp", 5001, {"data": "gisette-like"}),
    )
}


UNSEEN_TASKS: Mapping[str, Task] = {
    f"{name}-{D}": Task(f"{name}-{D}", maker, D)
    for D in UNSEEN_SIZES
    for name, maker in UNSEEN.items()
}


def _of_ablation(seed: int) -> Mapping[str, Any]:
    """Every other one is rotated; none is an instance of the 31."""
    other = APART + seed
    return {"shift_seed": other, "rotation_seed": other if seed % 2 else None}


def _hidden_of_ablation(seed: int) -> Mapping[str, Any]:
    return _hidden(APART + seed)


def _apart(name: str) -> Maker:
    return lambda D, seed: make(name, D, shift=FAR, **_of_ablation(seed))


def _ablation() -> list[Task]:
    sizes = {
        "ackley": (20, 100, 500),
        "levy": (20, 50, 200),
        "hyper-ellipsoid": (50, 200, 1000),
        "rosenbrock": (20, 100, 500),
        "rastrigin": (20, 50, 200),
        "styblinski-tang": (50, 100),
    }
    return [
        *(
            Task(f"{name}-{D}", name, D, {"shift": FAR}, _of_ablation)
            for name, each in sizes.items()
            for D in each
        ),
        Task("hartmann6-in-100", "hartmann6", 100, {"active": "random"}, _hidden_of_ablation),
        Task("branin-in-200", "branin", 200, {"active": "random"}, _hidden_of_ablation),
        Task("noisy-levy-50", noisy(_apart("levy")), 50),
        Task("noisy-hyper-ellipsoid-100", noisy(_apart("hyper-ellipsoid")), 100),
        Task("punished-levy-50", punished(_apart("levy")), 50),
        *(
            Task(f"{name}-{D}", practice(name), D)
            for name, D in zip(PRACTICE, cycle(PRACTICE_SIZES), strict=False)
        ),
    ]


ABLATION_TASKS: Mapping[str, Task] = {task.name: task for task in _ablation()}
EVERY_TASK: Mapping[str, Task] = {**TASKS, **UNSEEN_TASKS, **ABLATION_TASKS}


def instance(name: str, seed: int) -> Instance:
    """The task's instance of that seed."""
    return Instance(_build(name, seed if EVERY_TASK[name].is_drawn else 0), seed)


@lru_cache(HELD)
def _build(name: str, seed: int) -> Problem:
    return EVERY_TASK[name].build(seed)


def initial_points(name: str, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """What every method is told first: (N_INIT, D), the middle of the box and uniform points."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    X = rng.uniform(-1.0, 1.0, (N_INIT, EVERY_TASK[name].D))
    X[0] = 0.0
    return X.astype(np.float32)
