"""The figure: how far each method has come after how many evaluations, over all tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transect._array import Host
from transect.experiments.pictures import (
    BLACK,
    BLUE,
    BROWN,
    DPI,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    fewer_colours,
    plain_axes,
)
from transect.plots import require_matplotlib

from .standings import covered, mean_curves, shared
from .summary import CHECKPOINTS, Summary
from .tables import JUDGED_AT
from .tasks import N_INIT

APART = 0.035  # labels, at least, in units of the axis


@dataclass(frozen=True)
class Look:
    """How a method is called and drawn; no two look alike, and a library has one colour."""

    title: str
    colour: str
    dashes: str = "-"


LOOKS = {
    "random": Look("random search", GREY, ":"),
    "centre": Look("evolution strategy from the middle", BROWN, "--"),
    "pycma": Look("pycma, first step 0.4", SKY, "--"),
    "pycma-small": Look("pycma, first step 0.1", SKY),
    "optuna-tpe": Look("Optuna, TPE", ORANGE, "--"),
    "optuna-gp": Look("Optuna, GPSampler", ORANGE),
    "turbo": Look("TuRBO-1", GREEN),
    "botorch": Look("BoTorch", BLUE),
    "transect:gp-ucb": Look("transect, GPUCB", BLACK),
    "transect:gp-ucb-log-ei": Look("transect, GPUCB, log EI", BLACK, "--"),
    "transect:ms-ucb": Look("transect, MSUCB", PURPLE),
    "transect:ms-ucb-1-1": Look("transect, MSUCB, (1, 1)", PURPLE, "--"),
    "transect:anchored": Look("transect, Anchored", VERMILLION),
}


def look(method: str) -> Look:
    """Of those that are here; all others look alike, but for their names."""
    return LOOKS.get(method, Look(method, VERMILLION, "-."))


def draw(summary: Summary, judged: str, path: Path) -> None:
    """Mean over the tasks that all methods have; the method that is judged is emphasised.

    Methods that lack more than half of the tasks are left out.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    summary = summary.only(summary.tasks, covered(summary, JUDGED_AT))
    instances = shared(summary, JUDGED_AT) if summary.keys else []
    if not instances:
        raise ValueError(f"no task has runs of all methods with {JUDGED_AT} evaluations")
    last = max(n for n in CHECKPOINTS if shared(summary, n) == instances)
    curves = mean_curves(summary, instances, last)
    evaluations = CHECKPOINTS[: curves.shape[1]]
    canvas = Figure(figsize=(7.8, 4.4), layout="constrained")
    ax = canvas.add_subplot()
    places = spread(curves[:, -1], APART)
    for method, curve, place in zip(summary.methods, curves, places, strict=True):
        _line(ax, method, evaluations, curve, float(place), method == judged)
    ax.axvspan(0, N_INIT, color="0.92", zorder=0, linewidth=0)
    ax.set_xlim(0, last)
    ax.set_ylim(min(0.0, float(places.min())), 1.02)
    ax.set_xlabel("evaluations", fontsize=9)
    ax.set_ylabel("best value so far\n(1: best initial point, 0: best of all methods)", fontsize=9)
    tasks = len({task for task, _ in instances})
    ax.set_title(f"Mean over {tasks} tasks, {len(instances)} runs of each method", fontsize=10)
    plain_axes(ax)
    canvas.savefig(path, dpi=DPI)
    fewer_colours(path)


def _line(
    ax: Any, method: str, x: tuple[int, ...], curve: Host, label_at: float, first: bool
) -> None:
    its = look(method)
    ax.plot(
        x, curve, color=its.colour, linestyle=its.dashes, linewidth=2.4 if first else 1.4,
        zorder=4 if first else 3,
    )  # fmt: skip
    ax.annotate(
        its.title, (x[-1], curve[-1]), (x[-1] * 1.02, label_at), annotation_clip=False,
        va="center", fontsize=8, color=its.colour, fontweight="bold" if first else "normal",
    )  # fmt: skip


def spread(values: Host, apart: float) -> Host:
    """Places (n,) near the values (n,), in their order, at least so far apart."""
    order = np.argsort(values, kind="stable")
    places = values[order].astype(np.float64)
    for _ in range(len(places)):  # groups that touch are moved apart about their middles
        gaps = apart - np.diff(places)
        if not (gaps > 1e-9).any():
            break
        for i in np.flatnonzero(gaps > 1e-9):
            push = max(0.0, apart - (places[i + 1] - places[i])) / 2.0
            places[i] -= push
            places[i + 1] += push
    for k in range(1, len(places)):  # what is left after so many rounds goes up
        places[k] = max(places[k], places[k - 1] + apart)
    found = np.empty_like(places)
    found[order] = places
    return found
