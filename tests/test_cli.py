"""The command line and the pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transect.cli import main
from transect.plots import best_so_far, convergence

PLAN = ["plan", "--dim", "9", "--evals", "9"]


def test_demo_prints_both_results_and_writes_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "demo.png"
    assert main(["demo", "--dim", "10", "--evals", "40", "--out", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "transect" in out
    assert "random search" in out
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--dim", "1"], "--dim must be an integer of at least 2, got 1"),
        (["demo", "--evals", "0"], "--evals must be an integer of at least 1, got 0"),
        (["demo", "--seed", "-1"], "--seed must be an integer of at least 0, got -1"),
        (["plan", "--dim", "1", "--evals", "9"], "--dim must be an integer of at least 2, got 1"),
        (["plan", "--dim", "9", "--evals", "1"], "--evals must be an integer of at least 2, got 1"),
        ([*PLAN, "--seconds", "0"], "--seconds must be a positive number, got 0.0"),
        ([*PLAN, "--total", "-1"], "--total must be a positive number, got -1.0"),
        ([*PLAN, "--memory", "nan"], "--memory must be a positive number, got nan"),
        (["bench", "run", "fig1", "--workers", "0"], "--workers must be an integer of at least 1"),
    ],
)
def test_an_error_names_the_option_as_it_was_written(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"transect: {message}")


def test_best_so_far_skips_failures() -> None:
    values = [3.0, np.nan, 1.0, 2.0]
    np.testing.assert_array_equal(best_so_far(values), [3.0, 3.0, 1.0, 1.0])
    np.testing.assert_array_equal(best_so_far(values, maximize=True), [3.0, 3.0, 3.0, 3.0])


def test_convergence_takes_plain_values(tmp_path: Path) -> None:
    path = convergence({"a": [3.0, 2.0], "b": [4.0, 1.0]}, tmp_path / "run.svg", initial=1)
    assert path.read_text().startswith("<?xml")
