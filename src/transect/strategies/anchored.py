"""Anchored: climbs from subspaces through the best points, with MS-UCB's bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .._array import Host, like, to_host
from .._checks import is_real
from .._clock import part_of
from ..acquisition import UCB, Acquisition, LogEI
from ..anchors import (
    FAMILIES,
    Found,
    affordable,
    all_failed,
    best_points,
    doubt,
    evolve,
    parent,
    search_anchored,
    step_size,
)
from ..engine import search_slices
from ..fit import Surrogate, load
from ..gp import GaussianProcess
from ..model import Memory, Model, recall, remember
from ..probes import random_probes
from ..screen import Screen
from ..subspace import Slices
from ..theory import corrected_beta, slice_count
from .attempts import (
    EVERYTHING,
    asked_for,
    attempt_of,
    is_new,
    is_over,
    known_to,
    next_to,
    noise_share,
)
from .guarantee import Guarantee, theorem_1_where_insured
from .protocol import Belief, History, Proposal, Setting, check_model, free_coordinates

GLANCE = 64  # slices looked at for the gate's margin where a step is not insured
INSURED, GLANCED = 0.5, 0.1  # of the time left, what the slices get at a step; and otherwise
KAPPA = (0.5, 1.25)  # standard deviations added to the mean while points are few: at first, later
GROWN = 150  # suggestions after which it is "later"
FAR = (2.0, 8.0)  # standard deviations, least and most, of climbs that are to lead far
OTHERWISE = 0.5  # share of suggestions that are made otherwise where climbs only fail
CHANGED = 1e-3  # of a box side of 2: a coordinate that differs by less is as before


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    slices: Slices  # MS-UCB's
    t: int = 0  # suggestions made so far
    attempt: int = 1  # the latest one
    models: Mapping[int, Model] = field(default_factory=dict)  # of attempts, and of EVERYTHING

    def turn(self, history: History, standardised: bool) -> tuple[_State, int]:
        """The state now, and which attempt is to go on: a new one, if the latest one is over.

        The latest one and the one that has the best point take turns, so that the last digits
        of that are found, too. ``standardised``: whether models are of such values.
        """
        latest, model = known_to(self.attempt, history), self.models.get(self.attempt)
        most = self.setting.max_evals
        told = sum(info.get("source") == "told" for info in history.infos)  # not the run's
        left = math.inf if most is None else most - (history.asked - told)
        if model is not None:
            noise = noise_share(model.gp.hyper, standardised)
            if is_over(self.attempt, latest, noise, left):
                return replace(self, attempt=self.attempt + 1), self.attempt + 1
        infos = (*history.infos, *history.pending_infos)
        before = sum(not info.get("insured", True) for info in infos)  # insured steps are no turns
        if before % 2 == 0 or is_new(self.attempt, latest):
            return self, self.attempt
        return self, _best_attempt(history)

    def after(self, model: Model, of: int, history: History) -> _State:
        """The state after a suggestion by such a model; those that are done with are let go."""
        live = (EVERYTHING, _best_attempt(history), self.attempt)
        models = {k: m for k, m in {**self.models, of: model}.items() if k in live}
        return replace(self, t=self.t + 1, models=models)

    def budget(self, insured: bool) -> tuple[int | None, int | None]:
        """Acquisition evaluations for the search through anchors, and for MS-UCB's slices."""
        budget = self.setting.suggest_evals
        if budget is None:
            return None, None
        slices = budget // 2 if insured else min(slice_count(self.t + 1, 1, 0), GLANCE)
        return budget - slices, slices


@dataclass(frozen=True, eq=False)
class _Gate:
    """What a point has to surpass to keep MS-UCB's bound, x (D,) on one of so many slices."""

    bound: UCB
    slices: int
    x: Host
    value: float  # of the bound there
    looked: int  # slices that were looked at
    evaluations: int


