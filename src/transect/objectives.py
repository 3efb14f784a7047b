"""Objectives that are named in words: a function in a module, or a program.

They can be sent to other processes. All take a point as the optimizer sees it, and hand it on in
real units.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from ._array import Host
from .space import Space

FILE = "{file}"  # an argument that stands for a file with the point
TAIL = 500  # characters of a program's output that an error repeats


@dataclass(frozen=True)
class PythonFunction:
    """A function of a NumPy vector (D,), in a module that is in ``folder`` or installed."""

    space: Space
    folder: Path
    module: str
    name: str

    def check(self) -> None:
        """Raise ValueError if there is no such function."""
        try:
            found = _imported(self.folder, self.module, self.name)
        except Exception as error:  # whatever the user's module does when it is imported
            raise ValueError(f"objective.function: {type(error).__name__}: {error}") from error
        if not callable(found):
            raise ValueError(f"objective.function: {self.name} is no function, but {found!r:.100}")

    def __call__(self, x: Host) -> Any:
        return _imported(self.folder, self.module, self.name)(self.space.real(x))


@dataclass(frozen=True)
class Program:
    """A program, run in ``folder`` without a shell, whose last line of output is the value.

    The point is JSON, ``{"x": […], "names": […]}``: on standard input, or in a file whose path
    takes the place of the argument ``{file}``.
    """

    space: Space
    folder: Path
    command: tuple[str, ...]

    def check(self) -> None:
        """Raise ValueError if there is no such program."""
        program = self.command[0]
        beside = os.path.dirname(program) != ""  # with a folder in it, it is not looked up in PATH
        if shutil.which(str(self.folder / program) if beside else program) is None:
            raise ValueError(f"objective.command: there is no program {program}, or it cannot run")

    def __call__(self, x: Host) -> float:
        point = json.dumps(self.space.point(self.space.real(x)))
        if FILE not in self.command:
            return _value(_run(self.command, self.folder, point))
        with TemporaryDirectory(prefix="transect-") as folder:
            file = Path(folder) / "point.json"
            file.write_text(point)
            command = [str(file) if part == FILE else part for part in self.command]
            return _value(_run(command, self.folder, ""))


@functools.cache
def _imported(folder: Path, module: str, name: str) -> Callable[[Host], Any]:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    found: Callable[[Host], Any] = getattr(importlib.import_module(module), name)
    return found


def _run(command: Sequence[str], folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Like ``subprocess.run``, except that nothing of the program outlives its evaluation."""
    with (
        _stopped_by_exception(),
        subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # a group of its own, which can be ended as a whole
        ) as process,
    ):
        try:
            out, err = process.communicate(text)
        except BaseException:
            _kill(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _value(done: subprocess.CompletedProcess[str]) -> float:
    """The last number that a program printed; RuntimeError if it failed or there is none."""
    errors = done.stderr.strip()[-TAIL:]
    said = f"; standard error ends with: {errors}" if errors else ""
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}{said}")
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    try:
        return float(last)
    except ValueError:
        what = f"the last line of standard output is no number: {last[-TAIL:]!r}"
        raise RuntimeError(f"exit code 0, but {what}{said}") from None


@contextlib.contextmanager
def _stopped_by_exception() -> Iterator[None]:
    """A request to end this process, as after eval_time, is an exception here.

    Otherwise it would leave the program behind.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, _: Any) -> NoReturn:
    raise SystemExit(128 + number)  # as shells have it


def _kill(process: subprocess.Popen[str]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
