"""How much slower a run is where a third of the box fails. Prints a table.

``make bench-failures``: 20 variables, the default strategy, the same problems with and without
a region in which every evaluation fails: 30 % of the box, behind a plane, the optimum outside.
"""

from __future__ import annotations

import logging

import numpy as np

import transect
from transect._array import Host
from transect.experiments.table import markdown_table
from transect.problems import Problem, make
from transect.strategies import N_INIT

D, EVALS, SEEDS, SHARE = 20, 150, 10, 0.3
LOOKED_AT = (50, 100, 150)
PLANES = ("aligned", "oblique")
NAMES = ("hyper-ellipsoid", "levy", "rosenbrock")


class Partly:
    """The problem where normal·u is at most a bound, u in [-1, 1]^D; elsewhere it fails."""

    def __init__(self, problem: Problem, plane: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.problem = problem
        self.normal = rng.normal(size=D) if plane == "oblique" else np.eye(D)[rng.integers(D)]
        good = float(self.normal @ problem.box.to_unit(np.asarray(problem.optimum)))
        if good > 0.0:
            self.normal = -self.normal
        sample = rng.uniform(-1.0, 1.0, (20_000, D)) @ self.normal
        self.bound = float(np.quantile(sample, 1.0 - SHARE))

    def __call__(self, x: Host) -> float:
        if self.normal @ self.problem.box.to_unit(x) > self.bound:
            raise ArithmeticError("outside of what can be computed")
        return self.problem(x)


def run(name: str, plane: str | None, seed: int) -> tuple[Host, float]:
    """Best values at LOOKED_AT, and the share of suggestions that failed."""
    problem = make(name, D, shift=0.5, shift_seed=seed)
    f = problem if plane is None else Partly(problem, plane, seed)
    r = transect.minimize(f, problem.box, EVALS, seed=seed, progress=False)
    best = np.fmin.accumulate(np.nan_to_num(r.func_vals, nan=np.inf))
    return best[np.array(LOOKED_AT) - 1], float(np.mean(np.isnan(r.func_vals[N_INIT:])))


def main() -> None:
    logging.disable(logging.WARNING)
    rows = []
    for name in NAMES:
        for plane in (None, *PLANES):
            runs = [run(name, plane, seed) for seed in range(SEEDS)]
            values = np.median([best for best, _ in runs], axis=0)
            failed = np.mean([share for _, share in runs])
            cells = [f"{value:.4g}" for value in values]
            rows.append([name, plane or "none", *cells, f"{failed:.0%}"])
    head = ["problem", "region", *(f"after {n}" for n in LOOKED_AT), "suggestions that failed"]
    print(markdown_table(head, rows))


if __name__ == "__main__":
    main()
