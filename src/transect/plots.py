"""Pictures of runs. Needs the ``plot`` extra."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._array import Host

SQUEEZED = 5.0  # times the range of later values: a range of all of them that hides these
HEIGHTS = tuple(0.02 + 0.06 * i for i in range(15))  # for a text of two lines, 0 to 1


def best_so_far(values: Any, maximize: bool = False) -> Any:
    """Best value after each evaluation (n,); failures, nan, leave it as it was."""
    values = np.asarray(values, dtype=np.float64)
    return np.fmax.accumulate(values) if maximize else np.fmin.accumulate(values)


def require_matplotlib() -> None:
    """An error that says what to install, before any work is done."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError("pictures need matplotlib, which the extra 'plot' of transect brings")


def convergence(
    runs: Mapping[str, Any],
    path: str | Path,
    *,
    title: str = "",
    initial: int = 0,
    maximize: bool = False,
) -> Path:
    """Draw the best value so far of several runs against evaluations, and save it.

    runs: label -> OptimizeResult (or the values themselves). initial: how many evaluations
    were the initial design, shaded. Where its values would squeeze all that follows they are not
    drawn; the legend has the first one. The suffix of ``path`` decides the format.
    """
    require_matplotlib()
    curves = {
        label: best_so_far(getattr(run, "func_vals", run), maximize) for label, run in runs.items()
    }
    path = Path(path)
    _figure(curves, title, initial).savefig(path, dpi=150)
    return path


def _figure(curves: Mapping[str, Host], title: str, initial: int) -> Any:
    """The picture of ``convergence``, of the best values after each evaluation (n,)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    limits, ends = _limits(list(curves.values()), initial), []
    for label, values in curves.items():
        evaluations = np.arange(1, len(values) + 1)
        name = f"{label}{_outside(values, limits)}"
        axes.step(evaluations, values, where="post", linewidth=2, label=name)
        if np.isfinite(values[-1]):
            end = evaluations[-1], values[-1]
            ends.append(axes.annotate(f" {values[-1]:.4g}", end, va="center", fontsize=9))
    if initial:
        axes.axvspan(0, initial, color="0.92", zorder=0)
    axes.set_xlabel("evaluations")
    axes.set_ylabel("best value so far")
    axes.set_title(title)
    axes.margins(x=0.09)
    axes.set_xlim(left=0)
    if limits is not None:
        axes.set_ylim(limits)
    axes.grid(color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.get_xlim()  # which settles the limits: what follows asks where things are
    if initial:
        _name_the_shade(axes, initial)
    _part(axes, ends)
    axes.legend(frameon=False)
    return figure


def _limits(curves: Sequence[Host], initial: int) -> tuple[float, float] | None:
    """What to show where the first evaluations would squeeze all that follows; else None."""
    after = max(initial - 1, 1)
    every = np.concatenate(curves)
    later = np.concatenate([values[min(after, len(values) - 1) :] for values in curves])
    every, later = every[np.isfinite(every)], later[np.isfinite(later)]
    if not len(later) or not 0.0 < SQUEEZED * np.ptp(later) < np.ptp(every):
        return None
    room = 0.1 * np.ptp(later)
    return float(np.min(later) - room), float(np.max(later) + room)


def _outside(values: Host, limits: tuple[float, float] | None) -> str:
    """For the legend: the first value of a curve, if it is not in the picture."""
    first = values[np.isfinite(values)][:1]
    if limits is None or not len(first) or limits[0] <= first[0] <= limits[1]:
        return ""
    return f" (at first {first[0]:.4g})"


def _name_the_shade(axes: Any, initial: int) -> None:
    """Write what it is beside it, as it may be narrow: as low as there is no curve."""
    from matplotlib.cbook import pts_to_poststep
    from matplotlib.path import Path as Outline

    text = axes.text(
        initial, HEIGHTS[0], " initial\n design", transform=axes.get_xaxis_transform(),
        ha="left", va="bottom", fontsize=8, color="0.35",
    )  # fmt: skip
    steps = [np.transpose(pts_to_poststep(*line.get_data())) for line in axes.lines]
    curves = [Outline(axes.transData.transform(points)) for points in steps]
    for height in HEIGHTS:
        text.set_y(height)
        box = text.get_window_extent()
        if not any(curve.intersects_bbox(box, filled=False) for curve in curves):
            return
    text.set_y(HEIGHTS[0])


def _part(axes: Any, labels: Sequence[Any]) -> None:
    """Move labels up or down, as little as it takes, so that none overprints another."""
    from scipy.optimize import isotonic_regression

    if len(labels) < 2:
        return
    boxes = [label.get_window_extent() for label in labels]
    y = np.array([0.5 * (box.y0 + box.y1) for box in boxes])
    order = np.argsort(y, kind="stable")
    apart = max(box.height for box in boxes) * np.arange(len(y))
    moved = isotonic_regression(y[order] - apart).x + apart
    for at, height in zip(order, moved, strict=True):
        if abs(height - y[at]) > 0.5:  # dots; where nothing is in the way, nothing moves
            x, _ = labels[at].xy
            _, value = axes.transData.inverted().transform((0.0, height))
            labels[at].set_position((x, value))
