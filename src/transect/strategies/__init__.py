"""The algorithms, one file each. A strategy is chosen by name or given as an object."""

from __future__ import annotations

from typing import Any

from .._checks import known_name
from .anchored import Anchored
from .dropout_ucb import DropoutUCB
from .gp_ucb import GPUCB
from .guarantee import Guarantee, no_guarantee
from .hesbo import HeSBO
from .line_bo import LineBO
from .ms_ucb import MSUCB
from .protocol import N_INIT, History, Proposal, Setting, Strategy, as_drawn
from .random_search import RandomSearch
from .rembo import REMBO
from .sre import SRE

BY_NAME: dict[str, type[Any]] = {
    s.name: s for s in (Anchored, MSUCB, GPUCB, DropoutUCB, LineBO, SRE, REMBO, HeSBO, RandomSearch)
}

__all__ = [
    "BY_NAME",
    "GPUCB",
    "MSUCB",
    "N_INIT",
    "REMBO",
    "SRE",
    "Anchored",
    "DropoutUCB",
    "Guarantee",
    "HeSBO",
    "History",
    "LineBO",
    "Proposal",
    "RandomSearch",
    "Setting",
    "Strategy",
    "as_drawn",
    "no_guarantee",
    "resolve",
]


def resolve(strategy: str | Strategy) -> Strategy:
    """A strategy object from a name or an object."""
    if isinstance(strategy, str):
        found: Strategy = BY_NAME[known_name("strategy", strategy, BY_NAME)]()
        return found
    if isinstance(strategy, type):
        raise TypeError(f"strategy must be an object, not a class: {strategy.__name__}()")
    missing = [m for m in ("start", "initial", "suggest") if not hasattr(strategy, m)]
    if missing:
        raise TypeError(
            f"strategy must be a name ({', '.join(sorted(BY_NAME))}) or a strategy object such "
            f"as transect.MSUCB(d=5); got {strategy!r}, which has no {', no '.join(missing)}"
        )
    return strategy
