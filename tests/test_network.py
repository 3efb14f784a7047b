"""The network task: the training against plain code, and what an evaluation draws and keeps."""

from __future__ import annotations

import math
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax

from helpers import numeric_gradient
from transect._array import Host
from transect.problems import make
from transect.problems.datasets import Images, digits
from transect.problems.network import NETWORK_STREAM, PLANS, NetworkLoss, Plan
from transect.problems.problem import Batched
from transect.problems.training import BATCH, Examples, Networks, _rates, _start

Labels = NDArray[np.int64]
Batches = list[NDArray[np.int64]]
both = pytest.mark.parametrize("frozen", [True, False], ids=["W2 frozen", "all trained"])


# --- a network in plain code ------------------------------------------------------------


def plain_forward(theta: Host, W2: Host | None, A: Host) -> tuple[Host, Host, Host]:
    """Before and after ReLU (n, h), and scores (n, 10), of one network; W2 None: in theta."""
    p = A.shape[1]
    h = (len(theta) - 10) // (p + 1 + (10 if W2 is None else 0))
    W1, rest = theta[: p * h].reshape(p, h), theta[p * h :]
    b1, b2 = rest[:h], rest[h : h + 10]
    out = rest[h + 10 :].reshape(10, h) if W2 is None else W2
    Z = A @ W1 + b1
    H = np.maximum(Z, 0.0)
    return Z, H, H @ out.T + b2


def plain_loss(theta: Host, W2: Host | None, A: Host, labels: Labels) -> float:
    """Mean negative log-likelihood."""
    scores = plain_forward(theta, W2, A)[2]
    return -float(np.mean([log_softmax(s)[k] for s, k in zip(scores, labels, strict=True)]))


def plain_gradient(theta: Host, W2: Host | None, A: Host, labels: Labels) -> Host:
    """Of ``plain_loss`` in theta, example by example."""
    Z, H, scores = plain_forward(theta, W2, A)
    h = Z.shape[1]
    out = theta[-10 * h :].reshape(10, h) if W2 is None else W2
    total = np.zeros_like(theta)
    for a, z, hidden, s, k in zip(A, Z, H, scores, labels, strict=True):
        ds = np.exp(log_softmax(s)) - np.eye(10)[k]
        dz = (out.T @ ds) * (z > 0.0)
        parts = [np.outer(a, dz).ravel(), dz, ds]
        total += np.concatenate(parts + ([np.outer(ds, hidden).ravel()] if W2 is None else []))
    return total / len(A)


def plain_adam(theta: Host, W2: Host | None, A: Host, labels: Labels, batches: Batches) -> Host:
    """Adam as in its paper, Algorithm 1, a step for each batch."""
    m, v = np.zeros_like(theta), np.zeros_like(theta)
    for t, rows in enumerate(batches, start=1):
        g = plain_gradient(theta, W2, A[rows], labels[rows])
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        mean, square = m / (1.0 - 0.9**t), v / (1.0 - 0.999**t)
        theta = theta - 0.001 * mean / (np.sqrt(square) + 1e-8)
    return theta


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Batches:
    """The rows (B, at most 64) of every step that is made, in order."""
    rows_of_steps: Batches = []
    advance = Networks._advance

    def recording(self: Networks, rows: Any, rate: Any) -> None:
        rows_of_steps.append(np.array(rows))
        advance(self, rows, rate)

    monkeypatch.setattr(Networks, "_advance", recording)
    return rows_of_steps


def examples(n: int, p: int, seed: int = 0) -> tuple[Examples, Host, Labels]:
    """In double precision."""
    rng = np.random.default_rng(seed)
    A, labels = rng.normal(size=(n, p)), rng.integers(0, 10, n)
    return Examples(A, np.eye(10)[labels]), A, labels


def put(networks: Networks, seed: int = 1) -> Host:
    """Any weights, also frozen ones; gives the latter (B, 10, h)."""
    rng = np.random.default_rng(seed)
    networks.theta[...] = rng.normal(size=networks.theta.shape)
    W2 = rng.normal(size=(networks.B, 10, networks.h))
    if networks.frozen:
        networks._W2[...] = W2
    return W2


