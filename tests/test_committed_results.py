"""The results kept beside the code: all runs of all figures, and the claims they lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from transect.cli import main
from transect.experiments.figures import FIGURES
from transect.experiments.pack import unpack

ROOT = Path(__file__).parents[1]
PACKED = ROOT / "benchmarks" / "results" / "figures.npz"


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
