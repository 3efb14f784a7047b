"""A run on disk: one SQLite file, written as the run goes on, readable at any time.

Vectors are blobs of little-endian doubles, everything else is JSON, so that opening a file of
unknown origin can do no harm. A write has reached the disk when it returns. Every row has a
checksum: SQLite notices damage to its own pages, not to what is in them.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._array import Host
from ._lock import FileLock
from .box import Box
from .trial import Trial

APPLICATION = 0x7452614E  # in the file's header: it is one of ours
FORMAT = 4
ARRAY = "array"  # a JSON object with this key is one

TABLES = """
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    info TEXT NOT NULL,
    known INTEGER NOT NULL, -- how many had been told when it was asked for
    state TEXT NOT NULL,
    value REAL,
    error TEXT,
    told INTEGER UNIQUE,    -- its place in the order of the tells
    checksum INTEGER NOT NULL
);
CREATE TABLE points (
    id INTEGER PRIMARY KEY,
    point BLOB NOT NULL,
    unit INTEGER NOT NULL   -- 1: [-1, 1] stands for the bounds, 0: in the user's units
);
CREATE TABLE queue (place INTEGER PRIMARY KEY, x BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE memory (ask INTEGER NOT NULL, value TEXT NOT NULL, checksum INTEGER NOT NULL);
"""

ENTRIES = "SELECT t.*, p.point, p.unit FROM trials t JOIN points p ON t.id = p.id ORDER BY t.id"


@dataclass(frozen=True, eq=False)
class Entry:
    """A trial, and what its place in the run is."""

    trial: Trial
    u: Host | None  # (D,) in [-1, 1], from which x follows; None: it follows from x
    known: int  # how many had been told when it was asked for
    told: int | None  # its place in the order of the tells

    def point(self) -> tuple[bytes, int]:
        """Its vector as it is in the file, and whether that is u."""
        return _bytes(self.trial.x if self.u is None else self.u), int(self.u is not None)

    def row(self) -> tuple[Any, ...]:
        """The rest, with the checksum of all."""
        trial = self.trial
        values = (
            trial.id,
            dumps(trial.info),
            self.known,
            trial.state,
            trial.value,
            trial.error,
            self.told,
        )
        return (*values, _checksum((*values, *self.point())))

    @staticmethod
    def of(row: Sequence[Any], box: Box) -> Entry:
        """From a row of both tables; a ValueError if it is not what was written."""
        *values, checksum, point, unit = row
        if _checksum((*values, point, unit)) != checksum:
            raise ValueError(f"the checksum of trial {row[0]} is wrong")
        id, info, known, state, value, error, told = values
        v = _vector(point)
        if len(v) != box.D:
            raise ValueError(f"trial {id} has {len(v)} coordinates instead of {box.D}")
        x, u = (box.from_unit(v), v) if unit else (v, None)
        return Entry(Trial(id, x, loads(info), value, state, error), u, known, told)


@dataclass(frozen=True, eq=False)
class Run:
    """What a journal holds."""

    settings: Mapping[str, Any]
    entries: tuple[Entry, ...]
    queue: tuple[Host, ...] = ()  # points to ask for first, in the user's units
    memory: tuple[int, Any] | None = None  # what the strategy knew before that ask

    @property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(entry.trial for entry in self.entries)


class Journal:
    """The file of a run under way, and the only one to write to it.

    ``run`` is what it held when it was opened; None: it is new, and :meth:`begin` comes next.
    """

    def __init__(self, path: str | Path) -> None:
        if str(path) == "":
            raise ValueError("journal must be the path of a file, got ''")
        self.path = Path(path)
        if self.path.is_dir():
            raise IsADirectoryError(f"{self.path} is a folder, not a journal")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path.parent} for the journal")
        self._lock = FileLock(self.path.with_name(self.path.name + "-lock"), str(self.path))
        try:
            self.run = None if _is_empty(self.path) else read(self.path)
            self._file = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode = WAL")  # readers do not wait for the writer
            self._file.execute("PRAGMA synchronous = FULL")
            self._open = True
            self._changes: list[tuple[Any, ...]] = []  # rows of settings
        except BaseException:
            self._lock.release()
            raise

    def begin(self, settings: Mapping[str, Any]) -> None:
        """``settings``: what describes the run, in plain numbers, texts and lists."""
        with self._whole():
            for statement in TABLES.split(";"):
                self._file.execute(statement)
            rows = [_checked(key, dumps(value)) for key, value in settings.items()]
            self._file.executemany("INSERT INTO run VALUES (?, ?, ?)", rows)
            self._file.execute(f"PRAGMA application_id = {APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {FORMAT}")

    def change(self, setting: str, value: Any) -> None:
        """Keep another value of a setting, once something else is kept."""
        self._changes.append(_checked(setting, dumps(value)))

    def asked(self, entry: Entry, memory: Any | None = None, *, queued: bool = False) -> None:
        """Keep a trial that was asked for, and what the strategy knew before that.

        ``queued``: it is the first point of the queue, and leaves it.
        """
        with self._whole():
            self._insert(entry)
            if memory is not None:
                self._file.execute("DELETE FROM memory")
                row = _checked(entry.trial.id, dumps(memory))
                self._file.execute("INSERT INTO memory VALUES (?, ?, ?)", row)
            if queued:
                first = "(SELECT min(place) FROM queue)"
                self._file.execute(f"DELETE FROM queue WHERE place = {first}")

    def told(self, entry: Entry) -> None:
        """Keep a trial that was asked for, and has come to its end."""
        with self._whole():
            self._file.execute("REPLACE INTO trials VALUES (?,?,?,?,?,?,?,?)", entry.row())

    def told_at_once(self, entry: Entry) -> None:
        """Keep a trial that was evaluated elsewhere."""
        with self._whole():
            self._insert(entry)

    def queued(self, points: Sequence[Host]) -> None:
        """Keep points (D,) that are to be asked for first, after those that are kept already."""
        with self._whole():
            rows = [_checked(_bytes(x)) for x in points]
            self._file.executemany("INSERT INTO queue (x, checksum) VALUES (?, ?)", rows)

    def close(self) -> None:
        """Nothing more is written; more than once is fine."""
        self._open = False
        self._file.close()
        self._lock.release()

    def _insert(self, entry: Entry) -> None:
        self._file.execute("INSERT INTO trials VALUES (?,?,?,?,?,?,?,?)", entry.row())
        point = (entry.trial.id, *entry.point())
        self._file.execute("INSERT INTO points VALUES (?, ?, ?)", point)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """All of what is written inside is kept, or nothing of it."""
        if not self._open:
            raise ValueError(f"{self.path} was closed; another Optimizer can go on with it")
        self._file.execute("BEGIN IMMEDIATE")
        try:
            for row in self._changes:
                self._file.execute("REPLACE INTO run VALUES (?, ?, ?)", row)
            yield
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")
        self._changes.clear()


def read(path: str | Path) -> Run:
    """The run in the file at ``path``, finished or not; nothing is changed in it."""
    path = Path(path)
    if not path.is_file():
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder, not a journal")
        raise FileNotFoundError(f"there is no journal {path}")
    try:
        with closing(_for_reading(path)) as file:
            _check(file, path)
            file.execute("BEGIN")  # one moment of a run that may go on meanwhile
            settings = {key: loads(value) for key, value in _rows(file, "* FROM run")}
            box = Box.of(settings["bounds"])
            entries = [Entry.of(row, box) for row in file.execute(ENTRIES)]
            _check_order(entries, *file.execute("SELECT count(*) FROM trials").fetchone())
            queue = [_vector(x) for (x,) in _rows(file, "x, checksum FROM queue ORDER BY place")]
            memory = [(int(ask), loads(value)) for ask, value in _rows(file, "* FROM memory")]
    except (sqlite3.DatabaseError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, _Foreign):
            raise ValueError(str(error)) from None
        raise ValueError(f"{path} is no journal, or a damaged one: {error}") from None
    return Run(settings, tuple(entries), tuple(queue), memory[0] if memory else None)


def dumps(tree: Any) -> str:
    """Numbers, texts, arrays, and lists and mappings of these, as JSON that keeps every bit."""
    return json.dumps(tree, default=_plain)


def loads(text: str) -> Any:
    """What ``dumps`` wrote."""
    return json.loads(text, object_hook=_restored)


class _Foreign(ValueError):
    """A file that is whole, but not ours to read."""


def _for_reading(path: Path) -> sqlite3.Connection:
    # Where there is no log nobody writes, and SQLite need not leave one behind for readers.
    still = "" if path.with_name(path.name + "-wal").exists() else "&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{still}", uri=True)


def _is_empty(path: Path) -> bool:
    """Whether there is no file, or one that was begun and never written to."""
    if not path.exists() or path.stat().st_size == 0:
        return True
    try:
        with closing(_for_reading(path)) as file:
            (tables,) = file.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return tables == 0 and _header(file) == (0, 0)
    except sqlite3.DatabaseError:
        return False  # which reading it says more about


def _header(file: sqlite3.Connection) -> tuple[int, int]:
    (application,) = file.execute("PRAGMA application_id").fetchone()
    (version,) = file.execute("PRAGMA user_version").fetchone()
    return application, version


def _check(file: sqlite3.Connection, path: Path) -> None:
    application, version = _header(file)
    if application != APPLICATION:
        raise _Foreign(f"{path} is an SQLite file, but not a journal of transect")
    if version != FORMAT:
        later = "; a later version of transect wrote it" if version > FORMAT else ""
        raise _Foreign(f"{path} has format {version} of journals, this one reads {FORMAT}{later}")


def _check_order(entries: Sequence[Entry], count: int) -> None:
    """Raise unless trials and tells are numbered without gaps, and each of them has its point."""
    if [entry.trial.id for entry in entries] != list(range(count)):
        raise ValueError("some of its trials are missing")
    told = sorted(entry.told for entry in entries if entry.told is not None)
    if told != list(range(len(told))):
        raise ValueError("some of its values are missing")


def _bytes(x: Host) -> bytes:
    return np.ascontiguousarray(x, dtype="<f8").tobytes()


def _vector(data: bytes) -> Host:
    x: Host = np.frombuffer(data, dtype="<f8")
    return x


def _checked(*values: Any) -> tuple[Any, ...]:
    """A row and its checksum."""
    return (*values, _checksum(values))


def _rows(file: sqlite3.Connection, what: str) -> Iterator[Sequence[Any]]:
    """Rows without their checksums, which come last; a ValueError if one is wrong."""
    for *values, checksum in file.execute(f"SELECT {what}"):
        if _checksum(values) != checksum:
            raise ValueError(f"the checksum of {values[0]!r:.40} is wrong")
        yield values


def _checksum(values: Sequence[Any]) -> int:
    checksum = 0
    for value in values:
        part = value if isinstance(value, bytes) else repr(value).encode()
        checksum = zlib.crc32(part, checksum)
    return checksum


def _plain(value: Any) -> Any:
    """What JSON has no word for: arrays and NumPy's numbers."""
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        data = base64.b64encode(little.tobytes()).decode()
        return {ARRAY: little.dtype.str, "shape": value.shape, "data": data}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be kept in a journal")


def _restored(found: dict[str, Any]) -> Any:
    """An array, if the JSON object is one."""
    if ARRAY not in found:
        return found
    dtype = np.dtype(found[ARRAY])
    if dtype.kind not in "biuf":
        raise ValueError(f"an array of {found[ARRAY]!r}")
    data = base64.b64decode(found["data"], validate=True)
    return np.frombuffer(data, dtype=dtype).reshape(found["shape"])
