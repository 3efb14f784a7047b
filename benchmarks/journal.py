"""What a journal costs: a tell, and opening a long run. Prints a table.

``make bench-journal``. Points are random, so that all of the time is the journal's.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from transect import Optimizer

SIZES = ((100, 1000), (5000, 10_000))  # variables, trials


def seconds_of_tells(path: Path | None, D: int, trials: int) -> list[float]:
    """Seconds of each tell of a run of random points."""
    took = []
    with Optimizer([(0.0, 3.0)] * D, "random", seed=0, journal=path) as opt:
        for i in range(trials):
            trial = opt.ask()
            started = time.perf_counter()
            opt.tell(trial, float(i))
            took.append(time.perf_counter() - started)
    return took


def main() -> None:
    print("| variables | trials | tell, median | 99 of 100 below | without | open | MB |")
    print("|---|---|---|---|---|---|---|")
    for D, trials in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.db"
            kept, bare = seconds_of_tells(path, D, trials), seconds_of_tells(None, D, 1000)
            opened = []
            for _ in range(3):
                started = time.perf_counter()
                Optimizer([(0.0, 3.0)] * D, "random", seed=0, journal=path).close()
                opened.append(time.perf_counter() - started)
            size = path.stat().st_size / 1e6
        print(
            f"| {D} | {trials} | {1e3 * statistics.median(kept):.2f} ms "
            f"| {1e3 * float(np.quantile(kept, 0.99)):.2f} ms "
            f"| {1e3 * statistics.median(bare):.3f} ms "
            f"| {statistics.median(opened):.2f} s | {size:.0f} |"
        )


if __name__ == "__main__":
    main()
