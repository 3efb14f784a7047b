"""``transect run``, ``resume``, ``status`` and ``best``: studies from the command line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .journal import Run, read
from .study import Study, carry_out, check, load
from .trial import Trial, made

SUFFIX = ".toml"  # of a study; all else is taken for a journal


@dataclass(frozen=True, eq=False)
class _Kept:
    """A run on disk; ``study`` is None where only the journal was named."""

    journal: Path
    run: Run
    study: Study | None = None

    @property
    def best(self) -> Trial | None:
        return _best(self.run.trials, self.run.settings["maximize"])

    @property
    def max_evals(self) -> int | None:
        planned: int | None = self.run.settings["max_evals"]
        return planned if self.study is None else self.study.max_evals

    def count(self, state: str) -> int:
        return sum(t.state == state for t in self.run.trials if t.info["source"] != "told")

    @property
    def told(self) -> int:
        return sum(t.info["source"] == "told" for t in self.run.trials)


def run(arguments: argparse.Namespace) -> int:
    """Make the evaluations of a study, or those that its journal does not have.

    Exit code 0: all were made, and one at least gave a value; else 1.
    """
    study = load(arguments.study)
    if arguments.command == "resume" and not study.begun:
        raise FileNotFoundError(
            f"there is no journal {study.journal} to go on from; transect run begins one"
        )
    kept = _of_study(study) if study.begun else None
    check(study)
    if kept is not None:
        print(
            f"going on from {study.journal}: {len(made(kept.run.trials))} of {study.max_evals} "
            "evaluations made",
            flush=True,  # before evaluations that may take hours
        )
    result = _result(study)
    print(result.message)
    found = _best(result.trials, study.maximize)
    if found is not None:
        print(_headline(found))
    print(f"journal {study.journal}")
    return 0 if result.success and result.nfev >= study.max_evals else 1


def status(arguments: argparse.Namespace) -> int:
    """How far a run is."""
    kept = _kept(arguments.run)
    numbers = _status(kept)
    if arguments.json:
        print(json.dumps(numbers))
        return 0
    of = "" if numbers["max_evals"] is None else f" of {numbers['max_evals']}"
    told = f"; {numbers['told']} told from elsewhere" if numbers["told"] else ""
    print(
        f"{kept.journal}: {numbers['done']}{of} evaluations done, "
        f"{numbers['failed']} failed, {numbers['pending']} pending{told}"
    )
    if kept.best is not None:
        print(_headline(kept.best))
    print(f"suggestions took {numbers['suggest_seconds']:.3g} s together")
    return 0


def best(arguments: argparse.Namespace) -> int:
    """The best value and its point."""
    kept = _kept(arguments.run)
    found = kept.best
    if found is None:
        print("null" if arguments.json else f"{kept.journal}: no evaluation has succeeded yet")
        return 1
    point = {"x": found.x.tolist()}
    if kept.study is not None:
        space = kept.study.space
        point = space.point(space.real(found.x))
    if arguments.json:
        print(json.dumps({"value": found.value, "evaluation": found.id + 1, **point}))
        return 0
    print(_headline(found))
    print(_in_words(point))
    return 0


def _status(kept: _Kept) -> dict[str, Any]:
    found = kept.best
    return {
        "journal": str(kept.journal),
        "done": kept.count("done"),
        "failed": kept.count("failed"),
        "pending": kept.count("pending"),
        "told": kept.told,
        "max_evals": kept.max_evals,
        "value": None if found is None else found.value,
        "evaluation": None if found is None else found.id + 1,
        "suggest_seconds": sum(t.info["seconds"] for t in kept.run.trials),
    }


def journal_of(path: Path) -> Path:
    """Of a study; else the path itself."""
    return load(path).journal if path.suffix == SUFFIX else path


def _kept(path: Path) -> _Kept:
    """The run of a study, or of a journal."""
    return _of_study(load(path)) if path.suffix == SUFFIX else _Kept(path, read(path))


def _of_study(study: Study) -> _Kept:
    run = read(study.journal)
    if run.settings["bounds"] != study.space.bounds.tolist():
        raise ValueError(f"{study.path}: {study.journal} is of another run: space differs")
    return _Kept(study.journal, run, study)


def _best(trials: Sequence[Trial], maximize: bool) -> Trial | None:
    sign = 1.0 if maximize else -1.0
    done = [t for t in trials if t.value is not None]
    return max(done, key=lambda t: sign * float(t.value or 0.0), default=None)


def _headline(found: Trial) -> str:
    return f"best value {found.value:.10g}, evaluation {found.id + 1}"


def _result(study: Study) -> Any:
    try:
        return carry_out(study)
    except TypeError as error:  # a first value that is no number ends the run
        if "the objective's value" not in str(error):
            raise
        raise ValueError(f"{study.path}: objective: {error}") from error


def _in_words(point: Mapping[str, Any]) -> str:
    if "names" not in point:
        return "x = " + ", ".join(f"{v:.10g}" for v in point["x"])
    width = max(len(name) for name in point["names"])
    pairs = zip(point["names"], point["x"], strict=True)
    return "\n".join(f"  {name:{width}}  {v:.10g}" for name, v in pairs)
