"""DropoutUCB: GP-UCB on a few coordinates drawn afresh at each step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._array import Host
from .._checks import positive_number, whole_number
from ..fit import Surrogate
from ..model import Memory, Model, recall, remember
from .guarantee import no_guarantee
from .inner import Confidence, check_acquisition, step
from .protocol import (
    Belief,
    Beta,
    History,
    Proposal,
    Setting,
    as_drawn,
    check_beta,
    check_model,
    free_coordinates,
)

FILLS = ("random", "copy", "mix")


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    d: int
    t: int = 0
    coordinates: NDArray[np.intp] | None = None  # (d,), of the model
    model: Model | None = None


@dataclass(frozen=True)
class DropoutUCB:
    """Dropout of Li et al. (2017) with an upper confidence bound.

    Each step draws d of the D coordinates, models the values as a function of these alone and
    maximises μ + sqrt(β_t)·σ over them. The other coordinates are filled in.

    d: coordinates, at most D (default 5, or D if that is smaller); d = D is GP-UCB. fill:
    "random" (uniform), "copy" (from the best evaluation) or "mix" (one draw a step: random
    with probability p, else copy). beta, delta: as in GPUCB, with d for D. acquisition: "ucb"
    or "log-ei". Values that differ at equal coordinates are noise to the model, which learns it.
    info has the ``coordinates`` and the ``fill``.
    """

    name: ClassVar[str] = "dropout-ucb"
    initial = as_drawn
    guarantee = no_guarantee

    d: int | None = None
    fill: str = "mix"
    p: float = 0.1
    beta: Beta = "paper"
    delta: float = 0.1
    acquisition: str = "ucb"
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        if self.d is not None:
            whole_number("d", self.d, 1)
        if self.fill not in FILLS:
            raise ValueError(f"fill must be one of {', '.join(FILLS)}; got {self.fill!r}")
        positive_number("p", self.p, below=1.0)
        check_model(self.surrogate, self.delta)
        check_beta(self.beta)
        check_acquisition(self.acquisition)

    def start(self, setting: Setting) -> _State:
        return _State(setting, free_coordinates(self.d, setting.D))

    def remember(self, state: _State) -> Memory:
        return {"t": state.t, "coordinates": state.coordinates, "model": remember(state.model)}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        chosen = memory["coordinates"]
        X = history.X if chosen is None else history.X[:, chosen]
        model = recall(memory["model"], X, setting.device)
        return replace(self.start(setting), t=memory["t"], coordinates=chosen, model=model)

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        D, d, t = state.setting.D, state.d, state.t + 1
        confidence = Confidence(self.beta, self.delta, acquisition=self.acquisition)
        if d == D:
            chosen, x, filled = np.arange(D), np.zeros(D), "none"
            belief = Belief.of(self.surrogate, state.model, history, state.setting.device, deadline)
        else:
            chosen = np.sort(rng.choice(D, d, replace=False))
            x, filled = self._fill(history, rng)
            belief = self._project(state, history, chosen, deadline)
        found = step(confidence, belief, t, state.setting, rng, deadline)
        x[chosen] = found.v
        info = {**found.info, "coordinates": chosen, "fill": filled}
        return Proposal(x, info, replace(state, t=t, coordinates=chosen, model=belief.model))

    def _project(
        self,
        state: _State,
        history: History,
        chosen: NDArray[np.intp],
        deadline: float | None,
    ) -> Belief:
        """The model of the chosen coordinates.

        All are drawn alike, so one length-scale is for all of them, refitted when due.
        """
        inside = History(history.X[:, chosen], history.y, history.pending[:, chosen])
        previous = None if self.surrogate.ard else state.model
        device = state.setting.device
        return Belief.of(self.surrogate, previous, inside, device, deadline, other_inputs=True)

    def _fill(self, history: History, rng: np.random.Generator) -> tuple[Host, str]:
        """A point (D,) to put the chosen coordinates into, and where it is from."""
        D = int(history.X.shape[1])
        copy = self.fill == "copy" or (self.fill == "mix" and rng.random() >= self.p)
        if copy:
            best: Host = history.X[history.best]
            return best.copy(), "copy"
        drawn = rng.uniform(-1.0, 1.0, (D,))
        return drawn, "random"
