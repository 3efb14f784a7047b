"""Results by problem and strategy: what figures and claims are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Host

FLOOR = 1e-12  # smaller regrets are rounding; it also keeps a regret of zero on the log axis


def log_regret(regret: Any) -> Host:
    """log10 of regrets of any shape, at least log10 of ``FLOOR``; nan stays nan."""
    return np.log10(np.maximum(np.asarray(regret, dtype=np.float64), FLOOR))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of text as a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True, eq=False)
class Cell:
    """All repeats of one strategy on one problem; rows are in the order of ``seeds``."""

    seeds: tuple[int, ...]
    regret: Host  # (repeats, evals): value minus least value, in the order of evaluation
    final: Host  # (repeats,): the least regret of a run; exact, where ``regret`` may be rounded
    evaluations: float  # acquisition evaluations a suggestion, mean of those that search
    seconds: float  # a suggestion, median


@dataclass(frozen=True, eq=False)
class Table:
    """Cells by (problem label, strategy label), for example ("ackley-20-shifted", "ms-ucb")."""

    cells: Mapping[tuple[str, str], Cell]
