"""GP-UCB: one global model, one acquisition, maximised over the whole box."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .._checks import positive_number
from ..fit import Surrogate
from ..model import Memory, Model, recall, remember
from .guarantee import Guarantee, srinivas
from .inner import Confidence, check_acquisition, step
from .protocol import Belief, Beta, History, Proposal, Setting, as_drawn, check_beta, check_model


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    t: int
    model: Model | None


@dataclass(frozen=True)
class GPUCB:
    """GP-UCB of Srinivas et al. (2012): x_t maximises μ + sqrt(β_t)·σ over [-1, 1]^D.

    beta: "paper" (their Theorem 2), "practical" (divided by 8·D), a number, or a function
    of t; ``beta_scale`` multiplies any of them (their experiments use 1/5). delta, a, b:
    the constants of the theory. acquisition: "ucb", or "log-ei" for the logarithm of the
    expected improvement over the best posterior mean at the data, where β plays no part.
    """

    name: ClassVar[str] = "gp-ucb"
    initial = as_drawn

    beta: Beta = "paper"
    beta_scale: float = 1.0
    delta: float = 0.1
    a: float = 1.0
    b: float = 1.0
    acquisition: str = "ucb"
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        check_model(self.surrogate, self.delta)
        check_beta(self.beta)
        positive_number("beta_scale", self.beta_scale)
        positive_number("a", self.a)
        positive_number("b", self.b)
        check_acquisition(self.acquisition)

    def start(self, setting: Setting) -> _State:
        return _State(setting, 0, None)

    def remember(self, state: _State) -> Memory:
        return {"t": state.t, "model": remember(state.model)}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        model = recall(memory["model"], history.X, setting.device)
        return replace(self.start(setting), t=memory["t"], model=model)

    def guarantee(self, D: int) -> Guarantee:
        published = self.beta_scale == 1.0 and self.acquisition == "ucb"
        return srinivas(self.surrogate, self.beta, self.delta, published)

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        t, setting = state.t + 1, state.setting
        confidence = Confidence(
            self.beta, self.delta, self.a, self.b, self.beta_scale, self.acquisition
        )
        belief = Belief.of(self.surrogate, state.model, history, setting.device, deadline)
        found = step(confidence, belief, t, setting, rng, deadline)
        return Proposal(found.v, found.info, replace(state, t=t, model=belief.model))
