"""Ask and tell: the history of a run, its units and sign, its failures.

The optimizer is the only place that knows the user's units and whether the objective is
minimised; strategies see points in [-1, 1]^D and values to maximise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from ._array import Host
from ._checks import one_number, positive_number, whole_number
from ._clock import deadline_in
from ._threads import quiet_blas
from .box import Box
from .certificate import of_run, of_strategy
from .pace import prepare
from .strategies import Anchored, Guarantee, History, Proposal, Setting, Strategy, resolve

DEFAULT_STRATEGY = Anchored()
ROOM = 1.3e8  # bytes set aside for points, at most, before there are any
KEPT = 0.01  # seconds before a limit, at most, when a suggestion is to be ready
COMPARED = 256  # coordinates at a time in which points are compared
DUPLICATE = 1e-9  # points closer than this in every coordinate (box side 2) are the same


@dataclass(frozen=True, eq=False)
class Trial:
    """One evaluation: asked for, then done or failed.

    x is in the user's units, and read-only. info says how the point was found: always
    "source" ("initial", "strategy", "given" for x0, "told" or, where a strategy repeats a
    point, "instead of a duplicate") and "seconds"; of a search also its value, ucb or log_ei,
    beta, subspaces and evaluations, in units of the maximised function (-f when minimising);
    and what the strategy's own docstring names.
    """

    id: int
    x: Host
    info: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None  # None while pending, and when failed
    state: str = "pending"  # "pending", "done" or "failed"
    error: str | None = None  # why it failed


class Optimizer:
    """Optimise an expensive function by asking for points and telling their values.

    bounds: (D, 2) array, sequence of (lower, upper) pairs or ``scipy.optimize.Bounds``.
    strategy: a name or an object such as ``MSUCB(d=5, n0=1, alpha=1)``. seed: the same
    seed gives the same run. n_init: random points before the strategy takes over; points
    told from elsewhere count. maximize: look for the largest value instead of the least.
    suggest_time: seconds a suggestion may take: the model is fitted as well and searched as
    far as there is time for. suggest_evals: acquisition evaluations a
    suggestion may take, to compare strategies on equal terms (default: what each needs).
    max_evals: how many evaluations there will be, for strategies that divide them up.
    device: a torch device to compute on.

    Several asks before a tell are fine: points in flight count as pending, and later
    suggestions keep away from them. Tells may come in any order. An optimizer is used from
    one thread at a time.
    """

    def __init__(
        self,
        bounds: Any,
        strategy: str | Strategy = DEFAULT_STRATEGY,
        *,
        seed: int | None = None,
        n_init: int = 20,
        maximize: bool = False,
        suggest_time: float | None = None,
        suggest_evals: int | None = None,
        max_evals: int | None = None,
        device: Any | None = None,
    ) -> None:
        self.box = Box.of(bounds)
        self.strategy = resolve(strategy)
        self.n_init = whole_number("n_init", n_init, 1)
        if suggest_time is not None:
            suggest_time = positive_number("suggest_time", suggest_time)
            prepare()
        if suggest_evals is not None:
            suggest_evals = whole_number("suggest_evals", suggest_evals, 100)
        if max_evals is not None:
            max_evals = whole_number("max_evals", max_evals, 1)
        self.suggest_time = suggest_time
        self.seed, self.maximize, self.max_evals = seed, maximize, max_evals
        self._sign = 1.0 if maximize else -1.0
        self._seed = _seed(seed)
        self._state = self.strategy.start(
            Setting(self.box.D, self._seed, device, max_evals, suggest_evals)
        )
        self._trials: list[Trial] = []
        self._told: list[int] = []  # trial ids in the order of their tells
        self._queue: list[Host] = []  # points to ask for first, in the user's units
        # Memory that is not written to costs nothing; growing later would cost a copy of all.
        rows = max(16, min(max(max_evals or 0, 4096), int(ROOM / (8 * self.box.D))))
        self._unit = _Rows(self.box.D, rows)  # all trials' points in [-1, 1], by id
        self._told_unit = _Rows(self.box.D, rows)  # the told ones, in that order: never copied

    # --- the two calls ---------------------------------------------------------------

    def ask(self, within: float | None = None) -> Trial:
        """The next point to evaluate; ``within`` so many seconds, if sooner than suggest_time."""
        started = time.perf_counter()
        limits = [s for s in (within, self.suggest_time) if s is not None]
        deadline = deadline_in(_aim(min(limits, default=None)))
        # Every ask has its own generator, so a run can be picked up at any trial.
        rng = np.random.default_rng([self._seed, len(self._trials)])
        if self._queue:
            return self._add(self._queue.pop(0), {"source": "given", "seconds": 0.0})
        drawn = self.box.sample(rng, 1)[0]
        history = self._history()
        if len(self._trials) < self.n_init or not history.values:
            proposal, source = self.strategy.initial(self._state, history, drawn), "initial"
        else:
            with quiet_blas():
                proposal = self.strategy.suggest(self._state, history, rng, deadline)
            source = "strategy"
            known = {"told": len(history.y), "pending": len(history.pending)}
            proposal = replace(proposal, info={**proposal.info, **known})
            if self._is_duplicate(proposal.x):
                proposal = self._instead_of(proposal, history, drawn)
                source = "instead of a duplicate"
        self._state = proposal.state
        u, info = proposal.x, {"source": source, **proposal.info}
        return self._add(
            self.box.from_unit(u), {**info, "seconds": time.perf_counter() - started}, u
        )

    def tell(self, trial: Trial | Any, value: Any) -> Trial:
        """Report the value of a trial, or of a point evaluated elsewhere.

        nan, an infinity or None mark a failed evaluation: it is recorded, the model keeps
        away from it, and the run goes on. Returns the finished trial.
        """
        number = one_number("value", value)
        if isinstance(trial, Trial):
            known = 0 <= trial.id < len(self._trials) and np.array_equal(
                self._trials[trial.id].x, trial.x
            )
            if not known:
                raise ValueError(f"trial {trial.id} is not one this optimizer asked for")
            if self._trials[trial.id].state != "pending":
                raise ValueError(f"trial {trial.id} was told already")
        else:
            x = self.box.check_points(trial, "x")
            if len(x) != 1:
                raise ValueError(f"x must be one point, got {len(x)}; tell them one by one")
            trial = self._pending_at(x[0]) or self._add(x[0], {"source": "told", "seconds": 0.0})
        error = (
            None if math.isfinite(number) else f"the value is {None if value is None else number}"
        )
        return self._finish(trial.id, number, error)

    def fail(self, trial: Trial, error: str) -> Trial:
        """Report that a trial's evaluation failed, and why."""
        if not isinstance(trial, Trial):
            raise TypeError(f"trial must be one that was asked for, got {trial!r:.100}")
        self.tell(trial, None)
        self._trials[trial.id] = replace(self._trials[trial.id], error=error)
        return self._trials[trial.id]

    def suggest_first(self, points: Any) -> None:
        """Points (D,) or (k, D), inside the bounds, to ask for before anything else."""
        self._queue.extend(self.box.check_points(points, "points"))

    # --- what is known ---------------------------------------------------------------

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order they were asked for or told."""
        return tuple(self._trials)

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best value; None before there is one."""
        done = [t for t in self._trials if t.value is not None]
        return max(done, key=lambda t: self._sign * float(t.value or 0.0), default=None)

    @property
    def settings(self) -> dict[str, Any]:
        """What describes the run, in plain numbers and texts."""
        general = of_strategy(self.strategy, self.box.D)
        return {
            "strategy": _in_short(self.strategy),
            "D": self.box.D,
            "maximize": self.maximize,
            "seed": self.seed,
            "n_init": self.n_init,
            "max_evals": self.max_evals,
            "suggest_time": self.suggest_time,
            "guarantee": [general.statement, list(general.unmet)],
        }

    @property
    def guarantee(self) -> Guarantee:
        """What the theory says of this run, and which assumptions are not met."""
        failures = sum(t.state == "failed" for t in self._trials)
        general = of_strategy(self.strategy, self.box.D)
        return of_run(general, [t.info for t in self._trials], failures)

    # --- inside ----------------------------------------------------------------------

    def _pending_at(self, x: Host) -> Trial | None:
        """The trial in flight at exactly this point, told by its point instead of itself."""
        flying = (t for t in self._trials if t.state == "pending" and np.array_equal(t.x, x))
        return next(flying, None)

    def _history(self) -> History:
        flying = [t.id for t in self._trials if t.state == "pending"]
        told = [self._trials[i] for i in self._told]
        y = np.array([math.nan if t.value is None else self._sign * t.value for t in told])
        return History(
            self._told_unit.data,
            y,
            self._unit.data[flying],
            [t.info for t in told],
            [self._trials[i].info for i in flying],
        )

    def _instead_of(self, duplicate: Proposal, history: History, drawn: Host) -> Proposal:
        """A random point, of the step that proposed a known one."""
        fresh = self.strategy.initial(duplicate.state, history, drawn)
        kept = ("t", "evaluations")
        step = {key: duplicate.info[key] for key in kept if key in duplicate.info}
        return replace(fresh, info={**step, **fresh.info})

    def _is_duplicate(self, u: Host) -> bool:
        """Whether a trial is at u (D,), up to rounding, in every coordinate."""
        # A few coordinates rule out nearly all trials, and the next few most of those that share
        # many with u, without a look at the others.
        rows = np.arange(len(self._unit.data))
        parts = [np.arange(0, len(u), max(1, len(u) // 8))]
        parts += np.array_split(np.arange(len(u)), -(-len(u) // COMPARED))
        for part in parts:
            gap = np.abs(self._unit.data[np.ix_(rows, part)] - u[part])
            rows = rows[np.all(gap < DUPLICATE, axis=1)]
        return len(rows) > 0

    def _add(self, x: Host, info: Mapping[str, Any], u: Host | None = None) -> Trial:
        for array in (x, *info.values()):  # what was evaluated stays what was evaluated
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        trial = Trial(len(self._trials), x, info)
        self._unit.append(self.box.to_unit(x) if u is None else u)
        self._trials.append(trial)
        return trial

    def _finish(self, id: int, number: float, error: str | None) -> Trial:
        done = error is None
        self._trials[id] = replace(
            self._trials[id],
            value=number if done else None,
            state="done" if done else "failed",
            error=error,
        )
        self._told.append(id)
        self._told_unit.append(self._unit.data[id])
        return self._trials[id]


def _aim(limit: float | None) -> float | None:
    """Seconds to plan with: a little is kept for what is under way when they are over."""
    return None if limit is None else limit - min(0.1 * limit, KEPT)


class _Rows:
    """Rows (k, D) that grow by one at a time, without copying all of them each time."""

    def __init__(self, columns: int, rows: int) -> None:
        """``rows``: how many are expected."""
        self._data = np.empty((rows, columns))
        self._count = 0

    @property
    def data(self) -> Host:
        return self._data[: self._count]

    def append(self, row: Host) -> None:
        if self._count == len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[self._count] = row
        self._count += 1


def _in_short(strategy: Any) -> str:
    """Like its repr, without what is as always."""
    if not is_dataclass(strategy):
        return repr(strategy)
    said = []
    for f in fields(strategy):
        value = getattr(strategy, f.name)
        default = f.default if f.default_factory is MISSING else f.default_factory()
        if value != default:
            said.append(f"{f.name}={value!r}")
    return f"{type(strategy).__name__}({', '.join(said)})"


def _seed(seed: int | None) -> int:
    """A 63-bit key from the user's seed; from the system's entropy for None."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise TypeError(f"seed must be an integer or None, got {seed!r}")
    if seed is not None and seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)
