"""The report, in Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from transect.experiments.table import markdown_table

from .standings import (
    Rate,
    behind,
    covered,
    mean_rank,
    medians_of_pairs,
    wins,
    wins_at_least,
)
from .summary import Summary
from .tasks import EVERY_TASK, UNSEEN_TASKS

TABLED = (50, 100, 200, 400)
JUDGED_AT, COMPARED_AT = 200, (200, 400)
LARGE = 500  # dimensions, from which on CMA-ES is hard to beat
NOTHING = "–"
OF_TASKS = """Made by `benchmarks/compare.py --report`. A task's name is the function, its variables
and, of the synthetic ones, whether its axes are turned, and how far its optimum may be from the
middle of the box, of which the side is 2. On network-100 values are noisy, the least is told."""
OF_UNSEEN_TASKS = """Made by `benchmarks/compare.py --report --unseen`. Twenty functions in 10, 30
and 150 variables (benchmarks/comparison/unseen.py) that nothing was tuned on: Anchored has nothing
for their sake. But two additions to it, chosen on other functions, were tried on them and turned
down (the eleventh and the thirteenth [round](rounds.md)). A task's name is the function and its
variables. On noisy-bowl values are noisy, the least is told; below 0 is luck."""
HOW = """In brackets: how many seeds, or pairs of runs on the same instance, a number rests on. All
values are to be minimised.

