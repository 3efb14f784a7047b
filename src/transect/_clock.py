"""Deadlines: moments on ``time.perf_counter``, or None for no limit."""

from __future__ import annotations

import time


def late(deadline: float | None) -> bool:
    """Whether the deadline has passed."""
    return deadline is not None and time.perf_counter() >= deadline


def deadline_in(seconds: float | None) -> float | None:
    """The moment ``seconds`` from now."""
    return None if seconds is None else time.perf_counter() + seconds
