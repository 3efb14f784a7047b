"""A close look: is what the model takes for noise noise, or are they ripples to be climbed?

A smooth function with noise and a rippled one without are two explanations of the same values,
as likely as each other while points are far apart. What tells them apart are points close to each
other, of which a search that leads far has none. So, once, a few are asked for next to the best
one, each half as far from it as the last; then both explanations are fitted.
"""

from __future__ import annotations

from typing import Any

from ..fit import Refit, Surrogate
from ..gp import Hyperparameters
from ..model import Model
from .protocol import Belief, History

LOOKS = (0.1, 0.05, 0.025, 0.0125)  # standard deviations of their coordinates, of a box side of 2
# Log posterior density that ripples may lack. A kernel with one length-scale everywhere does them
# wrong: it cannot have the long-range trend as well, which the smooth function with noise has.
# Where ripples can be climbed they lacked 5.3 at most, else mostly 7 to 27 (docs/anchored.md).
ALLOWED = 6.0
QUIET = 0.01  # of a model's variance: with less of it noise, there is none to speak of
FAMILY = "look"


def next_look(known: History) -> float | None:
    """The standard deviation of the next look, None after the last one."""
    asked = sum(i.get("family") == FAMILY for i in (*known.infos, *known.pending_infos))
    return LOOKS[asked] if asked < len(LOOKS) else None


def has_begun(known: History) -> bool:
    """Whether there was a first look, so that others are to follow."""
    return next_look(known) != LOOKS[0]


def verdict(known: History) -> str | None:
    """What looks have shown, see ``judge``; None as long as nobody knows."""
    given = (i["looked"] for i in (*known.infos, *known.pending_infos) if "looked" in i)
    return next(given, None)


def judged(
    surrogate: Surrogate,
    last: Model | None,
    known: History,
    device: Any | None,
    deadline: float | None,
) -> tuple[Belief, dict[str, str]]:
    """The model, fitted anew after the last look, and what looks have shown."""
    data, n = (surrogate, last, known, device, deadline), len(known.y)
    belief = Belief.of(*data, refit=Refit(n))
    usual = belief.gp.hyper
    if sees_noise(usual):
        belief = Belief.of(*data, refit=Refit(n, ripples=ALLOWED))
    return belief, {"looked": judge(usual, belief.gp.hyper)}


def judge(usual: Hyperparameters, taken: Hyperparameters) -> str:
    """What looks show, by the usual fit and the one that ``ALLOWED`` ripples to lack some.

    "nothing" if there is no noise to explain any more, "ripples" if they are taken instead of
    it, else "noise".
    """
    if not sees_noise(usual):
        return "nothing"
    return "noise" if sees_noise(taken) else "ripples"


def sees_noise(hyper: Hyperparameters) -> bool:
    """Whether there is any to speak of."""
    return bool(hyper.noise >= QUIET * (hyper.noise + hyper.amplitude))


def is_due(known: History) -> bool:
    """Whether a verdict can be given: all looks are back, and there is none yet."""
    told = sum(info.get("family") == FAMILY for info in known.infos)
    return told >= len(LOOKS) and verdict(known) is None
