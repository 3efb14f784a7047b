"""What several test modules share: data, processes and finite differences."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from transect._array import Host
from transect.fit import PRIORS
from transect.gp import GaussianProcess, Hyperparameters
from transect.kernels import KERNELS, squared_distance
from transect.likelihood import LogPosterior


def bowl(x: Host) -> float:
    """An objective to minimise: least, 0, where all coordinates are 0.3."""
    return float(np.sum((x - 0.3) ** 2))


def lengthscales(D: int, ard: bool) -> Host:
    """One length-scale (), or different ones (D,)."""
    if not ard:
        return np.array(0.4 * math.sqrt(D))
    return np.linspace(0.3, 0.9, D) * math.sqrt(D)


def make_hyper(
    kernel: str = "matern52", D: int = 3, ard: bool = False, noise: float = 1e-2
) -> Hyperparameters:
    return Hyperparameters(KERNELS[kernel], lengthscales(D, ard), 1.7, noise, mean=0.4)


def covariance(hyper: Hyperparameters, A: Host, B: Host) -> Host:
    """Prior covariance (p, q) of the values at A (p, D) and B (q, D)."""
    sq = squared_distance(A / hyper.lengthscale, B / hyper.lengthscale)
    return np.asarray(hyper.amplitude * hyper.kernel.value(sq))


def make_data(n: int, D: int, seed: int = 0) -> tuple[Host, Host]:
    """Points (n, D) in [-1, 1] and values (n,) of a smooth function of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, D))
    return X, np.sin(2.0 * X[:, 0]) + X.mean(axis=1) ** 2 + 0.1 * rng.normal(size=n)


def make_gp(
    kernel: str = "matern52", n: int = 15, D: int = 3, ard: bool = False, noise: float = 1e-2
) -> GaussianProcess:
    return GaussianProcess.from_data(make_hyper(kernel, D, ard, noise), *make_data(n, D))


def numeric_gradient(f: Callable[[Host], Host], x: Host, step: float = 1e-3) -> Host:
    """∂f/∂x (p, D) by the five-point rule, for f: (p, D) -> (p,).

    Its error is of order step⁴ and rounding/step: about 1e-12 for functions of size one.
    """
    grad = np.empty_like(x)
    for i in range(x.shape[1]):
        e = np.zeros(x.shape[1])
        e[i] = step
        grad[:, i] = 8.0 * (f(x + e) - f(x - e)) - (f(x + 2.0 * e) - f(x - 2.0 * e))
    return grad / (12.0 * step)


def log_posterior(
    kernel: str, X: Host, u: Host, ard: bool, prior: str, learn_mean: bool = True
) -> LogPosterior:
    priors = replace(PRIORS[prior](X.shape[1]), learn_mean=learn_mean)
    return LogPosterior(KERNELS[kernel], X, u, None if ard else squared_distance(X, X), priors)


def has_ended(pid: str | int, within: float = 20.0) -> bool:
    """Whether a process is gone after so many seconds at most."""
    until = time.monotonic() + within
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not is_alive(pid)


def is_alive(pid: str | int) -> bool:
    """Whether there is such a process, and not only its end to be noticed."""
    try:
        return ") Z " not in Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