# --- training ---------------------------------------------------------------------------


def test_the_usual_constants() -> None:
    assert BATCH == 64
    assert PLANS["mnist"].train == 45_000
    assert PLANS["mnist"].valid == 5_000
    assert PLANS["mnist"].epochs == 20
    assert (PLANS["mnist"].mean, PLANS["mnist"].deviation) == (0.1307, 0.3081)


@both
def test_losses_are_those_of_a_plain_log_softmax(frozen: bool) -> None:
    learn, A, labels = examples(40, 5)
    networks = Networks(learn, 3, 4, frozen)
    W2 = put(networks)
    expected = [
        plain_loss(networks.theta[i], W2[i] if frozen else None, A, labels) for i in range(3)
    ]
    np.testing.assert_allclose(networks.losses(learn), expected, rtol=1e-12)


def test_losses_of_huge_scores_are_finite() -> None:
    """In single precision, where exp(89) is infinite."""
    _, A, labels = examples(20, 5)
    single = Examples(A.astype(np.float32), np.eye(10, dtype=np.float32)[labels])
    networks = Networks(single, 2, 4, frozen=True)
    put(networks)
    networks._W2[...] *= 1e4
    expected = [
        plain_loss(networks.theta[i].astype(float), networks._W2[i].astype(float), A, labels)
        for i in range(2)
    ]
    assert min(expected) > 1000.0
    losses = networks.losses(single)
    assert losses.dtype == np.float64
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert np.isfinite(networks._gradient(np.zeros((2, 3), dtype=np.int64))).all()


@both
def test_gradient_is_that_of_finite_differences(frozen: bool) -> None:
    """Each network has its own batch."""
    learn, A, labels = examples(30, 5)
    networks = Networks(learn, 2, 4, frozen)
    W2 = put(networks)
    rows = np.array([[0, 3, 7, 7], [21, 2, 11, 5]])
    got = networks._gradient(rows)
    for i in range(2):
        out = W2[i] if frozen else None

        def loss(thetas: Host, batch: Any = rows[i], out: Host | None = out) -> Host:
            return np.array([plain_loss(theta, out, A[batch], labels[batch]) for theta in thetas])

        numeric = numeric_gradient(loss, networks.theta[i : i + 1].copy(), 1e-4)[0]
        np.testing.assert_allclose(got[i], numeric, atol=1e-9)
        plain = plain_gradient(networks.theta[i], out, A[rows[i]], labels[rows[i]])
        np.testing.assert_allclose(got[i], plain, rtol=1e-12, atol=1e-14)


@both
@pytest.mark.parametrize("n", [40, 128, 150], ids=["one short batch", "two full", "two and a rest"])
def test_training_is_adams_of_the_textbook(frozen: bool, n: int, batches: Batches) -> None:
    """From the same start and in the same batches, a network each."""
    B, h, epochs = 2, 3, 3
    learn, A, labels = examples(n, 6)
    networks = Networks(learn, B, h, frozen)
    W2 = np.random.default_rng(9).normal(size=(B, 10, h)).astype(np.float32) if frozen else None
    networks.train([np.random.default_rng(i) for i in range(B)], epochs, W2)
    for i in range(B):
        start = _start(np.random.default_rng(i), 6, h, frozen).astype(np.float64)
        out = None if W2 is None else W2[i].astype(np.float64)
        expected = plain_adam(start, out, A, labels, [rows[i] for rows in batches])
        moved = np.abs(expected - start).max()
        assert moved > 2e-3
        np.testing.assert_allclose(networks.theta[i], expected, atol=1e-6 * moved)


