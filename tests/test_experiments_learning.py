"""The learning tasks as experiments: their figures, references and pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transect._array import Host
from transect.cli import main
from transect.experiments import pictures
from transect.experiments.figures import FIGURES, WEIGHTS, Figure, Kind
from transect.experiments.pack import pack, unpack
from transect.experiments.pictures import draw, loss_curve
from transect.experiments.runner import run_all
from transect.experiments.store import Store
from transect.experiments.summaries import costs, medians
from transect.experiments.table import Cell, Table
from transect.experiments.task import (
    MOST_EVALS,
    ProblemSpec,
    Task,
    run,
    suggest_evals,
)
from transect.problems.network import NetworkLoss
from transect.problems.ramp import RampLoss
from transect.strategies import GPUCB, RandomSearch

NETWORK = ProblemSpec("network", 100, data="digits")
RAMP = ProblemSpec("ramp", 41, data="digits-like", C=2.0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


# --- problems by name -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        (ProblemSpec("ackley", 20), "ackley-20"),
        (ProblemSpec("levy", 100, shifted=True), "levy-100-shifted"),
        (ProblemSpec("camelback", 50, active="first"), "camelback-first-50"),
        (ProblemSpec("camelback", 50, True, "random"), "camelback-random-50-shifted"),
        (ProblemSpec("network", 500, data="mnist"), "network-mnist-500"),
        (ProblemSpec("ramp", 5001, data="gisette-like", C=1.0), "ramp-gisette-like-5001-C1"),
        (
            ProblemSpec("ramp", 501, data="gisette-like", C=10.0, B=10.0),
            "ramp-gisette-like-501-C10-B10",
        ),
    ],
)
def test_labels_say_what_the_problem_is(spec: ProblemSpec, label: str) -> None:
    assert spec.label == label
    assert Task("random", RandomSearch(), spec, 7).key == f"{label}/random/007"


def test_labels_tell_all_problems_of_the_figures_apart() -> None:
    specs = {panel.problem for figure in FIGURES.values() for panel in figure.panels}
    assert len({spec.label for spec in specs}) == len(specs)


def test_settings_reach_the_problem() -> None:
    problem = replace(RAMP, B=3.0).build(0)
    assert isinstance(problem.objective, RampLoss)
    assert problem.objective.C == 2.0
    assert problem.D == 41
    np.testing.assert_array_equal(problem.box.upper, np.full(41, 3.0))
    np.testing.assert_array_equal(RAMP.build(0).box.upper, np.ones(41))
    network = NETWORK.build(6)
    assert isinstance(network.objective, NetworkLoss)
    assert network.objective.seed == 6
    assert network.objective.device is None
    assert network.objective.images.name == "digits"
    with pytest.raises((ImportError, RuntimeError), match="somewhere"):
        NETWORK.build(6, "somewhere")
    assert ProblemSpec("ackley", 5).build(0, "somewhere").D == 5


def test_the_acquisitions_budget_has_a_floor_and_a_cap() -> None:
    """The first three figures, of at most 100 dimensions, are below the cap."""
    budgets = {2: 1000, 33: 1000, 34: 1020, 50: 1500, 100: 3000, 5001: MOST_EVALS}
    assert {D: suggest_evals(D) for D in budgets} == budgets
    assert 3000 <= MOST_EVALS < 30 * 5001


# --- figures --------------------------------------------------------------------------------

FIVE = ["ms-ucb-d10-1-1", "line-bo", "sre-d10", "rembo-d10", "hesbo-d10"]
LEARNERS = [*FIVE, "gp-ucb-practical", "anchored", "random"]


@pytest.mark.parametrize(
    ("name", "problems", "quick", "reference", "repeats", "evals"),
    [
        (
            "fig4",
            ["network-mnist-100", "network-mnist-500"],
            ["network-digits-100"],
            "all-adam",
            10,
            200,
        ),
        (
            "fig5",
            [
                *(f"ramp-gisette-like-5001-C{C}" for C in (1, 2, 5, 10)),
                "ramp-gisette-like-5001-C1-B10",
            ],
            [f"ramp-gisette-like-501-C{C}" for C in (1, 2, 5, 10)],
            "linear-svm",
            15,
            300,
        ),
    ],
)
def test_what_the_figures_run(
    name: str, problems: list[str], quick: list[str], reference: str, repeats: int, evals: int
) -> None:
    """Every line on every problem with every seed, once; references are one evaluation."""
    figure = FIGURES[name]
    for tasks, where, seeds, length in (
        (figure.tasks(), problems, repeats, evals),
        (figure.tasks(quick=True), quick, 3, 60),
        (figure.tasks(2, 30), problems, 2, 30),
        (figure.tasks(1, 22, quick=True), quick, 1, 22),
    ):
        expected = {
            f"{problem}/{label}/{seed:03d}"
            for problem in where
            for label in (*LEARNERS, reference)
            for seed in range(seeds)
        }
        assert len(tasks) == len(expected)
        assert {task.key for task in tasks} == expected
        for task in tasks:
            if task.label == reference:
                assert (task.strategy, task.evals, task.suggest_evals) == (None, 1, None)
            else:
                assert task.strategy is not None
                assert task.evals == length
                assert task.suggest_evals == suggest_evals(task.problem.D)


def test_the_learners_have_the_papers_settings() -> None:
    """They have d = 10; MS-UCB one new slice at t = 1, two at t = 2, and so on."""
    by_label = {task.label: repr(task.strategy) for task in FIGURES["fig5"].tasks(1)}
    assert "d=10" in by_label["ms-ucb-d10-1-1"]
    assert "n0=1, alpha=1" in by_label["ms-ucb-d10-1-1"]
    assert all("d=10" in by_label[f"{name}-d10"] for name in ("sre", "rembo", "hesbo"))
    assert "practical" in by_label["gp-ucb-practical"]
    assert {task.label for task in FIGURES["fig4"].tasks(1)} == {*LEARNERS, "all-adam"}


def test_the_first_figures_are_as_they_were() -> None:
    counts = {name: (len(f.tasks()), len(f.tasks(quick=True))) for name, f in FIGURES.items()}
    assert counts["fig1"] == (8100, 270)
    assert counts["fig2"] == (660, 66)
    assert counts["fig3"] == (480, 48)
    assert all(FIGURES[name].evals == 200 for name in ("fig1", "fig2", "fig3"))


# --- references -----------------------------------------------------------------------------


def test_a_reference_is_one_value_that_is_kept_and_packed(store: Store, tmp_path: Path) -> None:
    tasks = [Task("linear-svm", None, RAMP, seed, evals=1) for seed in range(2)]
    assert run_all(tasks, store, workers=1) == {}
    expected = RAMP.build(0).references["linear-svm"](0)
    for task in tasks:
        result = store.load(task)
        assert result is not None
        assert result.values.tolist() == [expected]
        assert result.least == 0.0
        assert (result.evaluations.shape, result.seconds.shape) == ((0,), (0,))
        assert result.evaluations.dtype == np.int64
    assert store.missing(tasks) == []
    table = store.table(tasks)
    pack(table, tmp_path / "packed.npz")
    for found in (table, unpack(tmp_path / "packed.npz")):
        cell = found.cells["ramp-digits-like-41-C2", "linear-svm"]
        assert cell.seeds == (0, 1)
        assert cell.final.tolist() == [expected] * 2
        assert cell.regret.shape == (2, 1)
        assert (cell.evaluations, cell.seconds) == (0.0, 0.0)


def test_a_reference_takes_the_seed_of_its_task() -> None:
    values = [run(Task("all-adam", None, NETWORK, seed, evals=1)).values[0] for seed in (0, 3)]
    assert values == [NETWORK.build(9).references["all-adam"](seed) for seed in (0, 3)]
    assert values[0] != values[1]


def test_results_of_a_strategy_are_not_those_of_a_reference(store: Store) -> None:
    """Should they ever have one name."""
    task = Task("linear-svm", None, RAMP, 0, evals=1)
    store.save(task, run(task))
    assert store.table([replace(task, strategy=RandomSearch())]).cells == {}


def test_a_reference_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="all-adam"):
        run(Task("all-adam", None, RAMP, 0, evals=1))


# --- from the command line ------------------------------------------------------------------


def test_a_quick_figure_from_runs_to_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, packed = tmp_path / "results", tmp_path / "results.npz"
    size = ["--quick", "--evals", "22", "--repeats", "1"]
    chosen = ["--strategies", "random,all-adam", "--workers", "1"]
    assert main(["bench", "run", "fig4", *size, *chosen, "--out", str(results)]) == 0
    out = capsys.readouterr().out
    assert "1 runs of 22 evaluations" in out
    assert "all 2 runs are in" in out
    names = sorted(str(path.relative_to(results)) for path in results.rglob("*.json"))
    assert names == [f"network-digits-100/{what}/000.json" for what in ("all-adam", "random")]
    found = ["--results", str(results), *size]

    assert main(["bench", "pack", str(packed), *found]) == 0
    table = unpack(packed)
    keys = [("network-digits-100", "all-adam"), ("network-digits-100", "random")]
    assert sorted(table.cells) == keys
    adam, random = (table.cells[key] for key in keys)
    assert (adam.regret.shape, random.regret.shape) == ((1, 1), (1, 22))
    assert 0.2 < adam.final[0] < random.final[0] < 2.0
    capsys.readouterr()

    for source in (found, ["--results", str(packed)]):
        assert main(["bench", "medians", "fig4", *source]) == 0
        (row,) = (
            line for line in capsys.readouterr().out.splitlines() if "network-digits-100" in line
        )
        assert row.endswith(f"| {random.final[0]:.3g} | {adam.final[0]:.3g} |")
        assert main(["bench", "costs", *source]) == 0
        assert "| random | " in capsys.readouterr().out
    assert main(["bench", "plot", "fig4", *found, "--out", str(tmp_path / "new")]) == 0
    drawn = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [path.name for path in drawn] == ["fig4-digits.png", "fig4-digits-each.png"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in drawn)


def test_tables_have_a_column_for_the_reference() -> None:
    table = learning_table(FIGURES["fig5"])
    rows = medians(FIGURES["fig5"], table).splitlines()
    assert rows[0] == f"| fig5 | {' | '.join(LEARNERS)} | linear-svm |"
    assert len(rows) == 2 + 5 + 4
    (row,) = (row for row in rows if row.startswith("| ramp-gisette-like-501-C10 |"))
    assert row.endswith("| 40 |")
    assert "D = 501" in costs(table).splitlines()[0]


# --- pictures -------------------------------------------------------------------------------


def cell(values: Host, final: Any = None) -> Cell:
    least = np.fmin.reduce(values, axis=1)
    return Cell(tuple(range(len(values))), values, least if final is None else final, 100.0, 0.01)


def learning_table(figure: Figure, reference: float = 40.0) -> Table:
    """Losses between 100 and 220, and references of one value."""
    rng = np.random.default_rng(0)
    cells = {}
    for panel in figure.panels:
        for line in figure.lines:
            level = np.full((3, 1), reference)
            values = level if line.strategy is None else rng.uniform(100.0, 220.0, (3, 40))
            cells[panel.problem.label, line.label] = cell(values)
    return Table(cells)


@pytest.fixture
def canvases(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is drawn, by the name of its file, instead of the file."""
    found: dict[str, Any] = {}

    def finish(canvas: Any, figure: Any, grid: Any, table: Any, path: Path) -> Path:
        found[path.name] = canvas
        return path

    monkeypatch.setattr(pictures, "_finish", finish)
    return found


