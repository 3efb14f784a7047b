"""The comparison with other optimisers: tasks, methods, runs that go on, and tables."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compare
from comparison import figure, gp_sampler, runs, standings, summary, tables, turbo
from comparison.closed_form import (
    ClosedPosterior,
    closed_form,
    closed_form_within_bounds,
    closed_log_ei,
    only_if_fixed,
)
from comparison.log_ei import OPTIONS
from comparison.method import Centre, Random, Start
from comparison.ours import Ours
from comparison.pool import in_order, run_all
from comparison.registry import NAMES, factory
from comparison.runs import Job, Run, carry_on, load
from comparison.summary import CHECKPOINTS, Key, Summary
from comparison.tasks import (
    FUNCTIONS,
    N_INIT,
    SIZES,
    TASKS,
    UNSEEN_SIZES,
    UNSEEN_TASKS,
    initial_points,
    instance,
)
from comparison.unseen import UNSEEN
from transect import Anchored
from transect.problems import data

SMALL = "ackley-20-aligned-0.5"
BUILT_WITHOUT_DATA = [name for name in TASKS if not name.startswith(("rover", "mopta08", "ramp"))]


def never(seconds: float) -> bool:
    return False


def nothing() -> None:
    pass


# --- tasks --------------------------------------------------------------------------------


def test_variants_are_balanced() -> None:
    synthetic = [task for task in TASKS.values() if "shift" in task.options]
    assert len(synthetic) == len(FUNCTIONS) * len(SIZES)
    assert len(TASKS) == 31
    variants = Counter(task.name.split(f"-{task.D}-")[1] for task in synthetic)
    assert sorted(variants.values()) == [6, 6, 6, 7]
    for group in (
        *([task for task in synthetic if task.problem == name] for name in FUNCTIONS),
        *([task for task in synthetic if task.D == D] for D in SIZES),
    ):
        assert len({task.name.split(f"-{task.D}-")[1] for task in group}) == 4


@pytest.mark.parametrize("name", BUILT_WITHOUT_DATA)
def test_instances_by_seed(name: str) -> None:
    X = initial_points(name, 0).astype(np.float64)
    first, other = instance(name, 0), instance(name, 1)
    assert first.problem.D == TASKS[name].D == X.shape[1]
    assert first(X[1], 5) == first(X[1], 5) != other(X[1], 5)
    if first.problem.optimum is not None:
        optimum = first.problem.box.to_unit(first.problem.optimum)
        assert first(optimum, 0) == pytest.approx(first.problem.least, abs=1e-6)


ONE_INSTANCE = (
    *(f"schwefel-{D}" for D in UNSEEN_SIZES),
    "michalewicz",
    "cart-pole",
)  # of all seeds


def test_unseen_tasks_are_twenty_functions_in_three_sizes() -> None:
    assert len(UNSEEN) == 20
    assert len(UNSEEN_TASKS) == 60
    assert {task.D for task in UNSEEN_TASKS.values()} == set(UNSEEN_SIZES)
    assert not TASKS.keys() & UNSEEN_TASKS.keys()


@pytest.mark.parametrize("name", UNSEEN_TASKS)
def test_unseen_tasks(name: str) -> None:
    first, other, X = instance(name, 0), instance(name, 1), initial_points(name, 0)
    values = [first(x.astype(np.float64), i) for i, x in enumerate(X)]
    assert np.all(np.isfinite(values))
    assert len(set(values)) > 5
    assert values == [instance(name, 0)(x.astype(np.float64), i) for i, x in enumerate(X)]
    same = values == [other(x.astype(np.float64), i) for i, x in enumerate(X)]
    assert same == name.startswith(ONE_INSTANCE)


@pytest.mark.parametrize("D", [1, 7, 30])
@pytest.mark.parametrize("name", [n for n in UNSEEN if UNSEEN[n](8, 0).optimum is not None])
def test_unseen_formulas_are_least_at_their_optimum(name: str, D: int) -> None:
    problem = UNSEEN[name](D, 3)
    assert problem.optimum is not None
    best = problem(problem.optimum)
    assert best == pytest.approx(problem.least, abs=1e-3 * D)
    rng = np.random.default_rng(0)
    assert all(problem(u) >= best for u in rng.uniform(-1.0, 1.0, (200, D)))


def test_noise_is_drawn_by_the_seed_and_the_number_of_the_evaluation() -> None:
    made, x = instance("noisy-bowl-30", 0), np.zeros(30)
    true = made.problem.noiseless(x)
    off = np.array([made(x, i) - true for i in range(400)])
    assert made(x, 7) - true == off[7]
    assert np.std(off) == pytest.approx(made.problem.noise, rel=0.15)
    assert abs(np.mean(off)) < 0.2 * made.problem.noise


def test_tasks_with_data_are_built_from_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(data.VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match="rover"):
        instance("rover-60", 0)


def test_initial_points_are_the_same_for_all_methods(tmp_path: Path) -> None:
    found = []
    for method in ("random", "centre", "transect:gp-ucb"):
        job = Job(SMALL, method, 3, N_INIT + 2)
        carry_on(job, tmp_path, never, nothing)
        run = load(job.path(tmp_path))
        found.append((np.array(run.X[:N_INIT]), run.y[:N_INIT]))
    for X, y in found:
        np.testing.assert_array_equal(X, initial_points(SMALL, 3))
        assert y == found[0][1]
    assert not found[0][0][0].any()  # the middle of the box
    assert (initial_points(SMALL, 3) != initial_points(SMALL, 4))[1:].all()


# --- methods ------------------------------------------------------------------------------


def test_the_evolution_strategy_descends_from_the_best_point() -> None:
    es = Centre(Start(10, 0, 400))
    rng = np.random.default_rng(0)
    for x in rng.uniform(-1.0, 1.0, (N_INIT, 10)):
        es.tell(x, float(x @ x))
    start, first = es.least, es.step
    for _ in range(300):
        x = es.ask()
        assert np.abs(x).max() <= 1.0
        es.tell(x, float(x @ x))
    assert es.least < 1e-3 * start
    assert es.step < first
    np.testing.assert_allclose(es.best @ es.best, es.least)


def test_one_success_in_five_keeps_the_step() -> None:
    es = Centre(Start(4, 0, 100))
    for y in range(N_INIT):
        es.tell(np.zeros(4), float(y))
    before = es.step
    for value in (-1.0, 0.0, 0.0, 0.0, 0.0):
        es.tell(np.zeros(4), value)
    assert es.step == pytest.approx(before)


def test_what_is_asked_for_depends_on_what_was_told() -> None:
    one, two = (Random(Start(5, 0, 40)) for _ in range(2))
    one.ask()
    np.testing.assert_array_equal(one.ask(), two.ask())
    one.tell(np.zeros(5), 0.0)
    assert (one.ask() != two.ask()).all()


def test_ours_knows_how_many_evaluations_it_has_to_itself() -> None:
    """Those told before are not among them: with more, it would begin what it cannot finish."""
    assert Ours(Start(D=3, seed=0, evals=400), Anchored()).optimizer.max_evals == 400 - N_INIT


def test_names() -> None:
    for name in NAMES:
        factory(name)
    factory("transect:line-bo")
    for name in ("no-such", "transect:no-such", "gp-ucb"):
        with pytest.raises(ValueError, match="there are random"):
            factory(name)


@pytest.mark.torch
@pytest.mark.filterwarnings("default")  # of libraries that are not ours
@pytest.mark.parametrize("D", [2, 100])
def test_botorchs_loss_in_closed_form_is_its_own(D: int) -> None:
    import torch
    from botorch.optim.closures import get_loss_closure_with_grads
    from botorch.optim.closures.core import NdarrayOptimizationClosure
    from botorch.optim.utils import get_parameters
    from linear_operator.utils.errors import NotPSDError

    mll = default_of_botorch(D).train()
    rng = np.random.default_rng(D)
    parameters = get_parameters(mll, requires_grad=True)
    loss, ours = get_loss_closure_with_grads(mll, parameters), closed_form(mll)
    theirs = NdarrayOptimizationClosure(loss, parameters)
    first = theirs.state
    for scale in (0.7, 1.0, 3.0):
        theta = scale * first + 0.1 * rng.random(len(first))
        (value, grads), (other, others) = theirs(theta), ours(theta)
        # their priors are in single precision
        assert other == pytest.approx(value.item(), abs=1e-7 * D)
        np.testing.assert_allclose(others, grads, rtol=0.0, atol=1e-7)
        assert ours()[0] == other  # of the parameters as they are

    with torch.no_grad():  # not a covariance: what they say to it is said
        mll.likelihood.noise_covar.raw_noise.fill_(-0.5)
    for closure in (theirs, ours):
        with pytest.raises(NotPSDError):
            closure()


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("D", [2, 100])
def test_botorchs_acquisition_in_closed_form_is_its_own(D: int) -> None:
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.optim.initializers import gen_batch_initial_conditions, sample_points_around_best

    mll = default_of_botorch(D)
    fit_gpytorch_mll(mll, closure=closed_form(mll))
    torch.manual_seed(D)
    anywhere = torch.rand(20, 1, D, dtype=torch.double)
    points = torch.cat([anywhere, mll.model.train_inputs[0][:5, None, :] + 1e-3])
    points.requires_grad_()
    found, best = [], 110.0
    for acquisition in (LogExpectedImprovement(mll.model, best), closed_log_ei(mll.model, best)):
        values = acquisition(points)
        found.append((values.detach().numpy(), torch.autograd.grad(values.sum(), points)[0]))
    (own, own_grad), (closed, grad) = found
    np.testing.assert_allclose(closed, own, rtol=1e-6)
    np.testing.assert_allclose(grad, own_grad, rtol=1e-5, atol=1e-5 * float(own_grad.abs().max()))
    # What its optimiser begins with is drawn around the best points, too.
    bounds = torch.stack([torch.zeros(D), torch.ones(D)]).double()
    starts = []
    for acquisition in (LogExpectedImprovement(mll.model, best), closed_log_ei(mll.model, best)):
        torch.manual_seed(D)
        around = sample_points_around_best(acquisition, 10, 1e-3, bounds)
        assert around is not None
        starts += [
            around,
            gen_batch_initial_conditions(acquisition, bounds, 1, 4, 64, options=OPTIONS),
        ]
    for own_start, start in zip(starts[:2], starts[2:], strict=True):
        np.testing.assert_allclose(start, own_start, rtol=1e-9)
    many = mll.model.train_inputs[0]
    np.testing.assert_allclose(
        ClosedPosterior(mll.model).posterior(many).mean.numpy(),
        mll.model.posterior(many).mean.detach().numpy(),
        rtol=1e-6,
    )


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_search_of_botorchs_is_the_same_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from botorch.generation import gen
    from botorch.optim import optimize_acqf

    acquisition = closed_log_ei(default_of_botorch(5).model, 110.0)
    bounds = torch.stack([torch.zeros(5), torch.ones(5)]).double()
    found = []
    for fixed in (None, {}, {2: 0.3}):
        for function in (gen.fix_features, only_if_fixed):
            monkeypatch.setattr(gen, "fix_features", function)
            torch.manual_seed(0)
            found.append(optimize_acqf(acquisition, bounds, 1, 2, 32, fixed_features=fixed)[0])
        monkeypatch.undo()
    for own, ours in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_array_equal(ours, own)
    assert found[-1][0, 2] == 0.3


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("D", [2, 100])
def test_turbos_loss_and_sample_in_closed_form_are_its_models_own(
    D: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from botorch.optim.closures import get_loss_closure_with_grads
    from botorch.optim.utils import get_parameters
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X, y = forty_values(D)
    model = turbo.model_of(X, y)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    torch.manual_seed(D)
    parameters = get_parameters(mll, requires_grad=True)
    assert len(parameters) == 4
    theirs, ours = get_loss_closure_with_grads(mll, parameters), closed_form_within_bounds(mll)
    for shift in (-0.5, 0.0, 1.0):
        with torch.no_grad():
            for parameter in parameters.values():
                parameter.add_(shift + 0.5 * torch.rand_like(parameter))
        (value, grads), (other, others) = theirs(), ours()
        assert other.item() == pytest.approx(value.item(), rel=1e-9)
        for grad, its in zip(grads, others, strict=True):
            np.testing.assert_allclose(its, grad, rtol=1e-7, atol=1e-10)

    model.eval()
    monkeypatch.setattr(turbo, "ROWS", 20)
    candidates = torch.rand(50, D, dtype=torch.double)
    z = torch.randn(1, 50, dtype=torch.double)
    with torch.no_grad():
        own = model.posterior(candidates).rsample_from_base_samples(torch.Size([1]), z)
    sample = turbo.joint_sample(model, candidates, z.flatten().numpy())
    np.testing.assert_allclose(np.std(y, ddof=1) * sample, own.flatten() - np.mean(y), rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("D", [2, 100])
def test_the_covariance_and_likelihood_of_gp_sampler_are_its_own(D: int) -> None:
    import torch
    from optuna._gp.gp import GPRegressor

    X, y = forty_values(D)
    rng = np.random.default_rng(D)
    w = torch.tensor(rng.uniform(0.1, 3.0, D) / D, requires_grad=True)
    scale = torch.tensor(2.0, dtype=torch.double, requires_grad=True)
    noise = torch.tensor(1e-3, dtype=torch.double, requires_grad=True)
    points = torch.tensor(rng.uniform(0.0, 1.0, (6, D)), requires_grad=True)
    continuous = torch.zeros(D, dtype=torch.bool)

    def numbers() -> list[Any]:
        values = torch.tensor(y[:, 0] - 100.0)
        model = GPRegressor(continuous, torch.tensor(X), values, w, scale, noise)
        own, likelihood = model.kernel(), model.marginal_log_likelihood()
        apart, single = model.kernel(points, model._X_train), model.kernel(points[0])
        covariances = own[0] @ own[1] + apart.sin().sum() + single[3]
        grads = torch.autograd.grad(covariances, [w, points, scale])
        by_all = torch.autograd.grad(likelihood, [w, scale, noise])
        return [own, apart, single, model.kernel(points), likelihood, *grads, *by_all]

    theirs = numbers()
    with gp_sampler.closed():
        ours = numbers()
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(other.detach(), one.detach(), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(ours[0].diagonal().detach(), 2.0)


@pytest.mark.torch
def test_gp_sampler_is_told_of_a_covariance_that_cannot_be_factored_as_by_torch() -> None:
    import torch
    from optuna._gp.gp import GPRegressor

    X, y = forty_values(2)
    model = [torch.tensor(X), torch.tensor(y[:, 0]), *torch.tensor([[1.0, 1.0]]).double()]
    given = *model, torch.tensor(1.0).double(), torch.tensor(-1.0).double()
    none = torch.zeros(2, dtype=torch.bool)
    with pytest.raises(RuntimeError):
        GPRegressor(none, *given).marginal_log_likelihood()
    with gp_sampler.closed(), pytest.raises(RuntimeError, match="cannot be factored"):
        GPRegressor(none, *given).marginal_log_likelihood()


def forty_values(D: int) -> tuple[Any, Any]:
    """Points of the unit cube (40, D), and values (40, 1) that are neither small nor around 0."""
    rng = np.random.default_rng(D)
    X = rng.uniform(0.0, 1.0, (40, D))
    y = np.sin(5.0 * X[:, :1]) + X[:, 1:2] ** 2 + 0.05 * rng.standard_normal((40, 1))
    return X, 100.0 + 20.0 * y


def default_of_botorch(D: int) -> Any:
    """The likelihood of a default model."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X, y = forty_values(D)
    model = SingleTaskGP(torch.tensor(X), torch.tensor(y))
    return ExactMarginalLogLikelihood(model.likelihood, model)


