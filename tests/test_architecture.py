"""The folder listing is the architecture: imports point upwards only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "transect"

# Top to bottom. A module may import from those above it and from its own package.
LAYERS = [
    "_array",
    "_checks",
    "_clock",
    "_lock",
    "_threads",
    "_products",
    "box",
    "kernels",
    "gp",
    "likelihood",
    "model",
    "fit",
    "pace",
    "acquisition",
    "ascent",
    "subspace",
    "probes",
    "view",
    "embedding",
    "climb",
    "geometry",
    "screen",
    "engine",
    "anchors",
    "theory",
    "strategies",
    "certificate",
    "costs",
    "trial",
    "journal",
    "optimizer",
    "planner",
    "evaluate",
    "result",
    "loop",
    "report",
    "space",
    "objectives",
    "study",
    "study_command",
    "problems",
    "plots",
    "experiments",
    "cli",
    "__main__",
]

SHARED = ("protocol", "inner", "guarantee", "choice", "attempts")  # what strategies have in common


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_layers(path: Path) -> set[str]:
    """Layers of transect that a file imports, at module level or inside functions."""
    package = ("transect", *path.relative_to(SOURCE).parts[:-1])
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            targets = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for target in targets:
            parts = target.split(".")
            if parts[0] == "transect" and len(parts) > 1 and parts[1] in LAYERS:
                found.add(parts[1])
    return found


def violations() -> list[str]:
    problems = []
    for path in sorted(SOURCE.rglob("*.py")):
        layer = layer_of(path)
        if layer == "__init__":
            continue
        if layer not in LAYERS:
            problems.append(f"{path.name}: its place in LAYERS is missing")
            continue
        for target in imported_layers(path):
            if LAYERS.index(target) > LAYERS.index(layer):
                problems.append(f"{layer} imports {target}, which stands below it")
        if layer == "strategies" and path.stem not in ("__init__", *SHARED):
            problems += _siblings(path)
    return problems


def _siblings(path: Path) -> list[str]:
    """Strategies never import each other."""
    tree = ast.parse(path.read_text())
    names = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level == 1]
    return [f"{path.name} imports its sibling {n}" for n in names if n not in SHARED]


def test_imports_point_upwards() -> None:
    assert violations() == []


def test_the_check_sees_an_arrow_that_points_down() -> None:
    assert "engine" in imported_layers(SOURCE / "strategies" / "ms_ucb.py")
    assert LAYERS.index("engine") < LAYERS.index("strategies")


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or 0)
