"""Deadlines: moments on ``time.perf_counter``, or None for no limit."""

from __future__ import annotations

import math
import time


def late(deadline: float | None) -> bool:
    """Whether the deadline has passed."""
    return deadline is not None and time.perf_counter() >= deadline


def left(deadline: float | None) -> float:
    """Seconds until the deadline; none are left after it."""
    return math.inf if deadline is None else max(0.0, deadline - time.perf_counter())


def part_of(deadline: float | None, share: float) -> float | None:
    """The moment at which this share of the time left is over."""
    return None if deadline is None else time.perf_counter() + share * left(deadline)


def deadline_in(seconds: float | None) -> float | None:
    """The moment ``seconds`` from now."""
    return None if seconds is None else time.perf_counter() + seconds
