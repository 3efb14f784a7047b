"""``transect bench``: list, run, pack, plot, judge and sum up the experiments."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from .._checks import whole_number
from .._threads import cores
from .figures import FIGURES, LINES, QUICK_EVALS, QUICK_REPEATS
from .pack import pack, unpack
from .runner import run_all
from .store import Store
from .summaries import costs, medians
from .table import Table
from .task import MOST_EVALS, N_INIT, Task


def add_bench(commands: Any) -> None:
    """Add ``bench`` and its own commands to argparse's ``commands``."""
    bench = commands.add_parser("bench", help="rerun the paper's figures and judge its claims")
    verbs = bench.add_subparsers(required=True, metavar="what")

    verb = verbs.add_parser("list", help="figures, strategies and problems")
    verb.set_defaults(call=_list)

    verb = verbs.add_parser("run", help="do the runs of figures, or what is missing of them")
    verb.add_argument("figures", nargs="+", metavar="figure", help=", ".join(FIGURES))
    _add_size(verb)
    verb.add_argument("--strategies", metavar="A,B", help="only these (see bench list)")
    verb.add_argument("--problems", metavar="X,Y", help="only these (see bench list)")
    verb.add_argument(
        "--workers", type=int, help="processes (default: one a core, four with --device)"
    )
    verb.add_argument(
        "--device", help="a torch device, such as cuda, on which networks are trained together"
    )
    verb.add_argument(
        "--dask", metavar="ADDRESS", help="run on this scheduler's cluster, a thread each"
    )
    verb.add_argument(
        "--out", type=Path, help="folder of results (default results[-quick][-EVALS])"
    )
    verb.set_defaults(call=_run)

    verb = verbs.add_parser("pack", help="put all results into one small file")
    verb.add_argument("file", type=Path, metavar="FILE.npz", help="file to write")
    _add_results(verb)
    verb.set_defaults(call=_pack)

    verb = verbs.add_parser("plot", help="draw figures from results")
    verb.add_argument("figures", nargs="*", metavar="figure", help="default: all there is of them")
    _add_results(verb)
    verb.add_argument("--out", type=Path, default=Path("figures"), help="folder of pictures")
    verb.set_defaults(call=_plot)

    verb = verbs.add_parser("claims", help="what holds of the paper's claims, as a table")
    verb.add_argument("--short", action="store_true", help="one line a claim, without the tests")
    _add_results(verb)
    verb.set_defaults(call=_claims)

    verb = verbs.add_parser("medians", help="what every strategy reached on every problem")
    verb.add_argument("figures", nargs="*", metavar="figure", help="default: all")
    _add_results(verb)
    verb.set_defaults(call=_medians)

    verb = verbs.add_parser("costs", help="time and acquisition evaluations of a suggestion")
    _add_results(verb)
    verb.set_defaults(call=_costs)


def _add_size(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--repeats", type=int, help="seeds (default: the figure's)")
    verb.add_argument("--evals", type=int, help="evaluations a run (default: the figure's)")
    verb.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_REPEATS} seeds, {QUICK_EVALS} evaluations, only small problems",
    )


def _add_results(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--results", type=Path, help="folder of results, or a packed file (default: as for run)"
    )
    _add_size(verb)


def _list(arguments: argparse.Namespace) -> int:
    print("figures")
    for figure in FIGURES.values():
        full, quick = len(figure.tasks()), len(figure.tasks(quick=True))
        print(f"  {figure.name:<16} {figure.title}: {full} runs, {quick} with --quick")
    print("strategies")
    for label, line in LINES.items():
        remark = ", a reference" if line.strategy is None else "" if line.limited else ", no limit"
        print(f"  {label:<16} {line.title}{remark}")
    tasks = _tasks(FIGURES)
    print("problems")
    small = _tasks(FIGURES, None, None, True)
    problems = " ".join(dict.fromkeys(task.problem.label for task in (*tasks, *small)))
    print(textwrap.indent(textwrap.fill(problems, 90, break_on_hyphens=False), "  "))
    print(f"{len(tasks)} runs in all; figures share some of theirs")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    tasks = _chosen(_sized(arguments.figures, arguments), arguments)
    folder = arguments.out or _default_folder(arguments)
    for problem in dict.fromkeys(task.problem for task in tasks if task.problem.data):
        problem.build(0)  # data that are missing are fetched once, or missed before all the work
    searches = [task for task in tasks if task.strategy]
    if searches:
        print(
            f"{len(searches)} runs of {searches[0].evals} evaluations, {N_INIT} of them initial; "
            f"acquisition evaluations a suggestion: 30·D, at least 1000 and at most {MOST_EVALS}, "
            "for all but those that have no limit (bench list)"
        )
    workers = arguments.workers
    if workers is None:
        workers = cores() * (4 if arguments.device else 1)
    whole_number("--workers", workers, 1)
    failed = run_all(tasks, Store(folder), workers, arguments.dask, arguments.device)
    if failed:
        print(
            f"transect: {len(failed)} of {len(tasks)} runs failed; the same command tries them "
            "again",
            file=sys.stderr,
        )
        return 1
    print(f"all {len(tasks)} runs are in {folder}")
    return 0