def test_every_epoch_has_every_example_once_in_a_new_order(batches: Batches) -> None:
    """In batches of 64 and a rest; no example has a place that it likes."""
    n, epochs = 150, 200
    networks = Networks(examples(n, 1)[0], 2, 1, frozen=False)
    networks.train([np.random.default_rng(i) for i in range(2)], epochs, None)
    assert [rows.shape for rows in batches] == [(2, 64), (2, 64), (2, 22)] * epochs
    orders = np.stack([np.hstack(batches[i : i + 3]) for i in range(0, len(batches), 3)])
    orders = orders.reshape(-1, n)  # of both networks, (2·epochs, n)
    np.testing.assert_array_equal(np.sort(orders), np.tile(np.arange(n), (2 * epochs, 1)))
    assert len({tuple(order) for order in orders}) == 2 * epochs
    places = np.argsort(orders, axis=1).mean(axis=0)  # (n,), each of deviation 43.3/20
    assert np.abs(places - (n - 1) / 2.0).max() < 5.0 * 43.3 / 20.0


@pytest.mark.parametrize("size", [1.0, 1e-8, 1e-10])
def test_rates_are_those_of_the_textbook_for_gradients_of_any_size(size: float) -> None:
    """Adam's ε counts where gradients are small."""
    rates = _rates(40).astype(np.float64)
    m = v = mean = square = 0.0
    for t, g in enumerate(size * np.random.default_rng(0).normal(size=40), start=1):
        m, v = 0.9 * m + g, 0.999 * v + g * g
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        textbook = 0.001 * (mean / (1 - 0.9**t)) / (math.sqrt(square / (1 - 0.999**t)) + 1e-8)
        r, e = rates[t - 1]
        assert r * m / (math.sqrt(v) + e) == pytest.approx(textbook, rel=1e-6)


def test_a_second_training_starts_afresh() -> None:
    learn, _, _ = examples(150, 6)
    networks = Networks(learn, 1, 3, frozen=False)
    thetas = []
    for seed in (0, 1, 0):
        networks.train([np.random.default_rng(seed)], 2, None)
        thetas.append(networks.theta.copy())
    np.testing.assert_array_equal(thetas[0], thetas[2])
    assert np.abs(thetas[0] - thetas[1]).max() > 0.1


def test_frozen_weights_stay_and_the_others_move() -> None:
    learn, _, _ = examples(150, 6)
    W2 = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 10, 3)).astype(np.float32)
    networks = Networks(learn, 2, 3, frozen=True)
    networks.train([np.random.default_rng(i) for i in range(2)], 5, W2)
    np.testing.assert_array_equal(networks._W2, W2)
    for i in range(2):
        start = _start(np.random.default_rng(i), 6, 3, frozen=True)
        assert np.all(networks.theta[i] != start)
    free = Networks(learn, 1, 3, frozen=False)
    free.train([np.random.default_rng(0)], 5, None)
    assert np.all(free._W2.ravel() != _start(np.random.default_rng(0), 6, 3, frozen=False)[-30:])


def test_weights_start_xavier_normal_and_biases_standard_normal() -> None:
    """W1 of p = 50 inputs, h = 20 units, and W2 if it is trained: variance 2/(in + out)."""
    starts = np.array([_start(np.random.default_rng(i), 50, 20, False) for i in range(300)])
    assert starts.dtype == np.float32
    assert starts.shape == (300, 50 * 20 + 20 + 10 + 10 * 20)
    parts = np.split(starts, np.cumsum([1000, 20, 10]), axis=1)
    deviations = (math.sqrt(2.0 / 70.0), 1.0, 1.0, math.sqrt(2.0 / 30.0))
    for part, deviation in zip(parts, deviations, strict=True):
        z = part.ravel() / deviation  # (at least 3000,)
        assert abs(z.mean()) < 4.0 / math.sqrt(z.size)
        assert abs(z.std() - 1.0) < 4.0 / math.sqrt(2.0 * z.size)
        assert abs(np.mean(np.abs(z) < 1.0) - 0.6827) < 4.0 * 0.4654 / math.sqrt(z.size)
    frozen = _start(np.random.default_rng(3), 50, 20, True)
    np.testing.assert_array_equal(frozen, starts[3, :1030])


