"""What the learning tasks cost: evaluations, and MS-UCB's suggestions in 5001 dimensions.

Prints one JSON object. Needs MNIST and the stand-in for Gisette (see TRANSECT_DATA); networks are
trained with NumPy, and on a GPU where torch finds one, which then also makes suggestions.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from transect import MSUCB, Optimizer
from transect._array import Host
from transect.experiments.task import suggest_evals
from transect.problems import network, ramp
from transect.problems.network import NetworkLoss
from transect.problems.ramp import RampLoss

D, T, N_INIT = 5001, 300, 20


def median_ms(call: Callable[[], object], repeats: int = 15) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)


def ramp_evaluations() -> dict[str, float]:
    """One evaluation at 6000 × 5000, all coordinates new or only k of them."""
    rng = np.random.default_rng(0)
    sparse = ramp(D).objective
    assert isinstance(sparse, RampLoss)
    scaled = sparse.slope * sparse.columns.toarray().T + sparse.offset
    dense = RampLoss(scaled, sparse.y)
    found: dict[str, float] = {}
    for name, loss in (("sparse", sparse), ("dense", dense)):
        points = iter(rng.uniform(-1.0, 1.0, (16, D)))
        found[f"{name}_ms"] = median_ms(partial(_next_value, loss, points))
        u = rng.uniform(-1.0, 1.0, D)
        for k in (1, 10, 100):
            found[f"{name}_{k}_changed_ms"] = median_ms(partial(_change, loss, u, k, rng), 45)
    found["product_dense_ms"] = median_ms(lambda: scaled @ u[:-1])
    return found


def _next_value(loss: RampLoss, points: Iterator[Host]) -> None:
    loss(next(points))


def _change(loss: RampLoss, u: Host, k: int, rng: np.random.Generator) -> None:
    u[rng.integers(0, D - 1, k)] = rng.uniform(-1.0, 1.0, k)
    loss(u)


def whole_run(limit: str, device: str | None = None) -> dict[str, float]:
    """MS-UCB on the ramp loss, in a process of its own for its peak memory."""
    command = [sys.executable, __file__, "--run", limit]
    if device:
        command += ["--device", device]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(out.stdout)
    return found


def run_here(limit: str, device: str | None) -> dict[str, float]:
    problem = ramp(D)
    budget = {"none": None, "figure": suggest_evals(D), "least": 1000}[limit]
    strategy = MSUCB(d=10, n0=1, alpha=1)
    bounds = np.tile([-1.0, 1.0], (D, 1))
    limits: dict[str, Any] = {"n_init": N_INIT, "max_evals": T, "suggest_evals": budget}
    opt = Optimizer(bounds, strategy, seed=0, device=device, **limits)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    suggesting, evaluating = [], []
    for _ in range(T):
        start = time.perf_counter()
        trial = opt.ask()
        asked = time.perf_counter()
        value = problem(trial.x)
        evaluated = time.perf_counter()
        opt.tell(trial, value)
        suggesting.append(asked - start + time.perf_counter() - evaluated)
        evaluating.append(evaluated - asked)
    return {
        "suggestion_mean_ms": 1e3 * statistics.mean(suggesting[N_INIT:]),
        "suggestion_median_ms": 1e3 * statistics.median(suggesting[N_INIT:]),
        "suggestion_slowest_ms": 1e3 * max(suggesting),
        "objective_mean_ms": 1e3 * statistics.mean(evaluating),
        "subspaces": float(opt.trials[-1].info["subspaces"]),
        "slices": float(opt.trials[-1].info["slices"]),
        "memory_before_GB": before * 1024 / 1e9,
        "peak_memory_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "best": float(opt.best.value if opt.best and opt.best.value is not None else "nan"),
    }


def networks() -> dict[str, float]:
    """Seconds an evaluation; on a GPU also 70 together, of a whole batch."""
    rng = np.random.default_rng(0)
    found: dict[str, float] = {}
    for h in (10, 50):
        for data in ("digits", "mnist"):
            problem = network(10 * h, data=data)
            u = rng.uniform(-1.0, 1.0, 10 * h)
            problem(u)
            repeats = 9 if data == "digits" else 3
            found[f"{data}_h{h}_s"] = median_ms(partial(problem, u), repeats) / 1e3
        found |= _on_gpu(h)
    return found


def there_is_a_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def _on_gpu(h: int) -> dict[str, float]:
    if not there_is_a_gpu():
        return {}
    loss = network(10 * h, device="cuda").objective
    assert isinstance(loss, NetworkLoss)
    found = {}
    for B in (1, 70):
        points = np.random.default_rng(0).uniform(-1.0, 1.0, (B, 10 * h))
        draws = [(0, i) for i in range(B)]
        once = replace(loss.plan, epochs=1)
        loss.plan, plan = once, loss.plan
        loss.together(points, draws)  # records the launches
        loss.plan = plan
        call = partial(loss.together, points, draws)
        found[f"mnist_h{h}_gpu_{B}_together_s"] = median_ms(call, 3) / 1e3
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", help="none, figure or least: one run, in this process")
    parser.add_argument("--device", help="a torch device that makes its suggestions")
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(run_here(arguments.run, arguments.device)))
        return
    # first, while this process is small: a child's peak memory starts from its parent's
    runs = {limit: whole_run(limit) for limit in ("none", "figure", "least")}
    if there_is_a_gpu():
        runs["none, on the GPU"] = whole_run("none", "cuda")
    report = {
        "ms_ucb": runs,
        "ramp": ramp_evaluations(),
        "network": networks(),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
