"""What a time limit does: whether suggestions keep to it, and what their quality loses.

Prints two tables in Markdown and draws the second one, in under six minutes on two cores. The
first: many evaluations are told at once, then points are asked for within a limit: how long it
takes, and how many come within 1.1 times the limit and 20 ms. The second: how good the points
are, by the upper confidence bound of the model that there is without a limit, where 0 is the
median of random points and 1 the point that is suggested without a limit.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from transect import (
    GPUCB,
    MSUCB,
    REMBO,
    SRE,
    UCB,
    Anchored,
    DropoutUCB,
    HeSBO,
    LineBO,
    Optimizer,
)
from transect._array import Host
from transect._clock import deadline_in
from transect._threads import quiet_blas
from transect.experiments.pictures import COLOURS, DPI, fewer_colours, plain_axes
from transect.experiments.table import markdown_table
from transect.pace import prepare
from transect.problems import Problem, ackley
from transect.strategies import History, Proposal, Setting, Strategy

STRATEGIES: dict[str, Strategy] = {
    "Anchored": Anchored(),
    "GP-UCB": GPUCB(beta="practical"),
    "MS-UCB, d = 5": MSUCB(d=5),
    "MS-UCB, d = 5, α = 1": MSUCB(d=5, alpha=1),
    "LineBO": LineBO(),
    "DropoutUCB": DropoutUCB(),
    "SRE, d = 10": SRE(d=10),
    "REMBO, d = 10": REMBO(d=10),
    "HeSBO, d = 10": HeSBO(d=10),
}
JUDGED = ("GP-UCB", "MS-UCB, d = 5, α = 1")
STEP = 100  # the suggestion that is judged; the other evaluations are from elsewhere
RANDOM = 1000  # points whose median is 0


@dataclass(frozen=True)
class Plan:
    """What is measured: sizes are (D, n), limits seconds."""

    sizes: tuple[tuple[int, int], ...] = ((100, 200), (1000, 500), (5000, 1000))
    limits: tuple[float, ...] = (0.05, 0.2, 1.0)
    asks: int = 20
    judged_sizes: tuple[tuple[int, int], ...] = ((100, 200), (5000, 1000))
    judged_limits: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
    seeds: int = 5


QUICK = Plan(((20, 60), (200, 100)), (0.02, 0.1), 3, ((20, 60), (200, 100)), (0.02, 0.1, 0.5), 2)


def observations(f: Problem, n: int, seed: int) -> tuple[Host, Host]:
    """N points and values to maximise: uniform ones, then as many around the best of those."""
    rng = np.random.default_rng([f.D, n, seed])
    X = rng.uniform(-1.0, 1.0, (n, f.D))
    values = np.array([-f(x) for x in X[: n // 2]])
    moved = rng.random((n - n // 2, f.D)) < min(1.0, 10 / f.D)
    X[n // 2 :] = np.where(moved, X[n // 2 :], X[np.argmax(values)])
    return X, np.append(values, [-f(x) for x in X[n // 2 :]])


# --- do suggestions keep to it? ------------------------------------------------------------


def told(strategy: Strategy, f: Problem, n: int, asks: int) -> Optimizer:
    """An optimizer with n evaluations and no suggestion yet.

    Points from elsewhere mean nothing to an embedding: those strategies draw theirs themselves.
    """
    embeds = isinstance(strategy, SRE | REMBO | HeSBO)
    n_init = n if embeds else 1
    opt = Optimizer(f.box, strategy, seed=0, n_init=n_init, max_evals=n + asks, suggest_time=1.0)
    if embeds:
        for _ in range(n):
            trial = opt.ask()
            opt.tell(trial, f(trial.x))
    else:
        for x, value in zip(*observations(f, n, 0), strict=True):
            opt.tell(x, -value)
    return opt


def overrun(plan: Plan) -> Iterator[list[str]]:
    """Rows of the table: a strategy in one size."""
    for D, n in plan.sizes:
        f = ackley(D, shift_seed=0)
        for name, strategy in STRATEGIES.items():
            start = told(strategy, f, n, plan.asks)
            row = [name, f"{D}, {n}"]
            for limit in plan.limits:
                opt = copy.deepcopy(start)
                opt.suggest_time = limit
                seconds = [_timed_ask(opt, f) for _ in range(plan.asks)]
                kept = np.mean(np.array(seconds) <= 1.1 * limit + 0.02)
                median, worst = statistics.median(seconds), max(seconds)
                row.append(f"{1e3 * median:.0f} / {1e3 * worst:.0f}, {kept:.0%}")
            yield row


def _timed_ask(opt: Optimizer, f: Problem) -> float:
    start = time.perf_counter()
    trial = opt.ask()
    seconds = time.perf_counter() - start
    opt.tell(trial, f(trial.x))
    return seconds


# --- how good are they? --------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A strategy in one size, with the model of the step before or with none; its scores."""

    name: str
    size: tuple[int, int]  # (D, n)
    prepared: bool
    scores: Host  # (limits, seeds)


def judge(plan: Plan) -> Iterator[Case]:
    for size in plan.judged_sizes:
        for name in JUDGED:
            each = [_scores(STRATEGIES[name], *size, plan, seed) for seed in range(plan.seeds)]
            for prepared in (True, False):
                scores = np.array([found[prepared] for found in each]).T
                yield Case(name, size, prepared, scores)


