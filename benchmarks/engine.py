"""Speed and memory of the engine, beside BoTorch on the same data: ``make bench-engine``.

Prints one JSON object. Every ratio is measured in this one run: the peer and we get the same
observations, and where acquisition values are compared, the same model (BoTorch's fitted
hyper-parameters), judged by BoTorch's own acquisition function. Times are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

import transect
from transect import (
    MSUCB,
    UCB,
    GaussianProcess,
    Hyperparameters,
    LogEI,
    Slices,
    Subspace,
    Surrogate,
)
from transect._threads import quiet_blas
from transect.engine import search_slices, search_subspace
from transect.problems import ackley
from transect.screen import Screen
from transect.strategies import History, Setting

SIZES = ((50, 100), (200, 200), (1000, 300))  # (D, n)
SAME_MODEL = Surrogate(kernel="rbf", ard=True, prior="dimension-scaled")  # BoTorch's default


def median_seconds(job: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median time of ``job`` and its last result; the first call only warms up."""
    job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = job()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def observations(D: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """N points in [-1, 1]^D and standardised values: uniform ones, and half of them around
    the best of those, as they stand in the middle of a run.
    """
    rng = np.random.default_rng([D, n, seed])
    f = ackley(D, shift_seed=seed)
    X = rng.uniform(-1, 1, (n, D))
    values = np.array([-f(x) for x in X[: n // 2]])
    best = X[np.argmax(values)]
    moved = rng.random((n - n // 2, D)) < min(1.0, 10 / D)
    X[n // 2 :] = np.where(moved, X[n // 2 :], best)
    y = np.array([-f(x) for x in X])
    return X, (y - y.mean()) / y.std()


# --- BoTorch -------------------------------------------------------------------------


class Peer:
    """BoTorch's default model of the same data, on the unit cube."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        import torch
        from botorch.models import SingleTaskGP

        self.X, self.y = torch.tensor((X + 1) / 2), torch.tensor(y)[:, None]
        self.D = X.shape[1]
        self.bounds = torch.stack([torch.zeros(self.D), torch.ones(self.D)]).double()
        # The values are standardised already, so the default transform would change nothing.
        self.model = SingleTaskGP(self.X, self.y, outcome_transform=None)

    def fit(self) -> None:
        from botorch.fit import fit_gpytorch_mll
        from gpytorch.mlls import ExactMarginalLogLikelihood

        fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))

    def log_ei(self) -> Any:
        from botorch.acquisition import LogExpectedImprovement

        return LogExpectedImprovement(self.model, best_f=self.y.max())

    def ucb(self, beta: float) -> Any:
        from botorch.acquisition import UpperConfidenceBound

        return UpperConfidenceBound(self.model, beta=beta)

    def maximise(self, acquisition: Any) -> float:
        from botorch.optim import optimize_acqf

        _, value = optimize_acqf(
            acquisition, bounds=self.bounds, q=1, num_restarts=4, raw_samples=512
        )
        return float(value)

    def maximise_on_slices(self, acquisition: Any, z: np.ndarray) -> float:
        from botorch.optim import optimize_acqf_mixed

        fixed = [{i: float((v + 1) / 2) for i, v in enumerate(row)} for row in z]
        _, value = optimize_acqf_mixed(
            acquisition,
            bounds=self.bounds,
            q=1,
            num_restarts=4,
            raw_samples=512,
            fixed_features_list=fixed,
        )
        return float(value)

    def value(self, acquisition: Any, x: np.ndarray) -> float:
        import torch

        with torch.no_grad():
            return float(acquisition(torch.tensor((x + 1) / 2)[None, :]))

    def as_ours(self) -> GaussianProcess:
        """The same model as one of our Gaussian processes."""
        hyper = Hyperparameters(
            transect.RBF(),
            2.0 * self.model.covar_module.lengthscale.detach().numpy().reshape(-1),
            1.0,
            float(self.model.likelihood.noise.detach()),
            float(self.model.mean_module.constant.detach()),
        )
        return GaussianProcess.from_data(hyper, 2.0 * self.X.numpy() - 1.0, self.y.numpy()[:, 0])


# --- the measurements ----------------------------------------------------------------


def suggestion_vs_botorch(repeats: int) -> list[dict[str, Any]]:
    """Fit and maximise over the box: the same model, and our default model."""
    rows = []
    for D, n in SIZES:
        cases = [_one_suggestion(D, n, seed) for seed in range(repeats)]
        row: dict[str, Any] = {"D": D, "n": n}
        for key in ("botorch_s", "same_model_s", "default_model_s"):
            row[key] = statistics.median(c[key] for c in cases)
        row["ratio_same_model"] = row["botorch_s"] / row["same_model_s"]
        row["ratio_default_model"] = row["botorch_s"] / row["default_model_s"]
        row["log_ei_ours_minus_botorch"] = [c["gain"] for c in cases]
        row["log_posterior_ours_minus_botorch"] = [c["fit_gain"] for c in cases]
        rows.append(row)
    return rows


def _one_suggestion(D: int, n: int, seed: int) -> dict[str, float]:
    X, y = observations(D, n, seed)
    peer = Peer(X, y)
    start = time.perf_counter()
    peer.fit()
    theirs = peer.maximise(peer.log_ei())
    botorch_s = time.perf_counter() - start

    def suggest(surrogate: Surrogate) -> Callable[[], Any]:
        def job() -> Any:
            gp = surrogate.advance(None, X, y).gp
            rng = np.random.default_rng(seed)
            best = LogEI(float(gp.y.max()))
            return gp, search_subspace(Subspace.whole(D), gp, best, rng)

        return job

    with quiet_blas():
        same_s, (gp, _) = median_seconds(suggest(SAME_MODEL), 5)
        default_s, _ = median_seconds(suggest(Surrogate()), 5)
        gp_theirs = peer.as_ours()
        rng = np.random.default_rng(seed)
        found = search_subspace(Subspace.whole(D), gp_theirs, LogEI(float(y.max())), rng)
    return {
        "botorch_s": botorch_s,
        "same_model_s": same_s,
        "default_model_s": default_s,
        "gain": peer.value(peer.log_ei(), found.x) - theirs,
        "fit_gain": _log_posterior(gp, D) - _log_posterior(gp_theirs, D),
    }


def _log_posterior(gp: GaussianProcess, D: int) -> float:
    """Likelihood and priors of BoTorch's default model."""
    from transect.likelihood import dimension_scaled

    priors = dimension_scaled(D)
    assert priors.lengthscale is not None
    assert priors.noise is not None
    prior, _ = priors.lengthscale.log_density(np.log(gp.hyper.lengthscale))
    noise, _ = priors.noise.log_density(np.log(gp.hyper.noise))
    return gp.log_likelihood() + prior + noise


def slices_vs_botorch(m: int = 100, D: int = 100, d: int = 5, n: int = 200) -> dict[str, Any]:
    """MS-UCB's step on m slices against optimize_acqf_mixed on the same fixed features."""
    X, y = observations(D, n, 0)
    peer = Peer(X, y)
    peer.fit()
    beta = transect.theory.ms_ucb_beta(m, D, d)
    slices = Slices(D, d, key=1)
    start = time.perf_counter()
    theirs = peer.maximise_on_slices(peer.ucb(beta), slices.z(0, m))
    botorch_s = time.perf_counter() - start
    gp = peer.as_ours()
    with quiet_blas():
        ours_s, found = median_seconds(
            lambda: search_slices(Screen(slices), gp, UCB(beta), m, np.random.default_rng(0)), 15
        )
        refit_s, _ = median_seconds(lambda: Surrogate().advance(None, X, y), 5)
    return {
        "D": D,
        "d": d,
        "n": n,
        "subspaces": m,
        "botorch_s": botorch_s,
        "ours_s": ours_s,
        "ratio": botorch_s / ours_s,
        "ours_with_cold_fit_s": ours_s + refit_s,
        "ratio_with_cold_fit": botorch_s / (ours_s + refit_s),
        "ucb_ours_minus_botorch": peer.value(peer.ucb(beta), found.x) - theirs,
    }


def growth_in_D() -> dict[str, Any]:
    """The same MS-UCB step at D = 5000 and D = 50: cold, following a run, with a refit."""
    seconds: dict[int, dict[str, list[float]]] = {}
    for D in (50, 5000) * 3:  # interleaved, so that a slow moment hits both
        here = seconds.setdefault(D, {"cold": [], "following": [], "refit": []})
        X, y = observations(D, 240, 0)
        strategy = MSUCB(d=5)
        state = replace(strategy.start(Setting(D, 1)), t=99)
        hyper = Hyperparameters(transect.Matern52(), np.asarray(0.5 * D**0.5), 1.0, 1e-4)
        gp = GaussianProcess.from_data(hyper, X[:200], y[:200])
        with quiet_blas():
            for i in range(7):
                start = time.perf_counter()
                rng = np.random.default_rng(i)
                search_slices(Screen(Slices(D, 5, i)), gp, UCB(50.0), 100, rng)
                here["cold"].append(time.perf_counter() - start)
            first = History(X[:199], y[:199], X[:0])
            state = strategy.suggest(state, first, np.random.default_rng(0)).state
            for n in range(200, 240):
                before = state.model.fitted_on
                start = time.perf_counter()
                history = History(X[:n], y[:n], X[:0])
                state = strategy.suggest(state, history, np.random.default_rng(n)).state
                kind = "following" if state.model.fitted_on == before else "refit"
                here[kind].append(time.perf_counter() - start)
    result: dict[str, Any] = {}
    for kind in ("cold", "following", "refit"):
        small, large = (statistics.median(seconds[D][kind]) for D in (50, 5000))
        result[kind] = {"D50_s": small, "D5000_s": large, "ratio": large / small}
    return result


def whole_run(name: str) -> dict[str, Any]:
    """One of the two long runs, in a process of its own for its peak memory."""
    out = subprocess.run(
        [sys.executable, __file__, "--run", name], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(out.stdout)
    return found


def run_here(name: str) -> dict[str, Any]:
    D, d, T = {"run_alpha1": (100, 5, 500), "run_D5000": (5000, 10, 200)}[name]
    f = ackley(D, shift_seed=0)
    inside = 0.0

    def timed(x: np.ndarray) -> float:
        nonlocal inside
        start = time.perf_counter()
        value = f(x)
        inside += time.perf_counter() - start
        return value

    strategy = MSUCB(d=d, n0=1, alpha=1)
    bounds = np.tile([-1.0, 1.0], (D, 1))
    start = time.perf_counter()
    result = transect.minimize(timed, bounds, 20 + T, strategy, seed=0, n_init=20, progress=False)
    seconds = time.perf_counter() - start
    steps = [t.info["seconds"] for t in result.trials]
    return {
        "D": D,
        "d": d,
        "T": T,
        "subspaces": result.trials[-1].info["subspaces"],
        "seconds": seconds,
        "objective_seconds": inside,
        "median_suggestion_s": statistics.median(steps[20:]),
        "slowest_suggestion_s": max(steps),
        "peak_memory_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "best": float(result.fun),
    }


def import_seconds() -> float:
    """Time of ``import transect`` beyond the interpreter's own start."""

    def start(code: str) -> float:
        seconds, _ = median_seconds(lambda: subprocess.run([sys.executable, "-c", code]), 9)
        return seconds

    return start("import transect") - start("pass")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3, help="data sets a size is measured on")
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(run_here(arguments.run)))
        return
    warnings.filterwarnings("ignore", module="botorch|gpytorch|linear_operator")
    import botorch
    import torch

    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "versions": {
            "transect": transect.__version__,
            "numpy": np.__version__,
            "torch": torch.__version__,
            "botorch": botorch.__version__,
        },
        "import_s": import_seconds(),
        "growth_in_D": growth_in_D(),
        "run_alpha1": whole_run("run_alpha1"),
        "run_D5000": whole_run("run_D5000"),
        "suggestion_vs_botorch": suggestion_vs_botorch(arguments.repeats),
        "slices_vs_botorch": slices_vs_botorch(),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
