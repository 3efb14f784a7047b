"""Variables in the user's own units, and as the optimizer sees them.

An optimizer works best where equal steps mean equal change: on a logarithmic scale it sees log10
of the value. It knows no integers: what it asks for is rounded before it is evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Host
from .box import Box


@dataclass(frozen=True, eq=False)
class Space:
    """Bounds (D,) in real units; which variables are logarithmic and which integers (D,)."""

    lower: Host
    upper: Host
    log: NDArray[np.bool_]
    integer: NDArray[np.bool_]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        finite = np.isfinite(self.lower) & np.isfinite(self.upper)
        self._refuse(~finite, "lower and upper must be finite")
        self._refuse(self.lower >= self.upper, "lower must be less than upper")
        self._refuse(self.log & (self.lower <= 0.0), 'lower must be positive for scale = "log"')
        whole = (self.lower == np.rint(self.lower)) & (self.upper == np.rint(self.upper))
        self._refuse(
            self.integer & ~whole, "lower and upper must be whole numbers for integer = true"
        )
        Box.of(self.bounds)  # bounds may differ, and their logarithms be the same

    @property
    def D(self) -> int:
        return len(self.lower)

    @property
    def bounds(self) -> Host:
        """(D, 2), as the optimizer sees them."""
        table = np.stack([self.lower, self.upper], axis=1)
        table[self.log] = np.log10(table[self.log])
        return table

    def real(self, x: Host) -> Host:
        """The optimizer's point (D,) in real units; never outside the bounds."""
        values = np.array(x, dtype=np.float64)
        values[self.log] = 10.0 ** values[self.log]
        values[self.integer] = np.rint(values[self.integer])
        return np.clip(values, self.lower, self.upper)

    def point(self, values: Host) -> dict[str, Any]:
        """Real values (D,) in plain numbers, with their names if they have some."""
        plain = [int(v) if i else float(v) for v, i in zip(values, self.integer, strict=True)]
        return {"x": plain} if self.names is None else {"x": plain, "names": list(self.names)}

    def _refuse(self, bad: NDArray[np.bool_], why: str) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            name = at if self.names is None else repr(self.names[at])
            raise ValueError(f"{why}; of variable {name} they are {self._pair(at)}")

    def _pair(self, at: int) -> str:
        return f"{self.lower[at]:g} and {self.upper[at]:g}"
