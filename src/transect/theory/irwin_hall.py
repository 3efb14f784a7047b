"""The distribution of a sum of n uniforms on [0, 1], its tail included, for any n."""

from __future__ import annotations

import math

import numpy as np

EXPLICIT = 20  # up to this n the sum of Irwin and Hall is short, and accurate enough
REACH, STEPS = 12.0, 400  # of the integral, in standard deviations; its trapezoids


def log_cdf(x: float, n: int) -> float:
    """The logarithm of P[U_1 + … + U_n ≤ x], to about ten digits however small it is."""
    if not 0.0 < x < n:
        return -math.inf if x <= 0.0 else 0.0
    if x <= 1.0:
        return n * math.log(x) - math.lgamma(n + 1.0)
    if 2.0 * x > n:  # symmetric
        return math.log1p(-math.exp(log_cdf(n - x, n)))
    return _explicit(x, n) if n <= EXPLICIT else _inverted(x, n)


def log_quantile(log_p: float, n: int) -> float:
    """The x with P[U_1 + … + U_n ≤ x] = exp(log_p)."""
    from scipy.optimize import brentq

    at_one = -math.lgamma(n + 1.0)
    if log_p <= at_one:
        return math.exp((log_p - at_one) / n)
    if log_p >= 0.0:
        return float(n)
    root = brentq(lambda x: log_cdf(x, n) - log_p, 1.0, float(n), xtol=1e-12, rtol=1e-12)
    return float(root)


def _explicit(x: float, n: int) -> float:
    """Σ_{k ≤ x} (-1)^k·C(n, k)·(x - k)^n / n!."""
    terms = ((-1) ** k * math.comb(n, k) * (x - k) ** n for k in range(math.floor(x) + 1))
    return math.log(math.fsum(terms)) - math.lgamma(n + 1.0)


def _inverted(x: float, n: int) -> float:
    """The moment generating function M(w)^n inverted along the line w = s + iτ, s < 0.

    P[S ≤ x] = 1/(2π) ∫ M(w)^n·e^{-wx}/(-w) dτ, M(w) = (e^w - 1)/w, for every s < 0. At the
    saddle point, where the tilted sum has the mean x, nothing cancels: small probabilities
    have as many digits as large ones. The integrand is smooth: trapezoids converge fast.
    """
    s = min(_saddle(x / n), -1.0 / math.sqrt(n / 12.0))  # away from the pole at 0
    deviation = math.sqrt(n * _tilted(s)[1])
    tau = np.linspace(0.0, REACH / deviation, STEPS + 1)
    w = s + 1j * tau
    # The logarithm is right up to multiples of 2πi, which n-th powers do not see.
    exponent = n * np.log(np.expm1(w) / w) - w * x
    peak = float(np.real(exponent[0]))
    integrand = np.real(np.exp(exponent - peak) / -w)
    integral = (np.sum(integrand) - 0.5 * (integrand[0] + integrand[-1])) * (tau[1] - tau[0])
    return peak + math.log(float(integral) / math.pi)


def _saddle(mean: float) -> float:
    """The s < 0 for which a uniform, tilted by e^{su}, has this mean, below a half."""
    from scipy.optimize import brentq

    # The mean is below -1/s, and above it less what is cut off at 1.
    return float(brentq(lambda s: _tilted(s)[0] - mean, -1.0 / mean - 1.0, 0.0))


def _tilted(s: float) -> tuple[float, float]:
    """Mean and variance of a uniform on [0, 1] tilted by e^{su}."""
    if abs(s) < 1e-2:  # the terms below cancel
        return 0.5 + s / 12.0 - s**3 / 720.0, 1.0 / 12.0 - s**2 / 240.0
    upper = -math.exp(s) / math.expm1(s)  # negative for s > 0
    mean = -upper - 1.0 / s
    return mean, 1.0 / s**2 - upper * (1.0 + upper)
