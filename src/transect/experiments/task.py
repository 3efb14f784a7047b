"""One run of an experiment: a strategy on a problem with a seed, and what came out.

A reference stands beside the strategies: what a method reaches that looks inside the problem.

A task says all there is to know, so it can be done by any process on any machine, and its
result can be told from every other by ``task.key``. Figures that need the same run share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .._array import Host
from ..optimizer import Optimizer
from ..problems import Problem, make
from ..strategies import Strategy

N_INIT = 20
MOST_EVALS = 3000  # of the acquisition, however large D is

Evaluate: TypeAlias = Callable[[Problem, Host], float]


def suggest_evals(D: int) -> int:
    """Acquisition evaluations a suggestion, the same for all strategies that are compared.

    The paper has 10·D starts of an unknown length in all: three evaluations each, at least 1000
    and at most 3000.
    """
    return min(max(1000, 30 * D), MOST_EVALS)


@dataclass(frozen=True)
class ProblemSpec:
    """A problem by name and size; what is seeded in it takes the seed of the run."""

    name: str
    D: int
    shifted: bool = False
    active: str | None = None  # embedded problems: "first", "last" or "random"
    data: str | None = None  # learning tasks: the data set
    C: float | None = None  # ramp: the weight of the losses
    B: float | None = None  # ramp: half the width of the box

    @property
    def label(self) -> str:
        settings = [f"{name}{value:g}" for name, value in (("C", self.C), ("B", self.B)) if value]
        where = [part for part in (self.data, self.active) if part]
        shifted = ["shifted"] if self.shifted else []
        return "-".join([self.name, *where, str(self.D), *settings, *shifted])

    def build(self, seed: int, device: Any = None) -> Problem:
        """The problem; ``device`` is for one whose values can be computed on a GPU."""
        given = {"active": self.active, "data": self.data, "C": self.C, "B": self.B}
        options: dict[str, Any] = {name: value for name, value in given.items() if value}
        if self.shifted:
            options["shift_seed"] = seed
        if self.active == "random":
            options["active_seed"] = seed
        if self.name == "network":
            options |= {"noise_seed": seed, "device": device}
        return make(self.name, self.D, **options)


@dataclass(frozen=True)
class Task:
    """One strategy, labelled, on one problem with one seed; or a reference of the problem's."""

    label: str  # of the strategy, or the reference's name; letters, digits and dashes
    strategy: Strategy | None  # None: the reference
    problem: ProblemSpec
    seed: int
    evals: int = 200  # of the objective, the initial points included
    suggest_evals: int | None = None  # of the acquisition, a suggestion; None: no limit

    @property
    def key(self) -> str:
        """Names the result: problem/strategy/seed."""
        return f"{self.problem.label}/{self.label}/{self.seed:03d}"


@dataclass(frozen=True, eq=False)
class Result:
    """All values of a run, in order, and what every suggestion took."""

    key: str
    values: Host  # (evals,)
    least: float  # the problem's least value, for the regret
    evaluations: Host  # (suggestions,) of the acquisition
    seconds: Host  # (suggestions,)


def run(task: Task, evaluate: Evaluate = Problem.__call__) -> Result:
    """Do the task. The same task gives the same values; ``evaluate`` may get them elsewhere."""
    problem = task.problem.build(task.seed)
    if task.strategy is None:
        value = problem.references[task.label](task.seed)
        none = np.zeros(0)
        return Result(task.key, np.array([value]), problem.least, none.astype(np.int64), none)
    opt = Optimizer(
        problem.box,
        task.strategy,
        seed=task.seed,
        n_init=N_INIT,
        max_evals=task.evals,
        suggest_evals=task.suggest_evals,
    )
    for _ in range(task.evals):
        trial = opt.ask()
        opt.tell(trial, evaluate(problem, trial.x))
    values = np.array([math.nan if t.value is None else t.value for t in opt.trials])
    suggested = [t.info for t in opt.trials if t.info["source"] != "initial"]
    return Result(
        task.key,
        values,
        problem.least,
        np.array([info.get("evaluations", 0) for info in suggested], dtype=np.int64),
        np.array([info["seconds"] for info in suggested]),
    )
