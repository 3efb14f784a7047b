"""The figure: how far each method has come after how many evaluations, over all tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from transect._array import Host
from transect.experiments.pictures import (
    BLACK,
    BLUE,
    DPI,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    _plain,
    _reduce,
)
from transect.plots import require_matplotlib

from .standings import covered, mean_curves, shared
from .summary import CHECKPOINTS, Summary
from .tables import JUDGED_AT
from .tasks import N_INIT

APART = 0.035  # labels, at least, in units of the axis
LOOKS = {  # colour and dashes: a library has one colour
    "random": (GREY, ":"),
    "centre": (GREY, "-"),
    "pycma": (SKY, "--"),
    "pycma-small": (SKY, "-"),
    "optuna-tpe": (ORANGE, "--"),
    "optuna-gp": (ORANGE, "-"),
    "turbo": (GREEN, "-"),
    "botorch": (BLUE, "-"),
    "transect:gp-ucb": (BLACK, "-"),
    "transect:gp-ucb-log-ei": (BLACK, "--"),
    "transect:ms-ucb": (PURPLE, "-"),
    "transect:ms-ucb-1-1": (PURPLE, "--"),
}
OTHERS = (VERMILLION, "-")


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
    canvas = Figure(figsize=(7.2, 4.4), layout="constrained")
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
    _plain(ax)
    canvas.savefig(path, dpi=DPI)
    _reduce(path)


def _line(
    ax: Any, method: str, x: tuple[int, ...], curve: Host, label_at: float, first: bool
) -> None:
    colour, dashes = LOOKS.get(method, OTHERS)
    ax.plot(
        x, curve, color=colour, linestyle=dashes, linewidth=2.4 if first else 1.4,
        zorder=4 if first else 3,
    )  # fmt: skip
    ax.annotate(
        method.removeprefix("transect:") if first else method, (x[-1], curve[-1]),
        (x[-1] * 1.02, label_at), annotation_clip=False, va="center", fontsize=8, color=colour,
        fontweight="bold" if first else "normal",
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
