"""Any sequence of calls, with a journal, crashes and all, beside one that knows of no crash."""

from __future__ import annotations

import gc
import resource
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from transect import GPUCB, Anchored, HeSBO, Optimizer

BOX = [(-1.0, 2.0), (0.0, 1e-3), (-1e6, 1e6), (5.0, 9.0)]
MOST = 4  # points in flight

numbers = st.floats(-1e300, 1e300) | st.floats(-10.0, 10.0) | st.sampled_from([0.0, -0.0, 1.0])
values = numbers | st.sampled_from([None, float("nan"), float("inf"), -float("inf")])
shares = st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4)


def same(one: Any, other: Any) -> None:
    assert one.x.tobytes() == other.x.tobytes()
    assert (one.id, one.value, one.state, one.error) == (
        other.id,
        other.value,
        other.state,
        other.error,
    )


class Calls(RuleBasedStateMachine):
    """``kept`` has a journal and is taken up again now and then, ``other`` has none."""

    @initialize(strategy=st.sampled_from([Anchored(), GPUCB(acquisition="log-ei"), HeSBO(d=2)]))
    def begin(self, strategy: Any) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path, self.copies, self.strategy = self.folder / "0.db", 0, strategy
        self.kept = self.open()
        self.other = Optimizer(BOX, strategy, seed=7, n_init=4, max_evals=50)

    def open(self) -> Optimizer:
        options: dict[str, Any] = {"seed": 7, "n_init": 4, "max_evals": 50}
        return Optimizer(BOX, self.strategy, journal=self.path, **options)

    def inside(self, share: list[float]) -> Any:
        lower, upper = np.array(BOX).T
        return np.clip(lower + np.array(share) * (upper - lower), lower, upper)

    @precondition(lambda self: len(self.kept.pending) < MOST)
    @rule()
    def ask(self) -> None:
        same(self.kept.ask(), self.other.ask())

    @precondition(lambda self: self.kept.pending)
    @rule(which=st.integers(0, MOST - 1), value=values)
    def tell(self, which: int, value: Any) -> None:
        trial = self.kept.pending[which % len(self.kept.pending)]
        same(self.kept.tell(trial, value), self.other.tell(trial, value))

    @precondition(lambda self: self.kept.pending)
    @rule(which=st.integers(0, MOST - 1), why=st.text())
    def fail(self, which: int, why: str) -> None:
        trial = self.kept.pending[which % len(self.kept.pending)]
        same(self.kept.fail(trial, why), self.other.fail(trial, why))

    @rule(share=shares, value=numbers)
    def tell_of_elsewhere(self, share: list[float], value: float) -> None:
        x = self.inside(share)
        same(self.kept.tell(x, value), self.other.tell(x, value))

    @rule(share=shares)
    def suggest(self, share: list[float]) -> None:
        for optimizer in (self.kept, self.other):
            optimizer.suggest_first(self.inside(share))

    @rule()
    def take_up(self) -> None:
        self.kept.close()
        self.kept = self.open()

    @rule()
    def crash(self) -> None:
        """What a process leaves behind that ends without a word."""
        self.copies += 1
        after = self.folder / f"{self.copies}.db"
        for end in ("", "-wal"):
            left = self.path.with_name(self.path.name + end)
            if left.exists():
                shutil.copy(left, after.with_name(after.name + end))
        self.kept.close()
        self.path = after
        self.kept = self.open()

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "kept"):
            for one, other in zip(self.kept.trials, self.other.trials, strict=True):
                same(one, other)

    def teardown(self) -> None:
        if hasattr(self, "kept"):
            self.kept.close()
            shutil.rmtree(self.folder)


def run(examples: int, steps: int) -> None:
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    run_state_machine_as_test(
        Calls,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=checks,
        ),
    )


def test_any_sequence_of_calls() -> None:
    run(examples=10, steps=30)


@pytest.mark.long
def test_any_sequence_of_ten_thousand_calls() -> None:
    run(examples=200, steps=50)


def soak(steps: int, D: int = 20) -> list[int]:
    """Bytes of memory at ten moments of a run whose model stays small."""
    used = []
    opt: Optimizer | None = None
    for i in range(steps):
        if i % 100 == 0:  # a new run: what a run keeps of its points is not what is looked for
            opt = Optimizer([(-1.0, 1.0)] * D, seed=i, n_init=10)
        assert opt is not None
        trial = opt.ask()
        opt.tell(trial, float(np.sum(np.square(trial.x))))
        if i % (steps // 10) == steps // 10 - 1:
            gc.collect()
            used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    return used


def test_memory_stays_flat() -> None:
    used = soak(400)
    assert used[-1] - used[3] < 20e6


@pytest.mark.long
def test_memory_stays_flat_for_twenty_thousand_steps() -> None:
    used = soak(20_000)
    assert used[-1] - used[1] < 20e6
