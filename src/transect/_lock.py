"""A file that one process at a time can hold; the system lets go of it when the process ends.

Copies of the process do not hold it: those that outlive it would keep others out.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet


class FileLock:
    """Held from its creation to :meth:`release`; an OSError if somebody else has it."""

    def __init__(self, path: Path, what: str) -> None:
        """``what`` is written by whoever holds ``path``: for the error."""
        self.path = path
        while True:
            file = path.open("a+")
            if not _try_lock(file):
                file.seek(0)
                holder = file.read().strip() or "another process"
                file.close()
                raise BlockingIOError(f"{what} is in use by {holder}; a run has one writer")
            if _is_at(file, path):
                break
            file.close()  # its holder removed it between our opening and locking it
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        self._file: IO[str] | None = file
        _held.add(self)

    def release(self) -> None:
        """Let go, and leave nothing behind."""
        if self._file is not None:
            # Removed while it is held: nobody else can have locked this very file.
            if sys.platform != "win32":
                self.path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


_held: WeakSet[FileLock] = WeakSet()


def _let_go_in_a_copy() -> None:
    for lock in _held:
        if lock._file is not None:
            lock._file.close()
            lock._file = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_a_copy)


def _is_at(file: IO[str], path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(file.fileno())
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _try_lock(file: Any) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 20)  # beyond what others read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
