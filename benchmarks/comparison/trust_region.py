"""Anchored's search in a trust region around the best point, for the ablation.

After Eriksson et al. (2019), Sec. 3: the region's sides are as unlike as the length-scales; they
double after three successes in a row and halve after so many failures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from transect import anchors
from transect._array import Host, to_host
from transect.acquisition import Acquisition
from transect.climb import Climber, Meter
from transect.gp import GaussianProcess
from transect.subspace import Subspace
from transect.view import View

from .tasks import N_INIT

FIRST, LEAST, MOST = 0.8, 2.0**-7, 1.6  # sides, of a box side of 1
SUCCESSES = 3


def side(values: Sequence[float], failures: int) -> float:
    """The region's side after these values, to be maximised; below the least one the first."""
    length, best = FIRST, max(values[:N_INIT])
    won = lost = 0
    for value in values[N_INIT:]:
        won, lost = (won + 1, 0) if value > best else (0, lost + 1)
        best = max(best, value)
        if won == SUCCESSES:
            length, won = min(2.0 * length, MOST), 0
        elif lost == failures:
            length, lost = 0.5 * length, 0
            length = FIRST if length < LEAST else length
    return length


def in_trust_region(failures: Callable[[int], int]) -> Callable[..., anchors.Found]:
    """``anchors.search_anchored`` with candidates and climbs kept in the region.

    failures: how many halve it, of the number of variables.
    """
    draw = anchors._candidates

    def search(
        gp: GaussianProcess, acquisition: Acquisition, best: Host, rng: Any, **limits: Any
    ) -> anchors.Found:
        D = best.shape[1]
        length = np.broadcast_to(to_host(gp.hyper.lengthscale), (D,))
        half = side(to_host(gp.y).tolist(), failures(D))  # of a box side of 2: half a side
        half = half * length / np.exp(np.mean(np.log(length)))
        lower, upper = np.clip(best[0] - half, -1.0, 1.0), np.clip(best[0] + half, -1.0, 1.0)

        def climber(gp: GaussianProcess, acquisition: Acquisition, deadline: Any) -> Climber:
            view = View.of_subspace(gp, Subspace.whole(D))
            return Climber(view, acquisition, (lower, upper), Meter(), deadline)

        def candidates(anchors: Host, rng: Any, effort: float) -> Any:
            family, points = draw(anchors, rng, effort)
            return family, np.clip(points, lower, upper)

        with (
            patch.object(anchors, "_climber", climber),
            patch.object(anchors, "_candidates", candidates),
        ):
            return anchors.search_anchored(gp, acquisition, best, rng, **limits)

    return search
