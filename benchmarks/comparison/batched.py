"""Likelihoods of many data sets at once, by products of batches of matrices: work for a GPU.

What ``closed_form.Likelihood`` computes of one data set, with the same numbers up to rounding.
Data sets of different sizes share a batch: missing points have the covariance of the identity and
missing coordinates are zero, so neither has a part in any sum.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch

from transect.kernels import Kernel

BLOCK = 64  # rows of the triangles that are factored and inverted one by one
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


def likelihoods(kernel: Kernel, at: Batch, fused: bool = False) -> Values:
    """As in ``Likelihood``, of which the equations are; n is a multiple of ``BLOCK``.

    ``fused``: what is done to single entries of the matrices is compiled to few passes over them.
    """
    stage = _compiled if fused else _as_it_is
    U, squares = stage(scaled)(at.X, at.lengthscale)
    products = U @ U.mT  # (b, n, n)
    K = stage(covariances)(kernel, products, squares, at.there, at.amplitude, at.noise)
    L_inv, log_det = inverse_factor(K)
    residual = (at.y - at.mean[:, None]) * at.there
    z = (L_inv @ residual[:, :, None])[:, :, 0]
    w = (L_inv.mT @ z[:, :, None])[:, :, 0]
    points = torch.sum(at.there, dim=1)
    value = -0.5 * (torch.sum(z * z, dim=1) + log_det + points * math.log(2.0 * math.pi))
    K_inv = L_inv.mT @ L_inv
    by_noise = 0.5 * torch.sum((w * w - K_inv.diagonal(dim1=1, dim2=2)) * at.there, dim=1)
    M, rows, amplitudes = stage(slopes)(kernel, products, squares, at.there, w, K_inv)
    by_lengthscale = stage(by_scale)(U, M @ U, rows, at.amplitude, at.lengthscale)
    by_amplitude = torch.sum(amplitudes, dim=1)
    return Values(value, by_lengthscale, by_amplitude, by_noise, torch.sum(w, dim=1))


def scaled(X: Tensor, lengthscale: Tensor) -> tuple[Tensor, Tensor]:
    """U (b, n, D) and the squares (b, n) of its rows."""
    U = X / lengthscale[:, None, :]
    return U, torch.sum(U * U, dim=2)


def covariances(
    kernel: Kernel, products: Tensor, squares: Tensor, there: Tensor, amplitude: Tensor,
    noise: Tensor,
) -> Tensor:  # fmt: skip
    """(b, n, n)."""
    k, _ = kernel.value_slope(_distances(products, squares))
    pairs = there[:, :, None] * there[:, None, :]
    own = noise[:, None] * there + (1.0 - there)
    index = torch.arange(there.shape[1], device=there.device)
    K: Tensor = amplitude[:, None, None] * k * pairs
    return K + torch.where(index[:, None] == index, own[:, None, :], 0.0)


def slopes(
    kernel: Kernel, products: Tensor, squares: Tensor, there: Tensor, w: Tensor, K_inv: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """∂/∂sq over the amplitude (b, n, n), and sums of rows (b, n): its own, ∂/∂amplitude's."""
    k, slope = kernel.value_slope(_distances(products, squares))
    M = w[:, :, None] * w[:, None, :] - K_inv
    M = M * there[:, :, None] * there[:, None, :]
    by_sq = M * slope
    return by_sq, torch.sum(by_sq, dim=2), 0.5 * torch.sum(M * k, dim=2)


def by_scale(
    U: Tensor, moved: Tensor, rows: Tensor, amplitude: Tensor, lengthscale: Tensor
) -> Tensor:
    """∂/∂lengthscale (b, D), of ``moved`` = ∂/∂sq U."""
    total = torch.sum(U * (rows[:, :, None] * U - moved), dim=1)
    return -2.0 * amplitude[:, None] * total / lengthscale


def inverse_factor(K: Tensor) -> tuple[Tensor, Tensor]:
    """L⁻¹ (b, n, n) and log det K (b,) of K = LLᵀ; nan where there is none.

    From one block of rows to the next, and so nearly all by large products: with what is known of
    L⁻¹, Lᵢ = Kᵢ L⁻ᵀ to the left of the diagonal, where the new rows of L⁻¹ are -Lᵢᵢ⁻¹ Lᵢ L⁻¹.
    """
    L_inv, diagonals = torch.zeros_like(K), []
    for k in range(0, K.shape[1], BLOCK):
        here, left = slice(k, k + BLOCK), L_inv[:, :k, :k]
        L = K[:, here, :k] @ left.mT
        inverse, diagonal = corner(torch.baddbmm(K[:, here, here], L, L.mT, alpha=-1.0))
        L_inv[:, here, here] = inverse
        L_inv[:, here, :k] = -inverse @ (L @ left)
        diagonals.append(diagonal)
    return L_inv, 2.0 * torch.sum(torch.log(torch.cat(diagonals, dim=1)), dim=1)


def corner(K: Tensor) -> tuple[Tensor, Tensor]:
    """L⁻¹ (b, BLOCK, BLOCK) and the diagonal of L (b, BLOCK), nan where there is none."""
    if K.is_cuda:
        inverse, diagonal = torch.empty_like(K), torch.empty_like(K[:, 0])
        _corner_on_gpu()((len(K), 1, 1), (BLOCK, 1, 1), (K, inverse, diagonal))
        return inverse, diagonal
    L, failed = torch.linalg.cholesky_ex(K)
    inverse = torch.linalg.solve_triangular(L, torch.eye(BLOCK, dtype=K.dtype), upper=False)
    diagonal = L.diagonal(dim1=1, dim2=2)
    return inverse, torch.where(failed[:, None] > 0, math.nan, diagonal)


@cache
def _corner_on_gpu() -> Any:
    source = Path(__file__).with_name("corner.cu").read_text()
    return torch.cuda._compile_kernel(source, "factor_corner")


def _distances(products: Tensor, squares: Tensor) -> Tensor:
    """Squared ones (b, n, n)."""
    return (squares[:, :, None] + squares[:, None, :] - 2.0 * products).clamp(min=0.0)


def _as_it_is(function: Any) -> Any:
    return function


def prepare(kernel: Kernel, device: str) -> None:
    """Have it compiled for all sizes, by sizes that are all different: equal ones are one to it."""
    X = torch.rand((5, 3 * BLOCK, 70), dtype=torch.double, device=device)
    ones = torch.ones_like(X[:, 0, 0])
    batch = Batch(X, X[:, :, 0], torch.ones_like(X[:, :, 0]), X[:, 0] + 1.0, ones, ones, ones)
    likelihoods(kernel, batch, fused=True)


@cache
def _compiled(function: Any) -> Any:
    """How ``namespace`` finds torch is nothing that can be compiled."""
    fast = torch.compile(function, dynamic=True, fullgraph=True)

    def call(*given: Any) -> Any:
        with patch("transect.kernels.namespace", _always_torch):
            return fast(*given)

    return call


def _always_torch(_: Any) -> Any:
    return torch
