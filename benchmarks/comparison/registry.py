"""Methods by name. A new one is a line here; one of ours needs none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from transect.strategies import BY_NAME

from .ablations import ABLATED, ABLATIONS, Ablated
from .libraries import Optuna, Pycma
from .log_ei import BoTorch
from .method import Centre, Method, Random, Start
from .ours import PREFIX, STRATEGIES, Ours, named
from .turbo import Turbo, some_way_up

PEERS: Mapping[str, Callable[[Start], Method]] = {
    "random": Random,
    "centre": Centre,
    # A first step of a fifth of the box; and of a twentieth: where evaluations are few, 0.2, 0.1
    # and 0.05 are about equal and better than 0.4 (over 29 tasks, on other seeds).
    "pycma": partial(Pycma, step=0.4),
    "pycma-small": partial(Pycma, step=0.1),
    "optuna-tpe": Optuna.tpe,
    "optuna-gp": Optuna.gp,
    "turbo": Turbo,
    "botorch": BoTorch,
}
# Others, to ask for by name: what a choice of ours in a peer's setting makes of it.
VARIANTS: Mapping[str, Callable[[Start], Method]] = {
    "turbo-adam": partial(Turbo, fit=some_way_up),
}
COMPARED = ("gp-ucb", "gp-ucb-log-ei", "ms-ucb", "ms-ucb-1-1", "anchored")

# Runs of these are faster than the library, see closed_form.py.
UNTIMED = {"botorch", "turbo", "turbo-adam", "optuna-gp"}

# What a comparison without further words has; a strategy that the library lacks is left out.
NAMES = (
    *PEERS,
    *(PREFIX + name for name in COMPARED if name in STRATEGIES or name in BY_NAME),
)


def factory(name: str) -> Callable[[Start], Method]:
    """What makes the method of that name."""
    peers = {**PEERS, **VARIANTS}
    if name in peers:
        return peers[name]
    ours = name.removeprefix(PREFIX)
    if name.startswith(PREFIX) and (ours in STRATEGIES or ours in BY_NAME):
        return lambda start: Ours(start, named(ours))
    if name.startswith(ABLATED) and name.removeprefix(ABLATED) in ABLATIONS:
        return partial(Ablated, name=name.removeprefix(ABLATED))
    known = [*peers, *(PREFIX + ours for ours in dict.fromkeys([*STRATEGIES, *BY_NAME]))]
    raise ValueError(f"there is no method {name!r}; there are {', '.join(known)}")
