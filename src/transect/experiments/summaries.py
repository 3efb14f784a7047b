"""Results in numbers: what every strategy reached, and what a suggestion took."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from .figures import FIGURES, LINES, Figure
from .table import Cell, Table, markdown_table

NOTHING = "–"


def medians(figure: Figure, table: Table) -> str:
    """Median final regret: a row for each problem with results, a column for each strategy."""
    rows = []
    for panel in figure.panels:
        cells = [table.cells.get((panel.problem.label, line.label)) for line in figure.lines]
        if not any(cells):
            continue
        texts = [NOTHING if c is None else f"{np.nanmedian(c.final):.3g}" for c in cells]
        rows.append([panel.problem.label, *texts])
    return markdown_table([figure.name, *(line.label for line in figure.lines)], rows)


def costs(table: Table) -> str:
    """A row for each strategy, two columns for each dimension, medians over its problems."""
    panels = [panel for figure in FIGURES.values() for panel in figure.panels]
    dimension = {panel.problem.label: panel.problem.D for panel in panels}
    cells: dict[str, dict[int, list[Cell]]] = {label: {} for label in LINES}
    for (problem, strategy), cell in table.cells.items():
        if problem not in dimension or strategy not in cells:
            raise ValueError(f"no figure has {strategy} on {problem}: results of another version?")
        if LINES[strategy].strategy is not None:  # references suggest nothing
            cells[strategy].setdefault(dimension[problem], []).append(cell)
    dimensions = sorted({D for by_dimension in cells.values() for D in by_dimension})
    header = ["strategy", *(f"{what}, D = {D}" for D in dimensions for what in ("ms", "evals"))]
    rows = [
        [strategy, *(text for D in dimensions for text in _costs(by_dimension.get(D, [])))]
        for strategy, by_dimension in cells.items()
        if by_dimension
    ]
    return markdown_table(header, rows)


def _costs(cells: Sequence[Cell]) -> tuple[str, str]:
    """Milliseconds and acquisition evaluations of a suggestion."""
    if not cells:
        return NOTHING, NOTHING
    seconds = statistics.median(cell.seconds for cell in cells)
    evaluations = statistics.median(cell.evaluations for cell in cells)
    return f"{1e3 * seconds:.3g}", f"{evaluations:.0f}"
