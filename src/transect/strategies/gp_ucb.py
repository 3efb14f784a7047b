"""GP-UCB: one global model, one acquisition, maximised over the whole box."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .._array import to_host
from .._checks import positive_number
from ..acquisition import UCB, Acquisition, LogEI
from ..engine import search_subspace
from ..fit import Model, Surrogate
from ..subspace import Subspace
from ..theory import gp_ucb_beta
from .protocol import (
    Belief,
    Beta,
    History,
    Proposal,
    Setting,
    beta_kind,
    beta_value,
    check_beta,
)


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

    beta: Beta = "paper"
    beta_scale: float = 1.0
    delta: float = 0.1
    a: float = 1.0
    b: float = 1.0
    acquisition: str = "ucb"
    surrogate: Surrogate = field(default_factory=Surrogate)

    def __post_init__(self) -> None:
        check_beta(self.beta, ("paper", "practical"))
        positive_number("beta_scale", self.beta_scale)
        positive_number("delta", self.delta, below=1.0)
        positive_number("a", self.a)
        positive_number("b", self.b)
        if self.acquisition not in ("ucb", "log-ei"):
            raise ValueError(f"acquisition must be 'ucb' or 'log-ei', got {self.acquisition!r}")

    def start(self, setting: Setting) -> _State:
        return _State(setting, 0, None)

    def suggest(
        self,
        state: _State,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        D, t = state.setting.D, state.t + 1
        belief = Belief.of(self.surrogate, state.model, history, state.setting.device)
        paper = gp_ucb_beta(t, D, self.delta, self.a, self.b)
        beta = self.beta_scale * beta_value(self.beta, t, D, {"paper": paper})
        ucb = UCB(beta)
        acquisition: Acquisition = ucb
        if self.acquisition == "log-ei":
            gp = belief.gp  # pending points count with what is expected of them
            acquisition = LogEI(float(to_host(gp.posterior(gp.X)[0]).max()))
        found = search_subspace(Subspace.whole(D), belief.gp, acquisition, rng, deadline=deadline)
        info: dict[str, Any] = {
            "acquisition": self.acquisition,
            "t": t,
            "subspaces": found.subspaces,
            "evaluations": found.evaluations,
        }
        if self.acquisition == "ucb":
            info |= {
                "ucb": belief.unscaled(found.value),
                "beta": beta,
                "beta_kind": beta_kind(self.beta),
            }
        else:
            info["log_ei"] = found.value
        return Proposal(found.x, info, replace(state, t=t, model=belief.model))
