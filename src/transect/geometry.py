"""Distances between slices and observations, held and grown instead of recomputed.

On a slice the squared distance to an observation is |z - z_i|², the same for all its
points, plus |v - v_i|². The first part is the only one that costs O(D). It is kept in a
table of slices × observations: a new observation adds a column, a new
slice a row, and with one shared length-scale the table survives every refit.
The fixed parts themselves are float32 numbers; the distances have the precision asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Array, like, namespace, to_host, zeros
from ._threads import each_block, shares, spans
from .gp import GaussianProcess
from .subspace import Slices

BLOCK = 1 << 19  # numbers in a block: 2 MiB of float32, about a core's cache
LONG = 1000  # dimensions from which on the fixed parts of slices are most of the memory
ROWS = 1024  # rows of a block that is read once only: cuts cost, and no cache would help


class Grid:
    """A matrix that grows by rows and columns into spare capacity."""

    def __init__(self, template: Array, dtype: Any, columns: int = 0) -> None:
        """``template`` is an array of the library and on the device to use."""
        self.rows, self.columns = 0, columns
        self._data = zeros(template, (0, columns), dtype)

    @property
    def data(self) -> Array:
        """The matrix (rows, columns), to read and to write into."""
        return self._data[: self.rows, : self.columns]

    @property
    def capacity(self) -> int:
        """Rows there is room for."""
        return int(self._data.shape[0])

    def resize(self, rows: int, columns: int) -> None:
        """Set the size; new entries are undefined, kept ones stay."""
        have_rows, have_columns = self._data.shape
        if rows > have_rows or columns > have_columns:
            self.reserve(
                have_rows if rows <= have_rows else max(rows, 3 * have_rows // 2),
                have_columns if columns <= have_columns else max(columns, 5 * have_columns // 4),
            )
        self.rows, self.columns = rows, columns

    def reserve(self, rows: int, columns: int) -> None:
        """Make room for this size, so that growing to it copies nothing."""
        have_rows, have_columns = self._data.shape
        if rows > have_rows or columns > have_columns:
            # Zeros, not to have them but because untouched pages of zeros take no memory.
            grown = zeros(self._data, (max(rows, have_rows), max(columns, have_columns)))
            grown[: self.rows, : self.columns] = self.data
            self._data = grown

    def keep(self, rows: Array) -> None:
        """Keep these rows (k,) only, which ascend: each moves up within the same memory."""
        count = int(rows.shape[0])
        step = max(1, BLOCK // max(1, self.columns))
        for i in range(0, count, step):
            self.data[i : min(i + step, count), :] = self.data[rows[i : i + step], :]
        self.rows = count

    def at(self, rows: Any) -> Array:
        """A copy of single rows (k, columns). (``take`` would copy the whole matrix first.)"""
        return self.data[rows, :]


def size_of(dtype: Any) -> int:
    """Bytes of a number of this type."""
    return 4 if "32" in str(dtype) else 8


def thin_product(A: Array, B: Array) -> Array:
    """A·B for a tall A (p, k) and B (k, few): by matrix-vector products, which run at
    the memory's speed where BLAS's matrix product needs more than twice as long.
    """
    if B.shape[1] > 4:
        return A @ B
    return namespace(A).stack([A @ B[:, i] for i in range(B.shape[1])], axis=1)


class Geometry:
    """Squared distances in the fixed coordinates: table rows are slices, columns data.

    Row r is slice ``index[r]``. Distances are weighted by ``weight`` per coordinate and to be
    multiplied by ``factor``: 1 and 1/ℓ² with one length-scale, 1/ℓ_i² and 1 with ARD.
    """

    def __init__(self, slices: Slices, gp: GaussianProcess, dtype: Any, memory: float) -> None:
        """``memory``: bytes that the fixed parts of all slices will take, at most."""
        xp = namespace(gp.X)
        fixed = slices.D - slices.d
        weight = xp.ones_like(gp.X[0, :])
        self._one = gp.hyper.lengthscale.ndim == 0
        if not self._one:
            weight = weight / (gp.hyper.lengthscale * gp.hyper.lengthscale)
        self.slices, self.dtype = slices, dtype
        self.index: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.factor = 1.0
        self._weight = xp.astype(weight[slices.fixed], dtype)  # (D-d,)
        self._Z = Grid(gp.X, xp.float32, fixed)
        if xp is np and slices.D >= LONG:  # elsewhere zeros take memory at once
            self._Z.reserve(int(memory / (4 * max(1, fixed))), fixed)
        self._C = Grid(gp.X, dtype)
        self._X = Grid(gp.X, dtype, fixed)  # observations, times the weights
        self._z_norm = self._x_norm = self._weight[:0]
        self._place = np.arange(0)  # (slices,) rows of Z: those of dropped slices stay a while

    def fits(self, gp: GaussianProcess) -> bool:
        """Whether the table is right for these hyper-parameters, too: one length-scale."""
        return self._one and bool(gp.hyper.lengthscale.ndim == 0)

    def follow(self, gp: GaussianProcess, settled: int) -> None:
        """Columns for gp's observations after the first ``settled``, which are there."""
        xp = namespace(gp.X)
        if self.fits(gp):
            self.factor = 1.0 / float(gp.hyper.lengthscale) ** 2
        fresh = xp.astype(gp.X[settled:, self.slices.fixed], self.dtype)
        self._X.resize(gp.n, self._X.columns)
        self._X.data[settled:, :] = fresh * self._weight
        self._x_norm = xp.concat([self._x_norm[:settled], (fresh * fresh) @ self._weight])
        self._C.resize(self._C.rows, gp.n)
        self._close_gaps()
        if gp.n > settled:
            self._fill(slice(0, len(self.index)), slice(settled, gp.n))

    def add(self, start: int, stop: int) -> None:
        """Rows for the slices start..stop-1."""
        xp = namespace(self._weight)
        have, more = len(self.index), stop - start
        if self._Z.rows + more > self._Z.capacity:
            self._close_gaps()
        end = self._Z.rows
        self._Z.resize(end + more, self._Z.columns)
        self._C.resize(have + more, self._C.columns)

        def draw(span: tuple[int, int]) -> Array:
            z = self.slices.z(start + span[0], start + span[1])
            self._Z.data[end + span[0] : end + span[1], :] = like(self._weight, z, xp.float32)
            Z = like(self._weight, z)
            return (Z * Z) @ self._weight

        norms = each_block(draw, spans(more, max(1, BLOCK // max(1, self._Z.columns))))
        self._z_norm = xp.concat([self._z_norm, *norms])
        self.index = np.concatenate([self.index, np.arange(start, stop)])
        self._place = np.concatenate([self._place, np.arange(end, end + more)])
        self._fill(slice(have, have + more), slice(0, self._C.columns))

    def _fill(self, rows: slice, columns: slice) -> None:
        """|z - x|² = z² + x² - 2·z·x, in blocks of rows, which must be together in Z."""
        xp = namespace(self._weight)
        X = self._X.data[columns, :]
        x_norm = self._x_norm[columns][None, :]

        def job(span: tuple[int, int]) -> None:
            at = slice(rows.start + span[0], rows.start + span[1])
            Z = xp.astype(
                self._Z.data[first + span[0] : first + span[1], :], self.dtype, copy=False
            )
            sq = self._z_norm[at][:, None] + x_norm - 2.0 * thin_product(Z, X.T)
            self._C.data[at, columns] = xp.clip(sq, 0.0, None)

        count = rows.stop - rows.start
        first = int(self._place[rows.start]) if count else 0
        size = BLOCK // (self._Z.columns + X.shape[0] + 1)
        # In double precision Z is copied, and the copies should stay in the cache.
        large = self.slices.D >= LONG and self.dtype == self._Z.data.dtype
        each_block(job, shares(count, ROWS) if large else spans(count, max(1, size)))

    def reserve(self, slices: int, columns: int) -> int:
        """Make room for this many slices and observations; for how many slices there is."""
        self._Z.reserve(slices, self._Z.columns)
        self._C.reserve(self._Z.capacity, columns)
        return self._Z.capacity

    def clear(self) -> None:
        """Forget all slices; their memory stays."""
        self.keep(np.arange(0))

    def keep(self, rows: NDArray[np.intp]) -> None:
        """Keep these rows only, which ascend."""
        xp = namespace(self._weight)
        at = like(self._weight, rows, xp.int64)
        self._C.keep(at)
        self._z_norm = xp.take(self._z_norm, at)
        self.index, self._place = self.index[rows], self._place[rows]

    def _close_gaps(self) -> None:
        """Move the fixed parts together; not at once, as others may be dropped soon."""
        if len(self._place) < self._Z.rows:
            self._Z.keep(like(self._weight, self._place, namespace(self._weight).int64))
            self._place = np.arange(len(self._place))

    def sq(self, rows: slice, columns: slice = slice(None)) -> Array:
        """Squared length-scaled distances (rows, columns) in the fixed coordinates."""
        return self._C.data[rows, columns] * self.factor

    def sq_at(self, rows: NDArray[np.intp]) -> Array:
        """The same for single rows (k,), all columns."""
        xp = namespace(self._weight)
        return self._C.at(like(self._weight, rows, xp.int64)) * self.factor

    def z(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Fixed parts (k, D-d) of single rows (k,)."""
        xp = namespace(self._weight)
        at = like(self._weight, self._place[rows], xp.int64)
        host: NDArray[np.float32] = to_host(self._Z.at(at))
        return host

    def bytes_per_slice(self) -> int:
        return 4 * self._Z.columns + size_of(self.dtype) * self._C.columns