def _scores(strategy: Any, D: int, n: int, plan: Plan, seed: int) -> dict[bool, list[float]]:
    """Scores for every limit: with the model and tables of the step before, and with nothing."""
    X, y = observations(ackley(D, shift_seed=seed), n, seed)
    nothing = replace(strategy.start(Setting(D, seed)), t=STEP - 2)
    with quiet_blas():
        before = _suggest(strategy, nothing, X[:-1], y[:-1], seed).state
        best = _suggest(strategy, _copy(before), X, y, seed)
        gp, bound = best.state.model.gp, UCB(best.info["beta"])

        def value(points: Host) -> Host:
            found: Host = bound.value(*gp.posterior(points))
            return found

        random = np.random.default_rng([seed, D]).uniform(-1.0, 1.0, (RANDOM, D))
        zero, one = float(np.median(value(random))), float(value(best.x[None, :])[0])
        found: dict[bool, list[float]] = {True: [], False: []}
        for limit in plan.judged_limits:
            for prepared in found:
                state = _copy(before) if prepared else strategy.start(Setting(D, seed))
                state = replace(state, t=STEP - 1)
                x = _suggest(strategy, state, X, y, seed, limit).x
                found[prepared].append((float(value(x[None, :])[0]) - zero) / (one - zero))
    return found


def _suggest(
    strategy: Strategy, state: Any, X: Host, y: Host, seed: int, limit: float | None = None
) -> Proposal:
    history = History(X, y, np.zeros((0, X.shape[1])))
    rng = np.random.default_rng([seed, STEP])
    return strategy.suggest(state, history, rng, deadline_in(limit))


def _copy(state: Any) -> Any:
    """A state with tables of its own; the model never changes."""
    return copy.deepcopy(state, {id(part): part for part in (state.model, state.model.gp)})


def _cells(case: Case) -> list[str]:
    quartiles = np.quantile(case.scores, (0.25, 0.5, 0.75), axis=1).T
    title = "known" if case.prepared else "none"
    cells = [f"{middle:.3f} ({low:.3f} to {high:.3f})" for low, middle, high in quartiles]
    return [case.name, f"{case.size[0]}, {case.size[1]}", title, *cells]


def draw(cases: list[Case], limits: tuple[float, ...], path: Path) -> None:
    """Median and quartiles of the scores against the limit, a panel for every size."""
    from matplotlib.figure import Figure

    sizes = list(dict.fromkeys(case.size for case in cases))
    canvas = Figure(figsize=(3.4 * len(sizes) + 0.5, 3.9), layout="constrained")
    axes = canvas.subplots(1, len(sizes), squeeze=False)[0]
    for ax, size in zip(axes, sizes, strict=True):
        for case in (c for c in cases if c.size == size):
            _draw_case(ax, case, limits)
        ax.axhline(1.0, color="0.6", linewidth=0.8, zorder=2)
        ax.set_xscale("log")
        ax.set_xticks(limits, [f"{limit:g}" for limit in limits])
        ax.minorticks_off()
        ax.set_xlabel("seconds a suggestion may take", fontsize=9)
        ax.set_title(f"D = {size[0]}, {size[1]} observations", fontsize=9)
        plain_axes(ax)
    axes[0].set_ylabel("upper confidence bound\n(0: random, 1: no limit)", fontsize=9)
    canvas.suptitle(
        f"What a time limit costs: median and quartiles of {cases[0].scores.shape[1]} repeats",
        fontsize=11,
    )
    handles, titles = axes[0].get_legend_handles_labels()
    canvas.legend(
        handles, titles, loc="outside lower center", ncols=2, frameon=False, fontsize=8
    )  # fmt: skip
    canvas.savefig(path, dpi=DPI)
    fewer_colours(path)


def _draw_case(ax: Any, case: Case, limits: tuple[float, ...]) -> None:
    colour = COLOURS["gp-ucb" if case.name == "GP-UCB" else "ms-ucb"]
    low, middle, high = np.quantile(case.scores, (0.25, 0.5, 0.75), axis=1)
    known = "model of the step before" if case.prepared else "all points told at once"
    ax.fill_between(limits, low, high, color=colour, alpha=0.13, linewidth=0, antialiased=False)
    ax.plot(
        limits, middle, label=f"{case.name}: {known}", color=colour, marker="o", markersize=3,
        linestyle="-" if case.prepared else "--", linewidth=1.6, zorder=3,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, half a minute")
    parser.add_argument("--out", type=Path, help="the picture (default: none if --quick)")
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else Plan()
    out = arguments.out
    if out is None and not arguments.quick:
        out = Path(__file__).parents[1] / "docs" / "figures" / "time-limits.png"
    prepare()
    limits = [f"{limit:g} s" for limit in plan.limits]
    print("ms a suggestion: median / worst, and how many keep to the limit\n")
    print(markdown_table(["strategy", "D, n", *limits], overrun(plan)), flush=True)
    cases = list(judge(plan))
    limits = [f"{limit:g} s" for limit in plan.judged_limits]
    print(f"\nHow good the point is: median (quartiles) of {plan.seeds} repeats\n")
    print(markdown_table(["strategy", "D, n", "model", *limits], map(_cells, cases)))
    if out is not None:
        draw(cases, plan.judged_limits, out)
        print(f"\n{out}")


if __name__ == "__main__":
    main()
