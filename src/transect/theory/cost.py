"""How many slices there are, and what searching them costs."""

from __future__ import annotations

import math

import numpy as np

from .._array import Host


def slice_count(t: int, n0: int, alpha: int) -> int:
    """|Z_t| = N0·Σ_{k≤t} k^α, exactly."""
    if alpha == 0:
        return n0 * t
    if alpha == 1:
        return n0 * t * (t + 1) // 2
    return n0 * sum(int(k**alpha) for k in range(1, t + 1))


def log_slice_counts(T: int, n0: int, alpha: int) -> Host:
    """The logarithms of |Z_t| (T,) for t = 1 … T, whatever the power."""
    powers = alpha * np.log(np.arange(1.0, T + 1.0))
    counts: Host = math.log(n0) + np.logaddexp.accumulate(powers)
    return counts


def slice_count_bound(T: int, n0: int, alpha: int) -> float:
    """|Z_T| ≤ N0·((T+1)^{α+1} - 1)/(α+1), the paper's; inf where it is beyond all numbers."""
    power = (alpha + 1) * math.log1p(T)
    return n0 * math.expm1(power) / (alpha + 1) if power < 700.0 else math.inf


def ms_ucb_calls(m: int, d: int, zeta: float) -> float:
    """Acquisition calls to search m slices on a grid to accuracy ζ, m·ζ^{-d}: their logarithm."""
    return math.log(m) - d * math.log(zeta)


def gp_ucb_calls(D: int, zeta: float) -> float:
    """The same on the whole box: log(ζ^{-D})."""
    return -D * math.log(zeta)


def pays_off(n: int, alpha: int) -> bool:
    """Whether the published rate is better than GP-UCB's and the calls are fewer: n-1 ≤ α < 2n-1.

    With ζ = 1/(T+1)² and N0 = 1. The published rate: see docs/theory.md on what β needs.
    """
    return n - 1 <= alpha < 2 * n - 1