# --- the task, on made-up images --------------------------------------------------------


def no_images(folder: str | Path | None) -> Images:
    raise AssertionError("the images are given")


TINY = Plan(no_images, train=150, valid=30, mean=0.4, deviation=0.25, epochs=3)


def tiny(seed: int = 0, h: int = 2) -> NetworkLoss:
    """On 200 images, of which the last 20 are not used."""
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 256, (200, 6)).astype(np.uint8)
    return NetworkLoss(Images("tiny", pixels, rng.integers(0, 10, 200), 255), TINY, h, seed, None)


def random_points(n: int, D: int = 20) -> Host:
    return np.random.default_rng(2).uniform(-1.0, 1.0, (n, D))


def plain_value(loss: NetworkLoss, W2: Host | None, call: int, batches: Batches) -> float:
    """What the task is, from pixels to the loss of the images held back."""
    A = (loss.images.pixels / 255.0 - 0.4) / 0.25
    labels = loss.images.labels
    rng = np.random.default_rng([loss.seed, call, NETWORK_STREAM])
    theta = _start(rng, 6, loss.h, W2 is not None).astype(np.float64)
    assert len(batches) == 3 * 3
    assert max(rows.max() for rows in batches) == 149
    theta = plain_adam(theta, W2, A[:150], labels[:150], [rows[0] for rows in batches])
    return plain_loss(theta, W2, A[150:180], labels[150:180])


def test_an_evaluation_in_plain_code(batches: Batches) -> None:
    """The point is W2 (10, h) row by row; the i-th call draws from (seed, i)."""
    loss, (u,) = tiny(seed=4), random_points(1)
    W2 = np.array([[u[2 * row], u[2 * row + 1]] for row in range(10)])
    for call in (1, 2):
        batches.clear()
        value = loss(u)
        assert value == pytest.approx(plain_value(loss, W2, call, batches), rel=1e-5)
    batches.clear()
    value = loss.all_adam(4)
    assert value == pytest.approx(plain_value(loss, None, 0, batches), rel=1e-5)


def test_the_same_seed_gives_the_same_values_call_by_call() -> None:
    (u,) = random_points(1)
    a, b, other = tiny(), tiny(), tiny(seed=1)
    values = [a(u) for _ in range(3)]
    assert values == [b(u) for _ in range(3)]
    assert len({*values, other(u)}) == 4


def test_values_computed_together_are_those_of_one_by_one() -> None:
    """Also out of order, and in groups of any size one after the other."""
    points = random_points(7)
    alone, many = tiny(), tiny()
    one_by_one = [alone(u) for u in points]
    draws = [many.draw() for _ in points]
    assert draws == [(0, i) for i in range(1, 8)]
    np.testing.assert_allclose(many.together(points, draws), one_by_one, rtol=1e-6)
    for group in ([2, 0], [6, 3, 1], [5], [4]):
        values = many.together(points[group], [draws[i] for i in group])
        np.testing.assert_allclose(values, np.array(one_by_one)[group], rtol=1e-6)


def test_the_reference_takes_no_draw_and_leaves_no_trace() -> None:
    (u,) = random_points(1)
    a, b = tiny(), tiny()
    first = a.all_adam(3)
    assert a(u) == b(u)
    assert a.all_adam(3) == first
    assert a(u) == b(u)
    assert a.all_adam(4) != first


def test_a_pickled_copy_goes_on_where_the_original_stood() -> None:
    (u,) = random_points(1)
    loss = tiny()
    size = len(pickle.dumps(loss))
    loss(u)
    loss.all_adam(0)
    content = pickle.dumps(loss)
    assert len(content) < size + 100  # neither inputs nor weights nor Adam's memory
    copy = pickle.loads(content)
    assert [copy(u) for _ in range(2)] == [loss(u) for _ in range(2)]
    assert pickle.loads(content).all_adam(1) == loss.all_adam(1)


