"""Bounds on the regret of a step, and on the sum of T of them (Theorems 1 to 3).

The theorems are one: Theorem 3 has d = 0, and Theorem 2, for functions of d_e coordinates
among the fixed ones, has n = d_e in the place of D - d. They are for d < D; d = D is GP-UCB.
"""

from __future__ import annotations

import math

import numpy as np

from .cost import log_slice_counts
from .information import variance_constant
from .lemmas import corrected_lemma4, lipschitz
from .schedules import corrected_beta, ms_ucb_beta


def step_bound(
    t: int,
    D: int,
    d: int,
    m: int,
    sigma: float,
    delta: float = 0.1,
    a: float = 1.0,
    b: float = 1.0,
    n: int | None = None,
) -> float:
    """r_t ≤ 2·sqrt(β_t)·σ_{t-1}(x_t) + 1/t² + v0·(log(6/δ)/m)^{1/n}, as printed."""
    n = D - d if n is None else n
    distant = _v0(n, D, delta, a, b) * _root(math.log(6.0 / delta), math.log(m), n)
    return 2.0 * math.sqrt(ms_ucb_beta(t, D, d, delta, a, b)) * sigma + 1.0 / t**2 + distant


def corrected_step_bound(
    t: int,
    D: int,
    d: int,
    m: int,
    sigma: float,
    delta: float = 0.1,
    a: float = 1.0,
    b: float = 1.0,
    n: int | None = None,
) -> float:
    """The same for all t at once, with the corrected β_t and the distance from a corner.

    Where no coordinate is fixed there is no distance (GP-UCB's own β_t is not in here).
    """
    n = D - d if n is None else n
    distant = corrected_lemma4(n, m, D, delta / 3.0, a, b, t) if n else 0.0
    near = 2.0 * math.sqrt(corrected_beta(t, D, d, m, delta, a, b)) * sigma
    return near + 1.0 / t**2 + distant


def regret_bound(
    T: int,
    D: int,
    d: int,
    n0: int,
    alpha: int,
    gamma: float,
    noise: float,
    delta: float = 0.1,
    a: float = 1.0,
    b: float = 1.0,
    n: int | None = None,
) -> float:
    """R_T as printed, in its three regimes: α ≥ 2n, n - 1 ≤ α < 2n and 0 ≤ α < n - 1.

    gamma: γ_T; noise: σ². sqrt(C1·T·β_T·γ_T) + π²/6 + 2·v0·(log(6/δ)/N0)^{1/n} times 1,
    1 + log T or n/(n-α-1)·T^{1-(α+1)/n}.
    """
    n = D - d if n is None else n
    beta = ms_ucb_beta(T, D, d, delta, a, b)
    distant = 2.0 * _v0(n, D, delta, a, b) * _root(math.log(6.0 / delta), math.log(n0), n)
    if alpha < n - 1:
        distant *= n / (n - alpha - 1.0) * T ** rate_exponent(n, alpha)
    elif alpha < 2 * n:
        distant *= 1.0 + math.log(T)
    return math.sqrt(variance_constant(noise) * T * beta * gamma) + distant + math.pi**2 / 6.0


def corrected_regret_bound(
    T: int,
    D: int,
    d: int,
    n0: int,
    alpha: int,
    gamma: float,
    noise: float,
    delta: float = 0.1,
    a: float = 1.0,
    b: float = 1.0,
    n: int | None = None,
) -> float:
    """R_T with the corrected β_T and, summed over t, the distance by cubes for all t at once.

    Σ_t L·2n·(log(π²t²/δ)/|Z_t|)^{1/n}, each at most L·2n: of the printed order in T.
    """
    n = D - d if n is None else n
    log_m = log_slice_counts(T, n0, alpha)  # (T,)
    beta = corrected_beta(T, D, d, 1, delta, a, b) + 2.0 * float(log_m[-1])
    t = np.arange(1.0, T + 1.0)
    roots = np.exp((np.log(np.log(math.pi**2 * t**2 / delta)) - log_m) / n)
    distant = lipschitz(D, delta / 3.0, a, b) * 2.0 * n * float(np.sum(np.minimum(roots, 1.0)))
    return math.sqrt(variance_constant(noise) * T * beta * gamma) + distant + math.pi**2 / 6.0


def rate_exponent(n: int, alpha: int) -> float:
    """The exponent of T in the second term: 1 - (α+1)/n, and 0 from α = n - 1 on."""
    return max(0.0, 1.0 - (alpha + 1.0) / n) if n else 0.0


def _v0(n: int, D: int, delta: float, a: float, b: float) -> float:
    """v0 = 2b·sqrt(log(2Da/δ))·(n!)^{1/n}."""
    return 2.0 * lipschitz(D, delta, a, b) * math.exp(math.lgamma(n + 1.0) / n)


def _root(x: float, log_m: float, n: int) -> float:
    """(x/m)^{1/n}."""
    return math.exp((math.log(x) - log_m) / n)
