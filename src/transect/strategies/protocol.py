"""What a strategy is: a frozen recipe that turns a history into the next point.

A strategy never holds what it has learnt. ``start`` makes a state, ``suggest`` takes one
and gives the next; the optimizer keeps it in between. Tables inside a state are caches: they
may be changed in place, which can change which of several equal maxima is found, but not
how good it is. Points are in [-1, 1]^D and values
are to be maximised: units and signs are the optimizer's business.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from .._array import Host, to_device
from .._checks import is_real, positive_number
from ..fit import Surrogate
from ..gp import GaussianProcess
from ..model import Model
from ..pace import advance_within
from ..theory import practical_scale

N_INIT = 5  # evaluations before a strategy takes over, unless said otherwise

Info: TypeAlias = Mapping[str, Any]  # numbers and short texts
Beta: TypeAlias = str | float | Callable[[int], float]


@dataclass(frozen=True, eq=False)
class History:
    """What is known when a point is asked for.

    X (n, D) and y (n,) are the finished evaluations in the order they were told, y = nan
    where one failed; pending (p, D) are points asked for but not told yet. infos (n) and
    pending_infos (p) are what the strategy said of these points when it proposed them; where
    it did not, as for points told from elsewhere, nothing of its own is in there.
    """

    X: Host
    y: Host
    pending: Host
    infos: Sequence[Info] = ()
    pending_infos: Sequence[Info] = ()

    @property
    def asked(self) -> int:
        """How many points there are, finished or not."""
        return len(self.X) + len(self.pending)

    @property
    def values(self) -> int:
        """How many evaluations gave a value."""
        return int(np.count_nonzero(np.isfinite(self.y)))

    @property
    def best(self) -> int:
        """Row of the best finished evaluation; there must be one."""
        return int(np.nanargmax(self.y))

    def within(self, coordinates: Callable[[Info], Host | None], d: int) -> History:
        """The evaluations that have coordinates (d,) in a subspace, seen from inside it."""

        def inside(infos: Sequence[Info]) -> tuple[list[int], Host]:
            found = [(i, v) for i, info in enumerate(infos) if (v := coordinates(info)) is not None]
            return [i for i, _ in found], np.array([v for _, v in found]).reshape(-1, d)

        told, V = inside(self.infos)
        flying, pending = inside(self.pending_infos)
        return replace(self.only(told, flying), X=V, pending=pending)

    def only(self, told: Sequence[int], flying: Sequence[int]) -> History:
        """These rows of the finished evaluations, and of the pending points."""
        return History(
            self.X[told],
            self.y[told],
            self.pending[flying],
            [self.infos[i] for i in told],
            [self.pending_infos[i] for i in flying],
        )


@dataclass(frozen=True, eq=False)
class Setting:
    """What stays the same during a run.

    max_evals: evaluations of the objective the run will make, where that is known.
    suggest_evals: evaluations of the acquisition a suggestion may take; None: as many as
    the engine thinks right.
    """

    D: int
    seed: int
    device: Any | None = None
    max_evals: int | None = None
    suggest_evals: int | None = None


@dataclass(frozen=True, eq=False)
class Proposal:
    """The next point x (D,) in [-1, 1], what is known about it, and the state after it."""

    x: Host
    info: Info
    state: Any


class Strategy(Protocol):
    """One algorithm: frozen, with everything it remembers in the state it is handed.

    It may also have ``guarantee(D)``: what the theory says of its runs in D dimensions. And
    ``remember(state)``, what a state is made of besides the history, with ``recall(setting,
    memory, history)``, which makes it again: then a run that was interrupted goes on at once.
    Without, all its suggestions are made again, and so they are where ``exact`` is False: what
    comes after a recalled state is as good as it would have been, but not the same.
    """

    name: ClassVar[str]

    def start(self, setting: Setting) -> Any:
        """The state before the first suggestion; the place for checks against D."""
        ...

    def initial(self, state: Any, history: History, u: Host) -> Proposal:
        """A point of the initial design, made from one drawn uniformly in the box, u (D,)."""
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


def as_drawn(strategy: Strategy, state: Any, history: History, u: Host) -> Proposal:
    """``Strategy.initial`` of those that work in the box itself: the point as it is."""
    return Proposal(u, {}, state)


@dataclass(frozen=True, eq=False)
class Belief:
    """The model of the finished evaluations, and the same with pending points added."""

    model: Model
    gp: GaussianProcess

    @staticmethod
    def of(
        surrogate: Surrogate,
        previous: Model | None,
        history: History,
        device: Any | None,
        deadline: float | None = None,
        *,
        other_inputs: bool = False,
    ) -> Belief:
        """See ``Surrogate.advance``; before a deadline, of what there is time for."""
        data = (surrogate, previous, history.X, history.y, device)
        limited = previous is not None and previous.rows is not None  # once, at least
        if deadline is None and not limited:
            model = Surrogate.advance(*data, other_inputs=other_inputs)
        else:
            model = advance_within(*data, deadline or math.inf, other_inputs=other_inputs)
        gp = model.gp
        if len(history.pending):
            gp = gp.hallucinate(to_device(history.pending, device))
        return Belief(model, gp)

    def unscaled(self, u: float) -> float:
        """A standardised value in the units of the maximised function, where there are such."""
        return _finite(self.model.shift + self.model.scale * u)

    def unscaled_difference(self, u: float) -> float:
        """The same of a difference of two."""
        return _finite(self.model.scale * u)

    def unscaled_log(self, u: float) -> float:
        """The logarithm of a difference in those units, from that of a standardised one."""
        return math.log(self.model.scale) + u


def _finite(value: float) -> float:
    """The nearest number that is finite: beyond values of 1e308 a bound has none."""
    return max(-sys.float_info.max, min(sys.float_info.max, value))


def free_coordinates(d: int | None, D: int) -> int:
    """The dimension of a strategy's subspaces: d, or five where it is left open."""
    if d is None:
        return min(5, D)
    if d > D:
        raise ValueError(f"d must be at most D = {D}, got {d}")
    return int(d)


def own_generator(setting: Setting, index: int = 0) -> np.random.Generator:
    """For what a strategy draws once: apart from the generators that suggestions get."""
    return np.random.default_rng([setting.seed, index, 1])


def check_model(surrogate: Any, delta: Any) -> None:
    """Raise unless these are a surrogate, and a δ for its bounds."""
    if not isinstance(surrogate, Surrogate):
        raise TypeError(f"surrogate must be a transect.Surrogate(…), got {surrogate!r:.100}")
    positive_number("delta", delta, below=1.0)


def check_beta(beta: Any, kinds: tuple[str, ...] = ("paper", "practical")) -> None:
    """Raise unless this is a β_t of one of the kinds, a number or a function."""
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
