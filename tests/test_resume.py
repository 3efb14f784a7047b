"""A run that was interrupted goes on as if it had not been."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from transect import (
    GPUCB,
    MSUCB,
    REMBO,
    SRE,
    Anchored,
    DropoutUCB,
    HeSBO,
    LineBO,
    Optimizer,
    RandomSearch,
    Surrogate,
    minimize,
)
from transect.journal import Journal, read
from transect.strategies import Strategy, attempts

BOX = [(-2.0, 3.0)] * 7
EVALS, N_INIT = 72, 8  # more than a model is refitted for at every step

EVERY: list[Strategy] = [
    Anchored(),
    Anchored(insurance=0.3),
    GPUCB(beta="practical"),
    GPUCB(acquisition="log-ei", surrogate=Surrogate("rbf", True, "dimension-scaled")),
    MSUCB(d=3, alpha=1),
    DropoutUCB(d=3),
    LineBO(),
    SRE(d=3, m=2),
    REMBO(d=3, k=2),
    HeSBO(d=3),
    RandomSearch(),
]
every_strategy = pytest.mark.parametrize("strategy", EVERY, ids=lambda s: repr(s)[:24])


class Killed(BaseException):
    """Nobody catches it."""


class Objective:
    """A bowl with a hole, where it fails; ``Killed`` at the calls named."""

    def __init__(self, killed_at: tuple[int, ...] = ()) -> None:
        self.killed_at, self.points = killed_at, []  # type: ignore[var-annotated]

    def __call__(self, x: Any) -> float:
        self.points.append(x.copy())
        if len(self.points) in self.killed_at:
            raise Killed
        if x[0] > 2.5:
            raise RuntimeError("a hole")
        return float(np.sum(np.square(x - 0.3)) + np.sin(9.0 * x[1]))


def run(path: Path | None, strategy: Strategy, f: Any, evals: int = EVALS, **options: Any) -> Any:
    options = {"seed": 3, "n_init": N_INIT, "progress": False, **options}
    return minimize(f, BOX, evals, strategy, journal=path, **options)


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.x_iters, other.x_iters)
    np.testing.assert_array_equal(one.func_vals, other.func_vals)
    for a, b in zip(one.trials, other.trials, strict=True):
        assert (a.id, a.state, a.value, a.error) == (b.id, b.state, b.value, b.error)
        assert a.info.keys() == b.info.keys()
        for key in a.info.keys() - {"seconds"}:
            np.testing.assert_array_equal(a.info[key], b.info[key])


@every_strategy
def test_a_run_killed_now_and_then_is_the_run_that_was_not(
    strategy: Strategy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = run(tmp_path / "whole.db", strategy, Objective())
    f = Objective(killed_at=(1, 5, 9, 10, 23, 58, 66, 77))
    for _ in f.killed_at:
        with pytest.raises(Killed):
            run(tmp_path / "run.db", strategy, f)
    again = run(tmp_path / "run.db", strategy, f)
    same(again, whole)
    assert len(f.points) == EVALS + len(f.killed_at), "only what was in flight is evaluated again"
    assert "bit for bit" not in caplog.text


def killed_before(folder: Path, strategy: Strategy, trials: tuple[int, ...]) -> Any:
    """A run that is killed while it evaluates each of these, and taken up again."""
    f = Objective(killed_at=tuple(i + k for k, i in enumerate(trials, 1)))
    for _ in trials:
        with pytest.raises(Killed):
            run(folder / "run.db", strategy, f)
    return run(folder / "run.db", strategy, f)


def test_a_run_of_several_attempts_killed_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(attempts, "PATIENCE", 5)
    monkeypatch.setattr(attempts, "POINTS", 4)
    strategy = Anchored(insurance=0.1)
    whole = run(tmp_path / "whole.db", strategy, Objective())
    began = [i for i, t in enumerate(whole.trials) if t.info.get("family") == "restart"]
    assert len({whole.trials[i].info["attempt"] for i in began}) > 1
    # Before the first point of an attempt, after some, and in between at an insured step.
    insured = [i for i, t in enumerate(whole.trials) if t.info.get("insured") and i > began[0]]
    same(killed_before(tmp_path, strategy, (began[0], began[3], insured[0])), whole)
    assert "bit for bit" not in caplog.text


def test_a_run_with_looks_killed_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Attempts close to the best point: killed before, between and after their looks."""
    monkeypatch.setattr(attempts, "LOST", 5)
    monkeypatch.setattr(attempts, "IN_VAIN", 5)
    monkeypatch.setattr(attempts, "NOISY", 0.0)
    strategy = Anchored(insurance=0.1)
    whole = run(tmp_path / "whole.db", strategy, Objective())
    looks = [i for i, t in enumerate(whole.trials) if t.info.get("family") == "look"]
    assert len(looks) >= attempts.LOOKS
    last = looks[attempts.LOOKS - 1]
    same(killed_before(tmp_path, strategy, (looks[0], looks[2], last + 4)), whole)
    assert "bit for bit" not in caplog.text


