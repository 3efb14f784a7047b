"""Acquisition functions of the posterior mean and variance.

An acquisition is a scalar function a(mean, var); the engine needs its two partial
derivatives and the Gaussian process supplies the rest of the chain rule. Larger is
better: the library maximises internally, as the paper does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from ._array import Array, at_least, erfcx, namespace, ndtr

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_ASYMPTOTIC = -100.0  # below, 1 + u·Φ/φ cancels; its series is exact to 1e-13 there


class Acquisition(Protocol):
    """a(mean, var), larger is better."""

    def value(self, mean: Array, var: Array) -> Array:
        """Acquisition values (p,) of posterior means and variances (p,)."""
        ...

    def partials(self, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """Value, ∂a/∂mean and ∂a/∂var, each (p,)."""
        ...


@dataclass(frozen=True)
class UCB:
    """Upper confidence bound, Eq. 2: a(x) = μ(x) + sqrt(β)·σ(x)."""

    beta: float

    def value(self, mean: Array, var: Array) -> Array:
        return mean + math.sqrt(self.beta) * namespace(var).sqrt(var)

    def partials(self, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        xp = namespace(var)
        sigma = xp.sqrt(var)
        root = math.sqrt(self.beta)
        return mean + root * sigma, xp.ones_like(mean), 0.5 * root / sigma


@dataclass(frozen=True)
class LogEI:
    """Logarithm of the expected improvement over ``best`` (Ament et al. 2023).

    With u = (μ - best)/σ and h(u) = φ(u) + u·Φ(u), log EI = log h(u) + log σ. It stays
    finite, and keeps a useful gradient, where EI itself underflows.
    ∂/∂μ = Φ/(h·σ) and, since h - u·Φ = φ, ∂/∂var = φ/(2·h·σ²).
    """

    best: float

    def value(self, mean: Array, var: Array) -> Array:
        xp = namespace(var)
        sigma = xp.sqrt(var)
        log_h, _, _ = _log_h((mean - self.best) / sigma)
        return log_h + xp.log(sigma)

    def partials(self, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        xp = namespace(var)
        sigma = xp.sqrt(var)
        log_h, cdf_over_h, pdf_over_h = _log_h((mean - self.best) / sigma)
        return log_h + xp.log(sigma), cdf_over_h / sigma, 0.5 * pdf_over_h / var


def _log_h(u: Array) -> tuple[Array, Array, Array]:
    """Log h(u), Φ(u)/h(u) and φ(u)/h(u) for h = φ + u·Φ, stable for every finite u."""
    xp = namespace(u)
    above = u > -1.0
    # On a climb all of the few points are often on one side.
    if bool(xp.all(above)):
        return _above(u)
    if not bool(xp.any(above)):
        return _below(u)
    one, other = _above(xp.clip(u, -1.0, None)), _below(xp.clip(u, None, -1.0))
    log_h, *ratios = (xp.where(above, *pair) for pair in zip(one, other, strict=True))
    return log_h, ratios[0], ratios[1]


def _above(u: Array) -> tuple[Array, Array, Array]:
    """Where u >= -1 nothing cancels."""
    xp = namespace(u)
    pdf, cdf = xp.exp(-0.5 * u * u - _LOG_SQRT_2PI), ndtr(u)
    h = pdf + u * cdf
    return xp.log(h), cdf / h, pdf / h


def _below(u: Array) -> tuple[Array, Array, Array]:
    """Where u <= -1: h = φ·c with c = 1 + u·Φ/φ and Φ/φ = sqrt(π/2)·erfcx(-u/√2).

    Far out, c = u⁻² - 3u⁻⁴ + 15u⁻⁶ - 105u⁻⁸ + …
    """
    xp = namespace(u)
    down = at_least(u, _ASYMPTOTIC)
    mills = math.sqrt(0.5 * math.pi) * erfcx(-down / math.sqrt(2.0))
    c, cdf_over_pdf = 1.0 + down * mills, mills
    far = u < _ASYMPTOTIC
    if bool(xp.any(far)):
        inverse_sq = 1.0 / (u * u)
        bracket = 1.0 - 5.0 * inverse_sq * (1.0 - 7.0 * inverse_sq)
        c = xp.where(far, inverse_sq * (1.0 - 3.0 * inverse_sq * bracket), c)
        cdf_over_pdf = xp.where(far, (c - 1.0) / u, mills)
    return -0.5 * u * u - _LOG_SQRT_2PI + xp.log(c), cdf_over_pdf / c, 1.0 / c
