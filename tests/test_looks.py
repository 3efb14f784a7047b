"""Close looks: what seems noise is looked at once, and then taken for noise or for ripples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import make_hyper
from transect import Anchored, Optimizer, Surrogate
from transect._array import Host
from transect.kernels import KERNELS
from transect.likelihood import LogPosterior, shrunk
from transect.problems import levy, rastrigin
from transect.strategies.anchored import FAR, KAPPA
from transect.strategies.looks import (
    ALLOWED,
    LOOKS,
    QUIET,
    has_begun,
    is_due,
    judge,
    next_look,
    verdict,
)
from transect.strategies.protocol import History

LOOK: Any = {"family": "look"}


def history(told: list[Any], pending: list[Any] | None = None) -> History:
    n, waiting = len(told), pending or []
    points = np.zeros((n, 2)), np.zeros((len(waiting), 2))
    return History(points[0], np.zeros(n), points[1], tuple(told), tuple(waiting))


def run(f: Any, evals: int, strategy: Anchored | None = None, **options: Any) -> Optimizer:
    opt = Optimizer(f.box, strategy or Anchored(), n_init=20, **{"seed": 0, **options})
    for _ in range(evals):
        trial = opt.ask()
        opt.tell(trial, f(trial.x))
    return opt


def looks(opt: Optimizer) -> list[int]:
    return [i for i, t in enumerate(opt.trials) if t.info.get("family") == "look"]


def judgements(opt: Optimizer) -> list[tuple[int, str]]:
    return [(i, t.info["looked"]) for i, t in enumerate(opt.trials) if "looked" in t.info]


def test_every_look_is_closer_than_the_last() -> None:
    seen = [next_look(history([{}, *[LOOK] * k])) for k in range(len(LOOKS) + 1)]
    assert seen == [*LOOKS, None]
    assert list(LOOKS) == sorted(LOOKS, reverse=True)


def test_looks_in_flight_are_looks() -> None:
    assert not has_begun(history([{}, {}]))
    assert has_begun(history([{}], [LOOK]))
    assert next_look(history([LOOK], [LOOK, {}])) == LOOKS[2]


def test_there_is_one_verdict_after_the_last_look_is_back() -> None:
    told, last = [{}, *[LOOK] * (len(LOOKS) - 1)], LOOK
    assert not is_due(history(told, [last]))
    assert is_due(history([*told, last]))
    assert verdict(history([*told, last])) is None
    for given in ("noise", "ripples", "nothing"):
        judged: Any = {"looked": given}
        assert not is_due(history([*told, last], [judged])), "somebody is at it"
        assert not is_due(history([*told, last, judged, {}]))
        assert verdict(history([*told, last, judged, {}])) == given


def test_ripples_are_found_by_looks() -> None:
    """Rastrigin's, which without them stay noise to the model: the run ends above 100."""
    f = rastrigin(20, shift_seed=42, shift=0.5)
    opt = run(f, 130)
    at = looks(opt)
    assert at == list(range(at[0], at[0] + len(LOOKS))), "one after the other"
    assert [opt.trials[i].info["sigma"] for i in at] == list(LOOKS)
    ((after, shown),) = judgements(opt)
    assert after == at[-1] + 1
    assert shown != "noise"
    assert min(t.value for t in opt.trials if t.value is not None) < 80.0


def test_noise_stays_noise_after_looks_and_climbs_lead_far() -> None:
    opt = run(levy(20, shift_seed=1, shift=0.5, noise=30.0), 90)
    ((at, shown),) = judgements(opt)
    assert shown == "noise"
    assert len(looks(opt)) == len(LOOKS)
    far = [t.info.get("kappa", 0.0) >= FAR[0] for t in opt.trials[at:]]
    assert np.mean(far) > 0.5
    before = [t.info.get("kappa", 0.0) for t in opt.trials[20 : looks(opt)[0]]]
    assert max(before, default=0.0) <= KAPPA[1], "nothing leads far before the looks"


def test_smooth_functions_are_not_looked_at() -> None:
    assert looks(run(levy(50, shift_seed=0), 60)) == []


def test_with_another_prior_there_is_nothing_to_look_for() -> None:
    own = Anchored(surrogate=Surrogate(ard=True, prior="dimension-scaled"))
    noisy = levy(20, shift_seed=1, shift=0.5, noise=30.0)
    assert looks(run(noisy, 60, own)) == []


