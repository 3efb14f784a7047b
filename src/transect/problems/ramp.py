"""The ramp-loss task: a linear classifier with a loss that is not convex (Collobert et al. 2006).

f(w, b) = ½|w|² + C·Σ_l R_s(y_l·(w·v_l + b)) with R_s(m) = clip(1 - m, 0, 1 - s), over L examples
v_l with classes y_l = ±1. Outliers cost 1 - s at most, unlike in a support vector machine.
The bias b is not regularised. w = 0, b = 0 costs C·L.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from .._array import Host
from .._checks import is_real, numbers_array, positive_number, whole_number
from ..box import Box
from . import datasets
from .data import scikit_learn
from .datasets import TwoClasses
from .problem import Problem

Matrix: TypeAlias = Any  # (L, p), a NumPy array or a SciPy sparse array
SVM_BIAS = 10.0  # the larger, the less a support vector machine's bias is regularised
UPDATES = 100  # of the products, until they are computed afresh: rounding adds up
LARGE = 1e9  # products beyond this, or not finite, are no base for others: digits are lost
FEW = 4  # coordinates that changed are few if they are less than one in FEW: else all at once

SETS: Mapping[str, Callable[[int, str | Path | None], TwoClasses]] = {
    "gisette": lambda features, folder: datasets.gisette(folder),
    "gisette-like": lambda features, folder: datasets.gisette_like(folder),
    "digits-like": lambda features, folder: datasets.digits_like(features),
}


class RampLoss:
    """f of (w, b), for features that are slope·X + offset.

    So X can be sparse where the features, scaled to [-1, 1], are not. An evaluation is one
    product X·w. A point that differs in k coordinates from the last one costs O(L·k): the
    product changes by those columns alone.
    """

    def __init__(
        self,
        X: Matrix,
        y: Host,
        slope: float = 1.0,
        offset: float = 0.0,
        s: float = 0.0,
        C: float = 1.0,
    ) -> None:
        """X (L, p), dense or sparse; y (L,), +1 or -1."""
        # Feature by feature (p, L), for the sake of points that change a few of them.
        self.columns: Matrix
        if _is_sparse(X):
            self.columns = scipy.sparse.csr_array(X.T, dtype=np.float64)
        else:
            self.columns = np.ascontiguousarray(X.T, dtype=np.float64)
        self.y, self.slope, self.offset, self.s, self.C = y, slope, offset, s, C
        self._last: tuple[Host, Host, int] | None = None  # w, X·w, updates since it was afresh

    def __call__(self, u: Host) -> float:
        w, b = u[:-1], float(u[-1])
        return 0.5 * float(w @ w) + self.C * float(np.sum(self.ramp(self.margins(w, b))))

    def margins(self, w: Host, b: float) -> Host:
        """y_l·(w·v_l + b), (L,)."""
        scores: Host = self.slope * self._product(w) + (self.offset * float(np.sum(w)) + b)
        return self.y * scores

    def ramp(self, margins: Host) -> Host:
        """R_s (L,)."""
        losses: Host = np.clip(1.0 - margins, 0.0, 1.0 - self.s)
        return losses

    def _product(self, w: Host) -> Host:
        """X·w (L,), from the last one where few coordinates have changed."""
        product: Host
        last = self._last  # one look: another thread may put its own there meanwhile
        if last is not None and last[2] < UPDATES:
            before, product, updates = last
            changed = np.flatnonzero(w != before)  # (k,)
            if FEW * len(changed) < len(w):
                product = product + self.columns[changed].T @ (w - before)[changed]
                return self._remember(w, product, updates + 1)
        product = self.columns.T @ w
        return self._remember(w, product, 0)

    def _remember(self, w: Host, product: Host, updates: int) -> Host:
        usable = bool(np.max(np.abs(product)) < LARGE)  # no, if one is nan
        self._last = (w.copy(), product, updates) if usable else None
        return product

    def linear_svm(self, seed: int) -> float:
        """The value at the weights of a linear support vector machine, whatever the box.

        It minimises ½|w|² + C·Σ max(0, 1 - m)², with the bias regularised a little, too, as
        scikit-learn has it. No part of it is drawn at random.
        """
        features = self.slope * self.columns.T  # without the offset, which adds offset·Σw to b
        machine = scikit_learn("svm", "a linear SVM").LinearSVC(
            C=self.C, dual=False, intercept_scaling=SVM_BIAS
        )
        machine.fit(features, self.y)
        w = machine.coef_[0]
        b = float(machine.intercept_[0]) - self.offset * float(np.sum(w))
        return self(np.append(w, b))


def ramp(
    D: int = 5001,
    *,
    data: str | tuple[Any, Any] = "gisette-like",
    s: float = 0.0,
    C: float = 1.0,
    B: float = 1.0,
    folder: str | Path | None = None,
    noise: float = 0.0,
    noise_seed: int = 0,
) -> Problem:
    """The ramp loss of u = (w, b) in [-B, B]^D on the first D - 1 features of a training set.

    data: "gisette", "gisette-like" (a stand-in made from MNIST, which is not Gisette),
    "digits-like" (another, made from scikit-learn's digits for each D), or your own (X, y):
    features (L, p), a NumPy array or a SciPy sparse one, and classes ±1. The named ones are
    scaled to [-1, 1]; your own stay as they are. ``references["linear-svm"](seed)`` is the
    value that a support vector machine's weights have.
    """
    whole_number("D", D, 2)
    C, B = positive_number("C", C), positive_number("B", B)
    if not (is_real(s) and -math.inf < s < 1.0):
        raise ValueError(f"s must be a number below 1, got {s!r}")
    X, y, slope, offset = _named(data, D - 1, folder) if isinstance(data, str) else _own(data)
    if X.shape[1] < D - 1:
        raise ValueError(f"the data have {X.shape[1]} features, so D is at most {X.shape[1] + 1}")
    loss = RampLoss(X[:, : D - 1], y, slope, offset, float(s), C)
    box = Box.of(np.tile([-B, B], (D, 1)))
    references = {"linear-svm": loss.linear_svm}
    return Problem("ramp", box, loss, 0.0, None, noise, noise_seed, references=references)


def _named(
    name: str, features: int, folder: str | Path | None
) -> tuple[Matrix, Host, float, float]:
    """The training examples of a data set, and how its levels, from 0 on, become [-1, 1]."""
    if name not in SETS:
        raise ValueError(f"data must be one of {', '.join(SETS)}, or (X, y), got {name!r}")
    found = SETS[name](features, folder)
    return found.train.X, found.train.y.astype(np.float64), 2.0 / found.levels, -1.0


def _own(data: Any) -> tuple[Matrix, Host, float, float]:
    """A user's examples, checked."""
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise ValueError(f"data must be one of {', '.join(SETS)}, or (X, y)")
    X, y = data
    X = scipy.sparse.csr_array(X) if _is_sparse(X) else numbers_array(X)
    entries: Any = X.data if _is_sparse(X) else X
    if entries.dtype.kind not in "biuf" or not np.isfinite(entries).all():
        raise ValueError("the features in data must be finite numbers")
    y = numbers_array(y)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(
            f"data must be features (L, p) and classes (L,), got shapes {X.shape} and {y.shape}"
        )
    if not y.size or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("the classes in data must be +1 or -1")
    return X, y, 1.0, 0.0


def _is_sparse(X: Matrix) -> bool:
    return bool(scipy.sparse.issparse(X))
