"""The one gate to array libraries.

Everything below this module is written against the array API, so that the same
lines run on NumPy arrays and, with the ``torch`` extra, on tensors on a GPU. The
few operations the standard lacks (a triangular inverse, ``erfcx``) are here, and so
is the only place where data moves between host and device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = Any  # NumPy array or any array-API object; shapes stand in comments
Host: TypeAlias = NDArray[np.float64]


def namespace(array: Array) -> Any:
    """The array-API namespace of ``array``; NumPy itself for NumPy arrays."""
    if type(array) is np.ndarray or isinstance(array, np.ndarray | np.generic):  # mostly the first
        return np
    import array_api_compat  # only when somebody brings another library

    return array_api_compat.array_namespace(array)


def to_device(array: NDArray[Any], device: Any | None) -> Array:
    """Copy a host array to ``device`` (a torch device or its name); None keeps NumPy."""
    if device is None:
        return array
    try:
        import torch
    except ImportError:
        raise ImportError(
            f"device {device!r} needs torch, which the extra 'torch' of transect brings"
        ) from None

    return torch.as_tensor(array, device=device)


def to_host(array: Array) -> Any:
    """Copy to a NumPy array of the same dtype: the one declared device-to-host copy."""
    if isinstance(array, np.ndarray | np.generic):
        return np.asarray(array)
    if hasattr(array, "cpu"):
        return array.detach().cpu().numpy()
    return np.from_dlpack(array)


def like(array: Array, values: Any, dtype: Any = None) -> Array:
    """``values`` as an array of ``array``'s library, device and (by default) dtype."""
    xp = namespace(array)
    if xp is np:
        return np.asarray(values, dtype=array.dtype if dtype is None else dtype)
    return xp.asarray(values, dtype=array.dtype if dtype is None else dtype, device=array.device)


def zeros(template: Array, shape: tuple[int, ...], dtype: Any = None) -> Array:
    """Zeros of ``template``'s library, device and (by default) dtype."""
    xp = namespace(template)
    on = {} if xp is np else {"device": template.device}
    return xp.zeros(shape, dtype=template.dtype if dtype is None else dtype, **on)


def at_least(array: Array, floor: float) -> Array:
    """``array``, and ``floor`` where it is less; NumPy's own ``clip`` takes three times as long."""
    xp = namespace(array)
    return np.maximum(array, floor) if xp is np else xp.clip(array, floor, None)


def replayed(step: Callable[[], None], array: Array) -> Callable[[], None]:
    """``step`` itself, or, where ``array`` is on a GPU, a replay of the launches it makes.

    It is run a few times first, and must not change where its arrays are. Many small
    launches cost more than the work in them; a replay starts all of them at a stroke.
    """
    if not getattr(array, "is_cuda", False):
        return step
    import torch

    with torch.cuda.device(array.device):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries set themselves up, which cannot be recorded
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
    replay: Callable[[], None] = graph.replay
    return replay


def cholesky(K: Array) -> Array | None:
    """Lower Cholesky factor (n, n), or None when ``K`` is not positive definite."""
    xp = namespace(K)
    try:
        L = _numpy_cholesky(K) if xp is np else xp.linalg.cholesky(K)
    except (np.linalg.LinAlgError, RuntimeError):  # torch raises a RuntimeError
        return None
    return L if bool(xp.all(xp.isfinite(xp.linalg.diagonal(L)))) else None


def _numpy_cholesky(K: Host) -> Host:
    from scipy.linalg.lapack import dpotrf

    # K.T is K in Fortran's order; its upper factor, transposed back, is the lower one.
    U, failed = dpotrf(K.T, lower=0, clean=1)
    if failed:
        raise np.linalg.LinAlgError
    L: Host = U.T
    return L


def inverse_lower(L: Array) -> Array:
    """Inverse of a lower triangular matrix (n, n), itself lower triangular.

    An explicit inverse turns every later triangular solve into a matrix product,
    which is what BLAS and GPUs do best; it is as accurate as the solves here.
    """
    xp = namespace(L)
    if xp is np:
        from scipy.linalg.lapack import dtrtri

        # L.T is Fortran-ordered and upper triangular: LAPACK reads it without a copy.
        inverse, _ = dtrtri(L.T, lower=0)
        return inverse.T
    eye = xp.eye(L.shape[0], dtype=L.dtype, device=L.device)
    if hasattr(L, "cpu"):
        import torch

        return torch.linalg.solve_triangular(L, eye, upper=False)
    return xp.linalg.solve(L, eye)


def _special(name: str, x: Array) -> Array:
    import scipy.special

    if hasattr(x, "cpu"):
        import torch

        return getattr(torch.special, name)(x)
    if isinstance(x, np.ndarray | np.generic):
        return getattr(scipy.special, name)(x)
    return like(x, getattr(scipy.special, name)(to_host(x)))


def erfcx(x: Array) -> Array:
    """Scaled complementary error function, exp(x²)·erfc(x)."""
    return _special("erfcx", x)


def ndtr(x: Array) -> Array:
    """Standard normal distribution function."""
    return _special("ndtr", x)
