"""MS-UCB: the acquisition maximised on a growing set of random slices (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .._checks import positive_number, whole_number
from ..acquisition import UCB
from ..engine import search_slices, search_subspace
from ..fit import Surrogate, load
from ..model import Memory, Model, recall, remember
from ..screen import Screen
from ..subspace import Slices, Subspace
from ..theory import corrected_beta, gp_ucb_beta, ms_ucb_beta, slice_count
from .guarantee import Guarantee, srinivas, theorem_1
from .protocol import (
    Belief,
    Beta,
    History,
    Proposal,
    Setting,
    as_drawn,
    beta_kind,
    beta_value,
    check_beta,
    check_model,
    free_coordinates,
    own_generator,
)


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    d: int
    t: int  # suggestions made so far
    screen: Screen
    model: Model | None


@dataclass(frozen=True)
class MSUCB:
    """MS-UCB of Tran-The et al. (2020).

    Before suggestion t, N_t = n0·t^alpha slices are added to Z_t (lines 4–5); each fixes
    the first D-d coordinates at a uniform random z and leaves the last d free. The
    suggestion maximises μ + sqrt(β_t)·σ on all of them (line 6, Eq. 12).

    d: free coordinates, 0 ≤ d ≤ D (default 5, or D if that is smaller). d = D is GP-UCB
    with its own β_t; d = 0 picks among the drawn points. beta: "paper" (as published),
    "corrected" (with the union over all slices, 2 log|Z_t|, which the proof needs),
    "practical" (the published one divided by 8·max(d, 1)), a number, or a function of t.
    delta, a, b: the constants of the theory. permute: shuffle once which coordinates are free.

    info has ``slice`` (which one the point is on), ``slices`` (how many there are) and
    ``subspaces`` (how many were looked at: fewer under a budget, a time or a memory limit).
    """

    name: ClassVar[str] = "ms-ucb"
    exact: ClassVar[bool] = False  # what the screen knows of the slices is not remembered
    initial = as_drawn

    d: int | None = None
    n0: int = 1
    alpha: int = 0
    beta: Beta = "paper"
    delta: float = 0.1
    a: float = 1.0
    b: float = 1.0
    permute: bool = False
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        if self.d is not None:
            whole_number("d", self.d, 0)
        whole_number("n0", self.n0, 1)
        whole_number("alpha", self.alpha, 0)
        positive_number("a", self.a)
        positive_number("b", self.b)
        kinds = ("paper", "corrected", "practical")
        check_model(self.surrogate, self.delta)
        check_beta(self.beta, kinds)

    def start(self, setting: Setting) -> _State:
        load()
        d = free_coordinates(self.d, setting.D)
        order = None
        if self.permute:
            order = own_generator(setting).permutation(setting.D)
        slices = Slices(setting.D, d, setting.seed, order)
        screen = Screen(slices, budget=setting.suggest_evals, evals=setting.max_evals or 0)
        return _State(setting, d, 0, screen, None)

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        D, d, t = state.setting.D, state.d, state.t + 1
        belief = Belief.of(self.surrogate, state.model, history, state.setting.device, deadline)
        m = 1 if d == D else slice_count(t, self.n0, self.alpha)
        beta = beta_value(self.beta, t, d, self._published(t, D, d, m))
        acquisition = UCB(beta)
        if d == D:  # one slice, the box: GP-UCB
            found = search_subspace(
                Subspace.whole(D),
                belief.gp,
                acquisition,
                rng,
                budget=state.setting.suggest_evals,
                deadline=deadline,
            )
        else:
            found = search_slices(
                state.screen,
                belief.gp,
                acquisition,
                m,
                rng,
                settled=belief.model.gp.n,
                deadline=deadline,
            )
        ucb = belief.unscaled(found.value)
        info = {
            "ucb": ucb,
            "best_slice": ucb,
            "margin": 0.0,
            "beta": beta,
            "beta_kind": beta_kind(self.beta),
            "t": t,
            "slice": found.subspace,
            "slices": m,
            "subspaces": found.subspaces,
            "evaluations": found.evaluations,
            "observations": belief.model.gp.n,
            "jitter": belief.gp.jitter,
        }
        return Proposal(found.x, info, replace(state, t=t, model=belief.model))

    def remember(self, state: _State) -> Memory:
        return {"t": state.t, "model": remember(state.model)}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        model = recall(memory["model"], history.X, setting.device)
        return replace(self.start(setting), t=memory["t"], model=model)

    def guarantee(self, D: int) -> Guarantee:
        if free_coordinates(self.d, D) == D:
            return srinivas(self.surrogate, self.beta, self.delta, as_published=True)
        return theorem_1(self.surrogate, self.beta, self.delta)

    def _published(self, t: int, D: int, d: int, m: int) -> dict[str, float]:
        constants = (self.delta, self.a, self.b)
        if d == D:
            paper = gp_ucb_beta(t, D, *constants)
            return {"paper": paper, "corrected": paper}
        return {
            "paper": ms_ucb_beta(t, D, d, *constants),
            "corrected": corrected_beta(t, D, d, m, *constants),
        }
