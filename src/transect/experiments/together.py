"""Evaluations of many runs made together, by the one process that has the GPU.

Runs live in processes of their own. One that needs a value asks for it through its pipe;
when all of them wait, their points are valued at once. Runs made together also end together,
so values are kept on disk until then: an interrupted run, begun again, asks the same
questions and has their answers at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._array import Host
from ..problems import Problem
from ..problems.problem import Batched, Draw
from .task import ProblemSpec, Task


@dataclass(frozen=True, eq=False)
class Question:
    """What is the value of this point?"""

    run: str  # the task's key
    problem: ProblemSpec
    u: Host  # (D,)
    draw: Draw

    @property
    def name(self) -> str:
        """The same for the same point and draw in the same version, and for no other."""
        what = f"{__version__} {self.draw}".encode() + self.u.tobytes()
        return hashlib.sha256(what).hexdigest()


def ask(pipe: Connection, task: Task, problem: Problem, u: Host) -> float:
    """The value of u, from the other end of the pipe where many are valued together."""
    objective: Any = problem.objective
    if not isinstance(objective, Batched):
        return problem(u)
    pipe.send(Question(task.key, task.problem, u, objective.draw()))
    return float(pipe.recv())


class Evaluator:
    """Answers questions on a device, those on the same problem at once.

    The answers to a run's questions are in ``folder``/<its key>.values until it is over.
    """

    def __init__(self, device: Any, folder: Path) -> None:
        self.device, self.folder = device, folder
        self._objectives: dict[ProblemSpec, Batched] = {}
        self._known: dict[str, dict[str, float]] = {}  # by run

    def answer(self, questions: Sequence[Question]) -> list[float]:
        """The values, in the order of the questions."""
        names = [question.name for question in questions]
        known = [self._of(q.run).get(name) for q, name in zip(questions, names, strict=True)]
        new = [i for i, value in enumerate(known) if value is None]
        values = np.array(known, dtype=np.float64)  # nan where it is new
        for problem in dict.fromkeys(questions[i].problem for i in new):
            which = [i for i in new if questions[i].problem == problem]
            points = np.stack([questions[i].u for i in which])
            draws = [questions[i].draw for i in which]
            values[which] = self._objective(problem).together(points, draws)
        for i in new:
            self._keep(questions[i].run, names[i], float(values[i]))
        return [float(value) for value in values]

    def forget(self, run: str) -> None:
        """The run is over, and its result kept elsewhere."""
        self._known.pop(run, None)
        self._path(run).unlink(missing_ok=True)

    def _of(self, run: str) -> dict[str, float]:
        """What was answered before it was interrupted, by the questions' names."""
        if run not in self._known:
            self._known[run] = _read(self._path(run))
        return self._known[run]

    def _keep(self, run: str, name: str, value: float) -> None:
        self._known[run][name] = value
        path = self._path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"{name} {value!r}\n")

    def _path(self, run: str) -> Path:
        return self.folder / f"{run}.values"

    def _objective(self, problem: ProblemSpec) -> Batched:
        if problem not in self._objectives:
            objective: Any = problem.build(0, self.device).objective  # seeds come with questions
            assert isinstance(objective, Batched)
            self._objectives[problem] = objective
        return self._objectives[problem]


def _read(path: Path) -> dict[str, float]:
    """Values by the questions' names. A last line that was cut off is cut away."""
    if not path.is_file():
        return {}
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    known: dict[str, float] = {}
    for line in whole.splitlines():
        with suppress(ValueError):  # a damaged one: to be valued again
            name, value = line.split()
            known[name] = float(value)
    return known
