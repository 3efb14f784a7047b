"""Likelihoods of the comparison's fits, evaluated for many runs at once."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparison import closed_form, pool, server
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
    """What a worker of the pool has, with servers at work."""
    monkeypatch.setattr(closed_form, "likelihood_of", Likelihood)  # as before, afterwards
    with server.serving(multiprocessing.get_context("spawn"), 2, 70, "cpu") as slots:
        yield slots


@pytest.mark.torch
def test_runs_have_the_values_of_their_own_data_from_the_servers(slots: server.Slots) -> None:
    asked = []
    for kernel, (n, D) in zip(KERNELS, SIZES, strict=False):  # a row each
        server.take_part(slots)
        X, y = values(n, D)
        asked.append((closed_form.likelihood_of(kernel, X, y), Likelihood(kernel, X, y), D))
    for amplitude in (0.7, 1.0):
        for theirs, ours, D in asked:
            found = theirs(lengthscales(D), amplitude, 0.05, 0.2)
            own = ours(lengthscales(D), amplitude, 0.05, 0.2)
            assert found
            assert own
            assert found.value == pytest.approx(own.value, rel=1e-12)
            np.testing.assert_allclose(found.by_lengthscale, own.by_lengthscale, rtol=1e-9)
            assert found[2:] == pytest.approx(own[2:], rel=1e-9)
    assert asked[0][0](lengthscales(2), 0.7, -1.0, 0.2) is None


@pytest.mark.torch
def test_a_run_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = server.Slots(multiprocessing.get_context("spawn"), 1, 70)  # nobody serves them
    monkeypatch.setattr(server, "PATIENCE", 0.1)
    try:
        with pytest.raises(RuntimeError, match="does not answer"):
            server.Asked(slots, 0, RBF(), *values(20, 2))(lengthscales(2), 0.7, 0.05, 0.2)
    finally:
        slots.memory.unlink()


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
    jobs = pool.in_order(["ackley-20-aligned-0.5"], ["botorch", "turbo"], range(1), 24)
    pool.run_all(jobs, tmp_path, workers=2, device="cpu")
    assert [length(job.path(tmp_path)) for job in jobs] == [24] * 2
    assert asked[0] > 0  # whether both workers had a run is not said
