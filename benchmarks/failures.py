"""How much slower a run is where a part of the box fails. Prints two tables.

``make bench-failures``: the default strategy. First 20 variables, the same problems with and
without a region in which every evaluation fails: 30 % of the box, behind a plane, the optimum
outside. Then a bowl of which only a ball around the optimum works, a tiny part of the box, and a
few points in it are known.
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
BALL, FEW_EVALS = (20, 100), 60  # variables, and evaluations
KNOWN, NEAR = (1, 12), 0.6  # points, and how many radii they are from the optimum, about
OPTIMUM, PER_VARIABLE = 0.3, 0.05  # of the squared radius


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


def in_a_ball(dim: int, known: int, seed: int) -> tuple[float, float]:
    """The best value as a share of the best known one, and the share of suggestions that failed."""
    radius = PER_VARIABLE * dim

    def bowl(x: Host) -> float | None:
        value = float(np.sum((x - OPTIMUM) ** 2))
        return value if value < radius else None

    steps = np.random.default_rng(seed).standard_normal((known, dim))
    steps *= NEAR * np.sqrt(PER_VARIABLE)
    x0 = np.clip(OPTIMUM + steps, -1.0, 1.0)
    y0 = [bowl(x) for x in x0]
    r = transect.minimize(
        bowl, [(-1.0, 1.0)] * dim, FEW_EVALS, seed=seed, x0=x0, y0=y0, progress=False
    )
    best = min(value for value in y0 if value is not None)
    return r.fun / best, float(np.mean([trial.state == "failed" for trial in r.trials[known:]]))


def balls() -> str:
    rows = []
    for dim in BALL:
        for known in KNOWN:
            runs = [in_a_ball(dim, known, seed) for seed in range(SEEDS)]
            best, failed = np.median([share for share, _ in runs]), [share for _, share in runs]
            rows.append([str(dim), str(known), f"{best:.2g}", f"{np.mean(failed):.0%}"])
    head = ["variables", "points known", "best value, of the best known one", "that failed"]
    return markdown_table(head, rows)


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
    print(markdown_table(head, rows), balls(), sep="\n\n")


if __name__ == "__main__":
    main()
