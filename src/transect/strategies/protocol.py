"""What a strategy is: a frozen recipe that turns a history into the next point.

A strategy never holds what it has learnt. ``start`` makes a state, ``suggest`` takes one
and gives the next; the optimizer keeps it in between. Tables inside a state are caches: they
may be changed in place, which can change which of several equal maxima is found, but not
how good it is. Points are in [-1, 1]^D and values
are to be maximised: units and signs are the optimizer's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from .._array import Host, to_device
from .._checks import is_real
from ..fit import Model, Surrogate
from ..gp import GaussianProcess
from ..theory import practical_scale

Info: TypeAlias = Mapping[str, Any]  # numbers and short texts
Beta: TypeAlias = str | float | Callable[[int], float]


@dataclass(frozen=True, eq=False)
class History:
    """What is known when a point is asked for.

    X (n, D) and y (n,) are the finished evaluations in the order they were told, y = nan
    where one failed; pending (p, D) are points asked for but not told yet.
    """

    X: Host
    y: Host
    pending: Host


@dataclass(frozen=True, eq=False)
class Setting:
    """What stays the same during a run: the dimension, the seed and the device."""

    D: int
    seed: int
    device: Any | None = None


@dataclass(frozen=True, eq=False)
class Proposal:
    """The next point x (D,) in [-1, 1], what is known about it, and the state after it."""

    x: Host
    info: Info
    state: Any


class Strategy(Protocol):
    """One algorithm: frozen, with everything it remembers in the state it is handed."""

    name: ClassVar[str]

    def start(self, setting: Setting) -> Any:
        """The state before the first suggestion; the place for checks against D."""
        ...

    def suggest(
        self,
        state: Any,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        """The next point; at ``deadline`` (time.perf_counter) the best found so far."""
        ...


@dataclass(frozen=True, eq=False)
class Belief:
    """The model of the finished evaluations, and the same with pending points added."""

    model: Model
    gp: GaussianProcess

    @staticmethod
    def of(
        surrogate: Surrogate, previous: Model | None, history: History, device: Any | None
    ) -> Belief:
        model = surrogate.advance(previous, history.X, history.y, device)
        gp = model.gp
        if len(history.pending):
            gp = gp.hallucinate(to_device(history.pending, device))
        return Belief(model, gp)

    def unscaled(self, u: float) -> float:
        """A standardised value in the units of the maximised function."""
        return self.model.shift + self.model.scale * u


def check_beta(beta: Beta, kinds: tuple[str, ...]) -> None:
    """Raise unless ``beta`` is one of ``kinds``, a positive number or a callable."""
    if callable(beta) or (isinstance(beta, str) and beta in kinds):
        return
    if is_real(beta) and 0 < float(beta) < np.inf:
        return
    expected = ", ".join(repr(k) for k in kinds)
    raise ValueError(f"beta must be {expected}, a positive number or a callable of t; got {beta!r}")


def beta_value(beta: Beta, t: int, d: int, published: Mapping[str, float]) -> float:
    """β_t of a kind in ``published``, of "practical", of a number or of a callable."""
    if callable(beta):
        value = float(beta(t))
        if not (0 <= value < np.inf):
            raise ValueError(f"beta must return a non-negative number; beta({t}) is {value}")
        return value
    if beta == "practical":
        return practical_scale(d) * published["paper"]
    return published[beta] if isinstance(beta, str) else float(beta)


def beta_kind(beta: Beta) -> str:
    """How ``beta`` was chosen, for the certificate."""
    if isinstance(beta, str):
        return beta
    return "callable" if callable(beta) else "number"