def test_a_long_run_is_resumed_bit_for_bit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """From some 130 points on, factors come out otherwise on another number of threads."""

    def f(x: Any) -> float:
        return float(np.sum((x - 0.3) ** 2) + np.sum(np.cos(5.0 * x)))

    def stopped_at(evals: int) -> Any:
        def callback(result: Any) -> None:
            if result.nfev >= evals:
                raise StopIteration

        return callback

    options: dict[str, Any] = {"seed": 1, "progress": False}
    box = [(-1.0, 1.0)] * 20
    with threadpool_limits(2, user_api="blas"):  # as users have it
        whole = minimize(f, box, 160, callback=stopped_at(156), **options)
        for evals in (143, 150, 156):
            again = minimize(
                f, box, 160, callback=stopped_at(evals), journal=tmp_path / "1.db", **options
            )
    np.testing.assert_array_equal(again.x_iters, whole.x_iters)
    assert "bit for bit" not in caplog.text


@pytest.mark.parametrize("strategy", [Anchored(), GPUCB()], ids=["anchored", "gp-ucb"])
def test_a_run_of_one_variable_killed_now_and_then(strategy: Strategy, tmp_path: Path) -> None:
    """Where a length-scale for each coordinate is one for all of them."""

    def wave(x: Any) -> float:
        calls.append(float(x[0]))
        if len(calls) in killed_at:
            raise Killed
        return float(np.sin(9.0 * x[0]) + (x[0] - 0.3) ** 2)

    def whole_run(path: Path) -> Any:
        return minimize(
            wave, [(-1.0, 1.0)], 70, strategy, seed=0, n_init=N_INIT, journal=path, progress=False
        )

    calls: list[float] = []
    killed_at: tuple[int, ...] = ()
    whole = whole_run(tmp_path / "whole.db")
    calls.clear()
    killed_at = (12, 31, 44, 58, 66)
    for _ in killed_at:
        with pytest.raises(Killed):
            whole_run(tmp_path / "run.db")
    same(whole_run(tmp_path / "run.db"), whole)