# --- runs ---------------------------------------------------------------------------------


OTHERS = ("pycma", "pycma-small", "optuna-tpe", "optuna-gp", "turbo", "turbo-adam", "botorch")
every_method = pytest.mark.parametrize(
    "method",
    [
        *("random", "centre", "transect:gp-ucb", "transect:anchored"),
        *(pytest.param(name, marks=pytest.mark.torch) for name in OTHERS),
    ],
)


@every_method
@pytest.mark.filterwarnings("default")  # of libraries that are not ours
def test_a_run_goes_on_where_it_stopped(method: str, tmp_path: Path) -> None:
    whole = Job(SMALL, method, 1, 34)
    assert carry_on(whole, tmp_path / "whole", never, nothing) == 34
    left = [4]

    def stop(seconds: float) -> bool:
        left[0] -= 1
        return left[0] < 0

    part = tmp_path / "part"
    assert carry_on(whole, part, stop, nothing) == N_INIT + 4
    assert carry_on(Job(SMALL, method, 1, 34), part, never, nothing) == 34
    one, two = load(whole.path(tmp_path / "whole")), load(whole.path(part))
    # Optuna's samplers know their own points in double precision until they are told them again.
    same = N_INIT + 4 if method.startswith("optuna") else 34
    np.testing.assert_array_equal(one.X[:same], two.X[:same])
    assert one.y[:same] == two.y[:same]
    assert len(two.seconds) == 34