def labelled(ax: Any) -> dict[str, Any]:
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def test_loss_curve_is_the_least_so_far_as_it_is() -> None:
    curve = loss_curve(cell(np.array([[3.0, 5.0, 1.0, 2.0], [4.0, np.nan, 6.0, 0.5]])))
    np.testing.assert_array_equal(curve, [[3.0, 3.0, 1.0, 1.0], [4.0, 4.0, 4.0, 0.5]])


def test_losses_are_drawn_as_they_are(canvases: dict[str, Any], tmp_path: Path) -> None:
    """The best so far, and each; a mean over the repeats, without the first five evaluations."""
    figure = FIGURES["fig4"]
    table = learning_table(figure)
    draw(figure, table, tmp_path)
    assert list(canvases) == [
        f"fig4-{data}{what}.png" for data in ("mnist", "digits") for what in ("", "-each")
    ]
    values = table.cells["network-mnist-500", "sre-d10"].regret
    titles = {line.label: line.title for line in figure.lines}
    ylabels = {"": "best loss so far", "-each": "loss of each evaluation"}
    for what, expected in (("", np.minimum.accumulate(values, axis=1)), ("-each", values)):
        canvas = canvases[f"fig4-mnist{what}.png"]
        assert canvas.get_supylabel() == ylabels[what]
        assert len(canvas.axes) == 2
        ax = canvas.axes[1]
        assert ax.get_title() == "mnist, D = 500"
        assert ax.get_yscale() == "linear"
        line = labelled(ax)[titles["sre-d10"]]
        np.testing.assert_array_equal(line.get_xdata(), np.arange(6, 41))
        np.testing.assert_allclose(line.get_ydata(), expected.mean(axis=0)[5:])


