"""Likelihoods of the comparison's fits, evaluated for many runs at once."""

from __future__ import annotations

import math
import multiprocessing
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparison import closed_form, pool, server, turns
from comparison.closed_form import Likelihood
from comparison.runs import length
from transect._array import Host
from transect.kernels import RBF, Kernel, Matern52

KERNELS: list[Kernel] = [RBF(), Matern52()]
SIZES = [(20, 2), (70, 100), (64, 30)]  # (n, D), in one batch


def values(n: int, D: int) -> tuple[Host, Host]:
    """X (n, D) and y (n,)."""
    rng = np.random.default_rng(n)
    X = rng.random((n, D))
    return X, np.sin(3.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def lengthscales(D: int) -> Host:
    return np.linspace(0.5, 2.0, D) * math.sqrt(D)


def batch_of(data: list[tuple[Host, Host]], noise: float) -> Any:
    """All of them in one batch, with 128 points in 128 coordinates."""
    import torch

    from comparison.batched import Batch

    X, y = np.zeros((len(data), 128, 128)), np.zeros((len(data), 128))
    there, scales = np.zeros_like(y), np.ones((len(data), 128))
    for i, (points, its) in enumerate(data):
        n, D = points.shape
        X[i, :n, :D], y[i, :n], there[i, :n] = points - np.mean(points, axis=0), its, 1.0
        scales[i, :D] = lengthscales(D)
    numbers = (np.full(len(data), number) for number in (0.7, noise, 0.2))
    return Batch(*map(torch.from_numpy, (X, y, there, scales, *numbers)))


@pytest.mark.torch
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_batch_has_the_values_of_each_data_set(kernel: Kernel) -> None:
    from comparison.batched import likelihoods

    data = [values(n, D) for n, D in SIZES]
    found = likelihoods(kernel, batch_of(data, noise=0.05))
    for i, (X, y) in enumerate(data):
        D = X.shape[1]
        own = Likelihood(kernel, X, y)(lengthscales(D), 0.7, 0.05, 0.2)
        assert own
        assert found.value[i].item() == pytest.approx(own.value, rel=1e-12)
        np.testing.assert_allclose(found.by_lengthscale[i, :D], own.by_lengthscale, rtol=1e-9)
        assert np.all(found.by_lengthscale[i, D:].numpy() == 0.0)
        for of_all, of_one in zip(found[2:], own[2:], strict=True):
            assert of_all[i].item() == pytest.approx(of_one, rel=1e-9)


@pytest.mark.torch
def test_a_covariance_that_cannot_be_factored_has_no_value_and_the_others_have() -> None:
    from comparison.batched import likelihoods

    X, y = values(20, 2)
    batch = batch_of([(X, y), (np.zeros_like(X), y)], noise=0.05)
    batch.noise[1] = -0.1
    value = likelihoods(RBF(), batch).value
    assert math.isfinite(value[0])
    assert math.isnan(value[1])


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch) -> Iterator[server.Slots]:
    """Room for three runs, and a server at work."""
    monkeypatch.setattr(closed_form, "likelihood_of", Likelihood)  # as before, afterwards
    with server.serving(multiprocessing.get_context("spawn"), [range(3)], 70, "cpu") as slots:
        yield slots


@pytest.mark.torch
def test_runs_have_the_values_of_their_own_data_from_the_server(slots: server.Slots) -> None:
    def run(kernel: Kernel, n: int, D: int) -> int:
        X, y = values(n, D)
        theirs, ours = closed_form.likelihood_of(kernel, X, y), Likelihood(kernel, X, y)
        for amplitude in (0.7, 1.0):
            found = theirs(lengthscales(D), amplitude, 0.05, 0.2)
            own = ours(lengthscales(D), amplitude, 0.05, 0.2)
            assert found
            assert own
            assert found.value == pytest.approx(own.value, rel=1e-12)
            np.testing.assert_allclose(found.by_lengthscale, own.by_lengthscale, rtol=1e-9)
            assert found[2:] == pytest.approx(own[2:], rel=1e-9)
        assert theirs(lengthscales(D), 0.7, -1.0, 0.2) is None
        return n

    works = [partial(run, KERNELS[i % 2], n, D) for i, (n, D) in enumerate(SIZES)]
    assert turns.in_turns(works, slots, range(3)) == [n for n, _ in SIZES]


