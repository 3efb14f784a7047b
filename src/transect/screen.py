"""Incremental screening: the acquisition at a few points of every slice, kept up to date.

For each candidate c the table holds a row W_c = L⁻¹k(X, c), in single precision. A new
observation appends one column, which costs O(n) per candidate instead of O(n²); mean
and variance follow as W·L⁻¹y and amplitude - |W_c|². Only new hyper-parameters rebuild
the table, by one matrix product. What comes out ranks candidates; whoever uses them
computes their values again in double precision.

When the table would outgrow its memory, the slices with the lowest acquisition values
leave it until the next rebuild, which looks at all of them again.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Array, like, namespace, to_host
from ._threads import each_block, spans
from .acquisition import Acquisition
from .gp import GaussianProcess
from .subspace import Slices

CANDIDATES = 8192  # points the table aims at, spread over the slices
MOST_PER_SLICE = 64
LEAST_PROBES = 4  # points tried on a slice even where only one is kept
BLOCK = 1 << 19  # numbers in a block: 2 MiB of float32, about a core's cache

Single = NDArray[np.float32]


class Grid:
    """A matrix that grows by rows and columns into spare capacity."""

    def __init__(self, like_array: Array, columns: int = 0) -> None:
        self._like = like_array
        self.rows, self.columns = 0, columns
        self._data = self._empty(0, columns)

    def _empty(self, rows: int, columns: int) -> Array:
        xp = namespace(self._like)
        on = {} if xp is np else {"device": self._like.device}
        return xp.empty((rows, columns), dtype=xp.float32, **on)

    @property
    def data(self) -> Array:
        return self._data[: self.rows, : self.columns]

    def resize(self, rows: int, columns: int) -> None:
        """Make room; new entries are undefined, kept ones stay."""
        have_rows, have_columns = self._data.shape
        if rows > have_rows or columns > have_columns:
            grown = self._empty(
                have_rows if rows <= have_rows else max(rows, 3 * have_rows // 2),
                have_columns if columns <= have_columns else max(columns, 5 * have_columns // 4),
            )
            grown[: self.rows, : self.columns] = self.data
            self._data = grown
        self.rows, self.columns = rows, columns

    def keep(self, rows: Any) -> None:
        """Keep these rows only, in this order."""
        kept = namespace(self._data).take(self._data, rows, axis=0)
        self._data, self.rows = kept, int(kept.shape[0])


class Screen:
    """The table of candidates on a growing set of slices.

    After :meth:`update`: row r of the table is candidate ``r % per_slice`` of slice
    ``active[r // per_slice]``; ``mean`` and ``var`` (rows,) are its posterior, ``v`` the
    free part of the candidates (slices, per_slice, d).
    """

    def __init__(self, slices: Slices, memory: float = 1e9) -> None:
        self.slices = slices
        self.memory = memory  # bytes the table may take
        self.gp: GaussianProcess | None = None
        self.settled = 0  # columns of the table that stay valid: told observations
        self.seen = 0  # slices looked at since the last rebuild
        self.per_slice = 1
        self.active: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.evaluations = 0
        self.mean: Array = None  # these and the rest exist once update was called
        self.var: Array = None
        self.v: Array = None
        self.x_norm: Array = None
        self._last_v: Single = np.zeros((0, slices.d), dtype=np.float32)  # (ever seen, d)

    # --- keeping the table up to date ------------------------------------------------

    def update(
        self,
        gp: GaussianProcess,
        settled: int,
        m: int,
        acquisition: Acquisition,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> None:
        """Bring the table to ``gp``, whose first ``settled`` observations will stay, and m slices.

        ``settled`` leaves pending points out: their columns are dropped at the next call.
        """
        self.evaluations = 0
        crowded = self.per_slice > 1 and m * self.per_slice > 2 * CANDIDATES
        if self.gp is None or gp.hyper is not self.gp.hyper or crowded:
            self._restart(gp, m, acquisition)
        self.gp = gp
        self._snapshot(gp)
        if self.seen:
            self._append_columns()
        while self.seen < m and not (self.seen and _late(deadline)):
            stop = min(m, self.seen + max(1, self._room() // 4))
            self._append_slices(self.seen, stop, acquisition, rng)
            if len(self.active) > self._room():
                self._prune(acquisition)
        self.settled = settled

    def _restart(self, gp: GaussianProcess, m: int, acquisition: Acquisition) -> None:
        if len(self.active):
            best = np.argmax(self._values(acquisition), axis=1)  # (slices,)
            v = to_host(self.v)
            self._last_v[self.active] = v[np.arange(len(best)), best]
        one = self.slices.d == 0
        self.per_slice = 1 if one else int(np.clip(CANDIDATES // m, 1, MOST_PER_SLICE))
        self.seen = self.settled = 0
        self.active = self.active[:0]
        self.Z = Grid(gp.X, self.slices.D - self.slices.d)
        self.W = Grid(gp.X)
        self.Xf = Grid(gp.X, self.slices.D - self.slices.d)
        self.mean = self.var = like(gp.X, [], dtype=namespace(gp.X).float32)
        self.v = like(
            gp.X, np.zeros((0, self.per_slice, self.slices.d), np.float32), self.mean.dtype
        )

    def _snapshot(self, gp: GaussianProcess) -> None:
        """What rows and columns are made of, in single precision."""
        xp = namespace(gp.X)
        free, fixed = self.slices.free, self.slices.fixed
        scale = (1.0 / gp.hyper.lengthscale) * xp.ones_like(gp.X[0, :])  # (D,)

        def single(a: Array) -> Array:
            return xp.astype(a, xp.float32)

        self.R = single(scale[free])
        self.weight = single(scale[fixed] ** 2)  # (D-d,)
        self.u = single(gp.X[:, free] * scale[free])  # (n, d)
        self.u_norm = xp.vecdot(self.u, self.u)
        self.L_inv_T = single(gp.L_inv.T)
        self.whitened = single(gp.whitened)
        start = self.settled
        self.Xf.resize(gp.n, self.Xf.columns)
        self.Xf.data[start:, :] = single(gp.X[start:, fixed])
        old = self.x_norm[:start] if start else self.whitened[:0]
        self.x_norm = xp.concat([old, self._norm(self.Xf.data[start:, :])])  # (n,)

    def _norm(self, A: Array) -> Array:
        return (A * A) @ self.weight

    def _posterior(self, W: Array) -> tuple[Array, Array]:
        xp = namespace(W)
        assert self.gp is not None
        amplitude = self.gp.hyper.amplitude
        var = xp.clip(amplitude - xp.vecdot(W, W), 1e-6 * amplitude, None)
        return W @ self.whitened, var

    def _sq(self, Z: Array, v: Array, columns: slice) -> Array:
        """Squared distances (b·q, columns) of v (b, q, d) on slices Z (b, D-d) to the data."""
        xp = namespace(Z)
        b, q, _ = v.shape
        # (z - x)² summed = z² + x² - 2·z·x, weighted by 1/ℓ²
        cross = (Z * self.weight) @ self.Xf.data[columns, :].T
        c = self._norm(Z)[:, None] + self.x_norm[columns][None, :] - 2.0 * cross  # (b, k)
        w = xp.reshape(v * self.R, (b * q, -1))
        flat = xp.vecdot(w, w)[:, None] + self.u_norm[columns][None, :]
        flat = xp.reshape(flat - 2.0 * (w @ self.u[columns, :].T), (b, q, -1))
        return xp.reshape(xp.clip(flat + c[:, None, :], 0.0, None), (b * q, -1))

    def _append_columns(self) -> None:
        """Columns of the observations after the settled ones, for every candidate."""
        gp = self.gp
        assert gp is not None
        k, n, P = self.settled, gp.n, self.per_slice
        self.W.resize(self.W.rows, n)
        xp = namespace(gp.X)
        L_old_T = xp.astype(gp.L[k:, :k].T, xp.float32)  # (k, new)
        inv_new_T = self.L_inv_T[k:, k:]

        def job(span: tuple[int, int]) -> tuple[Array, Array]:
            i, j = span
            W = self.W.data[i * P : j * P, :]
            if n > k:
                sq = self._sq(self.Z.data[i:j, :], self.v[i:j, ...], slice(k, n))
                cov = gp.hyper.amplitude * gp.hyper.kernel.value(sq)
                W[:, k:] = (cov - W[:, :k] @ L_old_T) @ inv_new_T
            return self._posterior(W)

        blocks = spans(len(self.active), max(1, BLOCK // (P * (n + self.Z.columns))))
        parts = each_block(job, blocks)
        self.mean = xp.concat([p[0] for p in parts])
        self.var = xp.concat([p[1] for p in parts])
        self.evaluations += len(self.active) * P

    def _append_slices(
        self, start: int, stop: int, acquisition: Acquisition, rng: np.random.Generator
    ) -> None:
        """Rows of the slices start..stop-1: the best ``per_slice`` of a few probes each."""
        gp = self.gp
        assert gp is not None
        xp = namespace(gp.X)
        P, d = self.per_slice, self.slices.d
        probes = self._probes(start, stop, rng)  # (b, q, d)
        q = probes.shape[1]
        have = len(self.active)
        self.Z.resize(have + stop - start, self.Z.columns)
        self.W.resize((have + stop - start) * P, gp.n)

        def job(span: tuple[int, int]) -> tuple[Array, Array, Array]:
            i, j = span
            Z = like(self.mean, self.slices.z(start + i, start + j))
            v = like(self.mean, probes[i:j])
            k = gp.hyper.amplitude * gp.hyper.kernel.value(self._sq(Z, v, slice(0, gp.n)))
            W = k @ self.L_inv_T
            mean, var = self._posterior(W)
            if q > P:
                value = xp.reshape(acquisition.value(mean, var), (j - i, q))
                best = xp.argsort(-value, axis=1)[:, :P]
                rows = xp.reshape(best + q * like(best, np.arange(j - i))[:, None], (-1,))
                W, mean, var = (xp.take(a, rows, axis=0) for a in (W, mean, var))
                v = xp.reshape(xp.take(xp.reshape(v, (-1, d)), rows, axis=0), (j - i, P, d))
            self.Z.data[have + i : have + j, :] = Z
            self.W.data[(have + i) * P : (have + j) * P, :] = W
            return mean, var, v

        blocks = spans(stop - start, max(1, BLOCK // (q * (gp.n + self.Z.columns))))
        parts = each_block(job, blocks)
        self.mean = xp.concat([self.mean, *(p[0] for p in parts)])
        self.var = xp.concat([self.var, *(p[1] for p in parts)])
        self.v = xp.concat([self.v, *(p[2] for p in parts)])
        self.active = np.concatenate([self.active, np.arange(start, stop)])
        self.seen = stop
        self.evaluations += (stop - start) * q

    def _probes(self, start: int, stop: int, rng: np.random.Generator) -> Single:
        """Free parts to try on each slice (b, q, d): known good ones, then random ones."""
        b, d = stop - start, self.slices.d
        q = 1 if d == 0 else max(self.per_slice, LEAST_PROBES)
        assert self.gp is not None
        v = random_probes(rng, (b, q, d))
        best = to_host(self.gp.y).argsort()[-2:]
        good = to_host(self.gp.X[:, self.slices.free])[best]  # (≤ 2, d)
        share = min(len(good), q - 1)
        v[:, 1 : 1 + share] = good[:share]
        known = min(stop, len(self._last_v)) - start
        if known > 0:
            v[:known, 0] = self._last_v[start : start + known]
        if stop > len(self._last_v):
            fresh = v[max(known, 0) :, 0]
            self._last_v = np.concatenate([self._last_v, fresh])
        return v

    # --- memory ----------------------------------------------------------------------

    def _room(self) -> int:
        """Slices the table may hold."""
        assert self.gp is not None
        return max(64, int(self.memory / (4 * (self.per_slice * self.gp.n + self.Z.columns))))

    def _prune(self, acquisition: Acquisition) -> None:
        """Keep the best three quarters of what fits."""
        xp = namespace(self.mean)
        order = np.argsort(-np.max(self._values(acquisition), axis=1), kind="stable")
        keep = np.sort(order[: 3 * self._room() // 4])
        rows = (keep[:, None] * self.per_slice + np.arange(self.per_slice)).reshape(-1)
        at, rows_at = like(self.mean, keep, xp.int64), like(self.mean, rows, xp.int64)
        self.Z.keep(at)
        self.W.keep(rows_at)
        self.v = xp.take(self.v, at, axis=0)
        self.mean, self.var = xp.take(self.mean, rows_at), xp.take(self.var, rows_at)
        self.active = self.active[keep]

    # --- reading and improving it ----------------------------------------------------

    def _values(self, acquisition: Acquisition) -> NDArray[np.float32]:
        values: Single = to_host(acquisition.value(self.mean, self.var))
        return values.reshape(len(self.active), self.per_slice)

    def best_slices(self, acquisition: Acquisition, count: int) -> NDArray[np.intp]:
        """Positions in ``active`` of the slices with the highest values, best first."""
        top = np.max(self._values(acquisition), axis=1)
        if len(top) > count:
            at = np.argpartition(-top, count)[:count]
        else:
            at = np.arange(len(top))
        return at[np.argsort(-top[at], kind="stable")]

    def on_slices(self, at: NDArray[np.intp], acquisition: Acquisition) -> tuple[Single, Single]:
        """Candidates (k, per_slice, d) and their values (k, per_slice) on the slices ``at``."""
        xp = namespace(self.mean)
        v: Single = to_host(xp.take(self.v, like(self.mean, at, xp.int64), axis=0))
        return v, self._values(acquisition)[at]

    def z(self, at: NDArray[np.intp]) -> Single:
        """Fixed parts (k, D-d) of the slices at positions ``at`` in ``active``."""
        xp = namespace(self.mean)
        z: Single = to_host(xp.take(self.Z.data, like(self.mean, at, xp.int64), axis=0))
        return z

    def improve(self, at: NDArray[np.intp], v: Single, acquisition: Acquisition) -> None:
        """Put v (k, d) in the place of the worst candidates of the slices ``at`` (k,)."""
        gp = self.gp
        assert gp is not None
        xp = namespace(self.mean)
        slot = np.argmin(self._values(acquisition)[at], axis=1)
        Z = xp.take(self.Z.data, like(self.mean, at, xp.int64), axis=0)
        new = like(self.mean, v)
        k = gp.hyper.kernel.value(self._sq(Z, new[:, None, :], slice(0, gp.n)))
        W = (gp.hyper.amplitude * k) @ self.L_inv_T
        mean, var = self._posterior(W)
        rows = like(self.mean, at * self.per_slice + slot, xp.int64)
        self.W.data[rows, :] = W
        self.mean[rows], self.var[rows] = mean, var
        self.v[like(rows, at, xp.int64), like(rows, slot, xp.int64), :] = new


def random_probes(rng: np.random.Generator, shape: tuple[int, ...]) -> Single:
    """Points of [-1, 1]^d, (..., q, d): half of them uniform, the others with coordinates
    at the ends, where upper confidence bounds like to be (all corners, if they are few).
    """
    v = rng.uniform(-1.0, 1.0, shape).astype(np.float32)
    q, d = shape[-2:]
    if 2 ** (d + 1) <= q:
        v[..., -(2**d) :, :] = 2.0 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1) - 1.0
        return v
    snap = (rng.random(shape) < 0.6) & (rng.random((*shape[:-1], 1)) < 0.5)
    return np.where(snap, np.sign(v), v)


def _late(deadline: float | None) -> bool:
    return deadline is not None and time.perf_counter() >= deadline
