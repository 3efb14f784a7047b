"""The figures, drawn from a table of results. Needs the ``plot`` extra."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Host
from ..plots import best_so_far, require_matplotlib
from .figures import Figure, Grid, Kind, Line, Panel
from .table import Cell, Table, log_regret
from .task import N_INIT

PANEL_INCHES = (3.4, 2.3)
FRAME_INCHES = (0.5, 1.6)  # what titles, axis labels and the legend take
DPI = 110
TOUCHING = 0.01  # of an axis: lines whose ends are closer hide one another
UNSEEN = 5  # evaluations, random ones and the middle of the box, that would flatten all losses

# Okabe and Ito's palette, which the colour-blind can tell apart, with a dark brown for its pale
# yellow. A strategy looks the same in every figure; of two in one colour that meet, one is dashed.
VERMILLION, BLACK, ORANGE, SKY = "#D55E00", "#000000", "#E69F00", "#56B4E9"
GREEN, BLUE, PURPLE, GREY = "#009E73", "#0072B2", "#CC79A7", "#7F7F7F"
BROWN = "#6B3E00"
COLOURS = {
    "ms-ucb": VERMILLION,
    "gp-ucb": BLACK,
    "gp-ucb-ms-beta": BLACK,
    "dropout-ucb": ORANGE,
    "line-bo": SKY,
    "sre": GREEN,
    "rembo": BLUE,
    "hesbo": PURPLE,
    "random": GREY,
    "ms-ucb-10-0": SKY,
    "ms-ucb-1-1": BLUE,
    "ms-ucb-1-2": BLACK,
    "ms-ucb-d1": SKY,
    "ms-ucb-d2": BLUE,
    "ms-ucb-d10": BLACK,
    "ms-ucb-d10-1-1": VERMILLION,
    "sre-d10": GREEN,
    "rembo-d10": BLUE,
    "hesbo-d10": PURPLE,
    "gp-ucb-practical": BLACK,
    "anchored": BROWN,
    "all-adam": ORANGE,
    "linear-svm": ORANGE,
}
TRADE_COLOURS = (SKY, VERMILLION, BLUE, BLACK, GREY)
DASHES = {"gp-ucb-ms-beta": "--", "random": ":"}
EMPHASISED = ("ms-ucb", "ms-ucb-d10-1-1", "anchored")


@dataclass(frozen=True)
class Curve:
    """What is drawn of every cell, and how its axis and file are called."""

    suffix: str  # of the file's name
    ylabel: str
    of: Callable[[Cell], Host]  # (repeats, points)
    start: int  # evaluations before the first point
    unseen: int = 0  # points left out at the beginning
    logarithms: bool = False  # these are log10 of what is drawn, on a logarithmic axis


def best_curve(cell: Cell) -> Host:
    """log10 of the least regret so far (repeats, evals)."""
    return log_regret([best_so_far(run) for run in cell.regret])


def each_curve(cell: Cell) -> Host:
    """log10 of the regret of each evaluation (repeats, evals)."""
    return log_regret(cell.regret)


def average_curve(cell: Cell) -> Host:
    """log10 of the average regret R_t/t (repeats, suggestions), the initial points left out.

    R_t is the sum of the regrets of suggestions 1 to t, which the paper's theorems bound.
    """
    suggested = cell.regret[:, N_INIT:]
    return log_regret(np.cumsum(suggested, axis=1) / np.arange(1, suggested.shape[1] + 1))


def loss_curve(cell: Cell) -> Host:
    """The least loss so far (repeats, evals)."""
    return np.array([best_so_far(run) for run in cell.regret])


CURVES = {
    Kind.REGRET: (
        Curve("", "log10 of the best regret so far", best_curve, 0),
        Curve("-each", "log10 of the regret of each", each_curve, 0),
        Curve("-cumulative", "log10 of the average regret R_t / t", average_curve, N_INIT),
    ),
    Kind.LOSS: (
        Curve("", "best loss so far", loss_curve, 0, UNSEEN),
        Curve("-each", "loss of each evaluation", lambda cell: cell.regret, 0, UNSEEN),
    ),
    Kind.WIDE: (
        Curve("", "best loss so far", best_curve, 0, UNSEEN, True),
        Curve("-each", "loss of each evaluation", each_curve, 0, UNSEEN, True),
    ),
}


def draw(figure: Figure, table: Table, folder: Path) -> list[Path]:
    """Write the pictures of every grid that has results; returns where they are.

    The best value so far, that of each evaluation, for regrets the average cumulative one, or
    only what was reached: mean and one standard deviation over the repeats there are.
    """
    require_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for grid in (*figure.grids, *figure.quick):
        if not _cells(grid, table):
            continue
        if grid.kind is Kind.FINAL:
            paths.append(_final_picture(figure, grid, table, folder))
        elif grid.kind is Kind.TRADE:
            paths.append(_trade_picture(figure, grid, table, folder))
        else:
            paths += [_picture(figure, grid, curve, table, folder) for curve in CURVES[grid.kind]]
    return paths


def _cells(grid: Grid, table: Table) -> list[Cell]:
    keys = [(panel.problem.label, line.label) for panel in grid.panels for line in grid.lines]
    return [table.cells[key] for key in keys if key in table.cells]


def _picture(figure: Figure, grid: Grid, curve: Curve, table: Table, folder: Path) -> Path:
    from matplotlib.figure import Figure as Canvas

    rows = -(-len(grid.panels) // grid.columns)
    size = np.array([grid.columns, rows]) * _panel_inches(grid) + FRAME_INCHES
    canvas = Canvas(figsize=tuple(size), layout="constrained")
    axes = canvas.subplots(rows, grid.columns, sharex=True, squeeze=False).ravel()
    for ax, panel in zip(axes, grid.panels, strict=False):
        _panel(ax, panel, grid.lines, curve, table)
    canvas.supylabel(curve.ylabel, fontsize=10)
    for ax in axes[-grid.columns :]:  # below each column: a shared one would meet the legend
        ax.set_xlabel("evaluations", fontsize=9)
    return _finish(
        canvas, figure, grid, table, folder / f"{figure.name}-{grid.name}{curve.suffix}.png"
    )


def _final_picture(figure: Figure, grid: Grid, table: Table, folder: Path) -> Path:
    """What was reached in the end, divided by C: the panels side by side; references in words."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=tuple(_panel_inches(grid) + FRAME_INCHES), layout="constrained")
    ax = canvas.subplots()
    ticks = [panel.title for panel in grid.panels]
    for k, line in enumerate(grid.lines):
        final = {i: _reached(table, panel, line) for i, panel in enumerate(grid.panels)}
        final = {i: values for i, values in final.items() if values.size}
        if line.strategy is None:  # far below all others, it would flatten them
            for i, values in final.items():
                ticks[i] += f"\n{line.title}: {values.mean():.2g}"
        elif final:
            spread = (k - (len(grid.lines) - 1) / 2) * 0.8 / len(grid.lines)  # none hides another
            ax.errorbar(
                np.array(list(final)) + spread,
                [values.mean() for values in final.values()],
                [values.std() for values in final.values()],
                label=line.title, color=COLOURS[line.label], fmt="o", markersize=4, capsize=2,
            )  # fmt: skip
    ax.set_ylabel("loss reached, divided by C", fontsize=10)
    ax.set_xticks(range(len(grid.panels)), ticks)
    plain_axes(ax)
    return _finish(canvas, figure, grid, table, folder / f"{figure.name}-{grid.name}.png")


