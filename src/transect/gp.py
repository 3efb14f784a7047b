"""An immutable Gaussian process with closed-form posterior and gradients.

The process has a constant mean and covariance ``amplitude·k(sq) + noise·I``, on inputs in
[-1, 1]^D and standardised outputs. ``condition`` returns a new process; nothing is
ever updated in place, so there is no stale cache and no order of calls.

Notation: X (n, D), y (n,), sq (p, n) squared length-scaled distances of p points to
X, L the lower Cholesky factor of the covariance, ``whitened`` = L⁻¹(y - mean).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ._array import (
    Array,
    at_least,
    cholesky,
    inverse_lower,
    like,
    namespace,
    zeros,
)
from ._products import times_lower, times_lower_transposed
from ._threads import each_block, spans
from .kernels import Kernel, squared_distance

BLOCK = 1 << 19  # numbers of X that a thread works on
# Posterior variances below this share of the prior's are rounding error, not knowledge.
VARIANCE_FLOOR = 1e-12


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Kernel, length-scale (one, or one per coordinate), amplitude, noise variance, mean."""

    kernel: Kernel
    lengthscale: Array  # () or (D,)
    amplitude: float
    noise: float
    mean: float = 0.0

    def covariance(self, sq: Array) -> Array:
        """Prior covariance of latent values, from squared length-scaled distances."""
        return self.amplitude * self.kernel.value(sq)

    def same_covariance(self, other: Hyperparameters) -> bool:
        """Whether they are ``other``, but for the mean."""
        rest = (self.kernel, self.amplitude, self.noise)
        return self.lengthscale is other.lengthscale and rest == (
            other.kernel,
            other.amplitude,
            other.noise,
        )


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """Posterior given X and y; build it with :meth:`from_data`."""

    hyper: Hyperparameters
    X: Array  # (n, D)
    y: Array  # (n,)
    norm: Array  # (n,), |x / ℓ|²
    L: Array  # (n, n)
    L_inv: Array  # (n, n)
    whitened: Array  # (n,), L⁻¹(y - mean)
    jitter: float  # what had to be added to the noise for a positive definite matrix

    @staticmethod
    def from_data(
        hyper: Hyperparameters, X: Array, y: Array, sq: Array | None = None
    ) -> GaussianProcess:
        """The posterior for observations ``y`` (n,) at ``X`` (n, D).

        ``sq`` (n, n), their squared length-scaled distances, saves an O(n²D) product.
        """
        norm = _norm(X, hyper.lengthscale)
        if sq is None:
            scaled = X / hyper.lengthscale
            sq = squared_distance(scaled, scaled)
        L, jitter = _safe_cholesky(hyper.covariance(sq), hyper.noise, hyper.amplitude)
        L_inv = inverse_lower(L)
        return GaussianProcess(hyper, X, y, norm, L, L_inv, L_inv @ (y - hyper.mean), jitter)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def weights(self) -> Array:
        """K⁻¹(y - mean) (n,): the posterior mean is mean + k·weights."""
        return self.L_inv.T @ self.whitened

    @property
    def smoothed(self) -> Array:
        """The posterior mean at X (n,): k·weights there is y - mean less the noise's share."""
        return self.y - (self.hyper.noise + self.jitter) * self.weights

    def sq(self, points: Array) -> Array:
        """Squared length-scaled distances (p, n) of points (p, D) to the data."""
        xp = namespace(points)
        lengthscale = self.hyper.lengthscale
        scaled = points / (lengthscale * lengthscale)
        rows = spans(self.n, max(1, BLOCK // self.X.shape[1]))
        cross = xp.concat(each_block(lambda at: scaled @ self.X[slice(*at), :].T, rows), axis=1)
        sq = _norm(points, lengthscale)[:, None] + self.norm[None, :] - 2.0 * cross
        return xp.clip(sq, 0.0, None)

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Posterior mean and variance (p,) of the latent function at (p, D)."""
        return self.posterior_at(self.sq(points))

    def posterior_at(self, sq: Array) -> tuple[Array, Array]:
        """Posterior mean and variance (p,) from squared distances (p, n)."""
        xp = namespace(sq)
        k = self.hyper.amplitude * self.hyper.kernel.value(sq)  # (p, n)
        V = times_lower_transposed(k, self.L_inv)  # (p, n)
        return self.hyper.mean + V @ self.whitened, self._variance(xp.vecdot(V, V))

    def posterior_parts(self, sq: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, variance (p,), and what their derivatives in ``sq`` are made of.

        Returns (mean, var, slope, W) with slope = dk/dsq (p, n) and W = k·K⁻¹ (p, n):
        ∂mean/∂sq_i = slope_i·weights_i and ∂var/∂sq_i = -2·slope_i·W_i.
        """
        xp = namespace(sq)
        k, slope = self.hyper.kernel.value_slope(sq)
        V = times_lower_transposed(self.hyper.amplitude * k, self.L_inv)
        mean, var = self.hyper.mean + V @ self.whitened, self._variance(xp.vecdot(V, V))
        return mean, var, self.hyper.amplitude * slope, times_lower(V, self.L_inv)

    def posterior_grad(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, variance (p,) and their gradients (p, D) in the points (p, D)."""
        mean, var, slope, W = self.posterior_parts(self.sq(points))
        weights = self.weights
        return (
            mean,
            var,
            self.pull_back(points, slope * weights[None, :]),
            self.pull_back(points, -2.0 * slope * W),
        )

    def pull_back(self, points: Array, d_sq: Array) -> Array:
        """Chain rule from ∂/∂sq (p, n) to ∂/∂x (p, D): ∂sq_i/∂x = 2 (x - x_i)/ℓ²."""
        xp = namespace(d_sq)
        total = xp.sum(d_sq, axis=1)[:, None]
        return 2.0 * (total * points - d_sq @ self.X) / self.hyper.lengthscale**2

    def condition(self, X: Array, y: Array) -> GaussianProcess:
        """The posterior after k more observations, y (k,) at X (k, D)."""
        if X.shape[0] == 0:
            return self
        xp = namespace(X)
        return self.extend(xp.concat([self.X, X], axis=0), xp.concat([self.y, y], axis=0))

    def extend(self, X: Array, y: Array, sq: Array | None = None) -> GaussianProcess:
        """The same model on X (N, D) and y (N,), whose first n rows of X are this one's.

        Only the last k = N - n rows of L are computed: O(n²k), not O(N³). ``sq`` (k, N),
        their squared length-scaled distances to all rows, saves an O(kND) product.
        """
        xp = namespace(X)
        n, hyper = self.n, self.hyper
        fresh = X[n:, :]
        norm = xp.concat([self.norm, _norm(fresh, hyper.lengthscale)])
        if sq is None:
            scaled = fresh / hyper.lengthscale
            sq = xp.concat([self.sq(fresh), squared_distance(scaled, scaled)], axis=1)
        cov = hyper.covariance(sq)  # (k, N)
        V = times_lower_transposed(cov[:, :n], self.L_inv)  # (k, n)
        L_new, jitter = _safe_cholesky(
            cov[:, n:] - V @ V.T, hyper.noise + self.jitter, hyper.amplitude
        )
        inv_new = inverse_lower(L_new)
        return GaussianProcess(
            hyper,
            X,
            y,
            norm,
            _grow_lower(self.L, V, L_new),
            _grow_lower(self.L_inv, -inv_new @ times_lower(V, self.L_inv), inv_new),
            self.whitened,
            self.jitter + jitter,
        ).with_values(y)

    def hallucinate(self, X: Array) -> GaussianProcess:
        """Condition on the posterior mean at X (k, D): pending points (GP-BUCB).

        The mean stays as it is everywhere; the variance shrinks around X.
        """
        mean, _ = self.posterior(X)
        return self.condition(X, mean)

    def with_values(self, y: Array) -> GaussianProcess:
        """The same inputs with other values (n,): O(n²)."""
        return replace(self, y=y, whitened=self.L_inv @ (y - self.hyper.mean))

    def log_likelihood(self) -> float:
        """Log p(y | X) (Rasmussen & Williams 2006, Alg. 2.1, line 7)."""
        xp = namespace(self.L)
        log_det = xp.sum(xp.log(xp.linalg.diagonal(self.L)))
        fit = xp.sum(self.whitened * self.whitened)
        return float(-0.5 * fit - log_det - 0.5 * self.n * math.log(2.0 * math.pi))

    def _variance(self, explained: Array) -> Array:
        amplitude = self.hyper.amplitude
        return at_least(amplitude - explained, VARIANCE_FLOOR * amplitude)


def _norm(X: Array, lengthscale: Array) -> Array:
    """|x / ℓ|² of every row (n,); without a scaled copy where there is one length-scale."""
    xp = namespace(X)
    if lengthscale.ndim == 0:
        return xp.vecdot(X, X) / (lengthscale * lengthscale)
    return (X * X) @ (1.0 / (lengthscale * lengthscale))


def _grow_lower(old: Array, left: Array, corner: Array) -> Array:
    """The lower triangular matrix [[old, 0], [left, corner]]."""
    n, N = old.shape[0], old.shape[0] + corner.shape[0]
    grown = zeros(old, (N, N))  # one copy of old, where concat would make two
    grown[:n, :n] = old
    grown[n:, :n] = left
    grown[n:, n:] = corner
    return grown


def _safe_cholesky(K: Array, noise: float, amplitude: float) -> tuple[Array, float]:
    """Factor of K + noise·I, with jitter raised tenfold until it exists; (L, jitter)."""
    xp = namespace(K)
    eye = like(K, xp.eye(K.shape[0]))
    for jitter in (0.0, *(amplitude * 10.0**power for power in range(-10, 2))):
        L = cholesky(K + (noise + jitter) * eye)
        if L is not None:
            return L, jitter
    raise FloatingPointError("the covariance matrix is not finite, or amplitude is not positive")
