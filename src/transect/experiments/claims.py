"""Which of the paper's claims hold, from the results.

A part "A is better than B" is tested by Wilcoxon's signed-rank test, two-sided, on the
differences of log10 final regrets paired by seed, Holm-corrected over its family of tests.
It holds if corrected p < 0.05 in its direction, fails if so in the other, else is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from . import claims_learning, claims_text
from .claims_text import FAMILIES, FULL, MS, PARAGRAPHS, Claim, Lower, Part, Slower
from .statistics import MIN_PAIRS, Comparison, by_seed, compare, holm, oracle_floor
from .table import Table, markdown_table
from .task import N_INIT, ProblemSpec

CLAIMS = (*claims_text.CLAIMS, *claims_learning.CLAIMS)
LEVEL = 0.05
FREE = 5  # d, in Figure 1
TENTH = math.log10(1.1)  # times differ if by more than this; they are not tested


class Outcome(StrEnum):
    """What came of a part or of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    NO_DATA = "no data"


@dataclass(frozen=True)
class Finding:
    """A part and what came of it. An effect below zero is in favour of the part."""

    part: Part
    outcome: Outcome
    effect: float = math.nan
    comparison: Comparison | None = None
    p: float = math.nan  # corrected


@dataclass(frozen=True)
class Verdict:
    """A claim on one version of the problems."""

    claim: Claim
    version: str
    outcome: Outcome
    findings: tuple[Finding, ...]
    reason: str  # empty unless the claim fails

    @property
    def deciding(self) -> tuple[Finding, ...]:
        """The parts that made the outcome what it is."""
        wanted = {self.outcome}
        if self.outcome is Outcome.UNDECIDED:
            wanted.add(Outcome.NO_DATA)  # what is missing leaves it open, too
        return tuple(finding for finding in self.findings if finding.outcome in wanted)


def judge(table: Table, claims: Sequence[Claim] = CLAIMS) -> list[Verdict]:
    """A verdict for every claim and version of the problems; missing cells make no error."""
    families: dict[str, dict[Part, None]] = {}  # a part of two claims is tested once
    for claim in claims:
        for case in claim.cases.values():
            families.setdefault(FAMILIES[claim.figure], {}).update(dict.fromkeys(case))
    findings: dict[Part, Finding] = {}
    for parts in families.values():
        findings |= _findings(parts, table)
    return [
        _verdict(claim, version, tuple(findings[part] for part in case), table)
        for claim in claims
        for version, case in claim.cases.items()
    ]


def _findings(parts: Iterable[Part], table: Table) -> dict[Part, Finding]:
    """What came of a family of tests, which are corrected together."""
    timed: dict[Part, Finding] = {p: _timed(p, table) for p in parts if isinstance(p, Slower)}
    compared = {part: _compared(part, table) for part in parts if isinstance(part, Lower)}
    raw = {part: c.p for part, c in compared.items() if c is not None and not math.isnan(c.p)}
    corrected = dict(zip(raw, holm(list(raw.values())).tolist(), strict=True))
    return timed | {
        part: _tested(part, comparison, corrected.get(part, math.nan))
        for part, comparison in compared.items()
    }


def _tested(part: Lower, comparison: Comparison | None, p: float) -> Finding:
    if comparison is None:
        return Finding(part, Outcome.NO_DATA)
    direction = Outcome.HOLDS if comparison.favours else Outcome.FAILS
    outcome = direction if p < LEVEL else Outcome.UNDECIDED
    return Finding(part, outcome, comparison.effect, comparison, p)


def _timed(part: Slower, table: Table) -> Finding:
    slower, faster = (
        table.cells.get((part.problem.label, label)) for label in (part.slower, part.faster)
    )
    if slower is None or faster is None or not min(slower.seconds, faster.seconds) > 0.0:
        return Finding(part, Outcome.NO_DATA)
    effect = math.log10(faster.seconds / slower.seconds)
    direction = Outcome.HOLDS if effect < 0.0 else Outcome.FAILS
    return Finding(part, direction if abs(effect) >= TENTH else Outcome.UNDECIDED, effect)


def _compared(part: Lower, table: Table) -> Comparison | None:
    """The comparison over all seeds that both sides have, if there are any."""
    better, worse = _side(part, part.better, table), _side(part, part.worse, table)
    difference = np.array(list(_minus(better, worse).values()))
    difference = difference[np.isfinite(difference)]  # a run all of whose values failed
    return compare(difference, math.log10(part.factor)) if len(difference) else None


