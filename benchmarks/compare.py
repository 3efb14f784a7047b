"""Sample efficiency beside public optimisers: runs them, prints tables and draws a figure.

``make bench-compare`` carries on with the runs in results-compare, one process a core, and then
reports on all that is there. All of it is days of work, nearly all of it BoTorch's: --tasks,
--methods, --seeds and --time choose a part, and more is added by a later call. With --packed FILE
runs that are in that file are not made, and the folder's are added to them; a method that has
changed since then is to be run without it. With --report nothing is run. With --unseen the tasks
are the sixty that nothing was tuned on. With --device cuda and three workers a core BoTorch's and
TuRBO's fits share a GPU, and all runs are under way at once. The tasks rover, mopta08 and ramp need
their data (see ``transect.problems.data``).
"""

from __future__ import annotations

import argparse
import fnmatch
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from comparison.figure import draw
from comparison.ours import PREFIX
from comparison.pool import in_order, run_all
from comparison.registry import NAMES, factory
from comparison.summary import Key, Summary
from comparison.tables import report
from comparison.tasks import TASKS, UNSEEN_TASKS
from transect._threads import cores

RESULTS = Path(__file__).parents[1] / "results-compare"
# What is compared with all others, unless said: the first of these that has runs.
JUDGED = (PREFIX + "anchored", PREFIX + "gp-ucb-log-ei")


def chosen(patterns: str, names: Sequence[str]) -> list[str]:
    """Names that match one of the patterns, which commas separate, such as ``levy-*``."""
    found: dict[str, None] = {}
    for pattern in patterns.split(","):
        matches = fnmatch.filter(names, pattern)
        if not matches:
            raise ValueError(f"nothing matches {pattern!r}; there are {', '.join(names)}")
        found |= dict.fromkeys(matches)
    return list(found)


def seeds(text: str) -> range:
    """3 is the first three, 3-5 are those from 3 to 5."""
    first, dash, last = text.partition("-")
    return range(int(first), int(last) + 1) if dash else range(int(first))


def all_methods(patterns: str, further: Iterable[str]) -> list[str]:
    """Patterns for those of the registry and ``further`` ones; a full name can be any of ours."""
    known = list(dict.fromkeys([*NAMES, *further]))
    names: dict[str, None] = {}
    for pattern in patterns.split(","):
        if not fnmatch.filter(known, pattern):
            factory(pattern)  # says what there is
            known.append(pattern)
        names |= dict.fromkeys(fnmatch.filter(known, pattern))
    return list(names)


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default="*", help="names or patterns, with commas between them")
    parser.add_argument("--unseen", action="store_true", help="tasks that nothing was tuned on")
    parser.add_argument("--methods", default="*", help="likewise; transect:NAME for any strategy")
    parser.add_argument("--seeds", type=seeds, default=range(3), help="how many, or FIRST-LAST")
    parser.add_argument("--evals", type=int, default=200, help="the 20 initial ones included")
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--device", help="cuda: BoTorch's and TuRBO's fits on it; many --workers")
    parser.add_argument("--time", type=float, help="seconds after which to stop, to go on later")
    parser.add_argument(
        "--out", type=Path, help=f"the folder of the runs, {RESULTS.name} if not said"
    )
    parser.add_argument("--report", action="store_true", help="only report on what is there")
    parser.add_argument("--packed", type=Path, help="earlier results, to which runs are added")
    parser.add_argument("--pack", type=Path, help="write all results there are to this file")
    parser.add_argument("--judged", help="the method that is compared with all others")
    parser.add_argument("--figure", type=Path, help="where to draw the figure")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    given = parse(words)
    logging.basicConfig(format="%(message)s")
    names = list(UNSEEN_TASKS if given.unseen else TASKS)
    tasks = chosen(given.tasks, names)
    earlier = Summary.load(given.packed) if given.packed else Summary.empty()
    if not given.report:
        jobs = in_order(tasks, all_methods(given.methods, ()), given.seeds, given.evals)
        jobs = [j for j in jobs if not earlier.has(Key(j.task, j.method, j.seed), j.evals)]
        run_all(jobs, given.out or RESULTS, given.workers, given.time, given.device)
    alone = given.report and given.packed and not given.out
    runs = Summary.empty() if alone else Summary.of_runs(given.out or RESULTS)
    everything = earlier.and_more(runs)
    summary = everything.only(tasks, all_methods(given.methods, everything.methods))
    if given.pack:
        everything.only(names, everything.methods).save(given.pack)
    judged = given.judged or next((m for m in JUDGED if m in summary.methods), JUDGED[-1])
    for part in report(summary, judged):
        print(part, flush=True)
    if given.figure:
        draw(summary, judged, given.figure)


if __name__ == "__main__":
    main()
