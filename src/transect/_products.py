"""Products of points with large matrices, which looks and climbs consist of.

OpenBLAS copies a matrix before it multiplies rows by it, be they only two; that takes four times
as long as to read it. There are two ways around: its kernels for AVX-512 do not copy while a
product is small, and no kernel does for a single row. And half of a triangle is zeros, which BLAS
has functions not to multiply by.
"""

from __future__ import annotations

import numpy as np

from ._array import Array, Host, namespace
from ._threads import copies_matrices

FEW = 3  # rows that are multiplied one by one where a matrix would be copied
LARGE = 30_000  # entries of a matrix from which on that is worth it
FEW_BY_TRIANGLE, LARGE_TRIANGLE = 4, 200  # likewise, of a triangle with so many rows
MANY = 16  # rows that are multiplied by a triangle in one call that knows what it is
STRIPED, STRIP = 512, 96  # rows from which on a triangle is multiplied in strips of so many


def times(A: Array, B: Array) -> Array:
    """A·B (p, m) of A (p, k) and B (k, m)."""
    return _times(A, B) if namespace(B) is np and B.size >= LARGE else A @ B


def times_lower(A: Array, L: Array) -> Array:
    """A·L (p, n) of a lower triangular L (n, n), of which half is zeros."""
    n = L.shape[0]
    if namespace(L) is not np:
        return A @ L
    if _is_for_blas(len(A), n):
        return _by_blas(A, L, transposed=False)
    if n < STRIPED:
        return times(A, L)
    return np.concatenate([_times(A[:, i:], L[i:, i:j]) for i, j in _strips(n)], axis=1)


def times_lower_transposed(A: Array, L: Array) -> Array:
    """A·Lᵀ (p, n) of a lower triangular L (n, n)."""
    n = L.shape[0]
    if namespace(L) is not np:
        return A @ L.T
    if _is_for_blas(len(A), n):
        return _by_blas(A, L, transposed=True)
    if n < STRIPED:
        return times(A, L.T)
    return np.concatenate([_times(A[:, :j], L[i:j, :j].T) for i, j in _strips(n)], axis=1)


def _is_for_blas(p: int, n: int) -> bool:
    """Whether BLAS multiplies p rows by a triangle faster than by a matrix."""
    if p >= MANY:
        return True
    return n >= LARGE_TRIANGLE and (p == 1 or (p <= FEW_BY_TRIANGLE and copies_matrices()))


def _by_blas(A: Host, L: Host, transposed: bool) -> Host:
    """A·L or A·Lᵀ. The transposes are in Fortran's order, and so are read without a copy."""
    from scipy.linalg.blas import dtrmm, dtrmv

    if len(A) >= MANY:
        product: Host = dtrmm(1.0, L.T, A.T, trans_a=transposed).T
        return product
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
