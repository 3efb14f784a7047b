"""Attempts of Anchored: when one is over, what the next one begins with and knows, their turns."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import bowl, make_hyper
from transect import Anchored, Optimizer, Surrogate
from transect._array import Host
from transect.problems import rastrigin
from transect.strategies import attempts
from transect.strategies.attempts import (
    EVERYTHING,
    LITTLE,
    PATIENCE,
    POINTS,
    REDRAWN,
    Attempt,
    is_over,
    known_to,
    noise_share,
    to_begin,
)
from transect.strategies.protocol import History

KNOWN = Surrogate(known=(2.0, 1.0, 1e-4))
CUBE = [(-1.0, 1.0)] * 6


def run(strategy: Anchored, steps: int, **options: Any) -> Optimizer:
    opt = Optimizer(CUBE, strategy, seed=0, n_init=5, **options)
    for _ in range(steps):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    return opt


def told(y: Host, own: int, D: int = 3) -> History:
    """Values y (n,), the last ``own`` of which the first attempt asked for."""
    infos: list[dict[str, int]] = [{}] * (len(y) - own) + [{"attempt": 1}] * own
    return History(np.zeros((len(y), D)), y, np.empty((0, D)), infos)


@given(
    scale=st.sampled_from([1e-300, 1.0, 1e307]),
    gain=st.sampled_from([0.0, 0.5, 2.0, 100.0]),
    given_points=st.integers(20, 500),
    seed=st.integers(0, 100),
)
@settings(max_examples=50, deadline=None)
def test_an_attempt_is_over_when_it_gains_nothing(
    scale: float, gain: float, given_points: int, seed: int
) -> None:
    """``gain``: of the last suggestions, in units of the least that counts."""
    y = np.random.default_rng(seed).uniform(-1.0, 0.0, given_points + 2 * PATIENCE)
    y[given_points + 3] = best = 1.0
    least = LITTLE * (best - np.median(y[:POINTS]))
    y[-PATIENCE + 5] = best + gain * least
    y[-PATIENCE - 5] = np.nan
    history = told(scale * y, 2 * PATIENCE)
    assert is_over(Attempt(1), history, 0.0, math.inf) == (gain < 1.0)
    assert not is_over(Attempt(1), told(scale * y, 2 * PATIENCE - 1), 0.0, math.inf)
    assert not is_over(Attempt(2), history, 0.0, math.inf)
    for left in (2 * PATIENCE, 2 * PATIENCE - 1):
        assert is_over(Attempt(1), history, 0.0, left) == (gain < 1.0 and left >= 2 * PATIENCE)


def test_an_attempt_has_more_time_in_many_dimensions() -> None:
    y = np.zeros(2 * PATIENCE + 20)
    y[20] = 1.0
    assert is_over(Attempt(1), told(y, 2 * PATIENCE, D=2 * PATIENCE), 0.0, math.inf)
    assert not is_over(Attempt(1), told(y, 2 * PATIENCE, D=2 * PATIENCE + 2), 0.0, math.inf)


def test_where_the_best_value_may_be_luck_no_attempt_is_over() -> None:
    y = np.zeros(2 * PATIENCE + 20)
    y[20] = 1.0
    for noise, over in ((0.19, True), (0.21, False)):
        assert is_over(Attempt(1), told(y, 2 * PATIENCE), noise, math.inf) == over


@pytest.mark.parametrize(("amplitude", "share"), [(0.3, 0.25), (0.9, 0.1), (5.0, 0.1)])
def test_noise_counts_by_the_variance_seen_or_by_the_models(amplitude: float, share: float) -> None:
    hyper = replace(make_hyper(noise=0.1), amplitude=amplitude)
    assert noise_share(hyper, standardised=True) == pytest.approx(share)
    assert noise_share(hyper, standardised=False) == pytest.approx(0.1 / (0.1 + amplitude))


def test_no_attempt_begins_in_a_run_that_is_mostly_noise() -> None:
    """Far from the data its model expects much more than was seen: noise is little of that."""
    rng = np.random.default_rng(0)
    opt = Optimizer([(-2.0, 2.0)] * 3, seed=0, max_evals=800)
    for _ in range(420):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x) + 2.0 * rng.standard_normal())
    assert {t.info.get("attempt", 1) for t in opt.trials} == {1}


def test_an_attempt_in_which_all_failed_goes_on() -> None:
    y = np.full(2 * PATIENCE + 20, np.nan)
    assert not is_over(Attempt(1), told(y, 2 * PATIENCE), 0.0, math.inf)
    y[-1] = 1.0
    assert not is_over(Attempt(1), told(y, 2 * PATIENCE), 0.0, math.inf)
    y[30:60] = np.linspace(0.0, 1.0, 30)  # later than the points it began with
    assert is_over(Attempt(1), told(y, 2 * PATIENCE), 0.0, math.inf)


def test_a_better_point_of_the_users_ends_no_attempt() -> None:
    y = np.arange(2.0 * PATIENCE + 21)
    history = told(y, 2 * PATIENCE)
    for value in (y[-1] + 1e6, y[0]):
        known = replace(
            history, X=np.zeros((len(y) + 1, 3)), y=np.append(y, value), infos=[*history.infos, {}]
        )
        assert not is_over(Attempt(1), known, 0.0, math.inf)


@given(D=st.integers(1, 300), seed=st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_an_attempt_begins_next_to_the_best_point(D: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    best = rng.uniform(-1.0, 1.0, D)
    points = np.array([to_begin(Attempt(2), best, 0, rng)[0] for _ in range(200)])
    redrawn = points != best
    assert np.all(np.abs(points) <= 1.0)
    assert np.all(np.any(redrawn, axis=1))
    share = REDRAWN + (1.0 - REDRAWN) / D
    assert np.mean(redrawn) == pytest.approx(share, abs=6.0 * math.sqrt(share / (200 * D)))


def test_what_an_attempt_knows() -> None:
    of: list[int | None] = [None, 1, 1, 2, 1, None, 2, 3, None]
    infos = [{} if a is None else {"attempt": a} for a in of]
    history = History(
        np.arange(9.0)[:, None], np.arange(9.0), np.array([[9.0], [10.0]]), infos, [{}, infos[3]]
    )
    for attempt, rows, flying in (
        (EVERYTHING, [*range(9)], [9, 10]),
        (Attempt(1), [0, 1, 2, 4, 5, 8], [9, 10]),
        (Attempt(2), [3, 5, 6, 8], [9, 10]),
        (Attempt(3, close=True), [6, 7, 8], [9, 10]),
        (Attempt(4), [], [9, 10]),
    ):
        known = known_to(attempt, history)
        assert known.y.tolist() == known.X[:, 0].tolist() == rows
        assert known.pending[:, 0].tolist() == flying
        assert list(known.infos) == [infos[i] for i in rows]
    only = History(history.X[:3], history.y[:3], history.pending[:1], infos[:3], [{}])
    assert known_to(Attempt(1), only) is only
    assert len(known_to(Attempt(2), only).y) == 0


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "PATIENCE", 8)
    monkeypatch.setattr(attempts, "POINTS", 4)


@pytest.mark.usefixtures("impatient")
def test_a_run_begins_anew_where_it_gets_on_no_more() -> None:
    opt = run(Anchored(insurance=0.125), 100)
    trials = opt.trials
    of = [t.info.get("attempt", 1) for t in trials]
    assert max(of) >= 3
    for attempt in range(2, max(of) + 1):
        first = of.index(attempt)
        before = [bowl(t.x) for t in trials[:first] if t.info.get("attempt", 1) == attempt - 1]
        gained = np.median(before[:4]) - min(before)
        assert min(before[:-8]) - min(before) < LITTLE * gained
        own = [t for t in trials if t.info.get("attempt") == attempt]
        assert [t.info["family"] == "restart" for t in own[:4]].count(True) >= 3
        assert all(t.info["family"] != "restart" for t in own[4:])


@pytest.mark.usefixtures("impatient")
def test_an_attempt_goes_by_its_own_points_and_insured_steps_by_all() -> None:
    trials = run(Anchored(insurance=0.125), 100).trials
    of = [t.info.get("attempt", 1) for t in trials]
    assert max(of) >= 3
    for i, t in enumerate(trials[5:], start=5):
        if t.info["family"] != "restart":
            first = of.index(of[i]) if of[i] > 1 else 0
            known = i if t.info["insured"] else of[:i].count(of[i]) + of[first:i].count(0)
            assert t.info["observations"] == known


@pytest.mark.usefixtures("impatient")
def test_the_attempt_with_the_best_point_goes_on_in_turn() -> None:
    trials = run(Anchored(insurance=0.0), 100).trials
    of = [t.info.get("attempt", 1) for t in trials]
    for i, t in enumerate(trials[5:], start=5):
        best = of[int(np.argmin([bowl(other.x) for other in trials[:i]]))]
        latest = max(of[: i + 1])
        new = of[:i].count(latest) < 4 + 5 * (latest == 1)
        assert of[i] == (latest if new or t.info["t"] % 2 else best)
    assert of[of.index(2) :].count(1) > 5


@pytest.mark.usefixtures("impatient")
def test_no_attempt_begins_that_would_be_too_short() -> None:
    of = [t.info["attempt"] for t in run(Anchored(), 80, max_evals=36).trials[5:]]
    assert max(of) == 1
    of = [t.info["attempt"] for t in run(Anchored(), 80, max_evals=60).trials[5:]]
    assert max(of) == 2
    assert of.index(2) <= 60 - 5 - 2 * 8


@pytest.mark.usefixtures("impatient")
def test_insured_steps_are_by_all_evaluations_in_every_attempt() -> None:
    opt = run(Anchored(insurance=0.25, surrogate=KNOWN), 60)
    infos = [t.info for t in opt.trials[5:]]
    assert max(info["attempt"] for info in infos) > 1
    insured = [info for info in infos if info["insured"]]
    assert all(info["observations"] == info["told"] for info in insured)
    assert {info["attempt"] for info in insured} == {0, 1}  # none's, once there are several
    assert opt.guarantee.holds


@pytest.mark.usefixtures("impatient")
def test_points_in_flight_when_an_attempt_ends() -> None:
    opt = Optimizer(CUBE, Anchored(), seed=0, n_init=5)
    flying = [opt.ask() for _ in range(3)]
    for _ in range(60):
        opt.tell(flying[0], bowl(flying[0].x))
        flying = [*flying[1:], opt.ask()]
    of = [t.info.get("attempt", 1) for t in opt.trials]
    assert max(of) > 1
    for t in opt.trials[5:]:
        if "observations" in t.info and not t.info["insured"]:
            asked = of[: t.id].count(of[t.id])
            assert asked - 3 < t.info["observations"] <= asked


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("works", [True, False])
def test_an_attempt_of_which_nothing_is_known_yet(works: bool) -> None:
    """More points in flight than it begins with, or all of them failures."""
    opt = Optimizer(CUBE, Anchored(insurance=0.0), seed=0, n_init=5)
    flying = [opt.ask() for _ in range(12)]
    for _ in range(80):
        first, *flying = flying
        fails = not works and first.info.get("family") == "restart"
        opt.tell(first, math.nan if fails else bowl(first.x))
        flying.append(opt.ask())
    families = [t.info.get("family") for t in opt.trials if t.info.get("attempt", 1) > 1]
    assert families.count("restart") > 4
    assert ("moves" in families) == works


@pytest.mark.usefixtures("impatient")
def test_turns_are_taken_by_steps_that_are_not_insured() -> None:
    infos = [t.info for t in run(Anchored(insurance=0.5), 120).trials[5:]]
    after = infos[[info["attempt"] for info in infos].index(2) :]
    assert 1 in {info["attempt"] for info in after if not info["insured"]}


@pytest.mark.usefixtures("impatient")
def test_points_told_use_up_no_evaluations() -> None:
    opt = Optimizer(CUBE, Anchored(), seed=0, n_init=5, max_evals=60)
    for x in np.random.default_rng(0).uniform(-1.0, 1.0, (50, 6)):
        opt.tell(x, bowl(x))
    for _ in range(60):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x))
    assert max(t.info.get("attempt", 1) for t in opt.trials) >= 2


@pytest.mark.usefixtures("impatient")
def test_values_told_at_once_are_no_attempt() -> None:
    opt = Optimizer(CUBE, Anchored(), seed=0, n_init=5)
    for x in np.random.default_rng(0).uniform(-1.0, 1.0, (100, 6)):
        opt.tell(x, bowl(x))
    for _ in range(15):
        trial = opt.ask()
        assert trial.info["attempt"] == 1
        opt.tell(trial, bowl(trial.x))


# --- attempts close to the best point -------------------------------------------------------------


@pytest.fixture
def wary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LOST", 12)
    monkeypatch.setattr(attempts, "IN_VAIN", 8)


def noisy_run(f: Any, steps: int = 150) -> Optimizer:
    box = f.box if hasattr(f, "box") else [(-1.0, 1.0)] * 12
    opt = Optimizer(box, Anchored(0.0), seed=1, n_init=20, max_evals=200)
    for _ in range(steps):
        trial = opt.ask()
        opt.tell(trial, f(trial.x))
    return opt


@given(
    D=st.integers(1, 60),
    n=st.integers(1, 90),
    failed=st.integers(0, 60),
    noise=st.sampled_from([0.01, 0.12, 0.5]),
)
@settings(max_examples=50, deadline=None)
def test_lost_is_who_only_fails_where_noise_is_seen(
    D: int, n: int, failed: int, noise: float
) -> None:
    n = max(n, failed + 1)
    y = np.append(np.arange(n - failed, dtype=np.float64), -np.ones(failed))
    infos = [{"family": "moves", "insured": False}] * n
    known = History(np.zeros((n, D)), y, np.empty((0, D)), infos)
    hyper = replace(make_hyper(noise=noise), amplitude=1.0 - noise)
    lost = n >= D and noise > 0.1 and failed >= attempts.LOST
    assert attempts.is_lost(known, hyper) == lost


def test_looks_come_closer() -> None:
    rng = np.random.default_rng(0)
    best = np.full(400, 0.2)
    for asked in range(attempts.LOOKS):
        x, name = to_begin(Attempt(2, close=True), best, asked, rng)
        assert name == "look"
        assert np.std(x - best) == pytest.approx(attempts.LOOK / 2**asked, rel=0.2)
    assert np.all(np.abs(to_begin(Attempt(2, close=True), np.ones(400), 0, rng)[0]) <= 1.0)


@pytest.mark.usefixtures("wary")
def test_where_noise_may_be_ripples_an_attempt_begins_close_to_the_best_point() -> None:
    """Rastrigin's function, whose ripples are most of what there is to see."""
    gains = []
    for seed in (0, 2, 4, 5):
        f = rastrigin(12, shift=0.8, shift_seed=seed)
        trials = noisy_run(f, 130).trials
        of = [t.info.get("attempt", 1) for t in trials]
        first = next((i for i, t in enumerate(trials) if t.info.get("close")), None)
        if first is None:
            continue
        best = min(trials[:first], key=lambda t: f(t.x))
        own = [t for t in trials if t.info.get("attempt") == of[first]]
        families = [t.info["family"] for t in own]
        assert families[: attempts.LOOKS] == ["look"] * attempts.LOOKS
        assert "look" not in families[attempts.LOOKS :]
        assert all(np.max(np.abs(t.x - best.x)) < 0.5 * 5.12 for t in own[: attempts.LOOKS])
        for i, t in enumerate(own[attempts.LOOKS :], start=attempts.LOOKS):
            assert t.info["observations"] == i + 1  # its own points, and the best one
        gains.append(min(f(t.x) for t in own) / f(best.x))
    assert len(gains) >= 2
    assert np.median(gains) < 0.6


