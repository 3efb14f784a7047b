"""minimize and maximize: run an objective through an optimizer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._checks import one_number, positive_number, whole_number
from ._clock import deadline_in, late, left
from .journal import Journal
from .optimizer import DEFAULT_STRATEGY, Optimizer, Trial
from .strategies import Strategy

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

log = logging.getLogger("transect")

Objective = Callable[[Any], Any]


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
        number at all raises TypeError if it is the first, and is a failure later on.)
    bounds
        (D, 2) array, sequence of (lower, upper) pairs, or ``scipy.optimize.Bounds``.
    max_evals
        Evaluations of f to make; values given as y0 are not counted.
    strategy
        A name ("ms-ucb", "gp-ucb", "dropout-ucb", "line-bo", "sre", "rembo", "hesbo",
        "random") or a strategy object; by default GP-UCB with a practical β.
    seed
        The same seed gives the same run.
    x0, y0
        Points (D,) or (k, D) to evaluate first; with values y0 () or (k,) they are taken
        as evaluated already.
    n_init
        Random points before the strategy takes over, x0 included (default 20, or half of
        max_evals where that is less).
    max_time
        Seconds after which no further point is asked for; a suggestion still under way is
        cut short, an evaluation is not.
    suggest_time
        Seconds that a suggestion may take: the model is fitted as well, and searched as far,
        as there is time for.
    journal
        A file, which must not exist yet, to keep every trial in as it comes (SQLite); see
        ``transect report``.
    callback
        Called with an OptimizeResult after every evaluation; StopIteration ends the run.
    progress
        Show a progress bar on a terminal.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With x, fun, nfev, success, message, x_iters, func_vals (nan for failures), trials
        and guarantee: what the theory says of the run. ``transect.report`` shows all of it.
    """
    opt = _optimizer(bounds, max_evals, strategy, seed, n_init, suggest_time, maximize=False)
    given = _seed_points(opt, x0, y0)
    with _kept(opt, journal) as keep:
        return _run(f, opt, max_evals, given, max_time, keep, callback, progress)


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
    journal: str | Path | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    progress: bool = True,
) -> OptimizeResult:
    """Maximise an expensive function of many variables; see :func:`minimize`."""
    opt = _optimizer(bounds, max_evals, strategy, seed, n_init, suggest_time, maximize=True)
    given = _seed_points(opt, x0, y0)
    with _kept(opt, journal) as keep:
        return _run(f, opt, max_evals, given, max_time, keep, callback, progress)


def _optimizer(
    bounds: Any,
    max_evals: int,
    strategy: str | Strategy,
    seed: int | None,
    n_init: int | None,
    suggest_time: float | None,
    *,
    maximize: bool,
) -> Optimizer:
    max_evals = whole_number("max_evals", max_evals, 1)
    return Optimizer(
        bounds,
        strategy,
        seed=seed,
        n_init=min(20, max(1, max_evals // 2)) if n_init is None else n_init,
        maximize=maximize,
        suggest_time=suggest_time,
        max_evals=max_evals,
    )


def _run(
    f: Objective,
    opt: Optimizer,
    max_evals: int,
    given: int,
    max_time: float | None,
    keep: Callable[[Trial], None],
    callback: Callable[[OptimizeResult], Any] | None,
    progress: bool,
) -> OptimizeResult:
    """Ask, evaluate, tell, and keep each trial; ``given`` points were told before."""
    if not callable(f):
        raise TypeError(f"f must be a function of one vector, got {f!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of one result, got {callback!r}")
    deadline = deadline_in(None if max_time is None else positive_number("max_time", max_time))
    message = f"made all {max_evals} evaluations"
    with _bar(max_evals, progress) as bar:
        for _ in range(max_evals):
            if late(deadline):
                message = f"stopped after max_time = {max_time} s"
                break
            trial = opt.ask(left(deadline) if deadline else None)
            keep(trial)
            keep(_evaluate(f, opt, trial))
            best = opt.best
            if best is not None:
                bar.set_postfix_str(f"best {best.value:.6g}", refresh=False)
            bar.update()
            if callback is not None:
                try:
                    callback(_result(opt, given, "running"))
                except StopIteration:
                    message = "stopped by the callback"
                    break
    failed = sum(t.state == "failed" for t in opt.trials)
    if failed:
        log.warning("%d of %d evaluations failed", failed, len(opt.trials))
    log.info("%s", opt.guarantee)
    return _result(opt, given, message)


def _seed_points(opt: Optimizer, x0: Any, y0: Any) -> int:
    """Queue x0, or tell it with its values y0; how many points were told."""
    if x0 is None:
        if y0 is not None:
            raise ValueError("y0 needs x0: the points its values belong to")
        return 0
    points = opt.box.check_points(x0, "x0")
    if y0 is None:
        opt.suggest_first(points)
        return 0
    values = [y0] if not np.iterable(y0) or isinstance(y0, str) else list(y0)
    if len(values) != len(points):
        raise ValueError(
            f"y0 must have one value per point of x0: {len(points)}, got {len(values)}"
        )
    numbers = [one_number("y0", value) for value in values]  # all of them before the first tell
    for point, number in zip(points, numbers, strict=True):
        opt.tell(point, number)
    return len(points)


@contextmanager
def _kept(opt: Optimizer, journal: str | Path | None) -> Iterator[Callable[[Trial], None]]:
    """A function that keeps trials in the journal, if there is to be one."""
    if journal is None:
        yield lambda trial: None
        return
    bounds = np.stack([opt.box.lower, opt.box.upper], axis=1)
    with closing(Journal(journal, {**opt.settings, "bounds": bounds})) as kept:
        for trial in opt.trials:
            kept.write(trial)
        yield kept.write


def _evaluate(f: Objective, opt: Optimizer, trial: Trial) -> Trial:
    """Evaluate one trial. What the objective raises is a failure; what we raise is not."""
    try:
        value = f(trial.x.copy())
    except Exception as error:
        log.warning("evaluation %d failed: %s: %s", trial.id, type(error).__name__, error)
        return opt.fail(trial, f"{type(error).__name__}: {error}")
    try:
        one_number("the objective's value", value)
    except TypeError as error:
        # Before anything has worked this is a mistake in the objective, and hours of
        # evaluations would not mend it; later, finished evaluations are worth more.
        if opt.best is None:
            raise
        log.warning("evaluation %d failed: %s", trial.id, error)
        return opt.fail(trial, str(error))
    finished = opt.tell(trial, value)
    if finished.state == "failed":
        log.warning("evaluation %d failed: %s", trial.id, finished.error)
    return finished


def _result(opt: Optimizer, given: int, message: str) -> OptimizeResult:
    from scipy.optimize import OptimizeResult

    best, trials = opt.best, opt.trials
    if best is None and message != "running":
        errors = [t.error for t in trials if t.error]
        message += f"; none gave a value, the first because: {errors[0]}" if errors else ""
    result = OptimizeResult()
    result.update(
        x=None if best is None else best.x.copy(),
        fun=np.nan if best is None else best.value,
        nfev=len(trials) - given,
        success=best is not None,
        message=message,
        x_iters=np.array([t.x for t in trials]).reshape(-1, opt.box.D),
        func_vals=np.array([np.nan if t.value is None else t.value for t in trials]),
        trials=trials,
        guarantee=opt.guarantee,
        settings=opt.settings,
    )
    return result


def _bar(total: int, progress: bool) -> Any:
    from tqdm import tqdm

    # None: only where somebody can see it, on a terminal
    return tqdm(total=total, desc="transect", unit="eval", disable=None if progress else True)