def _trade_picture(figure: Figure, grid: Grid, table: Table, folder: Path) -> Path:
    """Regret at the end against acquisition evaluations; lines of one title are joined."""
    from matplotlib.figure import Figure as Canvas

    size = np.array([grid.columns, 1]) * PANEL_INCHES * (1.0, 1.3) + FRAME_INCHES
    canvas = Canvas(figsize=tuple(size), layout="constrained")
    for ax, panel in zip(canvas.subplots(1, grid.columns), grid.panels, strict=True):
        for k, title in enumerate(dict.fromkeys(line.title for line in grid.lines)):
            family = [line for line in grid.lines if line.title == title]
            cells = [table.cells.get((panel.problem.label, line.label)) for line in family]
            _draw_trade(ax, title, TRADE_COLOURS[k], [cell for cell in cells if cell])
        ax.set_xscale("log")
        ax.set_title(panel.title, fontsize=9)
        ax.set_xlabel("acquisition evaluations a suggestion", fontsize=9)
        plain_axes(ax)
    canvas.supylabel("log10 of the best regret", fontsize=10)
    return _finish(canvas, figure, grid, table, folder / f"{figure.name}-{grid.name}.png")


def _draw_trade(ax: Any, title: str, colour: str, cells: list[Cell]) -> None:
    """Mean and its standard error; level where nothing is searched, in words if far below."""
    regrets = [log_regret(cell.final) for cell in cells]
    means = [float(values.mean()) for values in regrets]
    low, high = ax.get_ylim()
    if cells and not cells[0].evaluations:
        ax.axhline(means[0], label=title, color=colour, linestyle=":")
    elif len(cells) == 1 and ax.lines and means[0] < low - 0.5 * (high - low):
        ax.annotate(
            f"{title}: {means[0]:.3g} with {cells[0].evaluations:,.0f}", (0.03, 0.03),
            xycoords="axes fraction", fontsize=8, color=colour,
        )  # fmt: skip
    elif cells:
        errors = [float(values.std() / np.sqrt(len(values))) for values in regrets]
        ax.errorbar(
            [cell.evaluations for cell in cells], means, errors,
            label=title, color=colour, fmt="o-", markersize=4, linewidth=1, capsize=2,
        )  # fmt: skip


