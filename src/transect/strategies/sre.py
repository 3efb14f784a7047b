"""SRE: sequential random embeddings, each laid through the best point so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .._array import Host
from .._checks import whole_number
from ..fit import Surrogate
from ..model import Memory, Model, recall, remember
from .guarantee import no_guarantee
from .inner import Confidence, check_acquisition, step
from .protocol import (
    Belief,
    Beta,
    History,
    Info,
    Proposal,
    Setting,
    check_beta,
    check_model,
    free_coordinates,
    own_generator,
)

UNKNOWN_EVALS = 200  # evaluations to divide up where nobody says how many there will be
KEPT = ("index", "anchor", "value", "t")  # of a stage, for a run that is taken up again


@dataclass(frozen=True, eq=False)
class _Stage:
    """One embedding: x = clip(c·anchor + A·y), with (y, c) in [-1, 1]^(d+1)."""

    index: int
    A: Host  # (D, d)
    anchor: Host  # (D,), x̃; zero in the first, where c plays no part
    value: float  # of the anchor
    t: int = 0
    model: Model | None = None

    @property
    def k(self) -> int:
        """Coordinates: y, and c after the first stage."""
        return int(self.A.shape[1]) + (self.index > 0)

    def inside(self, history: History) -> History:
        """The evaluations of this stage, in its own coordinates."""
        return history.within(lambda info: _coordinates(info, self), self.k)

    def seen(self, inside: History) -> History:
        """With the free observation: c = 1 and y = 0 give x̃."""
        if self.index == 0:
            return inside
        free = np.append(np.zeros(self.k - 1), 1.0)
        return replace(inside, X=np.vstack([free, inside.X]), y=np.append(self.value, inside.y))

    def proposal(self, setting: Setting, v: Host, info: Info) -> Proposal:
        d = self.A.shape[1]
        y, c = v[:d], float(v[d]) if self.index else 0.0
        x = np.clip(c * self.anchor + self.A @ y, -1.0, 1.0)
        state = _State(setting, self)
        return Proposal(x, {**info, "stage": self.index, "y": y, "c": c}, state)


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    stage: _Stage | None = None


@dataclass(frozen=True)
class SRE:
    """Sequential random embeddings of Qian, Hu and Yu (2016), with GP-UCB inside.

    m embeddings one after the other, with an equal share of the evaluations each (the rest goes
    to the last). Embedding i has a matrix A_i (D, d) of entries N(0, 1/d) and searches
    x = clip(c·x̃ + A_i·y) over y in [-1, 1]^d and c in [-1, 1], where x̃ is the best point
    so far (nothing in the first embedding). The initial points serve the first, as far as its
    share goes; each later one starts with d + 2 random points and the value at x̃, which is free.

    d: dimension of the embeddings, at most D (default 5, or D if that is smaller). m: how many
    (fewer, where that would leave less than d + 3 evaluations to each). max_evals: evaluations
    to divide up (default: those of the run; 200 where that is not known). beta, delta: as in
    GPUCB, in the dimension of the search and with t counted in each embedding. acquisition:
    "ucb" or "log-ei". info has the parts of a point: ``stage``, ``y`` and ``c``.
    """

    name: ClassVar[str] = "sre"
    guarantee = no_guarantee

    d: int | None = None
    m: int = 5
    max_evals: int | None = None
    beta: Beta = "paper"
    delta: float = 0.1
    acquisition: str = "ucb"
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        if self.d is not None:
            whole_number("d", self.d, 1)
        whole_number("m", self.m, 1)
        if self.max_evals is not None:
            whole_number("max_evals", self.max_evals, 1)
        check_model(self.surrogate, self.delta)
        check_beta(self.beta)
        check_acquisition(self.acquisition)

    def start(self, setting: Setting) -> _State:
        free_coordinates(self.d, setting.D)
        return _State(setting)

    def remember(self, state: _State) -> Memory:
        stage = state.stage
        if stage is None:
            return {}
        numbers = {name: getattr(stage, name) for name in KEPT}
        return {**numbers, "model": remember(stage.model)}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        if not memory:
            return self.start(setting)
        A = self._matrix(setting, memory["index"])
        stage = _Stage(A=A, **{name: memory[name] for name in KEPT})
        model = recall(memory["model"], stage.seen(stage.inside(history)).X, setting.device)
        return _State(setting, replace(stage, model=model))

    def initial(self, state: _State, history: History, u: Host) -> Proposal:
        stage = self._stage(state, history)
        return stage.proposal(state.setting, np.resize(u, stage.k), {})

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        stage, setting = self._stage(state, history), state.setting
        inside = stage.inside(history)
        if inside.values == 0 or (stage.index and inside.asked < stage.A.shape[1] + 2):
            return stage.proposal(setting, rng.uniform(-1.0, 1.0, stage.k), {})
        seen = stage.seen(inside)
        belief = Belief.of(self.surrogate, stage.model, seen, setting.device, deadline)
        confidence = Confidence(self.beta, self.delta, acquisition=self.acquisition)
        found = step(confidence, belief, stage.t + 1, setting, rng, deadline)
        stage = replace(stage, t=stage.t + 1, model=belief.model)
        return stage.proposal(setting, found.v, found.info)

    def _stage(self, state: _State, history: History) -> _Stage:
        """The stage of the next evaluation: the one so far, or a new one through the best."""
        setting, D = state.setting, state.setting.D
        d = free_coordinates(self.d, D)
        evals = self.max_evals or setting.max_evals or UNKNOWN_EVALS
        m = max(1, min(self.m, evals // (d + 3)))
        own = sum("stage" in info for info in (*history.infos, *history.pending_infos))
        index = min(own // (evals // m), m - 1)
        if state.stage is not None:
            # One at a time, also where many points were asked for before the first value.
            index = min(index, state.stage.index + 1)
            if state.stage.index == index or not history.values:
                return state.stage
        A = self._matrix(setting, index)
        if index == 0:
            return _Stage(0, A, np.zeros(D), math.nan)
        best = history.best
        return _Stage(index, A, history.X[best].copy(), float(history.y[best]))

    def _matrix(self, setting: Setting, index: int) -> Host:
        d = free_coordinates(self.d, setting.D)
        scale = math.sqrt(1.0 / d)
        return own_generator(setting, index).normal(scale=scale, size=(setting.D, d))


def _coordinates(info: Info, stage: _Stage) -> Host | None:
    """(y, c) of an evaluation of this stage."""
    if info.get("stage") != stage.index:
        return None
    y: Host = info["y"]
    return np.append(y, info["c"]) if stage.index else y
