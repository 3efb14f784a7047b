"""What every part of Anchored is worth: it runs without one at a time, and prints a table.

``make bench-ablation`` carries on with the runs in results-ablation, one process a core, and then
reports on all that is there: hours of work, of which --variants, --tasks, --seeds and --time choose
a part. With --report --packed FILE the table is that of earlier results. The variants are in
comparison/ablations.py.
"""

from __future__ import annotations

import argparse
import logging
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from compare import chosen, seeds
from comparison.ablations import ABLATED, ABLATIONS
from comparison.pool import in_order, run_all
from comparison.runs import Job, Run, load
from comparison.standings import wins, wins_at_least
from comparison.summary import Summary, at_checkpoints
from comparison.tasks import ABLATION_TASKS, N_INIT, Instance, instance
from transect._array import Host
from transect._threads import cores
from transect.experiments.statistics import compare, holm
from transect.experiments.table import markdown_table

RESULTS = Path(__file__).parents[1] / "results-ablation"
EVALS = 200
TABLED = (50, 100, EVALS)
BASE = ABLATED + "as-it-is"
SIZES = {"D < 100": range(100), "100 to 200": range(100, 201), "more": range(201, 10**6)}
REFERENCES = {
    "random": "random search",
    "centre": "(1+1) evolution strategy from the middle",
}


def gains(summary: Summary, method: str, task: str) -> list[float]:
    """What a method gains over Anchored as it is, of the larger improvement of both; by seeds."""
    first = summary.at(task, BASE, N_INIT)
    mine, base = (summary.at(task, name, EVALS) for name in (method, BASE))
    found = []
    for seed in sorted(mine.keys() & base.keys()):
        most = first[seed] - min(mine[seed], base[seed])
        found.append((base[seed] - mine[seed]) / most if most > 0.0 else 0.0)
    return found


def mean_gains(summary: Summary, method: str, tasks: Sequence[str]) -> Host:
    """The mean gain on each of the tasks that there are runs of."""
    found = [gains(summary, method, task) for task in tasks]
    return np.array([statistics.fmean(each) for each in found if each])


def table(summary: Summary, names: Mapping[str, str]) -> str:
    """A row a method: wins, gains, and how likely such gains would be by chance."""
    tasks = summary.tasks
    by_task = {name: mean_gains(summary, name, tasks) for name in names}
    p = dict(zip(names, holm([compare(-each).p for each in by_task.values()]), strict=True))
    rows = []
    for name, says in names.items():
        shares = [wins(summary, name, BASE, evals, tasks) for evals in TABLED]
        at_least = wins_at_least(summary, name, BASE, EVALS, tasks)
        at_most = 1.0 - wins_at_least(summary, BASE, name, EVALS, tasks)
        of_sizes = [
            mean_gains(summary, name, [t for t in tasks if ABLATION_TASKS[t].D in sizes])
            for sizes in SIZES.values()
        ]
        rows.append(
            [
                says,
                *(f"{share.value:.2f}" for share in shares),
                f"{at_least:.2f} to {at_most:.2f}",
                str(shares[-1].pairs),
                _gain(by_task[name]),
                *(_gain(each) for each in of_sizes),
                f"{p[name]:.2g}",
            ]
        )
    head = [
        "instead",
        *(f"lower at {evals}" for evals in TABLED),
        "95 %",
        "runs",
        "gain",
        *SIZES,
        "p",
    ]
    return markdown_table(head, rows)


def _gain(each: Host) -> str:
    """Mean and standard error over tasks."""
    if len(each) < 2:
        return "–"
    return f"{np.mean(each):+.2f} ± {np.std(each, ddof=1) / math.sqrt(len(each)):.2f}"


def with_true_values(summary: Summary, folder: Path) -> Summary:
    """On noisy tasks the true value where the best one was seen."""
    best, noisy = summary.best.copy(), {t for t in summary.tasks if instance(t, 0).problem.noise}
    for row, key in enumerate(summary.keys):
        if key.task in noisy:
            run = load(Job(*key, EVALS).path(folder))
            best[row] = at_checkpoints(true_values(run, instance(key.task, key.seed)))
    return Summary(summary.keys, best, summary.seconds)


def true_values(run: Run, objective: Instance) -> Host:
    """The value without noise at the point that seemed best (n,), after each evaluation."""
    found, least = [], math.inf
    for x, y in zip(run.X, run.y, strict=True):
        if y < least:
            least, true = y, objective.noiseless(x.astype(np.float64))
        found.append(true)
    return np.array(found)


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", default="*", help="names or patterns, with commas")
    parser.add_argument("--tasks", default="*", help="likewise")
    parser.add_argument("--seeds", type=seeds, default=range(10), help="how many, or FIRST-LAST")
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--time", type=float, help="seconds after which to stop, to go on later")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the runs")
    parser.add_argument("--report", action="store_true", help="only report on what is there")
    parser.add_argument("--packed", type=Path, help="earlier results, to which runs are added")
    parser.add_argument("--pack", type=Path, help="write all results there are to this file")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    given = parse(words)
    logging.basicConfig(format="%(message)s")
    names = {ABLATED + name: variant.says for name, variant in ABLATIONS.items()} | REFERENCES
    methods = chosen(given.variants, list(names))
    if not given.report:
        tasks = chosen(given.tasks, list(ABLATION_TASKS))
        jobs = in_order(tasks, methods, given.seeds, EVALS)
        run_all(jobs, given.out, given.workers, given.time)
    summary = with_true_values(Summary.of_runs(given.out), given.out)
    if given.packed:
        summary = Summary.load(given.packed).and_more(summary)
    if given.pack:
        summary.save(given.pack)
    there = {name: says for name, says in names.items() if name in summary.methods}
    print(table(summary, {name: says for name, says in there.items() if name != BASE}))


if __name__ == "__main__":
    main()
