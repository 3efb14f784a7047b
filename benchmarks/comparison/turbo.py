"""TuRBO-1 from its paper (Eriksson et al. 2019), on BoTorch's and GPyTorch's parts.

One trust region around the best point, in [0, 1]^D. Its base length doubles after three successes
in a row, halves after D failures, and the search begins anew when it is too small. Points come
from Thompson sampling among candidates that differ from the best in about 20 coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from transect._array import Host
from transect.kernels import Matern52, squared_distance
from transect.likelihood import Factor

from .closed_form import closed_form_within_bounds
from .method import Start, draw_seed, draws
from .tasks import N_INIT

FIRST_LENGTH, LEAST_LENGTH, MOST_LENGTH = 0.8, 0.5**7, 1.6
SUCCESSES = 3
PERTURBED = 20  # coordinates of a candidate, on average
# The paper has min(5000, 100·D). The joint sample costs their cube: 5000 would take seconds.
CANDIDATES = 2000
# The paper's ranges, for standardised values.
LENGTH_SCALES, AMPLITUDES, NOISES = (0.005, 2.0), (0.05, 20.0), (0.0005, 0.1)
FIT_ITERATIONS = 50  # of L-BFGS, or of Adam with this rate and these values to begin with
FIT_RATE, START_LENGTH_SCALE, START_AMPLITUDE, START_NOISE = 0.1, 0.5, 1.0, 0.005
ROWS = 250  # of the candidates' covariance at once
JITTERS = (0.0, 1e-8, 1e-7, 1e-6)  # in this order, GPyTorch's


Fit = Callable[[Any], None]  # changes the parameters of an exact marginal log likelihood


def to_the_maximum(likelihood: Any) -> None:
    """By L-BFGS, as BoTorch fits all its models. The paper does not say how."""
    from botorch.exceptions import ModelFittingError
    from botorch.fit import fit_gpytorch_mll

    loss, options = closed_form_within_bounds(likelihood), {"maxiter": FIT_ITERATIONS}
    with suppress(ModelFittingError):  # then with the parameters it has
        fit_gpytorch_mll(likelihood, closure=loss, optimizer_kwargs={"options": options})


def some_way_up(likelihood: Any) -> None:
    """By Adam, which does not come to the maximum, as in the program of the paper's authors."""
    import torch

    model = likelihood.model
    model.covar_module.base_kernel.lengthscale = START_LENGTH_SCALE
    model.covar_module.outputscale, model.likelihood.noise = START_AMPLITUDE, START_NOISE
    loss, parameters = closed_form_within_bounds(likelihood), list(likelihood.parameters())
    adam = torch.optim.Adam(parameters, lr=FIT_RATE)
    for _ in range(FIT_ITERATIONS):
        for parameter, slope in zip(parameters, loss()[1], strict=True):
            parameter.grad = slope
        adam.step()


