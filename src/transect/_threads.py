"""Threads: one for BLAS, ours for blocks.

The matrices of a suggestion are small, and NumPy and SciPy each bring their own pool of
BLAS threads; two spinning pools on two cores made a likelihood evaluation ten times
slower (benchmarks/RESULTS.md). So a suggestion runs BLAS on one thread, and large jobs
are cut into blocks that run on a few threads of ours: NumPy lets go of the interpreter
lock in all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

AVX512 = ("SkylakeX", "Cooperlake", "SapphireRapids")  # kernels of OpenBLAS for small products

T = TypeVar("T")
R = TypeVar("R")


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  loads SciPy's BLAS, so that the controller sees it

    return ThreadpoolController()


@cache
def copies_matrices() -> bool:
    """Whether a product of few rows with a matrix begins with a copy of the matrix.

    By what BLAS says of itself, not by a measurement, which would come out now so, now so.
    """
    libraries = _controller().info()
    return any(lib.get("architecture", AVX512[0]) not in AVX512 for lib in libraries)


class _OneThread:
    """BLAS limited to one thread while anybody needs it; restored when the last one leaves.

    Suggestions may overlap in several threads of the user's process.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._depth += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._limit.restore_original_limits()


_one_thread = _OneThread()


@contextmanager
def quiet_blas() -> Iterator[None]:
    """BLAS on one thread and without warnings inside the block; both restored after it."""
    with _one_thread, np.errstate(all="ignore"):
        yield


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_workers(), thread_name_prefix="transect")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_limit: int | None = None  # set by limit_threads


@cache
def _workers() -> int:
    """Threads of ours: at most eight, as blocks share the memory bandwidth."""
    return min(_limit or 8, cores())


def limit_threads(count: int) -> None:
    """At most ``count`` threads of ours and of BLAS in this process from now on.

    For processes that share the cores with others like them.
    """
    global _limit
    if count == _limit:
        return
    _limit = count
    _workers.cache_clear()
    _pool.cache_clear()
    _controller().limit(limits=count, user_api="blas")


def each_block(job: Callable[[T], R], blocks: Iterable[T]) -> list[R]:
    """``job`` of every block, in order; on several threads when there are several."""
    items = list(blocks)
    if len(items) < 2 or _workers() < 2:
        return [job(item) for item in items]
    return list(_pool().map(_quietly(job), items))


def _quietly(job: Callable[[T], R]) -> Callable[[T], R]:
    """``job`` without floating-point warnings, whose settings threads do not inherit.

    OpenBLAS's vector tails read past the data and raise flags for numbers nobody uses.
    """

    def quiet(item: T) -> R:
        with np.errstate(all="ignore"):
            return job(item)

    return quiet


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """[start, stop) pieces of at most ``size`` that cover ``range(total)``.

    Where there are several, there are as many for each thread, all of about one size: their
    number depends on the machine, so a result must not depend on where the cuts are.
    """
    pieces = -(-total // size)
    if pieces > 1:
        pieces = -(-pieces // _workers()) * _workers()
        size = -(-total // pieces)
    return [(i, min(i + size, total)) for i in range(0, total, size)]


def shares(total: int, most: int) -> list[tuple[int, int]]:
    """The same with as few pieces as keep all threads busy, of at most ``most`` each."""
    return spans(total, max(1, min(most, -(-total // _workers()))))
