"""What the README shows, works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_there_is_an_example() -> None:
    assert len(python_blocks()) >= 2


@pytest.mark.parametrize("code", python_blocks())
def test_examples_run(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()  # every example shows something


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    local = [t for t in targets if "://" not in t]
    assert local
    for target in local:
        assert (ROOT / target).exists(), target
