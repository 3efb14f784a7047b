"""What libraries' own optimisers call, in closed form: losses of fits, posteriors, covariances.

Nearly all of their time goes into automatic differentiation of a likelihood whose derivatives are
known (Rasmussen & Williams 2006, Eq. 5.9), and into covariances of every candidate's own copy of
the data. The numbers here are the same up to rounding, so runs are of the same quality, in a
fraction of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from transect._array import Host
from transect.acquisition import LogEI
from transect.kernels import RBF, Kernel, Matern52
from transect.likelihood import Factor, LogNormal

Loss = Callable[[], tuple[Any, tuple[Any, ...]]]
LEAST_VARIANCE = 1e-12  # of an analytic acquisition of BoTorch's


def closed_form(mll: Any) -> Any:
    """What ``fit_gpytorch_mll`` calls for the loss of a default ``SingleTaskGP`` of one output."""
    from botorch.optim.closures import get_loss_closure_with_grads
    from botorch.optim.closures.core import NdarrayOptimizationClosure
    from botorch.optim.utils import get_parameters

    model = mll.model
    likelihood, kernel = model.likelihood.noise_covar, model.covar_module
    assert len(list(model.named_priors())) == 2
    noise_prior = _as_ours(likelihood.noise_prior)
    lengthscale_prior = _as_ours(kernel.lengthscale_prior)
    ours = likelihood_of(RBF(), model.train_inputs[0].numpy(), model.train_targets.numpy())
    parameters = get_parameters(mll, requires_grad=True)
    at = dict(zip(map(id, parameters.values()), _spans(parameters.values()), strict=True))
    of_noise, of_mean = at[id(likelihood.raw_noise)], at[id(model.mean_module.raw_constant)]
    of_lengthscale = at[id(kernel.raw_lengthscale)]
    share = -1.0 / len(ours.y)

    class Closed(NdarrayOptimizationClosure):  # type: ignore[misc]
        """Without tensors, which would take a fifth of the time."""

        def __call__(self, state: Host | None = None, **_: Any) -> tuple[Any, Host]:
            theta = self.state if state is None else state
            noise, mean = theta[of_noise].item(), theta[of_mean].item()
            lengthscale = theta[of_lengthscale]
            found = ours(lengthscale, 1.0, noise, mean)
            if found is None:  # they know what to do with a matrix that cannot be factored
                value, grads = super().__call__(theta)
                return value, grads
            density, slope = lengthscale_prior.log_density(np.log(lengthscale))
            noise_density, noise_slope = noise_prior.log_density(math.log(noise))
            grads = np.empty_like(theta)
            grads[of_lengthscale] = found.by_lengthscale + slope / lengthscale
            grads[of_noise] = found.by_noise + noise_slope / noise
            grads[of_mean] = found.by_mean
            grads *= share
            return share * (found.value + density + noise_density), grads

    return Closed(get_loss_closure_with_grads(mll, parameters), parameters)


def closed_form_within_bounds(mll: Any) -> Loss:
    """The same for a scaled Matérn-5/2 whose parameters are between bounds and have no priors."""
    import torch
    from botorch.optim.closures import get_loss_closure_with_grads
    from botorch.optim.utils import get_parameters

    model = mll.model
    kernel, scaled = model.covar_module.base_kernel, model.covar_module
    ours = likelihood_of(Matern52(), model.train_inputs[0].numpy(), model.train_targets.numpy())
    parameters = get_parameters(mll, requires_grad=True)
    theirs: Loss = get_loss_closure_with_grads(mll, parameters)
    share = -1.0 / len(ours.y)

    def closure() -> tuple[Any, tuple[Any, ...]]:
        noise, mean = model.likelihood.noise, model.mean_module.constant
        given = (kernel.lengthscale, scaled.outputscale, noise, mean)
        lengthscale, *others = (values.detach().numpy() for values in given)
        found = ours(lengthscale[0], *(v.item() for v in others))
        if found is None:
            return theirs()
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
        self.train_inputs = model.train_inputs
        X, y = model.train_inputs[0].numpy(), model.train_targets.numpy()
        self.lengthscale = model.covar_module.lengthscale.detach().numpy()[0]
        self.mean, noise = model.mean_module.constant.item(), model.likelihood.noise.item()
        self.middle = np.mean(X, axis=0)  # shifted there for the last digits
        self.U = (X - self.middle) / self.lengthscale  # (n, D)
        self.squares = np.einsum("ij,ij->i", self.U, self.U)
        eye = np.eye(len(y))
        L = np.linalg.cholesky(self._covariance(self.U) + noise * eye)
        self.L_inv_T = solve_triangular(L, eye, lower=True).T
        self.weights = self.L_inv_T @ (self.L_inv_T.T @ (y - self.mean))
        scaling = model.outcome_transform
        self.shift, self.scale = scaling.means[0, 0].item(), scaling.stdvs[0, 0].item()

    def posterior(self, X: Any, **_: Any) -> Moments:
        """At points X (..., D)."""
        import torch

        k = self._covariance((X.numpy() - self.middle) / self.lengthscale)  # (..., n)
        mean, var = self._moments(k, k @ self.L_inv_T)
        return Moments(torch.from_numpy(mean)[..., None], torch.from_numpy(var)[..., None])

    def log_ei(self, x: Host, best: float) -> tuple[Host, Host]:
        """Logarithms of the expected improvement (p,) at x (p, D), and their gradients (p, D)."""
        V = (x - self.middle) / self.lengthscale
        k = self._covariance(V)
        A = k @ self.L_inv_T  # (p, n)
        mean, var = self._moments(k, A)
        value, by_mean, by_var = LogEI(best).partials(mean, np.maximum(var, LEAST_VARIANCE))
        by_var = self.scale**2 * np.where(var < LEAST_VARIANCE, 0.0, by_var)
        by_k = self.scale * np.multiply.outer(by_mean, self.weights)
        by_k -= 2.0 * by_var[:, None] * (A @ self.L_inv_T.T)
        by_k *= k  # and ∂k_i/∂v = k_i (u_i - v)
        return value, (by_k @ self.U - np.sum(by_k, axis=1)[:, None] * V) / self.lengthscale

    def _moments(self, k: Host, A: Host) -> tuple[Host, Host]:
        mean = self.shift + self.scale * (self.mean + k @ self.weights)
        return mean, self.scale**2 * (1.0 - np.einsum("...i,...i->...", A, A))

    def _covariance(self, V: Host) -> Host:
        sq = (-2.0 * V) @ self.U.T
        sq += np.einsum("...i,...i->...", V, V)[..., None]
        sq += self.squares
        k: Host = np.exp(-0.5 * np.maximum(sq, 0.0, out=sq))
        return k


def closed_log_ei(model: Any, best: float) -> Any:
    """BoTorch's ``LogExpectedImprovement`` of a fitted ``SingleTaskGP`` of one output."""
    import torch
    from botorch.acquisition import LogExpectedImprovement

    ours = ClosedPosterior(model)

    class Known(torch.autograd.Function):  # type: ignore[misc]
        """Whose gradient comes with the value."""

        @staticmethod
        def forward(ctx: Any, X: Any) -> Any:  # (p, 1, D)
            value, grad = ours.log_ei(X.detach().numpy()[:, 0], best)
            ctx.grad = torch.from_numpy(grad)[:, None]
            return torch.from_numpy(value)

        @staticmethod
        def backward(ctx: Any, *by_value: Any) -> Any:
            return by_value[0][:, None, None] * ctx.grad

    class Closed(LogExpectedImprovement):  # type: ignore[misc]
        def forward(self, X: Any) -> Any:
            return Known.apply(X)

    return Closed(ours, best)


