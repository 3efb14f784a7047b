"""What BoTorch's own optimisers call, in closed form: the loss of a fit, and the posterior.

Nearly all of its time goes into automatic differentiation of a likelihood whose derivatives are
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
from transect.kernels import RBF, squared_distance
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
        found = log_likelihood(X, y, lengthscale, noise, mean)
        if found is None:  # they know what to do with a matrix that cannot be factored
            return theirs()
        value, by_lengthscale, by_noise, by_mean = found
        of_lengthscale, more = lengthscale_prior.log_density(np.log(lengthscale))
        of_noise, more_noise = noise_prior.log_density(math.log(noise))
        grads = {
            id(kernel.raw_lengthscale): by_lengthscale + more / lengthscale,
            id(likelihood.raw_noise): by_noise + more_noise / noise,
            id(model.mean_module.raw_constant): by_mean,
        }
        share = -1.0 / len(y)
        return kernel.raw_lengthscale.new_tensor(
            share * (value + of_lengthscale + of_noise)
        ), tuple(p.new_tensor(share * grads[id(p)]).reshape(p.shape) for p in parameters.values())

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


class Moments(NamedTuple):
    """Of single points (..., 1)."""

    mean: Any
    variance: Any


def _as_ours(prior: Any) -> LogNormal:
    return LogNormal(float(prior.loc), float(prior.scale))


def log_likelihood(
    X: Host, y: Host, lengthscale: Host, noise: float, mean: float
) -> tuple[float, Host, float, float] | None:
    """Log p(y | X) under an RBF kernel of amplitude 1; derivatives in ℓ (D,), noise and mean.

    None where the covariance of X (n, D) cannot be factored.
    """
    n, U = len(y), (X - np.mean(X, axis=0)) / lengthscale  # shifted for the last digits
    K = RBF().value(squared_distance(U, U))
    factor = Factor.of(K.copy(), noise)
    if factor is None:
        return None
    w, log_det = factor.solve(y - mean), factor.log_det()
    inverse = factor.inverse_upper()
    inverse += np.triu(inverse, 1).T
    value = -0.5 * (float((y - mean) @ w) + log_det + n * math.log(2.0 * math.pi))
    M = 0.5 * (np.outer(w, w) - inverse)
    # ∂K_ij/∂ℓ = K_ij (x_i - x_j)²/ℓ³ in every coordinate; see transect.likelihood for the product.
    N = M * K
    by_lengthscale = 2.0 * np.sum(U * (np.sum(N, axis=1)[:, None] * U - N @ U), axis=0)
    return value, by_lengthscale / lengthscale, float(np.trace(M)), float(np.sum(w))
