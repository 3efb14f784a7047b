"""Results on disk: one JSON file a run, there as a whole or not at all.

A file says what made it (format, version, settings of the task) and carries a checksum, so
that one which is cut off, damaged or of another making is never taken for a result.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from .. import __version__
from .._array import Host
from .table import Cell, Table
from .task import Result, Task

FORMAT = 1  # of a file; a change of what it holds raises it

log = logging.getLogger("transect")


class Store:
    """Results under ``folder``, as <problem>/<strategy>/<seed>.json."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def save(self, task: Task, result: Result) -> None:
        """Keep the result of a task. A full disk or a killed process leaves no file at all."""
        path = self._path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _encode(task, result))

    def load(self, task: Task) -> Result | None:
        """The result of a task, None where there is none.

        A file that cannot be one raises ValueError, which says why.
        """
        try:
            data = self._path(task).read_bytes()
        except FileNotFoundError:
            return None
        return _decode(task, data)

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks without a result. Files that cannot be theirs are set aside, not deleted."""
        found, unusable = self._read(tasks)
        for paths in unusable.values():
            for path in paths:
                _set_aside(path)
        _say("set aside, to be done again", unusable)
        return [task for task, result in found if result is None]

    def table(self, tasks: Iterable[Task]) -> Table:
        """The results of these tasks, as many repeats as there are; cells without any are left out.

        Files that cannot be results of these tasks are passed over and stay where they are.
        """
        found, unusable = self._read(tasks)
        _say("left out", unusable)
        runs: dict[tuple[str, str], dict[int, Result]] = {}
        for task, result in found:
            if result is not None:
                runs.setdefault((task.problem.label, task.label), {})[task.seed] = result
        return Table({key: _cell(by_seed) for key, by_seed in runs.items()})

    def _read(
        self, tasks: Iterable[Task]
    ) -> tuple[list[tuple[Task, Result | None]], dict[str, list[Path]]]:
        """Tasks, each once, and their results; unusable files by what is wrong with them."""
        found: list[tuple[Task, Result | None]] = []
        unusable: dict[str, list[Path]] = {}
        for task in {task.key: task for task in tasks}.values():
            try:
                found.append((task, self.load(task)))
            except ValueError as error:
                found.append((task, None))
                unusable.setdefault(str(error), []).append(self._path(task))
        return found, unusable

    def _path(self, task: Task) -> Path:
        return self.folder / f"{task.key}.json"


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that is there as a whole or not at all, whatever happens meanwhile.

    The bytes reach the disk under another name first; a rename is one step.
    """
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")  # its own: writers may overlap
    try:
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:  # fsync's error names no file
        raise OSError(error.errno, f"{error.strerror}; nothing was written", str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def _encode(task: Task, result: Result) -> bytes:
    record = {
        "format": FORMAT,
        "transect": __version__,
        "task": _settings(task),
        "values": _plain(result.values),
        "least": _plain(np.array([result.least]))[0],
        "evaluations": _plain(result.evaluations),
        "seconds": _plain(result.seconds),
    }
    return json.dumps({**record, "checksum": _checksum(record)}, allow_nan=False).encode()


def _decode(task: Task, data: bytes) -> Result:
    """The result a file holds; a ValueError that says why it is not the task's."""
    try:
        record = json.loads(data)
    except ValueError:
        raise ValueError("cut off or damaged") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"not of format {FORMAT}")
    if record.pop("checksum", None) != _checksum(record):
        raise ValueError("damaged: the checksum is not that of the contents")
    if record["transect"] != __version__:
        raise ValueError(f"made by transect {record['transect']}, this is {__version__}")
    for name, expected in _settings(task).items():
        if record["task"].get(name) != expected:
            raise ValueError(f"made with {name} = {record['task'].get(name)}, not {expected}")
    return Result(
        task.key,
        _numbers(record["values"]),
        float(_numbers([record["least"]])[0]),
        np.array(record["evaluations"], dtype=np.int64),
        _numbers(record["seconds"]),
    )


def _settings(task: Task) -> dict[str, Any]:
    """What a result depends on."""
    return {
        "key": task.key,
        "evals": task.evals,
        "suggest_evals": task.suggest_evals,
        "strategy": repr(task.strategy),
    }


def _checksum(record: Mapping[str, Any]) -> str:
    # Python writes the shortest digits that give the same float, so what was read is
    # written again as it was.
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _plain(values: Any) -> list[float | None]:
    """An array (n,) as JSON has it: null for nan, which JSON lacks."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def _numbers(values: list[float | None]) -> Host:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _set_aside(path: Path) -> None:
    number = 1
    while (aside := path.with_name(f"{path.name}.set-aside-{number}")).exists():
        number += 1
    path.rename(aside)


def _say(what: str, unusable: Mapping[str, list[Path]]) -> None:
    """One message for each reason: a change of settings concerns thousands of files."""
    for reason, paths in unusable.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        log.warning("%s%s: %s (%s)", paths[0], more, what, reason)


def _cell(by_seed: Mapping[int, Result]) -> Cell:
    results = list(by_seed.values())
    regret = np.stack([r.values - r.least for r in results])  # (repeats, evals)
    evaluations = np.concatenate([r.evaluations for r in results])
    evaluations = evaluations[evaluations > 0]  # of those that searched; random points do not
    seconds = np.concatenate([r.seconds for r in results])
    return Cell(
        seeds=tuple(by_seed),
        regret=regret,
        final=np.fmin.reduce(regret, axis=1),  # failures, nan, do not count
        evaluations=float(np.mean(evaluations)) if evaluations.size else 0.0,
        seconds=float(np.median(seconds)) if seconds.size else 0.0,
    )