def test_values_are_those_of_the_rounded_points(tmp_path: Path) -> None:
    job = Job(SMALL, "random", 0, N_INIT + 3)
    carry_on(job, tmp_path, never, nothing)
    run, objective = load(job.path(tmp_path)), instance(SMALL, 0)
    assert run.X[0].dtype == np.float32
    assert run.y == [objective(x.astype(np.float64), i) for i, x in enumerate(run.X)]


def test_a_method_that_changed_begins_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job = Job(SMALL, "transect:gp-ucb", 0, N_INIT + 3)
    carry_on(job, tmp_path, never, nothing)
    right = load(job.path(tmp_path))
    wrong = Run([*right.X[:-1], -right.X[-1]], right.y, right.seconds)
    wrong.save(job, job.path(tmp_path))
    longer = Job(SMALL, "transect:gp-ucb", 0, N_INIT + 4)
    carry_on(longer, tmp_path, never, nothing)
    assert "begins anew" in caplog.text
    np.testing.assert_array_equal(load(job.path(tmp_path)).X[:-1], right.X)


def test_a_failure_keeps_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(SMALL, "random", 0, N_INIT + 5)
    asked = [0]
    ask = Random.ask

    def failing(self: Random) -> object:
        asked[0] += 1
        if asked[0] == 3:
            raise RuntimeError("no")
        return ask(self)

    monkeypatch.setattr(Random, "ask", failing)
    with pytest.raises(RuntimeError, match="no"):
        carry_on(job, tmp_path, never, nothing)
    assert runs.length(job.path(tmp_path)) == N_INIT + 2


