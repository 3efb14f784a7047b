"""What libraries' own optimisers call, in closed form: losses of fits, posteriors, covariances.

Nearly all of their time goes into automatic differentiation of a likelihood whose derivatives are
known (Rasmussen & Williams 2006, Eq. 5.9), and into covariances of every candidate's own copy of
the data. The numbers here are the same up to rounding, so runs are of the same quality, in a
fraction of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from transect._array import Host
from transect.kernels import RBF, Kernel, Matern52, squared_distance
from transect.likelihood import Factor, LogNormal

Loss = Callable[[], tuple[Any, tuple[Any, ...]]]


def closed_form(mll: Any) -> Loss:
    """What ``fit_gpytorch_mll`` calls for the loss of a default ``SingleTaskGP`` of one output."""
    from botorch.optim.closures import get_loss_closure_with_grads
    from botorch.optim.utils import get_parameters

    model = mll.model
    likelihood, kernel = model.likelihood.noise_covar, model.covar_module
    assert len(list(model.named_priors())) == 2
    noise_prior = _as_ours(likelihood.noise_prior)
    lengthscale_prior = _as_ours(kernel.lengthscale_prior)
    X, y = model.train_inputs[0].numpy(), model.train_targets.numpy()
    parameters = get_parameters(mll, requires_grad=True)
    theirs: Loss = get_loss_closure_with_grads(mll, parameters)

    def closure() -> tuple[Any, tuple[Any, ...]]:
        lengthscale = kernel.raw_lengthscale.detach().numpy()[0]
        noise, mean = likelihood.raw_noise.item(), model.mean_module.raw_constant.item()
        found = log_likelihood(RBF(), X, y, lengthscale, 1.0, noise, mean)
        if found is None:  # they know what to do with a matrix that cannot be factored
            return theirs()
        of_lengthscale, more = lengthscale_prior.log_density(np.log(lengthscale))
        of_noise, more_noise = noise_prior.log_density(math.log(noise))
        grads = {
            id(kernel.raw_lengthscale): found.by_lengthscale + more / lengthscale,
            id(likelihood.raw_noise): found.by_noise + more_noise / noise,
            id(model.mean_module.raw_constant): found.by_mean,
        }
        share = -1.0 / len(y)
        return kernel.raw_lengthscale.new_tensor(
            share * (found.value + of_lengthscale + of_noise)
        ), tuple(p.new_tensor(share * grads[id(p)]).reshape(p.shape) for p in parameters.values())

    return closure


def closed_form_within_bounds(mll: Any) -> Loss:
    """The same for a scaled Matérn-5/2 whose parameters are between bounds and have no priors."""
    import torch
    from botorch.optim.closures import get_loss_closure_with_grads
    from botorch.optim.utils import get_parameters

    model = mll.model
    kernel, scaled = model.covar_module.base_kernel, model.covar_module
    X, y = model.train_inputs[0].numpy(), model.train_targets.numpy()
    parameters = get_parameters(mll, requires_grad=True)
    theirs: Loss = get_loss_closure_with_grads(mll, parameters)

    def closure() -> tuple[Any, tuple[Any, ...]]:
        noise, mean = model.likelihood.noise, model.mean_module.constant
        given = (kernel.lengthscale, scaled.outputscale, noise, mean)
        lengthscale, *others = (values.detach().numpy() for values in given)
        found = log_likelihood(Matern52(), X, y, lengthscale[0], *(v.item() for v in others))
        if found is None:
            return theirs()
        share = -1.0 / len(y)
        by_given: tuple[Any, ...] = found[1:]
        # Only what lies between a parameter and its raw value is left to differentiate.
        grads = torch.autograd.grad(
            given,
            tuple(parameters.values()),
            [
                v.new_tensor(share * g).reshape(v.shape)
                for v, g in zip(given, by_given, strict=True)
            ],
        )
        return noise.new_tensor(share * found.value), grads

    return closure


class ClosedPosterior:
    """A fitted ``SingleTaskGP`` of one output, as far as an acquisition needs it."""

    num_outputs = 1
    _has_transformed_inputs = False  # without it, ``optimize_acqf`` samples nothing around the best

    def __init__(self, model: Any) -> None:
        import torch

        self.train_inputs = model.train_inputs
        self.lengthscale = model.covar_module.lengthscale.detach()
        self.mean, noise = model.mean_module.constant.detach(), model.likelihood.noise.detach()
        self.middle = model.train_inputs[0].mean(dim=0)  # shifted there for the last digits
        self.U = (model.train_inputs[0] - self.middle) / self.lengthscale
        eye = torch.eye(len(self.U), dtype=torch.double)
        L = torch.linalg.cholesky(self._covariance(self.U) + noise * eye)
        self.L_inv_T = torch.linalg.solve_triangular(L, eye, upper=False).T
        self.weights = self.L_inv_T @ (self.L_inv_T.T @ (model.train_targets - self.mean))
        scaling = model.outcome_transform
        self.shift, self.scale = scaling.means[0, 0], scaling.stdvs[0, 0]

    def posterior(self, X: Any, **_: Any) -> Moments:
        """At points X (..., D)."""
        k = self._covariance((X - self.middle) / self.lengthscale)  # (..., n)
        mean = self.mean + k @ self.weights
        var = 1.0 - (k @ self.L_inv_T).square().sum(dim=-1)
        return Moments(
            (self.shift + self.scale * mean)[..., None], (self.scale**2 * var)[..., None]
        )

    def _covariance(self, U: Any) -> Any:
        squares = U.square().sum(dim=-1)[..., None] + self.U.square().sum(dim=-1)
        return (-0.5 * (squares - 2.0 * U @ self.U.T).clamp_min(0.0)).exp()


def only_if_fixed(X: Any, fixed_features: Any = None, replace_current_value: bool = True) -> Any:
    """BoTorch's ``fix_features``, which copies X a coordinate at a time if none is fixed, too."""
    from botorch.optim.utils import fix_features

    return fix_features(X, fixed_features, replace_current_value) if fixed_features else X