def _reached(table: Table, panel: Panel, line: Line) -> Host:
    """The least value over C of each repeat there is, without those that failed throughout."""
    cell = table.cells.get((panel.problem.label, line.label))
    if cell is None:
        return np.zeros(0)
    return cell.final[np.isfinite(cell.final)] / (panel.problem.C or 1.0)


def _panel_inches(grid: Grid) -> Host:
    """One that is alone in its row is wider."""
    return np.array(PANEL_INCHES) * ((1.0, 1.0) if grid.columns > 1 else (1.6, 1.4))


def _finish(canvas: Any, figure: Figure, grid: Grid, table: Table, path: Path) -> Path:
    """Title, legend and file."""
    axes = canvas.axes
    spread = "its standard error" if grid.kind is Kind.TRADE else "one standard deviation"
    repeats = _repeats(_cells(grid, table), spread)
    canvas.suptitle(f"{figure.title}: {grid.title}\n{repeats}", fontsize=11)
    handles = {h.get_label(): h for ax in axes for h in ax.get_legend_handles_labels()[0]}
    titles = [t for t in dict.fromkeys(line.title for line in grid.lines) if t in handles]
    canvas.legend(
        [handles[title] for title in titles], titles,
        loc="outside lower center", ncols=min(len(titles), 2 + grid.columns),
        frameon=False, fontsize=9,
    )  # fmt: skip
    canvas.savefig(path, dpi=DPI)
    fewer_colours(path)
    return path


def fewer_colours(path: Path) -> None:
    """Keep 256 colours of a picture: the bands' many shades make it three times as large."""
    from PIL import Image  # which matplotlib brings

    with Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(256)
    reduced.save(path, optimize=True)


