"""Pictures of runs. Needs the ``plot`` extra."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


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
    were the initial design, shaded. The suffix of ``path`` decides the format.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for label, run in runs.items():
        values = best_so_far(getattr(run, "func_vals", run), maximize)
        evaluations = np.arange(1, len(values) + 1)
        axes.step(evaluations, values, where="post", linewidth=2, label=label)
        axes.annotate(f" {values[-1]:.4g}", (evaluations[-1], values[-1]), va="center", fontsize=9)
    if initial:
        axes.axvspan(0, initial, color="0.92", zorder=0)
        axes.text(
            initial, 0.02, " initial\n design", transform=axes.get_xaxis_transform(),
            ha="left", va="bottom", fontsize=8, color="0.35",  # beside it, as it may be narrow
        )  # fmt: skip
    axes.set_xlabel("evaluations")
    axes.set_ylabel("best value so far")
    axes.set_title(title)
    axes.margins(x=0.09)
    axes.set_xlim(left=0)
    axes.grid(color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    path = Path(path)
    figure.savefig(path, dpi=150)
    return path
