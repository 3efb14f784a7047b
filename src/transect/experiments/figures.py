"""What each figure shows, as data: problems in a grid of panels, strategies as lines.

A line's label is its strategy's name on disk. Lines of one label are the same runs in every
figure, so what two figures share is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from ..strategies import (
    GPUCB,
    MSUCB,
    REMBO,
    SRE,
    Anchored,
    DropoutUCB,
    HeSBO,
    LineBO,
    RandomSearch,
    Strategy,
)
from ..theory import ms_ucb_beta
from .task import ProblemSpec, Task, suggest_evals

REPEATS, EVALS = 30, 200
QUICK_REPEATS, QUICK_EVALS = 3, 60
DIMENSIONS = (20, 50, 100)


@dataclass(frozen=True)
class Line:
    """One strategy: its label, how a legend calls it, and what it is in D dimensions.

    One without a strategy is a reference of the problem's, its label the reference's name.
    """

    label: str
    title: str
    strategy: Callable[[int], Strategy] | None
    limited: bool = True  # to the budget of acquisition evaluations that all have in common

    def task(self, problem: ProblemSpec, seed: int, evals: int) -> Task:
        if self.strategy is None:
            return Task(self.label, None, problem, seed, evals=1)
        budget = suggest_evals(problem.D) if self.limited else None
        return Task(self.label, self.strategy(problem.D), problem, seed, evals, budget)


@dataclass(frozen=True)
class Panel:
    """One problem."""

    title: str
    problem: ProblemSpec


class Kind(StrEnum):
    """What a grid shows of its runs."""

    REGRET = "regret"  # along a run, on a logarithmic axis: the least value is known
    LOSS = "loss"  # along a run, as it is
    WIDE = "loss over decades"  # along a run, on a logarithmic axis
    FINAL = "final loss"  # at the end, one panel beside the other
    TRADE = "trade"  # regret at the end against acquisition evaluations a suggestion


@dataclass(frozen=True)
class Grid:
    """Panels that belong together, row by row, each with all of the lines."""

    name: str
    title: str
    columns: int
    panels: tuple[Panel, ...]
    lines: tuple[Line, ...]
    kind: Kind = Kind.REGRET


@dataclass(frozen=True)
class Figure:
    """One figure of the paper, with what we add to it.

    quick: the grids that stand for the others when there is little time; where there are none,
    the others' problems of least dimension do.
    """

    name: str
    title: str
    grids: tuple[Grid, ...]
    quick: tuple[Grid, ...] = ()
    repeats: int = REPEATS
    evals: int = EVALS

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, each once."""
        grids = (*self.grids, *self.quick)
        return tuple(dict.fromkeys(panel for grid in grids for panel in grid.panels))

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, each once."""
        return tuple({line.label: line for grid in self.grids for line in grid.lines}.values())

    def tasks(
        self, repeats: int | None = None, evals: int | None = None, quick: bool = False
    ) -> list[Task]:
        """The runs behind the figure, each once.

        By default as many repeats and evaluations as the figure has. quick: 3 of 60, and
        only small problems.
        """
        repeats = repeats or (QUICK_REPEATS if quick else self.repeats)
        evals = evals or (QUICK_EVALS if quick else self.evals)
        grids = self.quick if quick and self.quick else self.grids
        least = min(panel.problem.D for grid in grids for panel in grid.panels)
        tasks = (
            line.task(panel.problem, seed, evals)
            for grid in grids
            for panel in grid.panels
            if not (quick and least < panel.problem.D)
            for line in grid.lines
            for seed in range(repeats)
        )
        return list({task.key: task for task in tasks}.values())


@dataclass(frozen=True)
class MSUCBBeta:
    """MS-UCB's β_t for other strategies; unlike a closure it pickles, and prints what it is."""

    D: int
    d: int

    def __call__(self, t: int) -> float:
        return ms_ucb_beta(t, self.D, self.d)


# --- lines --------------------------------------------------------------------------------

MS_UCB = Line("ms-ucb", "MS-UCB", lambda D: MSUCB(d=5))
ALGORITHMS = (
    MS_UCB,
    Line("gp-ucb", "GP-UCB", lambda D: GPUCB()),
    Line("dropout-ucb", "DropoutUCB", lambda D: DropoutUCB(d=5)),
    Line("line-bo", "LineBO", lambda D: LineBO()),
    Line("sre", "SRE", lambda D: SRE(d=5, m=5)),
    Line("rembo", "REMBO", lambda D: REMBO(d=5)),
    Line("hesbo", "HeSBO", lambda D: HeSBO(d=5)),
    # ours: how much of a gap to GP-UCB is its β, and how much any method beats chance
    Line("gp-ucb-ms-beta", "GP-UCB, β of MS-UCB", lambda D: GPUCB(beta=MSUCBBeta(D, 5))),
    Line("random", "random search", lambda D: RandomSearch()),
)


