"""The command line and the pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transect.cli import main
from transect.plots import best_so_far, convergence


def test_demo_prints_both_results_and_writes_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "demo.png"
    assert main(["demo", "--dim", "10", "--evals", "40", "--out", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "transect" in out
    assert "random search" in out
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_demo_names_a_bad_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--dim", "1"]) == 2
    assert "--dim must be at least 2" in capsys.readouterr().err


def test_best_so_far_skips_failures() -> None:
    values = [3.0, np.nan, 1.0, 2.0]
    np.testing.assert_array_equal(best_so_far(values), [3.0, 3.0, 1.0, 1.0])
    np.testing.assert_array_equal(best_so_far(values, maximize=True), [3.0, 3.0, 3.0, 3.0])


def test_convergence_takes_plain_values(tmp_path: Path) -> None:
    path = convergence({"a": [3.0, 2.0], "b": [4.0, 1.0]}, tmp_path / "run.svg", initial=1)
    assert path.read_text().startswith("<?xml")
