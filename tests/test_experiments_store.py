"""Results on disk: exact, atomic, and never mistaken for those of another task."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transect.experiments import store as store_module
from transect.experiments.pack import LEVELS, pack, unpack
from transect.experiments.store import Store
from transect.experiments.table import Cell, Table
from transect.experiments.task import ProblemSpec, Result, Task
from transect.strategies import GPUCB, RandomSearch

PROBLEM = ProblemSpec("ackley", 20)


def task(seed: int = 0, **changes: Any) -> Task:
    return replace(Task("random", RandomSearch(), PROBLEM, seed, evals=4), **changes)


def result(of: Task, seed: int = 0) -> Result:
    rng = np.random.default_rng(seed)
    values = rng.uniform(size=4) / 3.0  # (4,), with all their digits
    values[1] = np.nan
    return Result(of.key, values, -1.0 / 3.0, np.array([10, 20]), rng.uniform(size=2))


def path_of(store: Store, of: Task) -> Path:
    return store.folder / f"{of.key}.json"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_a_result_comes_back_exactly_failures_included(store: Store) -> None:
    saved = result(task())
    store.save(task(), saved)
    loaded = store.load(task())
    assert loaded is not None
    np.testing.assert_array_equal(loaded.values, saved.values)
    np.testing.assert_array_equal(loaded.evaluations, saved.evaluations)
    np.testing.assert_array_equal(loaded.seconds, saved.seconds)
    assert (loaded.key, loaded.least) == (saved.key, saved.least)
    assert path_of(store, task()) == store.folder / "ackley-20" / "random" / "000.json"


def test_only_tasks_without_a_result_are_missing_each_once(store: Store) -> None:
    assert store.load(task()) is None
    store.save(task(), result(task()))
    assert store.missing([task(0), task(1), task(1)]) == [task(1)]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_nothing_and_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class FullFile:
        def __init__(self, path: Path, mode: str) -> None:
            path.touch()

        def __enter__(self) -> FullFile:
            return self

        def __exit__(self, *_: object) -> None:
            full()

        write = full

    if step == "write":
        monkeypatch.setattr(store_module, "open", FullFile, raising=False)
    else:
        monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match=r"No space left on device; nothing was written.*000\.json"):
        store.save(task(), result(task()))
    monkeypatch.undo()
    assert [path for path in store.folder.rglob("*") if path.is_file()] == []
    assert store.missing([task()]) == [task()]


def test_an_interrupted_write_keeps_what_was_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    store.save(task(), result(task(), seed=1))
    before = path_of(store, task()).read_bytes()
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.save(task(), result(task(), seed=2))
    assert path_of(store, task()).read_bytes() == before
    assert list(path_of(store, task()).parent.iterdir()) == [path_of(store, task())]


@pytest.mark.parametrize("keep", [0, 1, 30, -1])
def test_a_cut_off_file_is_set_aside(
    store: Store, caplog: pytest.LogCaptureFixture, keep: int
) -> None:
    store.save(task(), result(task()))
    path = path_of(store, task())
    path.write_bytes(path.read_bytes()[:keep])
    assert store.missing([task()]) == [task()]
    assert not path.exists()
    assert path.with_name("000.json.set-aside-1").exists()
    assert "000.json: set aside, to be done again (cut off or damaged)" in caplog.text
    store.save(task(), result(task()))
    assert store.missing([task()]) == []


def test_any_changed_digit_is_noticed_and_files_set_aside_are_kept(store: Store) -> None:
    for number in (1, 2):
        store.save(task(), result(task()))
        path = path_of(store, task())
        record = json.loads(path.read_text())
        record["values"][0] += 1e-12
        path.write_text(json.dumps(record))
        with pytest.raises(ValueError, match="checksum"):
            store.load(task())
        store.missing([task()])
        assert path.with_name(f"000.json.set-aside-{number}").exists()


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"format": 99}', "\x00\xff", "nonsense"])
def test_foreign_files_are_set_aside(store: Store, text: str) -> None:
    path = path_of(store, task())
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("latin-1"))
    assert store.missing([task()]) == [task()]
    assert not path.exists()


def test_results_of_another_version_are_done_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as other:
        other.setattr(store_module, "__version__", "0.0.1")
        store.save(task(), result(task()))
        store.save(task(1), result(task(1)))
    assert store.missing([task(), task(1)]) == [task(), task(1)]
    assert "made by transect 0.0.1" in caplog.text
    assert "and 1 more" in caplog.text  # one message for one reason
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "other", [{"evals": 5}, {"suggest_evals": 2000}, {"strategy": GPUCB()}], ids=str
)
def test_results_of_other_settings_are_done_again(store: Store, other: dict[str, Any]) -> None:
    store.save(task(), result(task()))
    changed = task(**other)
    assert store.table([changed]).cells == {}
    assert path_of(store, task()).exists()  # reading for a picture moves nothing
    assert store.missing([changed]) == [changed]
    assert not path_of(store, task()).exists()


def test_a_table_has_the_repeats_that_are_there(store: Store) -> None:
    for seed in (0, 2):
        store.save(task(seed), result(task(seed), seed))
    other = replace(task(), label="none")
    table = store.table([*(task(seed) for seed in range(4)), other])
    cell = table.cells["ackley-20", "random"]
    assert list(table.cells) == [("ackley-20", "random")]
    assert cell.seeds == (0, 2)
    expected = [result(task(), seed).values + 1.0 / 3.0 for seed in (0, 2)]
    np.testing.assert_array_equal(cell.regret, expected)
    np.testing.assert_array_equal(cell.final, np.nanmin(expected, axis=1))
    assert cell.evaluations == 15.0
    times = np.concatenate([result(task(), seed).seconds for seed in (0, 2)])
    assert cell.seconds == np.median(times)


# --- packed ---------------------------------------------------------------------------------


def random_table(rng: np.random.Generator, repeats: int = 3, evals: int = 50) -> Table:
    """Two problems, one of them with regrets over twenty decades, failures and a zero."""
    cells = {}
    for problem, decades in (("ackley-20", 0.1), ("levy-20", 20.0)):
        for strategy in ("ms-ucb", "random"):
            regret = 10.0 ** rng.uniform(-decades / 2, decades / 2, (repeats, evals))
            regret[0, 3] = np.nan
            regret[1, :2] = 0.0, -1e-17
            final = np.fmin.reduce(regret, axis=1)
            cells[problem, strategy] = Cell(tuple(range(repeats)), regret, final, 12.5, 0.016)
    cells["levy-20", "fails"] = Cell((7,), np.full((1, 4), np.nan), np.array([np.nan]), 0.0, 0.0)
    return Table(cells)


def test_pack_keeps_what_is_exact_and_rounds_the_curves(tmp_path: Path) -> None:
    table = random_table(np.random.default_rng(0))
    path = tmp_path / "results.npz"
    pack(table, path)
    back = unpack(path)
    assert set(back.cells) == set(table.cells)
    for key, cell in table.cells.items():
        got = back.cells[key]
        assert (got.seeds, got.evaluations, got.seconds) == (
            cell.seeds,
            cell.evaluations,
            cell.seconds,
        )
        np.testing.assert_array_equal(got.final, cell.final)
        np.testing.assert_array_equal(np.isnan(got.regret), np.isnan(cell.regret))
        logs = [np.log10(np.maximum(c.regret, 1e-12)) for c in (got, cell)]
        step = (12.05 if key[0] == "ackley-20" else 22.0) / (LEVELS - 1)
        np.testing.assert_allclose(logs[0], logs[1], atol=0.51 * step)


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        pack(random_table(np.random.default_rng(0)), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:  # a plain .npz
        assert arrays["final"].dtype == np.float64
    pack(Table({}), tmp_path / "empty.npz")
    assert unpack(tmp_path / "empty.npz").cells == {}


def test_the_full_set_of_results_is_small(tmp_path: Path) -> None:
    """As many runs as all figures have, with regrets that wander and fall as real ones do."""
    rng = np.random.default_rng(0)
    cells = {}
    for i in range(302):
        problem = i % 30
        spread = 0.6 if problem < 12 else 0.1  # of log10 regret: Camelback's, and the others'
        noise = rng.normal(0.0, spread, (30, 200))
        regret = 10.0 ** (3.0 - rng.uniform(0, 3) * np.linspace(0, 1, 200) + noise)
        final = regret.min(axis=1)
        cells[f"p-{problem}", f"line-{i}"] = Cell(tuple(range(30)), regret, final, 1.0, 1.0)
    path = tmp_path / "results.npz"
    pack(Table(cells), path)
    assert path.stat().st_size < 3e6


def test_a_foreign_or_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "results.npz"
    pack(random_table(np.random.default_rng(0)), path)
    good = path.read_bytes()
    middle = len(good) // 2
    damaged = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
    for data in (b"", b"text", good[:-20], good[:middle], damaged):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="not a packed table, or is damaged"):
            unpack(path)
    np.savez(path, other=np.zeros(3))
    with pytest.raises(ValueError, match="not a packed table"):
        unpack(path)
    with pytest.raises(FileNotFoundError):
        unpack(tmp_path / "none.npz")