def _slices(n0: int, alpha: int, limited: bool) -> Line:
    """MS-UCB with N_t = n0·t^alpha new slices a step."""
    label = "ms-ucb" if (n0, alpha) == (1, 0) else f"ms-ucb-{n0}-{alpha}"
    return Line(
        label if limited else f"{label}-all",
        f"N0 = {n0}, α = {alpha}",
        lambda D: MSUCB(d=5, n0=n0, alpha=alpha),
        limited,
    )


def _free(d: int) -> Line:
    """MS-UCB with d free coordinates."""
    return Line("ms-ucb" if d == 5 else f"ms-ucb-d{d}", f"d = {d}", lambda D: MSUCB(d=d))


SCHEDULES = ((1, 0), (10, 0), (1, 1), (1, 2))
LIMITED = tuple(_slices(n0, alpha, limited=True) for n0, alpha in SCHEDULES)
# without (1, 2): 1.9 million slices at the end, two minutes a run for a step in the same direction
UNLIMITED = tuple(_slices(n0, alpha, limited=False) for n0, alpha in SCHEDULES[:3])
FREE = tuple(_free(d) for d in (1, 2, 5, 10))


def _traded(d: int, n0: int, alpha: int, D: int) -> Strategy:
    return MSUCB(d=d, n0=n0, alpha=alpha, beta="practical")


# What the learning tasks compare: the paper's five, with d = 10, and ours beside them.
LEARNERS = (
    Line("ms-ucb-d10-1-1", "MS-UCB, d = 10, (1, 1)", lambda D: MSUCB(d=10, n0=1, alpha=1)),
    Line("line-bo", "LineBO", lambda D: LineBO()),
    Line("sre-d10", "SRE, d = 10", lambda D: SRE(d=10, m=5)),
    Line("rembo-d10", "REMBO, d = 10", lambda D: REMBO(d=10)),
    Line("hesbo-d10", "HeSBO, d = 10", lambda D: HeSBO(d=10)),
    Line("gp-ucb-practical", "GP-UCB, practical β", lambda D: GPUCB(beta="practical")),
    Line("anchored", "Anchored", lambda D: Anchored()),
    Line("random", "random search", lambda D: RandomSearch()),
)
# The trade: more slices, or more free coordinates, for more computation; nothing is cut short.
# β is the practical one: with the published one all of them explore, whatever the search finds.
TRADED = tuple(
    Line(
        f"trade-d{d}-{n0}-{alpha}",
        f"MS-UCB, d = {d}",
        partial(_traded, d, n0, alpha),
        limited=False,
    )
    for d in (1, 5, 10)
    for n0, alpha in ((1, 0), (10, 0), (1, 1), (100, 0), (1000, 0))
)
WHOLE_BOX = Line("trade-box", "the whole box (GP-UCB)", lambda D: GPUCB(beta="practical"), False)
RANDOM = Line("random", "random search", lambda D: RandomSearch())

ALL_ADAM = Line("all-adam", "all weights by Adam", None)
LINEAR_SVM = Line("linear-svm", "linear SVM", None)


# --- panels -------------------------------------------------------------------------------

NAMES = {
    "ackley": "Ackley",
    "levy": "Levy",
    "hyper-ellipsoid": "Hyper-Ellipsoid",
    "camelback": "Camelback",
}


def _panels(
    problems: Iterable[tuple[str, str | None]],
    dimensions: Iterable[int] = DIMENSIONS,
    shifted: bool = False,
) -> tuple[Panel, ...]:
    """A row for each problem, given as its name and where its active coordinates are."""
    specs = [ProblemSpec(name, D, shifted, active) for name, active in problems for D in dimensions]
    return tuple(Panel(_title(spec), spec) for spec in specs)


def _title(spec: ProblemSpec) -> str:
    where = f" ({spec.active})" if spec.active else ""
    return f"{NAMES[spec.name]}{where}, D = {spec.D}" + (", shifted" if spec.shifted else "")


