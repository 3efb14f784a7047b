"""How methods stand to each other, from whatever pairs of runs there are.

Runs of two methods on the same instance, a task and a seed, began with the same points: they are
a pair. Not every method has every run, so everything here rests on pairs and says on how many.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from transect._array import Host

from .summary import CHECKPOINTS, Key, Summary
from .tasks import N_INIT

BOOTSTRAPS = 10_000
FEW = 10  # with fewer tasks than that, nothing is said of others


class Rate(NamedTuple):
    """A mean, and how many pairs it is of; nan of none."""

    value: float
    pairs: int


def wins(summary: Summary, one: str, other: str, evals: int, tasks: Iterable[str]) -> Rate:
    """The share of pairs in which ``one`` is below ``other``; a tie is half of a win."""
    scores = [s for task in tasks for s in _scores(summary, one, other, evals, task)]
    return Rate(statistics.fmean(scores) if scores else float("nan"), len(scores))


def wins_at_least(
    summary: Summary, one: str, other: str, evals: int, tasks: Iterable[str]
) -> float:
    """The lower end of a 95 % interval of that share; nan with fewer than ``FEW`` tasks.

    By bootstrap over tasks, as if they had been drawn from many such: seeds of one task say much
    the same.
    """
    scores = [_scores(summary, one, other, evals, task) for task in tasks]
    sums = np.array([(sum(s), len(s)) for s in scores if s])  # (tasks, 2)
    if len(sums) < FEW:
        return float("nan")
    drawn = np.random.default_rng(0).integers(len(sums), size=(BOOTSTRAPS, len(sums)))
    won, pairs = np.moveaxis(sums[drawn].sum(axis=1), -1, 0)
    return float(np.quantile(won / pairs, 0.025))


def _scores(summary: Summary, one: str, other: str, evals: int, task: str) -> list[float]:
    """1, 0.5 or 0 for each pair on a task."""
    mine, theirs = summary.at(task, one, evals), summary.at(task, other, evals)
    return [
        0.5 if mine[seed] == theirs[seed] else float(mine[seed] < theirs[seed])
        for seed in mine.keys() & theirs.keys()
    ]


def covered(summary: Summary, evals: int) -> list[str]:
    """The methods that have come so far on at least half of the tasks: others cannot be ranked."""
    return [
        method
        for method in summary.methods
        if 2 * sum(bool(summary.at(task, method, evals)) for task in summary.tasks)
        >= max(1, len(summary.tasks))
    ]


def mean_rank(summary: Summary, method: str, methods: Sequence[str], evals: int) -> Rate:
    """1 for the best of the methods: one more than the sum of the others' shares of wins.

    Where all have all runs, this is the mean of the ranks in each. The count is that of the rival
    with the fewest pairs.
    """
    rates = [
        wins(summary, other, method, evals, summary.tasks) for other in methods if other != method
    ]
    fewest = min((rate.pairs for rate in rates), default=0)
    return Rate(1.0 + sum(rate.value for rate in rates) if fewest else float("nan"), fewest)


def behind(summary: Summary, method: str, rival: str, task: str, evals: int) -> float:
    """How far a method is above its rival on a task, in shares of what could be gained there.

    Medians of the seeds that both have; what could be gained is the difference between the best
    initial point, in the median, and the best method's median. nan without such seeds.
    """
    mine, theirs, seeds = medians_of_pairs(summary, method, rival, task, evals)
    if not seeds:
        return float("nan")
    first = statistics.median(summary.at(task, rival, N_INIT)[seed] for seed in seeds)
    medians = [
        statistics.median(found.values())
        for name in summary.methods
        if (found := summary.at(task, name, evals))
    ]
    gain = first - min(medians)
    return (mine - theirs) / gain if gain > 0.0 else float("nan")


def medians_of_pairs(
    summary: Summary, method: str, rival: str, task: str, evals: int
) -> tuple[float, float, list[int]]:
    """Medians of the seeds that both have, and these; nan without any."""
    mine, theirs = (summary.at(task, name, evals) for name in (method, rival))
    seeds = sorted(mine.keys() & theirs.keys())
    if not seeds:
        return float("nan"), float("nan"), []
    one, other = (statistics.median(found[s] for s in seeds) for found in (mine, theirs))
    return one, other, seeds


def shared(summary: Summary, evals: int) -> list[tuple[str, int]]:
    """The (task, seed) on which every method has come so far."""
    found = []
    for task in summary.tasks:
        seeds = [set(summary.at(task, method, evals)) for method in summary.methods]
        found += [(task, seed) for seed in sorted(set.intersection(*seeds))]
    return found


def mean_curves(summary: Summary, instances: Sequence[tuple[str, int]], evals: int) -> Host:
    """Best values up to ``evals``, (methods, checkpoints): 1 is the start, 0 the best of all.

    The mean over the seeds of a task, then over the tasks. Instances on which no method gained
    anything tell nothing and are left out.
    """
    upto = CHECKPOINTS.index(evals) + 1
    by_task: dict[str, list[Host]] = {}
    for task, seed in instances:
        curves = np.array(
            [summary.curve(Key(task, method, seed))[:upto] for method in summary.methods],
            dtype=np.float64,
        )
        first, least = float(curves[0, 0]), float(curves.min())
        if first > least:
            by_task.setdefault(task, []).append((curves - least) / (first - least))
    means: Host = np.mean([np.mean(curves, axis=0) for curves in by_task.values()], axis=0)
    return means
