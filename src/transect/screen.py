"""Incremental screening: the acquisition at a few points of every slice, kept up to date.

For each candidate c the table holds a row W_c = L⁻¹k(X, c). A new observation appends one
column, which costs O(n) per candidate instead of O(n²); mean and variance follow as
W·L⁻¹y and amplitude - |W_c|². Only new hyper-parameters rebuild the table, by one matrix
product. Large tables are in single precision, unless the data leave so little variance
that it would not do. What comes out ranks candidates; whoever uses them computes their
values again.

When the tables would outgrow their memory, the slices with the lowest acquisition values
leave them until the next rebuild, which looks at all of them again: at all that a budget
of acquisition evaluations allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Array, Host, like, namespace, to_host, zeros
from ._clock import late, left
from ._threads import each_block, spans
from .acquisition import Acquisition
from .climb import Pool
from .geometry import BLOCK, LONG, Geometry, Grid, size_of, thin_product
from .gp import VARIANCE_FLOOR, GaussianProcess
from .pace import machine
from .probes import Single, all_corners, random_probes
from .subspace import Slices

CANDIDATES = 8192  # points the table aims at, spread over the slices
MOST_PER_SLICE = 64
TABLES = 1e9  # bytes the tables may take
LEAST_PROBES = 4  # points tried on a slice even where only one is kept
PORTION = 1e9  # multiplications for slices looked at together
GLANCE = 2e8  # and between two glances at the clock, if there is a limit
SINGLE_FLOOR = 1e-6  # share of the prior variance that single precision can tell from 0
SMALL = 500_000  # numbers up to which a table is in double precision
AHEAD = 512  # slices whose distances are computed together where they are long
AHEAD_SHARE = 0.2  # and of the time left before a deadline, what that may take
COLUMNS = 512  # observations, at most, that long slices' tables have room for in advance
SHARP = 1e-2  # as is one of a model that leaves less than this share of variance at its data


class Screen:
    """Candidates on the first slices of a growing set.

    After :meth:`update`, slice ``geometry.index[s]`` has the candidates ``v[s]`` (per_slice,
    d), whose rows in W and in the sums start at s·per_slice.
    """

    def __init__(
        self, slices: Slices, memory: float = TABLES, budget: int | None = None, evals: int = 0
    ) -> None:
        """``memory``: bytes the tables may take; ``budget``: acquisition evaluations a search;
        ``evals``: observations there will be, where that is known.
        """
        self.slices, self.memory, self.budget, self.evals = slices, memory, budget, evals
        # Half of a budget is for the screen: as much for old candidates as for new slices.
        self.candidates = CANDIDATES if budget is None else min(CANDIDATES, budget // 4)
        self._forget()

    def _forget(self) -> None:
        self._whole = True
        self.gp: GaussianProcess | None = None
        self.settled = 0  # leading observations that stay: not the pending ones
        self.seen = 0  # slices looked at since the last rebuild
        self.looked = 0  # slices looked at in the last update: fewer, after pruning
        self.per_slice = 1
        self.evaluations = 0  # acquisition values computed in the last update
        # The tables; the first update fills them.
        self.geometry: Geometry
        self.W: Grid  # (candidates, n)
        self._sums: Array  # (candidates, 4), see _sum
        self.dtype: Any
        self.v: Array  # (slices, per_slice, d)
        self._last_v: Single = np.zeros((0, self.slices.d), dtype=np.float32)  # (ever seen, d)

    def _tries(self, m: int) -> int:
        """Points tried on a slice that is new to the table of m; few where a budget is short."""
        if self.slices.d == 0:
            return 1
        least = LEAST_PROBES
        if self.budget is not None:
            least = max(1, min(least, self.budget // 2 // m))
        return max(self.per_slice, least)

    # --- keeping it up to date -------------------------------------------------------

    def update(
        self,
        gp: GaussianProcess,
        settled: int,
        m: int,
        acquisition: Acquisition,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> None:
        """Follow ``gp`` and look at the first ``m`` slices, as far as ``deadline`` allows.

        The first ``settled`` observations of ``gp`` will be there at the next call, too; the
        others are pending points.
        """
        if not self._whole or not self._is_continued_by(gp, settled, m):
            self._forget()
        self._whole = False  # until the end: an exception on the way leaves half a table
        self.evaluations = 0
        crowded = self.per_slice > 1 and m * self.per_slice > 2 * self.candidates
        rebuild = self.gp is None or not gp.hyper.same_covariance(self.gp.hyper) or crowded
        if rebuild:
            self._restart(gp, m, acquisition)
        self.gp = gp
        self._snapshot(gp)
        self.geometry.follow(gp, self.settled)
        if not rebuild:
            self._append_columns(gp, settled)
        # The sums cover the settled columns from here on, whatever interrupts the rest.
        self.settled, self._summed_with = settled, self._whitened
        self.looked = int(self.v.shape[0])
        room = self._room()
        if rebuild:
            columns = max(gp.n, min(self.evals, COLUMNS) if self.slices.D >= LONG else 0)
            there = self.geometry.reserve(min(m, room), columns)
            self.W.reserve(max(there, min(m, room) * self.per_slice), columns)
        elif (first := self._first(self.seen, m)) > self.seen:
            self.geometry.keep(np.arange(self.looked))  # not those that are passed over
            self.seen = first
        while self.seen < m and not (self.v.shape[0] and late(deadline)):
            portion = self._portion(gp.n, None if deadline is None else self._tries(m))
            stop = min(m, self.seen + min(max(1, room // 4), portion))
            self._measure(stop, m, self._ahead(gp.n, deadline))
            self._append_slices(gp, settled, stop, self._tries(m), acquisition, rng)
            if self.v.shape[0] > room:
                self._prune(acquisition)
        self._whole = True

    def _is_continued_by(self, gp: GaussianProcess, settled: int, m: int) -> bool:
        """Whether the arguments come after what the tables hold, not beside it."""
        if self.gp is None:
            return True
        k, n = self.settled, min(gp.n, settled)
        if m < self.seen or n < k:
            return False
        return _equal(self.gp.X[:k, :], gp.X[:k, :])

    def _first(self, start: int, m: int) -> int:
        """The first slice, of those from ``start`` to m, to look at next.

        Where a budget does not allow all of them, the newest are looked at: all are drawn
        alike, so they are as good a sample as any.
        """
        if self.budget is None:
            return start
        allowed = (self.budget // 2 - self.evaluations) // self._tries(m)
        return max(start, m - max(1, allowed))

    def _portion(self, n: int, tries: int | None) -> int:
        """Slices looked at together; with ``tries`` on each, between two glances at the clock."""
        kernel = 64  # multiplications that one kernel value costs as much time as
        each = (tries or LEAST_PROBES) * n * (n + kernel) + n * (self.slices.D - self.slices.d)
        return max(64, int(PORTION / each)) if tries is None else max(4, int(GLANCE / each))

    def _restart(self, gp: GaussianProcess, m: int, acquisition: Acquisition) -> None:
        """Forget all candidates but the best one of each slice."""
        dropped = False
        if self.seen:
            index = self.geometry.index[: self.v.shape[0]]
            best = np.argmax(self._values(acquisition), axis=1)  # (slices,)
            kept = index < len(self._last_v)
            self._last_v[index[kept]] = to_host(self.v)[np.arange(len(best)), best][kept]
            dropped = len(index) < self.seen
        d = self.slices.d
        self.per_slice = 1 if d == 0 else int(np.clip(self.candidates // m, 1, MOST_PER_SLICE))
        dtype = _precision(gp, m * self.per_slice)
        changed = self.gp is None or dtype != self.dtype
        self.seen = self._first(0, m)
        if changed or not self.geometry.fits(gp):
            # After a portion a quarter more slices may be there than there is room for.
            self.geometry = Geometry(self.slices, gp, dtype, 1.25 * self.memory)
            self.settled = 0
        elif dropped or self.seen:
            self.geometry.clear()
            self.settled = 0
        if changed:
            self.dtype, self.W = dtype, Grid(gp.X, dtype)
        self.W.resize(0, gp.n)  # the memory stays
        self._sums = zeros(gp.X, (0, 4), dtype)
        self.v = zeros(gp.X, (0, self.per_slice, d), dtype)

    def _snapshot(self, gp: GaussianProcess) -> None:
        """What rows and columns are made of, in the tables' precision."""
        xp = namespace(gp.X)
        free = self.slices.free
        scale = ((1.0 / gp.hyper.lengthscale) * xp.ones_like(gp.X[0, :]))[free]
        self._R = xp.astype(scale, self.dtype)
        self._u = xp.astype(gp.X[:, free] * scale, self.dtype)  # (n, d)
        self._u_norm = xp.vecdot(self._u, self._u)
        self._L_inv_T = xp.astype(gp.L_inv.T, self.dtype)
        self._from_kernel = gp.hyper.amplitude * self._L_inv_T  # W = k·this
        self._whitened = xp.astype(gp.whitened, self.dtype)
        self._amplitude, self._prior_mean = gp.hyper.amplitude, gp.hyper.mean

    def _sum(self, W: Array, start: int, settled: int) -> Array:
        """What columns ``start``… of W say of mean and variance, (rows, 4).

        Their share of the mean, W·L⁻¹(y - mean), and of the variance explained, |W|²; first of the
        settled observations alone, then with the pending ones.
        """
        xp = namespace(W)
        stop = start + W.shape[1]
        parts = [W @ self._whitened[start:stop], xp.vecdot(W, W)]
        if settled < stop:
            known = W[:, : settled - start]
            return xp.stack(
                [known @ self._whitened[start:settled], xp.vecdot(known, known), *parts], axis=1
            )
        return xp.stack([*parts, *parts], axis=1)

    def _posterior(self, sums: Array) -> tuple[Array, Array]:
        """Mean and variance (rows,)."""
        single = self.dtype == namespace(sums).float32
        floor = (SINGLE_FLOOR if single else VARIANCE_FLOOR) * self._amplitude
        var = namespace(sums).clip(self._amplitude - sums[:, 3], floor, None)
        return self._prior_mean + sums[:, 2], var

    def _sq(self, c: Array, v: Array, columns: slice = slice(None)) -> Array:
        """Squared distances (b·q, columns) of v (b, q, d) on slices with distances c."""
        xp = namespace(c)
        b, q, d = v.shape
        w = xp.reshape(v * self._R, (b * q, d))
        # |w - u|² + c, term by term in place: this is the largest array of the search.
        sq = xp.reshape(w @ (-2.0 * self._u[columns, :].T), (b, q, -1))
        sq += (c + self._u_norm[columns])[:, None, :]
        sq += xp.reshape(xp.vecdot(w, w), (b, q, 1))
        return xp.reshape(xp.clip(sq, 0.0, None), (b * q, -1))

    def _append_columns(self, gp: GaussianProcess, settled: int) -> None:
        """Columns of the observations after the settled ones, for every candidate."""
        xp = namespace(gp.X)
        k, n, P = self.settled, gp.n, self.per_slice
        self.W.resize(self.W.rows, n)
        L_old_T = xp.astype(gp.L[k:, :k].T, self.dtype)  # (k, new)
        inv_new_T = self._L_inv_T[k:, k:]
        new = slice(k, n)
        # Sums over settled columns stay true unless a failure's stand-in value has changed.
        same = bool(xp.all(self._summed_with[:k] == self._whitened[:k]))

        def job(span: tuple[int, int]) -> Array:
            i, j = span
            W = self.W.data[i * P : j * P, :]
            old = self._sums[i * P : j * P, :2] if same else self._sum(W[:, :k], 0, k)[:, :2]
            if n > k:
                sq = self._sq(self.geometry.sq(slice(i, j), new), self.v[i:j, ...], new)
                W[:, k:] = (gp.hyper.covariance(sq) - thin_product(W[:, :k], L_old_T)) @ inv_new_T
            return self._sum(W[:, k:], k, settled) + xp.concat([old, old], axis=1)

        count = int(self.v.shape[0])
        self._sums = xp.concat(each_block(job, spans(count, max(1, BLOCK // (P * n)))))
        self.evaluations += count * P

    def _ahead(self, n: int, deadline: float | None) -> int:
        """Slices to measure together; before a deadline, those of a part of the time left."""
        if deadline is None:
            return AHEAD
        affordable = AHEAD_SHARE * left(deadline) / machine().seconds(n * self.slices.D)
        return int(min(AHEAD, affordable))

    def _measure(self, stop: int, m: int, ahead: int) -> None:
        """Distances of the slices up to ``stop``; of more, up to m, where slices are long.

        One matrix product for many slices is faster than several for a few each.
        """
        known = self.seen + len(self.geometry.index) - int(self.v.shape[0])
        if stop > known:
            ahead = ahead if self.slices.D >= LONG else 0
            self.geometry.add(known, min(m, max(stop, known + ahead)))

    def _append_slices(
        self,
        gp: GaussianProcess,
        settled: int,
        stop: int,
        tries: int,
        acquisition: Acquisition,
        rng: np.random.Generator,
    ) -> None:
        """Candidates on the slices up to ``stop``: the best ``per_slice`` of some tries."""
        xp = namespace(gp.X)
        start, have = self.seen, int(self.v.shape[0])
        P, d = self.per_slice, self.slices.d
        probes, q = self._probes(gp, start, stop, tries, rng), tries  # (b, q, d)
        self.W.resize((have + stop - start) * P, gp.n)

        def job(span: tuple[int, int]) -> tuple[Array, Array]:
            i, j = span
            v = like(self._R, probes[i:j])
            sq = self._sq(self.geometry.sq(slice(have + i, have + j)), v)
            W = gp.hyper.kernel.value(sq) @ self._from_kernel
            sums = self._sum(W, 0, settled)
            if q > P:
                value = xp.reshape(acquisition.value(*self._posterior(sums)), (j - i, q))
                best = xp.argsort(-value, axis=1)[:, :P]
                rows = xp.reshape(best + q * like(best, np.arange(j - i))[:, None], (-1,))
                W, sums = W[rows, :], sums[rows, :]
                v = xp.reshape(xp.reshape(v, (-1, d))[rows, :], (j - i, P, d))
            self.W.data[(have + i) * P : (have + j) * P, :] = W
            return sums, v

        parts = each_block(job, spans(stop - start, max(1, BLOCK // (q * gp.n))))
        self._sums = xp.concat([self._sums, *(p[0] for p in parts)])
        self.v = xp.concat([self.v, *(p[1] for p in parts)])
        self.seen = stop
        self.looked += stop - start
        self.evaluations += (stop - start) * q

    def _probes(
        self, gp: GaussianProcess, start: int, stop: int, q: int, rng: np.random.Generator
    ) -> Single:
        """Free parts to try on each slice (b, q, d): known good ones, then random ones."""
        d = self.slices.d
        v = random_probes(rng, (stop - start, q, d))
        top = to_host(gp.y).argsort()[-2:]
        spare = q - 1 - (2**d if all_corners(q, d) else 0)  # the corners stay
        good = to_host(gp.X[:, self.slices.free])[top][:spare]  # (≤ 2, d)
        v[:, 1 : 1 + len(good)] = good
        known = self._last_v[start:stop]
        v[: len(known), 0] = known
        if start <= len(self._last_v):  # after slices that were passed over nothing is kept
            fresh = v[len(self._last_v) - start :, 0]
            self._last_v = np.concatenate([self._last_v, fresh])
        return v

    # --- memory ----------------------------------------------------------------------

    def _room(self) -> int:
        """Slices the tables may hold."""
        n = len(self._whitened)
        each = size_of(self.dtype) * self.per_slice * n + self.geometry.bytes_per_slice()
        room = max(64, int(self.memory / each))
        return room if self.budget is None else min(room, max(64, self.candidates))

    def _prune(self, acquisition: Acquisition) -> None:
        """Keep the best three quarters of what fits."""
        xp = namespace(self.v)
        order = np.argsort(-np.max(self._values(acquisition), axis=1), kind="stable")
        keep = np.sort(order[: 3 * self._room() // 4])
        rows = (keep[:, None] * self.per_slice + np.arange(self.per_slice)).reshape(-1)
        at = like(self.v, rows, xp.int64)
        ahead = np.arange(self.v.shape[0], len(self.geometry.index))
        self.geometry.keep(np.concatenate([keep, ahead]))
        self.W.keep(at)
        self.v = self.v[like(self.v, keep, xp.int64), ...]
        self._sums = self._sums[at, :]

    # --- reading and improving it ----------------------------------------------------

    def _values(self, acquisition: Acquisition) -> Host:
        values: Host = to_host(acquisition.value(*self._posterior(self._sums)))
        return values.reshape(-1, self.per_slice)

    def best_slices(self, acquisition: Acquisition, count: int) -> NDArray[np.intp]:
        """Rows of ``geometry`` of the slices with the highest values, best first."""
        top = np.max(self._values(acquisition), axis=1)
        at = np.arange(len(top))
        if len(top) > count:
            at = np.argpartition(-top, count)[:count]
        return at[np.argsort(-top[at], kind="stable")]

    def pool(self, at: NDArray[np.intp], acquisition: Acquisition) -> Pool:
        """The candidates on the slices ``at`` (k,), whose rows are their places in ``at``."""
        v = to_host(self.v[like(self.v, at, int), ...])  # (k, per_slice, d)
        return Pool(
            np.repeat(np.arange(len(at)), self.per_slice),
            v.reshape(len(at) * self.per_slice, self.slices.d).astype(np.float64),
            self._values(acquisition)[at].reshape(-1).astype(np.float64),
        )

    def improve(self, at: NDArray[np.intp], v: Host, acquisition: Acquisition) -> None:
        """Put v (k, d) in the place of the worst candidates of the slices ``at`` (k,).

        Best first; of several on one slice, the first one counts.
        """
        assert self.gp is not None
        self._whole = False
        at, first = np.unique(at, return_index=True)
        v = v[first]
        slot = np.argmin(self._values(acquisition)[at], axis=1)
        new = like(self.v, v)
        sq = self._sq(self.geometry.sq_at(at), new[:, None, :])
        W = self.gp.hyper.kernel.value(sq) @ self._from_kernel
        rows = like(self.v, at * self.per_slice + slot, int)
        self.W.data[rows, :] = W
        self._sums[rows, :] = self._sum(W, 0, self.settled)
        self.v[like(rows, at), like(rows, slot), :] = new
        self._whole = True


def _equal(A: Array, B: Array) -> bool:
    """Whether A and B (n, D) are equal; at once where they are views of the same memory."""
    if namespace(A) is np and A.ctypes.data == B.ctypes.data and A.strides == B.strides:
        return True
    return bool(namespace(A).all(A == B))


def _precision(gp: GaussianProcess, candidates: int) -> Any:
    """Single precision for tables that cost much and for models that leave some variance.

    Squared pivots of L are the variances of the observations given those before.
    """
    xp = namespace(gp.X)
    pivots = to_host(xp.linalg.diagonal(gp.L)) ** 2
    sharp = float(np.median(pivots)) < SHARP * gp.hyper.amplitude
    small = candidates * gp.n <= SMALL and gp.X.shape[1] < LONG
    return xp.float64 if sharp or small else xp.float32