@every_strategy
def test_one_suggestion_is_made_again_to_go_on(
    strategy: Strategy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are where what a strategy knows is not in the journal: on slices, MSUCB's screen."""
    f = Objective(killed_at=(60,))
    with pytest.raises(Killed):
        run(tmp_path / "run.db", strategy, f)
    made, suggest = 0, type(strategy).suggest

    def counted(*given: Any) -> Any:
        nonlocal made
        made += 1
        return suggest(*given)

    monkeypatch.setattr(type(strategy), "suggest", counted)
    run(tmp_path / "run.db", strategy, f, 61)
    remembers = hasattr(strategy, "recall") and getattr(strategy, "exact", True)
    assert remembers == (not isinstance(strategy, MSUCB | RandomSearch))
    assert made == 1 + (1 if remembers else 60 - N_INIT)


@every_strategy
def test_a_journal_changes_nothing(strategy: Strategy, tmp_path: Path) -> None:
    same(run(tmp_path / "run.db", strategy, Objective(), 30), run(None, strategy, Objective(), 30))


@every_strategy
def test_points_in_flight_and_told_in_any_order(strategy: Strategy, tmp_path: Path) -> None:
    """Three points in flight, values in a random order, the optimizer replaced at random."""

    def points(path: Path, replaced: float) -> list[Any]:
        options: dict[str, Any] = {"seed": 1, "n_init": 6, "max_evals": 40, "journal": path}
        rng, coins = np.random.default_rng(0), np.random.default_rng(1)
        f, opt = Objective(), Optimizer(BOX, strategy, **options)
        for _ in range(36):
            while len(opt.pending) < 3:
                opt.ask()
            if coins.random() < replaced:
                opt.close()
                opt = Optimizer(BOX, strategy, **options)
                assert opt.resumed
            trial = opt.pending[rng.integers(3)]
            try:
                opt.tell(trial, f(trial.x))
            except RuntimeError as error:
                opt.fail(trial, str(error))
        opt.close()
        return [trial.x for trial in opt.trials]

    often = points(tmp_path / "often.db", 0.2)
    np.testing.assert_array_equal(often, points(tmp_path / "never.db", 0.0))


def test_points_to_begin_with_are_not_begun_with_again(tmp_path: Path) -> None:
    given = np.linspace(-1.0, 1.0, 21).reshape(3, 7)
    f = Objective(killed_at=(2,))
    with pytest.raises(Killed):
        run(tmp_path / "run.db", Anchored(), f, 12, x0=given)
    again = run(tmp_path / "run.db", Anchored(), f, 12, x0=given)
    same(again, run(None, Anchored(), Objective(), 12, x0=given))
    told = run(tmp_path / "told.db", Anchored(), Objective(), 4, x0=given, y0=[3.0, 2.0, 1.0])
    more = run(tmp_path / "told.db", Anchored(), Objective(), 9, x0=given, y0=[3.0, 2.0, 1.0])
    assert (told.nfev, more.nfev, len(more.trials)) == (4, 9, 12)


GIVEN = np.linspace(-1.0, 1.0, 21).reshape(3, 7)
VALUES = [3.0, None, 1.0]


@pytest.mark.parametrize(
    ("begun", "now"),
    [
        ({}, {"x0": GIVEN}),
        ({}, {"x0": GIVEN, "y0": VALUES}),
        ({"x0": GIVEN}, {"x0": GIVEN[:2]}),
        ({"x0": GIVEN}, {"x0": -GIVEN}),
        ({"x0": GIVEN}, {"x0": GIVEN, "y0": VALUES}),
        ({"x0": GIVEN, "y0": VALUES}, {"x0": GIVEN}),
        ({"x0": GIVEN, "y0": VALUES}, {"x0": -GIVEN, "y0": VALUES}),
        ({"x0": GIVEN, "y0": VALUES}, {"x0": GIVEN, "y0": [3.0, 2.0, 1.0]}),
        ({"x0": GIVEN, "y0": VALUES}, {"x0": GIVEN, "y0": [3.0, None, 1.5]}),
        ({"x0": GIVEN, "y0": VALUES}, {"x0": GIVEN[:2], "y0": VALUES[:2]}),
        ({"x0": GIVEN[:2], "y0": VALUES[:2]}, {"x0": GIVEN, "y0": VALUES}),
    ],
)
@pytest.mark.parametrize("evals", [2, 5])
def test_other_points_to_begin_with_are_refused(
    tmp_path: Path, begun: dict[str, Any], now: dict[str, Any], evals: int
) -> None:
    """Also where some of them are still to be evaluated; the same ones, or none, are fine."""
    path = tmp_path / "run.db"
    first = run(path, GPUCB(), Objective(), evals, **begun)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"x0 and y0 are not what .*run\.db was begun with"):
        run(path, GPUCB(), Objective(), 7, **now)
    assert path.read_bytes() == before
    for same_again in ({}, begun):
        same(run(path, GPUCB(), Objective(), evals, **same_again), first)


