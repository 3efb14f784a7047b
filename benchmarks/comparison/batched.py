"""Likelihoods of many data sets at once, by products of batches of matrices: work for a GPU.

What ``closed_form.Likelihood`` computes of one data set, with the same numbers up to rounding.
Data sets of different sizes share a batch: missing points have the covariance of the identity and
missing coordinates are zero, so neither has a part in any sum.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from transect.kernels import Kernel

BLOCK = 64  # rows of the triangles that are inverted by substitution
Tensor = Any


class Batch(NamedTuple):
    """b data sets with n points in D coordinates or fewer, and where to evaluate."""

    X: Tensor  # (b, n, D), each centred
    y: Tensor  # (b, n)
    there: Tensor  # (b, n), 1 for a point, 0 for none
    lengthscale: Tensor  # (b, D), anything but 0 for a missing coordinate
    amplitude: Tensor  # (b,)
    noise: Tensor  # (b,)
    mean: Tensor  # (b,)


class Values(NamedTuple):
    """Log p(y | X) and its derivatives; nan where a covariance cannot be factored."""

    value: Tensor  # (b,)
    by_lengthscale: Tensor  # (b, D)
    by_amplitude: Tensor  # (b,)
    by_noise: Tensor  # (b,)
    by_mean: Tensor  # (b,)


def likelihoods(kernel: Kernel, at: Batch) -> Values:
    """As in ``Likelihood``, of which the equations are; n is a multiple of ``BLOCK``."""
    U = at.X / at.lengthscale[:, None, :]
    squares = torch.sum(U * U, dim=2)
    sq = torch.baddbmm(squares[:, :, None] + squares[:, None, :], U, U.mT, alpha=-2.0)
    k, slope = kernel.value_slope(sq.clamp_(min=0.0))
    pairs = at.there[:, :, None] * at.there[:, None, :]
    K = at.amplitude[:, None, None] * k * pairs
    K.diagonal(dim1=1, dim2=2).add_(at.noise[:, None] * at.there + (1.0 - at.there))
    L_inv, log_det = inverse_factor(K)
    residual = (at.y - at.mean[:, None]) * at.there
    z = (L_inv @ residual[:, :, None])[:, :, 0]
    w = (L_inv.mT @ z[:, :, None])[:, :, 0]
    points = torch.sum(at.there, dim=1)
    value = -0.5 * (torch.sum(z * z, dim=1) + log_det + points * math.log(2.0 * math.pi))
    M = torch.baddbmm(w[:, :, None] * w[:, None, :], L_inv.mT, L_inv, alpha=-1.0)
    M *= pairs
    by_noise = 0.5 * torch.sum(M.diagonal(dim1=1, dim2=2), dim=1)
    by_amplitude = 0.5 * torch.sum(M * k, dim=(1, 2))
    M *= slope
    moved = torch.baddbmm(torch.sum(M, dim=2)[:, :, None] * U, M, U, alpha=-1.0)  # (b, n, D)
    by_lengthscale = torch.sum(U * moved, dim=1)
    by_lengthscale *= -2.0 * at.amplitude[:, None] / at.lengthscale
    return Values(value, by_lengthscale, by_amplitude, by_noise, torch.sum(w, dim=1))


def inverse_factor(K: Tensor) -> tuple[Tensor, Tensor]:
    """L⁻¹ (b, n, n) and log det K (b,) of K = LLᵀ; nan where there is none."""
    L, failed = torch.linalg.cholesky_ex(K)
    log_det = 2.0 * torch.sum(torch.log(L.diagonal(dim1=1, dim2=2)), dim=1)
    return inverse_of_triangle(L), torch.where(failed > 0, math.nan, log_det)


def inverse_of_triangle(L: Tensor) -> Tensor:
    """L⁻¹ (b, n, n), from the inverses of blocks on the diagonal, ever larger ones.

    Two neighbours A and B and the block C below A make a triangle whose inverse has A⁻¹ and B⁻¹
    on the diagonal and -B⁻¹CA⁻¹ below: few large products instead of n steps of substitution.
    """
    b, n = L.shape[:2]
    size = BLOCK * 2 ** math.ceil(math.log2(n / BLOCK))
    filled = torch.eye(size, dtype=L.dtype, device=L.device).repeat(b, 1, 1)
    filled[:, :n, :n] = L
    eye = torch.eye(BLOCK, dtype=L.dtype, device=L.device)
    inverse = torch.linalg.solve_triangular(_on_diagonal(filled, BLOCK), eye, upper=False)
    while (s := inverse.shape[2]) < size:
        A, B = inverse[:, 0::2], inverse[:, 1::2]
        C = _on_diagonal(filled, 2 * s)[:, :, s:, :s]
        inverse = torch.zeros_like(C).repeat(1, 1, 2, 2)
        inverse[:, :, :s, :s], inverse[:, :, s:, s:] = A, B
        inverse[:, :, s:, :s] = -B @ (C @ A)
    return inverse[:, 0, :n, :n]


def _on_diagonal(M: Tensor, s: int) -> Tensor:
    """(b, n, n) -> (b, n/s, s, s): the blocks on the diagonal."""
    b, n = M.shape[:2]
    blocks = M.view(b, n // s, s, n // s, s).diagonal(dim1=1, dim2=3)
    return blocks.movedim(-1, 1).contiguous()
