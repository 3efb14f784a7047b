"""Pictures show what the results are, as far as there are any."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from transect import MSUCB
from transect._array import Host
from transect.experiments import pictures
from transect.experiments.figures import FIGURES, Figure, Kind
from transect.experiments.pictures import (
    COLOURS,
    TRADE_COLOURS,
    average_curve,
    best_curve,
    draw,
)
from transect.experiments.table import Cell, Table
from transect.experiments.task import N_INIT


def cell(regret: Host) -> Cell:
    return Cell(tuple(range(len(regret))), regret, regret.min(axis=1), 100.0, 0.01)


def results(figure: Figure, share: float = 1.0) -> Table:
    """Falling regrets for that share of the cells of a figure; references have one value."""
    rng = np.random.default_rng(0)
    pairs = [(panel, line) for panel in figure.panels for line in figure.lines]
    kept = [pair for pair in pairs if rng.random() < share]
    return Table(
        {
            (panel.problem.label, line.label): cell(
                10.0 ** -rng.exponential(1.0, (3, 40 if line.strategy else 1)).cumsum(axis=1)
            )
            for panel, line in kept
        }
    )


def test_what_grids_show() -> None:
    """Regrets where a least value is known, losses elsewhere."""
    kinds = {name: [g.kind for g in (*f.grids, *f.quick)] for name, f in FIGURES.items()}
    for name in ("fig1", "fig2", "fig3"):
        assert set(kinds[name]) == {Kind.REGRET}
    assert kinds["fig4"] == [Kind.LOSS] * 2
    assert kinds["trade"] == [Kind.TRADE] * 2
    assert kinds["fig5"] == [Kind.LOSS, Kind.FINAL, Kind.WIDE, Kind.LOSS, Kind.FINAL]


def test_best_curve_falls_and_has_a_floor() -> None:
    curve = best_curve(cell(np.array([[10.0, 100.0, 1.0, 0.0], [1.0, math.nan, 1e-20, 5.0]])))
    np.testing.assert_allclose(curve, [[1.0, 1.0, 0.0, -12.0], [0.0, 0.0, -12.0, -12.0]])


def test_average_curve_by_hand() -> None:
    initial = np.full((1, N_INIT), 1e6)  # left out
    curve = average_curve(cell(np.hstack([initial, [[4.0, 2.0, 0.0, 10.0]]])))
    np.testing.assert_allclose(curve, np.log10([[4.0, 3.0, 2.0, 4.0]]))


def test_every_line_has_its_colour_and_none_meets_its_double() -> None:
    for figure in FIGURES.values():
        for grid in (*figure.grids, *figure.quick):
            if grid.kind is Kind.TRADE:
                titles = {line.title for line in grid.lines}
                assert len(set(TRADE_COLOURS)) == len(TRADE_COLOURS) == len(titles)
                continue
            labels = {line.label.removesuffix("-all") for line in grid.lines}
            shared = {"gp-ucb-ms-beta"} & labels  # dashed, beside GP-UCB
            assert len({COLOURS[label] for label in labels}) == len(labels) - len(shared)


SUFFIXES = {
    Kind.REGRET: ("", "-each", "-cumulative"),
    Kind.LOSS: ("", "-each"),
    Kind.WIDE: ("", "-each"),
    Kind.FINAL: ("",),
    Kind.TRADE: ("",),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_picture_of_every_grid(name: str, tmp_path: Path) -> None:
    """Three of regrets, two of losses, one of what was reached."""
    figure = FIGURES[name]
    grids = (*figure.grids, *figure.quick)
    paths = draw(figure, results(figure), tmp_path / "new")
    assert [path.name for path in paths] == [
        f"{name}-{grid.name}{suffix}.png" for grid in grids for suffix in SUFFIXES[grid.kind]
    ]
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert 5_000 < path.stat().st_size < 300_000


def test_losses_over_decades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a logarithmic axis, with a word for a level that is far below and for hidden lines."""
    saved: list[Canvas] = []
    monkeypatch.setattr(Canvas, "savefig", lambda canvas, path, **_: saved.append(canvas))
    monkeypatch.setattr(pictures, "fewer_colours", lambda path: None)
    figure = FIGURES["fig5"]
    levels = dict.fromkeys((line.label for line in figure.lines), 1e3)
    levels |= {"line-bo": 1e5, "random": 1.001e5, "linear-svm": 0.001}
    (panel,) = next(grid.panels for grid in figure.grids if grid.kind is Kind.WIDE)
    values = {label: np.full((2, 30), level) for label, level in levels.items()}
    values["rembo-d10"][0, 25:] = 10.0  # the mean of losses less their deviation is nearly 0
    table = {(panel.problem.label, label): cell(of) for label, of in values.items()}
    table.pop((panel.problem.label, "sre-d10"))
    draw(figure, Table(table), tmp_path)
    (ax,) = saved[0].axes
    assert ax.get_yscale() == "log"
    assert min(np.min(line.get_ydata()) for line in ax.lines) == pytest.approx(100.0)
    words = [text.get_text() for text in ax.texts]
    assert "LineBO, random search" in words
    assert "linear SVM: 0.001" in words


def test_missing_cells_are_left_out(tmp_path: Path) -> None:
    figure = FIGURES["fig3"]
    table = results(figure, share=0.5)
    assert 0 < len(table.cells) < 16
    paths = draw(figure, table, tmp_path)
    assert len(paths) == 6
    assert all(path.stat().st_size > 5_000 for path in paths)


def test_grids_without_results_are_not_drawn(tmp_path: Path) -> None:
    figure = FIGURES["fig2"]
    table = Table({("ackley-100-shifted", "ms-ucb"): cell(np.ones((1, 30)))})
    names = [path.name for path in draw(figure, table, tmp_path)]
    assert names == [f"fig2-shifted{what}.png" for what in ("", "-each", "-cumulative")]
    assert draw(figure, Table({}), tmp_path) == []


def test_runs_within_the_initial_design_can_be_drawn(tmp_path: Path) -> None:
    table = Table({("ackley-100", "ms-ucb"): cell(np.ones((2, N_INIT)))})
    assert len(draw(FIGURES["fig3"], table, tmp_path)) == 3


def test_the_trade_without_some_of_its_results(tmp_path: Path) -> None:
    """Random search evaluates no acquisition; a family may lack members, a panel all."""
    full = results(FIGURES["trade"]).cells
    kept = {key: c for key, c in full.items() if key[0] == "levy-50-shifted" and "d5" not in key[1]}
    key = ("levy-50-shifted", "random")
    kept[key] = replace(kept[key], evaluations=0.0)
    (path,) = draw(FIGURES["trade"], Table(kept), tmp_path)
    assert path.name == "trade-slices-50.png"


def test_the_trade_is_between_slices_and_free_coordinates() -> None:
    tasks = FIGURES["trade"].tasks()
    assert len({task.problem.label for task in tasks}) == 3
    settings = {
        (task.strategy.d, task.strategy.n0, task.strategy.alpha)
        for task in tasks
        if isinstance(task.strategy, MSUCB)
    }
    assert {d for d, _, _ in settings} == {1, 5, 10}
    assert {(n0, alpha) for _, n0, alpha in settings} == {
        *((1, 0), (10, 0), (100, 0), (1000, 0), (1, 1)),
    }
    assert len(settings) == 15
