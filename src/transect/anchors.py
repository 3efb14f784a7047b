"""Search through anchors: an acquisition maximised on subspaces through the best points.

In many dimensions good points are near good points. Candidates are drawn on slices through a
few anchors, and anywhere; the best of both climb in all D coordinates.

A climb goes as far as the model lets it, which is not far while the model knows little of
D coordinates. Steps of an evolution strategy are as long as steps have paid lately; the
model only chooses among them.
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
FIRST_STEP, LONGEST = 0.2, 1.0  # standard deviation of their coordinates, of a box side of 2
GROWTH = 1.22  # of that after a success; four failures undo it (the one-fifth rule)
SHORTEST = 1e-5  # a smaller one is the first again: with noise every step may fail
DRAWN = 300.0  # multiplications that drawing a coordinate of a candidate takes as long as
PASS = 8  # points that take as long as reading the data once, however few there are
NOISY = 0.1  # of a model's variance: with so much of it noise, climbs are not to be trusted
LATELY = 10  # climbs that tell whether they succeed


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


def step_size(steps: Sequence[tuple[float | None, float]]) -> float:
    """The next σ, from the values of a run in their order, each with the σ that led to it.

    None where a point was found otherwise: it counts as what a step has to surpass.
    """
    sigma, best = FIRST_STEP, -math.inf
    for tried, value in steps:
        if tried is not None:
            factor = GROWTH if value > best else GROWTH**-0.25
            sigma = min(LONGEST, tried * factor)
            sigma = FIRST_STEP if sigma < SHORTEST else sigma
        if value > best:  # never of a failure's nan
            best = value
    return sigma


def all_failed(climbs: Sequence[bool]) -> bool:
    """Whether none of the latest climbs led to a success."""
    lately = climbs[-LATELY:]
    return len(lately) == LATELY and not any(lately)


def doubt(gp: GaussianProcess, climbs: Sequence[bool]) -> float:
    """How much of what the model sees is noise to it, 0 to 1, and how little it is of use.

    What cannot be explained by the points' places counts as noise. Climbs then stay close to
    the best points, where noise is all that there is to see, and learn nothing. ``climbs``: which
    ones led to a success.
    """
    hyper = gp.hyper
    noise = hyper.noise / (hyper.noise + hyper.amplitude)
    lately = climbs[-LATELY:]
    success = sum(lately) / len(lately) if lately else 0.0
    return float(min(1.0, noise / NOISY) * (1.0 - success) ** 4)


def parent(gp: GaussianProcess) -> Host:
    """The point (D,) to step from: the best value seen where the model thinks highly of it.

    What the model takes for noise may be there: of points that it cannot tell apart, their
    values decide.
    """
    mean, seen = to_host(gp.smoothed), to_host(gp.y)
    as_good = mean >= np.max(mean) - math.sqrt(gp.hyper.noise)
    x: Host = to_host(gp.X)[np.argmax(np.where(as_good, seen, -np.inf))]
    return x


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