def _side(part: Lower, labels: tuple[str, ...], table: Table) -> dict[int, float]:
    """What a part compares, by seed: log10 regret or its growth; empty where a cell is missing."""
    regret = _finals(part.problem, labels, table)
    return regret if part.since is None else _minus(regret, _finals(part.since, labels, table))


def _finals(problem: ProblemSpec, labels: tuple[str, ...], table: Table) -> dict[int, float]:
    cells = [table.cells.get((problem.label, label)) for label in labels]
    there = [cell for cell in cells if cell is not None]
    return by_seed(there) if len(there) == len(cells) else {}


def _minus(a: dict[int, float], b: dict[int, float]) -> dict[int, float]:
    return {seed: a[seed] - b[seed] for seed in a if seed in b}


def _verdict(claim: Claim, version: str, findings: tuple[Finding, ...], table: Table) -> Verdict:
    outcome = _combined([finding.outcome for finding in findings], claim.most)
    verdict = Verdict(claim, version, outcome, findings, "")
    return replace(verdict, reason=_reason(verdict, table)) if outcome is Outcome.FAILS else verdict


def _combined(outcomes: Sequence[Outcome], most: bool) -> Outcome:
    """All parts must hold and one against is enough to fail; or more than half must hold."""
    holds, fails = outcomes.count(Outcome.HOLDS), outcomes.count(Outcome.FAILS)
    if outcomes.count(Outcome.NO_DATA) == len(outcomes):
        return Outcome.NO_DATA
    if 2 * fails >= len(outcomes) if most else fails:
        return Outcome.FAILS
    if 2 * holds > len(outcomes) if most else holds == len(outcomes):
        return Outcome.HOLDS
    return Outcome.UNDECIDED


def _reason(verdict: Verdict, table: Table) -> str:
    """Those of the claim's reasons that explain a part which failed, and the oracle floor."""
    failed = [finding.part for finding in verdict.deciding]
    texts = [r.text for r in verdict.claim.reasons if any(r.explains(part) for part in failed)]
    lost = {
        f.part: f.effect
        for f in verdict.deciding
        if isinstance(f.part, Lower) and _has_floor(f.part)
    }
    if lost:
        texts.append(_floor(max(lost, key=lost.__getitem__), table))
    return "; ".join(texts)


def _has_floor(part: Lower) -> bool:
    """Whether the part is about MS-UCB's regret on a problem that ``oracle_floor`` is for."""
    return part.better == (MS,) and part.since is None and part.problem.name in FULL


def _floor(part: Lower, table: Table) -> str:
    """Whether a perfect MS-UCB could have won the part; all numbers are medians."""
    cell = table.cells[part.problem.label, MS]
    slices = max(cell.regret.shape[1] - N_INIT, 1)  # N0 = 1, α = 0: one a suggestion
    floor = float(np.median(oracle_floor(part.problem, slices, FREE, cell.seeds)))
    own, other = (
        10.0 ** float(np.median(list(_finals(part.problem, labels, table).values())))
        for labels in (part.better, part.worse)
    )
    verb = "cannot get below" if other < floor else "could get to"
    return (
        f"on {part.problem.label} MS-UCB reached {own:.4g} and {_names(part.worse)} {other:.4g};"
        f" the best of {slices} slices, searched perfectly, {verb} {floor:.4g} (oracle floor)"
    )


DASH = "–"  # for what is not known
PARTS = {
    Outcome.HOLDS: "hold",
    Outcome.FAILS: "against",
    Outcome.UNDECIDED: "undecided",
    Outcome.NO_DATA: "without data",
}
SIGN = {Outcome.HOLDS: "<", Outcome.FAILS: ">", Outcome.UNDECIDED: "?", Outcome.NO_DATA: "?"}

RULE = f"""\
Each claim is split into parts, "A has a lower final regret than B on a problem". A part is tested
by Wilcoxon's signed-rank test, two-sided, on the differences of log10 regret between A and B,
paired by seed; zero differences are split evenly. p is Holm-corrected over all tests on Figures 1
to 3, over those on Figure 4 and over those on Figure 5. On Figures 4 and 5 the regret is the loss
itself; on Figure 4 it is the least of noisy values, so luck is in it. A part holds if
p < {LEVEL} in its direction, is against the claim if p < {LEVEL} in the other, and is undecided
otherwise or with fewer than {MIN_PAIRS} pairs. Times are compared, not tested: a tenth counts.

A claim holds if all its parts do, and does not hold if one is against it; one about "most cases"
holds if more than half of its parts do, and does not if half or more are against it. Camelback's
active coordinates come first in the paper's version, and at random places in the shifted one.
Figure 5 is on the stand-in for Gisette, not on Gisette.

The effect is the median difference of log10 regret over the pairs, below zero where A is better;
for a claim, that of the parts that decide. "won" is the share of pairs that A wins. Under
"decided by", < marks what is as claimed, > what went against it, ? what is undecided. Of the
reasons why a claim fails, oracle floors are computed; the others follow from how the methods work
and are not tested."""


