"""Random search: the yardstick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .guarantee import no_guarantee
from .protocol import History, Proposal, Setting, as_drawn


@dataclass(frozen=True)
class RandomSearch:
    """Every point uniform in the box, whatever was observed."""

    name: ClassVar[str] = "random"
    initial = as_drawn
    guarantee = no_guarantee

    def start(self, setting: Setting) -> Setting:
        return setting

    def suggest(
        self,
        state: Setting,
        history: History,
        rng: np.random.Generator,
        deadline: float | None = None,
    ) -> Proposal:
        return Proposal(rng.uniform(-1.0, 1.0, state.D), {}, state)
