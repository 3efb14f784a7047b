"""The rover: a path past obstacles, given by 30 points in the plane (Wang et al. 2018).

x in [0, 1]^60 holds the points, x and y in turn, scaled to a range a little wider than the
map. The path is the least-squares cubic through them, over the length of the chords between
them. (The original fits a spline with SciPy's default smoothing, which allows a sum of squares
of 30 - sqrt(60) = 22.3. Thirty points in a square of side 1.2 never exceed 21.6 about their
mean, so the spline never gets an inner knot: it is this cubic.)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._array import Host
from .._checks import whole_number
from ..box import Box
from .data import Numbers
from .problem import Problem

POINTS = 30
SAMPLES = 1000  # of the path, where its cost is taken
_POWERS = np.vander(np.linspace(0.0, 1.0, SAMPLES), 4)  # (SAMPLES, 4)


@dataclass(frozen=True, eq=False)
class Rover:
    """Cost of the path of x (60,) less ``reward``.

    A unit of path costs ``base``, and ``obstacle`` more inside an obstacle or off the map
    [0, 1)². Missing the start or the goal costs ``miss`` times the L1 distance.
    """

    lower: Host  # (obstacles, 2), corners of boxes that are open above
    upper: Host  # (obstacles, 2)
    start: Host  # (2,)
    goal: Host  # (2,)
    s_range: Host  # (2, 2), lowest and highest point
    obstacle: float
    base: float
    miss: float
    reward: float

    @staticmethod
    def of(numbers: Numbers) -> Rover:
        centres, half = numbers.floats("centres_60d", None, 2), numbers.number("half_60d")
        return Rover(
            centres - half,
            centres + half,
            numbers.floats("start", 2),
            numbers.floats("goal", 2),
            numbers.floats("s_range", 2, 2),
            numbers.number("obstacle_cost"),
            numbers.number("base_cost"),
            numbers.number("miss_weight"),
            numbers.number("offset"),
        )

    def __call__(self, x: Host) -> float:
        path = self.path(x)
        cost = self.base + self.obstacle * self.blocked(path)  # (SAMPLES,)
        steps = np.linalg.norm(np.diff(path, axis=0), axis=1)  # (SAMPLES - 1,)
        missed = np.abs(path[0] - self.start).sum() + np.abs(path[-1] - self.goal).sum()
        total = steps @ (cost[1:] + cost[:-1]) / 2.0 + self.miss * missed
        return float(total) - self.reward

    def path(self, x: Host) -> Host:
        """The path of x (60,), sampled: (SAMPLES, 2)."""
        low, high = self.s_range
        points = low + x.reshape(POINTS, 2) * (high - low)
        chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
        t = np.concatenate([[0.0], np.cumsum(chords)])  # (POINTS,)
        t /= t[-1] or 1.0  # all points may be one
        # Equal points give equal rows and, in the extreme, a rank below four: lstsq takes both.
        coefficients: Host = np.linalg.lstsq(np.vander(t, 4), points)[0]  # (4, 2)
        return _POWERS @ coefficients

    def blocked(self, path: Host) -> NDArray[np.bool_]:
        """Whether each point of the path (n, 2) is in an obstacle or off the map: (n,)."""
        off = ((path < 0.0) | (path >= 1.0)).any(axis=1)
        inside = np.ones((len(path), len(self.lower)), dtype=bool)
        for axis in (0, 1):
            at = path[:, axis, None]  # (n, 1)
            inside &= (at >= self.lower[:, axis]) & (at < self.upper[:, axis])
        return np.logical_or(off, inside.any(axis=1))


def rover(
    D: int = 2 * POINTS,
    *,
    folder: str | Path | None = None,
    noise: float = 0.0,
    noise_seed: int = 0,
) -> Problem:
    """The rover's path on [0, 1]^60, with the numbers in ``folder`` (see ``data``).

    The least value is not known: ``least`` is the bound of a path that costs nothing.
    """
    if whole_number("D", D, 1) != 2 * POINTS:
        raise ValueError(f"rover has D = {2 * POINTS}, got {D}")
    objective = Rover.of(Numbers.load("rover/rover_obstacles.npz", folder))
    box = Box.of(np.tile([0.0, 1.0], (D, 1)))
    return Problem("rover", box, objective, -objective.reward, None, noise, noise_seed)
