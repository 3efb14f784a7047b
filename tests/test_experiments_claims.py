"""Claims are judged by the rules they state, whatever the results are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import wilcoxon

from transect.experiments import claims_learning, claims_text
from transect.experiments.claims import CLAIMS, Finding, Outcome, Verdict, judge, markdown, short
from transect.experiments.claims_text import CENTRE, MS, Claim, Lower, Part, Reason, Slower
from transect.experiments.figures import FIGURES
from transect.experiments.statistics import by_seed, compare, holm, oracle_floor
from transect.experiments.table import FLOOR, Cell, Table, log_regret
from transect.experiments.task import ProblemSpec

HOLDS, FAILS, UNDECIDED, NO_DATA = Outcome
ACKLEY = ProblemSpec("ackley", 20)
BUILT = ACKLEY.build(0)
A_BELOW_B = Lower(ACKLEY, ("a",), ("b",))


def cell(final: Any, seconds: float = 1.0) -> Cell:
    """Runs of 30 evaluations, of which the last is the best."""
    least = np.asarray(final, dtype=np.float64)
    regret = least[:, None] * np.linspace(3.0, 1.0, 30)
    return Cell(tuple(range(len(least))), regret, least, 100.0, seconds)


def around(log10: float, repeats: int = 30, seed: int = 0) -> Cell:
    """Final regrets that scatter a little around a power of ten."""
    return cell(10.0 ** (log10 + 0.05 * np.random.default_rng(seed).normal(size=repeats)))


def on(problem: ProblemSpec, **cells: Cell) -> Table:
    return Table({(problem.label, label): value for label, value in cells.items()})


def only(
    table: Table, *parts: Part, most: bool = False, reasons: tuple[Reason, ...] = ()
) -> Verdict:
    """The verdict on one claim with these parts."""
    (verdict,) = judge(table, [Claim("c", "q", 1, "m", {"paper": parts}, reasons, most)])
    return verdict


# --- statistics ---------------------------------------------------------------------------


def test_holm_by_hand() -> None:
    # sorted: 0.005·4 = 0.02, 0.01·3 = 0.03, 0.03·2 = 0.06, and 0.04·1 may not be less than that
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.7, 0.6]), [1.0, 1.0])
    assert len(holm([])) == 0


def test_comparison_is_the_two_sided_test_and_knows_its_direction() -> None:
    difference = np.random.default_rng(0).normal(-0.3, 1.0, 20)
    one, other = compare(difference), compare(-difference)
    assert one.p == other.p == pytest.approx(wilcoxon(difference).pvalue)
    assert one.favours
    assert not other.favours
    assert one.effect == -other.effect == np.median(difference)
    assert one.won == 1.0 - other.won == np.mean(difference < 0.0)


def test_margin_moves_the_test_and_not_the_effect() -> None:
    difference = np.linspace(0.05, 0.25, 20)
    assert not compare(difference).favours
    within = compare(difference, margin=0.3)
    assert within.favours
    assert within.p < 1e-4
    assert within.effect == pytest.approx(0.15)


def test_zero_differences_speak_for_neither() -> None:
    equal = compare(np.zeros(30))
    assert (equal.p, equal.won, equal.effect) == (1.0, 0.5, 0.0)
    few = np.zeros(30)
    few[:6] = -np.arange(1.0, 7.0)
    assert compare(few).p > compare(few[:6]).p  # dropped, the zeros would not count


def test_medians_pair_by_seed() -> None:
    one = Cell((3, 1, 2), np.ones((3, 1)), np.array([1e3, 1e1, 1e2]), 0.0, 0.0)
    other = Cell((1, 2, 9), np.ones((3, 1)), np.array([1e1, 1e4, 1e9]), 0.0, 0.0)
    assert by_seed([one]) == pytest.approx({1: 1.0, 2: 2.0, 3: 3.0})
    assert by_seed([one, other]) == pytest.approx({1: 1.0, 2: 3.0})


def test_log_regret_has_a_floor() -> None:
    np.testing.assert_allclose(log_regret([100.0, FLOOR, 0.0, -1e-15]), [2.0, -12.0, -12.0, -12.0])
    assert math.isnan(log_regret([math.nan])[0])


@pytest.mark.parametrize(
    ("name", "D", "expected", "tolerance"),
    [
        ("ackley", 20, 18.8, 0.3),
        ("ackley", 100, 20.75, 0.03),
        ("levy", 20, 49.0, 4.0),
        ("levy", 100, 798.0, 25.0),
        ("hyper-ellipsoid", 20, 9.7e4, 8e3),
        ("hyper-ellipsoid", 100, 5.0e6, 1.5e5),
    ],
)
def test_oracle_floors_of_500_slices(name: str, D: int, expected: float, tolerance: float) -> None:
    floors = oracle_floor(ProblemSpec(name, D), 500, 5, range(100, 130))
    assert abs(np.mean(floors) - expected) < tolerance


def test_a_floor_needs_an_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProblemSpec, "build", lambda self, seed: replace(BUILT, optimum=None))
    with pytest.raises(ValueError, match="ackley has no known optimum"):
        oracle_floor(ACKLEY, 1, 5, [0])


def test_oracle_floor_is_a_floor() -> None:
    spec = ProblemSpec("levy", 8, shifted=True)
    (floor,) = oracle_floor(spec, 1, 3, [5])
    problem, rng = spec.build(5), np.random.default_rng(0)
    z = np.random.default_rng([5, 1]).uniform(-1.0, 1.0, 8)
    for y in rng.uniform(-1.0, 1.0, (200, 3)):
        assert problem(np.concatenate([z[:5], y])) >= floor
    assert oracle_floor(spec, 1, 8, [5])[0] == pytest.approx(0.0, abs=1e-12)


# --- verdicts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (around(0.0, seed=1), around(1.0, seed=2), HOLDS),
        (around(1.0, seed=1), around(0.0, seed=2), FAILS),
        (around(1.0, seed=1), around(1.0, seed=2), UNDECIDED),
        (around(1.0, seed=1), around(1.0, seed=1), UNDECIDED),  # every difference is zero
        (around(0.0, repeats=5), around(1.0, repeats=5), UNDECIDED),
        (around(0.0, repeats=6), around(1.0, repeats=6), HOLDS),
        (around(0.0, repeats=1), around(1.0, repeats=30), UNDECIDED),
    ],
)
def test_better_than(a: Cell, b: Cell, expected: Outcome) -> None:
    assert only(on(ACKLEY, a=a, b=b), A_BELOW_B).outcome is expected


def test_a_missing_cell_is_no_data() -> None:
    verdict = only(on(ACKLEY, a=around(0.0)), A_BELOW_B)
    assert verdict.outcome is NO_DATA
    no_common_seed = Cell((99,), np.ones((1, 1)), np.ones(1), 0.0, 0.0)
    assert only(on(ACKLEY, a=around(0.0), b=no_common_seed), A_BELOW_B).outcome is NO_DATA
    failed = cell(np.full(30, np.nan))
    assert only(on(ACKLEY, a=around(0.0), b=failed), A_BELOW_B).outcome is NO_DATA


THREE = on(ACKLEY, a=around(0.0, seed=1), b=around(1.0, seed=2), c=around(1.0, seed=3))


def part(better: str, worse: str) -> Lower:
    return Lower(ACKLEY, (better,), (worse,))


GOOD, BAD, OPEN, MISSING = part("a", "b"), part("b", "a"), part("b", "c"), part("a", "x")


@pytest.mark.parametrize(
    ("parts", "expected", "deciding"),
    [
        ((GOOD, part("a", "c")), HOLDS, (GOOD, part("a", "c"))),
        ((GOOD, BAD, OPEN, MISSING), FAILS, (BAD,)),
        ((GOOD, OPEN), UNDECIDED, (OPEN,)),
        ((GOOD, MISSING), UNDECIDED, (MISSING,)),
        ((MISSING, part("x", "a")), NO_DATA, (MISSING, part("x", "a"))),
    ],
)
def test_all_parts_must_hold(
    parts: tuple[Lower, ...], expected: Outcome, deciding: tuple[Lower, ...]
) -> None:
    verdict = only(THREE, *parts)
    assert verdict.outcome is expected
    assert tuple(finding.part for finding in verdict.deciding) == deciding


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((GOOD, part("a", "c"), BAD), HOLDS),
        ((GOOD, BAD), FAILS),  # one of two is not most
        ((BAD, OPEN, part("c", "a")), FAILS),
        ((GOOD, OPEN, BAD), UNDECIDED),
        ((GOOD, OPEN), UNDECIDED),
    ],
)
def test_most_parts_must_hold(parts: tuple[Lower, ...], expected: Outcome) -> None:
    assert only(THREE, *parts, most=True).outcome is expected


def test_the_correction_counts_every_test() -> None:
    b = np.geomspace(1.0, 10.0, 8)
    table = on(ACKLEY, a=cell(0.5 * b), b=cell(b), **{f"b{i}": cell(b) for i in range(9)})
    alone = only(table, A_BELOW_B)
    assert alone.outcome is HOLDS
    among = only(table, A_BELOW_B, *(part("b", f"b{i}") for i in range(9)))
    assert among.findings[0].p == pytest.approx(10 * alone.findings[0].p)
    assert among.findings[0].outcome is UNDECIDED


def test_a_part_of_two_claims_is_tested_once() -> None:
    claims = [Claim(name, "q", 1, "m", {"paper": (GOOD,)}) for name in "xy"]
    findings = {verdict.findings for verdict in judge(THREE, claims)}
    assert findings == {only(THREE, GOOD).findings}


def test_within_a_factor() -> None:
    table = on(ACKLEY, a=around(0.2, seed=1), b=around(0.0, seed=2))
    assert only(table, A_BELOW_B).outcome is FAILS
    assert only(table, Lower(ACKLEY, ("a",), ("b",), factor=2.0)).outcome is HOLDS


def test_several_strategies_stand_for_their_median() -> None:
    table = on(ACKLEY, a=around(1.0, seed=1), b=around(0.0), c=around(2.0), d=around(3.0))
    assert only(table, Lower(ACKLEY, ("a",), ("b", "c", "d"))).outcome is HOLDS
    assert only(table, Lower(ACKLEY, ("c",), ("b", "a", "d"))).outcome is FAILS


def test_growth_since_a_smaller_problem() -> None:
    large = ProblemSpec("ackley", 100)
    small_cells = on(ACKLEY, a=around(2.0, seed=1), b=around(0.0, seed=2)).cells
    large_cells = on(large, a=around(2.5, seed=3), b=around(1.5, seed=4)).cells
    table = Table({**small_cells, **large_cells})
    assert only(table, Lower(large, ("a",), ("b",))).outcome is FAILS
    assert only(table, Lower(large, ("a",), ("b",), since=ACKLEY)).outcome is HOLDS
    without = Table(large_cells)
    assert only(without, Lower(large, ("a",), ("b",), since=ACKLEY)).outcome is NO_DATA


@pytest.mark.parametrize(
    ("seconds", "expected"), [(1.5, HOLDS), (1.05, UNDECIDED), (0.5, FAILS), (math.nan, NO_DATA)]
)
def test_times_differ_by_a_tenth(seconds: float, expected: Outcome) -> None:
    table = on(ACKLEY, a=cell([1.0], seconds), b=cell([1.0], 1.0))
    assert only(table, Slower(ACKLEY, "a", "b")).outcome is expected
    assert only(Table({}), Slower(ACKLEY, "a", "b")).outcome is NO_DATA


# --- reasons ------------------------------------------------------------------------------


def everywhere(levels: Mapping[str, float]) -> Table:
    """Every problem and strategy of the figures, at these powers of ten, else at 10."""
    return Table(
        {
            (panel.problem.label, line.label): around(levels.get(line.label, 1.0), seed=i)
            for figure in FIGURES.values()
            for panel in figure.panels
            for i, line in enumerate(figure.lines)
        }
    )


def test_reasons_are_given_for_failures_only() -> None:
    verdicts = judge(everywhere({MS: 0.0})) + judge(everywhere({MS: 2.0})) + judge(Table({}))
    assert {verdict.outcome for verdict in verdicts} >= {HOLDS, FAILS, UNDECIDED, NO_DATA}
    for verdict in verdicts:
        assert bool(verdict.reason) == (verdict.outcome is FAILS)


@pytest.mark.parametrize(
    ("winner", "version", "expected"),
    [("hesbo", "paper", True), ("hesbo", "shifted", False), ("line-bo", "paper", False)],
)
def test_the_centre_explains_embeddings_on_unshifted_problems(
    winner: str, version: str, expected: bool
) -> None:
    verdicts = judge(everywhere({MS: 0.5, winner: 0.0}))
    verdict = next(v for v in verdicts if "best on Ackley" in v.claim.name and v.version == version)
    assert verdict.outcome is FAILS
    assert (CENTRE.text in verdict.reason) == expected
    assert f"MS-UCB reached {10**0.5:.1g}" in verdict.reason
    assert "cannot get below" in verdict.reason  # the floor is about 20, the winner had 1


# --- the paper's claims -------------------------------------------------------------------


def test_claims_name_only_what_the_figures_have() -> None:
    for claim in CLAIMS:
        grids = FIGURES[f"fig{claim.figure}"].grids
        there = {(p.problem, line.label) for g in grids for p in g.panels for line in g.lines}
        for case in claim.cases.values():
            assert {cell for part in case for cell in cells_of(part)} <= there


def cells_of(part: Part) -> set[tuple[ProblemSpec, str]]:
    if isinstance(part, Slower):
        return {(part.problem, part.slower), (part.problem, part.faster)}
    problems = {part.problem, part.since or part.problem}
    return {(p, label) for p in problems for label in (*part.better, *part.worse)}


def test_every_claim_is_judged_on_the_papers_and_the_shifted_problems() -> None:
    for claim in claims_text.CLAIMS:
        assert {"paper", "shifted"} <= set(claim.cases)
        for part in claim.cases["paper"]:
            assert not part.problem.shifted
        for part in claim.cases["shifted"]:
            assert part.problem.shifted


def test_claims_on_learning_are_judged_on_the_papers_networks_and_on_stand_in_data() -> None:
    versions = {4: {"paper"}, 5: {"stand-in data"}}
    for claim in claims_learning.CLAIMS:
        assert set(claim.cases) == versions[claim.figure]
    assert {claim.figure for claim in CLAIMS} == {1, 2, 3, 4, 5}
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)


def test_a_table_in_which_ms_ucb_wins() -> None:
    verdicts = judge(everywhere({MS: 0.0, claims_learning.MS: 0.0}))
    best = [v for v in verdicts if v.claim.name.startswith("MS-UCB is best on")]
    early = [v for v in best if v.claim.figure == 1]
    assert len(early) == 3 * 2 + 4  # Camelback: four versions
    assert {v.outcome for v in best} == {HOLDS}
    assert {len(v.findings) for v in early} == {18, 6}
    late = {v.claim.figure: v for v in best if v.claim.figure != 1}
    assert len(best) == len(early) + len(late)
    assert {figure: len(v.findings) for figure, v in late.items()} == {4: 2 * 4, 5: 4 * 4}


@pytest.mark.parametrize("winner", ["hesbo-d10", "line-bo"])
def test_a_table_in_which_ms_ucb_does_not_win_at_learning(winner: str) -> None:
    """Judged from the table alone: no data set is loaded."""
    verdicts = judge(everywhere({winner: 0.0}))
    best = [v for v in verdicts if v.claim.name.startswith("MS-UCB is best on")]
    late = {v.claim.figure: v for v in best if v.claim.figure > 3}
    assert {figure: v.outcome for figure, v in late.items()} == {4: FAILS, 5: FAILS}
    assert all("draws all others at random" in v.reason for v in late.values())
    poor = next(v for v in verdicts if v.claim.name.endswith("are poor on the ramp loss"))
    assert poor.outcome is FAILS
    assert len(poor.findings) == 3 * 4


def test_figures_four_and_five_are_families_of_tests_of_their_own() -> None:
    """Their corrections do not depend on each other, nor on Figures 1 to 3."""
    table = everywhere({claims_learning.MS: 0.9})
    whole = {v.claim.name: v for v in judge(table)}
    for figure in (4, 5):
        alone = judge(table, [claim for claim in CLAIMS if claim.figure == figure])
        for verdict in alone:
            pairs = zip(verdict.findings, whole[verdict.claim.name].findings, strict=True)
            assert all(one.p == other.p for one, other in pairs)
    early = judge(table, claims_text.CLAIMS)
    assert [v.findings for v in early] == [v.findings for v in judge(table)][: len(early)]
    lone = judge(table, [claim for claim in CLAIMS if claim.figure == 1])
    p_of = {finding.part: finding.p for v in early for finding in v.findings}
    assert any(f.p < p_of[f.part] for v in lone for f in v.findings)


def test_poor_strategies_are_found_poor() -> None:
    verdicts = judge(everywhere({"gp-ucb": 2.0, "line-bo": 2.0}))
    outcomes = {(v.claim.name, v.version): v.outcome for v in verdicts}
    assert outcomes["GP-UCB is poor in most cases", "paper"] is HOLDS
    assert outcomes["LineBO is poor except on Hyper-Ellipsoid", "paper"] is FAILS


# --- text ---------------------------------------------------------------------------------


def rows(text: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]


def test_markdown_has_every_verdict_and_every_test() -> None:
    verdicts = judge(everywhere({MS: 0.5, "sre": 0.0}))
    text = markdown(verdicts)
    findings: set[Finding] = {finding for verdict in verdicts for finding in verdict.findings}
    assert len(rows(text)) == 2 + len(verdicts) + 2 + len(findings)
    widths = {line.count(" | ") for line in text.splitlines() if line.startswith("| ")}
    assert widths == {7, 6}
    assert "ackley-20: ms-ucb > sre;" in text
    for claim in CLAIMS:
        assert claim.quote in text


def test_short_has_one_line_for_each_claim() -> None:
    lines = rows(short(judge(everywhere({MS: 0.0}))))
    assert [line[0] for line in lines[2:]] == [claim.name for claim in CLAIMS]
    assert lines[2][1:3] == ["holds", "holds"]
    camelback = next(line for line in lines if "competitive" in line[0])
    assert camelback[3] == "active last: holds; active random: holds"


def test_without_results_there_is_no_data() -> None:
    verdicts = judge(Table({}))
    assert {verdict.outcome for verdict in verdicts} == {NO_DATA}
    assert "no data" in markdown(verdicts)
    assert "no data" in short(verdicts)
