"""A Gaussian process seen from subspaces: acquisition values at a cost without D.

On offset + basis·v the squared distance to an observation is a constant plus a
quadratic in v. With the thin QR factors Q·R of basis/ℓ and u_i = Qᵀ(x_i - offset)/ℓ,

    sq_i(v) = c_i + |R·v - u_i|²,   c_i = |(x_i - offset)/ℓ|² - |u_i|².

For slices, R is diagonal and u_i, the free part of x_i, is the same for all of them;
only c differs. D enters once, in c, and never again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Array, like, namespace
from .acquisition import Acquisition
from .ascent import Objective
from .gp import GaussianProcess
from .subspace import Slices, Subspace


@dataclass(frozen=True, eq=False)
class View:
    """Squared distances of points v to the data, on one or many subspaces."""

    gp: GaussianProcess
    c: Array  # (m, n)
    u: Array  # (n, d)
    R: Array  # (d,) diagonal, or (d, d)

    @staticmethod
    def of_subspace(gp: GaussianProcess, subspace: Subspace) -> View:
        """One subspace."""
        xp = namespace(gp.X)
        lengthscale = gp.hyper.lengthscale
        gap = (gp.X - like(gp.X, subspace.offset)) / lengthscale  # (n, D)
        if subspace.basis is None:
            scale = (1.0 / lengthscale) * xp.ones_like(gp.X[0, :])
            return View(gp, xp.zeros_like(gp.y)[None, :], gap, scale)
        basis = like(gp.X, subspace.basis)
        Q, R = xp.linalg.qr(basis / xp.reshape(lengthscale, (-1, 1)))
        u = gap @ Q
        c = xp.clip(xp.vecdot(gap, gap) - xp.vecdot(u, u), 0.0, None)
        return View(gp, c[None, :], u, R)

    @staticmethod
    def of_slices(gp: GaussianProcess, slices: Slices, z: NDArray[np.float32]) -> View:
        """The slices at z (m, D-d), in their order."""
        origin = like(gp.X, slices.point(z, np.zeros((len(z), slices.d))))  # (m, D), v = 0
        xp = namespace(gp.X)
        lengthscale = gp.hyper.lengthscale
        scale = (1.0 / lengthscale) * xp.ones_like(gp.X[0, :])
        u = gp.X[:, slices.free] * scale[slices.free]  # (n, d)
        # Distances over all D minus the free part: no copy of X without its free columns.
        c = gp.sq(origin) - xp.vecdot(u, u)[None, :]
        return View(gp, xp.clip(c, 0.0, None), u, scale[slices.free])

    @staticmethod
    def of_distances(gp: GaussianProcess, slices: Slices, c: Array) -> View:
        """Slices whose distances c (m, n) in the fixed coordinates are known already."""
        scale = (1.0 / gp.hyper.lengthscale) * namespace(gp.X).ones_like(gp.X[0, :])
        return View(gp, c, gp.X[:, slices.free] * scale[slices.free], scale[slices.free])

    @property
    def m(self) -> int:
        """How many subspaces there are."""
        return int(self.c.shape[0])

    @cached_property
    def _c_and_u(self) -> Array:
        """What of sq does not depend on v: c + |u|², (m, n)."""
        return self.c + namespace(self.u).vecdot(self.u, self.u)[None, :]

    @cached_property
    def _minus_two_u_T(self) -> Array:
        return -2.0 * self.u.T  # (d, n)

    @cached_property
    def _weights(self) -> Array:
        return self.gp.weights

    def sq(self, V: Array, rows: Any) -> tuple[Array, Array]:
        """Squared distances (p, n) of V (p, d) on subspaces ``rows`` (p,); and R·v (p, d)."""
        xp = namespace(V)
        w = V * self.R[None, :] if self.R.ndim == 1 else V @ self.R.T
        sq = w @ self._minus_two_u_T
        sq += xp.vecdot(w, w)[:, None]
        sq += self._c_and_u if self.c.shape[0] == 1 else xp.take(self._c_and_u, rows, axis=0)
        return xp.clip(sq, 0.0, None), w

    def value(self, acquisition: Acquisition, V: Array, rows: Any) -> Array:
        """Acquisition values (p,) at V (p, d) on subspaces ``rows`` (p,)."""
        return acquisition.value(*self.gp.posterior_at(self.sq(V, rows)[0]))

    def objective(self, acquisition: Acquisition) -> Objective:
        """Values (p,) and gradients in v (p, d), for the ascent."""

        def evaluate(V: Array, rows: Array) -> tuple[Array, Array]:
            xp = namespace(V)
            sq, w = self.sq(V, rows)
            mean, var, slope, W = self.gp.posterior_parts(sq)
            value, by_mean, by_var = acquisition.partials(mean, var)
            # ∂a/∂sq (p, n), then ∂sq/∂w = 2 (w - u)
            d_sq = slope * (by_mean[:, None] * self._weights - 2.0 * by_var[:, None] * W)
            d_w = 2.0 * (xp.sum(d_sq, axis=1)[:, None] * w - d_sq @ self.u)
            return value, (d_w * self.R[None, :] if self.R.ndim == 1 else d_w @ self.R)

        return evaluate
