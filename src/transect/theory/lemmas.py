"""Lemmas 2 to 4: what separates the regret of a step from its posterior deviation.

r_t = [f(x*) - f_max] + f_max - f(x_t), f_max the best value on the slice nearest to x*:
Lemma 4 bounds the first term, Lemma 3 the second, Lemma 2 the third. Distances are for n ≥ 1
fixed coordinates.
"""

from __future__ import annotations

import math

from .irwin_hall import log_quantile


def lemma2_beta(t: int, delta: float = 0.1) -> float:
    """β⁰_t = 2 log(π²t²/(6δ)): f(x_t) ≥ μ - sqrt(β⁰)·σ for all t, with probability 1 - δ."""
    return 2.0 * math.log(math.pi**2 * t**2 / (6.0 * delta))


def lemma3_beta(
    t: int, D: int, d: int, delta: float = 0.1, a: float = 1.0, b: float = 1.0
) -> float:
    """β¹_t as printed: the best value of the nearest slice is below μ + sqrt(β¹)·σ + 1/t².

    β¹_t = 2 log(π²t²/(3δ)) + 2d log(2bd·sqrt(log(2Da/δ))·t²); for d = 0 the proof of
    Theorem 3 has 2 log(π²t²/(6δ)). Neither counts the slices, one of which f chooses.
    """
    if d == 0:
        return lemma2_beta(t, delta)
    cover = max(2.0 * d * lipschitz(D, delta, a, b) * t**2, 1.0)
    return 2.0 * math.log(math.pi**2 * t**2 / (3.0 * delta)) + 2.0 * d * math.log(cover)


def corrected_lemma3_beta(
    t: int, D: int, d: int, m: int, delta: float = 0.1, a: float = 1.0, b: float = 1.0
) -> float:
    """β¹_t with the union over all m slices, + 2 log m: holds on every one of them."""
    return lemma3_beta(t, D, d, delta, a, b) + 2.0 * math.log(m)


def lipschitz(D: int, delta: float = 0.1, a: float = 1.0, b: float = 1.0) -> float:
    """L = b·sqrt(log(2Da/δ)): |f(x) - f(x')| ≤ L·‖x - x'‖₁ with probability 1 - δ/2."""
    return b * math.sqrt(math.log(max(2.0 * D * a / delta, 1.0)))


def published_distance(n: int, m: int, delta: float = 0.1) -> float:
    """2·(n!)^{1/n}·(log(2/δ)/m)^{1/n}: how near the nearest of m slices is to z*, in ℓ1.

    The form of the main text (the proof has half of it). It takes the whole ℓ1 ball to be
    inside the box, which it is not where it is larger than 2 and z* is in a corner.
    """
    return 2.0 * math.exp(
        (math.lgamma(n + 1.0) + math.log(math.log(2.0 / delta)) - math.log(m)) / n
    )


def sup_norm_distance(n: int, m: int, delta: float = 0.1) -> float:
    """2n·(log(2/δ)/m)^{1/n}, at most 2n: the same by a cube around z*, wherever z* is.

    A cube of half-width ε has at least (ε/2)^n of the box's volume in common with it, and
    ‖·‖₁ ≤ n·‖·‖_∞.
    """
    root = math.exp((math.log(math.log(2.0 / delta)) - math.log(m)) / n)
    return 2.0 * n * min(root, 1.0)


def corner_distance(n: int, m: int, delta: float = 0.1) -> float:
    """The 1 - δ/2 quantile of the distance itself for z* in a corner, its worst place.

    There it is twice the least of m sums of n uniforms: 2·F⁻¹(1 - (δ/2)^{1/m}), F of Irwin
    and Hall.
    """
    return 2.0 * log_quantile(_log_share(m, delta / 2.0), n)


def lemma4(n: int, m: int, D: int, delta: float = 0.1, a: float = 1.0, b: float = 1.0) -> float:
    """f(x*) - f_max ≤ v0·(log(2/δ)/m)^{1/n}, v0 = 2b·sqrt(log(2Da/δ))·(n!)^{1/n}, as printed."""
    return lipschitz(D, delta, a, b) * published_distance(n, m, delta)


def corrected_lemma4(
    n: int,
    m: int,
    D: int,
    delta: float = 0.1,
    a: float = 1.0,
    b: float = 1.0,
    t: int | None = None,
) -> float:
    """The same with the distance from a corner: it holds wherever x* is.

    With t = 1, 2, … it holds for all t at once: δ is divided among them as 6δ/(π²t²).
    """
    share = 1.0 if t is None else 6.0 / (math.pi**2 * t**2)
    return lipschitz(D, delta, a, b) * corner_distance(n, m, share * delta)


def _log_share(m: int, miss: float) -> float:
    """log(1 - miss^{1/m}): the share of the box that m points miss with this probability."""
    rate = -math.log(miss)
    return math.log(rate) - math.log(m) if m > 1e12 * rate else math.log(-math.expm1(-rate / m))