@dataclass(frozen=True)
class Anchored:
    """Subspaces through the best points, from which an acquisition is climbed.

    Slices through the points with the highest posterior mean, and the box itself, whose best
    candidates climb in all D coordinates (anchors.py). What they climb is expected improvement,
    or, with fewer points than coordinates, the mean and ``kappa`` standard deviations. Where the
    model takes much of the values for noise and its climbs fail, ``kappa`` is large, so that they
    lead far. Where they fail without noise, every other one does, or, with fewer points than
    coordinates, is a random step from the best point, of the length that has paid lately, one of
    many, picked by the model.

    By the superset theorem (docs/theory.md) a point keeps MS-UCB's bound if its upper confidence
    bound passes the gate, the best one on MS-UCB's random slices. At insured steps the point is
    the one with the largest bound, on those slices or found through anchors, so the best point
    found has MS-UCB's regret bound of as many steps.

    Where 100 suggestions in a row (D/2, if that is more) gain next to nothing and twice as many are
    left, a new attempt begins, with points that have three quarters of their coordinates from the
    best one, and with a model of its own. It goes on in turn with the one that has the best point
    (attempts.py).

    insurance: the share of insured steps. delta: how often the bound may fail. surrogate: the
    model; by default one length-scale per coordinate, shrunk towards a common one, of values
    clipped where they are bad. The middle of the box is the first point of the initial design, if
    there is one and the middle is not known already.

    info has ``family`` (what the point was found on: "moves" through anchors, the "box",
    "evolution" with its step size ``sigma``, "slices" of MS-UCB, or a "restart"), ``attempt``,
    ``insured`` and, unless it is a restart, ``changed`` (coordinates that differ from the best
    point's), ``log_ei`` or ``kappa`` (not of MS-UCB's slices), and ``margin``, how far its ``ucb``
    is above the gate's ``best_slice``; at steps that are not insured, of ``subspaces`` slices that
    were glanced at, and by what the attempt knows.
    """

    name: ClassVar[str] = "anchored"

    insurance: float = 0.02
    delta: float = 0.1
    surrogate: Surrogate = field(
        default_factory=lambda: Surrogate(ard=True, prior="shrunk", clip=2.0)
    )

    def __post_init__(self) -> None:
        if not (is_real(self.insurance) and 0.0 <= self.insurance <= 1.0):
            raise ValueError(f"insurance must be a share, 0 to 1, got {self.insurance!r}")
        check_model(self.surrogate, self.delta)

    def start(self, setting: Setting) -> _State:
        load()
        slices = Slices(setting.D, free_coordinates(None, setting.D), setting.seed)
        return _State(setting, slices)

    def remember(self, state: _State) -> Memory:
        models = {str(of): remember(model) for of, model in state.models.items()}
        return {"t": state.t, "attempt": state.attempt, "models": models}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        kept = {int(of): model for of, model in memory["models"].items()}
        models = {
            of: model
            for of in kept
            if (model := recall(kept[of], known_to(of, history).X, setting.device))
        }
        at = {"t": memory["t"], "attempt": memory["attempt"]}
        return replace(self.start(setting), **at, models=models)

    def guarantee(self, D: int) -> Guarantee:
        return theorem_1_where_insured(self.surrogate, self.insurance, self.delta)

    def initial(self, state: _State, history: History, u: Host) -> Proposal:
        """The middle of the box first, then points as they are drawn."""
        known = np.concatenate([history.X, history.pending])
        middle = bool(np.any(np.all(known == 0.0, axis=1)))
        return Proposal(u if middle else np.zeros_like(u), {}, state)

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        t = state.t + 1
        insured = _is_in(self.insurance, t)
        state, of = state.turn(history, standardised=self.surrogate.known is None)
        if insured and state.attempt > 1:
            of = EVERYTHING  # MS-UCB's bound of these steps is one by all evaluations
        known = known_to(of, history)
        if is_new(of, known):
            x = next_to(history.X[history.best], rng)
            info = {"family": "restart", "attempt": of, "insured": False, "t": t}
            return Proposal(x, info, replace(state, t=t))
        climbs = _climbs(known)
        surrogate, last = self._surrogate(climbs), state.models.get(of)
        belief = Belief.of(surrogate, last, known, state.setting.device, deadline)
        gp = belief.gp  # pending points count with what is expected of them

        best = best_points(gp, 1)
        acquisition = _acquisition(gp, best[1], asked_for(of, known), len(known.pending) > 0)
        share = 1.0 - (INSURED if insured else GLANCED)
        limits = {
            "budget": state.budget(insured)[0],
            "deadline": part_of(deadline, share),
            "taken": () if known is history else (history.X,),  # by other attempts
        }
        found, how = self._improve(belief, acquisition, known, climbs, rng, limits)
        gate = self._gate(state, gp, insured, rng, deadline)
        x, ucb = found.x, _values(gp, gate.bound, found.x[None, :])[0]
        if insured and gate.value > ucb:
            x, ucb, how = gate.x, gate.value, {"family": "slices"}
        info = {
            **how,
            "changed": int(np.count_nonzero(np.abs(x - best[0]) > CHANGED)),
            "attempt": state.attempt if of == EVERYTHING else of,
            "insured": insured,
            "ucb": belief.unscaled(ucb),
            "best_slice": belief.unscaled(gate.value),
            "margin": belief.model.scale * (ucb - gate.value),
            "beta": gate.bound.beta,
            "beta_kind": "corrected",
            "t": t,
            "slices": gate.slices,
            "subspaces": gate.looked,
            "evaluations": found.evaluations + gate.evaluations,
            "observations": belief.model.gp.n,
            "jitter": belief.gp.jitter,
        }
        return Proposal(x, info, state.after(belief.model, of, history))

    def _gate(
        self,
        state: _State,
        gp: GaussianProcess,
        insured: bool,
        rng: np.random.Generator,
        deadline: float | None,
    ) -> _Gate:
        """The best point on MS-UCB's slices, or of a glance at them if the step is not insured."""
        t, slices = state.t + 1, state.slices
        m = slice_count(t, 1, 0)
        bound = UCB(corrected_beta(t, slices.D, slices.d, m, self.delta))
        if insured:
            budget = state.budget(insured)[1]
            screen = Screen(slices, budget=budget)  # the next such step is far away
            found = search_slices(screen, gp, bound, m, rng, deadline=deadline)
            return _Gate(bound, m, found.x, found.value, found.subspaces, found.evaluations)
        looked = affordable(gp, min(m, GLANCE), deadline)
        points = _glance(slices, m - looked, m, rng)
        values = _values(gp, bound, points)
        best = int(np.argmax(values))
        return _Gate(bound, m, points[best], values[best], looked, looked)

    def _surrogate(self, climbs: Sequence[bool]) -> Surrogate:
        """How to model the values, if hyper-parameters are to be fitted at this step.

        Under "shrunk" noise is unlikely, and noisy values are explained by places: a lucky one
        seems to be the best place, around which nothing is found. Where climbs only fail, that
        prior is left out.
        """
        if self.surrogate.prior == "shrunk" and all_failed(climbs):
            return replace(self.surrogate, prior="shrunk-noisy")
        return self.surrogate

    def _improve(
        self,
        belief: Belief,
        acquisition: Acquisition,
        history: History,
        climbs: Sequence[bool],
        rng: np.random.Generator,
        limits: Mapping[str, Any],
    ) -> tuple[Found, dict[str, Any]]:
        """The point of the largest acquisition found, and how it was found."""
        gp = belief.gp
        how: dict[str, Any] = {}
        coin, (far, steps) = rng.random(), _otherwise(gp, climbs)
        if far <= coin < far + steps:
            sigmas = [info.get("sigma") for info in history.infos]
            how["sigma"] = step_size(list(zip(sigmas, history.y.tolist(), strict=True)))
            found = evolve(gp, acquisition, parent(gp), how["sigma"], rng, **limits)
        else:
            acquisition = _far(rng) if coin < far else acquisition
            found = search_anchored(gp, acquisition, best_points(gp)[0], rng, **limits)
        if isinstance(acquisition, UCB):
            how["kappa"] = math.sqrt(acquisition.beta)
        else:
            how["log_ei"] = belief.unscaled_log(found.value)
        return found, {"family": found.family, **how}