def test_a_mistake_in_the_points_to_begin_with_begins_no_journal(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="y0 must have one value per point"):
        run(tmp_path / "run.db", GPUCB(), Objective(), 5, x0=GIVEN, y0=[1.0])
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_ended_among_the_points_to_begin_with(tmp_path: Path) -> None:
    """After the file was made and before they were queued; or when some of them were told."""
    given, values = np.linspace(-1.0, 1.0, 21).reshape(3, 7), [3.0, 2.0, 1.0]
    options: dict[str, Any] = {"seed": 3, "n_init": N_INIT, "max_evals": 12}
    with Optimizer(BOX, Anchored(), **options, journal=tmp_path / "begun.db"):
        pass
    begun = run(tmp_path / "begun.db", Anchored(), Objective(), 12, x0=given)
    same(begun, run(None, Anchored(), Objective(), 12, x0=given))
    with Optimizer(BOX, Anchored(), **options, journal=tmp_path / "told.db") as opt:
        opt.tell(given[0], values[0])
    told = run(tmp_path / "told.db", Anchored(), Objective(), 12, x0=given, y0=values)
    same(told, run(None, Anchored(), Objective(), 12, x0=given, y0=values))


def test_a_finished_run_is_finished_and_can_be_made_longer(tmp_path: Path) -> None:
    f = Objective()
    first = run(tmp_path / "run.db", GPUCB(), f, 12)
    same(run(tmp_path / "run.db", GPUCB(), f, 12), first)
    assert len(f.points) == 12
    longer = run(tmp_path / "run.db", GPUCB(), f, 15)
    np.testing.assert_array_equal(longer.x_iters[:12], first.x_iters)
    assert (longer.nfev, len(f.points)) == (15, 15)


def test_a_short_run_can_be_made_longer_than_its_initial_design(tmp_path: Path) -> None:
    """By default that is half of a short run's evaluations."""
    first = run(tmp_path / "run.db", GPUCB(), Objective(), 8, n_init=None)
    longer = run(tmp_path / "run.db", GPUCB(), Objective(), 20, n_init=None)
    initial = [t.info["source"] == "initial" for t in longer.trials]
    assert sum(initial) == sum(t.info["source"] == "initial" for t in first.trials) == 4
    assert read(tmp_path / "run.db").settings["max_evals"] == 20


@pytest.mark.parametrize("D", [30, 1100])
def test_threads_change_nothing(D: int) -> None:
    """Sums are cut in the same places on any number of cores."""
    code = (
        "import hashlib, numpy as np, transect\n"
        "f = lambda x: float(np.sum((x - 0.3) ** 2) + np.sin(9.0 * x[0]))\n"
        f"r = transect.minimize(f, [(-1.0, 1.0)] * {D}, 24, seed=0, n_init=8, progress=False)\n"
        "print(hashlib.sha256(r.x_iters.tobytes()).hexdigest())"
    )
    found = set()
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, env=environment, capture_output=True
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_a_seed_that_was_not_given_is_kept(tmp_path: Path) -> None:
    f = Objective(killed_at=(14,))
    with pytest.raises(Killed):
        run(tmp_path / "run.db", GPUCB(), f, 20, seed=None)
    with pytest.raises(ValueError, match="seed None, not 0"):
        run(tmp_path / "run.db", GPUCB(), f, 20, seed=0)
    again = run(tmp_path / "run.db", GPUCB(), f, 20, seed=None)
    drawn = [t.x for t in again.trials]
    assert len({x.tobytes() for x in drawn}) == 20, "no point is asked for twice"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 4}, "seed 3, not 4"),
        ({"n_init": 9}, "n_init 8, not 9"),
        ({"strategy": GPUCB(beta=2.0)}, r"strategy 'GPUCB\(\)', not 'GPUCB\(beta=2.0\)'"),
    ],
)
def test_the_journal_of_another_run(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "run.db"
    run(path, GPUCB(), Objective(), 9)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=said):
        run(path, **{"strategy": GPUCB(), "f": Objective(), **change})
    with pytest.raises(ValueError, match=r"bounds\[0\] \[-2.0, 3.0\], not \[-2.0, 2.0\]"):
        minimize(Objective(), [(-2.0, 2.0)] * 7, 9, GPUCB(), n_init=8, journal=path)
    assert path.read_bytes() == before