`centre` is a (1+1) evolution strategy from the middle of the box, `pycma` CMA-ES with a first step
of 0.4, `pycma-small` of 0.1, `optuna-gp` and `optuna-tpe` are Optuna's samplers, `turbo` is
TuRBO-1 after its paper, `botorch` is SingleTaskGP with LogEI. *At least* is the lower end of a 95 %
interval, by bootstrap over the tasks. Times are of runs beside others; those of BoTorch, TuRBO-1
and GPSampler ran in closed forms and are not timed: RESULTS.md has times of one run alone."""

Groups = Mapping[str, Sequence[str]]


def report(summary: Summary, judged: str) -> Iterator[str]:
    """One part after another."""
    unseen = set(summary.tasks) <= set(UNSEEN_TASKS)
    title = "on functions that nothing was tuned on" if unseen else "beside other optimisers"
    tasks = OF_UNSEEN_TASKS if unseen else OF_TASKS
    yield f"# {judged} {title}\n\n{tasks}\n\n{HOW}\n"
    yield _ranks(summary)
    for evals in _reached(summary, COMPARED_AT, judged):
        yield _wins(summary, judged, evals)
        yield _not_first(summary, judged, evals)
    yield _seconds(summary)
    large = [task for task in summary.tasks if EVERY_TASK[task].D >= LARGE]
    for rival in ("pycma", "pycma-small") if large else ():
        for evals in _reached(summary, COMPARED_AT, rival):
            yield _beside(summary, rival, evals, large)
    if "random" in summary.methods:
        yield _beside_random(summary)
    for evals in _reached(summary, TABLED, *summary.methods):
        yield _values(summary, evals)


def _reached(summary: Summary, checkpoints: Iterable[int], *methods: str) -> list[int]:
    """The checkpoints to which one of the methods has come on some task."""
    return [
        evals
        for evals in checkpoints
        if any(summary.at(task, m, evals) for task in summary.tasks for m in methods)
    ]


def _ranks(summary: Summary) -> str:
    ranked = {evals: methods for evals in TABLED if (methods := covered(summary, evals))}
    rows = [
        [method, *(_rank(summary, method, methods, evals) for evals, methods in ranked.items())]
        for method in summary.methods
    ]
    header = [f"after {evals} evaluations, of {len(methods)}" for evals, methods in ranked.items()]
    title = "Mean rank, among the methods that have come so far on half of the tasks or more"
    return _part(title, ["method", *header], rows)


def _rank(summary: Summary, method: str, methods: Sequence[str], evals: int) -> str:
    if method not in methods:
        return NOTHING
    return _rate(mean_rank(summary, method, methods, evals), "{:.2f}".format)


def _wins(summary: Summary, judged: str, evals: int) -> str:
    parts_of = {"all tasks": summary.tasks, **groups(summary)}
    rows = []
    for rival in summary.methods:
        rates = [wins(summary, judged, rival, evals, tasks) for tasks in parts_of.values()]
        if rival != judged and rates[0].pairs:
            least = wins_at_least(summary, judged, rival, evals, summary.tasks)
            everywhere, *parts = (_rate(rate, percent) for rate in rates)
            rows.append([rival, everywhere, _number(least, percent), *parts])
    title = f"Runs that {judged} wins at {evals} evaluations, against"
    everywhere, *names = parts_of
    return _part(title, ["rival", everywhere, "at least", *names], rows)


def _not_first(summary: Summary, judged: str, evals: int) -> str:
    """Tasks on which the median of another method is lower."""
    rows = []
    for task in summary.tasks:
        lower = []
        for rival in summary.methods:
            mine, theirs, seeds = medians_of_pairs(summary, judged, rival, task, evals)
            if theirs < mine:
                rate = wins(summary, rival, judged, evals, [task])
                share = f"{rate.value * len(seeds):g} of {len(seeds)}"
                lower.append(f"{rival} {theirs:.5g} against {mine:.5g}, {share}")
        if lower:
            rows.append([task, "; ".join(lower)])
    title = f"Where {judged} is not first at {evals} evaluations"
    header = ["task", "lower medians, of the seeds that both have, and how many runs are lower"]
    return _part(title, header, rows)


def groups(summary: Summary) -> Groups:
    """The synthetic and the unseen tasks by size, then the others."""
    found: dict[str, list[str]] = {}
    for name in summary.tasks:
        task = EVERY_TASK[name]
        by_size = "shift" in task.options or name in UNSEEN_TASKS
        found.setdefault(f"D = {task.D}" if by_size else "others", []).append(name)
    return found


def _seconds(summary: Summary) -> str:
    sizes = sorted({EVERY_TASK[task].D for task in summary.tasks})
    rows = []
    for method in summary.methods:
        cells = []
        for D in sizes:
            times = [
                float(seconds)
                for key, seconds in zip(summary.keys, summary.seconds, strict=True)
                if key.method == method and EVERY_TASK[key.task].D == D and not np.isnan(seconds)
            ]
            cells.append(_time(statistics.median(times)) if times else NOTHING)
        if set(cells) != {NOTHING}:
            rows.append([method, *cells])
    title = f"Time of a suggestion, one thread, around {JUDGED_AT} evaluations"
    return _part(title, ["method", *(f"D = {D}" for D in sizes)], rows)


def _beside(summary: Summary, rival: str, evals: int, tasks: Iterable[str]) -> str:
    methods = [method for method in summary.methods if method != rival]
    rows = [
        [
            task,
            *(_number(behind(summary, m, rival, task, evals), "{:+.2f}".format) for m in methods),
        ]
        for task in tasks
    ]
    title = (
        f"Distance to {rival} at {evals} evaluations, in shares of the largest gain; "
        "below 0 is better"
    )
    return _part(title, ["task", *methods], rows)


def _beside_random(summary: Summary) -> str:
    methods = [method for method in summary.methods if method != "random"]
    rows = [
        [task, *(_rate(wins(summary, m, "random", JUDGED_AT, [task]), percent) for m in methods)]
        for task in summary.tasks
    ]
    title = f"Runs below those of random search at {JUDGED_AT} evaluations"
    return _part(title, ["task", *methods], rows)


def _values(summary: Summary, evals: int) -> str:
    rows = []
    for task in summary.tasks:
        found = [summary.at(task, method, evals) for method in summary.methods]
        medians = [statistics.median(v.values()) if v else math.nan for v in found]
        least = min((m for m in medians if not math.isnan(m)), default=math.nan)
        cells = [
            _rate(Rate(m, len(v)), ("**{:.4g}**" if m == least else "{:.4g}").format)
            for m, v in zip(medians, found, strict=True)
        ]
        rows.append([task, *cells])
    title = f"Best value after {evals} evaluations, median"
    return _part(title, ["task", *summary.methods], rows)


def _part(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return f"## {title}\n\n{markdown_table(header, rows)}\n"


def percent(share: float) -> str:
    """Rounded, but 100% is all of them."""
    text = f"{share:.0%}"
    return "99%" if text == "100%" and share < 1.0 else text


def _rate(rate: Rate, form: Callable[[float], str]) -> str:
    return f"{form(rate.value)} ({rate.pairs})" if rate.pairs else NOTHING


def _number(value: float, form: Callable[[float], str]) -> str:
    return NOTHING if math.isnan(value) else form(value)


def _time(seconds: float) -> str:
    ms = 1e3 * seconds
    return f"{seconds:.2g} s" if ms >= 1e3 else f"{ms:.0f} ms" if ms >= 10.0 else f"{ms:.2g} ms"