def only_if_fixed(X: Any, fixed_features: Any = None, replace_current_value: bool = True) -> Any:
    """BoTorch's ``fix_features``, which copies X a coordinate at a time if none is fixed, too."""
    from botorch.optim.utils import fix_features

    return fix_features(X, fixed_features, replace_current_value) if fixed_features else X


class Moments(NamedTuple):
    """Of single points (..., 1)."""

    mean: Any
    variance: Any


def _spans(parameters: Iterable[Any]) -> Iterator[slice]:
    """Where each of them is in a vector of all."""
    end = 0
    for parameter in parameters:
        end += parameter.numel()
        yield slice(end - parameter.numel(), end)


def _as_ours(prior: Any) -> LogNormal:
    return LogNormal(float(prior.loc), float(prior.scale))


class Value(NamedTuple):
    """A logarithm, and its derivatives."""

    value: float
    by_lengthscale: Host  # (D,)
    by_amplitude: float
    by_noise: float
    by_mean: float


class Likelihood:
    """Log p(y | X), with a length-scale for each coordinate.

    Of every symmetric matrix only one triangle is there, which halves the products: the upper one
    for LAPACK, in its order, the lower one for NumPy, which sees the transposes.
    """

    def __init__(self, kernel: Kernel, X: Host, y: Host) -> None:
        self.kernel, self.y = kernel, y
        self.XT = np.ascontiguousarray((X - np.mean(X, axis=0)).T)  # shifted for the last digits
        self.lower = np.tri(len(y))

    def __call__(
        self, lengthscale: Host, amplitude: float, noise: float, mean: float
    ) -> Value | None:
        """None where the covariance cannot be factored. The length-scales are (D,)."""
        from scipy.linalg.blas import dsyrk, dtrmm

        n, UT = len(self.y), self.XT / lengthscale[:, None]  # (D, n)
        squares = np.einsum("ij,ij->j", UT, UT)
        sq = dsyrk(-2.0, UT.T).T
        sq += squares
        sq += squares[:, None]
        k, slope = self.kernel.value_slope(np.maximum(sq, 0.0, out=sq))
        factor = Factor.of(amplitude * k, noise)
        if factor is None:
            return None
        w, log_det = factor.solve(self.y - mean), factor.log_det()
        value = -0.5 * (float((self.y - mean) @ w) + log_det + n * math.log(2.0 * math.pi))
        M = np.multiply.outer(w, w)
        M -= factor.inverse_upper().T
        diagonal = np.diagonal(M).copy()
        M *= self.lower
        by_amplitude = float(np.vdot(M, k)) - 0.5 * float(diagonal @ np.diagonal(k))
        # ∂K_ij/∂ℓ = -2a·slope_ij (x_i - x_j)²/ℓ³ in every coordinate, and the sum of
        # M_ij (u_i - u_j)² over pairs is Σ (rows + columns)_i u_i² - 2 uᵀMu.
        M *= slope
        pairs = UT * (np.sum(M, axis=0) + np.sum(M, axis=1))
        pairs += dtrmm(-2.0, M.T, UT.T).T
        by_lengthscale = np.einsum("ij,ij->i", UT, pairs)
        by_lengthscale *= -2.0 * amplitude / lengthscale
        by_noise = 0.5 * float(np.sum(diagonal))
        return Value(value, by_lengthscale, by_amplitude, by_noise, float(np.sum(w)))


# What evaluates the likelihood of a data set; a process may have another do it, see ``server``.
likelihood_of: Callable[[Kernel, Host, Host], Any] = Likelihood
