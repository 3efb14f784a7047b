"""Studies: what to optimise and how, in a TOML file.

Every error names the key, as ``run.max_evals``, and the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._array import Host
from ._checks import is_real, known_name, positive_number, whole_number
from .loop import maximize, minimize
from .objectives import Program, PythonFunction
from .optimizer import Optimizer
from .space import Space
from .strategies import BY_NAME, Setting, Strategy

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

T = TypeVar("T")
Check = Callable[[str, Any], T]  # takes a key and its value; returns it, or raises ValueError

# Of a space: lower, upper, which are logarithmic, which are integers, names.
Parts = tuple[Host, Host, NDArray[np.bool_], NDArray[np.bool_], tuple[str, ...] | None]

SCALES = ("linear", "log")
COMPACT = ("dim", "lower", "upper", "scale", "integer")
VARIABLE = ("name", "lower", "upper", "scale", "integer")
RUN = ("strategy", "max_evals", "maximize", "journal")
DEFAULT_EVALS = 200
SQLITE = b"SQLite format 3\0"  # what a journal begins with

# What minimize takes under the same names.
OPTIONS: Mapping[str, Check[Any]] = {
    "seed": partial(whole_number, least=0),
    "n_init": partial(whole_number, least=1),
    "max_time": positive_number,
    "suggest_time": positive_number,
    "workers": partial(whole_number, least=1),
    "eval_time": positive_number,
    "retries": partial(whole_number, least=0),
}


@dataclass(frozen=True, eq=False)
class Study:
    """A study file, read and checked; its objective is not looked for before it is run."""

    path: Path
    objective: PythonFunction | Program
    space: Space
    strategy: Strategy
    journal: Path
    max_evals: int
    maximize: bool
    options: Mapping[str, Any]  # of minimize, those that are given

    @property
    def begun(self) -> bool:
        """Whether there is a journal to go on from."""
        return self.journal.is_file() and self.journal.stat().st_size > 0


def load(path: str | Path) -> Study:
    """The study in a TOML file; ValueError if something in it is wrong."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no study {path}")
    with path.open("rb") as file, _named(path):
        root = _Table.of("", _parsed(file), ("objective", "space", "run", "strategy"))
        space = _space(root)
        run = root.table("run", (*RUN, *OPTIONS))
        max_evals = run.take("max_evals", partial(whole_number, least=1)) or DEFAULT_EVALS
        given = {key: run.take(key, check) for key, check in OPTIONS.items()}
        return Study(
            path,
            _objective(root, space, path.absolute().parent),
            space,
            _strategy(root, run, space.D, max_evals),
            path.parent / (run.take("journal", _text) or f"{path.stem}.db"),
            max_evals,
            run.take("maximize", _flag) or False,
            {key: value for key, value in given.items() if value is not None},
        )


def check(study: Study) -> None:
    """Raise if it cannot be carried out: without its objective, or with the journal of another."""
    with _named(study.path):
        study.objective.check()
    if study.begun:
        named = {key: study.options[key] for key in ("seed", "n_init") if key in study.options}
        Optimizer(
            study.space.bounds,
            study.strategy,
            maximize=study.maximize,
            max_evals=study.max_evals,
            journal=study.journal,
            **named,
        ).close()


def carry_out(study: Study) -> OptimizeResult:
    """Run a study, or go on from where its journal ends; see :func:`check`."""
    call = maximize if study.maximize else minimize
    return call(
        study.objective,
        study.space.bounds,
        study.max_evals,
        study.strategy,
        journal=study.journal,
        **study.options,
    )


def _parsed(file: BinaryIO) -> dict[str, Any]:
    """What is in a TOML file."""
    is_journal = file.read(len(SQLITE)) == SQLITE
    file.seek(0)
    if is_journal:
        raise ValueError("this is a journal, not a study; status, best and report take journals")
    try:
        return tomllib.load(file)
    except UnicodeDecodeError:
        raise ValueError("a study is a text file in TOML, and this is no text") from None


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in errors about what is in it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


# --- the parts of a study ------------------------------------------------------------


def _objective(root: _Table, space: Space, folder: Path) -> PythonFunction | Program:
    table = root.table("objective", ("function", "command"))
    function, command = table.take("function", _text), table.take("command", _arguments)
    if (function is None) == (command is None):
        raise ValueError("objective needs either function or command")
    if command is not None:
        return Program(space, folder, command)
    module, _, name = str(function).partition(":")
    if not (module and name):
        raise ValueError(f'objective.function must be "module:name", got {function!r}')
    return PythonFunction(space, folder, module, name)


def _space(root: _Table) -> Space:
    table = root.table("space", (*COMPACT, "variables"))
    parts = _one_by_one(table) if "variables" in table.entries else _all_alike(table)
    try:
        return Space(*parts)
    except ValueError as error:
        raise ValueError(f"space: {error}") from None


