"""Bounded quasi-Newton ascent of many starting points at once.

All starts move together: a round is one batched evaluation, in which every start tries
its own next point. A start that improved enough takes the step and gets a new limited-
memory BFGS direction on its free coordinates; one that did not shortens its step. So
no evaluation waits for another start's line search, and the work is matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ._array import Array, like, namespace, zeros
from ._clock import late

Objective = Callable[[Array, Array], tuple[Array, Array]]

ARMIJO = 1e-4  # share of the predicted gain a step must achieve
FIRST_STEP = 0.25  # length of a start's first step, as a share of the box
MEMORY = 8  # steps the quasi-Newton direction remembers; few suffice in few dimensions
NEXT_TO = 1e-6  # share of the box within which a coordinate counts as at its bound
CURVATURE = 1e-12  # steps that bend less than this are not remembered
SHORTEST = 1e-10  # a step this short ends the start
EXACT = 1e-9  # relative gain of a step that is not worth another


@dataclass(frozen=True)
class Ascent:
    """Where the starts ended: points V (s, d), their values (s,), what it took."""

    V: Array
    value: Array
    evaluations: int
    rounds: int


@dataclass
class _Flight:
    """The starts still moving. Rows of every array belong together."""

    index: Array  # (s,) row in the caller's arrays
    x: Array  # (s, d)
    f: Array  # (s,) value, to be maximised
    g: Array  # (s, d) gradient
    p: Array  # (s, d) direction
    step: Array  # (s,)
    S: Array  # (s, memory, d) steps, newest first; zero where there is none
    Y: Array  # (s, memory, d) gradient changes, sign such that S·Y > 0

    def take(self, keep: Array) -> _Flight:
        xp = namespace(self.x)
        return _Flight(*(xp.take(a, keep, axis=0) for a in vars(self).values()))

    def only(self, accept: Array, before: _Flight) -> _Flight:
        """As it is where ``accept`` (s,), as it was elsewhere."""
        xp = namespace(self.x)

        def pick(now: Array, then: Array) -> Array:
            return xp.where(xp.reshape(accept, (-1, *(1,) * (now.ndim - 1))), now, then)

        return _Flight(*map(pick, vars(self).values(), vars(before).values()))


@dataclass(frozen=True, eq=False)
class _Fixed:
    """What stays the same for a climb."""

    lower: Array  # (d,)
    upper: Array  # (d,)
    span: Array  # (d,)
    low: Array  # (d,) a coordinate that is not above it counts as at its bound
    high: Array  # (d,) likewise
    newer: Array  # (memory, memory) whether the column's step is no older than the row's
    one: Array  # (memory, memory) the identity

    @staticmethod
    def of(lower: Array, upper: Array, memory: int) -> _Fixed:
        xp, span = namespace(lower), upper - lower
        one = like(lower, xp.eye(memory))
        newer = xp.tril(xp.ones_like(one)) > 0.0
        low, high = lower + NEXT_TO * span, upper - NEXT_TO * span
        return _Fixed(lower, upper, span, low, high, newer, one)

    def inside(self, V: Array) -> Array:
        """V (s, d), no coordinate beyond its bounds."""
        xp = namespace(V)
        return xp.minimum(xp.maximum(V, self.lower), self.upper)

    def triangle(self, SY: Array, usable: Array) -> Array:
        """The lower one of SY, the identity where a step is not ``usable`` (s, memory)."""
        both = usable[:, :, None] & usable[:, None, :]
        return namespace(SY).where(both & self.newer, SY, self.one)


def ascend(
    objective: Objective,
    V: Array,
    lower: Array,
    upper: Array,
    *,
    rounds: int = 100,
    tolerance: float = EXACT,
    deadline: float | None = None,
) -> Ascent:
    """Climb from every row of V (s, d) inside the box ``lower``..``upper`` (d,).

    objective(points (p, d), rows (p,)) gives values (p,) and gradients (p, d); ``rows``
    says which start each point belongs to. A start ends when a step gains less than
    ``tolerance`` relative to 1 + |value|, when its projected gradient vanishes, after
    ``rounds`` evaluations, or at ``deadline`` (time.perf_counter).
    """
    xp = namespace(V)
    s, d = V.shape
    memory = min(MEMORY, max(2, d))
    fixed = _Fixed.of(lower, upper, memory)
    x = fixed.inside(V)
    rows = like(V, range(s), dtype=xp.int64)
    f, g = objective(x, rows)
    best_x, best_f = x, f
    evaluations, used = s, 1
    none = zeros(V, (s, memory, d))
    flight = _Flight(rows, x, f, g, g, f, none, none)
    flight.p, flight.step = _direction(flight, fixed)
    while used < rounds and flight.x.shape[0] and not late(deadline):
        trial = fixed.inside(flight.x + flight.step[:, None] * flight.p)
        f_new, g_new = objective(trial, flight.index)
        used, evaluations = used + 1, evaluations + int(trial.shape[0])
        predicted = xp.vecdot(flight.g, trial - flight.x)
        gain = f_new - flight.f
        accept = (f_new >= flight.f + ARMIJO * predicted) & (predicted > 0.0)
        done = accept & (gain <= tolerance * (1.0 + xp.abs(f_new)))
        accepted = int(xp.sum(accept))
        before = flight
        if accepted > 0:
            flight = _step(before, trial, f_new, g_new)
            flight.p, flight.step = _direction(flight, fixed)
        if accepted < trial.shape[0]:
            before.step = before.step * _shrink(predicted, gain)
            flight = flight.only(accept, before) if accepted else before
        best_x, best_f = _record(best_x, best_f, flight)
        done = done | (flight.step < SHORTEST) | (xp.vecdot(flight.p, flight.p) == 0.0)
        if bool(xp.any(done)):
            flight = flight.take(xp.nonzero(~done)[0])
    return Ascent(best_x, best_f, evaluations, used)


def _step(flight: _Flight, trial: Array, f_new: Array, g_new: Array) -> _Flight:
    """Take the steps, and remember those along which the function bends down."""
    xp = namespace(trial)
    move, change = trial - flight.x, flight.g - g_new
    bends = xp.vecdot(move, change) > CURVATURE * xp.vecdot(change, change)

    def push(old: Array, new: Array) -> Array:
        pushed = xp.concat([new[:, None, :], old[:, :-1, :]], axis=1)
        return xp.where(bends[:, None, None], pushed, old)

    S, Y = push(flight.S, move), push(flight.Y, change)
    return _Flight(flight.index, trial, f_new, g_new, flight.p, flight.step, S, Y)


def _shrink(predicted: Array, gain: Array) -> Array:
    """Factor (s,) for a rejected step: to the top of the parabola through what is known."""
    xp = namespace(predicted)
    bend = 2.0 * (predicted - gain)
    bend = xp.where(bend > 0.0, bend, 1.0)
    return xp.clip(predicted / bend, 0.1, 0.5)


def _direction(flight: _Flight, fixed: _Fixed) -> tuple[Array, Array]:
    """L-BFGS direction (s, d) on the free coordinates, and the step to try (s,).

    The two-loop recursion is restricted to the free coordinates. A coordinate next to a
    bound whose gradient points outwards is not free (Bertsekas 1982): it goes to its bound.
    Were it free until it is there, the bound would cut the step short and the climb could jam.
    """
    xp = namespace(flight.x)
    g, x, S, Y = flight.g, flight.x, flight.S, flight.Y
    low = (x <= fixed.low) & (g < 0.0)
    high = (x >= fixed.high) & (g > 0.0)
    held = low | high
    any_held = bool(xp.any(held))
    if any_held:
        free = xp.astype(~held, x.dtype)
        g, S, Y = g * free, S * free[:, None, :], Y * free[:, None, :]
    SY = S @ xp.matrix_transpose(Y)  # (s, memory, memory), s_i·y_j on the free coordinates
    sy, yy = xp.linalg.diagonal(SY), xp.vecdot(Y, Y)
    usable = sy > CURVATURE * yy
    newest = usable[:, 0]
    scale = xp.where(newest, sy[:, 0] / xp.where(newest, yy[:, 0], 1.0), 1.0)
    p = _two_loops(g, S, Y, fixed.triangle(SY, usable), usable, scale)
    uphill = (xp.vecdot(p, g) > 0.0) & newest
    p = xp.where(uphill[:, None], p, g)
    # Without curvature the gradient's length means nothing: cap the step by the box.
    longest = xp.max(xp.abs(p) / fixed.span, axis=1)
    longest = xp.where(longest > 0.0, longest, 1.0)
    step = xp.where(uphill, 1.0 / xp.where(longest > 1.0, longest, 1.0), FIRST_STEP / longest)
    if any_held:
        to_bound = xp.where(low, fixed.lower - x, xp.where(high, fixed.upper - x, 0.0))
        p = p + to_bound / step[:, None]
    return p, step


def _two_loops(g: Array, S: Array, Y: Array, T: Array, usable: Array, scale: Array) -> Array:
    """The inverse Hessian times g (s, d): Nocedal & Wright (2006), Alg. 7.4, newest step first.

    The first loop finds c with q = g - Σ c_j y_j and c_i = s_i·q/s_i·y_i, where q has lost the
    newer ones: T·c = S·g with the lower triangle T (s, memory, memory) of all s_i·y_j. The second
    one finds w with p = scale·q + Σ w_j s_j and w_i = c_i - y_i·p/s_i·y_i, where p has gained the
    older ones: Tᵀ·w = diag(T)·c - scale·Y·q. Steps that are not ``usable`` (s, memory) take no
    part: T is the identity there.
    """
    xp = namespace(g)
    used = usable[:, :, None]
    c = xp.linalg.solve(T, xp.where(used, S @ g[:, :, None], 0.0))
    q = g - (xp.matrix_transpose(c) @ Y)[:, 0, :]
    rest = xp.linalg.diagonal(T)[:, :, None] * c - scale[:, None, None] * (Y @ q[:, :, None])
    w = xp.linalg.solve(xp.matrix_transpose(T), xp.where(used, rest, 0.0))
    return scale[:, None] * q + (xp.matrix_transpose(w) @ S)[:, 0, :]


def _record(best_x: Array, best_f: Array, flight: _Flight) -> tuple[Array, Array]:
    """Write the moving starts back into the caller's rows."""
    if flight.x.shape[0] == best_x.shape[0]:
        return flight.x, flight.f
    best_x[flight.index, :] = flight.x
    best_f[flight.index] = flight.f
    return best_x, best_f
