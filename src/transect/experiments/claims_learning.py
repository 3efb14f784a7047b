"""What the paper's text says about its Figures 4 and 5, as comparisons that can be made.

Figure 5 is about Gisette; here it is judged on the stand-in, and the verdicts say so.
"""

from __future__ import annotations

from .claims_text import Claim, Lower, Reason
from .figures import RAMP_D, WEIGHTS
from .task import ProblemSpec

MS, LINE, SRE, REMBO, HESBO = "ms-ucb-d10-1-1", "line-bo", "sre-d10", "rembo-d10", "hesbo-d10"
RIVALS = (LINE, SRE, REMBO, HESBO)
ALL = (MS, *RIVALS)
NETWORKS = tuple(ProblemSpec("network", D, data="mnist") for D in (100, 500))
RAMPS = tuple(ProblemSpec("ramp", RAMP_D, data="gisette-like", C=C) for C in WEIGHTS)
STAND_IN = "stand-in data"


def _beats(
    problems: tuple[ProblemSpec, ...], better: str, rivals: tuple[str, ...]
) -> tuple[Lower, ...]:
    return tuple(Lower(problem, (better,), (rival,)) for problem in problems for rival in rivals)


def _poor(label: str) -> tuple[Lower, ...]:
    """Worse than the median, seed by seed, of the other four."""
    others = tuple(other for other in ALL if other != label)
    return tuple(Lower(problem, others, (label,)) for problem in RAMPS)


DRAWN = Reason("MS-UCB optimises ten of the weights and draws all others at random")
EMBEDDINGS = (SRE, REMBO, HESBO)
THROUGH_ZERO = Reason(
    "embeddings pass through w = 0, and near it the norm of w costs little; points that are drawn"
    " in the box are far from it",
    # With larger C the norm hardly counts.
    lambda part: isinstance(part, Lower) and part.problem.C == 1.0 and part.worse[0] in EMBEDDINGS,
)
ONE_BY_ONE = Reason("SRE divides its evaluations up between five embeddings")

CLAIMS = (
    Claim(
        "MS-UCB is best on both networks",
        "MS-UCB clearly outperforms the baselines for both cases",
        4,
        "lower validation loss than LineBO, SRE, REMBO and HeSBO at D = 100 and 500",
        {"paper": _beats(NETWORKS, MS, RIVALS)},
        (DRAWN,),
    ),
    Claim(
        "MS-UCB is best on the ramp loss at every C",
        "our method has consistently the best performance across different settings of C",
        5,
        "lower loss than LineBO, SRE, REMBO and HeSBO at C = 1, 2, 5 and 10",
        {STAND_IN: _beats(RAMPS, MS, RIVALS)},
        (DRAWN, THROUGH_ZERO),
    ),
    Claim(
        "SRE is second on the ramp loss",
        "followed by SRE",
        5,
        "lower loss than LineBO, REMBO and HeSBO at every C",
        {STAND_IN: _beats(RAMPS, SRE, (LINE, REMBO, HESBO))},
        (ONE_BY_ONE,),
    ),
    Claim(
        "REMBO, LineBO and HeSBO are poor on the ramp loss",
        "REMBO, LineBO, HESBO perform poorly for this application",
        5,
        "each worse than the median of the other four at every C",
        {STAND_IN: (*_poor(REMBO), *_poor(LINE), *_poor(HESBO))},
        (THROUGH_ZERO,),
    ),
)
