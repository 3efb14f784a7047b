"""Set-up for all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
import scipy.linalg  # noqa: F401  loads SciPy's BLAS, so that its pool is limited too
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread: the matrices are small, and two spinning pools fight for cores."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """A shell has background jobs ignore them, and so would all processes that tests start."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