FULL = (("ackley", None), ("levy", None), ("hyper-ellipsoid", None))
POSITIONS = tuple(("camelback", active) for active in ("first", "last", "random"))
PAIR = (("hyper-ellipsoid", None), ("ackley", None))
WEIGHTS = (1.0, 2.0, 5.0, 10.0)  # C of the ramp loss
RAMP_D = 5001


def _network(D: int, data: str) -> Panel:
    return Panel(f"{data}, D = {D}", ProblemSpec("network", D, data=data))


def _ramp(D: int, C: float, B: float | None = None) -> Panel:
    return Panel(f"C = {C:g}", ProblemSpec("ramp", D, data="gisette-like", C=C, B=B))


def _ramps(D: int) -> tuple[Grid, Grid]:
    """Figure 5, left and right, on the first D - 1 features."""
    lines, every = (*LEARNERS, LINEAR_SVM), tuple(_ramp(D, C) for C in WEIGHTS)
    end = "" if D == RAMP_D else f"-{D}"
    return (
        Grid(f"progress{end}", f"stand-in for Gisette, D = {D}", 1, every[:1], lines, Kind.LOSS),
        Grid(f"final{end}", f"stand-in for Gisette, D = {D}", 1, every, lines, Kind.FINAL),
    )


def _trade(D: int) -> Grid:
    return Grid(
        f"slices-{D}",
        f"MS-UCB with the practical β, D = {D}",
        3,
        _panels(FULL, (D,), shifted=True),
        (*TRADED, WHOLE_BOX, RANDOM),
        Kind.TRADE,
    )


PAPER_PAIR = _panels(PAIR, (100,))
SHIFTED_PAIR = _panels(PAIR, (100,), shifted=True)


# --- figures ------------------------------------------------------------------------------

FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "fig1",
            "Seven algorithms and two yardsticks",
            (
                Grid(
                    "paper",
                    "the paper's four problems",
                    len(DIMENSIONS),
                    _panels((*FULL, ("camelback", "first"))),
                    ALGORITHMS,
                ),
                Grid(
                    "shifted",
                    "the same problems, optimum away from the centre",
                    len(DIMENSIONS),
                    _panels((*FULL, ("camelback", "random")), shifted=True),
                    ALGORITHMS,
                ),
                Grid(
                    "positions",
                    "where Camelback's two active coordinates are",
                    len(DIMENSIONS),
                    _panels(POSITIONS),
                    ALGORITHMS,
                ),
            ),
        ),
        Figure(
            "fig2",
            "MS-UCB by the number of slices",
            (
                Grid("paper", "as in the paper", 2, PAPER_PAIR, LIMITED),
                Grid("shifted", "optimum away from the centre", 2, SHIFTED_PAIR, LIMITED),
                Grid("every-slice", "every slice looked at", 2, PAPER_PAIR, UNLIMITED),
            ),
        ),
        Figure(
            "fig3",
            "MS-UCB by the number of free coordinates",
            (
                Grid("paper", "as in the paper", 2, PAPER_PAIR, FREE),
                Grid("shifted", "optimum away from the centre", 2, SHIFTED_PAIR, FREE),
            ),
        ),
        Figure(
            "fig4",
            "Output weights of a network",
            (
                Grid(
                    "mnist",
                    "validation loss",
                    2,
                    tuple(_network(D, "mnist") for D in (100, 500)),
                    (*LEARNERS, ALL_ADAM),
                    Kind.LOSS,
                ),
            ),
            quick=(
                Grid(
                    "digits",
                    "validation loss",
                    1,
                    (_network(100, "digits"),),
                    (*LEARNERS, ALL_ADAM),
                    Kind.LOSS,
                ),
            ),
            repeats=10,
        ),
        Figure(
            "fig5",
            "A classifier by its ramp loss",
            (
                *_ramps(RAMP_D),
                Grid(
                    "wide-box",
                    "stand-in for Gisette, a box ten times as wide",
                    1,
                    (_ramp(RAMP_D, 1.0, B=10.0),),
                    (*LEARNERS, LINEAR_SVM),
                    Kind.WIDE,
                ),
            ),
            quick=_ramps(501),
            repeats=15,
            evals=300,
        ),
        Figure(
            "trade",
            "Regret against computation",
            (_trade(50),),
            quick=(_trade(20),),
            repeats=10,
        ),
    )
}

# Every strategy by its label, in the figures' order; under the title of the first that has it.
LINES: dict[str, Line] = {}
for _figure in FIGURES.values():
    for _line in _figure.lines:
        LINES.setdefault(_line.label, _line)
