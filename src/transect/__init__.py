"""transect: Bayesian optimisation of expensive functions of 20 to 5000 and more variables.

Every algorithm here is a way to choose subspaces; one engine finds the best acquisition
value on all of them.
"""

from __future__ import annotations

from .acquisition import UCB, LogEI
from .box import Box
from .fit import Surrogate
from .gp import GaussianProcess, Hyperparameters
from .kernels import RBF, Matern52
from .loop import maximize, minimize
from .optimizer import Optimizer
from .planner import plan
from .report import report
from .strategies import GPUCB, MSUCB, REMBO, SRE, Anchored, DropoutUCB, HeSBO, LineBO, RandomSearch
from .subspace import Slices, Subspace
from .trial import Trial

__version__ = "0.1.0"

__all__ = [
    "GPUCB",
    "MSUCB",
    "RBF",
    "REMBO",
    "SRE",
    "UCB",
    "Anchored",
    "Box",
    "DropoutUCB",
    "GaussianProcess",
    "HeSBO",
    "Hyperparameters",
    "LineBO",
    "LogEI",
    "Matern52",
    "Optimizer",
    "RandomSearch",
    "Slices",
    "Subspace",
    "Surrogate",
    "Trial",
    "maximize",
    "minimize",
    "plan",
    "report",
]
