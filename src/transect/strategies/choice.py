"""What Anchored climbs, and when it does otherwise.

A climb goes as far as the model lets it, which is not far while the model knows little of D
coordinates. Where climbs fail, what to do instead depends on whether the model sees noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._array import Host, to_host
from ..acquisition import UCB, Acquisition, LogEI
from ..anchors import FAMILIES
from ..gp import GaussianProcess, Hyperparameters
from .protocol import History

KAPPA = (0.5, 1.25)  # standard deviations added to the mean while points are few: at first, later
GROWN = 150  # suggestions after which it is "later"
FAR = (2.0, 8.0)  # standard deviations, least and most, of climbs that are to lead far
LATELY = 10  # climbs that tell whether they succeed
NOISY = 0.1  # of a model's variance: with so much of it noise, climbs are not to be trusted
OTHERWISE = 0.5  # share of suggestions that are made otherwise where climbs only fail
FIRST_STEP, LONGEST = 0.2, 1.0  # standard deviation of random steps, of a box side of 2
GROWTH = 1.22  # of that after a success; four failures undo it (the one-fifth rule)
SHORTEST = 1e-5  # a smaller one is the first again: with noise every step may fail


def climbs_of(history: History) -> list[bool]:
    """Of the points found by climbs, in their order, whether they surpassed all before them.

    An evaluation that failed says nothing of climbs.
    """
    worked = np.isfinite(history.y)
    values = np.where(worked, history.y, -np.inf)
    better = values > np.concatenate([[-np.inf], np.maximum.accumulate(values)])[:-1]
    return [
        bool(better[i])
        for i, info in enumerate(history.infos)
        if worked[i] and info.get("family") in FAMILIES and not info["insured"]
    ]


def all_failed(climbs: Sequence[bool], count: int = LATELY) -> bool:
    """Whether none of so many latest climbs led to a success."""
    return len(climbs) >= count and not any(climbs[-count:])


def noise_of(hyper: Hyperparameters) -> float:
    """The share of a model's variance that is noise to it: what places do not explain."""
    return hyper.noise / (hyper.noise + hyper.amplitude)


def usual(gp: GaussianProcess, best: float, t: int, in_flight: bool) -> Acquisition:
    """What to climb after t suggestions: expected improvement, or μ + κσ with few points.

    Which of them ends lower is a matter of measurement (docs/anchored.md): the bound does as long
    as there are fewer points than coordinates. A small κ would leave points too close to those
    in flight.
    """
    if in_flight or gp.n >= gp.X.shape[1]:
        return LogEI(best)
    return bound(t)


def bound(t: int) -> UCB:
    """μ + κσ after t suggestions."""
    first, later = KAPPA
    return UCB((first + (later - first) * min(1.0, t / GROWN)) ** 2)


def far(rng: np.random.Generator) -> UCB:
    """μ + κσ with a large κ, drawn anew for every climb."""
    least, most = FAR
    return UCB((least * (most / least) ** rng.random()) ** 2)


def otherwise(gp: GaussianProcess, climbs: Sequence[bool]) -> tuple[float, float]:
    """The shares of suggestions that are climbs to far away, and random steps.

    Where the model takes what it sees for noise, a step next to the best points gains less than
    that noise and says nothing of the slope, which shows between points that are far apart. Where
    climbs fail without noise, with fewer points than coordinates, they go too far.
    """
    noisy = doubt(gp, climbs)
    failing = OTHERWISE * (1.0 - noisy) if all_failed(climbs) else 0.0
    return (noisy, failing) if gp.n < gp.X.shape[1] else (noisy + failing, 0.0)


def doubt(gp: GaussianProcess, climbs: Sequence[bool]) -> float:
    """How much of what the model sees is noise to it, 0 to 1, and how little it is of use.

    What cannot be explained by the points' places counts as noise. Climbs then stay close to
    the best points, where noise is all that there is to see, and learn nothing. ``climbs``: which
    ones led to a success.
    """
    lately = climbs[-LATELY:]
    success = sum(lately) / len(lately) if lately else 0.0
    return float(min(1.0, noise_of(gp.hyper) / NOISY) * (1.0 - success) ** 4)


def step_size(steps: Sequence[tuple[float | None, float]]) -> float:
    """The next σ of random steps, from a run's values in their order and the σ that led to each.

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


def parent(gp: GaussianProcess) -> Host:
    """The point (D,) to step from: the best value seen where the model thinks highly of it.

    What the model takes for noise may be there: of points that it cannot tell apart, their
    values decide.
    """
    mean, seen = to_host(gp.smoothed), to_host(gp.y)
    as_good = mean >= np.max(mean) - math.sqrt(gp.hyper.noise)
    x: Host = to_host(gp.X)[np.argmax(np.where(as_good, seen, -np.inf))]
    return x
