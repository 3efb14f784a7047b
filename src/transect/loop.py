"""minimize and maximize: run an objective through an optimizer."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ._array import Host
from ._checks import one_number, positive_number, whole_number
from ._clock import deadline_in, late, left
from .box import Box
from .evaluate import Evaluator, Here, Objective, OnExecutor, Outcome, Processes
from .optimizer import DEFAULT_STRATEGY, Optimizer
from .strategies import Strategy
from .trial import Trial, made

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

# So many evaluations that end like this, and none that does not: the objective is not in order.
MISTAKEN = 3
MISTAKES = ("TypeError", "NameError", "AttributeError", "ImportError", "ModuleNotFoundError")

# Points (k, D) that a run begins with, and their values where they are known.
Given: TypeAlias = tuple[Host, list[float] | None]

log = logging.getLogger("transect")


def minimize(
    f: Objective,
    bounds: Any,
    max_evals: int = 200,
    strategy: str | Strategy = DEFAULT_STRATEGY,
    *,
    seed: int | None = None,
    x0: Any = None,
    y0: Any = None,
    n_init: int | None = None,
    max_time: float | None = None,
    suggest_time: float | None = None,
    workers: int | None = None,
    executor: Any = None,
    eval_time: float | None = None,
    retries: int = 1,
    journal: str | Path | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    progress: bool = True,
) -> OptimizeResult:
    """Minimise an expensive function of many variables.

    Parameters
    ----------
    f
        Takes a vector (D,) and returns one number. nan, an infinity, None or an exception
        are failed evaluations: they are recorded and the run goes on. (A value that is no
        number at all raises TypeError if it is the first, and is a failure later on. Where the
        first three all end with the same TypeError, NameError, AttributeError or ImportError,
        that is raised as a RuntimeError.)
    bounds
        (D, 2) array, sequence of (lower, upper) pairs, or ``scipy.optimize.Bounds``.
    max_evals
        Evaluations of f to make, with those that a journal has; values given as y0 are not
        counted.
    strategy
        A name ("ms-ucb", "gp-ucb", "dropout-ucb", "line-bo", "sre", "rembo", "hesbo",
        "random", "anchored") or a strategy object; by default ``Anchored()``.
    seed
        The same seed gives the same run.
    x0, y0
        Points (D,) or (k, D) to evaluate first; with values y0 () or (k,) they are taken
        as evaluated already.
    n_init
        Random points before the strategy takes over, x0 included (default 5, or half of
        max_evals where that is less).
    max_time
        Seconds after which no further point is asked for; a suggestion still under way is
        cut short, an evaluation is not.
    suggest_time
        Seconds that a suggestion may take: the model is fitted as well, and searched as far,
        as there is time for.
    workers
        Processes that evaluate f side by side; more points are then in flight, and each
        suggestion keeps away from the others. f must not rely on what another call changed.
    executor
        Where to evaluate instead: anything with ``submit`` (concurrent.futures, Dask's
        ``client.get_executor()``, mpi4py.futures, loky), or a function that makes one, and
        another should it break; ``workers`` at a time (default: as many as it has).
    eval_time
        Seconds an evaluation may take; a longer one is stopped, and counts as failed. For that
        f runs in a process of its own, also without ``workers``: what it changes there, a
        counter for one, is not seen here. An executor's evaluation is left to itself.
    retries
        How often an evaluation is made again whose worker died; then it counts as failed.
    journal
        A file to keep every trial in as it comes (SQLite; see ``transect report``). If it is
        there already, the run goes on where it stopped: what was being evaluated then is
        evaluated again, nothing else, and without suggest_time the points that follow are those
        of a run that was not interrupted. With other bounds, strategy, seed, n_init, x0 or y0
        than it was begun with that is an error.
    callback
        Called with an OptimizeResult after every evaluation; StopIteration ends the run.
    progress
        Show a progress bar on a terminal.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With x, fun, nfev, success, message, x_iters, func_vals (nan for failures), trials
        and guarantee: what the theory says of the run. ``transect.report`` shows all of it.
        x is where the least value was seen; if f is noisy, that may have been luck.
    """
    _check_callback(callback)
    retries = whole_number("retries", retries, 0)
    evaluator = _evaluator(f, workers, executor, eval_time)
    limits = max_evals, n_init, suggest_time
    given = _given(bounds, x0, y0)
    with _optimizer(bounds, strategy, seed, limits, journal, maximize=False) as opt:
        _begin_with(opt, given)
        return _run(opt, evaluator, max_evals, max_time, retries, callback, progress)


def maximize(
    f: Objective,
    bounds: Any,
    max_evals: int = 200,
    strategy: str | Strategy = DEFAULT_STRATEGY,
    *,
    seed: int | None = None,
    x0: Any = None,
    y0: Any = None,
    n_init: int | None = None,
    max_time: float | None = None,
    suggest_time: float | None = None,
    workers: int | None = None,
    executor: Any = None,
    eval_time: float | None = None,
    retries: int = 1,
    journal: str | Path | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    progress: bool = True,
) -> OptimizeResult:
    """Maximise an expensive function of many variables; see :func:`minimize`."""
    _check_callback(callback)
    retries = whole_number("retries", retries, 0)
    evaluator = _evaluator(f, workers, executor, eval_time)
    limits = max_evals, n_init, suggest_time
    given = _given(bounds, x0, y0)
    with _optimizer(bounds, strategy, seed, limits, journal, maximize=True) as opt:
        _begin_with(opt, given)
        return _run(opt, evaluator, max_evals, max_time, retries, callback, progress)


def _optimizer(
    bounds: Any,
    strategy: str | Strategy,
    seed: int | None,
    limits: tuple[int, int | None, float | None],
    journal: str | Path | None,
    *,
    maximize: bool,
) -> Optimizer:
    evals, n_init, suggest_time = limits
    max_evals = whole_number("max_evals", evals, 1)
    return Optimizer(
        bounds,
        strategy,
        seed=seed,
        n_init=n_init,
        maximize=maximize,
        suggest_time=suggest_time,
        max_evals=max_evals,
        journal=journal,
    )


def _run(
    opt: Optimizer,
    evaluator: Evaluator,
    max_evals: int,
    max_time: float | None,
    retries: int,
    callback: Callable[[OptimizeResult], Any] | None,
    progress: bool,
) -> OptimizeResult:
    """Ask, evaluate, tell; first what was in flight when the run was interrupted, if it was."""
    deadline = deadline_in(None if max_time is None else positive_number("max_time", max_time))
    waiting, flying, lost = deque(opt.pending), set[int](), Counter[int]()
    with closing(evaluator), _bar(max_evals, _asked(opt) - len(waiting), progress) as bar:
        try:
            while True:
                while len(flying) < evaluator.capacity and not late(deadline):
                    if not waiting and _asked(opt) >= max_evals:
                        break
                    limit = left(deadline) if deadline else None
                    trial = waiting.popleft() if waiting else opt.ask(limit)
                    evaluator.start(trial.id, trial.x.copy())
                    flying.add(trial.id)
                if not flying:
                    break
                for id, outcome in evaluator.finished().items():
                    flying.discard(id)
                    if outcome.lost and lost[id] < retries:
                        lost[id] += 1
                        log.warning("evaluation %d is made again: %s", id + 1, outcome.lost)
                        waiting.append(opt.trials[id])
                        continue
                    _record(opt, opt.trials[id], outcome)
                    _check_objective(opt)
                    if opt.best is not None:
                        bar.set_postfix_str(f"best {opt.best.value:.6g}", refresh=False)
                    bar.update()
                    if callback is not None:
                        callback(_result(opt, "running"))
            message = f"made all {max_evals} evaluations"
            if _asked(opt) > max_evals:
                message = f"made {_asked(opt)} evaluations before, and max_evals is {max_evals}"
            elif waiting or _asked(opt) < max_evals:
                message = f"stopped after max_time = {max_time} s"
        except StopIteration:
            message = "stopped by the callback"
        except KeyboardInterrupt:
            log.warning("%s", _after_interrupt(opt))
            raise
    ended = made(opt.trials)
    failed = sum(t.state == "failed" for t in ended)
    if failed:
        log.warning("%d of %d evaluations failed", failed, len(ended))
    log.info("%s", opt.guarantee)
    return _result(opt, message)


def _evaluator(
    f: Objective, workers: int | None, executor: Any, eval_time: float | None
) -> Evaluator:
    if not callable(f):
        raise TypeError(f"f must be a function of one vector, got {f!r}")
    count = None if workers is None else whole_number("workers", workers, 1)
    limit = None if eval_time is None else positive_number("eval_time", eval_time)
    if executor is not None:
        return OnExecutor(f, executor, count, limit)
    if limit is None and count in (None, 1):
        return Here(f)
    return Processes(f, count or 1, limit)


def _after_interrupt(opt: Optimizer) -> str:
    """What becomes of the evaluations of a run that is stopped."""
    if opt.journal is None:
        return "interrupted; with a journal, this run could be taken up again"
    return f"interrupted; the same call takes this run up again, from {opt.journal}"


def _check_callback(callback: Any) -> None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of one result, got {callback!r}")


def _asked(opt: Optimizer) -> int:
    """Evaluations that were asked for; not those made elsewhere."""
    return sum(trial.info["source"] != "told" for trial in opt.trials)


def _given(bounds: Any, x0: Any, y0: Any) -> Given | None:
    """What a run begins with, checked before a journal is touched."""
    if x0 is None:
        if y0 is not None:
            raise ValueError("y0 needs x0: the points its values belong to")
        return None
    points = Box.of(bounds).check_points(x0, "x0")
    if y0 is None:
        return points, None
    values = [y0] if not np.iterable(y0) or isinstance(y0, str) else list(y0)
    if len(values) != len(points):
        raise ValueError(
            f"y0 must have one value per point of x0: {len(points)}, got {len(values)}"
        )
    return points, [one_number("y0", value) for value in values]


def _begin_with(opt: Optimizer, given: Given | None) -> None:
    """Queue the points, or tell them with their values: what a journal does not have of them.

    A journal that was begun with other ones, or with none, is not changed: ValueError.
    """
    if given is None or not len(given[0]):
        return
    points, values = given
    if values is None:
        begun = [t.x for t in opt.trials if t.info["source"] == "given"] + list(opt.queued)
        if not opt.trials and not begun:
            opt.suggest_first(points)
        elif not np.array_equal(begun, points):  # all of them are queued at once, or none
            raise _other_beginning(opt)
        return
    told = list(takewhile(lambda t: t.info["source"] == "told", opt.trials))
    same = all(_is_of(t, x, y) for t, x, y in zip(told, points, values, strict=False))
    whole = len(told) == len(points)
    if not same or not (whole or len(opt.trials) == len(told) < len(points)):
        raise _other_beginning(opt)
    for i in range(len(told), len(points)):
        opt.tell(points[i], values[i])


def _is_of(trial: Trial, x: Host, y: float) -> bool:
    """Whether this is what a point and its value were told as."""
    return np.array_equal(trial.x, x) and trial.value == (y if np.isfinite(y) else None)


def _other_beginning(opt: Optimizer) -> ValueError:
    return ValueError(
        f"x0 and y0 are not what {opt.journal} was begun with: give the same, or none, to go on "
        "with it, or choose another name for this run"
    )


def _record(opt: Optimizer, trial: Trial, outcome: Outcome) -> None:
    """Tell how an evaluation ended. Errors of the objective are failures; ours are not."""
    error = outcome.error or outcome.lost
    if error is None:
        try:
            one_number("the objective's value", outcome.value)
        except TypeError as mistake:
            # Before anything has worked this is a mistake in the objective, and hours of
            # evaluations would not mend it; later, finished evaluations are worth more.
            if opt.best is None:
                raise
            error = str(mistake)
    finished = opt.tell(trial, outcome.value) if error is None else opt.fail(trial, error)
    if finished.state == "failed":
        log.warning("evaluation %d failed: %s", trial.id + 1, finished.error)


def _check_objective(opt: Optimizer) -> None:
    """Raise if nothing has worked, and all evaluations end with one and the same mistake.

    Hours of further ones would not mend it. Other errors may be those of a region that fails.
    """
    if opt.best is not None:
        return
    errors = [t.error or "" for t in opt.trials if t.state == "failed"]
    if len(errors) >= MISTAKEN and len(set(errors)) == 1 and errors[0].startswith(MISTAKES):
        raise RuntimeError(f"the first {len(errors)} evaluations all failed with {errors[0]}")


def _result(opt: Optimizer, message: str) -> OptimizeResult:
    from .result import RunResult  # here, as SciPy's optimisers take long to load

    best, trials = opt.best, opt.trials
    if best is None and message != "running":
        errors = [t.error for t in trials if t.error]
        message += f"; none gave a value, the first because: {errors[0]}" if errors else ""
    result = RunResult()
    result.update(
        x=None if best is None else best.x.copy(),
        fun=np.nan if best is None else best.value,
        nfev=len(made(trials)),
        success=best is not None,
        message=message,
        x_iters=np.array([t.x for t in trials]).reshape(-1, opt.box.D),
        func_vals=np.array([np.nan if t.value is None else t.value for t in trials]),
        trials=trials,
        guarantee=opt.guarantee,
        settings=opt.settings,
    )
    return result


def _bar(total: int, made: int, progress: bool) -> Any:
    from tqdm import tqdm

    # None: only where somebody can see it, on a terminal
    disable = None if progress else True
    return tqdm(total=total, initial=made, desc="transect", unit="eval", disable=disable)
