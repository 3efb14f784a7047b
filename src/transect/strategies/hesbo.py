"""HeSBO: one hashing embedding, every variable a signed copy of one of a few."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._array import Host
from .._checks import whole_number
from ..fit import Surrogate
from ..model import Memory, Model, recall, remember
from .guarantee import no_guarantee
from .inner import ENOUGH, Confidence, check_acquisition, step
from .protocol import (
    Belief,
    Beta,
    History,
    Proposal,
    Setting,
    check_beta,
    check_model,
    free_coordinates,
    own_generator,
)


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    d: int
    bucket: NDArray[np.intp]  # (D,), h
    sign: Host  # (D,), s
    t: int = 0
    model: Model | None = None

    def point(self, y: Host) -> Host:
        """x_i = s_i·y_h(i)."""
        x: Host = self.sign * y[self.bucket]
        return x


@dataclass(frozen=True)
class HeSBO:
    """HeSBO of Nayebi, Munteanu and Poloczek (2019).

    Each variable is hashed to one of d buckets and given a sign, once: x_i = s_i·y_h(i) with
    y in [-1, 1]^d, where GP-UCB works. Nothing is ever clipped. Two variables that matter fall
    into one bucket with probability 1/d; such a run cannot tell them apart.

    d: buckets, at most D (default 5, or D if that is smaller); d = D is GP-UCB. beta, delta:
    as in GPUCB, with d for D. acquisition: "ucb", or "log-ei", the authors' own.
    Evaluations made elsewhere have no y if d < D: they count as results, not in the model.
    info has ``y``.
    """

    name: ClassVar[str] = "hesbo"
    guarantee = no_guarantee

    d: int | None = None
    beta: Beta = "paper"
    delta: float = 0.1
    acquisition: str = "ucb"
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        if self.d is not None:
            whole_number("d", self.d, 1)
        check_model(self.surrogate, self.delta)
        check_beta(self.beta)
        check_acquisition(self.acquisition)

    def start(self, setting: Setting) -> _State:
        D, d = setting.D, free_coordinates(self.d, setting.D)
        if d == D:
            return _State(setting, d, np.arange(D), np.ones(D))
        rng = own_generator(setting)
        return _State(setting, d, rng.integers(0, d, D), rng.choice([-1.0, 1.0], D))

    def remember(self, state: _State) -> Memory:
        return {"t": state.t, "model": remember(state.model)}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        state = self.start(setting)
        model = recall(memory["model"], _inside(state, history).X, setting.device)
        return replace(state, t=memory["t"], model=model)

    def initial(self, state: _State, history: History, u: Host) -> Proposal:
        y = u[: state.d]
        return Proposal(state.point(y), {"y": y}, state)

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        t, setting = state.t + 1, state.setting
        inside = _inside(state, history)
        if inside.values < ENOUGH:
            drawn = self.initial(state, history, rng.uniform(-1.0, 1.0, setting.D))
            return replace(drawn, state=replace(state, t=t))
        belief = Belief.of(self.surrogate, state.model, inside, setting.device, deadline)
        confidence = Confidence(self.beta, self.delta, acquisition=self.acquisition)
        found = step(confidence, belief, t, setting, rng, deadline)
        return Proposal(
            state.point(found.v),
            {**found.info, "y": found.v},
            replace(state, t=t, model=belief.model),
        )


def _inside(state: _State, history: History) -> History:
    """What has a y, seen from there; for d = D, y is x."""
    if state.d == state.setting.D:
        return history
    return history.within(lambda info: info.get("y"), state.d)
