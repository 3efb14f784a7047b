"""Draws docs/figures/theory.png: how near slices are to the optimum, and what β they cost.

``.venv/bin/python benchmarks/theory_figure.py`` takes about a minute. Left: the distance from z*
to the nearest of m slices, sampled, and its bounds. Right: sqrt(β_t) as published and corrected.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from transect._array import Host
from transect.experiments.pictures import BLACK, BLUE, DPI, GREEN, VERMILLION
from transect.plots import require_matplotlib
from transect.theory import (
    corner_distance,
    corrected_beta,
    gp_ucb_beta,
    ms_ucb_beta,
    published_distance,
    slice_count,
    sup_norm_distance,
)

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "theory.png"
D, FREE, DELTA = 100, 5, 0.1
N = D - FREE  # fixed coordinates
COUNTS = np.unique(np.geomspace(1, 1e5, 41).round().astype(int))
REPEATS = 200


def nearest(rng: np.random.Generator) -> Host:
    """Distances (3, counts) to the nearest of the first m slices: from a corner, from a uniform
    point and from the centre.
    """
    places = np.stack([np.ones(N), rng.uniform(-1.0, 1.0, N), np.zeros(N)]).astype(np.float32)
    z = rng.random((int(COUNTS[-1]), N), dtype=np.float32) * 2 - 1
    distance = np.array([np.sum(np.abs(z - place), axis=1) for place in places])
    return np.minimum.accumulate(distance, axis=1)[:, COUNTS - 1]


def plain(ax: Any, title: str, xlabel: str) -> None:
    ax.set_xscale("log")
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(xlabel, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.set_axisbelow(True)
    ax.grid(color="0.9", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def write(ax: Any, x: float, y: float, text: str, colour: str, **kinds: Any) -> None:
    """A label next to its line."""
    kinds = {"ha": "left", "va": "center", **kinds}
    ax.text(x, y, text, color=colour, fontsize=8, **kinds)


def draw_distances(ax: Any) -> None:
    sampled = np.array([nearest(np.random.default_rng(seed)) for seed in range(REPEATS)])
    high = np.quantile(sampled, 1.0 - DELTA / 2.0, axis=0)  # (3, counts)
    ax.axhline(2 * N, color="0.6", linewidth=0.9, linestyle=":")
    write(ax, COUNTS[-1], 2 * N + 6, "as far apart as two points can be, 2n", "0.45", ha="right")
    bounds = [
        ("by cubes", sup_norm_distance, 1.0, BLUE, "-", 183),
        ("exact, from a corner", corner_distance, 1.0, GREEN, "-", 91),
        ("printed, main text", published_distance, 1.0, VERMILLION, "-", 59),
        ("printed, proof", published_distance, 0.5, VERMILLION, "--", 25),
    ]
    for label, bound, share, colour, dash, y in bounds:
        values = [share * bound(N, int(m), DELTA) for m in COUNTS]
        ax.plot(COUNTS, values, color=colour, linestyle=dash, linewidth=1.8)
        write(ax, COUNTS[-1], y, label, colour, ha="right")
    for values, place, marker in zip(
        high, ("a corner", "uniform", "the centre"), "os^", strict=True
    ):
        ax.plot(
            COUNTS[::4], values[::4], linestyle="none", marker=marker, markersize=4,
            color=BLACK, markerfacecolor="white", label=place,
        )  # fmt: skip
    ax.legend(
        frameon=False, fontsize=8, title="95 % quantile of samples, z* in", title_fontsize=8,
        loc="center left", bbox_to_anchor=(0.0, 0.70), ncols=3,
        handletextpad=0.1, columnspacing=0.8, alignment="left",
    )  # fmt: skip
    ax.set_ylim(0, 205)
    ax.set_ylabel("ℓ1 distance from z* to the nearest slice", fontsize=9)
    plain(ax, f"How near the slices are (n = {N}, δ = {DELTA})", "slices m")


def draw_betas(ax: Any) -> None:
    t = [int(k) for k in np.unique(np.geomspace(1, 1000, 49).round())]
    box = [math.sqrt(gp_ucb_beta(k, D, DELTA)) for k in t]
    ax.plot(t, box, color=BLACK, linewidth=1.8)
    write(ax, 30, 54, "GP-UCB", BLACK, ha="right")
    for alpha, colour in ((N - 1, GREEN), (1, BLUE), (0, BLUE)):
        m = [slice_count(k, 1, alpha) for k in t]
        beta = [corrected_beta(k, D, FREE, count, DELTA) for k, count in zip(t, m, strict=True)]
        ax.plot(t, np.sqrt(beta), color=colour, linewidth=1.8)
    write(ax, 30, 30, f"corrected, α = n - 1 = {N - 1}", GREEN, ha="right")
    write(ax, t[-1], 20, "corrected, α = 1 and α = 0", BLUE, ha="right")
    published = [math.sqrt(ms_ucb_beta(k, D, FREE, DELTA)) for k in t]
    ax.plot(t, published, color=VERMILLION, linewidth=1.8, linestyle="--")
    write(ax, t[-1], 9, "MS-UCB as printed, every α", VERMILLION, ha="right")
    ax.set_ylim(0, 70)
    ax.set_ylabel("sqrt(β_t)", fontsize=9)
    plain(ax, f"What many slices cost (D = {D}, d = {FREE}, δ = {DELTA})", "step t")


def main() -> None:
    require_matplotlib()
    from matplotlib.figure import Figure
    from PIL import Image  # which matplotlib brings

    figure = Figure(figsize=(9.2, 3.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_distances(left)
    draw_betas(right)
    figure.savefig(TARGET, dpi=DPI)
    with Image.open(TARGET) as picture:
        reduced = picture.convert("RGB").quantize(256)
    reduced.save(TARGET, optimize=True)
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
