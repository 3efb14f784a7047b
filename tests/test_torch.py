"""Agreement with BoTorch, and the library's own code on tensors."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import make_data, make_hyper
from transect import GPUCB, MSUCB, Optimizer, RandomSearch
from transect._array import Array, Host, to_device, to_host
from transect.acquisition import UCB, Acquisition, LogEI
from transect.embedding import Clipped, Psi
from transect.engine import search_box, search_slices, search_subspace
from transect.experiments.runner import run_all
from transect.experiments.store import Store
from transect.experiments.task import ProblemSpec, Task
from transect.experiments.task import run as done_here
from transect.fit import Surrogate, _pack
from transect.gp import GaussianProcess, Hyperparameters
from transect.kernels import KERNELS
from transect.likelihood import LogPosterior, dimension_scaled
from transect.model import on_device
from transect.problems import make
from transect.screen import Screen
from transect.subspace import Slices, Subspace
from transect.view import View, Warp, Warped

pytestmark = [
    pytest.mark.torch,
    # BoTorch's own dependencies do this while they are imported.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
]

D = 5
both_kernels = pytest.mark.parametrize("kernel", sorted(KERNELS))
both_scales = pytest.mark.parametrize("ard", [False, True])


def data(n: int, dimensions: int = D, seed: int = 0) -> tuple[Host, Host]:
    X, y = make_data(n, dimensions, seed)
    return X, (y - y.mean()) / y.std(ddof=1)  # BoTorch warns of values not standardised


def points(p: int, dimensions: int = D) -> Host:
    return np.random.default_rng(1).uniform(-1.0, 1.0, (p, dimensions))


def on_cpu(gp: GaussianProcess) -> GaussianProcess:
    """The same process on tensors."""
    hyper = on_device(gp.hyper, "cpu")
    return GaussianProcess.from_data(hyper, to_device(gp.X, "cpu"), to_device(gp.y, "cpu"))


# --- BoTorch on the same numbers ----------------------------------------------------------


def double(values: Any) -> Any:
    import torch

    return torch.as_tensor(values, dtype=torch.float64)


def unit_cube(X: Host) -> Any:
    """BoTorch works on [0, 1]^D: lengths are half of ours."""
    return double(0.5 * (X + 1.0))


def botorch_model(hyper: Hyperparameters, X: Host, y: Host) -> Any:
    """A SingleTaskGP with these hyper-parameters, in evaluation mode."""
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

    ard = len(hyper.lengthscale) if hyper.lengthscale.ndim else None
    kind = MaternKernel if hyper.kernel.name == "matern52" else RBFKernel
    base = kind(ard_num_dims=ard)  # ν = 5/2 is its default
    model = SingleTaskGP(
        unit_cube(X),
        double(y)[:, None],
        covar_module=ScaleKernel(base),
        outcome_transform=None,
    ).double()
    base.lengthscale = double(0.5 * hyper.lengthscale)
    model.covar_module.outputscale = double(hyper.amplitude)  # a float would be rounded
    model.likelihood.noise = double(hyper.noise)
    model.mean_module.constant = double(hyper.mean)
    return model.eval()


def both_models(kernel: str, ard: bool) -> tuple[GaussianProcess, Any]:
    hyper, (X, y) = make_hyper(kernel, D, ard), data(30)
    return GaussianProcess.from_data(hyper, X, y), botorch_model(hyper, X, y)


@both_scales
@both_kernels
def test_posterior_is_botorchs(kernel: str, ard: bool) -> None:
    gp, model = both_models(kernel, ard)
    P = points(20)
    other = model.posterior(unit_cube(P))
    mean, var = gp.posterior(P)
    np.testing.assert_allclose(mean, to_host(other.mean[:, 0]), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(var, to_host(other.variance[:, 0]), rtol=0.0, atol=1e-9)


@both_scales
@both_kernels
def test_posterior_gradient_is_botorchs_autodiff(kernel: str, ard: bool) -> None:
    gp, model = both_models(kernel, ard)
    P = points(20)
    X = unit_cube(P).requires_grad_()
    other = model.posterior(X)
    _, _, d_mean, d_var = gp.posterior_grad(P)
    for ours, theirs in ((d_mean, other.mean), (d_var, other.variance)):
        X.grad = None
        theirs.sum().backward(retain_graph=True)
        np.testing.assert_allclose(ours, 0.5 * to_host(X.grad), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("best", [-1.0, 0.5, 3.0, 8.0])
@both_kernels
def test_log_expected_improvement_is_botorchs(kernel: str, best: float) -> None:
    """From two thirds of the points better than ``best`` to log EI = -847."""
    from botorch.acquisition import LogExpectedImprovement

    gp, model = both_models(kernel, True)
    P = points(50)
    other = LogExpectedImprovement(model, best_f=best)(unit_cube(P)[:, None, :])
    got = LogEI(best).value(*gp.posterior(P))
    np.testing.assert_allclose(got, to_host(other), rtol=1e-8, atol=1e-8)


def test_log_expected_improvement_far_below_is_botorchs() -> None:
    """The function of the standardised improvement alone, to where EI = exp(-5e11)."""
    import torch
    from botorch.acquisition.analytic import _log_ei_helper

    u = np.concatenate([-np.geomspace(1e-3, 1e6, 200), np.linspace(0.0, 20.0, 50)])
    other = to_host(_log_ei_helper(torch.as_tensor(u)))
    got = LogEI(0.0).value(u, np.ones_like(u))
    np.testing.assert_allclose(got, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("beta", [0.5, 4.0, 200.0])
@both_kernels
def test_upper_confidence_bound_is_botorchs(kernel: str, beta: float) -> None:
    from botorch.acquisition import UpperConfidenceBound

    gp, model = both_models(kernel, True)
    P = points(50)
    other = UpperConfidenceBound(model, beta=beta)(unit_cube(P)[:, None, :])
    got = UCB(beta).value(*gp.posterior(P))
    np.testing.assert_allclose(got, to_host(other), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("dimensions", [2, 20])
def test_objective_of_the_fit_is_botorchs_default(dimensions: int, seed: int) -> None:
    """Log likelihood and priors of a default SingleTaskGP at the best mean, and gradient.

    Our length-scales are twice theirs, so each density is halved: D·log 2 less in all.
    """
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X, y = data(30, dimensions)
    rng = np.random.default_rng(seed)
    lengthscale = rng.uniform(0.5, 3.0, dimensions) * math.sqrt(dimensions)
    noise = float(rng.uniform(1e-3, 0.2))
    posterior = LogPosterior(KERNELS["rbf"], X, y, None, dimension_scaled(dimensions))
    theta = _pack(Hyperparameters(KERNELS["rbf"], lengthscale, 1.0, noise), dimensions)
    value, grad = posterior(theta)

    model = SingleTaskGP(unit_cube(X), double(y)[:, None], outcome_transform=None)
    model.covar_module.lengthscale = double(0.5 * lengthscale)
    model.likelihood.noise = double(noise)
    model.mean_module.constant = double(posterior.mean(theta))
    mll = ExactMarginalLogLikelihood(model.likelihood, model).train()
    total = len(y) * mll(model(*model.train_inputs), model.train_targets)
    total.backward()

    # Their priors keep loc and scale in single precision, which costs 1e-7 a length-scale.
    expected = total.item() - dimensions * math.log(2.0)
    assert value == pytest.approx(expected, abs=1e-7 * dimensions)
    # Their parameters are the length-scale and the noise themselves (no transform): the
    # derivative in the logarithm is the parameter times theirs.
    raw = model.covar_module.raw_lengthscale
    np.testing.assert_allclose(to_host(raw[0]), 0.5 * lengthscale, rtol=1e-14)
    by_lengthscale = to_host(raw.grad[0]) * 0.5 * lengthscale
    np.testing.assert_allclose(grad[:-2], by_lengthscale, rtol=0.0, atol=1e-7)
    by_noise = noise * model.likelihood.noise_covar.raw_noise.grad.item()
    assert grad[-1] == pytest.approx(by_noise, abs=1e-7)
    # Our mean is the best one, so theirs has nothing to gain.
    assert model.mean_module.raw_constant.grad.item() == pytest.approx(0.0, abs=1e-8)


# --- our code on tensors ------------------------------------------------------------------


def same(got: Array, expected: Host, atol: float) -> None:
    import torch

    assert isinstance(got, torch.Tensor)
    np.testing.assert_allclose(to_host(got), expected, rtol=0.0, atol=atol)


@both_scales
@both_kernels
def test_posterior_on_tensors(kernel: str, ard: bool) -> None:
    plain = GaussianProcess.from_data(make_hyper(kernel, D, ard), *data(25))
    gp, P = on_cpu(plain), points(20)
    for a, b in zip(gp.posterior_grad(to_device(P, "cpu")), plain.posterior_grad(P), strict=True):
        same(a, b, 1e-11)
    for a, b in zip(gp.posterior(to_device(P, "cpu")), plain.posterior(P), strict=True):
        same(a, b, 1e-12)
    assert gp.log_likelihood() == pytest.approx(plain.log_likelihood(), rel=1e-12)


@both_scales
@both_kernels
def test_condition_and_hallucinate_on_tensors(kernel: str, ard: bool) -> None:
    plain = GaussianProcess.from_data(make_hyper(kernel, D, ard), *data(25))
    gp, (X, y), P = on_cpu(plain), data(4, seed=3), points(20)
    X_on, y_on = to_device(X, "cpu"), to_device(y, "cpu")
    pairs = [
        (gp.condition(X_on, y_on), plain.condition(X, y)),
        (gp.hallucinate(X_on), plain.hallucinate(X)),
    ]
    for one, other in pairs:
        same(one.L, other.L, 1e-12)
        for a, b in zip(one.posterior(to_device(P, "cpu")), other.posterior(P), strict=True):
            same(a, b, 1e-11)


def test_jitter_on_tensors() -> None:
    X, y = data(4)
    plain = GaussianProcess.from_data(
        make_hyper("rbf", D, noise=1e-30), np.repeat(X, 9, axis=0), np.repeat(y, 9)
    )
    assert on_cpu(plain).jitter > 0.0
    X[0, 0] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        GaussianProcess.from_data(
            on_device(plain.hyper, "cpu"), to_device(X, "cpu"), to_device(y, "cpu")
        )


@pytest.mark.parametrize("acquisition", [UCB(3.0), LogEI(0.5)])
@both_scales
def test_views_on_tensors(ard: bool, acquisition: Acquisition) -> None:
    plain = GaussianProcess.from_data(make_hyper("matern52", D, ard), *data(25))
    gp, slices, V, rows = on_cpu(plain), Slices(D, 2, 1), points(6, 2), np.arange(6)
    z = slices.z(0, 6)
    got = View.of_slices(gp, slices, z).objective(acquisition)(to_device(V, "cpu"), _integers(rows))
    expected = View.of_slices(plain, slices, z).objective(acquisition)(V, rows)
    for a, b in zip(got, expected, strict=True):
        same(a, b, 1e-10)


def _integers(rows: Any) -> Any:
    import torch

    return torch.as_tensor(rows)


@both_scales
def test_models_on_a_device(ard: bool) -> None:
    """Refits and the steps between them, with the data on tensors."""
    X, y = data(30)
    y[7] = np.nan
    surrogate = Surrogate(ard=ard, refit_always=20, refit_growth=1.2)
    model = plain = None
    for n in range(18, 31):
        model = surrogate.advance(model, X[:n], y[:n], "cpu")
        plain = surrogate.advance(plain, X[:n], y[:n])
        assert model.fitted_on == plain.fitted_on
        same(model.gp.y, plain.gp.y, 1e-13)
        P = points(10)
        # The fit runs on NumPy in both: the same hyper-parameters to the last bit.
        for a, b in zip(
            model.gp.posterior(to_device(P, "cpu")), plain.gp.posterior(P), strict=True
        ):
            same(a, b, 1e-9)


@pytest.mark.parametrize("acquisition", [UCB(4.0), LogEI(1.0)])
@both_scales
def test_search_on_one_subspace_finds_the_same(ard: bool, acquisition: Acquisition) -> None:
    plain = GaussianProcess.from_data(make_hyper("matern52", 8, ard), *data(30, 8))
    x, direction = np.full(8, 0.1), np.arange(1.0, 9.0)
    for subspace in (Subspace.whole(8), Subspace.segment(x, direction)):
        one, other = (
            search_subspace(subspace, gp, acquisition, np.random.default_rng(0))
            for gp in (on_cpu(plain), plain)
        )
        assert one.value == pytest.approx(other.value, abs=1e-6)
        check_value(plain, acquisition, one.x, one.value)


@pytest.mark.parametrize("kernel", ["x", "psi"])
def test_search_on_a_curved_subspace_finds_the_same(kernel: str) -> None:
    clipped = Clipped(np.random.default_rng(0).normal(size=(9, 3)), 1.7)
    warp: Warp = clipped if kernel == "x" else Psi(clipped)
    V, y = data(20, 3)
    plain = GaussianProcess.from_data(make_hyper("matern52", 3), warp.points(V), y)
    box = np.full(3, -1.0), np.full(3, 1.0)
    one, other = (
        search_box(Warped(gp, warp), box, UCB(4.0), np.random.default_rng(0))
        for gp in (on_cpu(plain), plain)
    )
    assert one.value == pytest.approx(other.value, abs=1e-6)


@pytest.mark.parametrize("acquisition", [UCB(4.0), LogEI(1.0)])
@pytest.mark.parametrize(("d", "m"), [(0, 200), (2, 50), (3, 500)])
@both_scales
def test_search_on_slices_finds_the_same(
    ard: bool, d: int, m: int, acquisition: Acquisition
) -> None:
    """Also at the second step, when the tables have grown by a point."""
    X, y = data(31, 8)
    plain = GaussianProcess.from_data(make_hyper("matern52", 8, ard), X[:30], y[:30])
    slices = Slices(8, d, 3)
    screens = Screen(slices), Screen(slices)
    processes = on_cpu(plain), plain
    for step in range(2):
        one, other = (
            search_slices(screen, gp, acquisition, m + step, np.random.default_rng(step))
            for screen, gp in zip(screens, processes, strict=True)
        )
        assert one.value == pytest.approx(other.value, abs=1e-6)
        assert one.subspace == other.subspace
        check_value(processes[1], acquisition, one.x, one.value)
        more = to_device(X[30:], "cpu"), to_device(y[30:], "cpu")
        processes = processes[0].condition(*more), processes[1].condition(X[30:], y[30:])


def check_value(gp: GaussianProcess, acquisition: Acquisition, x: Host, value: float) -> None:
    """What was found is what the acquisition is at that point."""
    assert isinstance(x, np.ndarray)
    assert acquisition.value(*gp.posterior(x[None, :]))[0] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("strategy", [MSUCB(d=2), MSUCB(d=0, n0=20), GPUCB(acquisition="log-ei")])
def test_optimizer_on_a_device(strategy: MSUCB | GPUCB) -> None:
    """A run on tensors, with a failure and a point in flight, finds what NumPy finds."""
    runs = [run(strategy, device) for device in ("cpu", None)]
    for one, other in zip(runs[0].trials, runs[1].trials, strict=True):
        assert one.info["source"] == other.info["source"]
        assert np.all(np.abs(one.x) <= 3.0)
    # The first suggestion comes from the same model; later ones follow their own data.
    assert runs[0].trials[8].info["source"] == "strategy"
    # Around its maximum the acquisition is flat, so its value tells more than the point.
    key = "log_ei" if "log_ei" in runs[0].trials[8].info else "ucb"
    found = [run.trials[8].info[key] for run in runs]
    assert found[0] == pytest.approx(found[1], abs=1e-7)
    best = runs[0].best
    assert best is not None
    assert best.value is not None
    assert math.isfinite(best.value)


def run(strategy: MSUCB | GPUCB, device: str | None) -> Optimizer:
    optimizer = Optimizer([(-3.0, 3.0)] * 6, strategy, seed=0, n_init=8, device=device)
    for i in range(12):
        trial = optimizer.ask()
        if i == 9:
            continue  # stays in flight
        value = float(np.sum((trial.x - 0.5) ** 2))
        optimizer.tell(trial, math.nan if i == 5 else value)
    return optimizer


# --- networks trained side by side --------------------------------------------------------


@pytest.mark.parametrize("D", [20, 100])
def test_networks_on_tensors_have_the_same_losses(D: int) -> None:
    """For the same draws, one by one and together; also where all weights are trained."""
    numpy, tensors = (make("network", D, data="digits", device=on) for on in (None, "cpu"))
    W2, draws = points(3, D), [(0, 1), (4, 2), (0, 3)]
    losses: Any = [problem.objective for problem in (numpy, tensors)]
    expected = losses[0].together(W2, draws)
    np.testing.assert_allclose(losses[1].together(W2, draws), expected, rtol=1e-5)
    np.testing.assert_allclose(losses[1].together(W2[1:2], draws[1:2]), expected[1:2], rtol=1e-5)
    assert tensors(W2[0]) == pytest.approx(numpy(W2[0]), rel=1e-5)
    reference = numpy.references["all-adam"](2)
    assert tensors.references["all-adam"](2) == pytest.approx(reference, rel=1e-5)
    assert isinstance(losses[1]._networks.theta, type(to_device(W2, "cpu")))


def test_a_problem_on_a_device_can_be_pickled() -> None:
    """Tensors stay behind; the copy makes its own."""
    problem = make("network", 20, data="digits", device="cpu")
    u = points(1, 20)[0]
    problem(u)
    copy = pickle.loads(pickle.dumps(problem))
    assert copy(u) == problem(u)


def test_runs_on_a_device_are_those_without(tmp_path: Path) -> None:
    """Random search, as Figure 4 has it: two runs at once and their reference."""
    spec = ProblemSpec("network", 20, data="digits")
    tasks = [Task("random", RandomSearch(), spec, seed, evals=4) for seed in range(2)]
    tasks.append(Task("all-adam", None, spec, 0, evals=1))
    store = Store(tmp_path)
    assert run_all(tasks, store, workers=2, device="cpu", progress=False) == {}
    for task in tasks:
        result = store.load(task)
        assert result is not None
        np.testing.assert_allclose(result.values, done_here(task).values, rtol=1e-6)
