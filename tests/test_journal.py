"""A run's journal and the report on it."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from transect import MSUCB, Optimizer, maximize, minimize, report
from transect.cli import main
from transect.journal import APPLICATION, dumps, loads, read

BOX = [(-2.0, 3.0)] * 7


def bowl(x: Any) -> float:
    if x[0] > 2.5:
        raise RuntimeError("too far")
    return float(np.sum(np.square(x)))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    path = tmp_path_factory.mktemp("journal") / "run.db"
    result = minimize(
        bowl, BOX, 40, MSUCB(d=3, alpha=1), seed=5, n_init=12, journal=path, progress=False
    )
    assert 0 < np.count_nonzero(np.isnan(result.func_vals)) < 20
    return path, result


def test_all_of_a_run_is_in_its_journal(run: tuple[Path, Any]) -> None:
    path, result = run
    kept = read(path)
    assert len(kept.trials) == 40
    for mine, theirs in zip(kept.trials, result.trials, strict=True):
        np.testing.assert_array_equal(mine.x, theirs.x)
        assert (mine.id, mine.state, mine.error) == (theirs.id, theirs.state, theirs.error)
        assert mine.value == theirs.value
        assert mine.info == theirs.info
    assert kept.settings["bounds"] == [[-2.0, 3.0]] * 7
    assert kept.settings["strategy"] == "MSUCB(d=3, alpha=1)"
    assert kept.settings["seed"] == 5


def test_points_told_before_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    minimize(bowl, BOX, 2, "random", x0=[[0.5] * 7], y0=[1.75], journal=path, progress=False)
    first, *others = read(path).trials
    assert (first.value, first.info["source"], len(others)) == (1.75, "told", 2)


@pytest.mark.parametrize("strategy", ["dropout-ucb", "sre", "rembo", "hesbo"])
def test_certificates_with_arrays_are_kept(tmp_path: Path, strategy: str) -> None:
    path = tmp_path / "run.db"
    r = minimize(bowl, BOX, 14, strategy, seed=0, n_init=4, journal=path, progress=False)
    arrays = 0
    for mine, theirs in zip(read(path).trials, r.trials, strict=True):
        assert mine.info.keys() == theirs.info.keys()
        for key, value in theirs.info.items():
            np.testing.assert_array_equal(np.array(mine.info[key]), np.asarray(value))
            arrays += isinstance(value, np.ndarray)
    assert arrays


def test_a_trial_is_on_disk_before_its_value_is_known(tmp_path: Path) -> None:
    """And can be read by others while the run goes on."""
    path, seen = tmp_path / "run.db", []

    def peek(x: Any) -> float:
        seen.append([t.state for t in read(path).trials])
        return 1.0

    minimize(peek, BOX, 3, "random", journal=path, progress=False)
    assert seen == [["pending"], ["done", "pending"], ["done", "done", "pending"]]


def test_what_an_interrupted_run_did_is_there(tmp_path: Path) -> None:
    path, calls = tmp_path / "run.db", []

    def f(x: Any) -> float:
        calls.append(x)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return 1.0

    with pytest.raises(KeyboardInterrupt):
        minimize(f, BOX, 9, "random", journal=path, progress=False)
    assert [t.state for t in read(path).trials] == ["done", "done", "pending"]
    assert "2 of 9 evaluations: 2 initial; 1 pending" in report(path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        minimize(bowl, BOX, 2, journal=tmp_path / "no" / "run.db", progress=False)


def test_a_name_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="journal must be the path of a file, got ''"):
        minimize(bowl, BOX, 2, journal="", progress=False)
    for folder in (".", "..", tmp_path):
        with pytest.raises(IsADirectoryError, match=f"{folder} is a folder, not a journal"):
            minimize(bowl, BOX, 2, journal=folder, progress=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.write_text("not one"), "no journal, or a damaged one"),
        (lambda p: sqlite3.connect(p).execute("CREATE TABLE t (a)"), "not a journal of transect"),
        (lambda p: p.write_bytes(b""), "not a journal of transect"),
    ],
)
def test_other_files_are_refused_and_left_alone(
    tmp_path: Path, make: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.db"
    make(path)
    before = path.read_bytes()
    assert main(["report", str(path)]) == 2
    assert message in capsys.readouterr().err
    assert path.read_bytes() == before


def test_reading_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    minimize(bowl, BOX, 4, "random", journal=path, progress=False)
    assert len(read(path).trials) == 4
    assert list(tmp_path.iterdir()) == [path]
    with Optimizer(BOX, "random", max_evals=9, journal=path) as opt:
        opt.ask()
        assert len(read(path).trials) == 5  # what is in the log counts, too
    assert len(read(path).trials) == 5
    assert list(tmp_path.iterdir()) == [path]


def test_a_journal_of_a_later_format(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    minimize(bowl, BOX, 2, "random", journal=path, progress=False)
    file = sqlite3.connect(path)
    assert file.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    file.execute("PRAGMA user_version = 99")
    file.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"has format 99 .* a later version"):
        read(path)
    with pytest.raises(ValueError, match=r"has format 99 .* a later version"):
        minimize(bowl, BOX, 4, "random", journal=path, progress=False)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE trials SET info = '{'",
        "UPDATE trials SET value = value + 1 WHERE id = 1",
        "UPDATE points SET point = zeroblob(56) WHERE id = 1",
        "DELETE FROM trials WHERE id = 1",
        "DELETE FROM points WHERE id = 3",
        "UPDATE run SET value = '[' WHERE key = 'bounds'",
        "UPDATE run SET value = '9' WHERE key = 'n_init'",
        "UPDATE run SET key = 'st3ategy' WHERE key = 'strategy'",
        "UPDATE memory SET value = replace(value, '0', '1')",
        "UPDATE queue SET x = zeroblob(length(x) + 8)",
        "UPDATE queue SET checksum = 0",
        "DROP TABLE memory",
    ],
)
def test_damage_is_noticed_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "run.db"
    minimize(bowl, BOX, 4, "gp-ucb", seed=0, n_init=2, journal=path, progress=False)
    with Optimizer(BOX, "gp-ucb", max_evals=9, journal=path) as opt:
        opt.suggest_first(np.zeros(len(BOX)))
    file = sqlite3.connect(path)
    assert file.execute(damage).rowcount != 0
    file.commit()
    file.close()
    before = path.read_bytes()
    for use in (read, lambda p: minimize(bowl, BOX, 9, "gp-ucb", journal=p, progress=False)):
        with pytest.raises(ValueError, match="damaged"):
            use(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("part", [0.3, 0.7])
def test_a_file_cut_short_is_refused(tmp_path: Path, part: float) -> None:
    path = tmp_path / "run.db"
    minimize(bowl, BOX, 60, "random", seed=0, journal=path, progress=False)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(ValueError, match="damaged"):
        read(path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_json_keeps_every_bit(tree: Any) -> None:
    assert loads(dumps({"a": tree})) == {"a": tree}


@given(arrays(st.sampled_from([np.float64, np.float32, np.int64, np.bool_]), array_shapes()))
def test_arrays_keep_every_bit(array: Any) -> None:
    again = loads(dumps([array]))[0]
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()


def test_what_json_has_no_word_for_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot be kept"):
        dumps({"thing": object()})


def test_no_array_of_objects_is_made_from_a_file() -> None:
    with pytest.raises(ValueError, match="an array of"):
        loads('{"array": "|O", "shape": [1], "data": "AAAAAAAAAAA="}')


# --- the report ---------------------------------------------------------------------------


def test_report_of_a_result_and_of_its_journal_agree(
    run: tuple[Path, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path, result = run
    text = report(result)
    assert report(path) == report(str(path)) == text
    assert main(["report", str(path)]) == 0
    assert capsys.readouterr().out == text + "\n"


def test_what_the_report_says(run: tuple[Path, Any]) -> None:
    _, result = run
    lines = report(result).splitlines()
    failed = int(np.count_nonzero(np.isnan(result.func_vals)))
    assert lines[0] == "MSUCB(d=3, alpha=1), 7 variables, minimised, seed 5"
    assert lines[1] == f"40 evaluations: 12 initial, 28 suggested, {failed} failed"
    best = int(np.nanargmin(result.func_vals))
    assert lines[2] == f"best value {result.fun:.6g}, evaluation {best + 1}"
    total = sum(t.info["evaluations"] for t in result.trials if "evaluations" in t.info)
    assert f"{total:,} acquisition evaluations" in lines[3]
    assert lines[-1] == str(result.guarantee)
    head = lines[5].split()
    assert head[:3] == ["evaluation", "value", "optimistic"]
    last = result.trials[-1]
    row = lines[-3].split()
    assert row[0] == "40"
    assert float(row[2]) == pytest.approx(-last.info["ucb"], rel=1e-4)
    assert row[-3:-1] == [f"{last.info['subspaces']}", f"{last.info['evaluations']:,}"]


def test_only_what_the_run_evaluated_is_counted_as_made() -> None:
    told = {"x0": [[0.0] * 7, [0.1] * 7], "y0": [0.45, None]}
    r = minimize(bowl, BOX, 10, seed=0, n_init=3, **told, progress=False)  # type: ignore[arg-type]
    counts = "10 evaluations: 1 initial, 9 suggested; 2 told from elsewhere"
    assert report(r).splitlines()[1] == counts
    with Optimizer(BOX, "random", seed=0, max_evals=4) as opt:
        r.update(settings=opt.settings, trials=opt.trials)
        assert report(r).splitlines()[1] == "0 of 4 evaluations: none yet"


def test_the_whole_table(run: tuple[Path, Any], capsys: pytest.CaptureFixture[str]) -> None:
    path, result = run
    assert len(report(result, every=True).splitlines()) == len(report(result).splitlines()) + 16
    assert main(["report", str(path), "--all"]) == 0
    assert capsys.readouterr().out == report(result, every=True) + "\n"


def test_bounds_have_the_sign_of_the_values() -> None:
    r = maximize(lambda x: -bowl(x * 0.1), BOX, 12, "gp-ucb", seed=0, n_init=8, progress=False)
    text = report(r)
    assert "maximised" in text
    assert f"{r.trials[-1].info['ucb']:.5g}" in text.splitlines()[-3]


def test_a_report_on_nothing_but_random_points() -> None:
    r = minimize(bowl, BOX, 3, "random", seed=0, n_init=3, progress=False)
    assert report(r).splitlines()[-1] == "No guarantee: no regret bound is known for random."


def test_a_report_says_how_points_were_found() -> None:
    result: Any = minimize(bowl, [(-1.0, 1.0)] * 6, 40, seed=0, progress=False)
    families = [t.info["family"] for t in result.trials if "family" in t.info]
    (line,) = [line for line in report(result).splitlines() if line.startswith("found as: ")]
    said = {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", line)}
    assert said == {name: families.count(name) for name in families}
    plain: Any = minimize(bowl, [(-1.0, 1.0)] * 6, 10, "random", seed=0, progress=False)
    assert "found as" not in report(plain)
