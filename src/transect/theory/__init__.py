"""The paper's theory as small pure functions: as published, and corrected where it needs to be.

Symbols as in the paper: D dimensions, d of them free and n = D - d fixed on a slice,
m = |Z_t| slices at step t, δ the failure probability, a and b the constants of Assumption 1,
P[sup |∂f/∂x_i| > L] ≤ a·exp(-(L/b)²). docs/theory.md says what holds and what does not.
"""

from .cost import gp_ucb_calls, ms_ucb_calls, pays_off, slice_count, slice_count_bound
from .information import information_gain, information_rate, variance_constant
from .lemmas import (
    corner_distance,
    corrected_lemma3_beta,
    corrected_lemma4,
    lemma2_beta,
    lemma3_beta,
    lemma4,
    lipschitz,
    published_distance,
    sup_norm_distance,
)
from .regret import (
    corrected_regret_bound,
    corrected_step_bound,
    rate_exponent,
    regret_bound,
    step_bound,
)
from .schedules import corrected_beta, gp_ucb_beta, ms_ucb_beta, practical_scale

__all__ = [
    "corner_distance",
    "corrected_beta",
    "corrected_lemma3_beta",
    "corrected_lemma4",
    "corrected_regret_bound",
    "corrected_step_bound",
    "gp_ucb_beta",
    "gp_ucb_calls",
    "information_gain",
    "information_rate",
    "lemma2_beta",
    "lemma3_beta",
    "lemma4",
    "lipschitz",
    "ms_ucb_beta",
    "ms_ucb_calls",
    "pays_off",
    "practical_scale",
    "published_distance",
    "rate_exponent",
    "regret_bound",
    "slice_count",
    "slice_count_bound",
    "step_bound",
    "sup_norm_distance",
    "variance_constant",
]
