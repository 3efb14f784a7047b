"""A Gaussian process seen from subspaces: acquisition values at a cost without D.

On offset + basis·v the squared distance to an observation is a constant plus a
quadratic in v. With the thin QR factors Q·R of basis/ℓ and u_i = Qᵀ(x_i - offset)/ℓ,

    sq_i(v) = c_i + |R·v - u_i|²,   c_i = |(x_i - offset)/ℓ|² - |u_i|².

For slices, R is diagonal and u_i, the free part of x_i, is the same for all of them;
only c differs. D enters once, in c, and never again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._array import Array, Host, at_least, like, namespace
from ._products import times
from .acquisition import Acquisition
from .ascent import Objective
from .gp import GaussianProcess
from .subspace import Slices, Subspace

WARP = 600  # multiplications that a warp's work on one number takes as long as
LONG = 1000  # dimensions from which on a copy of X takes longer than what is done with it


@dataclass(frozen=True, eq=False)
class View:
    """Squared distances of points v to the data, on one or many subspaces."""

    gp: GaussianProcess
    at_0: Array  # (m, n), sq at v = 0: c + |u|²
    u: Array  # (n, d)
    R: Array  # (d,) diagonal, or (d, d)
    unit: Any = 1.0  # what squares of R·v - u are multiplied with, () or (d,)

    @staticmethod
    def of_subspace(gp: GaussianProcess, subspace: Subspace) -> View:
        """One subspace."""
        xp = namespace(gp.X)
        lengthscale = gp.hyper.lengthscale
        if gp.X.shape[1] >= LONG:
            if subspace.basis is None and not np.any(subspace.offset):
                return View(gp, gp.norm[None, :], gp.X, xp.ones_like(gp.X[0, :]), lengthscale**-2)
            if subspace.basis is not None and lengthscale.ndim == 0:
                return _in_place(gp, subspace.offset, subspace.basis)
        gap = (gp.X - like(gp.X, subspace.offset)) / lengthscale  # (n, D)
        if subspace.basis is None:
            scale = (1.0 / lengthscale) * xp.ones_like(gp.X[0, :])
            return View(gp, xp.vecdot(gap, gap)[None, :], gap, scale)
        basis = like(gp.X, subspace.basis)
        Q, R = xp.linalg.qr(basis / xp.reshape(lengthscale, (-1, 1)))
        u = gap @ Q
        return View(gp, _at_0(xp.vecdot(gap, gap), u)[None, :], u, R)

    @staticmethod
    def of_slices(gp: GaussianProcess, slices: Slices, z: NDArray[np.float32]) -> View:
        """The slices at z (m, D-d), in their order."""
        origin = like(gp.X, slices.point(z, np.zeros((len(z), slices.d))))  # (m, D), v = 0
        xp = namespace(gp.X)
        lengthscale = gp.hyper.lengthscale
        scale = (1.0 / lengthscale) * xp.ones_like(gp.X[0, :])
        u = gp.X[:, slices.free] * scale[slices.free]  # (n, d)
        # Distances over all D minus the free part: no copy of X without its free columns.
        return View(gp, _at_0(gp.sq(origin), u), u, scale[slices.free])

    @staticmethod
    def of_distances(gp: GaussianProcess, slices: Slices, c: Array) -> View:
        """Slices whose distances c (m, n) in the fixed coordinates are known already."""
        scale = (1.0 / gp.hyper.lengthscale) * namespace(gp.X).ones_like(gp.X[0, :])
        u = gp.X[:, slices.free] * scale[slices.free]
        return View(gp, c + namespace(u).vecdot(u, u)[None, :], u, scale[slices.free])

    @property
    def m(self) -> int:
        """How many subspaces there are."""
        return int(self.at_0.shape[0])

    @property
    def units(self) -> float:
        """Multiplications, about, that the value at a point costs."""
        n, d = self.gp.n, int(self.u.shape[1])
        return float(n * (n + d))

    @property
    def scale(self) -> Any:
        """How fast the model changes along each v (d,), relative to their geometric mean.

        Just 1 with one length-scale, and where the coordinates v are not those of the data.
        """
        xp = namespace(self.u)
        if self.gp.hyper.lengthscale.ndim == 0 or self.R.ndim == 2:
            return 1.0
        log = xp.log(self.R) + 0.5 * xp.log(self.unit * xp.ones_like(self.R))
        return xp.exp(log - xp.mean(log))

    @cached_property
    def _weights(self) -> Array:
        return self.gp.weights

    def sq(self, V: Array, rows: Any) -> tuple[Array, Array]:
        """Squared distances (p, n) of V (p, d) on subspaces ``rows`` (p,); and R·v (p, d)."""
        xp = namespace(V)
        w = V * self.R[None, :] if self.R.ndim == 1 else V @ self.R.T
        sq = times(-2.0 * self.unit * w, self.u.T)
        sq += xp.vecdot(self.unit * w, w)[:, None]
        sq += self.at_0 if self.m == 1 else xp.take(self.at_0, rows, axis=0)
        return at_least(sq, 0.0), w

    def value(self, acquisition: Acquisition, V: Array, rows: Any) -> Array:
        """Acquisition values (p,) at V (p, d) on subspaces ``rows`` (p,)."""
        return acquisition.value(*self.gp.posterior_at(self.sq(V, rows)[0]))

    def objective(self, acquisition: Acquisition) -> Objective:
        """Values (p,) and gradients in v (p, d), for the ascent."""

        def evaluate(V: Array, rows: Array) -> tuple[Array, Array]:
            xp = namespace(V)
            sq, w = self.sq(V, rows)
            value, d_sq = _by_distance(self.gp, self._weights, acquisition, sq)
            # ∂sq/∂w = 2 unit (w - u)
            d_w = 2.0 * self.unit * (xp.sum(d_sq, axis=1)[:, None] * w - times(d_sq, self.u))
            return value, (d_w * self.R[None, :] if self.R.ndim == 1 else d_w @ self.R)

        return evaluate


def _at_0(sq: Array, u: Array, unit: Any = 1.0) -> Array:
    """The sum c + |u|² (m, n): ``sq`` up to rounding, which must not make c negative."""
    xp = namespace(u)
    part = unit * xp.vecdot(u, u)
    return xp.clip(sq - part, 0.0, None) + part


def _in_place(gp: GaussianProcess, offset: Host, basis: Host) -> View:
    """One subspace, for one length-scale, without a copy of X."""
    xp = namespace(gp.X)
    unit = 1.0 / gp.hyper.lengthscale**2
    origin = like(gp.X, offset)
    Q, R = xp.linalg.qr(like(gp.X, basis))
    u = gp.X @ Q - origin @ Q
    gap = gp.norm + unit * (xp.vecdot(origin, origin) - 2.0 * (gp.X @ origin))  # (n,)
    return View(gp, _at_0(gap, u, unit)[None, :], u, R, unit)


class Warp(Protocol):
    """A differentiable map from coordinates v (p, d) to a process's inputs (p, e)."""

    @property
    def width(self) -> int:
        """Coordinates of the largest space that a point goes through on its way."""
        ...

    def points(self, V: Array) -> Array:
        """Inputs (p, e) at V (p, d)."""
        ...

    def points_and_pull_back(self, V: Array) -> tuple[Array, Callable[[Array], Array]]:
        """The same, and the chain rule: from gradients (p, e) in them to (p, d) in V."""
        ...