@pytest.mark.parametrize(("reference", "word"), [(70.0, False), (130.0, False), (0.85, True)])
def test_a_reference_is_a_level_line_or_far_below_a_word(
    reference: float, word: bool, canvases: dict[str, Any], tmp_path: Path
) -> None:
    """It never flattens the curves."""
    figure = FIGURES["fig5"]
    draw(figure, learning_table(figure, reference), tmp_path)
    ax = canvases["fig5-progress-each.png"].axes[0]
    texts = [text.get_text() for text in ax.texts]
    low, high = ax.get_ylim()
    if word:
        assert texts == ["linear SVM: 0.85"]
        assert "linear SVM" not in labelled(ax)
        assert 50.0 < low < 110.0
    else:
        assert texts == []
        line = labelled(ax)["linear SVM"]
        assert set(line.get_ydata()) == {reference}
        assert low <= reference <= high
    assert high < 260.0
    assert len(labelled(ax)) == len(LEARNERS) + (not word)


def test_a_reference_alone_is_drawn(canvases: dict[str, Any], tmp_path: Path) -> None:
    cells = {("network-digits-100", "all-adam"): cell(np.full((2, 1), 0.35))}
    draw(FIGURES["fig4"], Table(cells), tmp_path)
    ax = canvases["fig4-digits.png"].axes[0]
    assert set(labelled(ax)) == {"all weights by Adam"}
    assert "no results:" in ax.texts[0].get_text()
    assert "MS-UCB" in ax.texts[0].get_text()


