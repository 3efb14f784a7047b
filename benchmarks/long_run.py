"""Time and memory of one long run: 2000 evaluations of 1000 variables. Prints a table.

``make bench-long``: Levy's function, its optimum away from the middle, with the default strategy.
Seconds are those of all suggestions, the objective's left out. They want cores with nothing else
to do.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np
from tqdm import tqdm

import transect
from transect.experiments.table import markdown_table
from transect.problems import make

LOOKED_AT = (200, 400, 1000, 1400, 1800, 2000)
KILOBYTE = 1 if sys.platform == "darwin" else 1024  # bytes in a unit of ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variables", type=int, default=1000)
    parser.add_argument("--evals", type=int, default=LOOKED_AT[-1])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()

    problem = make("levy", given.variables, shift=0.5, shift_seed=given.seed)
    optimizer = transect.Optimizer(problem.box, max_evals=given.evals, seed=given.seed)
    seconds, values = [], []
    for _ in tqdm(range(given.evals), unit="evaluation"):
        start = time.perf_counter()
        trial = optimizer.ask()
        asked = time.perf_counter() - start
        value = problem(trial.x)
        start = time.perf_counter()
        optimizer.tell(trial, value)
        seconds.append(asked + time.perf_counter() - start)
        values.append(value)

    total, best = np.cumsum(seconds), np.fmin.accumulate(values)
    rows = []
    for n in (n for n in LOOKED_AT if n <= given.evals):
        each = np.mean(seconds[n - 100 : n])
        rows.append([str(n), f"{best[n - 1]:.4g}", f"{total[n - 1]:.0f}", f"{each:.2f}"])
    print(markdown_table(["evaluations", "best", "seconds", "seconds each, of the last 100"], rows))
    memory = KILOBYTE * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\n{total[-1]:.0f} seconds in all, {memory / 1e9:.2f} GB at most")


if __name__ == "__main__":
    main()
