"""The engine: the best point of an acquisition on many subspaces, within a budget.

Three stages, each on fewer points and more exact than the one before:
screen (single precision, incremental, every slice), a short batched ascent from the
best candidates, and a long one from the best of those in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._array import Host, like, namespace, to_host
from ._clock import late
from ._threads import each_block, spans
from .acquisition import Acquisition
from .ascent import ascend
from .gp import GaussianProcess
from .screen import Screen, random_probes
from .subspace import Subspace
from .view import View

CLOSE = 192  # slices, of those screened, that are searched further
STARTS = 48  # candidates that are climbed from for a few rounds
FINALISTS = 8  # of these, how many are climbed to the end
SHORT, LONG = 10, 100  # rounds of the two climbs
PROBES, PROBED = 16, 64  # points looked at on each of the best slices, at least
LOOK = 256  # points evaluated together
GRID = (-1.0, -0.5, 0.0, 0.5, 1.0)  # where a coordinate is moved to
NCAP = 2
SPREAD = 4  # free parts tried on every close slice
SAME = 0.05  # climbs that end closer than this are at one maximum
RAW, NEAR = 512, 512  # candidates on one subspace: uniform, and around the best points
BOX_STARTS = 8


@dataclass(frozen=True, eq=False)
class Found:
    """The best point found, its acquisition value and what it took."""

    x: Host  # (D,) in [-1, 1]
    value: float
    subspace: int  # which slice; 0 where there is one subspace only
    subspaces: int  # how many were looked at
    evaluations: int


@dataclass(frozen=True, eq=False)
class _Pool:
    """Candidates: slice (k,), as a row of the hunt's view, free part v (k, d), value (k,)."""

    row: NDArray[np.intp]
    v: Host
    value: Host

    def join(self, other: _Pool) -> _Pool:
        return _Pool(
            np.concatenate([self.row, other.row]),
            np.concatenate([self.v, other.v]),
            np.concatenate([self.value, other.value]),
        )

    def best(self, count: int, cap: int) -> _Pool:
        """The best ``count``, best first; at most ``cap`` on one slice."""
        order = np.argsort(-self.value, kind="stable")
        rows = self.row[order]
        by_row = np.argsort(rows, kind="stable")
        first = np.append(True, np.diff(rows[by_row]) > 0)
        place = np.arange(len(rows)) - np.maximum.accumulate(first * np.arange(len(rows)))
        order = order[np.sort(by_row[place < cap])][:count]
        return _Pool(self.row[order], self.v[order], self.value[order])

    def distinct(self) -> _Pool:
        """Without the lower one of any two that met on their climbs; best first."""
        order = np.argsort(-self.value, kind="stable")
        row, v = self.row[order], self.v[order]
        near = np.max(np.abs(v[:, None, :] - v[None, :, :]), axis=2) < SAME  # (k, k)
        met = np.any(np.tril(near & (row[:, None] == row[None, :]), k=-1), axis=1)
        return _Pool(row[~met], v[~met], self.value[order][~met])


