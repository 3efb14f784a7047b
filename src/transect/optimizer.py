"""Ask and tell: the history of a run, its units and sign, its failures.

The optimizer is the only place that knows the user's units and whether the objective is
minimised; strategies see points in [-1, 1]^D and values to maximise.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ._array import Host, to_device
from ._checks import is_real, one_number, positive_number, whole_number
from ._clock import deadline_in
from ._threads import quiet_blas
from .box import Box
from .certificate import of_run, of_strategy
from .journal import Entry, Journal, Run
from .pace import prepare
from .strategies import (
    N_INIT,
    Anchored,
    Guarantee,
    History,
    Proposal,
    Setting,
    Strategy,
    resolve,
)
from .trial import Ledger, Trial

DEFAULT_STRATEGY = Anchored()
ROOM = 1.3e8  # bytes set aside for points, at most, before there are any
KEPT = 0.01  # seconds before a limit, at most, when a suggestion is to be ready
OWN = ("initial", "strategy", "instead of a duplicate")  # sources of what a strategy made
# What a run cannot change when it is taken up again.
IDENTITY = ("strategy", "bounds", "maximize", "n_init", "suggest_evals")

log = logging.getLogger("transect")


class Optimizer:
    """Optimise an expensive function by asking for points and telling their values.

    bounds: (D, 2) array, sequence of (lower, upper) pairs or ``scipy.optimize.Bounds``.
    strategy: a name or an object such as ``MSUCB(d=5, n0=1, alpha=1)``. seed: the same
    seed gives the same run. n_init: random points before the strategy takes over, by default 5,
    or half of max_evals where that is less; points told from elsewhere count. maximize: look for
    the largest value instead of the least.
    suggest_time: seconds a suggestion may take: the model is fitted as well and searched as
    far as there is time for. suggest_evals: acquisition evaluations a
    suggestion may take, to compare strategies on equal terms (default: what each needs).
    max_evals: how many evaluations there will be, for strategies that divide them up.
    device: a torch device to compute on. journal: a file in which all of the run is kept as it
    comes; if there is one from before, the run goes on where it stopped, with the points that
    were in flight as ``pending``, and without suggest_time as if it had not been interrupted.

    Several asks before a tell are fine: points in flight count as pending, and later
    suggestions keep away from them. Tells may come in any order. An optimizer is used from
    one thread at a time. One with a journal is to be closed; ``with Optimizer(…) as opt`` does.
    """

    def __init__(
        self,
        bounds: Any,
        strategy: str | Strategy = DEFAULT_STRATEGY,
        *,
        seed: int | None = None,
        n_init: int | None = None,
        maximize: bool = False,
        suggest_time: float | None = None,
        suggest_evals: int | None = None,
        max_evals: int | None = None,
        device: Any | None = None,
        journal: str | Path | None = None,
    ) -> None:
        self.box = Box.of(bounds)
        self.strategy = resolve(strategy)
        if suggest_time is not None:
            suggest_time = positive_number("suggest_time", suggest_time)
            prepare()
        if suggest_evals is not None:
            suggest_evals = whole_number("suggest_evals", suggest_evals, 100)
        if max_evals is not None:
            max_evals = whole_number("max_evals", max_evals, 1)
        self.n_init = initial_points(max_evals)
        if n_init is not None:
            self.n_init = whole_number("n_init", n_init, 1)
        to_device(np.zeros(1), device)  # that it is missing is said here, not by a later ask
        self.suggest_time, self.suggest_evals = suggest_time, suggest_evals
        self.seed, self.maximize, self.max_evals = seed, maximize, max_evals
        self._seed = _seed(seed)
        self._journal = None if journal is None else Journal(journal)
        kept = None if self._journal is None else self._journal.run
        # Memory that is not written to costs nothing; growing later would cost a copy of all.
        rows = max(16, min(max(max_evals or 0, 4096), int(ROOM / (8 * self.box.D))))
        rows += 0 if kept is None else len(kept.entries)
        self._ledger = Ledger(self.box, 1.0 if maximize else -1.0, rows)
        self._queue: list[Host] = []  # points to ask for first, in the user's units
        try:
            if kept is not None:
                if n_init is None:  # which depends on max_evals, and that may be larger now
                    self.n_init = int(kept.settings["n_init"])
                self._take_up(kept)
            self._setting = Setting(self.box.D, self._seed, device, max_evals, suggest_evals)
            self._state = self.strategy.start(self._setting)
            self._to_replay = kept  # before the first ask: it may take a while, unlike reading
            if self._journal is not None:
                if kept is None:
                    self._journal.begin(self._kept_settings)
                else:
                    self._journal.change("max_evals", max_evals)
        except BaseException:
            self.close()
            raise

    # --- the two calls ---------------------------------------------------------------

    def ask(self, within: float | None = None) -> Trial:
        """The next point to evaluate; ``within`` so many seconds, if sooner than suggest_time."""
        if within is not None and not (is_real(within) and within >= 0):
            raise ValueError(f"within must be a number of seconds, at least 0, got {within!r}")
        self._replay()
        started = time.perf_counter()
        limits = [s for s in (within, self.suggest_time) if s is not None]
        deadline = deadline_in(_aim(min(limits, default=None)))
        if self._queue:
            trial = self._add(self._queue[0], {"source": "given", "seconds": 0.0}, queued=True)
            self._queue.pop(0)
            return trial
        memory = self._memory()
        proposal, source = self._propose(len(self._ledger), self._ledger.history(), deadline)
        info = {"source": source, **proposal.info, "seconds": time.perf_counter() - started}
        trial = self._add(self.box.from_unit(proposal.x), info, proposal.x, memory)
        self._state = proposal.state
        return trial

    def tell(self, trial: Trial | Any, value: Any) -> Trial:
        """Report the value of a trial, or of a point evaluated elsewhere.

        nan, an infinity or None mark a failed evaluation: it is recorded, the model keeps
        away from it, and the run goes on. Returns the finished trial, once it is in the
        journal, if there is one.
        """
        number = one_number("value", value)
        error = (
            None if math.isfinite(number) else f"the value is {None if value is None else number}"
        )
        return self._finish(trial, number, error)

    def fail(self, trial: Trial, error: str) -> Trial:
        """Report that a trial's evaluation failed, and why."""
        if not isinstance(trial, Trial):
            raise TypeError(f"trial must be one that was asked for, got {trial!r:.100}")
        readable = str(error).encode("utf-8", "replace").decode()
        return self._finish(trial, math.nan, readable)

    def suggest_first(self, points: Any) -> None:
        """Points (D,) or (k, D), inside the bounds, to ask for before anything else."""
        points = list(self.box.check_points(points, "points"))
        if self._journal is not None:
            self._journal.queued(points)
        self._queue.extend(points)

    def close(self) -> None:
        """Let others write to the journal; nothing can be asked or told after that."""
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what is known ---------------------------------------------------------------

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order they were asked for or told."""
        return tuple(self._ledger.trials)

    @property
    def journal(self) -> Path | None:
        """The file that the run is kept in."""
        return None if self._journal is None else self._journal.path

    @property
    def resumed(self) -> bool:
        """Whether the run began earlier, and was taken up again from its journal."""
        return self._journal is not None and self._journal.run is not None

    @property
    def queued(self) -> tuple[Host, ...]:
        """What is left of the points (D,) to ask for first."""
        return tuple(self._queue)

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Those that were asked for and have not been told."""
        return tuple(t for t in self._ledger.trials if t.state == "pending")

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best value; None before there is one."""
        done = [t for t in self._ledger.trials if t.value is not None]
        return max(done, key=lambda t: self._ledger.sign * float(t.value or 0.0), default=None)

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
            "suggest_evals": self.suggest_evals,
            "guarantee": [general.statement, list(general.unmet)],
        }

    @property
    def guarantee(self) -> Guarantee:
        """What the theory says of this run, and which assumptions are not met."""
        trials = self._ledger.trials
        failures = sum(t.state == "failed" for t in trials)
        general = of_strategy(self.strategy, self.box.D)
        return of_run(general, [t.info for t in trials], failures)

    # --- suggestions -----------------------------------------------------------------

    def _propose(self, id: int, history: History, deadline: float | None) -> tuple[Proposal, str]:
        """The point of trial ``id``, and its source."""
        # Every ask has its own generator, so a run can be picked up at any trial.
        rng = np.random.default_rng([self._seed, id])
        drawn = self.box.sample(rng, 1)[0]
        if id < self.n_init or not history.values:
            return self.strategy.initial(self._state, history, drawn), "initial"
        with quiet_blas():
            proposal = self.strategy.suggest(self._state, history, rng, deadline)
        known = {"told": len(history.y), "pending": len(history.pending)}
        proposal = replace(proposal, info={**proposal.info, **known})
        if self._ledger.has(proposal.x, before=id):
            return self._instead_of(proposal, history, drawn), "instead of a duplicate"
        return proposal, "strategy"

    def _instead_of(self, duplicate: Proposal, history: History, drawn: Host) -> Proposal:
        """A random point, of the step that proposed a known one."""
        fresh = self.strategy.initial(duplicate.state, history, drawn)
        kept = ("t", "evaluations", "insured", "attempt", "close")
        step = {key: duplicate.info[key] for key in kept if key in duplicate.info}
        return replace(fresh, info={**step, **fresh.info})

    # --- records ---------------------------------------------------------------------

    def _add(
        self,
        x: Host,
        info: Mapping[str, Any],
        u: Host | None = None,
        memory: Any | None = None,
        *,
        queued: bool = False,
    ) -> Trial:
        if self._journal is not None:  # first: what cannot be kept was not asked for
            trial = Trial(len(self._ledger), x, info)
            entry = Entry(trial, u, len(self._ledger.told), None)
            self._journal.asked(entry, memory, queued=queued)
        return self._ledger.add(x, info, u)

    def _finish(self, trial: Trial | Any, number: float, error: str | None) -> Trial:
        """Record the end of a trial, or of an evaluation made elsewhere."""
        ledger = self._ledger
        if isinstance(trial, Trial):
            ours = 0 <= trial.id < len(ledger) and np.array_equal(
                ledger.trials[trial.id].x, trial.x
            )
            if not ours:
                raise ValueError(f"trial {trial.id} is not one this optimizer asked for")
            trial = ledger.trials[trial.id]
            if trial.state != "pending":
                raise ValueError(f"trial {trial.id} was told already")
        else:
            x = self.box.check_points(trial, "x")
            if len(x) != 1:
                raise ValueError(f"x must be one point, got {len(x)}; tell them one by one")
            elsewhere = Trial(len(ledger), x[0], {"source": "told", "seconds": 0.0})
            trial = ledger.pending_at(x[0]) or elsewhere
        number += 0.0  # -0.0 is 0.0: SQLite has no other
        new = trial.id == len(ledger)
        if self._journal is not None:  # first: what cannot be kept was not told
            known = len(ledger.told) if new else ledger.known[trial.id]
            # Whichever was there first: x follows from u, or u from x.
            u = ledger.unit(trial.id) if trial.info["source"] in OWN else None
            entry = Entry(trial.ended(number, error), u, known, len(ledger.told))
            (self._journal.told_at_once if new else self._journal.told)(entry)
        if new:
            ledger.add(trial.x, trial.info)
        return ledger.finish(trial.id, number, error)

    # --- a run that is taken up again ------------------------------------------------

    @property
    def _kept_settings(self) -> dict[str, Any]:
        """What a journal begins with."""
        bounds = np.stack([self.box.lower, self.box.upper], axis=1)
        return {**self.settings, "bounds": bounds.tolist(), "key": self._seed}

    def _take_up(self, run: Run) -> None:
        """Have the trials of a journal, if it is of a run like this one."""
        mine, theirs = self._kept_settings, run.settings
        names = IDENTITY if self.seed is None else (*IDENTITY, "seed")
        other = [name for name in names if mine[name] != theirs[name]]
        if other:
            what = "; ".join(_difference(n, theirs[n], mine[n]) for n in other)
            raise ValueError(
                f"{self.journal} is of another run: {what}. Choose another name for this one"
            )
        self.seed, self._seed = theirs["seed"], int(theirs["key"])
        order: dict[int, int] = {}  # ids by their place in the order of the tells
        for entry in run.entries:
            if entry.told is not None:
                order[entry.told] = entry.trial.id
        told = 0
        for entry in run.entries:
            while told < entry.known:
                self._finish_again(run, order[told])
                told += 1
            self._ledger.add(entry.trial.x, entry.trial.info, entry.u)
        for place in range(told, len(order)):
            self._finish_again(run, order[place])
        self._queue = list(run.queue)

    def _finish_again(self, run: Run, id: int) -> None:
        trial = run.entries[id].trial
        self._ledger.finish(id, math.nan if trial.value is None else trial.value, trial.error)

    def _memory(self) -> Any | None:
        """What the strategy can be made to know again."""
        if self._journal is None or not hasattr(self.strategy, "remember"):
            return None
        return self.strategy.remember(self._state)

    def _replay(self) -> None:
        """Bring the strategy to where it was: make suggestions again, from the last memory on.

        Each is compared with the one in the journal: where they differ, on another machine for
        one, the run goes on from there all the same.
        """
        run, self._to_replay = self._to_replay, None
        if run is None:
            return
        timed = self.suggest_time is not None or run.settings["suggest_time"] is not None
        first = 0
        recall = getattr(self.strategy, "recall", None)
        if run.memory is not None and recall and (timed or getattr(self.strategy, "exact", True)):
            first, memory = run.memory
            with quiet_blas():  # as suggestions do: factors on several threads round otherwise
                self._state = recall(self._setting, memory, self._ledger.history(first))
        same = True
        log.info("making %d suggestions again, to go on after them", len(run.entries) - first)
        for entry in run.entries[first:]:
            id = entry.trial.id
            if entry.trial.info["source"] in OWN:
                proposal, _ = self._propose(id, self._ledger.history(id), None)
                self._state = proposal.state
                same = same and np.array_equal(proposal.x, self._ledger.unit(id))
        if not (same or timed):
            why = "this machine, or this version, rounds otherwise than what wrote the journal"
            if self.max_evals != run.settings["max_evals"]:
                why = f"max_evals was {run.settings['max_evals']}, on which suggestions may depend"
            log.warning("%s: the run goes on, but not bit for bit as it would have", why)


def initial_points(max_evals: int | None) -> int:
    """How many points come before the strategy takes over, where ``n_init`` does not say."""
    return N_INIT if max_evals is None else min(N_INIT, max(1, max_evals // 2))


def _aim(limit: float | None) -> float | None:
    """Seconds to plan with: a little is kept for what is under way when they are over."""
    return None if limit is None else limit - min(0.1 * limit, KEPT)


def _difference(name: str, theirs: Any, mine: Any) -> str:
    """What a setting is in a journal, and what it is here; of long lists the first that differs."""
    if isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        i = next(i for i, pair in enumerate(zip(theirs, mine, strict=True)) if pair[0] != pair[1])
        name, theirs, mine = f"{name}[{i}]", theirs[i], mine[i]
    return f"{name} {theirs!r:.200}, not {mine!r:.200}"


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
