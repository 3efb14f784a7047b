"""Attempts: a search that gets on no more begins again, with a model of its own points.

Two things end in a model that is of no more use. Climbs end in an optimum near where they began;
ever closer points then make the model an expert of that place, under which nothing is known of
any other, so that no point far from it is asked for again. A new attempt then begins anew, not
far from the best point. Or the model takes ripples for noise, climbs to far away to see a slope,
and with every such point is surer that it is noise. Then a new attempt begins close to the best
point, where it can see whether there is something to climb; if not, it gives up soon.

An attempt takes turns with the one that has the best point, which finds more digits of what it
has found. Which attempt a point is of is in its certificate, as ``attempt``, and with ``close``
that it began close to the best point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .._array import Host
from ..gp import Hyperparameters
from .choice import NOISY, all_failed, climbs_of, noise_of
from .protocol import History, Info

POINTS = 20  # that an attempt begins with
REDRAWN = 0.25  # of their coordinates; the others are the best point's
# Suggestions in which an attempt must get on, half of D where that is more. It has twice that
# before it is judged, and as many must be left: another one needs as long to come as far.
PATIENCE = 100
LITTLE = 1e-3  # of what it has gained: with less than that, it does not
LUCKY = 0.2  # of the values' variance; with more of it noise, nobody can tell

LOST = 40  # climbs that fail in a row, where there is noise, until a look is taken close by
LOOKS = 5  # points that an attempt begins with that is close to the best point
LOOK = 0.1  # standard deviation of the first of them, of a box side of 2; half of it for the next
IN_VAIN = 20  # climbs that fail in a row until it gives up


@dataclass(frozen=True)
class Attempt:
    """The how-manieth of a run, and whether it began close to the best point."""

    number: int
    close: bool = False


EVERYTHING = Attempt(0)  # no attempt: all evaluations of a run


def turn(
    latest: Attempt,
    history: History,
    hypers: Mapping[int, Hyperparameters],
    standardised: bool,
    left: float,
) -> tuple[Attempt, Attempt]:
    """The latest attempt, which may be a new one, and the one that is to go on.

    ``hypers``: of the models of attempts, by their number; ``standardised``: whether these are of
    such values. ``left``: evaluations that the run may yet make.
    """
    best, known = best_attempt(history, latest), known_to(latest, history)
    going = latest
    if has_given_up(latest, known):
        going, known = best, known_to(best, history)
    if hyper := hypers.get(going.number):
        if going == best and is_lost(known, hyper) and _is_better(history, latest):
            new = Attempt(latest.number + 1, close=True)
            return new, new
        if is_over(going, known, noise_share(hyper, standardised), left):
            new = Attempt(latest.number + 1)
            return new, new
    infos = (*history.infos, *history.pending_infos)
    before = sum(not info.get("insured", True) for info in infos)  # insured steps are no turns
    if before % 2 == 0 or is_new(going, known):
        return latest, going
    return latest, best


def known_to(attempt: Attempt, history: History) -> History:
    """What an attempt knows: its own points and, since the first of them, users' and insured ones.

    One that is close to the best point knows that point, too. Each keeps away from all points in
    flight, whosever they are.
    """
    of = [info.get("attempt") for info in history.infos]
    if attempt == EVERYTHING or (attempt.number == 1 and not {*of} - {None, 1}):
        return history
    first = _first(attempt, of)
    told = [
        i
        for i, a in enumerate(of)
        if a == attempt.number or (a in (None, EVERYTHING.number) and i >= first)
    ]
    if attempt.close:
        told = [int(np.nanargmax(history.y[:first])), *told]
    return history.only(told, range(len(history.pending)))


def is_over(attempt: Attempt, known: History, noise: float, left: float) -> bool:
    """Whether an attempt gets on no more, by what it knows and the share of noise in that.

    Points that the attempt did not ask for, however many there are, do not count as steps of its
    own. Where the model sees much noise, the best value may be a lucky one, hard to surpass
    anywhere.
    """
    patience = max(PATIENCE, known.X.shape[1] // 2)
    own = _own(attempt, known)
    if min(len(own), left) < 2 * patience or noise > LUCKY:
        return False
    values = 0.5 * known.y  # since a difference of values may overflow
    before, worked = values[: own[-patience]], np.isfinite(values)
    if not np.any(np.isfinite(before)):
        return False  # it gets on now, or else nothing works
    best, first = np.nanmax(values), np.median(values[worked][:POINTS])
    return bool(best - np.nanmax(before) <= LITTLE * (best - first))


def is_lost(known: History, hyper: Hyperparameters) -> bool:
    """Whether what a model takes for noise has made climbs fail for long.

    With fewer points than coordinates it is too early to tell.
    """
    if len(known.y) < known.X.shape[1] or noise_of(hyper) < NOISY:
        return False
    return all_failed(climbs_of(known), LOST)


def has_given_up(attempt: Attempt, known: History) -> bool:
    """Whether one that is close to the best point has found nothing to climb, or nothing works."""
    if not attempt.close:
        return False
    asked, worked = asked_for(attempt, known), np.isfinite(known.y[_own(attempt, known)])
    return all_failed(climbs_of(known), IN_VAIN) or (asked >= IN_VAIN and not np.any(worked))


def noise_share(hyper: Hyperparameters, standardised: bool) -> float:
    """Of the values' variance, what the model takes for noise.

    Of the model's variance or, where values are ``standardised``, of theirs, 1, if that is less:
    with long length-scales a model expects far more elsewhere than was seen.
    """
    share = noise_of(hyper)
    return max(share, hyper.noise) if standardised else share


def is_new(attempt: Attempt, known: History) -> bool:
    """Whether it has yet to ask for points to begin with, or to hear of any of them.

    The first one begins with the initial design.
    """
    if attempt.number <= 1:
        return False
    enough = LOOKS if attempt.close else POINTS
    heard = np.isfinite(known.y[_own(attempt, known)])
    return asked_for(attempt, known) < enough or not np.any(heard)


def asked_for(attempt: Attempt, known: History) -> int:
    """How many points an attempt has asked for; of EVERYTHING, how many any has."""
    of = [a for i in (*known.infos, *known.pending_infos) if (a := i.get("attempt")) is not None]
    return len(of) if attempt == EVERYTHING else of.count(attempt.number)


def best_attempt(history: History, latest: Attempt) -> Attempt:
    """Which one has the best point; the first has those that none has asked for."""
    number = int(history.infos[history.best].get("attempt", 1)) if history.values else 1
    if number in (latest.number, EVERYTHING.number):
        return latest
    return attempt_of(number, history)


def attempt_of(number: int, history: History) -> Attempt:
    """The attempt with that number, by what is said of its points."""
    close = any(i.get("attempt") == number and i.get("close") for i in history.infos)
    return Attempt(number, close)


def said_of(attempt: Attempt) -> Info:
    """What a certificate says of the attempt."""
    return {"attempt": attempt.number, **({"close": True} if attempt.close else {})}


def to_begin(
    attempt: Attempt, best: Host, asked: int, rng: np.random.Generator
) -> tuple[Host, str]:
    """The next point (D,) that an attempt begins with, after so many; and what it is called.

    Close to the ``best`` one (D,), or with some coordinates anywhere and the others from there.
    """
    D = len(best)
    if attempt.close:
        return np.clip(best + LOOK * 0.5**asked * rng.standard_normal(D), -1.0, 1.0), "look"
    redrawn = rng.random(D) < REDRAWN
    redrawn[rng.integers(D)] = True  # one, at least
    return np.where(redrawn, rng.uniform(-1.0, 1.0, D), best), "restart"


def _own(attempt: Attempt, known: History) -> list[int]:
    """The rows of its own points."""
    return [i for i, info in enumerate(known.infos) if info.get("attempt") == attempt.number]


def _first(attempt: Attempt, of: list[int | None]) -> int:
    """The row of its first point, or where that will be; ``of``: whose the points are."""
    if attempt.number == 1:
        return 0
    return of.index(attempt.number) if attempt.number in of else len(of)


def _is_better(history: History, latest: Attempt) -> bool:
    """Whether the best point is of later than the latest attempt's beginning: where none looked."""
    of = [info.get("attempt") for info in history.infos]
    return history.best >= _first(latest, of)