class _Hunt:
    """One search on the close set: the slices that the screen ranks highest."""

    def __init__(
        self,
        screen: Screen,
        gp: GaussianProcess,
        acquisition: Acquisition,
        deadline: float | None,
    ) -> None:
        self.gp, self.acquisition, self.deadline = gp, acquisition, deadline
        self.screen = screen
        self.close = screen.best_slices(acquisition, CLOSE)  # rows of screen.geometry
        c = namespace(gp.X).astype(screen.geometry.sq_at(self.close), gp.X.dtype)
        self.view = View.of_distances(gp, screen.slices, c)
        self.evaluations = screen.evaluations

    def sharpen(self, pool: _Pool) -> _Pool:
        """From now on look at the pool's slices only, with distances in double precision."""
        rows, back = np.unique(pool.row, return_inverse=True)
        self.close = self.close[rows]
        self.view = View.of_slices(self.gp, self.screen.slices, self.screen.geometry.z(self.close))
        return self.look(back, pool.v)

    def screened(self) -> _Pool:
        """What the screen holds on the close set."""
        v, value = self.screen.on_slices(self.close, self.acquisition)
        k, per_slice, d = v.shape
        row = np.repeat(np.arange(k), per_slice)
        return _Pool(
            row,
            v.reshape(k * per_slice, d).astype(np.float64),
            value.reshape(-1).astype(np.float64),
        )

    def look(self, row: NDArray[np.intp], v: Host) -> _Pool:
        """Values at v (k, d) on the slices ``row`` (k,)."""
        X = self.gp.X

        def job(span: tuple[int, int]) -> Host:
            at = slice(*span)
            value = self.view.value(self.acquisition, like(X, v[at]), like(X, row[at], int))
            host: Host = to_host(value)
            return host

        self.evaluations += len(v)
        return _Pool(row, v, np.concatenate(each_block(job, spans(len(v), LOOK))))

    def climb(self, pool: _Pool, rounds: int) -> _Pool:
        """Ascend from every candidate on its own slice."""
        X, d = self.gp.X, pool.v.shape[1]
        rows = like(X, pool.row, int)
        objective = self.view.objective(self.acquisition)
        climb = ascend(
            lambda V, i: objective(V, rows[i]),
            like(X, pool.v),
            like(X, np.full(d, -1.0)),
            like(X, np.full(d, 1.0)),
            rounds=rounds,
            deadline=self.deadline,
        )
        self.evaluations += climb.evaluations
        return _Pool(pool.row, to_host(climb.V), to_host(climb.value))

    def probe(self, rng: np.random.Generator, shared: Host) -> _Pool:
        """Further points on the best slices: ``shared`` (k, d) on all, and random ones."""
        count = min(PROBED, len(self.close))
        v = random_probes(rng, (count, PROBES, shared.shape[1])).astype(np.float64)
        v[:, : len(shared)] = shared
        return self.look(np.repeat(np.arange(count), PROBES), v.reshape(count * PROBES, -1))

    def neighbours(self, pool: _Pool) -> _Pool:
        """Each candidate with one coordinate at a few other places, and on all close slices.

        An upper confidence bound likes corners, and climbs do not cross from one to the
        next; good free parts are good on many slices.
        """
        k, d = pool.v.shape
        grid = np.array(GRID)
        v = np.broadcast_to(pool.v[:, None, None, :], (k, d, len(grid), d)).copy()
        v[:, np.arange(d), :, np.arange(d)] = grid
        moved = self.look(np.repeat(pool.row, d * len(grid)), v.reshape(-1, d))
        few, count = pool.v[:SPREAD], len(self.close)
        row = np.tile(np.arange(count), len(few))
        return moved.join(self.look(row, np.repeat(few, count, axis=0)))


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
    hunt = _Hunt(screen, gp, acquisition, deadline)
    pool = hunt.screened()
    if screen.slices.d == 0:
        pool = hunt.sharpen(pool)
    else:
        cap = max(3, -(-2 * STARTS // len(hunt.close)))
        pool = pool.best(STARTS, cap)
        if screen.per_slice < PROBES and not late(deadline):
            pool = pool.join(hunt.probe(rng, pool.v[: PROBES // 4])).best(STARTS, cap)
        pool = hunt.climb(pool, SHORT).distinct()
        if not late(deadline):
            beside = hunt.neighbours(pool.best(FINALISTS, NCAP))
            pool = pool.join(hunt.climb(beside.best(STARTS, cap), SHORT)).distinct()
        pool = hunt.climb(hunt.sharpen(pool.best(FINALISTS, cap)), LONG)
        screen.improve(hunt.close[pool.row], pool.v.astype(np.float32), acquisition)
    best = int(np.argmax(pool.value))
    at = int(hunt.close[pool.row[best]])
    x = screen.slices.point(screen.geometry.z(np.array([at]))[0], pool.v[best])
    return Found(
        x, float(pool.value[best]), int(screen.geometry.index[at]), screen.seen, hunt.evaluations
    )


def search_subspace(
    subspace: Subspace,
    gp: GaussianProcess,
    acquisition: Acquisition,
    rng: np.random.Generator,
    *,
    deadline: float | None = None,
) -> Found:
    """The best point on one subspace, the whole box for instance."""
    view = View.of_subspace(gp, subspace)
    V = _raw_candidates(subspace, gp, rng)  # (RAW + NEAR, d)

    def job(span: tuple[int, int]) -> Host:
        block = like(gp.X, V[span[0] : span[1]])
        rows = like(gp.X, np.zeros(len(block)), int)
        values: Host = to_host(view.value(acquisition, block, rows))
        return values

    values = np.concatenate(each_block(job, spans(len(V), 256)))
    half = BOX_STARTS // 2
    starts = np.concatenate(
        [np.argsort(-values[:RAW])[:half], RAW + np.argsort(-values[RAW:])[:half]]
    )
    climb = ascend(
        view.objective(acquisition),
        like(gp.X, V[starts]),
        like(gp.X, subspace.lower),
        like(gp.X, subspace.upper),
        rounds=LONG,
        deadline=deadline,
    )
    climbed = to_host(climb.value)
    best = int(np.argmax(climbed))
    x = subspace.point(to_host(climb.V)[best])
    return Found(x, float(climbed[best]), 0, 1, len(V) + climb.evaluations)


def _raw_candidates(subspace: Subspace, gp: GaussianProcess, rng: np.random.Generator) -> Host:
    """Uniform points, then (on the whole box) the best observations with a few coordinates
    moved: in high dimensions an acquisition's good regions are around those.
    """
    lower, upper, d = subspace.lower, subspace.upper, subspace.d
    raw = rng.uniform(lower, upper, (RAW, d))
    if subspace.basis is not None:
        return np.concatenate([raw, rng.uniform(lower, upper, (NEAR, d))])
    top = to_host(gp.y).argsort()[::-1][:5]
    centre = to_host(gp.X)[top[np.arange(NEAR) % len(top)]]  # (NEAR, D)
    moved = rng.random((NEAR, d)) < min(1.0, 20.0 / d)
    near = np.where(moved, centre + rng.normal(0.0, 0.4, (NEAR, d)), centre)
    return np.concatenate([raw, np.clip(near, lower, upper)])