def _best_attempt(history: History) -> int:
    """Which one has the best point; the first has those that were not asked for."""
    return attempt_of(history.infos[history.best]) if history.values else 1


def _acquisition(gp: GaussianProcess, best: float, t: int, in_flight: bool) -> Acquisition:
    """What to climb after t suggestions: expected improvement, or μ + κσ with few points.

    Which of them ends lower is a matter of measurement (docs/anchored.md): the bound does as long
    as there are fewer points than coordinates. A small κ would leave points too close to those
    in flight.
    """
    if in_flight or gp.n >= gp.X.shape[1]:
        return LogEI(best)
    return _bound(t)


def _bound(t: int) -> UCB:
    """μ + κσ after t suggestions."""
    first, later = KAPPA
    return UCB((first + (later - first) * min(1.0, t / GROWN)) ** 2)


def _otherwise(gp: GaussianProcess, climbs: Sequence[bool]) -> tuple[float, float]:
    """The shares of suggestions that are climbs to far away, and random steps.

    Where the model takes what it sees for noise, a step next to the best points gains less than
    that noise and says nothing of the slope, which shows between points that are far apart. Where
    climbs fail without noise, with fewer points than coordinates, they go too far.
    """
    noisy = doubt(gp, climbs)
    failing = OTHERWISE * (1.0 - noisy) if all_failed(climbs) else 0.0
    return (noisy, failing) if gp.n < gp.X.shape[1] else (noisy + failing, 0.0)


def _far(rng: np.random.Generator) -> Acquisition:
    """μ + κσ with a large κ, drawn anew for every climb."""
    least, most = FAR
    return UCB((least * (most / least) ** rng.random()) ** 2)


def _is_in(share: float, t: int) -> bool:
    """Whether step t is one of a share of the steps, spread evenly."""
    return math.floor(t * share + 1e-9) > math.floor((t - 1) * share + 1e-9)


def _climbs(history: History) -> list[bool]:
    """Of the points found by climbs, in their order, whether they surpassed all before them."""
    values = np.where(np.isnan(history.y), -np.inf, history.y)
    better = values > np.concatenate([[-np.inf], np.maximum.accumulate(values)])[:-1]
    return [
        bool(success)
        for info, success in zip(history.infos, better, strict=True)
        if info.get("family") in FAMILIES and not info["insured"]
    ]


def _values(gp: GaussianProcess, acquisition: UCB, points: Host) -> list[float]:
    """The values (k) at points (k, D)."""
    values: list[float] = to_host(acquisition.value(*gp.posterior(like(gp.X, points)))).tolist()
    return values


def _glance(slices: Slices, start: int, stop: int, rng: np.random.Generator) -> Host:
    """A point on each of the slices ``start`` to ``stop`` (k, D)."""
    v = random_probes(rng, (1, stop - start, slices.d))[0].astype(np.float64)
    return slices.point(slices.z(start, stop), v)