def test_jobs_are_in_order_of_seeds_and_done_by_processes(tmp_path: Path) -> None:
    jobs = in_order([SMALL, "levy-50-aligned-0.8"], ["random", "centre"], range(2), 24)
    assert [job.seed for job in jobs] == [0] * 4 + [1] * 4
    assert [TASKS[job.task].D for job in jobs[:2]] == [50, 20]
    run_all(jobs, tmp_path, workers=1, limit=0.0)
    assert not list(tmp_path.rglob("*.npz"))
    run_all(jobs[:3], tmp_path, workers=2)
    assert [runs.length(job.path(tmp_path)) for job in jobs[:4]] == [24, 24, 24, 0]


# --- summaries and tables -----------------------------------------------------------------


def made_up() -> Summary:
    """Three methods on two tasks; "b" lacks one of the four runs."""
    tasks = (SMALL, "hartmann6-in-500")
    rows = {
        Key(tasks[0], "random", 0): (10.0, 8.0),
        Key(tasks[0], "random", 1): (10.0, 6.0),
        Key(tasks[1], "random", 0): (4.0, 4.0),
        Key(tasks[1], "random", 1): (4.0, 2.0),
        Key(tasks[0], "a", 0): (10.0, 2.0),
        Key(tasks[0], "a", 1): (10.0, 6.0),
        Key(tasks[1], "a", 0): (4.0, 0.0),
        Key(tasks[1], "a", 1): (4.0, 3.0),
        Key(tasks[0], "pycma", 0): (10.0, 1.0),
        Key(tasks[0], "pycma", 1): (10.0, 7.0),
        Key(tasks[1], "pycma", 0): (4.0, 2.0),
    }
    best = np.full((len(rows), len(CHECKPOINTS)), np.nan, dtype=np.float32)
    for row, (first, last) in zip(best, rows.values(), strict=True):
        row[: CHECKPOINTS.index(200)] = first
        row[CHECKPOINTS.index(200)] = last
    seconds = np.linspace(0.1, 1.1, len(rows), dtype=np.float32)
    return Summary(tuple(rows), best, seconds)


