"""The results kept beside the code: all runs of all figures, and the claims they lead to."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import ablation
import compare
from comparison.standings import wins
from comparison.summary import Summary
from comparison.tables import groups, percent
from comparison.tasks import ABLATION_TASKS, TASKS, UNSEEN_TASKS
from transect.cli import main
from transect.experiments.figures import FIGURES
from transect.experiments.pack import unpack

ROOT = Path(__file__).parents[1]
PACKED = ROOT / "benchmarks" / "results" / "figures.npz"
COMPARED = ROOT / "benchmarks" / "results" / "compare.npz"
UNSEEN = ROOT / "benchmarks" / "results" / "unseen.npz"
ABLATED = ROOT / "benchmarks" / "results" / "ablation.npz"


def test_no_run_is_missing() -> None:
    cells = unpack(PACKED).cells
    for figure in FIGURES.values():
        for task in figure.tasks():
            assert task.seed in cells[task.problem.label, task.label].seeds, task.key


def test_they_stay_small() -> None:
    kept = (p for p in (ROOT / "benchmarks" / "results").rglob("*") if p.is_file())
    assert sum(p.stat().st_size for p in kept) < 5e6


def test_claims_are_those_of_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "claims", "--results", str(PACKED)]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "claims.md").read_text()


@pytest.mark.parametrize("words", ["medians fig1", "medians fig4", "medians fig5", "costs"])
def test_the_page_of_the_figures_has_their_tables(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the page says they are printed; that of costs without the lines of the trade."""
    page = (ROOT / "docs" / "experiments.md").read_text()
    command = f"bench {words} --results benchmarks/results/figures.npz"
    assert f"`transect {command}" in page
    assert main([*command.split()[:-1], str(PACKED)]) == 0
    table = capsys.readouterr().out.splitlines()
    kept = [line for line in table if not line.startswith("| trade-")]
    assert "\n".join(kept) in page


def test_the_trade_is_that_of_the_results() -> None:
    cells = unpack(PACKED).cells
    page = (ROOT / "docs" / "budgets.md").read_text()
    (grid,) = FIGURES["trade"].grids
    lines = {(line.title, k % 5): line.label for k, line in enumerate(grid.lines[:15])}
    for name, problem in (("Levy", "levy"), ("Hyper-Ellipsoid", "hyper-ellipsoid")):
        for d in (1, 5, 10):
            labels = [lines[f"MS-UCB, d = {d}", k] for k in range(5)]
            found = [cells[f"{problem}-50-shifted", label] for label in (*labels, "random")]
            medians = " | ".join(f"{np.median(cell.final):.3g}" for cell in found)
            assert f"| {name}, d = {d} | {medians} |" in page


# --- the comparison with other optimisers ---------------------------------------------------

JUDGED = "transect:anchored"
CHEAP = ("random", "centre", "pycma", "pycma-small")
OURS = ("transect:gp-ucb-log-ei", JUDGED)
DEAR = ("optuna-tpe", "optuna-gp", "turbo", "botorch")


def test_there_are_ten_seeds_of_every_task() -> None:
    found = Summary.load(COMPARED)
    for task in TASKS:
        for method in (*CHEAP, *OURS):
            assert len(found.at(task, method, 400)) >= 10, (task, method)
        for method in DEAR:
            assert len(found.at(task, method, 200)) >= 10, (task, method)
        for method in DEAR[:2] if TASKS[task].D <= 200 else ():
            assert len(found.at(task, method, 400)) >= 10, (task, method)
        for method in DEAR[2:]:
            assert len(found.at(task, method, 400)) >= 1, (task, method)


def test_tables_are_those_of_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    compare.main(["--report", "--packed", str(COMPARED)])
    assert capsys.readouterr().out == (ROOT / "docs" / "comparison.md").read_text()


def test_tables_of_unseen_tasks_are_those_of_the_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    compare.main(["--report", "--unseen", "--packed", str(UNSEEN)])
    assert capsys.readouterr().out == (ROOT / "docs" / "unseen.md").read_text()
    found = Summary.load(UNSEEN)
    for task in UNSEEN_TASKS:
        for method in (*CHEAP, JUDGED):
            assert len(found.at(task, method, 200)) >= 10, (task, method)


