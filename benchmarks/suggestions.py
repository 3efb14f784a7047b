"""Time of a suggestion: every strategy beside BoTorch, Optuna's GPSampler and pycma.

``make bench-suggestions`` prints two Markdown tables, of one problem with n evaluations made. Then
each is asked for a point, which is evaluated and told, several times over: the median time of an
ask, for pycma with its tell, where its work is. Nothing is said here about how good the points are.

In the first table ours have asked for the n points, as in the paper's figures, with the same budget
of acquisition evaluations, and the default strategy without one; BoTorch and Optuna are told n
uniform points; pycma needs none. The second is of the default strategy: BoTorch and Optuna are told
the points that it has asked for, the three take turns, and the mean over all asks has its refits in
it, too, which are due now and then.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import transect
from transect._threads import limit_threads
from transect.experiments.figures import ALGORITHMS, EVALS
from transect.experiments.table import markdown_table
from transect.experiments.task import N_INIT, suggest_evals
from transect.problems import Problem, ackley

SIZES = ((20, 100), (100, 100), (100, 200))  # (D, n)
VARIABLES, TOLD = (20, 50, 100, 200, 500), 200  # D and n of the second table
Asks = Iterator[float]  # seconds of one ask after another


def clock(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def ours(strategy: Any, f: Problem, n: int, budget: int | None) -> Asks:
    """One of our strategies; those of the paper's figures with the budget they have there."""
    return further(begun(strategy, f, n, budget), f)


def begun(strategy: Any, f: Problem, n: int, budget: int | None) -> transect.Optimizer:
    """A run of one of our strategies, after n evaluations."""
    opt = transect.Optimizer(
        f.box, strategy, seed=0, n_init=N_INIT, max_evals=EVALS, suggest_evals=budget
    )
    while len(opt.trials) < n:
        trial = opt.ask()
        opt.tell(trial, f(trial.x))
    return opt


def further(opt: transect.Optimizer, f: Problem) -> Asks:
    while True:
        seconds, trial = clock(opt.ask)
        opt.tell(trial, f(trial.x))
        yield seconds


def botorch(f: Problem, X: np.ndarray) -> Asks:
    """SingleTaskGP and LogEI with their defaults, 4 restarts of 512 raw samples."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    X = X.copy()
    y = np.array([-f(x) for x in X])
    bounds = torch.stack([torch.zeros(f.D), torch.ones(f.D)]).double()

    def ask() -> np.ndarray:
        model = SingleTaskGP(torch.tensor((X + 1) / 2), torch.tensor(y)[:, None])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=float(y.max()))
        point, _ = optimize_acqf(acquisition, bounds=bounds, q=1, num_restarts=4, raw_samples=512)
        found: np.ndarray = 2 * point.detach().numpy()[0] - 1
        return found

    while True:
        seconds, x = clock(ask)
        X, y = np.vstack([X, x]), np.append(y, -f(x))
        yield seconds


def optuna_gp(f: Problem, X: np.ndarray) -> Asks:
    """Optuna's GPSampler, asked for all variables at once."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"x{i}" for i in range(f.D)]
    space: dict[str, Any] = {
        name: optuna.distributions.FloatDistribution(-1.0, 1.0) for name in names
    }
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=0, n_startup_trials=10))
    for x in X:
        study.add_trial(
            optuna.trial.create_trial(
                params=dict(zip(names, x.tolist(), strict=True)), distributions=space, value=f(x)
            )
        )
    while True:
        seconds, trial = clock(lambda: study.ask(space))
        study.tell(trial, f(np.array([trial.params[name] for name in names])))
        yield seconds


def pycma(f: Problem, X: np.ndarray) -> Asks:
    """CMA-ES: a generation's ask and tell, for each of its points."""
    import cma

    es = cma.CMAEvolutionStrategy(np.zeros(f.D), 0.5, {"bounds": [-1, 1], "seed": 1, "verbose": -9})
    while True:
        seconds, points = clock(es.ask)
        values = [f(x) for x in points]
        start = time.perf_counter()
        es.tell(points, values)
        yield (seconds + time.perf_counter() - start) / len(points)


def median(asks: Asks, repeats: int) -> float:
    """Of the times of so many asks, after one to warm up."""
    (seconds,) = in_turns({asks: repeats}, 1)
    return statistics.median(seconds)


def in_turns(asks: Mapping[Asks, int], repeats: int) -> list[list[float]]:
    """Times of each, after one to warm up: in every repeat each makes so many asks.

    Where the machine becomes slower for a while, it does so for all of them.
    """
    found: list[list[float]] = [[] for _ in asks]
    for one in asks:
        next(one)
    for _ in range(repeats):
        for (one, count), seconds in zip(asks.items(), found, strict=True):
            seconds += [next(one) for _ in range(count)]
    return found


def every_strategy(repeats: int) -> str:
    """The first table."""
    rows: dict[str, list[float]] = {}
    for D, n in SIZES:
        f = ackley(D, shift_seed=0)
        X = np.random.default_rng(0).uniform(-1.0, 1.0, (n, D))
        for line in ALGORITHMS:
            assert line.strategy is not None
            asks = ours(line.strategy(D), f, n, suggest_evals(D))
            rows.setdefault(line.title, []).append(median(asks, 4 * repeats))
        anchored = ours(transect.Anchored(), f, n, None)
        rows.setdefault("Anchored, the default", []).append(median(anchored, 4 * repeats))
        for name, peer in (
            ("BoTorch, LogEI", botorch),
            ("Optuna, GPSampler", optuna_gp),
            ("pycma", pycma),
        ):
            rows.setdefault(name, []).append(median(peer(f, X), repeats))
    header = ["ms a suggestion, one thread", *(f"D = {D}, n = {n}" for D, n in SIZES)]
    return markdown_table(header, [[name, *map(_ms, row)] for name, row in rows.items()])


def the_default(repeats: int) -> str:
    """The second table."""
    rows = []
    for D in VARIABLES:
        f = ackley(D, shift_seed=0)
        opt = begun(transect.Anchored(), f, TOLD, None)
        X = np.array([trial.x for trial in opt.trials])
        asks = {further(opt, f): 10, botorch(f, X): 1, optuna_gp(f, X): 1}
        anchored, *peers = in_turns(asks, repeats)
        typical, mean = statistics.median(anchored), statistics.mean(anchored)
        row = [str(D), _ms(typical), _ms(mean)]
        for seconds in map(statistics.median, peers):
            row += [_ms(seconds), f"{seconds / typical:.0f}, {seconds / mean:.0f}"]
        rows.append(row)
    header = [f"D, n = {TOLD}", "Anchored, ms, median", "mean"]
    for name in "BoTorch", "GPSampler":
        header += [f"{name}, ms", "times Anchored's median, mean"]
    return markdown_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.filterwarnings("ignore")  # BoTorch's, on data it did not choose
    limit_threads(1)
    print(every_strategy(repeats), the_default(repeats), sep="\n\n", flush=True)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}"


if __name__ == "__main__":
    main()