def test_what_was_reached_is_drawn_side_by_side(canvases: dict[str, Any], tmp_path: Path) -> None:
    """A mark over C for each strategy, with its spread; none hides one. References in words."""
    figure = FIGURES["fig5"]
    table = learning_table(figure)
    missing = ("ramp-gisette-like-5001-C5", "hesbo-d10")
    draw(figure, Table({k: c for k, c in table.cells.items() if k != missing}), tmp_path)
    (ax,) = canvases["fig5-final.png"].axes
    assert ax.get_yscale() == "linear"
    assert ax.get_ylabel() == "loss reached, divided by C"
    ticks = [tick.get_text().split("\nlinear SVM: ") for tick in ax.get_xticklabels()]
    assert [tick[0] for tick in ticks] == ["C = 1", "C = 2", "C = 5", "C = 10"]
    for C, (_, level) in zip(WEIGHTS, ticks, strict=True):
        reached = table.cells[f"ramp-gisette-like-5001-C{C:g}", "linear-svm"].final.mean() / C
        assert float(level) == pytest.approx(reached, rel=0.05)
    (grid,) = (grid for grid in figure.grids if grid.kind is Kind.FINAL)
    marks = labelled(ax)
    strategies = [line for line in grid.lines if line.strategy]
    assert list(marks) == [line.title for line in strategies]
    places: list[float] = []
    for line in strategies:
        data, _, (bars,) = marks[line.title].lines
        panels = [p for p in grid.panels if (p.problem.label, line.label) != missing]
        cells = [(table.cells[p.problem.label, line.label], p.problem.C or 1.0) for p in panels]
        finals = [cell.final / C for cell, C in cells]
        np.testing.assert_allclose(data.get_ydata(orig=False), [final.mean() for final in finals])
        x = data.get_xdata(orig=False)
        np.testing.assert_array_equal(np.round(x), [grid.panels.index(p) for p in panels])
        spans = np.array([segment[:, 1] for segment in bars.get_segments()])
        spread = [final.std() for final in finals]
        np.testing.assert_allclose(spans[:, 1] - spans[:, 0], 2.0 * np.array(spread), atol=1e-9)
        places += x.tolist()
    assert len({round(x, 6) for x in places}) == len(places)


def test_pictures_of_odd_results_are_files(tmp_path: Path) -> None:
    """Where a spread is as large as its mean, a reference next to nothing, a strategy failed."""
    figure = replace(FIGURES["fig5"], grids=FIGURES["fig5"].quick, quick=())
    problems = [panel.problem.label for panel in figure.panels]
    cells = dict(learning_table(figure, 1e-3).cells)
    cells[problems[0], "random"] = cell(np.array([[1.0], [1.0], [1e4]]))
    cells[problems[1], "random"] = cell(np.full((2, 30), np.nan))
    paths = draw(figure, Table(cells), tmp_path)
    names = ("progress-501", "progress-501-each", "final-501")
    assert [path.name for path in paths] == [f"fig5-{name}.png" for name in names]
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert 5_000 < path.stat().st_size < 300_000


def test_gp_ucb_practical_runs_on_the_ramp_loss() -> None:
    """A strategy on a learning task, from the first point to the last."""
    task = Task("gp-ucb-practical", GPUCB(beta="practical"), RAMP, 0, 23, suggest_evals(41))
    result = run(task)
    assert result.values.shape == (23,)
    assert np.isfinite(result.values).all()
    assert result.evaluations.shape == (3,)
    np.testing.assert_array_equal(run(task).values, result.values)


def test_missing_data_are_missed_once_and_before_all_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def build(spec: ProblemSpec, seed: int, device: Any = None) -> None:
        raise FileNotFoundError("no such data")

    monkeypatch.setattr(ProblemSpec, "build", build)
    assert main(["bench", "run", "fig4", "--quick", "--out", str(tmp_path / "new")]) != 0
    assert capsys.readouterr().err.count("no such data") == 1
    assert not (tmp_path / "new").exists()