@pytest.mark.usefixtures("wary")
def test_such_an_attempt_gives_up_and_no_other_looks_at_the_same_point() -> None:
    rng = np.random.default_rng(0)
    trials = noisy_run(lambda x: 1.0 + float(rng.standard_normal())).trials
    values = [math.inf if t.value is None else t.value for t in trials]
    of = [t.info.get("attempt", 1) for t in trials]
    assert max(of) > 1
    for attempt in range(2, max(of) + 1):
        first = of.index(attempt)
        earlier = of.index(attempt - 1) if attempt > 2 else 0
        assert int(np.argmin(values[:first])) >= earlier  # somewhere new
        own = [i for i, a in enumerate(of) if a == attempt]
        climbs = own[attempts.LOOKS :]
        least = np.minimum.accumulate([values[i] for i in [int(np.argmin(values[:first])), *own]])
        won = np.flatnonzero(np.diff(least) < 0.0)
        until = attempts.LOOKS + attempts.IN_VAIN + (1 + won[-1] if len(won) else 0)
        assert len(climbs) <= until


@pytest.mark.usefixtures("wary")
def test_an_attempt_whose_looks_all_fail_gives_up() -> None:
    f = rastrigin(12, shift=0.8, shift_seed=2)
    opt = Optimizer(f.box, Anchored(0.0), seed=1, n_init=20, max_evals=200)
    for _ in range(150):
        trial = opt.ask()
        opt.tell(trial, None if trial.info.get("family") == "look" else f(trial.x))
    of = [t.info.get("attempt", 1) for t in opt.trials]
    assert max(of) > 1
    for attempt in range(2, max(of) + 1):
        asked = of.count(attempt)
        assert asked == attempts.IN_VAIN or (attempt == max(of) and asked < attempts.IN_VAIN)


@pytest.mark.usefixtures("wary")
def test_looks_with_many_points_in_flight() -> None:
    f = rastrigin(12, shift=0.8, shift_seed=2)
    opt = Optimizer(f.box, Anchored(0.0), seed=1, n_init=20, max_evals=200)
    flying = [opt.ask() for _ in range(12)]
    for _ in range(150):
        opt.tell(flying[0], f(flying[0].x))
        flying = [*flying[1:], opt.ask()]
    close = [t for t in opt.trials if t.info.get("close")]
    assert close
    first = close[0].info["attempt"]
    own = [t for t in close if t.info["attempt"] == first]
    looks = [t for t in own if t.info["family"] == "look"]
    assert len(looks) >= attempts.LOOKS
    for i, t in enumerate(own):
        if "observations" in t.info:
            assert i - 12 < t.info["observations"] - 1 <= i  # and the best point


def test_without_noise_nobody_looks_close() -> None:
    assert not any(t.info.get("close") for t in noisy_run(bowl).trials)
