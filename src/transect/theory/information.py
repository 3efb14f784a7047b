"""The information gain γ_T, by which the bounds measure how much there is to learn."""

from __future__ import annotations

import math

import numpy as np

from .._array import Host


def information_gain(K: Host, noise: float) -> float:
    """½ log det(I + K/σ²) of the data at hand: K (n, n) the kernel at its points, σ² the noise.

    γ_T is the largest of these over all sets of T points; this one is at most that.
    """
    n = len(K)
    return 0.5 * float(np.linalg.slogdet(np.eye(n) + np.asarray(K) / noise)[1])


def information_rate(T: int, D: int, nu: float = math.inf) -> float:
    """The logarithm of γ_T's published growth in T, up to a constant (Srinivas et al. 2012).

    Squared exponential, ν = ∞: (log T)^{D+1}. Matérn: T^{D(D+1)/(2ν + D(D+1))}·log T. For
    T = 1 both are 0, whose logarithm is -∞.
    """
    if T == 1:
        return -math.inf
    log_T = math.log(T)
    if math.isinf(nu):
        return (D + 1) * math.log(log_T)
    power = D * (D + 1.0)
    return power / (2.0 * nu + power) * log_T + math.log(log_T)


def variance_constant(noise: float) -> float:
    """C1 = 8/log(1 + σ⁻²), for an amplitude of one: Σ 4σ²_{t-1}(x_t) ≤ C1·γ_T.

    The paper prints σ² for σ⁻²; this is the constant of Srinivas et al.
    """
    return 8.0 / math.log1p(1.0 / noise)
