"""A run in words and numbers: what it found, what its suggestions took and promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .certificate import of_run
from .journal import read
from .strategies import Guarantee
from .trial import Trial, made

SHOWN = 12  # suggestions in the table, unless all are asked for

# Column, key of the certificate. Values are of the maximised function; see _row.
COLUMNS = (
    ("optimistic", "ucb"),
    ("best slice", "best_slice"),
    ("margin", "margin"),
    ("√β", "beta"),
    ("kind", "beta_kind"),
    ("slices", "slices"),
    ("searched", "subspaces"),
    ("evaluations", "evaluations"),
    ("ms", "seconds"),
)


def report(run: Any, every: bool = False) -> str:
    """A report on a run: an ``OptimizeResult`` of ours, or the path of its journal.

    every: all suggestions in the table, not a dozen.
    """
    if isinstance(run, str | Path):
        kept = read(run)
        settings, trials = kept.settings, kept.trials
    elif hasattr(run, "settings") and hasattr(run, "trials"):
        settings, trials = run.settings, run.trials
    else:
        raise TypeError(f"run must be a result, or the path of a journal, got {run!r:.100}")
    return "\n".join(_lines(settings, trials, every))


def _lines(settings: Mapping[str, Any], trials: Sequence[Trial], every: bool) -> Iterator[str]:
    sign = 1.0 if settings["maximize"] else -1.0
    yield (
        f"{settings['strategy']}, {settings['D']} variables, "
        f"{'maximised' if settings['maximize'] else 'minimised'}, seed {settings['seed']}"
    )
    yield _counts(settings, trials)
    done = [t for t in trials if t.value is not None]
    if done:
        best = max(done, key=lambda t: sign * float(t.value or 0.0))
        yield f"best value {best.value:.6g}, evaluation {best.id + 1}"
    found = [t for t in trials if "evaluations" in t.info]
    if found:
        yield _effort(found)
        yield from _families(trials)
        yield ""
        yield from _table(found if every else _spread(found), sign)
    yield ""
    yield str(_guarantee(settings, trials))


def _counts(settings: Mapping[str, Any], trials: Sequence[Trial]) -> str:
    ended = made(trials)
    sources = {
        "initial": "initial",
        "given": "given",
        "strategy": "suggested",
        "instead of a duplicate": "instead of repeated points",
    }
    parts = [(sum(t.info["source"] == s for t in ended), name) for s, name in sources.items()]
    parts.append((sum(t.state == "failed" for t in ended), "failed"))
    beside = [
        (sum(t.info["source"] == "told" for t in trials), "told from elsewhere"),
        (sum(t.state == "pending" for t in trials), "pending"),
    ]
    planned = settings.get("max_evals")
    of = f" of {planned}" if planned and planned != len(ended) else ""
    line = f"{len(ended)}{of} evaluations: {_numbers(parts) or 'none yet'}"
    return "; ".join(part for part in (line, _numbers(beside)) if part)


def _numbers(counts: Sequence[tuple[int, str]]) -> str:
    return ", ".join(f"{count} {name}" for count, name in counts if count)


def _effort(found: Sequence[Trial]) -> str:
    seconds = np.array([t.info["seconds"] for t in found])
    evaluations = sum(t.info["evaluations"] for t in found)
    return (
        f"suggestions took {seconds.sum():.3g} s together, {1e3 * np.median(seconds):.3g} ms "
        f"mostly, {1e3 * seconds.max():.3g} ms at most; {evaluations:,} acquisition evaluations"
    )


def _families(trials: Sequence[Trial]) -> Iterator[str]:
    """How points were found, if their strategy says so."""
    counts = Counter(t.info["family"] for t in trials if "family" in t.info)
    if counts:
        attempts = max(t.info.get("attempt", 1) for t in trials)
        several = f"; in {attempts} attempts" if attempts > 1 else ""
        yield f"found as: {_numbers([(n, name) for name, n in counts.most_common()])}{several}"


def _spread(found: Sequence[Trial]) -> list[Trial]:
    """A dozen of them, the first and the last included."""
    at = np.unique(np.linspace(0, len(found) - 1, SHOWN).round().astype(int))
    return [found[i] for i in at]


def _table(found: Sequence[Trial], sign: float) -> Iterator[str]:
    columns = [c for c in COLUMNS if any(c[1] in t.info for t in found)]
    rows = [("evaluation", "value", *(name for name, _ in columns))]
    rows += [_row(t, [key for _, key in columns], sign) for t in found]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def _row(trial: Trial, keys: Sequence[str], sign: float) -> tuple[str, ...]:
    value = "" if trial.value is None else f"{trial.value:.5g}"
    return (str(trial.id + 1), value or trial.state, *(_cell(trial, key, sign) for key in keys))


def _cell(trial: Trial, key: str, sign: float) -> str:
    """An entry of the certificate; bounds in the user's sign: below the value if minimised."""
    if key not in trial.info:
        return ""
    entry = trial.info[key]
    if isinstance(entry, str):
        return entry
    if key in ("ucb", "best_slice"):
        return f"{sign * entry:.5g}"
    if key == "beta":
        return f"{entry**0.5:.3g}"
    return f"{1e3 * entry:.3g}" if key == "seconds" else f"{entry:,.6g}"


def _guarantee(settings: Mapping[str, Any], trials: Sequence[Trial]) -> Guarantee:
    statement, unmet = settings["guarantee"]
    failures = sum(t.state == "failed" for t in trials)
    return of_run(Guarantee(statement, tuple(unmet)), [t.info for t in trials], failures)