def test_wins_and_ranks() -> None:
    made = made_up()
    assert standings.wins(made, "a", "random", 200, made.tasks) == (2.5 / 4, 4)  # one is a tie
    assert standings.wins(made, "a", "pycma", 200, made.tasks) == (2 / 3, 3)
    assert standings.covered(made, 200) == made.methods
    assert standings.mean_rank(made, "a", made.methods, 200) == (1 + 1.5 / 4 + 1 / 3, 3)
    full = made.only([SMALL], ["random", "a", "pycma"])
    ranks = [standings.mean_rank(full, method, full.methods, 200).value for method in full.methods]
    np.testing.assert_allclose(ranks, [2.25, 1.75, 2.0])  # 3, 1.5; 2, 1.5; 1, 3
    assert math.isnan(standings.mean_rank(made, "a", made.methods, 400).value)


def test_methods_with_few_runs_are_not_ranked() -> None:
    made = made_up()
    few = Summary(made.keys[-1:], made.best[-1:], made.seconds[-1:])
    most = Summary(made.keys[:8], made.best[:8], made.seconds[:8])
    third = Key("levy-20-rotated-0.5", "random", 0)
    both = Summary(
        (*most.keys, *few.keys, third),
        np.vstack([most.best, few.best, most.best[:1]]),
        np.concatenate([most.seconds, few.seconds, most.seconds[:1]]),
    )
    assert standings.covered(both, 200) == ["random", "a"]
    assert standings.covered(both, 400) == []


