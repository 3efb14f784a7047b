"""Products of points with large matrices, which looks and climbs consist of.

OpenBLAS copies a matrix before it multiplies rows by it, be they only two; that takes four times
as long as to read it. There are two ways around: its kernels for AVX-512 do not copy while a
product is small, and no kernel does for a single row. And half of a triangle is zeros, which a
function for triangles, or strips, need not be multiplied by.
"""

from __future__ import annotations

import numpy as np

from ._array import Array, Host, namespace
from ._threads import copies_matrices

FEW = 3  # rows that are multiplied one by one where a matrix would be copied
LARGE = 30_000  # entries of a matrix from which on that is worth it
FEW_BY_TRIANGLE, LARGE_TRIANGLE = 4, 200  # likewise, of a triangle with so many rows
STRIPED, STRIP = 512, 96  # rows from which on a triangle is multiplied in strips of so many
MANY, STRIPED_BY_MANY = 16, 200  # the same where so many rows are multiplied by it


def times(A: Array, B: Array) -> Array:
    """A·B (p, m) of A (p, k) and B (k, m)."""
    return _times(A, B) if namespace(B) is np and B.size >= LARGE else A @ B


def times_lower(A: Array, L: Array) -> Array:
    """A·L (p, n) of a lower triangular L (n, n), of which half is zeros."""
    if namespace(L) is not np:
        return A @ L
    if _is_by_rows(A, L):
        return _by_rows(A, L, transposed=False)
    if not _is_in_strips(A, L):
        return times(A, L)
    product = np.empty(A.shape)
    for i, j in _strips(len(L)):
        product[:, i:j] = _times(A[:, i:], L[i:, i:j])
    return product


def times_lower_transposed(A: Array, L: Array) -> Array:
    """A·Lᵀ (p, n) of a lower triangular L (n, n)."""
    if namespace(L) is not np:
        return A @ L.T
    if _is_by_rows(A, L):
        return _by_rows(A, L, transposed=True)
    if not _is_in_strips(A, L):
        return times(A, L.T)
    product = np.empty(A.shape)
    for i, j in _strips(len(L)):
        product[:, i:j] = _times(A[:, :j], L[i:j, :j].T)
    return product


def _is_by_rows(A: Host, L: Host) -> bool:
    if len(L) < LARGE_TRIANGLE:
        return False
    return len(A) == 1 or (len(A) <= FEW_BY_TRIANGLE and copies_matrices())


def _is_in_strips(A: Host, L: Host) -> bool:
    return len(L) >= (STRIPED_BY_MANY if len(A) >= MANY else STRIPED)


def _by_rows(A: Host, L: Host, transposed: bool) -> Host:
    """A·L or A·Lᵀ, by a function for triangles. L.T is in Fortran's order: nothing is copied.

    There is one for many rows, too, but SciPy's keeps other threads waiting.
    """
    from scipy.linalg.blas import dtrmv

    product = np.empty(A.shape)
    for row, its in zip(A, product, strict=True):
        its[:] = dtrmv(L.T, row, trans=transposed)
    return product


def _times(A: Host, B: Host) -> Host:
    if not 1 < len(A) <= FEW or not copies_matrices():
        all_at_once: Host = A @ B
        return all_at_once
    product = np.empty((len(A), B.shape[1]), dtype=B.dtype)
    for row, its in zip(A, product, strict=True):
        np.matmul(row, B, out=its)
    return product


def _strips(n: int) -> list[tuple[int, int]]:
    return [(i, min(i + STRIP, n)) for i in range(0, n, STRIP)]
