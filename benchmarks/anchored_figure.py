"""Draws docs/figures/anchored.png and looks.png: what Anchored looks at, and how far it goes.

``.venv/bin/python benchmarks/anchored_figure.py`` takes half a minute. The first, left: one
suggestion in two dimensions, with the candidates of every family; right: the steps of a run in 100
dimensions. The second: runs that take ripples for noise, with and without attempts close by.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from transect import Anchored, LogEI, Optimizer, Surrogate
from transect.anchors import ANCHORS, FAMILIES, best_points, search_anchored
from transect.experiments.pictures import BLUE, DPI, GREEN, ORANGE, VERMILLION
from transect.plots import best_so_far, require_matplotlib
from transect.problems import ackley, levy, rastrigin
from transect.strategies import attempts
from transect.strategies.choice import FAR

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
FAMILY_COLOURS = {"moves": BLUE, "box": "0.6"}
KINDS = {  # by their name here, and in the docs
    "climbs": ("climbs", BLUE),
    "far climbs": ("far climbs", ORANGE),
    "evolution": ("random steps (evolution)", GREEN),
    "slices": ("insured steps (slices)", VERMILLION),
}
D, EVALS = 100, 200
FEW_ANCHORS, SHARE = 3, 4  # drawn: so many anchors, one in so many of the candidates
RIPPLED, RUNS = 20, 5  # variables of Rastrigin's function, and runs with other optima


def suggestion(ax: Any) -> None:
    """Candidates of one suggestion on the expected improvement, in two dimensions."""
    rng = np.random.default_rng(3)
    X = np.concatenate([np.zeros((1, 2)), rng.uniform(-1.0, 1.0, (11, 2))])
    y = np.array([-levy(2, shift_seed=2)(x) for x in X])
    gp = Surrogate(prior="shrunk").advance(None, X, y).gp
    anchors, best = best_points(gp, FEW_ANCHORS)
    acquisition = LogEI(best)
    axis = np.linspace(-1.0, 1.0, 121)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    value = np.asarray(acquisition.value(*gp.posterior(grid.reshape(-1, 2)))).reshape(121, 121)
    ax.contourf(axis, axis, np.maximum(value, value.max() - 6.0), 14, cmap="Greys", alpha=0.55)
    for name, (draw, count) in FAMILIES.items():
        points = np.clip(draw(anchors, rng, count // SHARE), -1.0, 1.0)
        ax.plot(
            *points.T, ".", color=FAMILY_COLOURS[name], markersize=4, label=f"candidates, {name}"
        )
    ax.plot(*X.T, "x", color="black", markersize=5, label="evaluated")
    ax.plot(*anchors.T, "o", color="black", markersize=8, fillstyle="none", label="anchors")
    found = search_anchored(gp, acquisition, anchors, rng)
    ax.plot(*found.x, "*", color="black", markersize=13, label="suggested")
    ax.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), xlabel="x₁", ylabel="x₂")
    ax.set_title("One suggestion in two dimensions", fontsize=10)
    caption = (
        f"{FEW_ANCHORS} anchors instead of {ANCHORS}; a quarter of the candidates is drawn;\n"
        "contours: log expected improvement, darker where it is larger"
    )
    ax.text(0.5, -0.3, caption, transform=ax.transAxes, ha="center", va="top", fontsize=8)
    ax.legend(fontsize=7, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)


def steps(ax: Any) -> None:
    """How far every point of a run is from the best one before it, and whether it was better."""
    f = ackley(D, shift_seed=1)
    opt = Optimizer(f.box, Anchored(), seed=0, max_evals=EVALS)
    points: dict[str, list[tuple[int, float, bool]]] = {kind: [] for kind in KINDS}
    for i in range(EVALS):
        best, trial = opt.best, opt.ask()
        value = f(trial.x)
        opt.tell(trial, value)
        if best is not None and best.value is not None and "family" in trial.info:
            family = trial.info["family"]
            far = trial.info.get("kappa", 0.0) >= FAR[0]
            kind = family if family in KINDS else "far climbs" if far else "climbs"
            length = float(np.linalg.norm(trial.x - best.x)) / math.sqrt(D)
            points[kind].append((i, length, value < best.value))
    for kind, (title, colour) in KINDS.items():
        if not points[kind]:
            continue
        at, length, better = np.array(points[kind]).T
        ax.plot(at, length, "o", color=colour, markersize=3.5, fillstyle="none", label=title)
        ax.plot(at[better > 0], length[better > 0], "o", color=colour, markersize=5)
    ax.set_yscale("log")
    ax.set(xlabel="evaluations", ylabel="rms distance to the best point before")
    ax.set_title(f"Steps of a run in {D} dimensions; filled: better than all before", fontsize=10)
    ax.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
    ax.grid(color="0.9", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def best_values(seed: int) -> list[float]:
    """Of a run on Rastrigin's function, after every evaluation."""
    f = rastrigin(RIPPLED, shift=0.8, shift_seed=seed)
    opt = Optimizer(f.box, Anchored(), seed=seed, max_evals=EVALS)
    for _ in range(EVALS):
        trial = opt.ask()
        opt.tell(trial, f(trial.x))
    best: list[float] = best_so_far(np.array([trial.value for trial in opt.trials])).tolist()
    return best


def looks(ax: Any) -> None:
    """Runs on Rastrigin's function with attempts close to the best point, and without."""
    with patch.object(attempts, "is_lost", lambda known, hyper: False):
        without = [best_values(seed) for seed in range(RUNS)]
    kinds = {
        "without": (without, "0.6", "--"),
        "as it is": ([best_values(seed) for seed in range(RUNS)], BLUE, "-"),
    }
    for title, (runs, colour, style) in kinds.items():
        for i, best in enumerate(runs):
            ax.plot(best, style, color=colour, linewidth=1.3, label=None if i else title)
    ax.set(xlabel="evaluations", ylabel="best value so far", ylim=(0.0, None))
    ax.set_title(f"Rastrigin's function, {RIPPLED} variables, {RUNS} runs", fontsize=10)
    ax.legend(title="attempts close to the best point", fontsize=8, title_fontsize=8, frameon=False)
    ax.grid(color="0.9", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def main() -> None:
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 4.9))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    suggestion(left)
    steps(right)
    for ax in (left, right):
        ax.tick_params(labelsize=8)
    figure.subplots_adjust(left=0.06, right=0.98, top=0.92, bottom=0.27, wspace=0.22)
    figure.savefig(FIGURES / "anchored.png", dpi=DPI)
    figure = Figure(figsize=(6.2, 3.6), layout="constrained")
    looks(figure.subplots())
    figure.savefig(FIGURES / "looks.png", dpi=DPI)
    print(FIGURES)


if __name__ == "__main__":
    main()
