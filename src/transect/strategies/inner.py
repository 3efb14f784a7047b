"""One step of GP-UCB on a box [-1, 1]^k: what GP-UCB does in all of it, and those do that
search a low-dimensional subspace in the subspace's own coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Host, to_host
from ..acquisition import UCB, Acquisition, LogEI
from ..engine import search_box, search_subspace
from ..subspace import Subspace
from ..theory import gp_ucb_beta
from ..view import Warp, Warped
from .protocol import Belief, Beta, Info, Setting, beta_kind, beta_value

ACQUISITIONS = ("ucb", "log-ei")
ENOUGH = 3  # values that a model needs to say anything


@dataclass(frozen=True, eq=False)
class Step:
    """The next coordinates v (k,), and what is known about them."""

    v: Host
    info: Info


@dataclass(frozen=True)
class Confidence:
    """How much uncertainty counts: the constants of β_t, or expected improvement instead."""

    beta: Beta = "paper"
    delta: float = 0.1
    a: float = 1.0
    b: float = 1.0
    beta_scale: float = 1.0
    acquisition: str = "ucb"

    def acquire(self, belief: Belief, t: int, k: int) -> tuple[Acquisition, dict[str, Any]]:
        """The acquisition at step t in k dimensions, and its entries in the certificate."""
        if self.acquisition == "log-ei":
            gp = belief.gp  # pending points count with what is expected of them
            best = float(to_host(gp.smoothed).max())
            return LogEI(best), {"acquisition": "log-ei"}
        paper = gp_ucb_beta(t, k, self.delta, self.a, self.b)
        beta = self.beta_scale * beta_value(self.beta, t, k, {"paper": paper})
        return UCB(beta), {"acquisition": "ucb", "beta": beta, "beta_kind": beta_kind(self.beta)}


def check_acquisition(acquisition: str) -> None:
    """Raise unless ``acquisition`` names one."""
    if acquisition not in ACQUISITIONS:
        valid = " or ".join(map(repr, ACQUISITIONS))
        raise ValueError(f"acquisition must be {valid}, got {acquisition!r}")


def step(
    confidence: Confidence,
    belief: Belief,
    t: int,
    setting: Setting,
    rng: np.random.Generator,
    deadline: float | None,
    *,
    warp: Warp | None = None,
    around: Host | None = None,
) -> Step:
    """Step t in a box [-1, 1]^k.

    The process of ``belief`` is defined on the box or, with a ``warp``, on what that makes of
    it; ``around`` (j, k) are then good points known, which it cannot tell.
    """
    k = belief.gp.X.shape[1] if warp is None or around is None else around.shape[1]
    acquisition, info = confidence.acquire(belief, t, k)
    limits: dict[str, Any] = {"budget": setting.suggest_evals, "deadline": deadline}
    if warp is None:
        found = search_subspace(Subspace.whole(k), belief.gp, acquisition, rng, **limits)
    else:
        box = np.full(k, -1.0), np.full(k, 1.0)
        view = Warped(belief.gp, warp)
        found = search_box(view, box, acquisition, rng, around=around, **limits)
    if confidence.acquisition == "ucb":
        info["ucb"] = belief.unscaled(found.value)
    else:
        info["log_ei"] = belief.unscaled_log(found.value)
    info |= {"t": t, "subspaces": found.subspaces, "evaluations": found.evaluations}
    info["observations"] = belief.model.gp.n
    info["jitter"] = belief.gp.jitter
    return Step(found.x, info)
