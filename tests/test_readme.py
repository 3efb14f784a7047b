"""What the README and the pages on long runs and on budgets show, works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
RUNS = (ROOT / "docs" / "runs.md").read_text()
BUDGETS = (ROOT / "docs" / "budgets.md").read_text()


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_there_is_an_example() -> None:
    assert len(python_blocks(README)) >= 2
    assert len(python_blocks(RUNS)) == 2
    assert len(python_blocks(BUDGETS)) == 2


@pytest.mark.parametrize("code", python_blocks(RUNS))
def test_long_runs_run(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "runs.md", "exec"), names)
    assert names["result"].nfev == 40


def test_budgets_run() -> None:
    planned, guaranteed = python_blocks(BUDGETS)
    names: dict[str, Any] = {}
    exec(compile(planned, "budgets.md", "exec"), names)
    assert names["result"].nfev == 60
    names = {}
    exec(compile(guaranteed, "budgets.md", "exec"), names)
    assert names["result"].guarantee.holds


@pytest.mark.parametrize("code", python_blocks(README))
def test_examples_run(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()  # every example shows something


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    local = [t for t in targets if "://" not in t]
    assert local
    for target in local:
        assert (ROOT / target).exists(), target