def test_with_a_time_limit_a_run_goes_on_from_what_is_remembered(tmp_path: Path) -> None:
    for strategy in (Anchored(), MSUCB(d=3, alpha=1)):
        path = tmp_path / f"{strategy.name}.db"
        f = Objective(killed_at=(30,))
        with pytest.raises(Killed):
            run(path, strategy, f, suggest_time=0.05)
        again = run(path, strategy, f, suggest_time=0.05)
        steps = [t.info["t"] for t in again.trials if "t" in t.info]
        assert steps == list(range(1, EVALS - N_INIT + 1))


def test_where_the_machine_rounds_otherwise_a_run_goes_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "run.db"
    f = Objective(killed_at=(20,))
    with pytest.raises(Killed):
        run(path, Anchored(), f)
    monkeypatch.setattr("transect.anchors.SHORT", 9)  # another version
    again = run(path, Anchored(), f)
    assert again.nfev == EVALS
    assert caplog.text.count("not bit for bit") == 1


def test_sre_divides_up_other_evaluations_when_there_are_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(tmp_path / "run.db", SRE(d=3), Objective(), 30)
    assert run(tmp_path / "run.db", SRE(d=3), Objective(), 60).nfev == 60
    assert "max_evals was 30, on which suggestions may depend" in caplog.text


def test_fewer_evaluations_than_were_made(tmp_path: Path) -> None:
    first = run(tmp_path / "run.db", GPUCB(), Objective(), 12)
    fewer = run(tmp_path / "run.db", GPUCB(), Objective(), 10)
    assert fewer.message == "made 12 evaluations before, and max_evals is 10"
    np.testing.assert_array_equal(fewer.x_iters, first.x_iters)


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder, not a journal"):
        Optimizer(BOX, journal=tmp_path)


