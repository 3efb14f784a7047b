"""One run of an experiment: a strategy on a problem with a seed, and what came out.

A task says all there is to know, so it can be done by any process on any machine, and its
result can be told from every other by ``task.key``. Figures that need the same run share it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._array import Host
from ..optimizer import Optimizer
from ..problems import Problem, make
from ..strategies import Strategy

N_INIT = 20


def suggest_evals(D: int) -> int:
    """Acquisition evaluations a suggestion, the same for all strategies that are compared.

    The paper has 10·D starts of an unknown length in all: three evaluations each, at least 1000.
    """
    return max(1000, 30 * D)


@dataclass(frozen=True)
class ProblemSpec:
    """A problem by name and size; what is seeded in it takes the seed of the run."""

    name: str
    D: int
    shifted: bool = False
    active: str | None = None  # embedded problems: "first", "last" or "random"

    @property
    def label(self) -> str:
        parts = [self.name, self.active, str(self.D), "shifted" if self.shifted else None]
        return "-".join(part for part in parts if part)

    def build(self, seed: int) -> Problem:
        options: dict[str, object] = {"shift_seed": seed} if self.shifted else {}
        if self.active is not None:
            options["active"] = self.active
        if self.active == "random":
            options["active_seed"] = seed
        return make(self.name, self.D, **options)


@dataclass(frozen=True)
class Task:
    """One strategy, labelled, on one problem with one seed."""

    label: str  # of the strategy; letters, digits and dashes
    strategy: Strategy
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


def run(task: Task) -> Result:
    """Do the task. The same task gives the same values."""
    problem = task.problem.build(task.seed)
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
        opt.tell(trial, problem(trial.x))
    values = np.array([math.nan if t.value is None else t.value for t in opt.trials])
    suggested = [t.info for t in opt.trials if t.info["source"] != "initial"]
    return Result(
        task.key,
        values,
        problem.least,
        np.array([info.get("evaluations", 0) for info in suggested], dtype=np.int64),
        np.array([info["seconds"] for info in suggested]),
    )
