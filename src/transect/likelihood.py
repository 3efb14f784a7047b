"""The log posterior of hyper-parameters, with its gradient in closed form.

With K = amplitude·k(sq) + noise·I and M = ½(K⁻¹y yᵀK⁻¹ - K⁻¹), the derivative of the log
likelihood in any parameter θ is Σ_ij M_ij ∂K_ij/∂θ (Rasmussen & Williams 2006, Eq. 5.9).
The constant mean is not searched for: given the others its best value is known,
1ᵀK⁻¹y / 1ᵀK⁻¹1, and at that value the derivatives above, with y - mean for y, stay true.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._array import Host
from ._threads import each_block
from .kernels import Kernel, squared_distance

COLUMNS = 512  # coordinates of a block in products over all D


@dataclass(frozen=True)
class LogNormal:
    """Log-normal prior; ``log_density`` is the density of x itself, not of log x.

    Hence its mode is exp(loc - spread²), not exp(loc).
    """

    loc: float
    spread: float

    def log_density(self, log_x: Any) -> tuple[float, Any]:
        """Σ log p(x) and its derivative in log x, for log x scalar or (D,)."""
        z = (log_x - self.loc) / self.spread
        constant = math.log(self.spread * math.sqrt(2.0 * math.pi))
        return float(np.sum(-log_x - 0.5 * z * z - constant)), -1.0 - z / self.spread


@dataclass(frozen=True)
class Around:
    """A prior of log x with a top like a normal's and tails like Laplace's, log p falls linearly.

    It holds on to its top against little evidence, and not at all costs against much.
    """

    loc: float
    spread: float

    def log_density(self, log_x: Any) -> tuple[float, Any]:
        """Log p(log x), up to a constant, and its derivative in log x."""
        z = (log_x - self.loc) / self.spread
        bend = math.sqrt(1.0 + z * z)
        return 1.0 - bend, -z / (bend * self.spread)


@dataclass(frozen=True)
class Shrunk:
    """Length-scales that are alike: log ℓ_i ~ N(m, spread²) with m ~ N(loc, wide²).

    Their mean stands for the common m; the densities are those of log ℓ and of m.
    """

    loc: float
    wide: float
    spread: float

    def log_density(self, log_x: Any) -> tuple[float, Any]:
        """Log p(log ℓ, m) at m = mean(log ℓ), up to a constant, and its derivative in log ℓ."""
        m = float(np.mean(log_x))
        apart, off = (log_x - m) / self.spread, (m - self.loc) / self.wide
        value = -0.5 * (float(np.sum(apart * apart)) + off * off)
        return value, -apart / self.spread - off / (self.wide * np.size(log_x))


@dataclass(frozen=True)
class Priors:
    """Priors on the hyper-parameters; None means none.

    The amplitude may be fixed at 1, the constant mean at 0. starting_noise: where climbs to the
    best hyper-parameters start; a smooth function with noise and a rough one without are two
    explanations of the same values, and no climb leads from one to the other.
    """

    lengthscale: LogNormal | Shrunk | None = None
    noise: LogNormal | Around | None = None
    learn_amplitude: bool = True
    learn_mean: bool = True
    starting_noise: tuple[float, ...] = (1e-2,)


def dimension_scaled(D: int) -> Priors:
    """Priors under which length-scales grow with sqrt(D) (Hvarfner et al. 2024).

    They state ℓ ~ LogNormal(√2 + ½ log D, √3) on the unit cube; ours is twice as wide.
    """
    loc = math.sqrt(2.0) + 0.5 * math.log(D) + math.log(2.0)
    return Priors(LogNormal(loc, math.sqrt(3.0)), LogNormal(-4.0, 1.0), learn_amplitude=False)


def shrunk(D: int) -> Priors:
    """Priors under which ARD keeps to one length-scale unless the data say otherwise.

    The common one is about sqrt(D), half of that on the unit cube. Maximum likelihood would
    find far shorter ones, under which nothing can be learnt, from few points in many dimensions.
    Ripples that a smooth function does not explain are most easily explained as noise, and then
    nothing more is learnt either: noise is most likely 1e-4 of the values' variance, and more of
    it takes data that insist.
    """
    lengthscale = Shrunk(loc=0.5 * math.log(D), wide=0.5, spread=0.35)
    return Priors(lengthscale, Around(loc=math.log(1e-4), spread=0.5))


def shrunk_noisy(D: int) -> Priors:
    """The same length-scales, with as much noise as the data have."""
    return replace(shrunk(D), noise=None, starting_noise=(1e-2, 0.5))


@dataclass(frozen=True, eq=False)
class Factor:
    """The upper Cholesky factor U of a covariance matrix, in LAPACK's order, UᵀU = K.

    LAPACK works on one triangle and in place, which halves the time of a likelihood
    evaluation against general-purpose calls.
    """

    U: Host  # (n, n)

    @staticmethod
    def of(K: Host, noise: float) -> Factor | None:
        """Factor of K + noise·I, or None if it is not positive definite; overwrites K."""
        from scipy.linalg.lapack import dpotrf

        K.flat[:: len(K) + 1] += noise
        U, failed = dpotrf(K.T, lower=0, clean=1, overwrite_a=1)
        return None if failed else Factor(U)

    def log_det(self) -> float:
        return 2.0 * float(np.sum(np.log(np.diagonal(self.U))))

    def solve(self, B: Host) -> Host:
        """K⁻¹B (n, k)."""
        from scipy.linalg.lapack import dpotrs

        solved: Host = dpotrs(self.U, B, lower=0)[0]
        return solved

    def inverse_upper(self) -> Host:
        """The upper triangle of K⁻¹, zeros below; overwrites the factor."""
        from scipy.linalg.lapack import dpotri

        inverse: Host = dpotri(self.U, lower=0, overwrite_c=1)[0]
        return inverse


def _columns(D: int) -> list[tuple[int, int]]:
    """Blocks of coordinates, the same on every machine: sums depend on the cuts."""
    return [(i, min(i + COLUMNS, D)) for i in range(0, D, COLUMNS)]


class LogPosterior:
    """log p(u | X, θ) + log p(θ) and its gradient, θ = (log ℓ [1 or D], log a, log noise)."""

    def __init__(self, kernel: Kernel, X: Host, u: Host, base: Host | None, priors: Priors) -> None:
        """``base`` (n, n), the squared distances of X, for one length-scale; None for ARD."""
        self.kernel, self.X, self.u, self.base, self.priors = kernel, X, u, base, priors
        self.constant = -0.5 * len(u) * math.log(2.0 * math.pi)
        # K⁻¹u and K⁻¹1 in one solve; Fortran order is LAPACK's
        self.sides = np.asfortranarray(np.stack([u, np.ones_like(u)], axis=1))

    def value(self, theta: Host) -> float:
        """The log posterior alone."""
        _, k, _ = self._kernel(theta)
        factor = Factor.of(math.exp(theta[-2]) * k, math.exp(theta[-1]))
        if factor is None:
            return -math.inf
        likelihood, _, _ = self._likelihood(factor)
        return likelihood + self._add_priors(theta, np.zeros_like(theta))

    def mean(self, theta: Host) -> float:
        """The best constant mean for θ."""
        _, k, _ = self._kernel(theta)
        factor = Factor.of(math.exp(theta[-2]) * k, math.exp(theta[-1]))
        # A climb ends where the matrix can be factored, unless its time was up before.
        return 0.0 if factor is None else self._likelihood(factor)[1]

    def __call__(self, theta: Host) -> tuple[float, Host]:
        """Value, and gradient in θ."""
        amplitude, noise = math.exp(theta[-2]), math.exp(theta[-1])
        sq, k, slope = self._kernel(theta)
        factor = Factor.of(amplitude * k, noise)
        if factor is None:
            return -math.inf, np.zeros_like(theta)
        likelihood, _, w = self._likelihood(factor)
        K_inv = factor.inverse_upper()
        diagonal = np.diagonal(K_inv)

        def trace(A: Host) -> float:
            """Σ_ij M_ij A_ij for a symmetric A, from one triangle of K⁻¹ and without M."""
            both = 2.0 * float(np.vdot(K_inv, A)) - float(diagonal @ np.diagonal(A))
            return 0.5 * (float(w @ (A @ w)) - both)

        grad = np.empty_like(theta)
        grad[-2] = amplitude * trace(k)
        grad[-1] = 0.5 * noise * (float(w @ w) - float(np.sum(diagonal)))
        if self.base is None:
            full = K_inv + np.triu(K_inv, 1).T
            grad[:-2] = self._ard_gradient(theta[:-2], amplitude * slope, w, full)
        else:
            slope *= sq
            grad[0] = -2.0 * amplitude * trace(slope)  # ∂sq/∂log ℓ = -2·sq
        return likelihood + self._add_priors(theta, grad), grad

    def _kernel(self, theta: Host) -> tuple[Host, Host, Host]:
        """sq, k and dk/dsq (n, n)."""
        if self.base is None:
            sq = self._ard_distances(theta[:-2])
        else:
            sq = self.base * math.exp(-2.0 * theta[0])
        k, slope = self.kernel.value_slope(sq)
        return sq, k, slope

    def _likelihood(self, factor: Factor) -> tuple[float, float, Host]:
        """Log p(u | X, θ), the best constant mean, and w = K⁻¹(u - mean) (n,)."""
        solved = factor.solve(self.sides)  # (n, 2)
        mean = 0.0
        if self.priors.learn_mean:
            mean = float(np.sum(solved[:, 0])) / float(np.sum(solved[:, 1]))
        w = solved[:, 0] - mean * solved[:, 1]
        fit = float((self.u - mean) @ w)
        return self.constant - 0.5 * (fit + factor.log_det()), mean, w

    def _ard_distances(self, log_l: Host) -> Host:
        def job(span: tuple[int, int]) -> Host:
            at = slice(*span)
            scaled = self.X[:, at] * np.exp(-log_l[at])
            sq: Host = squared_distance(scaled, scaled)
            return sq

        parts = each_block(job, _columns(len(log_l)))
        return np.sum(parts, axis=0) if len(parts) > 1 else parts[0]

    def _ard_gradient(self, log_l: Host, slope: Host, w: Host, K_inv: Host) -> Host:
        """Gradient (D,) in the log length-scales.

        With N_ij = M_ij·∂K_ij/∂sq, Σ_ij N_ij (x_i - x_j)² = 2 xᵀ(diag(N1) - N)x in each
        coordinate: one matrix product for all of them, cut into blocks of coordinates.
        """
        N = np.outer(0.5 * w, w)
        N -= 0.5 * K_inv
        N *= slope
        rows = np.sum(N, axis=1)
        np.negative(N, out=N)
        N.flat[:: len(w) + 1] += rows

        def job(span: tuple[int, int]) -> Host:
            at = slice(*span)
            scaled = self.X[:, at] * np.exp(-log_l[at])
            part: Host = np.sum(scaled * (N @ scaled), axis=0)
            return part

        return -4.0 * np.concatenate(each_block(job, _columns(len(log_l))))

    def _add_priors(self, theta: Host, grad: Host) -> float:
        total = 0.0
        if self.priors.lengthscale is not None:
            density, slope = self.priors.lengthscale.log_density(theta[:-2])
            total += density
            grad[:-2] += slope
        if self.priors.noise is not None:
            density, slope = self.priors.noise.log_density(theta[-1])
            total += density
            grad[-1] += slope
        if not self.priors.learn_amplitude:
            grad[-2] = 0.0
        return total
