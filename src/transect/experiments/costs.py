"""What a suggestion took, by strategy and dimension: milliseconds, acquisition evaluations."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from .figures import FIGURES, LINES
from .table import Cell, Table, markdown_table


def markdown(table: Table) -> str:
    """A row for each strategy, two columns for each dimension, medians over its problems."""
    panels = [panel for figure in FIGURES.values() for panel in figure.panels]
    dimension = {panel.problem.label: panel.problem.D for panel in panels}
    cells: dict[str, dict[int, list[Cell]]] = {label: {} for label in LINES}
    for (problem, strategy), cell in table.cells.items():
        if problem not in dimension or strategy not in cells:
            raise ValueError(f"no figure has {strategy} on {problem}: results of another version?")
        cells[strategy].setdefault(dimension[problem], []).append(cell)
    dimensions = sorted({D for by_dimension in cells.values() for D in by_dimension})
    header = ["strategy", *(f"{what}, D = {D}" for D in dimensions for what in ("ms", "evals"))]
    rows = [
        [strategy, *(text for D in dimensions for text in _columns(by_dimension.get(D, [])))]
        for strategy, by_dimension in cells.items()
        if by_dimension
    ]
    return markdown_table(header, rows)


def _columns(cells: Sequence[Cell]) -> tuple[str, str]:
    if not cells:
        return "–", "–"
    seconds = statistics.median(cell.seconds for cell in cells)
    evaluations = statistics.median(cell.evaluations for cell in cells)
    return f"{1e3 * seconds:.3g}", f"{evaluations:.0f}"