def _panel(ax: Any, panel: Panel, lines: tuple[Line, ...], curve: Curve, table: Table) -> None:
    """One problem: a line and its band for every strategy there are results of."""
    missing = []
    if curve.logarithms:
        ax.set_yscale("log")
    for line in lines:
        cell = table.cells.get((panel.problem.label, line.label))
        if cell is None:
            missing.append(line.title)
        else:
            _draw_line(ax, line, curve.of(cell), curve)
    ax.axvspan(0, N_INIT, color="0.92", zorder=0, linewidth=0)
    if curve.logarithms:
        _name_hidden(ax)
    if missing:
        names = ["no results:", *missing] if len(missing) < len(lines) else ["no results"]
        ax.text(
            0.98, 0.97, "\n".join(names), transform=ax.transAxes,
            ha="right", va="top", fontsize=6, color="0.4",
        )  # fmt: skip
    ax.set_title(panel.title, fontsize=9)
    ax.set_xlim(left=0)
    plain_axes(ax)


def plain_axes(ax: Any) -> None:
    ax.tick_params(labelsize=8)
    ax.set_axisbelow(True)
    ax.grid(color="0.9", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_line(ax: Any, line: Line, values: Host, curve: Curve) -> None:
    """Mean and one standard deviation of values (repeats, points); a reference is level."""
    if line.strategy is None:
        _draw_reference(ax, line, float(values.mean()), curve)
        return
    shown = values[:, curve.unseen :]
    mean, deviation = shown.mean(axis=0), shown.std(axis=0)
    low, high = mean - deviation, mean + deviation
    if curve.logarithms:
        mean, low, high = 10.0**mean, 10.0**low, 10.0**high
    x = curve.start + curve.unseen + np.arange(1, len(mean) + 1)
    label = line.label.removesuffix("-all")
    colour, first = COLOURS[label], label in EMPHASISED
    ax.fill_between(
        x, low, high, color=colour, alpha=0.13, linewidth=0, antialiased=False, zorder=1
    )
    ax.plot(
        x, mean, label=line.title, color=colour, linestyle=DASHES.get(label, "-"),
        linewidth=2.2 if first else 1.2, zorder=4 if first else 3,
    )  # fmt: skip


def _name_hidden(ax: Any) -> None:
    """Names above lines that end in one place, where the topmost would hide the others."""
    low, high = np.log10(ax.get_ylim())
    there = [line for line in ax.lines if math.isfinite(line.get_ydata()[-1])]
    lines = sorted(there, key=lambda line: float(line.get_ydata()[-1]))
    ends = np.array([math.log10(line.get_ydata()[-1]) for line in lines])
    apart = np.flatnonzero(np.diff(ends) > TOUCHING * (high - low)) + 1
    for group in np.split(np.arange(len(lines)), apart):
        if len(group) > 1:
            highest = lines[group[-1]]
            ax.annotate(
                ", ".join(lines[i].get_label() for i in group),
                (highest.get_xdata()[-1], highest.get_ydata()[-1]), (0, 3),
                textcoords="offset points", ha="right", va="bottom", fontsize=8,
            )  # fmt: skip


def _draw_reference(ax: Any, line: Line, level: float, curve: Curve) -> None:
    """A level line, or, far below all others, a word instead: it would flatten them."""
    low, high = np.log10(ax.get_ylim()) if curve.logarithms else ax.get_ylim()
    far = level < low - 0.5 * (high - low)
    level = 10.0**level if curve.logarithms else level
    if far:
        ax.annotate(
            f"{line.title}: {level:.3g}", (0.02, 0.02), xycoords="axes fraction",
            ha="left", fontsize=8, color=COLOURS[line.label],
        )  # fmt: skip
    else:
        ax.axhline(level, label=line.title, color=COLOURS[line.label], linestyle="--", zorder=2)


def _repeats(cells: list[Cell], spread: str) -> str:
    counts = [len(cell.seeds) for cell in cells]
    span = dict.fromkeys(str(count) for count in (min(counts), max(counts)))
    return f"mean and {spread} of {' to '.join(span)} repeats"