@pytest.mark.parametrize("strategy", [Anchored(), MSUCB(d=3, alpha=1)], ids=["anchored", "ms-ucb"])
def test_what_cannot_be_written_has_not_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: Strategy
) -> None:
    """A full disk, for one: asked or told again later, the run is as if there had been room."""
    options: dict[str, Any] = {"seed": 1, "n_init": 6}
    coins, fails = np.random.default_rng(0), 0

    def full(self: Journal, *_: Any, **__: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    def retried(call: Any, name: str) -> Any:
        nonlocal fails
        with monkeypatch.context() as patch:
            if coins.random() < 0.3:
                patch.setattr(Journal, name, full)
                with pytest.raises(sqlite3.OperationalError):
                    call()
                fails += 1
        return call()

    opt, free = (Optimizer(BOX, strategy, **options, journal=p) for p in (tmp_path / "1.db", None))
    for i in range(24):
        trial = retried(opt.ask, "asked")
        np.testing.assert_array_equal(trial.x, free.ask().x)
        value = float(np.sum(trial.x))
        retried(lambda t=trial, v=value: opt.tell(t, v), "told")
        free.tell(trial, value)
        if i % 8 == 0:
            elsewhere = np.full(7, 0.1 * i)
            retried(lambda x=elsewhere, v=i: opt.tell(x, float(v)), "told_at_once")
            free.tell(elsewhere, float(i))
    assert fails > 5
    assert len(read(tmp_path / "1.db").trials) == len(free.trials)
    opt.close()
    with Optimizer(BOX, strategy, **options, journal=tmp_path / "1.db") as again:
        np.testing.assert_array_equal(again.ask().x, free.ask().x)


def test_after_it_is_closed_nothing_is_lost_in_silence(tmp_path: Path) -> None:
    opt = Optimizer(BOX, "random", seed=0, journal=tmp_path / "run.db")
    trial = opt.ask()
    opt.close()
    opt.close()
    for call in (opt.ask, lambda: opt.tell(trial, 1.0), lambda: opt.suggest_first([0.0] * 7)):
        with pytest.raises(ValueError, match=r"run\.db was closed"):
            call()
    assert [t.state for t in opt.trials] == ["pending"]


def _hold(path: str, ready: Any, done: Any) -> None:
    with Optimizer(BOX, "random", journal=path):
        ready.set()
        done.wait(60)


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(path), ready, done))
    other.start()
    try:
        assert ready.wait(60)
        with pytest.raises(OSError, match=rf"run\.db is in use by process {other.pid} on "):
            Optimizer(BOX, "random", journal=path)
        assert read(path).trials == ()  # reading is for all
    finally:
        done.set()
        other.join(60)
    Optimizer(BOX, "random", journal=path).close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.db"]


def test_one_process_cannot_have_it_twice_either(tmp_path: Path) -> None:
    with (
        Optimizer(BOX, "random", journal=tmp_path / "run.db"),
        pytest.raises(OSError, match="in use by process"),
    ):
        Optimizer(BOX, "random", journal=tmp_path / "run.db")


# --- killed by the system --------------------------------------------------------------------

SCRIPT = """
import sys, time
import numpy as np
from transect import minimize
journal, calls = sys.argv[1:]
print("begun", flush=True)
def f(x):
    with open(calls, "a") as file:
        file.write(x.tobytes().hex() + "\\n")
    time.sleep(0.002)
    if x[0] > 2.5:
        raise RuntimeError("a hole")
    return float(np.sum(np.square(x - 0.3)))
minimize(f, [(-2.0, 3.0)] * 7, 60, seed=5, n_init=10, journal=journal, progress=False)
"""


def killed_and_resumed(folder: Path, kills: int, seed: int) -> None:
    """Runs the script until it has been killed so often; then to its end, and compares."""
    script, journal, calls = folder / "script.py", folder / "run.db", folder / "calls"
    script.write_text(SCRIPT)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(script)]
    subprocess.run([*command, folder / "whole.db", folder / "once"], check=True, env=environment)
    rng, killed = np.random.default_rng(seed), 0
    for _ in range(20 * kills):
        process = subprocess.Popen(
            [*command, journal, calls], stdout=subprocess.PIPE, env=environment
        )
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(rng.uniform(0.0, 0.25) if killed < kills else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            continue
        finally:
            process.stdout.close()
        assert process.returncode == 0
        break
    assert killed, "it was over before it could be killed"
    whole, again = read(folder / "whole.db"), read(journal)
    np.testing.assert_array_equal(
        [t.x for t in again.trials], [t.x for t in whole.trials], strict=True
    )
    assert [t.value for t in again.trials] == [t.value for t in whole.trials]
    made = calls.read_text().split()
    assert len(set(made)) == 60, "nothing else is evaluated"
    assert len(made) <= 60 + killed, "nothing twice but what was in flight"


def test_killed_at_any_instant(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, kills=6, seed=0)


@pytest.mark.long
def test_killed_at_a_hundred_instants(tmp_path: Path) -> None:
    for seed in range(10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        killed_and_resumed(folder, kills=10, seed=seed + 1)
