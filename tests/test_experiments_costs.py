"""The table of what suggestions took."""

from __future__ import annotations

import numpy as np

from transect.experiments.costs import markdown
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
    assert markdown(table).splitlines() == [
        "| strategy | ms, D = 20 | evals, D = 20 | ms, D = 100 | evals, D = 100 |",
        "| --- | --- | --- | --- | --- |",
        "| ms-ucb | 1 | 800 | – | – |",
        "| gp-ucb | 12 | 950 | 30 | 3000 |",
    ]
