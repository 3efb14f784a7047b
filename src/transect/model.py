"""A model of the observations so far: how it grows, and how it is made again from a few numbers.

What a model is follows from the data, the hyper-parameters, how many observations it was built
on and how it grew since then; the last matters for the last bits only, but a run that is taken
up again shall go on as if it had not been interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._array import Host, to_device, to_host
from ._threads import each_block, spans
from .gp import BLOCK, GaussianProcess, Hyperparameters
from .kernels import KERNELS, squared_distance

Memory: TypeAlias = Mapping[str, Any]  # numbers, texts, arrays, and lists and mappings of these


class Copies:
    """Points (used, D) copied one after the other, with room for more."""

    def __init__(self, points: Host, room: int) -> None:
        self.used = len(points)
        self.data = np.empty((room, points.shape[1]))
        self.data[: self.used] = points

    def append(self, points: Host) -> None:
        self.data[self.used : self.used + len(points)] = points
        self.used += len(points)


@dataclass(frozen=True, eq=False)
class Rows:
    """Which rows of a history, in which order; copied, each once, where it is not the history's."""

    index: NDArray[np.intp]  # (n,)
    copies: Copies | None = None  # of these and perhaps, after them, of others'

    def points(self, X: Host) -> Host:
        """Those rows (n, D) of X."""
        return (X if self.copies is None else self.copies.data)[: len(self.index)]

    def and_more(self, more: NDArray[np.intp], X: Host) -> Rows:
        """These and, at their end, further rows of X (N, D)."""
        index = np.append(self.index, more)
        if self.copies is None and np.array_equal(index, np.arange(len(index))):
            return Rows(index)
        copies = self.copies
        free = copies is not None and copies.used == len(self.index)
        if copies is None or not free or len(copies.data) < len(index):
            copies = Copies(self.points(X), 2 * len(X))  # memory is taken as it is written to
        copies.append(X[more])
        return Rows(index, copies)


@dataclass(frozen=True, eq=False)
class Model:
    """A Gaussian process of standardised values, and the way back to the values."""

    gp: GaussianProcess
    shift: float  # value = shift + scale·standardised
    scale: float
    fitted_on: int  # observations that the hyper-parameters are of, or of a part of
    base: Host  # (n, n) squared distances of all points; with ARD (0, 0)
    rows: Rows | None = None  # of the history; None: all of it
    sizes: tuple[int, ...] = ()  # observations it was built on, and those after each growth


def grown(
    gp: GaussianProcess | None,
    hyper: Hyperparameters,
    X: Host,
    u: Host,
    base: Host,
    device: Any | None,
) -> GaussianProcess:
    """The process of X (n, D) and u (n,); ``gp``, if there is one, is of the first few of them."""
    X_on, u_on = to_device(X, device), to_device(u, device)
    start = 0 if gp is None else gp.n
    sq = None
    if len(base):
        sq = to_device(base[start:] / float(hyper.lengthscale) ** 2, device)
    if gp is None:
        return GaussianProcess.from_data(on_device(hyper, device), X_on, u_on, sq)
    return gp.extend(X_on, u_on, sq) if len(u) > start else gp.with_values(u_on)


def extend_distances(previous: Model | None, X: Host) -> Host:
    """Squared distances (n, n) of all rows of X; only the rows new since ``previous``."""
    old = 0 if previous is None else len(previous.base)
    base = np.empty((len(X), len(X)))
    if previous is not None:
        base[:old, :old] = previous.base
    rows = spans(len(X), max(1, BLOCK // X.shape[1]))
    parts = each_block(lambda at: squared_distance(X[old:], X[slice(*at)]), rows)
    fresh = np.concatenate(parts, axis=1)  # (k, n)
    base[old:, :] = fresh
    base[:, old:] = fresh.T
    return base


def on_device(hyper: Hyperparameters, device: Any | None) -> Hyperparameters:
    if device is None:
        return hyper
    lengthscale = to_device(np.asarray(to_host(hyper.lengthscale)), device)
    return replace(hyper, lengthscale=lengthscale)


def remember(model: Model | None) -> Memory | None:
    """What a model is made of, besides the observations."""
    if model is None:
        return None
    hyper, rows = model.gp.hyper, model.rows
    return {
        "kernel": hyper.kernel.name,
        "lengthscale": np.asarray(to_host(hyper.lengthscale)),
        "amplitude": hyper.amplitude,
        "noise": hyper.noise,
        "mean": hyper.mean,
        "shift": model.shift,
        "scale": model.scale,
        "fitted_on": model.fitted_on,
        "sizes": list(model.sizes),
        "rows": None if rows is None else rows.index,
        "distances": len(model.base) > 0,
    }


def recall(memory: Memory | None, X: Host, device: Any | None) -> Model | None:
    """The model again, of points X (n, D) that it is of, or that begin with those.

    Its values are noughts: a model gets all of them anew when it advances.
    """
    if memory is None:
        return None
    hyper = Hyperparameters(
        KERNELS[memory["kernel"]],
        memory["lengthscale"],
        *(memory[name] for name in ("amplitude", "noise", "mean")),
    )
    rows, points = None, X
    if memory["rows"] is not None:
        rows = Rows(np.arange(0)).and_more(memory["rows"], X)
        points = rows.points(X)
    scales = memory["shift"], memory["scale"], memory["fitted_on"]
    model: Model | None = None
    for i, n in enumerate(memory["sizes"]):
        base = extend_distances(model, points[:n]) if memory["distances"] else np.empty((0, 0))
        gp = None if model is None else model.gp
        gp = grown(gp, hyper, points[:n], np.zeros(n), base, device)
        model = Model(gp, *scales, base, rows, tuple(memory["sizes"][: i + 1]))
    return model
