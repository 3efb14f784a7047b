"""A model within a time limit: as many observations, as good a fit as there is time for.

From one suggestion to the next a model grows by a row or two, which is cheap. What takes
long in many dimensions is a model of hundreds of points told at once, and a refit. The first
is spread over several suggestions, the most telling points first; the second uses the
observations that there is time for, and waits where these are not more than last time.

Work is counted in multiplications: memory traffic and kernel values are converted to them.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Host
from ._clock import late, left
from ._threads import quiet_blas
from .fit import Refit, Surrogate, load
from .model import Model, Rows

SHARE = 0.5  # of the time left, what the model may take; the search has the rest
FIRST = 48  # observations that a model begins with, however short the time
FEW = 8  # and that it gains, if there are so many new ones
CLIMB = 8  # likelihood evaluations, at least, that make a fit worth its while
USUAL_FIT = 30  # and that a fit takes in most cases
WHOLE_FIT = 100  # and that it hardly ever exceeds
TELLING = 3e7  # multiplications from which on a job tells how fast the machine is
CAUTION = 1.25  # what predictions are multiplied with
ENTRY = 600  # multiplications that all else done with an entry of a matrix costs as much as


class Pace:
    """How fast work goes on this machine, learnt from how long it took last."""

    def __init__(self) -> None:
        A = np.random.default_rng(0).normal(size=(256, 1024))
        A @ A.T  # the first one is slower
        started = time.perf_counter()
        A @ A.T
        took = max(time.perf_counter() - started, 1e-7)  # a clock may stand still
        self._seconds = took / (A.size * len(A))  # of a unit

    def seconds(self, units: float) -> float:
        """How long so many units will take, rather too long than too short."""
        return CAUTION * self._seconds * units

    def learn(self, units: float, seconds: float) -> None:
        """So many units took so long."""
        self._seconds += 0.5 * (seconds / units - self._seconds)


@cache
def machine() -> Pace:
    """The pace in this process."""
    with quiet_blas():
        return Pace()


def prepare() -> None:
    """Do what would take time from a first suggestion that has little."""
    load()
    machine()


def advance_within(
    surrogate: Surrogate,
    previous: Model | None,
    X: Host,
    y: Host,
    device: Any | None,
    deadline: float,
    *,
    other_inputs: bool = False,
) -> Model:
    """``Surrogate.advance`` of the observations there is time for: those in its ``rows``.

    ``previous`` is a model of some of them. With ``other_inputs`` nothing but its
    hyper-parameters can be used, and all else is computed anew.
    """
    until = time.perf_counter() + SHARE * left(deadline)
    n, D = X.shape
    if _is_ample(surrogate, previous, y, D, until, other_inputs):
        return surrogate.advance(previous, X, y, device, other_inputs=other_inputs)
    model = None if other_inputs else previous
    rows = _rows(model)
    missing = np.setdiff1d(np.arange(n), rows.index)

    def model_of(refit: Refit) -> Model:
        data = (model or previous, rows.points(X), y[rows.index], device)
        grown = surrogate.advance(*data, other_inputs=other_inputs and model is None, refit=refit)
        return replace(grown, rows=rows)

    news = len(missing) > 0
    while model is None or news or (len(missing) and not late(until)):
        news = False  # some of what is new always finds its way into the model
        begins = model is None and previous is None
        fit = USUAL_FIT if begins else 0
        count = _affordable(surrogate, len(rows.index), len(missing), D, until, fit)
        if count < len(missing):
            missing = _most_telling_first(missing, y)
        started, units = time.perf_counter(), _growing(len(rows.index), count, D)
        rows, missing = rows.and_more(missing[:count], X), missing[count:]
        # The hyper-parameters of a first model have to come from somewhere.
        model = model_of(Refit(count if begins else 0, until))
        if not begins and units > TELLING:
            machine().learn(units, time.perf_counter() - started)
    most, rebuilt = _fit_size(surrogate, model, y[rows.index], D, until)
    return model_of(Refit(most, until - rebuilt)) if most else model


def _rows(model: Model | None) -> Rows:
    """Those that are in the model, in its order."""
    if model is not None and model.rows is not None:
        return model.rows
    return Rows(np.arange(0 if model is None else model.gp.n))


def _is_ample(
    surrogate: Surrogate, previous: Model | None, y: Host, D: int, until: float, anew: bool
) -> bool:
    """Whether there is time for everything; then nothing depends on the clock."""
    n = len(y)
    known = 0 if previous is None or anew else previous.gp.n
    if not anew and _rows(previous).copies is not None:
        return False
    units = _growing(known, n - known, D)
    if previous is None or surrogate.refit_is_due(previous, y[np.isfinite(y)]):
        units += WHOLE_FIT * _likelihood(surrogate, n, D)
    return machine().seconds(units) < until - time.perf_counter()


def _most_telling_first(rows: NDArray[np.intp], y: Host) -> NDArray[np.intp]:
    """The best and the latest of the rows in turn; failures as late as they came."""
    best = rows[np.argsort(-np.nan_to_num(y[rows], nan=-np.inf), kind="stable")]
    both = np.stack([best, rows[::-1]], axis=1).ravel()
    _, first = np.unique(both, return_index=True)
    order: NDArray[np.intp] = both[np.sort(first)]
    return order


def _growing(n: int, more: int, D: int) -> float:
    """Units of a model of n observations that gets more."""
    N = n + more
    if n == 0:
        return float(N) * N * (N + ENTRY + D)
    return float(N) * (more * (D + 2.0 * N) + ENTRY * N)


def _affordable(surrogate: Surrogate, n: int, missing: int, D: int, until: float, fit: int) -> int:
    """How many of the missing observations there is time for, and a few in any case.

    ``fit``: likelihood evaluations that follow.
    """
    left = until - time.perf_counter()
    count, least = missing, min(missing, FEW if n else FIRST)

    def units(count: int) -> float:
        return _growing(n, count, D) + fit * _likelihood(surrogate, count, D)

    while count > least and machine().seconds(units(count)) > left:
        count = max(least, int(0.8 * count))
    return count


def _fit_size(
    surrogate: Surrogate, model: Model, y: Host, D: int, until: float
) -> tuple[int, float]:
    """Observations to fit the hyper-parameters to, 0: no fit; and seconds to rebuild after it."""
    values = y[np.isfinite(y)]
    n, fitted_on = len(values), model.fitted_on
    # With one length-scale the points' distances are known.
    rebuilt = machine().seconds(float(n) * n * (n + ENTRY + (D if surrogate.ard else 0)))
    if not surrogate.refit_is_due(model, values):
        return 0, rebuilt
    left = until - time.perf_counter() - rebuilt
    most = n
    # Half of a fit's evaluations is more than nothing; fewer observations are not.
    while most > fitted_on and machine().seconds(CLIMB * _likelihood(surrogate, most, D)) > left:
        most = int(0.8 * most)
    enough = most >= surrogate.refit_growth * fitted_on or most == n >= fitted_on
    return (most if enough else 0), rebuilt


def _likelihood(surrogate: Surrogate, n: int, D: int) -> float:
    """Units of one evaluation with its gradient."""
    return float(n) * n * (n + ENTRY + (2 * D if surrogate.ard else 0))