def _all_alike(table: _Table) -> Parts:
    """From dim, lower and upper, the latter two numbers or lists."""
    lower, upper = table.need("lower", _numbers), table.need("upper", _numbers)
    dim = table.take("dim", partial(whole_number, least=1))
    lengths = {len(bound) for bound in (lower, upper) if isinstance(bound, list)}
    lengths |= set() if dim is None else {dim}
    if not lengths:
        raise ValueError("space.dim is missing; it is needed where lower and upper are numbers")
    if len(lengths) > 1:
        raise ValueError("space.lower and space.upper must have as many numbers as space.dim says")
    D = lengths.pop()
    log, integer = table.take("scale", _scale) == "log", table.take("integer", _flag) or False
    return np.full(D, lower), np.full(D, upper), np.full(D, log), np.full(D, integer), None


def _one_by_one(table: _Table) -> Parts:
    """From a table for each variable."""
    other = [key for key in COMPACT if key in table.entries]
    if other:
        raise ValueError(f"space.{other[0]} cannot be given together with space.variables")
    variables = [
        _Table.of(f"space.variables[{i}]", entries, VARIABLE)
        for i, entries in enumerate(table.need("variables", _list))
    ]
    names = tuple(v.need("name", _text) for v in variables)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"space.variables must have different names; {twice[0]!r} comes twice")
    return (
        np.array([v.need("lower", _number) for v in variables]),
        np.array([v.need("upper", _number) for v in variables]),
        np.array([v.take("scale", _scale) == "log" for v in variables]),
        np.array([v.take("integer", _flag) or False for v in variables]),
        names,
    )


def _strategy(root: _Table, run: _Table, D: int, max_evals: int) -> Strategy:
    name = known_name("run.strategy", run.take("strategy", _text) or "anchored", BY_NAME)
    # A surrogate is an object, which a table of plain entries cannot say.
    known = [field.name for field in fields(BY_NAME[name]) if field.name != "surrogate"]
    options = root.table("strategy", known).entries
    try:
        strategy: Strategy = BY_NAME[name](**options)
        strategy.start(Setting(D, 0, None, max_evals, None))  # whether it fits so many variables
    except (TypeError, ValueError) as error:
        raise ValueError(f"strategy: {error}") from None
    return strategy


# --- tables and the types of their entries -------------------------------------------


@dataclass(frozen=True)
class _Table:
    """A table of a TOML file; ``name`` is what its keys begin with."""

    name: str
    entries: Mapping[str, Any]

    @staticmethod
    def of(name: str, entries: Any, known: Collection[str]) -> _Table:
        if not isinstance(entries, dict):
            raise ValueError(f"{name} must be a table, got {entries!r:.100}")
        table = _Table(name, entries)
        unknown = [key for key in entries if key not in known]
        if unknown:
            raise ValueError(f"{table.key(unknown[0])} is unknown; known are {', '.join(known)}")
        return table

    def key(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def table(self, key: str, known: Collection[str]) -> _Table:
        """A table in this one; without entries, if it is not there."""
        return _Table.of(self.key(key), self.entries.get(key, {}), known)

    def take(self, key: str, check: Check[T]) -> T | None:
        return check(self.key(key), self.entries[key]) if key in self.entries else None

    def need(self, key: str, check: Check[T]) -> T:
        if key not in self.entries:
            raise ValueError(f"{self.key(key)} is missing")
        return check(self.key(key), self.entries[key])


def _text(key: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError(f"{key} must be a text, got {value!r}")


def _flag(key: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"{key} must be true or false, got {value!r}")


def _number(key: str, value: Any) -> float:
    if is_real(value):
        return float(value)
    raise ValueError(f"{key} must be a number, got {value!r}")


def _list(key: str, value: Any) -> list[Any]:
    if isinstance(value, list) and value:
        return value
    raise ValueError(f"{key} must be a list that is not empty, got {value!r:.100}")


def _numbers(key: str, value: Any) -> float | list[float]:
    """One for all, or one for each variable."""
    if not isinstance(value, list):
        return _number(key, value)
    return [_number(f"{key}[{i}]", entry) for i, entry in enumerate(_list(key, value))]


def _scale(key: str, value: Any) -> str:
    if value in SCALES:
        return str(value)
    raise ValueError(f"{key} must be one of {', '.join(SCALES)}; got {value!r}")


def _arguments(key: str, value: Any) -> tuple[str, ...]:
    """A program and its arguments, which may be empty."""
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise ValueError(f"{key} must be a list of texts, the program first; got {value!r:.100}")
    return _text(f"{key}[0]", value[0]), *value[1:]