def kernel_of_gp_sampler(self: Any, X1: Any = None, X2: Any = None) -> Any:
    """Optuna's ``GPRegressor.kernel`` of continuous coordinates, by a matrix product.

    It has the squares of all differences, n·n·D numbers, at every evaluation of a likelihood.
    """
    from optuna._gp.gp import Matern52Kernel

    A = self._X_train if X1 is None else X1  # (..., p, D) or (D,)
    B = self._X_train if X2 is None else X2  # (q, D)
    middle = self._X_train.mean(dim=0)
    A, B, w = A - middle, B - middle, self.inverse_squared_lengthscales
    sq = (A.square() @ w)[..., None] + B.square() @ w - 2.0 * (A * w) @ B.T
    if X1 is None:  # no distance of a point from itself by rounding
        sq = sq - sq.diagonal().diag()
    return Matern52Kernel.apply(sq.clamp_min(0.0)) * self.kernel_scale


class Moments(NamedTuple):
    """Of single points (..., 1)."""

    mean: Any
    variance: Any


def _as_ours(prior: Any) -> LogNormal:
    return LogNormal(float(prior.loc), float(prior.scale))


class Likelihood(NamedTuple):
    """A logarithm, and its derivatives."""

    value: float
    by_lengthscale: Host  # (D,)
    by_amplitude: float
    by_noise: float
    by_mean: float


def log_likelihood(
    kernel: Kernel,
    X: Host,
    y: Host,
    lengthscale: Host,
    amplitude: float,
    noise: float,
    mean: float,
) -> Likelihood | None:
    """Log p(y | X), with a length-scale for each coordinate (D,).

    None where the covariance of X (n, D) cannot be factored.
    """
    n, U = len(y), (X - np.mean(X, axis=0)) / lengthscale  # shifted for the last digits
    k, slope = kernel.value_slope(squared_distance(U, U))
    factor = Factor.of(amplitude * k, noise)
    if factor is None:
        return None
    w, log_det = factor.solve(y - mean), factor.log_det()
    inverse = factor.inverse_upper()
    inverse += np.triu(inverse, 1).T
    value = -0.5 * (float((y - mean) @ w) + log_det + n * math.log(2.0 * math.pi))
    M = 0.5 * (np.outer(w, w) - inverse)
    by_amplitude, by_noise = float(np.vdot(M, k)), float(np.trace(M))
    # ∂K_ij/∂ℓ = -2a·slope_ij (x_i - x_j)²/ℓ³ in every coordinate; see transect.likelihood for
    # the product.
    M *= slope
    by_lengthscale = np.sum(U * (np.sum(M, axis=1)[:, None] * U - M @ U), axis=0)
    by_lengthscale *= -4.0 * amplitude / lengthscale
    return Likelihood(value, by_lengthscale, by_amplitude, by_noise, float(np.sum(w)))