def test_the_readme_says_what_was_measured() -> None:
    found, unseen = Summary.load(COMPARED), Summary.load(UNSEEN)
    others = groups(found)["others"]
    rows = {
        "random search": ("random",),
        "pycma, two step sizes": ("pycma", "pycma-small"),
        "a (1+1) evolution strategy from the middle, tuned on other seeds of these tasks": (
            "centre",
        ),
        "BoTorch 0.18: SingleTaskGP, LogEI": ("botorch",),
        "TuRBO-1, our own after the paper": ("turbo",),
        "Optuna 5.0: GPSampler, TPE": ("optuna-gp", "optuna-tpe"),
    }
    table = re.search(r"ends below \|.*?\n\n", (ROOT / "README.md").read_text(), re.DOTALL)
    assert table is not None
    said = dict(re.findall(r"^\| (.*?) \| (\d.*?) \|$", table.group(), re.MULTILINE))
    for name, methods in rows.items():
        cells = []
        for summary, tasks in (found, found.tasks), (found, others), (unseen, unseen.tasks):
            rates = [wins(summary, JUDGED, m, 200, tasks) for m in methods]
            shares = ", ".join(percent(rate.value) for rate in rates)
            cells.append(f"{shares} of {rates[0].pairs}")
        assert said.pop(name) == " | ".join(cells)
    assert not said


def test_turbo_with_another_fit_is_no_other() -> None:
    adam = Summary.load(ROOT / "benchmarks" / "results" / "turbo-adam.npz")
    found = Summary.load(COMPARED).and_more(adam)
    for task in TASKS:
        seeds = 10 if TASKS[task].D in (20, 50) else 3
        for method in ("turbo", "turbo-adam", JUDGED):
            assert len(found.at(task, method, 200)) >= seeds, (task, method)
    lower = wins(found, "turbo-adam", "turbo", 200, found.tasks)
    below = wins(found, JUDGED, "turbo-adam", 200, found.tasks)
    said = " ".join((ROOT / "benchmarks" / "RESULTS.md").read_text().split())
    assert f"ends lower in {lower.value:.0%} of {lower.pairs} runs".replace("%", " %") in said
    assert f"and Anchored below it in {below.value:.0%}".replace("%", " %") in said


def test_results_say_what_was_measured() -> None:
    """Of each rival the share of wins, its lower end, and the shares by size."""
    rows = {
        "random search": "random",
        "centre": "centre",
        "pycma, first step 0.4": "pycma",
        "pycma, first step 0.1": "pycma-small",
        "Optuna, TPE": "optuna-tpe",
        "Optuna, GPSampler": "optuna-gp",
        "TuRBO-1": "turbo",
        "BoTorch": "botorch",
        '`GPUCB(acquisition="log-ei")`': "transect:gp-ucb-log-ei",
    }
    report = (ROOT / "docs" / "comparison.md").read_text()
    table = report.split(f"{JUDGED} wins at 200")[1].split("##")[0]
    measured = {
        cells[0]: [re.sub(r" \(\d+\)", "", cell) for cell in cells[1:]]
        for line in table.splitlines()
        if len(cells := line.strip("| ").split(" | ")) > 2
    }
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text().split("Anchored ends below")[1]
    said = {}
    for line in results.split("\n\n")[0].splitlines()[2:]:
        name, *cells = line.strip("| ").split(" | ")
        said[rows[name]] = cells
    assert said == {method: measured[method] for method in rows.values()}


def test_the_table_of_the_ablation_is_that_of_the_results(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ablation.main(["--report", "--packed", str(ABLATED), "--out", str(tmp_path)])
    assert capsys.readouterr().out in (ROOT / "docs" / "anchored.md").read_text()
    found = Summary.load(ABLATED)
    for method in found.methods:
        (seeds,) = {len(found.at(task, method, 200)) for task in ABLATION_TASKS}
        assert seeds >= 6, method
        same = all(
            value == found.at(task, ablation.BASE, 200)[seed]
            for task in ABLATION_TASKS
            for seed, value in found.at(task, method, 200).items()
        )
        assert same == (method == ablation.BASE), method
