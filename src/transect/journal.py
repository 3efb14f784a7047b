"""A run on disk: one SQLite file, written as the run goes on, readable at any time.

Vectors are blobs of little-endian doubles and certificates are JSON, so that opening a
file of unknown origin can do no harm. A write has reached the disk when it returns.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._array import Host
from .optimizer import Trial

APPLICATION = 0x7452614E  # in the file's header: it is one of ours
FORMAT = 1

TABLES = """
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    x BLOB NOT NULL,
    info TEXT NOT NULL,
    state TEXT NOT NULL,
    value REAL,
    error TEXT
);
"""


class Journal:
    """A new file that trials are written to."""

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        """``settings``: what describes the run, in plain numbers, texts and lists."""
        self.path = Path(path)
        if self.path.exists():
            raise FileExistsError(
                f"{self.path} exists already, and a run does not write over another one; "
                "choose another name"
            )
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path.parent} for the journal")
        self._file = sqlite3.connect(self.path, isolation_level=None)
        self._file.execute("PRAGMA journal_mode = WAL")  # readers do not wait for the writer
        self._file.execute("PRAGMA synchronous = FULL")
        self._file.execute(f"PRAGMA application_id = {APPLICATION}")
        self._file.execute(f"PRAGMA user_version = {FORMAT}")
        self._file.executescript(TABLES)
        rows = [(key, json.dumps(value, default=_plain)) for key, value in settings.items()]
        with self._file:
            self._file.executemany("INSERT INTO run VALUES (?, ?)", rows)

    def write(self, trial: Trial) -> None:
        """Keep a trial as it is now, in the place of what it was before."""
        row = (
            trial.id,
            np.ascontiguousarray(trial.x, dtype="<f8").tobytes(),
            json.dumps(trial.info, default=_plain),
            trial.state,
            trial.value,
            trial.error,
        )
        self._file.execute("INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True, eq=False)
class Run:
    """What a journal holds."""

    settings: Mapping[str, Any]
    trials: tuple[Trial, ...]


def read(path: str | Path) -> Run:
    """The run in the file at ``path``, finished or not; nothing is changed in it."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no journal {path}")
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            _check(file, path)
            settings = {key: json.loads(value) for key, value in file.execute("SELECT * FROM run")}
            trials = tuple(_trial(*row) for row in file.execute("SELECT * FROM trials ORDER BY id"))
    except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no journal, or a damaged one: {error}") from None
    return Run(settings, trials)


def _check(file: sqlite3.Connection, path: Path) -> None:
    (application,) = file.execute("PRAGMA application_id").fetchone()
    (version,) = file.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise ValueError(f"{path} is an SQLite file, but not a journal of transect")
    if version != FORMAT:
        raise ValueError(f"{path} has format {version} of journals, this version reads {FORMAT}")


def _trial(
    id: int, x: bytes, info: str, state: str, value: float | None, error: str | None
) -> Trial:
    point: Host = np.frombuffer(x, dtype="<f8")
    return Trial(id, point, json.loads(info), value, state, error)


def _plain(value: Any) -> Any:
    """What JSON has no word for: arrays and NumPy's numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be kept in a journal")
