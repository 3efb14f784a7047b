"""Draws docs/figures/anchored.png: what Anchored looks at, and what its parts contribute.

``.venv/bin/python benchmarks/anchored_figure.py`` takes about three minutes. Left: one suggestion
in two dimensions, with the candidates of every family. Right: runs on Levy's function of 100
variables, the whole strategy and parts of it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from transect import GPUCB, Anchored, LogEI, RandomSearch, Surrogate, minimize
from transect._array import Host
from transect.anchors import FAMILIES, best_points, search_anchored
from transect.experiments.pictures import BLACK, BLUE, DPI, GREEN, VERMILLION
from transect.plots import require_matplotlib
from transect.problems import levy
from transect.strategies import Strategy

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "anchored.png"
FAMILY_COLOURS = {"moves": BLUE, "jumps": GREEN, "ends": VERMILLION, "lines": BLACK, "box": "0.6"}
D, EVALS, SEEDS = 100, 200, 5
LINES: dict[str, tuple[Strategy, str]] = {
    "Anchored": (Anchored(), VERMILLION),
    "climbs only": (Anchored(evolution=0.0), BLUE),
    "twice as much evolution": (Anchored(evolution=1.0), GREEN),
    "GP-UCB, practical β": (GPUCB(beta="practical"), BLACK),
    "random search": (RandomSearch(), "0.6"),
}


def suggestion(ax: Any) -> None:
    """Candidates of one suggestion on the expected improvement, in two dimensions."""
    rng = np.random.default_rng(3)
    X = np.concatenate([np.zeros((1, 2)), rng.uniform(-1.0, 1.0, (11, 2))])
    y = np.array([-levy(2, shift_seed=2)(x) for x in X])
    gp = Surrogate(prior="shrunk").advance(None, X, y).gp
    anchors, best = best_points(gp, 3)
    acquisition = LogEI(best)
    axis = np.linspace(-1.0, 1.0, 121)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    value = np.asarray(acquisition.value(*gp.posterior(grid.reshape(-1, 2)))).reshape(121, 121)
    ax.contourf(axis, axis, np.maximum(value, value.max() - 6.0), 14, cmap="Greys", alpha=0.55)
    for name, (draw, count) in FAMILIES.items():
        points = np.clip(draw(anchors, gp, rng, count // 2), -1.0, 1.0)
        ax.plot(*points.T, ".", color=FAMILY_COLOURS[name], markersize=4, label=name)
    ax.plot(*X.T, "x", color="black", markersize=5, label="evaluated")
    ax.plot(*anchors.T, "o", color="black", markersize=8, fillstyle="none", label="anchors")
    found = search_anchored(gp, acquisition, anchors, rng)
    ax.plot(*found.x, "*", color="black", markersize=13, label="suggested")
    ax.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), xlabel="x₁", ylabel="x₂")
    ax.set_title("One suggestion in two dimensions", fontsize=10)
    ax.legend(fontsize=7, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)


def best_so_far(strategy: Strategy) -> Host:
    """Median over the seeds (EVALS,), with the middle of the box first for all."""
    curves = []
    for seed in range(SEEDS):
        f = levy(D, shift_seed=seed, shift=0.8)
        result: Any = minimize(f, f.box, EVALS, strategy, seed=seed, x0=np.zeros(D), progress=False)
        curves.append(np.minimum.accumulate(result.func_vals))
    return np.asarray(np.median(curves, axis=0))


def runs(ax: Any) -> None:
    curves = {name: best_so_far(strategy) for name, (strategy, _) in LINES.items()}
    below = math.inf
    for name in sorted(curves, key=lambda name: -curves[name][-1]):
        curve, colour = curves[name], LINES[name][1]
        ax.plot(np.arange(1, EVALS + 1), curve, color=colour, linewidth=1.5)
        below = min(curve[-1], below - 22.0)  # labels do not run into each other
        ax.text(EVALS + 3, below, name, color=colour, fontsize=8, va="center")
    ax.set(xlim=(1, EVALS), xlabel="evaluations", ylabel="best value, median of 5 seeds")
    ax.set_title("Levy's function of 100 variables, optimum up to 0.8 off the middle", fontsize=10)
    ax.grid(color="0.9", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def main() -> None:
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 4.6))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    suggestion(left)
    runs(right)
    for ax in (left, right):
        ax.tick_params(labelsize=8)
    figure.subplots_adjust(left=0.06, right=0.87, top=0.92, bottom=0.2, wspace=0.22)
    figure.savefig(TARGET, dpi=DPI)
    print(TARGET)


if __name__ == "__main__":
    main()