def test_a_share_of_wins_is_surer_the_more_tasks_it_is_of() -> None:
    """Not the more seeds: those of one task are alike."""
    names = list(TASKS)[:20]
    lost, won = [names[0]], names[1:]

    def share(tasks: list[str], seeds: int) -> float:
        keys = [Key(t, m, s) for t in tasks for s in range(seeds) for m in ("a", "b")]
        best = np.full((len(keys), len(CHECKPOINTS)), 1.0, dtype=np.float32)
        best[[k.method == "a" and k.task not in lost for k in keys]] = 0.0
        best[[k.method == "a" and k.task in lost for k in keys]] = 2.0
        made = Summary(tuple(keys), best, np.zeros(len(keys), dtype=np.float32))
        return standings.wins_at_least(made, "a", "b", 200, tasks)

    assert share([*lost, *won], 10) == share([*lost, *won], 2)
    assert 0.8 < share([*lost, *won], 2) < 0.95
    assert share([*lost, *won[:9]], 10) < share([*lost, *won], 10) - 0.05
    assert math.isnan(share([*lost, *won[:8]], 10))
    assert math.isnan(standings.wins_at_least(Summary.empty(), "a", "b", 200, won))


def test_distance_to_a_rival() -> None:
    made = made_up()
    # one seed that both have: (0 - 2) of what could be gained, from 4 to the median 1.5 of "a"
    found = standings.behind(made, "a", "pycma", "hartmann6-in-500", 200)
    assert found == pytest.approx(-2.0 / 2.5)
    assert math.isnan(standings.behind(made, "a", "b", "hartmann6-in-500", 200))


def test_curves_end_between_the_best_and_the_start() -> None:
    made = made_up()
    instances = standings.shared(made, 200)
    assert instances == [(SMALL, 0), (SMALL, 1), ("hartmann6-in-500", 0)]
    curves = standings.mean_curves(made, instances, 200)
    np.testing.assert_allclose(curves[:, 0], 1.0)
    expected = [(((7 / 9) + 0) / 2 + 1) / 2, ((1 / 9 + 0) / 2 + 0) / 2, ((0 + 1 / 4) / 2 + 0.5) / 2]
    np.testing.assert_allclose(curves[:, -1], expected, atol=1e-6)


def test_report_says_how_much_it_rests_on() -> None:
    text = "\n".join(tables.report(made_up(), "a"))
    assert "| random | 62% (4) | – | 75% (2) | 50% (2) |" in text
    assert "random" not in text.split("is not first")[1].split("##")[0]
    swapped = "\n".join(tables.report(made_up(), "random"))
    lower = "a 4 against 7, 1.5 of 2; pycma 4 against 7, 1 of 2"
    assert f"| {SMALL} | {lower} |" in swapped
    assert f"| {SMALL} | 7 (2) | **4** (2) | **4** (2) |" in text
    assert "400 evaluations, median" not in text


