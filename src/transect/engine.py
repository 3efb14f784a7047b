"""The engine: the best point of an acquisition on many subspaces, within a budget.

On slices, each stage works on fewer points and more exactly than the one before: the screen
ranks all slices; on the closest few hundred, short climbs from the best candidates and moves
between the corners; long climbs from the best of those, with exact distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ._array import Host, namespace, to_host
from ._clock import late, left
from .acquisition import Acquisition
from .climb import Climber, Meter, Pool
from .gp import GaussianProcess
from .pace import machine
from .probes import near, random_probes
from .screen import Screen
from .subspace import Subspace
from .view import View, Warped

CLOSE = 192  # slices, of those screened, that are searched further
STARTS = 48  # candidates that are climbed from for a few rounds
FINALISTS = 8  # of these, how many are climbed to the end
SHORT, LONG = 10, 100  # rounds of the two climbs
PROBES, PROBED = 16, 64  # points looked at on each of the best slices, at least
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)  # where a coordinate is moved to, from end to end
MOVED_PER_SLICE = 2  # finalists of one slice whose coordinates are moved
SPREAD = 4  # free parts tried on every close slice
RAW, NEAR = 128, 384  # candidates on one subspace: uniform, and around the best points
BOX_STARTS, BOX_FINALISTS = 8, 3  # climbs on one subspace: short, long
FULL_SEARCH = 4096  # evaluations that the numbers above add up to, about, on slices
WAVE = 768  # the same on one subspace, for an effort of 1
CLIMBING, RESERVED = 0.3, 0.02  # of the time left, and in seconds, what is kept for climbs
KEPT = 8  # one part in so many of a budget is kept for the last climbs


@dataclass(frozen=True, eq=False)
class Found:
    """The best point found, its acquisition value and what it took."""

    x: Host  # (D,) in [-1, 1]
    value: float
    subspace: int  # which slice; 0 where there is one subspace only
    subspaces: int  # how many were looked at
    evaluations: int


def search_slices(
    screen: Screen,
    gp: GaussianProcess,
    acquisition: Acquisition,
    m: int,
    rng: np.random.Generator,
    *,
    settled: int | None = None,
    deadline: float | None = None,
) -> Found:
    """The best point on the first m slices of ``screen.slices`` (Eq. 12 of the paper).

    ``screen`` remembers its candidates from call to call, and has the budget. ``settled`` is
    how many leading observations of ``gp`` will still be there at the next call (default: all).
    At ``deadline`` (time.perf_counter) the best point so far is returned.
    """
    looking = None if deadline is None else deadline - min(CLIMBING * left(deadline), RESERVED)
    screen.update(gp, gp.n if settled is None else settled, m, acquisition, rng, looking)
    slices, geometry = screen.slices, screen.geometry
    box = (np.full(slices.d, -1.0), np.full(slices.d, 1.0))
    meter = _meter(screen.budget, screen.evaluations)
    close = screen.best_slices(acquisition, CLOSE)  # rows of geometry
    c = namespace(gp.X).astype(geometry.sq_at(close), gp.X.dtype)
    climber = Climber(View.of_distances(gp, slices, c), acquisition, box, meter, deadline)
    pool = _on_close_slices(climber, screen, screen.pool(close, acquisition), rng)

    rows, row = np.unique(pool.row, return_inverse=True)
    close = close[rows]
    exact = Climber(
        View.of_slices(gp, slices, geometry.z(close)), acquisition, box, meter, deadline
    )
    meter.budget = screen.budget or math.inf
    pool = exact.look(row, pool.v)
    if slices.d:
        pool = exact.climb(pool, LONG).best(FINALISTS)
        screen.improve(close[pool.row], pool.v, acquisition)
    best = pool.best(1)
    at = close[best.row]
    return Found(
        slices.point(geometry.z(at), best.v)[0],
        float(best.value[0]),
        int(geometry.index[at[0]]),
        screen.looked,
        meter.used,
    )


def _meter(budget: int | None, used: int = 0) -> Meter:
    """A meter for all but the last climbs, for which a part of the budget is kept."""
    kept = 0 if budget is None else min(max(2 * FINALISTS, budget // KEPT), budget // 2)
    meter = Meter(math.inf if budget is None else budget - kept)
    meter.used = used
    return meter


def _on_close_slices(
    climber: Climber, screen: Screen, pool: Pool, rng: np.random.Generator
) -> Pool:
    """The finalists: from the screen's candidates, by short climbs and moves."""
    if screen.slices.d == 0:
        return pool
    share = min(1.0, climber.meter.left / FULL_SEARCH)
    starts = max(FINALISTS, int(share * STARTS))
    cap = max(3, -(-2 * starts // climber.view.m))
    pool = pool.best(starts, cap)
    if screen.per_slice < PROBES and not late(climber.deadline):
        probed = _probe(climber, rng, pool.v[: PROBES // 4], max(1, int(share * PROBED)))
        pool = pool.join(probed).best(starts, cap)
    pool = climber.climb(pool, SHORT).distinct()
    if not late(climber.deadline):
        beside = _neighbours(climber, pool.best(FINALISTS, MOVED_PER_SLICE))
        pool = pool.join(climber.climb(beside.best(starts, cap), SHORT)).distinct()
    while 0 < climber.meter.left < math.inf and not late(climber.deadline):
        pool = pool.join(_probe(climber, rng, pool.v[:1], CLOSE)).best(starts, cap)
    return pool.best(FINALISTS, cap)


def _probe(climber: Climber, rng: np.random.Generator, shared: Host, most: int) -> Pool:
    """Further points on the best slices: ``shared`` (k, d) on all, and random ones."""
    count = min(most, climber.view.m)
    v = random_probes(rng, (count, PROBES, shared.shape[1])).astype(np.float64)
    v[:, : len(shared)] = shared
    return climber.look(np.repeat(np.arange(count), PROBES), v.reshape(count * PROBES, -1))


def _neighbours(climber: Climber, pool: Pool) -> Pool:
    """Each candidate with one coordinate moved, and on all close slices.

    Good free parts are good on many slices.
    """
    few, count = pool.v[:SPREAD], climber.view.m
    row = np.tile(np.arange(count), len(few))
    spread = climber.look(row, np.repeat(few, count, axis=0))
    return _moved(climber, pool).join(spread)


def _moved(climber: Climber, pool: Pool) -> Pool:
    """Each candidate with one coordinate at a few other places between its ends.

    An upper confidence bound likes corners, and climbs do not cross from one to the next.
    """
    k, d = pool.v.shape
    lower, upper = to_host(climber.lower), to_host(climber.upper)
    places = lower[:, None] + np.array(GRID) * (upper - lower)[:, None]  # (d, places)
    # Only as many as will be looked at: all would be k·d² numbers, gigabytes in 5000 dimensions.
    count = int(min(k * d * len(GRID), climber.meter.left))
    member, i, place = np.unravel_index(np.arange(count), (k, d, len(GRID)))
    v = pool.v[member]
    v[np.arange(count), i] = places[i, place]
    return climber.look(pool.row[member], v)


def search_subspace(
    subspace: Subspace,
    gp: GaussianProcess,
    acquisition: Acquisition,
    rng: np.random.Generator,
    *,
    budget: int | None = None,
    deadline: float | None = None,
) -> Found:
    """The best point on one subspace, the whole box for instance; see :func:`search_box`."""
    around = None
    if subspace.basis is None:
        # In high dimensions an acquisition's good regions are around the best observations.
        around = to_host(gp.X)[to_host(gp.y).argsort()[::-1][:5]]
    found = search_box(
        View.of_subspace(gp, subspace),
        (subspace.lower, subspace.upper),
        acquisition,
        rng,
        around=around,
        budget=budget,
        deadline=deadline,
    )
    return replace(found, x=subspace.point(found.x))


def search_box(
    view: View | Warped,
    box: tuple[Host, Host],
    acquisition: Acquisition,
    rng: np.random.Generator,
    *,
    around: Host | None = None,
    budget: int | None = None,
    deadline: float | None = None,
) -> Found:
    """The best coordinates v (d,), as x of what is returned, on the one subspace of a view.

    ``box``: lower and upper ends (d,) of v. ``around`` (k, d): good points known. Where points
    are cheap, up to some hundred dimensions, more of them are tried; with a ``budget`` of
    acquisition evaluations, as many as it allows.
    """
    d = len(box[0])
    meter = _meter(budget)
    climber = Climber(view, acquisition, box, meter, deadline)
    effort = usual_effort(d)
    if budget is not None:
        effort = meter.left / WAVE
    if deadline is not None:
        effort = min(effort, left(deadline) / machine().seconds(WAVE * _units(view, d)))
    pool = _box_candidates(climber, box, rng, around, effort)
    if meter.left < math.inf:
        rest = _near_candidates(box, around, rng, int(meter.left))
        pool = pool.join(climber.look(np.zeros(len(rest), dtype=np.intp), rest))
    meter.budget = math.inf if budget is None else budget
    finalists = max(1, int(min(effort, 4.0) * BOX_FINALISTS))
    best = climber.climb(pool.best(finalists), LONG).best(1)
    return Found(best.v[0], float(best.value[0]), 0, 1, meter.used)


def usual_effort(d: int) -> float:
    """Points to try in d dimensions, as a multiple: more of them where they are cheap."""
    return 4.0 if d <= 50 else 2.0 if d <= 200 else 1.0


def _units(view: View | Warped, d: int) -> float:
    """Multiplications, about, for one candidate, its making and its share of the climbs."""
    return 2.0 * view.units + 100.0 * d


def _box_candidates(
    climber: Climber,
    box: tuple[Host, Host],
    rng: np.random.Generator,
    around: Host | None,
    effort: float,
) -> Pool:
    """Short climbs from the best of uniform points and of points near good ones, and moves."""
    half = max(1, int(effort * BOX_STARTS / 2))
    uniform = rng.uniform(*box, (max(1, int(effort * RAW)), len(box[0])))
    others = _near_candidates(box, around, rng, max(1, int(effort * NEAR)))
    pools = [climber.look(np.zeros(len(v), dtype=np.intp), v).best(half) for v in (uniform, others)]
    pool = climber.climb(pools[0].join(pools[1]), SHORT).distinct()
    if effort > 1 and not late(climber.deadline):
        pool = pool.join(_moved(climber, pool.best(BOX_FINALISTS)).best(half)).distinct()
    return pool


def _near_candidates(
    box: tuple[Host, Host], around: Host | None, rng: np.random.Generator, count: int
) -> Host:
    """Good points with a few coordinates moved (count, d); uniform ones if none are known."""
    if around is None:
        return rng.uniform(*box, (count, len(box[0])))
    return np.clip(near(around, rng, count), *box)