def test_looks_in_a_batch_are_judged_when_they_are_back() -> None:
    f = rastrigin(20, shift_seed=42, shift=0.5)
    opt = run(f, 20)
    while not judgements(opt):
        batch = [opt.ask() for _ in range(3)]
        assert len(opt.trials) < 120
        back = sum(t.state == "done" for t in opt.trials if t.info.get("family") == "look")
        assert back == len(LOOKS) or not judgements(opt)
        for trial in batch:
            opt.tell(trial, f(trial.x))
    assert len(looks(opt)) == len(LOOKS)
    assert len(judgements(opt)) == 1


def test_failed_looks_are_looks() -> None:
    f = rastrigin(20, shift_seed=42, shift=0.5)
    opt = Optimizer(f.box, Anchored(), seed=0, n_init=20)
    while not judgements(opt):
        trial = opt.ask()
        failed = trial.info.get("family") == "look"
        opt.tell(trial, None if failed else f(trial.x))
        assert len(opt.trials) < 120
    assert len(looks(opt)) == len(LOOKS)


def test_a_run_goes_on_the_same_after_looks(tmp_path: Path) -> None:
    f = rastrigin(20, shift_seed=42, shift=0.5)
    whole = run(f, 75)
    first = looks(whole)[0]
    assert judgements(whole)
    for stop in (first + 2, first + len(LOOKS), first + len(LOOKS) + 3):
        path = tmp_path / f"{stop}.db"
        run(f, stop, journal=path).close()
        with Optimizer(f.box, Anchored(), seed=0, n_init=20, journal=path) as again:
            points = []
            for _ in range(5):
                trial = again.ask()
                again.tell(trial, f(trial.x))
                points.append(trial.x)
        expected = [t.x for t in whole.trials[stop : stop + 5]]
        np.testing.assert_array_equal(points, expected)


# --- the fit -------------------------------------------------------------------------------


def rippled() -> tuple[Host, Host]:
    """A bowl with ripples at points far apart, and at some close to one of them."""
    rng = np.random.default_rng(0)
    D = 10
    X = rng.uniform(-1.0, 1.0, (50, D))
    close = X[0] + np.geomspace(0.1, 0.01, 12)[:, None] * rng.standard_normal((12, D))
    X = np.concatenate([X, close])
    y = -np.sum(X * X, axis=1) - 0.6 * np.sum(np.cos(30.0 * X), axis=1)
    return X, (y - y.mean()) / y.std()


def log_posterior(X: Host, u: Host, hyper: Any) -> float:
    theta = np.log([*hyper.lengthscale, hyper.amplitude, hyper.noise])
    return float(LogPosterior(KERNELS["matern52"], X, u, None, shrunk(X.shape[1])).value(theta))


def test_what_looks_show() -> None:
    quiet, loud = (replace(make_hyper(D=2), amplitude=1.0, noise=v) for v in (1e-4, 0.2))
    assert judge(loud, loud) == "noise"
    assert judge(loud, quiet) == "ripples"
    assert judge(quiet, quiet) == "nothing"


def test_ripples_are_taken_where_they_lack_little() -> None:
    X, u = rippled()
    D = X.shape[1]
    surrogate = Surrogate(ard=True, prior="shrunk")
    smooth = Surrogate(ard=True, prior="shrunk-noisy").fit(X, u)
    usual = surrogate.fit(X, u, smooth)
    best = surrogate.fit(X, u, smooth, ripples=0.0)
    lenient = surrogate.fit(X, u, smooth, ripples=1e6)
    assert log_posterior(X, u, best) >= log_posterior(X, u, usual) - 1e-6
    assert lenient.noise < QUIET * lenient.amplitude
    assert np.median(lenient.lengthscale) < 0.25 * np.sqrt(D)
    strict = surrogate.fit(X, u, smooth, ripples=-1e6)
    np.testing.assert_array_equal(strict.lengthscale, usual.lengthscale)


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_not_taken_for_ripples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (50, 10))
    close = X[0] + np.geomspace(0.1, 0.01, 6)[:, None] * rng.standard_normal((6, 10))
    X = np.concatenate([X, close])
    y = -np.sum(X * X, axis=1) + 0.8 * rng.standard_normal(len(X))
    u = (y - y.mean()) / y.std()
    surrogate = Surrogate(ard=True, prior="shrunk")
    smooth = Surrogate(ard=True, prior="shrunk-noisy").fit(X, u)
    judged = surrogate.fit(X, u, smooth, ripples=ALLOWED)
    assert judged.noise > QUIET
