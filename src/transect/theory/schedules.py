"""Confidence parameters β_t, for t = 1, 2, …"""

from __future__ import annotations

import math


def ms_ucb_beta(
    t: int, D: int, d: int, delta: float = 0.1, a: float = 1.0, b: float = 1.0
) -> float:
    """MS-UCB's β_t = 2 log(π²t²/δ) + 2d log(2bd·sqrt(log(6Da/δ))·t²), literally.

    For d = 0 the paper has β_t = 4 log(π²t²/(2δ)) (its discussion "On Dimension d").
    """
    if d == 0:
        return 4.0 * math.log(math.pi**2 * t**2 / (2.0 * delta))
    # The paper's constants may make the arguments smaller than one; a log below zero
    # would shrink the bound it is meant to widen.
    root = math.sqrt(math.log(max(6.0 * D * a / delta, 1.0)))
    cover = max(2.0 * b * d * root * t**2, 1.0)
    return 2.0 * math.log(math.pi**2 * t**2 / delta) + 2.0 * d * math.log(cover)


def corrected_beta(
    t: int, D: int, d: int, m: int, delta: float = 0.1, a: float = 1.0, b: float = 1.0
) -> float:
    """MS-UCB's β_t with the union bound over all m = |Z_t| slices: + 2 log m.

    Lemma 3 bounds the slice through z*_t alone, but which slice that is depends on f. For
    d = 0, where the published β_t is twice its lemma's, the lemma's 2 log(π²t²/(2δ)) is
    what the union is added to: smaller than published as long as m < π²t²/(2δ).
    """
    if d == 0:
        return 2.0 * math.log(math.pi**2 * t**2 / (2.0 * delta)) + 2.0 * math.log(m)
    return ms_ucb_beta(t, D, d, delta, a, b) + 2.0 * math.log(m)


def gp_ucb_beta(t: int, D: int, delta: float = 0.1, a: float = 1.0, b: float = 1.0) -> float:
    """GP-UCB's β_t on [-1, 1]^D (Srinivas et al. 2012, Theorem 2, with r = 2).

    β_t = 2 log(2π²t²/(3δ)) + 2D log(t²·D·b·r·sqrt(log(4Da/δ))).
    """
    r = 2.0
    root = math.sqrt(math.log(max(4.0 * D * a / delta, 1.0)))
    cover = max(t**2 * D * b * r * root, 1.0)
    return 2.0 * math.log(2.0 * math.pi**2 * t**2 / (3.0 * delta)) + 2.0 * D * math.log(cover)


def practical_scale(d: int) -> float:
    """What β "practical" multiplies the published β_t with: 1 / (8·max(d, 1)).

    The published schedules grow like 2d·log t; this takes the dimension out and leaves
    sqrt(β_t) between about 1 and 3 for t up to 500, the range in which upper confidence
    bounds are known to work in high dimensions. No guarantee comes with it.
    """
    return 1.0 / (8.0 * max(d, 1))
