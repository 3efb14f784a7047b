"""Products of a few points with large matrices, which a climb consists of.

OpenBLAS copies a matrix before it multiplies rows by it, be they only two; that takes four times
as long as to read it. There are two ways around: its kernels for AVX-512 do not copy while a
product is small, and no kernel does for a single row.
"""

from __future__ import annotations

import numpy as np

from ._array import Array, Host, namespace
from ._threads import copies_matrices

STRIPED, STRIP = 512, 96  # rows from which on a triangle is multiplied in strips of so many
FEW = 3  # rows that are multiplied one by one where a matrix would be copied
LARGE = 30_000  # entries of a matrix from which on that is worth it


def times(A: Array, B: Array) -> Array:
    """A·B (p, m) of A (p, k) and B (k, m)."""
    return _times(A, B) if namespace(B) is np and B.size >= LARGE else A @ B


def times_lower(A: Array, L: Array) -> Array:
    """A·L (p, n) of a lower triangular L (n, n), of which half is zeros."""
    n = L.shape[0]
    if n < STRIPED or namespace(L) is not np:
        return times(A, L)
    return np.concatenate([_times(A[:, i:], L[i:, i:j]) for i, j in _strips(n)], axis=1)


def times_lower_transposed(A: Array, L: Array) -> Array:
    """A·Lᵀ (p, n) of a lower triangular L (n, n)."""
    n = L.shape[0]
    if n < STRIPED or namespace(L) is not np:
        return times(A, L.T)
    return np.concatenate([_times(A[:, :j], L[i:j, :j].T) for i, j in _strips(n)], axis=1)


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
