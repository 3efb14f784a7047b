"""The engine: the best point of an acquisition on many subspaces, within a budget.

On slices, each stage works on fewer points and more exactly than the one before: the screen
ranks all slices; on the closest few hundred, short climbs from the best candidates and moves
between the corners; long climbs from the best of those, with exact distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._array import Host, namespace, to_host
from ._clock import late
from .acquisition import Acquisition
from .climb import Climber, Pool
from .gp import GaussianProcess
from .screen import Screen, random_probes
from .subspace import Subspace
from .view import View

CLOSE = 192  # slices, of those screened, that are searched further
STARTS = 48  # candidates that are climbed from for a few rounds
FINALISTS = 8  # of these, how many are climbed to the end
SHORT, LONG = 10, 100  # rounds of the two climbs
PROBES, PROBED = 16, 64  # points looked at on each of the best slices, at least
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)  # where a coordinate is moved to, from end to end
MOVED_PER_SLICE = 2  # finalists of one slice whose coordinates are moved
SPREAD = 4  # free parts tried on every close slice
RAW, NEAR = 128, 384  # candidates on one subspace: uniform, and around the best points
MOVED = 20  # coordinates in which the latter differ from one of the best points
BOX_STARTS, BOX_FINALISTS = 8, 3  # climbs on one subspace: short, long


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

    ``screen`` remembers its candidates from call to call. ``settled`` is how many leading
    observations of ``gp`` will still be there at the next call (default: all).
    At ``deadline`` (time.perf_counter) the best point so far is returned.
    """
    screen.update(gp, gp.n if settled is None else settled, m, acquisition, rng, deadline)
    slices, geometry = screen.slices, screen.geometry
    box = (np.full(slices.d, -1.0), np.full(slices.d, 1.0))
    close = screen.best_slices(acquisition, CLOSE)  # rows of geometry
    c = namespace(gp.X).astype(geometry.sq_at(close), gp.X.dtype)
    climber = Climber(View.of_distances(gp, slices, c), acquisition, box, deadline)
    pool = _on_close_slices(climber, screen, screen.pool(close, acquisition), rng)

    rows, row = np.unique(pool.row, return_inverse=True)
    close = close[rows]
    exact = Climber(View.of_slices(gp, slices, geometry.z(close)), acquisition, box, deadline)
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
        screen.evaluations + climber.evaluations + exact.evaluations,
    )


def _on_close_slices(
    climber: Climber, screen: Screen, pool: Pool, rng: np.random.Generator
) -> Pool:
    """The finalists: from the screen's candidates, by short climbs and moves."""
    if screen.slices.d == 0:
        return pool
    cap = max(3, -(-2 * STARTS // climber.view.m))
    pool = pool.best(STARTS, cap)
    if screen.per_slice < PROBES and not late(climber.deadline):
        pool = pool.join(_probe(climber, rng, pool.v[: PROBES // 4])).best(STARTS, cap)
    pool = climber.climb(pool, SHORT).distinct()
    if not late(climber.deadline):
        beside = _neighbours(climber, pool.best(FINALISTS, MOVED_PER_SLICE))
        pool = pool.join(climber.climb(beside.best(STARTS, cap), SHORT)).distinct()
    return pool.best(FINALISTS, cap)


def _probe(climber: Climber, rng: np.random.Generator, shared: Host) -> Pool:
    """Further points on the best slices: ``shared`` (k, d) on all, and random ones."""
    count = min(PROBED, climber.view.m)
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
    v = np.repeat(pool.v[:, None, :], d * len(GRID), axis=1).reshape(k, d, len(GRID), d)
    i = np.arange(d)
    v[:, i, :, i] = places[:, None, :]
    return climber.look(np.repeat(pool.row, d * len(GRID)), v.reshape(-1, d))


def search_subspace(
    subspace: Subspace,
    gp: GaussianProcess,
    acquisition: Acquisition,
    rng: np.random.Generator,
    *,
    deadline: float | None = None,
) -> Found:
    """The best point on one subspace, the whole box for instance.

    Where points are cheap, up to some hundred dimensions, more of them are tried.
    """
    box, d = (subspace.lower, subspace.upper), subspace.d
    climber = Climber(View.of_subspace(gp, subspace), acquisition, box, deadline)
    effort = 4 if d <= 50 else 2 if d <= 200 else 1
    half = effort * BOX_STARTS // 2
    uniform = rng.uniform(*box, (effort * RAW, d))
    near = _near_candidates(subspace, gp, rng, effort * NEAR)
    pools = [climber.look(np.zeros(len(v), dtype=np.intp), v).best(half) for v in (uniform, near)]
    pool = climber.climb(pools[0].join(pools[1]), SHORT).distinct()
    if effort > 1 and not late(deadline):
        moved = _moved(climber, pool.best(BOX_FINALISTS))
        pool = pool.join(climber.climb(moved.best(half), SHORT)).distinct()
    best = climber.climb(pool.best(effort * BOX_FINALISTS), LONG).best(1)
    x = subspace.point(best.v[0])
    return Found(x, float(best.value[0]), 0, 1, climber.evaluations)


def _near_candidates(
    subspace: Subspace, gp: GaussianProcess, rng: np.random.Generator, count: int
) -> Host:
    """On the whole box, the best observations with a few coordinates moved (count, D).

    In high dimensions an acquisition's good regions are around those. On other subspaces,
    more uniform points.
    """
    lower, upper, d = subspace.lower, subspace.upper, subspace.d
    if subspace.basis is not None:
        return rng.uniform(lower, upper, (count, d))
    top = to_host(gp.y).argsort()[::-1][:5]
    near: Host = to_host(gp.X)[top[np.arange(count) % len(top)]]  # (count, D), a copy
    at = rng.integers(0, d, (count, min(MOVED, d)))
    step = rng.normal(0.0, 0.4, at.shape)
    np.put_along_axis(near, at, np.take_along_axis(near, at, axis=1) + step, axis=1)
    return np.clip(near, lower, upper)
