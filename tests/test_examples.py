"""The examples run as they are, with fewer evaluations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, folder: Path, *arguments: str) -> str:
    """What an example prints, started in ``folder``."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stderr
    return out.stdout


def test_network_weights(tmp_path: Path) -> None:
    text = run("network_weights.py", tmp_path, "--evals", "23")
    for name in ("transect", "random search"):
        assert f"{name}: least loss 0." in text
    assert "all weights by Adam: 0." in text
    assert (tmp_path / "network_weights.png").read_bytes().startswith(b"\x89PNG")


def test_network_weights_misses_a_folder_before_the_evaluations(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "network_weights.py"), "--out", "no/x.png"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert out.returncode == 2
    assert "--out: there is no folder no" in out.stderr
    assert out.stdout == ""


def test_ramp_loss_in_5000_dimensions(tmp_path: Path) -> None:
    text = run("ramp_loss_5000.py", tmp_path, "--evals", "50")
    assert "50 evaluations, best loss" in text
    assert "all weights 0: 2000.0" in text


def test_every_example_is_tested() -> None:
    tested = {"network_weights.py", "ramp_loss_5000.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == tested
