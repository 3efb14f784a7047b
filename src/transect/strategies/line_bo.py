"""LineBO: the acquisition maximised on one line at a time, through the best point."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .._array import Host, like, to_host
from .._checks import positive_number, whole_number
from .._clock import part_of
from ..acquisition import UCB
from ..ascent import ascend
from ..climb import Meter
from ..engine import search_subspace
from ..fit import Surrogate
from ..gp import GaussianProcess
from ..model import Memory, Model, recall, remember
from ..subspace import Subspace
from ..theory import ms_ucb_beta
from ..view import View
from .guarantee import no_guarantee
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
)

DIRECTIONS = ("random", "coordinate", "descent")
MEAN_EVALS = 256  # posterior means looked at for the best point of a line
GRID = 32  # points of a line at which it is checked whether anything is left to gain
STEPS = 10  # of the ascent that a descent direction follows
TINY = 1e-6  # a displacement or a segment shorter than this is none


@dataclass(frozen=True, eq=False)
class _Line:
    """One line: through the point ``through`` (D,), of which ``queries`` were made."""

    index: int
    through: Host
    segment: Subspace
    queries: int = 0


@dataclass(frozen=True, eq=False)
class _State:
    setting: Setting
    t: int = 0
    line: _Line | None = None
    model: Model | None = None


@dataclass(frozen=True)
class LineBO:
    """LineBO of Kirschner et al. (2019).

    A line is laid through x̂, the best point; up to ``most`` points on it maximise
    μ + sqrt(β_t)·σ, of a model in all D dimensions. Then x̂ moves to where the posterior mean
    is largest on the line, unless it is no larger than at x̂, and the next line is laid. A
    line ends early, but not before ``least`` points, when the largest upper confidence bound on
    it exceeds the lower one of x̂ by less than ``gap`` standard deviations of the values; and
    at once when the bound is largest at an end of it that was evaluated already.

    direction: "random", "coordinate" (one after the other) or "descent" (where the gradient of
    the posterior mean leads; random where it leads nowhere). beta: "paper" (MS-UCB's with
    d = 1), "practical", a number or a function of t; delta: the constant of the theory. info
    has the number of the ``line`` and of the ``query`` on it.
    """

    name: ClassVar[str] = "line-bo"
    initial = as_drawn
    guarantee = no_guarantee

    direction: str = "random"
    least: int = 5
    most: int = 10
    gap: float = 0.01
    beta: Beta = "paper"
    delta: float = 0.1
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            valid = ", ".join(DIRECTIONS)
            raise ValueError(f"direction must be one of {valid}; got {self.direction!r}")
        whole_number("least", self.least, 1)
        whole_number("most", self.most, self.least)
        positive_number("gap", self.gap)
        check_model(self.surrogate, self.delta)
        check_beta(self.beta)

    def start(self, setting: Setting) -> _State:
        return _State(setting)

    def remember(self, state: _State) -> Memory:
        line = state.line
        laid = None if line is None else _remember_line(line)
        return {"t": state.t, "line": laid, "model": remember(state.model)}

    def recall(self, setting: Setting, memory: Memory, history: History) -> _State:
        laid = memory["line"]
        line = None if laid is None else _recall_line(laid)
        model = recall(memory["model"], history.X, setting.device)
        return _State(setting, memory["t"], line, model)

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        t, setting = state.t + 1, state.setting
        belief = Belief.of(self.surrogate, state.model, history, setting.device, deadline)
        published = {"paper": ms_ucb_beta(t, setting.D, 1, self.delta)}
        ucb = UCB(beta_value(self.beta, t, 1, published))
        meter = Meter(setting.suggest_evals or math.inf)
        line = self._line(state.line, belief.gp, ucb, history, rng, meter, deadline)
        budget = None if setting.suggest_evals is None else int(meter.left)
        found = search_subspace(line.segment, belief.gp, ucb, rng, budget=budget, deadline=deadline)
        line = replace(line, queries=line.queries + 1)
        info: dict[str, Any] = {
            "ucb": belief.unscaled(found.value),
            "beta": ucb.beta,
            "beta_kind": beta_kind(self.beta),
            "t": t,
            "line": line.index,
            "query": line.queries,
            "subspaces": 1,
            "evaluations": found.evaluations + meter.used,
            "jitter": belief.gp.jitter,
        }
        return Proposal(found.x, info, replace(state, t=t, line=line, model=belief.model))

    def _line(
        self,
        line: _Line | None,
        gp: GaussianProcess,
        ucb: UCB,
        history: History,
        rng: np.random.Generator,
        meter: Meter,
        deadline: float | None,
    ) -> _Line:
        """The line to look for the next point on: this one or, if it is done, the next."""
        if line is None:
            return self._lay(gp, 0, history.X[history.best].copy(), rng, meter)
        if not self._is_done(line, gp, ucb, history, meter):
            return line
        budget = int(min(MEAN_EVALS, meter.budget / 4))
        soon = part_of(deadline, 0.3)
        best = search_subspace(line.segment, gp, UCB(0.0), rng, budget=budget, deadline=soon)
        meter.used += best.evaluations
        through = best.x if best.value > _posterior(gp, line.through)[0] else line.through
        return self._lay(gp, line.index + 1, through, rng, meter)

    def _is_done(
        self, line: _Line, gp: GaussianProcess, ucb: UCB, history: History, meter: Meter
    ) -> bool:
        """Whether nothing is left to do on the line."""
        if line.queries >= self.most:
            return True
        meter.used += GRID
        ends = line.segment.lower[0], line.segment.upper[0]
        V = np.linspace(*ends, GRID)[:, None]
        values = to_host(View.of_subspace(gp, line.segment).value(ucb, like(gp.X, V), None))
        top = int(np.argmax(values))
        if top in (0, GRID - 1):
            # A model that takes the values for noisy would go there for ever.
            end = line.segment.point(V[top])
            if _is_among(end, history.X) or _is_among(end, history.pending):
                return True
        mean, var = _posterior(gp, line.through)
        spread = math.sqrt(ucb.beta * var)
        left = max(values[top], mean + spread) - (mean - spread)  # the grid may miss x̂
        return line.queries >= self.least and bool(left < self.gap)

    def _lay(
        self,
        gp: GaussianProcess,
        index: int,
        through: Host,
        rng: np.random.Generator,
        meter: Meter,
    ) -> _Line:
        """The next line, through ``through`` (D,)."""
        D = len(through)
        direction: Host | None = None
        if self.direction == "coordinate":
            direction = np.zeros(D)
            direction[index % D] = 1.0
        elif self.direction == "descent":
            direction = _displacement(gp, through, meter)
        if direction is None:
            direction = rng.normal(size=D)
            direction /= np.linalg.norm(direction)
        segment = Subspace.segment(through, direction)
        if segment.upper[0] - segment.lower[0] <= TINY:
            # On the boundary hardly any direction leads back into many dimensions: turn the
            # components that lead out of the box around.
            inwards = np.where(np.abs(through) >= 1.0 - TINY, -np.sign(through), 0.0)
            turned = np.where(inwards != 0.0, inwards * np.abs(direction), direction)
            segment = Subspace.segment(through, turned)
        return _Line(index, through, segment)


def _remember_line(line: _Line) -> Memory:
    assert line.segment.basis is not None
    return {
        "index": line.index,
        "through": line.through,
        "direction": line.segment.basis[:, 0],
        "queries": line.queries,
    }


def _recall_line(memory: Memory) -> _Line:
    segment = Subspace.segment(memory["through"], memory["direction"])
    return _Line(memory["index"], memory["through"], segment, memory["queries"])


def _is_among(x: Host, points: Host) -> bool:
    """Whether x (D,) is one of the points (k, D)."""
    near = points[np.abs(points[:, 0] - x[0]) < TINY]  # few: the others need no second look
    return bool(np.any(np.max(np.abs(near - x), axis=1) < TINY))


def _posterior(gp: GaussianProcess, x: Host) -> tuple[float, float]:
    """Mean and variance at one point (D,)."""
    mean, var = gp.posterior(like(gp.X, x[None, :]))
    return float(mean[0]), float(var[0])


def _displacement(gp: GaussianProcess, x: Host, meter: Meter) -> Host | None:
    """The direction (D,) of a few steps up the posterior mean from x; None if they stay."""
    whole = Subspace.whole(len(x))
    objective = View.of_subspace(gp, whole).objective(UCB(0.0))
    lower, upper = like(gp.X, whole.lower), like(gp.X, whole.upper)
    end = ascend(objective, like(gp.X, x[None, :]), lower, upper, rounds=STEPS)
    meter.used += end.evaluations
    moved: Host = to_host(end.V)[0] - x
    length = float(np.linalg.norm(moved))
    return moved / length if length > TINY else None
