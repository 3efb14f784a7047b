"""Anchored without one of its parts, or with another in its place: what the ablation compares.

A variant is a strategy and, where its options do not reach, names in the library's modules that
stand for something else while it looks for a point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from transect import MSUCB, Anchored, anchors, likelihood
from transect._array import Host
from transect.acquisition import UCB, LogEI
from transect.strategies import Strategy, attempts, choice
from transect.strategies import anchored as steps

from .method import Start
from .ours import Ours
from .trust_region import in_trust_region

ABLATED = "ablation:"
MODEL = Anchored().surrogate
SLICES = MSUCB(beta="practical", surrogate=MODEL)


@dataclass(frozen=True)
class Variant:
    """What takes the place of ``Anchored()``, and of names in modules by their full path."""

    says: str
    strategy: Strategy = field(default_factory=Anchored)
    instead: Mapping[str, Any] = field(default_factory=dict)


def _model(says: str, **options: Any) -> Variant:
    return Variant(says, Anchored(surrogate=replace(MODEL, **options)))


def _insured(share: float) -> Variant:
    return Variant(f"{share:.0%} of the steps insured, not 2%", Anchored(insurance=share))


def _step(says: str, **names: Any) -> Variant:
    """With other names in the module of the strategy."""
    return Variant(says, instead={f"{steps.__name__}.{name}": new for name, new in names.items()})


def _search(says: str, **names: Any) -> Variant:
    """With other names in the module of its search."""
    return Variant(says, instead={f"{anchors.__name__}.{name}": new for name, new in names.items()})


def _family(says: str, name: str) -> Variant:
    """All candidates of one kind."""
    draw, _ = anchors.FAMILIES[name]
    return _search(says, FAMILIES={name: (draw, anchors.CANDIDATES)})


def _twice(loc: float, wide: float, spread: float, usual: Any = likelihood.Shrunk) -> Any:
    """A prior under which length-scales are twice as unlike."""
    return usual(loc, wide, 2.0 * spread)


def _improvement(gp: Any, best: float, *_: Any) -> LogEI:
    return LogEI(best)


def _bound(gp: Any, best: float, t: int, in_flight: bool) -> UCB:
    return choice.bound(t)


def _otherwise(far: bool, random: bool) -> Callable[..., tuple[float, float]]:
    """Far climbs and random steps as often as they are made, or never."""
    usual = choice.otherwise

    def shares(gp: Any, climbs: Any) -> tuple[float, float]:
        far_climbs, random_steps = usual(gp, climbs)
        return far * far_climbs, random * random_steps

    return shares


def _best_point(gp: Any, count: int = 1) -> tuple[Host, float]:
    return anchors.best_points(gp, 1)


ABLATIONS: Mapping[str, Variant] = {
    "as-it-is": Variant("Anchored as it is"),
    # where it searches
    "slices": Variant("MS-UCB's slices alone, by the same model", SLICES),
    "no-climb": _search("the best candidate, no climbs", SHORT=1, LONG=1),
    "moves": _family("candidates through anchors only", "moves"),
    "box": _family("candidates anywhere only", "box"),
    "exact": _search("climbs until a step gains 1e-6, not 1e-4", WORTHWHILE=1e-6),
    "three": _search("three climbs to the end, not two", FINALISTS=3),
    "plain": Variant(
        "climbs not in units of the length-scales", instead={"transect.view.View.scale": 1.0}
    ),
    "one-anchor": _step("one anchor", best_points=_best_point),
    "turbo-region": _step(
        "trust region, halved by D failures", search_anchored=in_trust_region(lambda D: D)
    ),
    "region": _step(
        "trust region, halved by ten failures", search_anchored=in_trust_region(lambda D: 10)
    ),
    # what it climbs
    "improvement": _step("expected improvement always", usual=_improvement),
    "bound": _step("the bound μ + κσ always", usual=_bound),
    "no-far": _step("no far climbs", otherwise=_otherwise(far=False, random=True)),
    "no-looks": Variant(
        "no attempts close to the best point",
        instead={f"{attempts.__name__}.is_lost": lambda known, hyper: False},
    ),
    "no-random": _step("no random steps", otherwise=_otherwise(far=True, random=False)),
    "insured-0": _insured(0.0),
    "insured-20": _insured(0.2),
    # the model
    "one-scale": _model("one length-scale, same priors", ard=False),
    "one-scale-ml": _model("one length-scale, maximum likelihood", ard=False, prior="none"),
    "ard-ml": _model("ARD, maximum likelihood", prior="none"),
    "ard-scaled": _model("ARD, dimension-scaled prior", prior="dimension-scaled"),
    "unlike": Variant(
        "length-scales twice as unlike", instead={f"{likelihood.__name__}.Shrunk": _twice}
    ),
    "rbf": _model("RBF kernel", kernel="rbf"),
    "unclipped": _model("values not clipped", clip=None),
    "noisy": _model("noise never unlikely", prior="shrunk-noisy"),
    "one-start": Variant(
        "one start of a fit, not three", instead={"transect.fit.START_LENGTHSCALES": (0.4,) * 3}
    ),
}


class Ablated:
    """A variant as a method."""

    replays = True

    def __init__(self, start: Start, name: str) -> None:
        self.variant = ABLATIONS[name]
        self.ours = Ours(start, self.variant.strategy)

    def tell(self, x: Host, y: float) -> None:
        self.ours.tell(x, y)

    def ask(self) -> Host:
        with ExitStack() as others:
            for name, new in self.variant.instead.items():
                others.enter_context(patch(name, new))
            return self.ours.ask()