class Turbo:
    """The region's state follows from what was told since it began."""

    replays = False

    def __init__(self, start: Start, fit: Fit = to_the_maximum) -> None:
        import torch

        torch.set_num_threads(1)
        self.start, self.fit, self.told = start, fit, 0
        self.patience = max(4, start.D)
        self._begin()

    def _begin(self) -> None:
        """A region of the first size, without data."""
        self.X: list[Host] = []
        self.y: list[float] = []
        self.length = FIRST_LENGTH
        self.successes = self.failures = 0

    def tell(self, x: Host, y: float) -> None:
        self.told += 1
        if len(self.y) >= N_INIT:
            self._count(y < min(self.y))
        self.X.append((x + 1.0) / 2.0)
        self.y.append(y)
        if self.length < LEAST_LENGTH:
            self._begin()

    def _count(self, success: bool) -> None:
        self.successes = self.successes + 1 if success else 0
        self.failures = 0 if success else self.failures + 1
        if self.successes == SUCCESSES:
            self.length, self.successes = min(2.0 * self.length, MOST_LENGTH), 0
        elif self.failures == self.patience:
            self.length, self.failures = self.length / 2.0, 0

    def ask(self) -> Host:
        import torch

        if len(self.y) < N_INIT:  # of a region that was begun anew
            return draws(self.start, self.told).uniform(-1.0, 1.0, self.start.D)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(draw_seed(self.start, self.told))
            model = self._model()
            candidates = self._candidates(model.covar_module.base_kernel.lengthscale)
            z = torch.randn(len(candidates), dtype=torch.double)
            values = joint_sample(model, candidates, z.numpy())
        found: Host = 2.0 * candidates[int(np.argmin(values))].numpy() - 1.0
        return found

    def _model(self) -> Any:
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = model_of(np.array(self.X), np.array(self.y)[:, None])
        self.fit(ExactMarginalLogLikelihood(model.likelihood, model))
        return model.eval()

    def _candidates(self, lengthscale: Any) -> Any:
        """(m, D): Sobol points of the region in some coordinates, the best point in the others."""
        import torch

        D = self.start.D
        best = torch.tensor(self.X[int(np.argmin(self.y))])
        weights = lengthscale.detach().flatten()
        sides = self.length * weights / weights.log().mean().exp()  # their product is length^D
        low, high = (best - sides / 2.0).clamp(0.0, 1.0), (best + sides / 2.0).clamp(0.0, 1.0)
        count = min(CANDIDATES, 100 * D)
        engine = torch.quasirandom.SobolEngine(
            D, scramble=True, seed=draw_seed(self.start, self.told)
        )
        region = low + (high - low) * engine.draw(count, dtype=torch.double)
        moved = torch.rand(count, D) < min(1.0, PERTURBED / D)
        moved[torch.arange(count), torch.randint(D, (count,))] |= ~moved.any(dim=1)
        return torch.where(moved, region, best)


def model_of(X: Host, y: Host) -> Any:
    """Of values y (n, 1) in [0, 1]^D: Matérn-5/2 with a length-scale for each coordinate."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import Interval
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood

    kernel = MaternKernel(
        2.5, ard_num_dims=X.shape[1], lengthscale_constraint=Interval(*LENGTH_SCALES)
    )
    return SingleTaskGP(
        torch.tensor(X),
        torch.tensor(y),
        likelihood=GaussianLikelihood(noise_constraint=Interval(*NOISES)),
        covar_module=ScaleKernel(kernel, outputscale_constraint=Interval(*AMPLITUDES)),
    )


def joint_sample(model: Any, candidates: Any, z: Host) -> Host:
    """Values (m,) of one function drawn from the posterior, from standard normal z (m,).

    Those of the model itself up to rounding and to the units, in a third of the time.
    """
    kernel, scaled = model.covar_module.base_kernel, model.covar_module
    amplitude, noise = scaled.outputscale.item(), model.likelihood.noise.item()
    lengthscale = kernel.lengthscale.detach().numpy()
    X, y = model.train_inputs[0].numpy(), model.train_targets.numpy()
    middle = np.mean(X, axis=0)
    U, V = (X - middle) / lengthscale, (candidates.numpy() - middle) / lengthscale
    matern = Matern52()
    L = np.linalg.cholesky(
        amplitude * matern.value(squared_distance(U, U)) + noise * np.eye(len(U))
    )
    A = solve_triangular(L, amplitude * matern.value(squared_distance(U, V)), lower=True)  # (n, m)
    mean = model.mean_module.constant.item()
    means = mean + A.T @ solve_triangular(L, y - mean, lower=True)
    cov = np.empty((len(V), len(V)))
    for start in range(0, len(V), ROWS):  # to the diagonal, which is all that is looked at
        rows, before = slice(start, start + ROWS), slice(0, start + ROWS)
        cov[rows, before] = amplitude * matern.value(squared_distance(V[rows], V[before]))
        cov[rows, before] -= A[:, rows].T @ A[:, before]
    values: Host = means + _root(cov).T @ z
    return values


def _root(cov: Host) -> Host:
    """An upper factor (m, m), with as much on the diagonal as it takes."""
    for more in JITTERS:
        factor = Factor.of(cov.copy(), more)
        if factor is not None:
            return factor.U
    raise np.linalg.LinAlgError("no covariance of the candidates can be factored")