@pytest.mark.torch
def test_a_run_that_fails_ends_alone(slots: server.Slots) -> None:
    def ask(_: int) -> float:
        value = closed_form.likelihood_of(RBF(), *values(20, 2))(lengthscales(2), 0.7, 0.05, 0.2)
        assert value
        return float(value.value)

    def fail() -> int:
        ask(0)
        raise ValueError("no more")

    def work() -> int:
        return len({ask(i) for i in range(3)})

    found = turns.in_turns([fail, work, work], slots, range(3))
    assert repr(found) == "[ValueError('no more'), 1, 1]"


@pytest.mark.torch
def test_each_run_has_its_own_warnings_and_random_numbers(slots: server.Slots) -> None:
    """As if the others were not there, though they are at it at the same time."""
    import torch

    def work(seed: int) -> int:
        ask = closed_form.likelihood_of(RBF(), *values(20, 2))
        with warnings.catch_warnings(record=True) as caught, torch.random.fork_rng(devices=[]):
            warnings.simplefilter("always")
            torch.manual_seed(seed)
            for _ in range(seed):
                ask(lengthscales(2), 0.7, 0.05, 0.2)
                warnings.warn(str(seed), stacklevel=1)
            drawn = int(torch.randint(1000, (1,)))
        assert [str(each.message) for each in caught] == [str(seed)] * seed
        return drawn

    expected = []
    for seed in (3, 1, 5):
        torch.manual_seed(seed)
        expected.append(int(torch.randint(1000, (1,))))
    filters = warnings.filters
    found = turns.in_turns([partial(work, seed) for seed in (3, 1, 5)], slots, range(3))
    assert found == expected
    assert warnings.filters is filters


@pytest.mark.torch
def test_runs_do_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_form, "likelihood_of", Likelihood)
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    slots = server.Slots(multiprocessing.get_context("spawn"), [[0]], 70)  # nobody serves it

    def ask() -> int:
        closed_form.likelihood_of(RBF(), *values(20, 2))(lengthscales(2), 0.7, 0.05, 0.2)
        return 1

    try:
        with pytest.raises(RuntimeError, match="does not answer"):
            turns.in_turns([ask], slots, [0])
    finally:
        slots.memory.unlink()


def test_runs_of_about_as_many_variables_share_a_process() -> None:
    assert pool.in_hands([500, 20, 500, 20, 100], 2) == [[1, 3, 4], [0, 2]]
    assert pool.in_hands([500, 20, 500], 3) == [[1], [0], [2]]
    assert pool.in_hands([500, 20], 9) == [[1], [0]]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("waiting", "size"),
    [(1, 4), (4, 4), (5, 8), (13, 16), (16, 16), (31, 16), (64, 64), (500, 128)],
)
def test_few_requests_are_filled_up_to_a_batch_and_of_many_some_wait(
    waiting: int, size: int
) -> None:
    from comparison.lanes import batch_size

    assert batch_size(waiting) == size


@pytest.mark.torch
def test_fits_of_all_workers_go_to_the_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    @contextmanager
    def recorded(*given: Any) -> Iterator[server.Slots]:
        with server.serving(*given) as slots:
            yield slots
            asked.append(int(np.count_nonzero(slots.arrays()["reply"][:, 0])))

    monkeypatch.setattr(pool, "serving", recorded)
    jobs = pool.in_order(["ackley-20-aligned-0.5"], ["botorch", "turbo"], range(2), 24)
    pool.run_all(jobs, tmp_path, workers=2, device="cpu")
    assert [length(job.path(tmp_path)) for job in jobs] == [24] * 4
    assert asked == [4]
