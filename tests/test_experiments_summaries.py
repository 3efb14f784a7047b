"""Tables of what was reached and of what suggestions took."""

from __future__ import annotations

import numpy as np
import pytest

from transect.experiments.figures import FIGURES
from transect.experiments.summaries import costs, medians
from transect.experiments.table import Cell, Table


def cell(evaluations: float, seconds: float) -> Cell:
    return Cell((0,), np.ones((1, 3)), np.ones(1), evaluations, seconds)


def test_medians_over_the_problems_of_a_dimension() -> None:
    table = Table(
        {
            ("ackley-20", "gp-ucb"): cell(900.0, 0.010),
            ("levy-20", "gp-ucb"): cell(1000.0, 0.020),
            ("levy-20-shifted", "gp-ucb"): cell(950.0, 0.012),
            ("ackley-100", "gp-ucb"): cell(3000.0, 0.030),
            ("ackley-20", "ms-ucb"): cell(800.0, 0.001),
        }
    )
    assert costs(table).splitlines() == [
        "| strategy | ms, D = 20 | evals, D = 20 | ms, D = 100 | evals, D = 100 |",
        "| --- | --- | --- | --- | --- |",
        "| ms-ucb | 1 | 800 | – | – |",
        "| gp-ucb | 12 | 950 | 30 | 3000 |",
    ]


def test_a_problem_of_no_figure() -> None:
    with pytest.raises(ValueError, match="no figure has gp-ucb on sphere-3"):
        costs(Table({("sphere-3", "gp-ucb"): cell(900.0, 0.010)}))


def test_medians_of_what_was_reached() -> None:
    final = np.array([3.0, np.nan, 1.0, 2.0])
    reached = Cell((0, 1, 2, 3), np.ones((4, 3)), final, 1.0, 1.0)
    rows = medians(FIGURES["fig3"], Table({("ackley-100", "ms-ucb"): reached})).splitlines()
    assert rows[0] == "| fig3 | ms-ucb-d1 | ms-ucb-d2 | ms-ucb | ms-ucb-d10 |"
    assert "| ackley-100 | – | – | 2 | – |" in rows