@dataclass(frozen=True, eq=False)
class Warped:
    """One curved subspace: inputs that are no affine function of v, at a cost with e in it."""

    gp: GaussianProcess
    warp: Warp

    @property
    def m(self) -> int:
        return 1

    @property
    def units(self) -> float:
        n, e = self.gp.n, int(self.gp.X.shape[1])
        return float(n * (n + e) + WARP * self.warp.width)

    @property
    def scale(self) -> Any:
        """As of a ``View``: no coordinate is known to be another's multiple."""
        return 1.0

    def value(self, acquisition: Acquisition, V: Array, rows: Any) -> Array:
        """Acquisition values (p,) at V (p, d)."""
        return acquisition.value(*self.gp.posterior(self.warp.points(V)))

    def objective(self, acquisition: Acquisition) -> Objective:
        """Values (p,) and gradients in v (p, d), for the ascent."""
        weights = self.gp.weights

        def evaluate(V: Array, rows: Array) -> tuple[Array, Array]:
            points, pull_back = self.warp.points_and_pull_back(V)
            value, d_sq = _by_distance(self.gp, weights, acquisition, self.gp.sq(points))
            return value, pull_back(self.gp.pull_back(points, d_sq))

        return evaluate


def _by_distance(
    gp: GaussianProcess, weights: Array, acquisition: Acquisition, sq: Array
) -> tuple[Array, Array]:
    """Acquisition values (p,), and their derivatives (p, n) in the squared distances (p, n)."""
    mean, var, slope, W = gp.posterior_parts(sq)
    value, by_mean, by_var = acquisition.partials(mean, var)
    return value, slope * (by_mean[:, None] * weights - 2.0 * by_var[:, None] * W)
