"""Search through anchors: an acquisition maximised on subspaces through the best points.

In many dimensions good points are near good points. Candidates are drawn on slices through a
few anchors, and anywhere; the best of both climb in all D coordinates. Or they are random steps
from one point, of which the model only chooses the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._array import Host, to_host
from ._clock import left
from .acquisition import Acquisition
from .box import is_among
from .climb import Climber, Meter, Pool
from .gp import GaussianProcess
from .pace import machine
from .probes import near
from .subspace import Subspace
from .view import View

ANCHORS = 5  # best points, by posterior mean, that candidates are drawn around
STARTS, FINALISTS = 2, 2  # candidates of a family that climb a little; of all, to the end
SHORT, LONG = 10, 100  # rounds of the two climbs, at most
WORTHWHILE = 1e-4  # relative gain that one more round must promise: the rest is some 1e-3
OFFSPRING = 256  # random steps from the best point, of which the best is taken
DRAWN = 300.0  # multiplications that drawing a coordinate of a candidate takes as long as
PASS = 8  # points that take as long as reading the data once, however few there are


@dataclass(frozen=True, eq=False)
class Found:
    """The best point found, x (D,), its value, the family it came from, and what it took."""

    x: Host
    value: float
    family: str
    evaluations: int


Draw = Callable[[Host, np.random.Generator, int], Host]


def anywhere(anchors: Host, rng: np.random.Generator, count: int) -> Host:
    """The whole box: uniform points (count, D)."""
    return rng.uniform(-1.0, 1.0, (count, anchors.shape[1]))


FAMILIES: dict[str, tuple[Draw, int]] = {  # with how many candidates each has
    "moves": (near, 384),
    "box": (anywhere, 128),
}
CANDIDATES = sum(count for _, count in FAMILIES.values())


def search_anchored(
    gp: GaussianProcess,
    acquisition: Acquisition,
    anchors: Host,
    rng: np.random.Generator,
    *,
    taken: Sequence[Host] = (),
    budget: int | None = None,
    deadline: float | None = None,
) -> Found:
    """The best new point on subspaces through ``anchors`` (a, D), the best of them first.

    ``taken``: points (k, D) that are not new either, besides the data. ``budget``: acquisition
    evaluations. At ``deadline`` (time.perf_counter) the best so far.
    """
    D = anchors.shape[1]
    climber = _climber(gp, acquisition, deadline)
    meter = climber.meter
    climbs = len(FAMILIES) * STARTS * SHORT + FINALISTS * LONG
    effort = 1.0 if budget is None else budget / (CANDIDATES + climbs)
    if deadline is not None:
        units = climber.view.units + DRAWN * D
        seconds = machine().seconds((CANDIDATES + 3.0 * climbs) * units)
        effort = min(effort, left(deadline) / seconds)
    meter.budget = math.inf if budget is None else max(1, budget - int(effort * climbs))
    seen = climber.look(*_candidates(anchors, rng, effort))
    meter.budget = math.inf if budget is None else budget
    starts, finalists = (max(1, round(effort * count)) for count in (STARTS, FINALISTS))
    # Of every family: far from the best points, an acquisition is small until it is climbed.
    pool = seen.best(starts * len(FAMILIES), starts)
    pool = climber.climb(pool, SHORT, WORTHWHILE).distinct(across=True)
    ends = climber.climb(pool.best(finalists), LONG, WORTHWHILE)
    best = _best_new((ends, seen), (to_host(gp.X), *taken))
    return Found(best.v[0], float(best.value[0]), list(FAMILIES)[best.row[0]], meter.used)


def evolve(
    gp: GaussianProcess,
    acquisition: Acquisition,
    best: Host,
    sigma: float,
    rng: np.random.Generator,
    *,
    taken: Sequence[Host] = (),
    budget: int | None = None,
    deadline: float | None = None,
) -> Found:
    """The best new of random steps from the ``best`` point (D,), of standard deviation ``sigma``.

    With a ``deadline`` (time.perf_counter), of as many as there is time for. ``taken``: as above.
    """
    count = affordable(gp, OFFSPRING if budget is None else min(OFFSPRING, budget), deadline)
    points = np.clip(best + sigma * rng.standard_normal((count, len(best))), -1.0, 1.0)
    climber = _climber(gp, acquisition, deadline)
    seen = climber.look(np.zeros(count, dtype=np.intp), points)
    found = _best_new((seen,), (to_host(gp.X), *taken))
    return Found(found.v[0], float(found.value[0]), "evolution", climber.meter.used)


def _climber(gp: GaussianProcess, acquisition: Acquisition, deadline: float | None) -> Climber:
    """For points of the whole box."""
    whole = Subspace.whole(gp.X.shape[1])
    box = (whole.lower, whole.upper)
    return Climber(View.of_subspace(gp, whole), acquisition, box, Meter(), deadline)


def affordable(gp: GaussianProcess, count: int, deadline: float | None) -> int:
    """How many of so many points can be drawn and looked at before the deadline; one, at least."""
    if deadline is None:
        return count
    n, D = gp.n, gp.X.shape[1]
    allowed = left(deadline) / machine().seconds(n * (n + D) + DRAWN * D)
    return max(1, min(count, int(allowed - PASS)))


def best_points(gp: GaussianProcess, count: int = ANCHORS) -> tuple[Host, float]:
    """The points of the data with the highest posterior mean (count, D), and the highest."""
    mean = to_host(gp.smoothed)
    order = np.argsort(-mean, kind="stable")[:count]
    return to_host(gp.X)[order], float(mean[order[0]])


def _best_new(pools: Sequence[Pool], taken: Sequence[Host]) -> Pool:
    """The best candidate that is none of the points taken (n, D), of the first pool that has one.

    Where the best point is in a corner of the box, all climbs may end there.
    """
    for pool in pools:
        for i in np.argsort(-pool.value, kind="stable"):
            if not any(is_among(pool.v[i], X) for X in taken):
                return pool[np.array([i])]
    return pools[0].best(1)


def _candidates(
    anchors: Host, rng: np.random.Generator, effort: float
) -> tuple[NDArray[np.intp], Host]:
    """Points (k, D) and which family each is of (k,), the families in turn."""
    drawn = [draw(anchors, rng, max(1, int(effort * count))) for draw, count in FAMILIES.values()]
    family = np.repeat(np.arange(len(drawn)), [len(points) for points in drawn])
    # Where time or budget is too short for all of them, each family has had its share.
    place = np.concatenate([(np.arange(len(p)) + 0.5) / len(p) for p in drawn])
    order = np.argsort(place, kind="stable")
    return family[order], np.clip(np.concatenate(drawn), -1.0, 1.0)[order]
