"""The trade of the paper's title as a tool: what MS-UCB can afford, and what it gets for it.

``plan`` lists settings (d, N0, α) with the seconds and the memory they will take on this
machine and what the theory promises for them, and marks the best one inside a budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ._checks import positive_number, whole_number
from .costs import Speed, memory_at, run_seconds, shape_at, speed, suggestion_seconds
from .optimizer import initial_points
from .strategies import MSUCB
from .theory import corrected_step_bound, lipschitz, rate_exponent, slice_count

FREE = (1, 2, 5, 10)  # dimensions of the slices that are listed: those that can be searched well
NEW = (1, 3, 10, 30, 100, 300, 1000)  # N0
POWERS = (0, 1, 2)  # α
SHOWN = 12  # settings in the table
DELTA = 0.1


@dataclass(frozen=True)
class Option:
    """One setting of MS-UCB and what is to be expected of it."""

    d: int
    n0: int
    alpha: int
    slices: int  # |Z_T|
    seconds: float  # a suggestion takes at the end, refits spread over those between them
    total: float  # seconds that all suggestions take
    memory: float  # bytes
    exponent: float  # of T in the second term of the regret
    bound: float  # on the regret of the last step, corrected, in standard deviations of f
    affordable: bool

    @property
    def strategy(self) -> MSUCB:
        """MS-UCB with this setting and the β that the bound is for."""
        return MSUCB(self.d, self.n0, self.alpha, beta="corrected", delta=DELTA)


@dataclass(frozen=True)
class Plan:
    """Settings of MS-UCB for a problem and a budget; ``print(plan)`` shows them."""

    D: int
    max_evals: int
    n_init: int
    limits: str  # in words
    options: tuple[Option, ...]  # best bound first

    @property
    def affordable(self) -> tuple[Option, ...]:
        """Those inside the budget."""
        return tuple(o for o in self.options if o.affordable)

    @property
    def chosen(self) -> Option:
        """The one with the least bound inside the budget; of equal ones, the cheapest."""
        if not self.affordable:
            least = min(self.options, key=lambda o: o.seconds)
            raise ValueError(
                f"nothing fits into {self.limits}: the cheapest setting takes "
                f"{_time(least.seconds)} a suggestion at the end, {_time(least.total)} in all "
                f"and {_size(least.memory)}; a suggest_time cuts every setting short instead"
            )
        return self.affordable[0]

    @property
    def best(self) -> MSUCB:
        """The strategy to run: ``minimize(f, bounds, strategy=plan.best)``."""
        return self.chosen.strategy

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def plan(
    D: int,
    max_evals: int,
    *,
    suggest_time: float | None = None,
    total_time: float | None = None,
    memory: float | None = None,
    n_init: int | None = None,
) -> Plan:
    """What MS-UCB can do for D variables in max_evals evaluations.

    suggest_time: seconds a suggestion may take, at the end, where there are most slices and
    observations. total_time: seconds all suggestions may take together, without the
    evaluations. memory: bytes. n_init: random evaluations before the first suggestion, by
    default as many as ``Optimizer`` makes. The machine is measured for this, which takes less
    than a second.
    """
    D = whole_number("D", D, 2)
    max_evals = whole_number("max_evals", max_evals, 2)
    n_init = initial_points(max_evals) if n_init is None else whole_number("n_init", n_init, 1)
    n_init = min(n_init, max_evals - 1)
    limits = [
        positive_number(name, value) if value is not None else math.inf
        for name, value in (
            ("suggest_time", suggest_time),
            ("total_time", total_time),
            ("memory", memory),
        )
    ]
    machine = speed()
    options = [_option(D, max_evals, n_init, *s, machine, limits) for s in _settings(D, max_evals)]
    options.sort(key=lambda o: (o.bound, o.total))
    return Plan(D, max_evals, n_init, _in_words(*limits), tuple(options))


def _settings(D: int, T: int) -> Iterator[tuple[int, int, int]]:
    """(d, N0, α), as far as the numbers of slices mean anything."""
    for d in (d for d in FREE if d < D):
        for alpha in POWERS:
            for n0 in NEW:
                if slice_count(T, n0, alpha) <= 10**9:
                    yield d, n0, alpha


def _option(
    D: int,
    max_evals: int,
    n_init: int,
    d: int,
    n0: int,
    alpha: int,
    machine: Speed,
    limits: list[float],
) -> Option:
    T = max_evals - n_init
    strategy = MSUCB(d, n0, alpha)
    last = shape_at(strategy, d, D, n_init, T)
    seconds = suggestion_seconds(machine, last, strategy.surrogate)
    total = run_seconds(machine, strategy, d, D, n_init, max_evals)
    needs = (seconds, total, memory_at(last))
    fits = all(need <= limit for need, limit in zip(needs, limits, strict=True))
    fits &= last.held == last.m  # slices that leave the tables would take the bound with them
    bound = corrected_step_bound(T, D, d, last.m, 1.0, DELTA)
    rate = rate_exponent(D - d, alpha)
    return Option(d, n0, alpha, last.m, *needs, rate, bound, fits)


def _in_words(suggest_time: float, total_time: float, memory: float) -> str:
    parts = [
        f"{_time(suggest_time)} a suggestion" if suggest_time < math.inf else "",
        f"{_time(total_time)} in all" if total_time < math.inf else "",
        _size(memory) if memory < math.inf else "",
    ]
    return ", ".join(p for p in parts if p) or "no limit"


def _lines(plan: Plan) -> Iterator[str]:
    yield (
        f"MS-UCB for {plan.D} variables, {plan.max_evals} evaluations "
        f"({plan.n_init} of them random); budget: {plan.limits}"
    )
    yield ""
    head = ("", "d", "N0", "α", "slices", "s at the end", "s in all", "memory", "exponent", "bound")
    shown = plan.affordable[:SHOWN] or plan.options[-1:]
    rows = [head, *(_row(o, o is shown[0] and o.affordable) for o in shown)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    yield ""
    more = len(plan.affordable) - len(shown)
    if more > 0:
        yield f"{more} more settings fit; {len(plan.options) - len(plan.affordable)} do not."
    elif not plan.affordable:
        yield "Nothing fits; this is the cheapest setting."
    yield from _remarks(plan, shown[0])


def _row(option: Option, best: bool) -> tuple[str, ...]:
    return (
        "best" if best else "",
        str(option.d),
        str(option.n0),
        str(option.alpha),
        f"{option.slices:,}",
        f"{option.seconds:.3g}",
        f"{option.total:.3g}",
        _size(option.memory),
        f"{option.exponent:.3f}",
        f"{option.bound:.4g}",
    )


def _remarks(plan: Plan, option: Option) -> Iterator[str]:
    """What the numbers are worth."""
    trivial = 2.0 * plan.D * lipschitz(plan.D, DELTA / 3.0)
    yield (
        "bound: on the regret of the last step, in standard deviations of f, with probability "
        f"{1 - DELTA:g}, for β corrected and a = b = 1 (docs/theory.md)."
    )
    if option.bound > 6.0:
        yield (
            "It is larger than the function's own range, about ±3: at this D and T the theory "
            f"ranks settings, but promises nothing. (Without any search it is {trivial:.4g}.)"
        )


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 300 else f"{seconds / 60:.3g} min"


def _size(number: float) -> str:
    return f"{number / 1e9:.2g} GB" if number >= 1e9 else f"{number / 1e6:.3g} MB"