def test_packed_results_give_the_same_report(tmp_path: Path) -> None:
    made = made_up()
    made.save(tmp_path / "packed.npz")
    again = Summary.load(tmp_path / "packed.npz")
    assert list(tables.report(again, "a")) == list(tables.report(made, "a"))


def test_summary_of_runs(tmp_path: Path) -> None:
    job = Job(SMALL, "random", 2, 200)
    y = np.linspace(5.0, 1.0, 195)
    X = [np.zeros(20, dtype=np.float32)] * 195
    Run(X, y.tolist(), [0.5] * 195).save(job, job.path(tmp_path))
    found = Summary.of_runs(tmp_path)
    assert found.keys == (Key(SMALL, "random", 2),)
    assert found.at(SMALL, "random", 100) == {2: float(np.float32(y[99]))}
    assert found.at(SMALL, "random", 200) == {}
    assert found.seconds.tolist() == [0.5]
    assert summary.Summary.of_runs(tmp_path / "none").tasks == []


def test_runs_of_an_earlier_file_are_not_made_again(tmp_path: Path) -> None:
    packed, more = tmp_path / "packed.npz", tmp_path / "more.npz"
    words = ["--tasks", SMALL, "--methods", "random", "--workers", "1"]
    first, second = (["--out", str(tmp_path / name)] for name in ("first", "second"))
    compare.main([*words, *first, "--seeds", "0-1", "--evals", "30", "--pack", str(packed)])
    known = ["--packed", str(packed), "--pack", str(more)]
    compare.main([*words, *second, "--seeds", "1-2", "--evals", "30", *known])
    assert [path.name for path in (tmp_path / "second").rglob("*.npz")] == ["002.npz"]
    assert sorted(key.seed for key in Summary.load(more).keys) == [0, 1, 2]
    # further than the file has it: made anew, and it takes the place of the shorter one
    compare.main([*words, *second, "--seeds", "1-1", "--evals", "40", *known])
    found = Summary.load(more)
    assert sorted(key.seed for key in found.keys) == [0, 1, 2]
    assert list(found.at(SMALL, "random", 40)) == [1]
    # other methods stay in the file, and so does a run that came further than the folder's
    short = ["--tasks", SMALL, "--workers", "1", "--out", str(tmp_path / "third"), "--evals", "25"]
    compare.main([*short, "--methods", "random", "--seeds", "1-1"])
    added = ["--methods", "centre", "--seeds", "1-1", "--packed", str(more), "--pack", str(more)]
    compare.main([*short, *added])
    again = Summary.load(more)
    assert {key.method for key in again.keys} == {"random", "centre"}
    assert again.at(SMALL, "random", 40) == found.at(SMALL, "random", 40)


def test_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure.draw(made_up(), "a", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_no_two_methods_look_alike() -> None:
    looks = [figure.look(method) for method in NAMES]
    assert len({(look.colour, look.dashes) for look in looks}) == len(looks)
    assert not {look.title for look in looks} & set(NAMES), "names that a reader need not know"


def test_labels_keep_apart_and_in_order() -> None:
    values = np.array([0.3, 0.1, 0.11, 0.3, 0.9, 0.12])
    places = figure.spread(values, 0.05)
    assert np.diff(np.sort(places)).min() >= 0.05 - 1e-9
    assert (np.argsort(places, kind="stable") == np.argsort(values, kind="stable")).all()
    assert np.abs(places - values).max() < 0.1


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--tasks", "ackley-20-*", "--methods", "random,centre", "--seeds", "0-1"]
    packed = tmp_path / "packed.npz"
    folder = ["--out", str(tmp_path / "runs")]
    compare.main([*words, *folder, "--evals", "60", "--workers", "1", "--pack", str(packed)])
    first = capsys.readouterr().out
    assert "Best value after 50 evaluations" in first
    compare.main([*words, "--packed", str(packed), "--report"])
    assert capsys.readouterr().out == first
    unseen = ["--unseen", "--tasks", "distance-30", "--methods", "centre", "--workers", "1"]
    compare.main([*unseen, *folder, "--seeds", "1", "--evals", "60", "--pack", str(packed)])
    assert "distance-30" in capsys.readouterr().out
    assert Summary.load(packed).tasks == ["distance-30"], "none of the others in that folder"
    with pytest.raises(ValueError, match="nothing matches 'x'"):
        compare.main(["--tasks", "x", "--report"])
