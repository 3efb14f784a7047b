"""Likelihoods of the comparison's fits, evaluated for many runs at once."""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compare
from comparison import closed_form, pool, server, turns
from comparison.closed_form import Likelihood
from comparison.runs import length, load
from comparison.tasks import N_INIT
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


def batch_of(data: list[tuple[Host, Host]], noise: float, device: str) -> Any:
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
    given = (X, y, there, scales, *numbers)
    return Batch(*(torch.from_numpy(array).to(device) for array in given))


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    import torch

    name: str = request.param
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return name


@pytest.mark.torch
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_batch_has_the_values_of_each_data_set(kernel: Kernel, device: str) -> None:
    from comparison.batched import Values, likelihoods

    data = [values(n, D) for n, D in SIZES]
    found = likelihoods(kernel, batch_of(data, 0.05, device), fused=device != "cpu")
    found = Values(*(numbers.cpu() for numbers in found))
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
def test_a_covariance_that_cannot_be_factored_has_no_value_and_the_others_have(
    device: str,
) -> None:
    from comparison.batched import likelihoods

    X, y = values(20, 2)
    batch = batch_of([(X, y), (np.zeros_like(X), y)], 0.05, device)
    batch.noise[1] = -0.1
    value = likelihoods(RBF(), batch).value
    assert math.isfinite(value[0])
    assert math.isnan(value[1])


@pytest.mark.torch
def test_corners_are_factored_and_inverted(device: str) -> None:
    import torch

    from comparison.batched import BLOCK, corner

    A = np.random.default_rng(0).standard_normal((3, BLOCK, 2 * BLOCK))
    K = A @ np.moveaxis(A, 1, 2)
    K[1, 40, 40] = -1.0
    inverse, diagonal = (found.cpu().numpy() for found in corner(torch.tensor(K, device=device)))
    for i in (0, 2):
        L = np.linalg.cholesky(K[i])
        np.testing.assert_allclose(diagonal[i], np.diagonal(L), rtol=1e-12)
        np.testing.assert_allclose(inverse[i], np.linalg.inv(L), atol=1e-12)
    assert np.isnan(np.sum(np.log(diagonal[1])))


@pytest.fixture
def slots(device: str) -> Iterator[server.Slots]:
    """Room for three runs, and a server at work."""
    with server.serving(multiprocessing.get_context("spawn"), [range(3)], 200, device) as slots:
        yield slots


@pytest.mark.torch
def test_runs_have_the_values_of_their_own_latest_data_from_the_server(slots: server.Slots) -> None:
    def run(n: int, D: int) -> int:
        # more points and fewer, other values of as many, another kernel
        for i, size in enumerate((n, n, n + 70, n, n)):
            kernel = KERNELS[i // 4]
            X, y = values(size, D)
            y *= 1.0 + i
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

    sizes = [(20, 2), (70, 100), (64, 130)]
    works = [partial(run, n, D) for n, D in sizes]
    assert turns.in_turns(works, slots, range(3)) == [n for n, _ in sizes]
    assert closed_form.likelihood_of is Likelihood  # as before


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
    assert found == ["ValueError('no more')", 1, 1]


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
def test_runs_do_not_wait_for_ever_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    slots = server.Slots(multiprocessing.get_context("spawn"), [[0, 1]], 70)  # nobody serves them
    saved = []

    def ask(i: int) -> int:
        try:
            closed_form.likelihood_of(RBF(), *values(20, 2))(lengthscales(2), 0.7, 0.05, 0.2)
            return 1
        finally:
            saved.append(i)

    try:
        with pytest.raises(RuntimeError, match="does not answer"):
            turns.in_turns([partial(ask, 0), partial(ask, 1)], slots, [0, 1])
    finally:
        slots.memory.unlink()
    assert saved == [0, 1]
    assert closed_form.likelihood_of is Likelihood


def test_a_process_that_dies_ends_its_own_runs_only(caplog: pytest.LogCaptureFixture) -> None:
    jobs = pool.in_order(["ackley-20-aligned-0.5"], ["random"], range(2), 24)
    died: Future[list[int | str]] = Future()
    died.set_exception(BrokenProcessPool("died"))
    assert pool._whole(jobs, died) == 0
    assert [record.getMessage() for record in caplog.records] == [
        f"ackley-20-aligned-0.5, random, seed {seed}: BrokenProcessPool('died')" for seed in (0, 1)
    ]


def test_nothing_is_left_to_do(tmp_path: Path) -> None:
    pool.run_all([], tmp_path, workers=2, device="cpu")
    assert not list(tmp_path.iterdir())


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
    methods = ["botorch", "turbo", "optuna-gp"]
    jobs = pool.in_order(["ackley-20-aligned-0.5"], methods, range(2), 24)
    pool.run_all(jobs, tmp_path, workers=2, device="cpu")
    assert [length(job.path(tmp_path)) for job in jobs] == [24] * 6
    assert asked == [4]  # GPSampler's are not among them


@pytest.mark.torch
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Ctrl-C reaches process groups on POSIX")
def test_control_c_stops_runs_that_share_a_server_and_loses_nothing(tmp_path: Path) -> None:
    """As a terminal does it: to the command, its workers and the server at once."""
    words = ["--tasks", "ackley-20-aligned-0.5", "--methods", "botorch", "--seeds", "2"]
    words += ["--evals", "400", "--device", "cpu", "--workers", "1", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, compare.__file__, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = b""
    while not re.search(rb" [1-9]\d*/760", said):  # the bar counts evaluations
        byte = process.stderr.read(1)
        assert byte, said
        said += byte
    os.killpg(process.pid, signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"0 of 2 runs done; a later call does the rest" in rest
    found = [len(load(path).y) for path in tmp_path.rglob("*.npz")]
    assert len(found) == 2
    assert max(found) > N_INIT