def markdown(verdicts: Sequence[Verdict]) -> str:
    """All verdicts, what was tested for each claim, and every single test."""
    meanings = {verdict.claim.name: _meaning(verdict.claim) for verdict in verdicts}
    findings = dict.fromkeys(f for verdict in verdicts for f in verdict.findings)
    claims = markdown_table(
        ("Fig.", "claim", "problems", "verdict", "parts", "effect", "decided by", "why it fails"),
        [_row(verdict) for verdict in verdicts],
    )
    meant = "\n".join(f"- **{name}**: {meaning}" for name, meaning in meanings.items())
    details = markdown_table(
        ("problem", "claimed", "pairs", "effect", "won", "corrected p", "outcome"),
        [_detail(finding) for finding in findings],
    )
    blocks = ["# The paper's claims", RULE, claims, "## What is tested", meant]
    return "\n\n".join([*blocks, "## Every test", details]) + "\n"


def short(verdicts: Sequence[Verdict]) -> str:
    """One line per claim: the verdict on the paper's problems, on the shifted ones, elsewhere."""
    outcomes: dict[str, dict[str, str]] = {}
    for verdict in verdicts:
        outcomes.setdefault(verdict.claim.name, {})[verdict.version] = verdict.outcome
    rows = [
        (
            name,
            by_version.pop("paper", ""),
            by_version.pop("shifted", ""),
            "; ".join(f"{version}: {outcome}" for version, outcome in by_version.items()),
        )
        for name, by_version in outcomes.items()
    ]
    return markdown_table(("the paper's claim", "its problems", "shifted", "elsewhere"), rows)


def _meaning(claim: Claim) -> str:
    return f"{claim.meaning}. Paper, “{PARAGRAPHS[claim.figure]}”: “{claim.quote}”"


def _row(verdict: Verdict) -> tuple[str, ...]:
    outcomes = [finding.outcome for finding in verdict.findings]
    counts = ((outcome, outcomes.count(outcome)) for outcome in Outcome)
    return (
        str(verdict.claim.figure),
        verdict.claim.name,
        verdict.version,
        f"**{verdict.outcome}**",
        ", ".join(f"{count} {PARTS[outcome]}" for outcome, count in counts if count),
        _span([finding.effect for finding in verdict.deciding]),
        _deciding(verdict),
        verdict.reason,
    )


def _deciding(verdict: Verdict) -> str:
    """The parts that decide, by problem: "ackley-20: ms-ucb > sre, hesbo"."""
    if len(verdict.deciding) == len(verdict.findings) > 1:
        return f"all {len(verdict.findings)} parts"
    groups: dict[str, list[str]] = {}
    for finding in verdict.deciding:
        one, other = _sides(finding.part)
        head = f"{_where(finding.part)}: {one} {SIGN[finding.outcome]} "
        groups.setdefault(head, []).append(other)
    return "; ".join(head + ", ".join(others) for head, others in groups.items())


def _detail(finding: Finding) -> tuple[str, ...]:
    c = finding.comparison
    return (
        _where(finding.part),
        " < ".join(_sides(finding.part)),
        str(c.pairs) if c else DASH,
        _span([finding.effect]),
        f"{c.won:.0%}" if c else DASH,
        DASH if math.isnan(finding.p) else f"{finding.p:.2g}",
        finding.outcome,
    )


def _where(part: Part) -> str:
    since = part.since if isinstance(part, Lower) else None
    return part.problem.label + (f" (growth since D = {since.D})" if since else "")


def _sides(part: Part) -> tuple[str, str]:
    """The two sides of "a < b", as the part claims it."""
    if isinstance(part, Slower):
        return f"time of {part.faster}", part.slower
    factor = "" if part.factor == 1.0 else f"{part.factor:g}·"
    return _names(part.better), factor + _names(part.worse)


def _names(labels: tuple[str, ...]) -> str:
    return labels[0] if len(labels) == 1 else "the others' median"


def _span(effects: Sequence[float]) -> str:
    """The least and the largest, such as "-0.200 to +0.100", or the one there is."""
    known = [effect for effect in effects if not math.isnan(effect)]
    if not known:
        return DASH
    ends = dict.fromkeys(f"{end:+.3f}" for end in (min(known), max(known)))
    return " to ".join(ends)
