"""REMBO: Bayesian optimisation in random linear embeddings, several of them in turn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .._array import Host
from .._checks import whole_number
from ..embedding import Clipped, Psi
from ..fit import Surrogate
from ..model import Memory, Model, recall, remember
from ..view import Warp
from .guarantee import no_guarantee
from .inner import ENOUGH, Confidence, check_acquisition, step
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

KERNELS = ("y", "x", "psi")


@dataclass(frozen=True, eq=False)
class _Run:
    """One embedding with its own data and model."""

    clipped: Clipped  # holds A
    t: int = 0
    model: Model | None = None


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    runs: tuple[_Run, ...]

    @property
    def d(self) -> int:
        return int(self.runs[0].clipped.A.shape[1])


@dataclass(frozen=True)
class REMBO:
    """REMBO of Wang et al. (2013).

    x = clip(A·y) with A (D, d) of standard normal entries and y in [-√d, √d]^d, where GP-UCB
    works. Runs with an A and data of their own take turns, since any single A may miss the
    optimum. Different y can give the same x: y is kept with every evaluation, never inferred.

    d: dimension of the embeddings, at most D (default 5, or D if that is smaller); for d = D,
    A is the identity and y in [-1, 1]^D. k: interleaved runs. kernel: what a process sees of a
    point: "y", "x" (the clipped point) or "psi" (Binois et al. 2015). beta, delta: as in GPUCB,
    with d for D and t counted in each run. acquisition: "ucb", or "log-ei", the authors' own.
    Evaluations made elsewhere have no y: they count as results, not in the models. info has
    the ``run`` and ``y``.
    """

    name: ClassVar[str] = "rembo"
    guarantee = no_guarantee

    d: int | None = None
    k: int = 4
    kernel: str = "psi"
    beta: Beta = "paper"
    delta: float = 0.1
    acquisition: str = "ucb"
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        if self.d is not None:
            whole_number("d", self.d, 1)
        whole_number("k", self.k, 1)
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}; got {self.kernel!r}")
        check_model(self.surrogate, self.delta)
        check_beta(self.beta)
        check_acquisition(self.acquisition)

    def start(self, setting: Setting) -> _State:
        D, d = setting.D, free_coordinates(self.d, setting.D)
        if d == D:
            maps = [Clipped(np.eye(D))] * self.k
        else:
            matrices = (own_generator(setting, run).normal(size=(D, d)) for run in range(self.k))
            maps = [Clipped(A, math.sqrt(d)) for A in matrices]
        return _State(setting, tuple(_Run(clipped) for clipped in maps))

    def remember(self, state: _State) -> Memory:
        return {"runs": [{"t": run.t, "model": remember(run.model)} for run in state.runs]}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        state = self.start(setting)
        runs = []
        for i, (run, known) in enumerate(zip(state.runs, memory["runs"], strict=True)):
            seen = self._seen(run.clipped, _inside(history, i, run.clipped))
            model = recall(known["model"], seen.X, setting.device)
            runs.append(replace(run, t=known["t"], model=model))
        return replace(state, runs=tuple(runs))

    def initial(self, state: _State, history: History, u: Host) -> Proposal:
        return self._proposal(state, self._turn(history), u[: state.d], {})

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        run, setting = self._turn(history), state.setting
        clipped, t = state.runs[run].clipped, state.runs[run].t + 1
        inside = _inside(history, run, clipped)
        if inside.values < ENOUGH:
            return self._proposal(state, run, rng.uniform(-1.0, 1.0, state.d), {})
        warp, seen = self._warp(clipped), self._seen(clipped, inside)
        belief = Belief.of(self.surrogate, state.runs[run].model, seen, setting.device, deadline)
        best = np.argsort(-np.nan_to_num(inside.y, nan=-np.inf), kind="stable")[:5]
        confidence = Confidence(self.beta, self.delta, acquisition=self.acquisition)
        found = step(
            confidence, belief, t, setting, rng, deadline, warp=warp, around=inside.X[best]
        )
        runs = list(state.runs)
        runs[run] = replace(runs[run], t=t, model=belief.model)
        return self._proposal(replace(state, runs=tuple(runs)), run, found.v, found.info)

    def _turn(self, history: History) -> int:
        """The run whose turn it is: the one with the fewest points."""
        runs = [info.get("run") for info in (*history.infos, *history.pending_infos)]
        return min(range(self.k), key=runs.count)

    def _warp(self, clipped: Clipped) -> Warp | None:
        if self.kernel == "y":
            return None
        return clipped if self.kernel == "x" else Psi(clipped)

    def _seen(self, clipped: Clipped, inside: History) -> History:
        """A run's evaluations as its process sees them."""
        warp = self._warp(clipped)
        if warp is None:
            return inside
        return replace(inside, X=warp.points(inside.X), pending=warp.points(inside.pending))

    def _proposal(self, state: _State, run: int, v: Host, info: Info) -> Proposal:
        clipped = state.runs[run].clipped
        x = clipped.points(v[None, :])[0]
        return Proposal(x, {**info, "run": run, "y": clipped.side * v}, state)


def _inside(history: History, run: int, clipped: Clipped) -> History:
    """The evaluations of one run, with coordinates in [-1, 1]^d."""
    return history.within(
        lambda info: info["y"] / clipped.side if info.get("run") == run else None,
        int(clipped.A.shape[1]),
    )
