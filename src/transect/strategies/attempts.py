"""Attempts: a search that gets on no more begins anew, not far from the best point.

Climbs end in an optimum near where they began. Ever closer points then make the model an expert
of that place, with length-scales to match, under which nothing is known of any other, so that no
point far from it is asked for again. A new attempt has a model of its own points. It takes turns
with the one that has the best point, which finds more digits of what it has found.

Which attempt a point is of is in its certificate, as ``attempt``.
"""

from __future__ import annotations

import numpy as np

from .._array import Host
from ..gp import Hyperparameters
from .protocol import History, Info

EVERYTHING = 0  # no attempt: all evaluations of a run
POINTS = 20  # that an attempt begins with
REDRAWN = 0.25  # of their coordinates; the others are the best point's
# Suggestions in which an attempt must get on, half of D where that is more. It has twice that
# before it is judged, and as many must be left: another one needs as long to come as far.
PATIENCE = 100
LITTLE = 1e-3  # of what it has gained: with less than that, it does not
LUCKY = 0.2  # of the values' variance; with more of it noise, nobody can tell


def known_to(attempt: int, history: History) -> History:
    """What an attempt knows: its own points and, since the first of them, users'.

    It keeps away from all points in flight, whosever they are.
    """
    of = [info.get("attempt") for info in history.infos]
    if attempt == EVERYTHING or (attempt == 1 and not {*of} - {None, 1}):
        return history
    first = 0 if attempt == 1 else of.index(attempt) if attempt in of else len(of)
    told = [i for i, a in enumerate(of) if a == attempt or (a is None and i >= first)]
    return history.only(told, range(len(history.pending)))


def is_over(attempt: int, known: History, noise: float, left: float) -> bool:
    """Whether an attempt gets on no more, by what it knows and the share of noise in that.

    ``left``: evaluations that the run may yet make. Points that the attempt did not ask for,
    however many there are, do not count as steps of its own. Where the model sees much noise,
    the best value may be a lucky one, hard to surpass anywhere.
    """
    patience = max(PATIENCE, known.X.shape[1] // 2)
    own = [i for i, info in enumerate(known.infos) if info.get("attempt") == attempt]
    if min(len(own), left) < 2 * patience or noise > LUCKY:
        return False
    values = 0.5 * known.y  # since a difference of values may overflow
    before, worked = values[: own[-patience]], np.isfinite(values)
    if not np.any(np.isfinite(before)):
        return False  # it gets on now, or else nothing works
    best, first = np.nanmax(values), np.median(values[worked][:POINTS])
    return bool(best - np.nanmax(before) <= LITTLE * (best - first))


def noise_share(hyper: Hyperparameters, standardised: bool) -> float:
    """Of the values' variance, what the model takes for noise.

    Of the model's variance or, where values are ``standardised``, of theirs, 1, if that is less:
    with long length-scales a model expects far more elsewhere than was seen.
    """
    share = hyper.noise / (hyper.noise + hyper.amplitude)
    return max(share, hyper.noise) if standardised else share


def is_new(attempt: int, known: History) -> bool:
    """Whether it has yet to ask for points to begin with, or to hear of any of them.

    The first one begins with the initial design.
    """
    return attempt > 1 and (asked_for(attempt, known) < POINTS or not known.values)


def asked_for(attempt: int, known: History) -> int:
    """How many points an attempt has asked for; of EVERYTHING, how many any has."""
    of = [a for i in (*known.infos, *known.pending_infos) if (a := i.get("attempt")) is not None]
    return len(of) if attempt == EVERYTHING else of.count(attempt)


def attempt_of(info: Info) -> int:
    """The first one's are all points that none has asked for."""
    return int(info.get("attempt", 1))


def next_to(best: Host, rng: np.random.Generator) -> Host:
    """A point (D,) that an attempt begins with: some coordinates anywhere, others the best's."""
    redrawn = rng.random(len(best)) < REDRAWN
    redrawn[rng.integers(len(best))] = True  # one, at least
    x: Host = np.where(redrawn, rng.uniform(-1.0, 1.0, len(best)), best)
    return x