# --- on digits --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def values() -> list[float]:
    """Of random output weights on digits."""
    problem = make("network", 100, data="digits")
    return [problem(u) for u in random_points(3, 100)]


def test_training_learns(values: list[float]) -> None:
    """Guessing costs log(10); random output weights that Adam works around cost half of that."""
    assert max(values) < 0.75 * math.log(10.0)
    assert np.mean(values) < 0.55 * math.log(10.0)


def test_all_adam_is_better_and_depends_on_its_seed_alone(values: list[float]) -> None:
    problem = make("network", 100, data="digits", noise_seed=5)
    assert list(problem.references) == ["all-adam"]
    losses = [problem.references["all-adam"](seed) for seed in (0, 1, 0)]
    assert losses[0] == losses[2] != losses[1]
    assert max(losses) < 0.9 * min(values)
    assert make("network", 100, data="digits").references["all-adam"](0) == losses[0]


def test_the_problem_is_a_box_of_output_weights() -> None:
    problem = make("network", 100, data="digits", noise_seed=3)
    assert (problem.name, problem.D, problem.least, problem.optimum) == ("network", 100, 0.0, None)
    np.testing.assert_array_equal(problem.box.lower, np.full(100, -1.0))
    np.testing.assert_array_equal(problem.box.upper, np.full(100, 1.0))
    objective: Any = problem.objective
    assert isinstance(objective, Batched)
    assert objective.draw() == (3, 1)
    assert problem.constraints(np.zeros(100)).shape == (0,)


def test_digits_are_all_used_and_standardised() -> None:
    plan, images = PLANS["digits"], digits()
    assert plan.train + plan.valid == len(images.pixels)
    inputs = plan.inputs(images)
    assert inputs.dtype == np.float32
    assert abs(inputs.mean()) < 1e-3
    assert abs(inputs.std() - 1.0) < 1e-3


def test_a_problem_on_digits_can_be_pickled(values: list[float]) -> None:
    points = random_points(3, 100)
    problem = make("network", 100, data="digits")
    assert problem(points[0]) == values[0]
    copy = pickle.loads(pickle.dumps(problem))
    assert copy(points[1]) == values[1]
    assert copy.references["all-adam"](0) == problem.references["all-adam"](0)


def test_problems_have_no_references_unless_they_say_so() -> None:
    assert make("ackley", 5).references == {}
    assert make("camelback", 5).references == {}


@pytest.mark.parametrize(
    ("D", "options", "message"),
    [
        (105, {}, "D must be 10 output weights for each hidden unit, got 105"),
        (0, {}, "D must be an integer of at least 10, got 0"),
        (100.0, {}, "D must be an integer"),
        (100, {"data": "cifar"}, "data must be one of mnist, digits, got 'cifar'"),
        (100, {"noise_seed": -1}, "noise_seed must be an integer of at least 0, got -1"),
        (100, {"noise_seed": 0.5}, "noise_seed must be an integer"),
    ],
)
def test_bad_input_is_named(D: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make("network", D, **({"data": "digits"} | options))


def test_a_folder_without_mnist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"not in {tmp_path}: mnist/train-images"):
        make("network", 100, folder=tmp_path)


def test_mnist_is_the_usual_data_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The folder reaches its reader, and D = 500 has 50 hidden units."""
    asked: list[Any] = []

    def images(folder: str | Path | None) -> Images:
        asked.append(folder)
        return Images("made up", np.zeros((3, 784), np.uint8), np.zeros(3, np.int64), 255)

    plan = Plan(images, 2, 1, 0.1307, 0.3081, epochs=1)
    monkeypatch.setitem(PLANS, "mnist", plan)
    problem = make("network", 500, folder=tmp_path)
    assert asked == [tmp_path]
    assert isinstance(problem.objective, NetworkLoss)
    assert problem.objective.h == 50
    assert problem.objective.device is None


def test_a_device_without_torch_is_noticed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="extra 'torch'"):
        make("network", 100, data="digits", device="cuda")
