"""Whether the planner's predictions come true, and where its numbers are from.

Without arguments: whole runs of MS-UCB beside what was predicted for them, as a table in
Markdown. With --fit: single suggestions of many sizes are timed, and the seconds a unit of work
takes, for ``transect/costs.py``, are fitted to them. On a quiet machine: seven minutes.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from transect import MSUCB, Optimizer, Surrogate
from transect._array import Host
from transect._threads import quiet_blas
from transect.costs import (
    Shape,
    _least,
    _refit_units,
    _small_search,
    _units,
    memory_at,
    run_seconds,
    shape_at,
    speed,
    suggestion_seconds,
)
from transect.experiments.table import markdown_table
from transect.problems import levy
from transect.strategies import History, Setting

N_INIT = 20
# D, evaluations, d, N0, α
RUNS = (
    (20, 300, 2, 10, 0),
    (100, 200, 5, 1, 0),
    (100, 300, 5, 1, 1),
    (500, 200, 10, 30, 0),
    (2000, 150, 5, 1, 1),
    (5000, 150, 10, 3, 0),
)
STEPS = 5  # suggestions timed, of each size


def check() -> Iterator[list[str]]:
    """A row for every run: predicted and measured, each run in a process of its own."""
    for run in RUNS:
        D, evals, d, n0, alpha = run
        strategy = MSUCB(d, n0, alpha)
        last = shape_at(strategy, d, D, N_INIT, evals - N_INIT)
        end = suggestion_seconds(speed(), last, strategy.surrogate)
        total = run_seconds(speed(), strategy, d, D, N_INIT, evals)
        command = [sys.executable, __file__, "--run", *map(str, run)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seen_end, seen_total, seen_memory = map(float, out.split())
        yield [
            f"{D}, {evals}, ({d}, {n0}, {alpha})",
            f"{1e3 * end:.3g}",
            f"{1e3 * seen_end:.3g}",
            f"{end / seen_end - 1.0:+.0%}",
            f"{total:.3g}",
            f"{seen_total:.3g}",
            f"{total / seen_total - 1.0:+.0%}",
            f"{memory_at(last) / 1e6:.0f}",
            f"{seen_memory / 1e6:.0f}",
        ]


def one_run(D: int, evals: int, d: int, n0: int, alpha: int) -> tuple[float, float, float]:
    """Seconds a suggestion in the last fifth, on average; in all; bytes it added at the peak."""
    f = levy(D, shift_seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    opt = Optimizer(f.box, MSUCB(d, n0, alpha), seed=1, n_init=N_INIT, max_evals=evals)
    for _ in range(evals):
        trial = opt.ask()
        opt.tell(trial, f(trial.x))
    seconds = [t.info["seconds"] for t in opt.trials if t.info["source"] != "initial"]
    peak = 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return statistics.mean(seconds[-len(seconds) // 5 :]), sum(seconds), peak


# --- where the numbers are from -----------------------------------------------------------


def sizes() -> Iterator[tuple[Shape, int, int, int]]:
    """Shapes at which suggestions are timed, with their t, N0 and α."""
    for D in (20, 100, 1000, 5000):
        for n in (60, 200, 500):
            for d, n0, alpha in ((5, 1, 0), (5, 30, 0), (1, 100, 0), (10, 1, 1)):
                t = n - N_INIT
                shape = shape_at(MSUCB(d, n0, alpha), d, D, N_INIT, t)
                if shape.m <= 20_000 and shape.held == shape.m:
                    yield shape, t, n0, alpha


def suggestions(shape: Shape, t: int, n0: int, alpha: int, surrogate: Surrogate) -> float:
    """Median seconds of a suggestion after the first one, which builds the tables."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (shape.n + 1, shape.D))
    y = X @ rng.normal(size=shape.D) / np.sqrt(shape.D) - np.sum(X * X, axis=1) / shape.D
    strategy = MSUCB(shape.d, n0, alpha, surrogate=surrogate)
    setting = Setting(shape.D, 0, max_evals=shape.n + N_INIT)
    state = replace(strategy.start(setting), t=t - STEPS - 1)
    seconds = []
    for k in range(shape.n - STEPS, shape.n + 1):
        started = time.perf_counter()
        history = History(X[:k], y[:k], X[:0])
        state = strategy.suggest(state, history, np.random.default_rng(k)).state
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[1:])


def fit() -> None:
    """Print the seconds of every kind of unit, and how well they explain what was timed."""
    steps: list[tuple[dict[str, float], float]] = []
    refits: list[tuple[dict[str, float], float]] = []
    with quiet_blas():
        for shape, t, n0, alpha in sizes():
            step = suggestions(shape, t, n0, alpha, Surrogate(refit_growth=100.0))
            every = suggestions(shape, t, n0, alpha, Surrogate(refit_always=10**6))
            steps.append((_units(shape), step))
            refits.append((_refit_units(shape), max(every - step, 0.2 * step)))
            print(f"{shape}: {1e3 * step:.1f} ms, with a refit {1e3 * every:.1f}", file=sys.stderr)
        A, x = np.ones((4000, 2000), dtype=np.float32), np.ones(2000, dtype=np.float32)
        jobs = (_least(5, _small_search()), _least(9, lambda: A @ x))
    for name, timed in (("suggestions", steps), ("refits", refits)):
        kinds = list(timed[0][0])
        units = np.array([[u[kind] for kind in kinds] for u, _ in timed])
        seconds = np.array([s for _, s in timed])
        each: Host = nnls(units / seconds[:, None], np.ones(len(seconds)))[0]
        ratio = units @ each / seconds
        print(f"{name}: predicted over measured {np.percentile(ratio, [0, 10, 50, 90, 100])}")
        print({kind: float(f"{value:.2g}") for kind, value in zip(kinds, each, strict=True)})
    print(f"SMALL_JOBS = {jobs}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="time single suggestions instead")
    parser.add_argument("--run", nargs=5, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(*one_run(*arguments.run))
    elif arguments.fit:
        fit()
    else:
        started = time.perf_counter()
        speed()
        print(f"{speed()}, measured in {time.perf_counter() - started:.2f} s\n")
        header = [
            "D, evaluations, (d, N0, α)",
            "ms at the end: predicted",
            "measured",
            "",
            "s in all",
        ]
        header += ["measured", "", "MB", "measured"]
        print(markdown_table(header, check()))


if __name__ == "__main__":
    main()