def _pack(arguments: argparse.Namespace) -> int:
    table = _table(FIGURES, arguments)
    pack(table, arguments.file)
    runs = sum(len(cell.seeds) for cell in table.cells.values())
    wanted = len(_sized(FIGURES, arguments))
    size = arguments.file.stat().st_size / 1e6
    print(f"{runs} of {wanted} runs in {arguments.file}, {size:.2f} MB")
    return 0


def _plot(arguments: argparse.Namespace) -> int:
    from .pictures import draw

    names = arguments.figures or list(FIGURES)
    table = _table(names, arguments)
    for name in names:
        for path in draw(FIGURES[name], table, arguments.out):
            print(path)
    return 0


def _claims(arguments: argparse.Namespace) -> int:
    from .claims import judge, markdown, short

    verdicts = judge(_table(FIGURES, arguments))
    print(short(verdicts) if arguments.short else markdown(verdicts))
    return 0


def _medians(arguments: argparse.Namespace) -> int:
    names = arguments.figures or list(FIGURES)
    table = _table(names, arguments)
    print("\n\n".join(medians(FIGURES[name], table) for name in names))
    return 0


def _costs(arguments: argparse.Namespace) -> int:
    print(costs(_table(FIGURES, arguments)))
    return 0


def _table(figures: Collection[str], arguments: argparse.Namespace) -> Table:
    """Results of figures, from a packed file or from a folder."""
    source = arguments.results or _default_folder(arguments)
    tasks = _sized(figures, arguments)
    if source.is_file():
        if arguments.quick or arguments.repeats or arguments.evals:
            raise ValueError("--quick, --repeats and --evals choose from a folder, not a file")
        return unpack(source)
    table = Store(source).table(tasks)
    if not any((task.problem.label, task.label) in table.cells for task in tasks if task.strategy):
        raise ValueError(
            f"{source} has no results of {max(task.evals for task in tasks)} evaluations; say "
            "--quick, --evals and --repeats as for 'bench run', and --results for another place"
        )
    return table


def _default_folder(arguments: argparse.Namespace) -> Path:
    # apart: a run finds results of other settings in its way, and sets them aside
    name = "results-quick" if arguments.quick else "results"
    return Path(name if arguments.evals is None else f"{name}-{arguments.evals}")


def _sized(figures: Collection[str], arguments: argparse.Namespace) -> list[Task]:
    """The runs of figures, in the size that was asked for."""
    _check("figure", figures, FIGURES)
    if arguments.repeats is not None:
        whole_number("--repeats", arguments.repeats, 1)
    if arguments.evals is not None:
        whole_number("--evals", arguments.evals, N_INIT + 1)
    return _tasks(figures, arguments.repeats, arguments.evals, arguments.quick)


def _tasks(figures: Iterable[str], *size: Any) -> list[Task]:
    """The runs of figures, each once."""
    tasks = (task for name in figures for task in FIGURES[name].tasks(*size))
    return list({task.key: task for task in tasks}.values())


def _chosen(tasks: list[Task], arguments: argparse.Namespace) -> list[Task]:
    """Those that --strategies and --problems leave; a problem's name means all of its sizes."""
    if arguments.strategies is not None:
        wanted = arguments.strategies.split(",")
        _check("strategy", wanted, dict.fromkeys(task.label for task in tasks))
        tasks = [task for task in tasks if task.label in wanted]
    if arguments.problems is not None:
        wanted = arguments.problems.split(",")
        names = dict.fromkeys(task.problem.name for task in tasks)
        _check("problem", wanted, [*names, *dict.fromkeys(task.problem.label for task in tasks)])
        tasks = [t for t in tasks if t.problem.name in wanted or t.problem.label in wanted]
    return tasks


def _check(what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r} here; there are {', '.join(known)}")
