"""The ``transect`` command. Thin: every subcommand calls the library."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import __version__
from ._checks import positive_number, whole_number
from .experiments.command import add_bench


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="transect",
        description="Bayesian optimisation of expensive functions of many variables.",
    )
    parser.add_argument("--version", action="version", version=f"transect {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    demo = commands.add_parser(
        "demo", help="minimise a 100-dimensional problem beside random search, with a picture"
    )
    demo.add_argument("--dim", type=int, default=100, help="variables (default 100)")
    demo.add_argument("--evals", type=int, default=200, help="evaluations (default 200)")
    demo.add_argument("--seed", type=int, default=0, help="seed of problem and run (default 0)")
    demo.add_argument(
        "--out", type=Path, default=Path("demo.png"), help="picture to write (default demo.png)"
    )
    demo.set_defaults(call=_demo)
    _add_studies(commands)
    _add_plan(commands)
    _add_report(commands)
    add_bench(commands)
    arguments = parser.parse_args(argv)
    try:
        code: int = arguments.call(arguments)
        sys.stdout.flush()  # here, where an error is still ours to handle
    except BrokenPipeError:  # whoever reads the output, head for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, ImportError, OSError) as error:
        print(f"transect: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # as shells have it for a command stopped by Ctrl-C
    return code


def _add_studies(commands: Any) -> None:
    verbs = {
        "run": "make the evaluations that a study file asks for, or go on with them",
        "resume": "the same, but only if there is something to go on with",
    }
    for verb, what in verbs.items():
        command = commands.add_parser(verb, help=what)
        command.add_argument("study", type=Path, metavar="STUDY.toml", help="see docs/runs.md")
        command.set_defaults(call=_study)
    verbs = {"status": "how far a run is", "best": "the best value of a run, and its point"}
    for verb, what in verbs.items():
        command = commands.add_parser(verb, help=what)
        command.add_argument("run", type=Path, metavar="STUDY.toml|RUN.db")
        command.add_argument("--json", action="store_true", help="as one JSON object")
        command.set_defaults(call=_study)


def _study(arguments: argparse.Namespace) -> int:
    from . import study_command

    calls = {
        "run": study_command.run,
        "resume": study_command.run,
        "status": study_command.status,
        "best": study_command.best,
    }
    return calls[arguments.command](arguments)


def _add_plan(commands: Any) -> None:
    plan = commands.add_parser(
        "plan", help="what MS-UCB can afford in a given time, and what the theory says of it"
    )
    plan.add_argument("--dim", type=int, required=True, help="variables")
    plan.add_argument("--evals", type=int, required=True, help="evaluations")
    plan.add_argument("--seconds", type=float, help="seconds a suggestion may take")
    plan.add_argument("--total", type=float, help="seconds all suggestions may take together")
    plan.add_argument("--memory", type=float, help="GB")
    plan.set_defaults(call=_plan)


def _plan(arguments: argparse.Namespace) -> int:
    from .planner import plan

    for name in ("dim", "evals"):
        whole_number(f"--{name}", getattr(arguments, name), 2)
    for name in ("seconds", "total", "memory"):
        if getattr(arguments, name) is not None:
            positive_number(f"--{name}", getattr(arguments, name))
    found = plan(
        arguments.dim,
        arguments.evals,
        suggest_time=arguments.seconds,
        total_time=arguments.total,
        memory=None if arguments.memory is None else 1e9 * arguments.memory,
    )
    print(found)
    if not found.affordable:
        return 1
    best = found.chosen
    print(f"\nstrategy=MSUCB(d={best.d}, n0={best.n0}, alpha={best.alpha}, beta='corrected')")
    return 0


def _add_report(commands: Any) -> None:
    report = commands.add_parser(
        "report", help="what a run found, what its suggestions took, which guarantee it has"
    )
    report.add_argument("run", type=Path, help="a study.toml, or a journal: minimize(journal=…)")
    report.add_argument("--all", action="store_true", help="every suggestion, not a dozen")
    report.set_defaults(call=_report)


def _report(arguments: argparse.Namespace) -> int:
    from .report import report
    from .study_command import journal_of

    print(report(journal_of(arguments.run), arguments.all))
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    import time

    from .loop import minimize
    from .plots import convergence, require_matplotlib
    from .problems import levy
    from .strategies import RandomSearch

    for name, least in (("dim", 2), ("evals", 1), ("seed", 0)):
        whole_number(f"--{name}", getattr(arguments, name), least)
    out = arguments.out if arguments.out.suffix else arguments.out.with_suffix(".png")
    if not out.parent.is_dir():
        raise ValueError(f"--out: there is no folder {out.parent}")
    require_matplotlib()
    f = levy(arguments.dim, shift_seed=arguments.seed)
    print(
        f"Levy's function of {arguments.dim} variables, shifted, its least value 0; "
        f"{arguments.evals} evaluations each"
    )
    start = time.perf_counter()
    ours = minimize(f, f.box, arguments.evals, seed=arguments.seed)
    seconds = time.perf_counter() - start
    random = minimize(f, f.box, arguments.evals, RandomSearch(), seed=arguments.seed)
    print(f"  transect       best {ours.fun:10.4g}   {1e3 * seconds / ours.nfev:.0f} ms a point")
    print(f"  random search  best {random.fun:10.4g}")
    print(f"  {ours.guarantee}")
    path = convergence(
        {"transect": ours, "random search": random},
        out,
        title=f"Levy's function, {arguments.dim} variables",
        initial=sum(t.info["source"] == "initial" for t in ours.trials),
    )
    print(f"  picture        {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
