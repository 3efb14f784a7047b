"""The search box: bounds in the user's units and the map to [-1, 1]^D."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Host
from ._checks import numbers_array

COMPARED = 256  # coordinates at a time in which points are compared
DUPLICATE = 1e-9  # points closer than this in every coordinate (box side 2) are the same


@dataclass(frozen=True, eq=False)
class Box:
    """Lower and upper bounds (D,) in the user's units.

    The library works on [-1, 1]^D; ``to_unit`` and ``from_unit`` are the only places
    where units change.
    """

    lower: Host
    upper: Host

    def __post_init__(self) -> None:
        try:
            lower, upper = numbers_array(self.lower), numbers_array(self.upper)
        except ValueError:
            raise ValueError("bounds must be real numbers: lower (D,) and upper (D,)") from None
        if lower.ndim != 1 or lower.shape != upper.shape:
            raise ValueError(
                "bounds must be two vectors of as many numbers, lower (D,) and upper (D,); "
                f"got shapes {lower.shape} and {upper.shape}"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        self._check()

    def _check(self) -> None:
        """Raise unless all bounds are finite, and lower ones less than upper ones."""
        if self.D == 0:
            raise ValueError("bounds must name at least one variable; got none")
        bad = ~(np.isfinite(self.lower) & np.isfinite(self.upper))
        self._refuse(bad, "bounds must be finite")
        self._refuse(self.lower >= self.upper, "bounds must have lower < upper")
        self._refuse(self.half_width == 0.0, "bounds are too close")

    def _refuse(self, bad: NDArray[np.bool_], why: str) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(f"{why}; bounds[{at}] is ({self.lower[at]}, {self.upper[at]})")

    @staticmethod
    def of(bounds: Any) -> Box:
        """From a Box, a (D, 2) array or sequence of pairs, or ``scipy.optimize.Bounds``."""
        if isinstance(bounds, Box):
            return bounds
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            lower, upper = np.broadcast_arrays(bounds.lb, bounds.ub)
            pairs = np.stack([np.atleast_1d(lower), np.atleast_1d(upper)], axis=1)
        else:
            pairs = bounds
        try:
            table = numbers_array(pairs)
        except ValueError:
            raise ValueError(
                "bounds must be real numbers: a (D, 2) array, a sequence of (lower, upper) pairs "
                "or a scipy.optimize.Bounds"
            ) from None
        if table.ndim != 2 or table.shape[1] != 2:
            raise ValueError(
                f"bounds must have shape (D, 2), one (lower, upper) pair per variable; "
                f"got shape {table.shape}"
            )
        return Box(table[:, 0], table[:, 1])

    @property
    def D(self) -> int:
        return len(self.lower)

    @property
    def centre(self) -> Host:
        return 0.5 * self.lower + 0.5 * self.upper  # halves first: no overflow at 1e308

    @property
    def half_width(self) -> Host:
        return 0.5 * self.upper - 0.5 * self.lower

    def from_unit(self, u: Host) -> Host:
        """(..., D) in [-1, 1] to the user's units; never outside the bounds."""
        return np.clip(self.centre + self.half_width * u, self.lower, self.upper)

    def to_unit(self, x: Host) -> Host:
        """(..., D) in the user's units to [-1, 1]."""
        return np.clip((x - self.centre) / self.half_width, -1.0, 1.0)

    def check_points(self, x: Any, name: str) -> Host:
        """``x`` as points (k, D) inside the box, or a ValueError that names ``name``."""
        try:
            points = numbers_array(x)
        except ValueError:
            raise ValueError(f"{name} must be a vector of {self.D} real numbers") from None
        if points.ndim == 1 or (points.ndim == 0 and self.D == 1):
            points = points.reshape(1, -1)
        if points.ndim != 2 or points.shape[1] != self.D:
            raise ValueError(
                f"{name} must have {self.D} coordinates, as the bounds do; got shape {np.shape(x)}"
            )
        outside = ~((points >= self.lower) & (points <= self.upper))  # also true for nan
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise ValueError(
                f"{name} must lie inside the bounds; coordinate {column} is "
                f"{points[row, column]}, allowed is "
                f"[{self.lower[column]}, {self.upper[column]}]"
            )
        return points

    def sample(self, rng: np.random.Generator, count: int) -> Host:
        """``count`` uniform points (count, D) in [-1, 1]^D."""
        return rng.uniform(-1.0, 1.0, (count, self.D))


def is_among(u: Host, X: Host) -> bool:
    """Whether u (D,) is one of the points X (n, D) of [-1, 1]^D, up to rounding."""
    # A few coordinates rule out nearly all points, and the next few most of those that share
    # many with u, without a look at the others.
    rows = np.arange(len(X))
    parts = [np.arange(0, len(u), max(1, len(u) // 8))]
    parts += np.array_split(np.arange(len(u)), -(-len(u) // COMPARED))
    for part in parts:
        gap = np.abs(X[np.ix_(rows, part)] - u[part])
        rows = rows[np.all(gap < DUPLICATE, axis=1)]
    return len(rows) > 0
