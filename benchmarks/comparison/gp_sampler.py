"""What Optuna's GPSampler calls, in closed form: the same numbers up to rounding.

It has the squares of all differences of coordinates, n·n·D numbers, at every evaluation of a
likelihood, and differentiates that automatically. Coordinates here are continuous.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

from transect.kernels import Matern52

from .closed_form import Likelihood


@contextmanager
def closed() -> Iterator[None]:
    """As long as the block lasts, ``GPRegressor`` is as below."""
    ours = {"__init__": begin, "kernel": kernel, "marginal_log_likelihood": log_likelihood}
    with ExitStack() as stack:
        for name, function in ours.items():
            stack.enter_context(patch(f"optuna._gp.gp.GPRegressor.{name}", function))
        yield


def begin(
    self: Any, is_categorical: Any, X_train: Any, y_train: Any, inverse_squared_lengthscales: Any,
    kernel_scale: Any, noise_var: Any,
) -> None:  # fmt: skip
    """Without the squares of all differences."""
    assert not is_categorical.any()
    self._is_categorical = is_categorical
    self._X_train = self._X_all = X_train
    self._y_train = self._y_all = y_train[:, None]
    self._cov_Y_Y_chol = self._cov_Y_Y_inv_Y = None
    self.inverse_squared_lengthscales = inverse_squared_lengthscales
    self.kernel_scale, self.noise_var = kernel_scale, noise_var


def kernel(self: Any, X1: Any = None, X2: Any = None) -> Any:
    """By a matrix product."""
    from optuna._gp.gp import Matern52Kernel

    A = self._X_train if X1 is None else X1  # (..., p, D) or (D,)
    B = self._X_train if X2 is None else X2  # (q, D)
    middle = self._X_train.mean(dim=0)
    A, B, w = A - middle, B - middle, self.inverse_squared_lengthscales
    sq = (A.square() @ w)[..., None] + B.square() @ w - 2.0 * (A * w) @ B.T
    if X1 is None:  # no distance of a point from itself by rounding
        sq = sq - sq.diagonal().diag()
    return Matern52Kernel.apply(sq.clamp_min(0.0)) * self.kernel_scale


def log_likelihood(self: Any) -> Any:
    """With its derivatives, and without a constant, as theirs."""
    if not hasattr(self, "closed"):
        X, y = self._X_train.numpy(), self._y_train[:, 0].numpy()
        self.closed = Likelihood(Matern52(), X, y)
    value = _known().apply(
        self.inverse_squared_lengthscales, self.kernel_scale, self.noise_var, self.closed
    )
    return value + 0.5 * len(self._y_train) * math.log(2.0 * math.pi)


@cache
def _known() -> Any:
    import torch

    class Known(torch.autograd.Function):  # type: ignore[misc]
        """A likelihood, whose derivatives come with the value."""

        @staticmethod
        def forward(ctx: Any, weights: Any, scale: Any, noise: Any, of_data: Any) -> Any:
            """Weights (D,) are ℓ⁻², so ∂ℓ/∂weights = -ℓ³/2."""
            lengthscale = weights.detach().numpy() ** -0.5
            found = of_data(lengthscale, scale.item(), noise.item(), 0.0)
            if found is None:
                raise torch.linalg.LinAlgError("the covariance cannot be factored")
            ctx.by_weights = torch.from_numpy(-0.5 * lengthscale**3 * found.by_lengthscale)
            ctx.by_scale, ctx.by_noise = found.by_amplitude, found.by_noise
            return noise.new_tensor(found.value)

        @staticmethod
        def backward(ctx: Any, *by_value: Any) -> Any:
            by = by_value[0]
            return by * ctx.by_weights, by * ctx.by_scale, by * ctx.by_noise, None

    return Known
