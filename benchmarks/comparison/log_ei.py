"""BoTorch as its documentation has it: SingleTaskGP and LogEI with their defaults.

But for the time it takes: likelihoods and acquisitions are in closed form.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from transect._array import Host

from .closed_form import closed_form, closed_log_ei, only_if_fixed
from .method import Start, draw_seed

# As in benchmarks/suggestions.py; as many samples again are near the best points, an option of
# BoTorch's for many dimensions. Its own limit of iterations is 2000; six searches with 50 to 500
# variables ended at the same maximum with either.
RESTARTS = 4
RAW_SAMPLES = 512
OPTIONS = {"sample_around_best": True, "maxiter": 200}


class BoTorch:
    """A new model for every ask: RBF, a length-scale for each coordinate, D-scaled priors."""

    replays = False

    def __init__(self, start: Start) -> None:
        import torch

        torch.set_num_threads(1)
        self.start = start
        self.X: list[Host] = []
        self.y: list[float] = []  # to be maximised

    def tell(self, x: Host, y: float) -> None:
        self.X.append((x + 1.0) / 2.0)
        self.y.append(-y)

    def ask(self) -> Host:
        import torch
        from botorch.generation import gen
        from botorch.optim import optimize_acqf

        bounds = torch.stack([torch.zeros(self.start.D), torch.ones(self.start.D)]).double()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(draw_seed(self.start, len(self.y)))
            acquisition = closed_log_ei(self._model(), max(self.y))
            with patch.object(gen, "fix_features", only_if_fixed):
                point, _ = optimize_acqf(
                    acquisition, bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES,
                    options=OPTIONS,
                )  # fmt: skip
        found: Host = 2.0 * point.detach().numpy()[0] - 1.0
        return found

    def _model(self) -> Any:
        import torch
        from botorch.exceptions import ModelFittingError
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X, y = torch.tensor(np.array(self.X)), torch.tensor(self.y).double()[:, None]
        model = SingleTaskGP(X, y)
        likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
        try:
            fit_gpytorch_mll(likelihood, closure=closed_form(likelihood))
        except ModelFittingError:  # after five attempts: the modes of the priors are not bad
            model = SingleTaskGP(X, y).eval()
        return model
