"""What the theory says of a strategy's runs, and what its settings have against that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..fit import Surrogate

# Of no strategy can it be seen whether these hold.
ASSUMED = (
    "if f is a draw from the model's Gaussian process with derivatives as in Assumption 1, and "
    "if the search missed no better point of its subspaces"
)


@dataclass(frozen=True)
class Guarantee:
    """A statement of the theory about runs, and which of its assumptions are not met."""

    statement: str | None  # None: there is no theorem
    unmet: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing that can be seen stands in its way."""
        return self.statement is not None and not self.unmet

    def __str__(self) -> str:
        if self.statement is None:
            return f"No guarantee: {'; '.join(self.unmet)}."
        if not self.unmet:
            return f"Guarantee: {self.statement}, {ASSUMED}."
        *others, last = self.unmet
        why = f"{'; '.join(others)} and {last}" if others else last
        return f"No guarantee, since {why}. If that were not so: {self.statement}."


def no_guarantee(strategy: Any, D: int) -> Guarantee:
    """``guarantee`` of strategies that no theorem here is about."""
    return Guarantee(None, (f"no regret bound is known for {strategy.name}",))


def theorem_1(surrogate: Surrogate, beta: Any, delta: float) -> Guarantee:
    """MS-UCB's, repaired (docs/theory.md)."""
    unmet = _changed(surrogate)
    if beta == "paper":
        unmet += ("the published β_t leaves out the union over all slices, 2·log|Z_t|",)
    elif beta != "corrected":
        unmet += ("β_t is not the corrected one",)
    return Guarantee(
        f"with probability {1.0 - delta:g} the regret of all suggestions together is below the "
        "bound of Theorem 1, corrected (theory.corrected_regret_bound)",
        unmet,
    )


def where_insured(surrogate: Surrogate, share: float, delta: float, whole: bool) -> Guarantee:
    """Of a strategy that plays MS-UCB with the corrected β_t in a share of its steps.

    ``whole``: with the box as its one slice, which is GP-UCB. Posterior variances at K of the steps
    add up to no more than what K points can tell, since knowing others makes each smaller; so the
    bound is that of K steps, but for β, which has grown with all of them.
    """
    if not share:
        return Guarantee(None, ("no step is insured (insurance=0)",))
    bound = (
        "Srinivas et al. (2012), Theorem 2,"
        if whole
        else "Theorem 1, corrected (theory.corrected_regret_bound),"
    )
    return Guarantee(
        f"with probability {1.0 - delta:g} the regret of the K insured suggestions together, "
        f"{100.0 * share:g} % of all, is below the bound of {bound} for K steps with the last "
        "step's β, and that of the best point found below a K-th of it",
        _changed(surrogate),
    )


def srinivas(surrogate: Surrogate, beta: Any, delta: float, as_published: bool) -> Guarantee:
    """GP-UCB's. ``as_published``: β_t is neither scaled nor left out of the acquisition."""
    unmet = _changed(surrogate)
    if beta not in ("paper", "corrected") or not as_published:
        unmet += ("β_t is not the published one",)
    return Guarantee(
        f"with probability {1.0 - delta:g} the regret of all suggestions together is below the "
        "bound of Srinivas et al. (2012), Theorem 2",
        unmet,
    )


def _changed(surrogate: Surrogate) -> tuple[str, ...]:
    """What the model has that the theory's has not."""
    unmet: tuple[str, ...] = ()
    if surrogate.known is None:
        unmet += ("the hyper-parameters are fitted on the way, not known",)
    if surrogate.clip is not None:
        unmet += ("bad values are clipped",)
    return unmet
