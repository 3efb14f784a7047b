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
from ..acquisition import UCB, Acquisition
from ..anchors import Found, affordable, best_points, evolve, search_anchored
from ..engine import search_slices, search_subspace
from ..fit import Surrogate, load
from ..gp import GaussianProcess
from ..model import Memory, Model, recall, remember
from ..probes import random_probes
from ..screen import Screen
from ..subspace import Slices, Subspace
from ..theory import corrected_beta, gp_ucb_beta, slice_count
from .attempts import (
    EVERYTHING,
    Attempt,
    asked_for,
    attempt_of,
    best_attempt,
    is_new,
    known_to,
    said_of,
    to_begin,
    turn,
)
from .choice import all_failed, climbs_of, far, otherwise, parent, step_size, usual
from .guarantee import Guarantee, where_insured
from .protocol import Belief, History, Info, Proposal, Setting, check_model, free_coordinates

GLANCE = 64  # slices looked at for the gate's margin where a step is not insured
INSURED, GLANCED = 0.5, 0.1  # of the time left, what the slices get at a step; and otherwise
FIRST = Attempt(1)
CHANGED = 1e-3  # of a box side of 2: a coordinate that differs by less is as before


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    slices: Slices  # MS-UCB's
    t: int = 0  # suggestions made so far
    attempt: Attempt = FIRST  # the latest one
    models: Mapping[int, Model] = field(default_factory=dict)  # by the number of their attempt

    @property
    def count(self) -> int:
        """How many slices MS-UCB has at this step; in few dimensions one, the box."""
        return 1 if self.slices.d == self.slices.D else slice_count(self.t + 1, 1, 0)

    def turn(self, history: History, standardised: bool) -> tuple[_State, Attempt]:
        """The state now, and which attempt is to go on: a new one, if the latest one is over.

        ``standardised``: whether models are of such values.
        """
        most = self.setting.max_evals
        told = sum(info.get("source") == "told" for info in history.infos)  # not the run's
        left = math.inf if most is None else most - (history.asked - told)
        hypers = {of: model.gp.hyper for of, model in self.models.items()}
        latest, going = turn(self.attempt, history, hypers, standardised, left)
        return replace(self, attempt=latest), going

    def after(self, model: Model, of: Attempt, history: History) -> _State:
        """The state after a suggestion by such a model; those that are done with are let go."""
        live = (EVERYTHING, best_attempt(history, self.attempt), self.attempt)
        kept = {attempt.number for attempt in live}
        models = {k: m for k, m in {**self.models, of.number: model}.items() if k in kept}
        return replace(self, t=self.t + 1, models=models)

    def budget(self, insured: bool) -> tuple[int | None, int | None]:
        """Acquisition evaluations for the search through anchors, and for MS-UCB's slices."""
        budget = self.setting.suggest_evals
        if budget is None:
            return None, None
        slices = budget // 2 if insured else min(self.count, GLANCE)
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

    def said(self, belief: Belief, ucb: float) -> Info:
        """What a certificate says of it, and of a point where the bound has the value ``ucb``."""
        return {
            "ucb": belief.unscaled(ucb),
            "best_slice": belief.unscaled(self.value),
            "margin": belief.unscaled_difference(ucb - self.value),
            "beta": self.bound.beta,
            "beta_kind": "corrected",
            "slices": self.slices,
            "subspaces": self.looked,
        }


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
    the one with the largest bound, on those slices or found through anchors. With hyper-parameters
    that are known (``Surrogate(known=…)``) these steps have MS-UCB's regret bound, and so has the
    best point found; with the default model, which is fitted, they are a precaution without proof.

    Where the model sees noise and 40 climbs in a row fail, a new attempt begins close to the best
    point, with a model of its own, for what looks like noise may be ripples. And where 100
    suggestions in a row (D/2, if that is more) gain next to nothing and twice as many are left, or
    nobody has said how many are, one begins with points that have three quarters of their
    coordinates from the best one. Each goes on in turn with the one that has the best point
    (attempts.py).

    insurance: the share of insured steps. delta: how often the bound may fail. surrogate: the
    model; by default one length-scale per coordinate, shrunk towards a common one, of values
    clipped where they are bad. The middle of the box is the first point of the initial design, if
    there is one and the middle is not known already.

    info has ``family`` (what the point was found on: "moves" through anchors, the "box",
    "evolution" with its step size ``sigma``, "slices" of MS-UCB, a "look" close to the best point
    or a "restart"), ``attempt`` (0: of none, by all evaluations; ``close``: begun with looks),
    ``insured`` and, unless an attempt begins with it, ``changed`` (coordinates that differ from the
    best point's), ``log_ei`` or ``kappa`` (not of MS-UCB's slices), and ``margin``, how far its
    ``ucb`` is above the gate's ``best_slice``; at steps that are not insured, of ``subspaces``
    slices that were glanced at, and by what the attempt knows.
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
        latest = state.attempt
        return {"t": state.t, "attempt": latest.number, "close": latest.close, "models": models}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        kept, device = {int(of): m for of, m in memory["models"].items()}, setting.device
        models = {
            of: model
            for of in kept
            if (model := recall(kept[of], known_to(attempt_of(of, history), history).X, device))
        }
        latest = Attempt(memory["attempt"], memory.get("close", False))
        return replace(self.start(setting), t=memory["t"], attempt=latest, models=models)

    def guarantee(self, D: int) -> Guarantee:
        whole = free_coordinates(None, D) == D
        return where_insured(self.surrogate, self.insurance, self.delta, whole)

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
        if insured and state.attempt != FIRST:
            of = EVERYTHING  # MS-UCB's bound of these steps is one by all evaluations
        known = known_to(of, history)
        if is_new(of, known):
            x, family = to_begin(of, history.X[history.best], asked_for(of, known), rng)
            info = {"family": family, **said_of(of), "insured": False, "t": t}
            return Proposal(x, info, replace(state, t=t))
        climbs = climbs_of(known)
        surrogate, last = self._surrogate(climbs), state.models.get(of.number)
        belief = Belief.of(surrogate, last, known, state.setting.device, deadline)
        gp = belief.gp  # pending points count with what is expected of them

        best = best_points(gp, 1)
        acquisition = usual(gp, best[1], asked_for(of, known), len(known.pending) > 0)
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
            **said_of(of),
            "insured": insured,
            **gate.said(belief, ucb),
            "t": t,
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
        t, slices, m = state.t + 1, state.slices, state.count
        D, d = slices.D, slices.d
        beta = gp_ucb_beta(t, D, self.delta) if d == D else corrected_beta(t, D, d, m, self.delta)
        bound = UCB(beta)
        if insured:
            budget = state.budget(insured)[1]
            if d == D:
                found = search_subspace(
                    Subspace.whole(D), gp, bound, rng, budget=budget, deadline=deadline
                )
            else:
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
        coin, (distant, steps) = rng.random(), otherwise(gp, climbs)
        if distant <= coin < distant + steps:
            sigmas = [info.get("sigma") for info in history.infos]
            how["sigma"] = step_size(list(zip(sigmas, history.y.tolist(), strict=True)))
            found = evolve(gp, acquisition, parent(gp), how["sigma"], rng, **limits)
        else:
            acquisition = far(rng) if coin < distant else acquisition
            found = search_anchored(gp, acquisition, best_points(gp)[0], rng, **limits)
        if isinstance(acquisition, UCB):
            how["kappa"] = math.sqrt(acquisition.beta)
        else:
            how["log_ei"] = belief.unscaled_log(found.value)
        return found, {"family": found.family, **how}


def _is_in(share: float, t: int) -> bool:
    """Whether step t is one of a share of the steps, spread evenly."""
    return math.floor(t * share + 1e-9) > math.floor((t - 1) * share + 1e-9)


def _values(gp: GaussianProcess, acquisition: UCB, points: Host) -> list[float]:
    """The values (k) at points (k, D)."""
    values: list[float] = to_host(acquisition.value(*gp.posterior(like(gp.X, points)))).tolist()
    return values


def _glance(slices: Slices, start: int, stop: int, rng: np.random.Generator) -> Host:
    """A point on each of the slices ``start`` to ``stop`` (k, D)."""
    v = random_probes(rng, (1, stop - start, slices.d))[0].astype(np.float64)
    return slices.point(slices.z(start, stop), v)
