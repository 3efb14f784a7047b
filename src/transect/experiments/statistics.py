"""Numbers behind the claims: paired tests, their correction, and oracle floors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import wilcoxon

from .._array import Host
from .table import Cell, log_regret
from .task import ProblemSpec

MIN_PAIRS = 6  # with five, no two-sided signed-rank test can have p < 0.05


def holm(p: Sequence[float]) -> Host:
    """Holm's corrected p-values (m,), in the order given.

    With p_(1) ≤ … ≤ p_(m), corrected p_(k) = max over j ≤ k of min(1, (m - j + 1)·p_(j)).
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw)
    steps = np.arange(len(raw), 0, -1) * raw[order]
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


@dataclass(frozen=True)
class Comparison:
    """Paired differences summarised; below zero is in favour of the first of the two."""

    pairs: int
    effect: float  # median difference of log10 regrets
    won: float  # share of the pairs below zero; a tie counts half
    p: float  # two-sided, not corrected; nan with fewer than MIN_PAIRS
    favours: bool  # whether they lean below zero, by their signed ranks


def compare(difference: Host, margin: float = 0.0) -> Comparison:
    """Wilcoxon's signed-rank test of whether differences (pairs,) are below ``margin``.

    The effect is that of the differences themselves. Zero differences keep their ranks,
    half of them on either side (zsplit): to drop them would let the few seeds on which two
    strategies differ speak for the many on which they do not.
    """
    gap = difference - margin
    effect = float(np.median(difference))
    won = float(np.mean(gap < 0.0) + 0.5 * np.mean(gap == 0.0))
    if len(gap) < MIN_PAIRS:
        return Comparison(len(gap), effect, won, math.nan, won > 0.5)
    below, above = (
        float(wilcoxon(gap, zero_method="zsplit", alternative=side).pvalue)
        for side in ("less", "greater")
    )
    return Comparison(len(gap), effect, won, min(1.0, 2.0 * min(below, above)), below < above)


def by_seed(cells: Iterable[Cell]) -> dict[int, float]:
    """The median over cells of the final log10 regret, for the seeds all of them have."""
    finals = [dict(zip(cell.seeds, log_regret(cell.final), strict=True)) for cell in cells]
    common = set.intersection(*(set(final) for final in finals))
    return {seed: float(np.median([final[seed] for final in finals])) for seed in sorted(common)}


def oracle_floor(spec: ProblemSpec, slices: int, d: int, seeds: Sequence[int]) -> Host:
    """Least regret (seeds,) on random slices of the last d coordinates, perfectly searched.

    Ackley, Levy and Hyper-Ellipsoid are least in a coordinate at the optimum's, whatever the
    others are. So the best point of the slice at z is (z, last d coordinates of the optimum).
    """
    floors = np.empty(len(seeds))
    for k, seed in enumerate(seeds):
        problem, rng = spec.build(seed), np.random.default_rng([seed, slices])
        if problem.optimum is None:
            raise ValueError(f"{spec.name} has no known optimum, so no oracle floor")
        points = rng.uniform(-1.0, 1.0, (slices, spec.D))
        points[:, spec.D - d :] = problem.optimum[spec.D - d :]
        floors[k] = min(problem(u) for u in points) - problem.least
    return floors
