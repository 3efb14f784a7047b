"""``transect bench`` from the command line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from transect.cli import main
from transect.experiments import command
from transect.experiments.figures import FIGURES, MSUCBBeta
from transect.experiments.pack import unpack
from transect.experiments.store import Store
from transect.experiments.task import ProblemSpec, Task, suggest_evals
from transect.theory import ms_ucb_beta

SMALL = ["fig1", "--repeats", "2", "--evals", "21", "--workers", "1"]
ONE_CELL = ["--strategies", "random", "--problems", "ackley-20"]


def run_small(folder: Path) -> int:
    return main(["bench", "run", *SMALL, *ONE_CELL, "--out", str(folder)])


# --- what figures consist of ----------------------------------------------------------------


def test_figures_share_their_runs() -> None:
    """A key names one run: whatever figure asks for it, it is configured alike."""
    tasks = [task for figure in FIGURES.values() for task in figure.tasks(repeats=1)]
    by_key = {task.key: task for task in tasks}
    assert len(by_key) < len(tasks)
    assert all(repr(by_key[task.key]) == repr(task) for task in tasks)


def test_labels_are_letters_digits_and_dashes() -> None:
    for figure in FIGURES.values():
        labels = [line.label for line in figure.lines]
        labels += [panel.problem.label for panel in figure.panels]
        assert all(re.fullmatch("[A-Za-z0-9]+(-[A-Za-z0-9]+)*", label) for label in labels)
        assert len({label.lower() for label in labels}) == len(labels)  # for disks without case


def test_all_have_the_same_budget_but_those_without_any() -> None:
    """References suggest nothing, so they have none."""
    for figure in FIGURES.values():
        for task in figure.tasks(repeats=1):
            unlimited = task.label.endswith("-all") or task.strategy is None
            unlimited |= task.label.startswith("trade-")
            expected = None if unlimited else suggest_evals(task.problem.D)
            assert task.suggest_evals == expected


def test_figure_one_has_all_of_the_papers_runs() -> None:
    tasks = FIGURES["fig1"].tasks()
    assert {task.seed for task in tasks} == set(range(30))
    assert {task.evals for task in tasks} == {200}
    assert len(tasks) == 30 * 30 * 9  # problems, repeats, strategies
    quick = FIGURES["fig1"].tasks(quick=True)
    assert {task.problem.D for task in quick} == {20}


def test_the_ablations_beta_is_that_of_ms_ucb() -> None:
    (line,) = (line for line in FIGURES["fig1"].lines if line.label == "gp-ucb-ms-beta")
    assert line.strategy is not None
    assert "beta=MSUCBBeta(D=50, d=5)" in repr(line.strategy(50))
    assert MSUCBBeta(50, 5)(7) == ms_ucb_beta(7, 50, 5)


# --- commands -------------------------------------------------------------------------------


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "list"]) == 0
    out = capsys.readouterr().out
    for figure in FIGURES.values():
        assert figure.title in out
        assert all(line.label in out for line in figure.lines)
        assert all(panel.problem.label in out for panel in figure.panels)


def test_from_runs_to_claims_and_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, packed = tmp_path / "results", tmp_path / "results.npz"
    assert run_small(results) == 0
    assert "all 2 runs are in" in capsys.readouterr().out
    size = ["--evals", "21", "--repeats", "2"]
    assert main(["bench", "pack", str(packed), "--results", str(results), *size]) == 0
    assert list(unpack(packed).cells) == [("ackley-20", "random")]
    assert main(["bench", "claims", "--results", str(packed)]) == 0
    assert main(["bench", "plot", "fig1", "--results", str(packed), "--out", str(tmp_path)]) == 0
    pictures = [line for line in capsys.readouterr().out.splitlines() if line.endswith(".png")]
    assert pictures
    assert all(Path(picture).read_bytes()[:4] == b"\x89PNG" for picture in pictures)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    assert run_small(tmp_path) == 0
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert run_small(tmp_path) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == times


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "fig9"], "no figure 'fig9' here; there are fig1, fig2, fig3, fig4, fig5"),
        (["plot", "fig9"], "no figure 'fig9' here; there are fig1, fig2, fig3, fig4, fig5"),
        (["run", "fig3", "--strategies", "x"], "ms-ucb-d1, ms-ucb-d2, ms-ucb, ms-ucb-d10"),
        (["run", "fig3", "--problems", "x"], "hyper-ellipsoid, ackley, hyper-ellipsoid-100"),
        (["run", "fig1", "--repeats", "0"], "--repeats must be an integer of at least 1"),
        (["run", "fig1", "--evals", "20"], "--evals must be an integer of at least 21"),
        (["run", "fig1", "--workers", "0"], "workers must be an integer of at least 1"),
        (["claims", "--results", "none"], "none has no results of "),
        (["medians", "fig1", "--results", "none"], "none has no results of 200 evaluations"),
        (["medians", "fig5", "--results", "none"], "none has no results of 300 evaluations"),
        (["plot", "fig4", "--evals", "50"], "results-50 has no results of 50 evaluations"),
        (["pack", "file.npz", "--quick"], "results-quick has no results of 60 evaluations"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_named_in_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("size", [[], ["--quick"], ["--evals", "200"], ["--evals", "300"]])
@pytest.mark.parametrize("figure", FIGURES)
def test_the_same_size_means_the_same_folder(
    figure: str,
    size: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What a figure's run has kept is where the commands on all figures look for it."""
    kept: list[Path] = []

    def recorded(tasks: list[Task], store: Store, *_: object) -> dict[str, str]:
        kept.append(store.folder)
        return {}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "run_all", recorded)
    monkeypatch.setattr(ProblemSpec, "build", lambda spec, seed: None)  # data need not be there
    assert main(["bench", "run", figure, *size]) == 0
    assert main(["bench", "costs", *size]) == 2
    assert f"transect: {kept[0]} has no results" in capsys.readouterr().err


def test_a_file_that_is_no_packed_table_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.npz"
    path.write_text("text")
    assert main(["bench", "claims", "--results", str(path)]) == 2
    assert "other.npz is not a packed table" in capsys.readouterr().err


def test_failed_runs_make_the_exit_code_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "run_all", lambda *_: {"ackley-20/random/000": "why"})
    assert run_small(tmp_path) == 1
    assert "1 of 2 runs failed" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Ctrl-C reaches process groups on POSIX")
def test_control_c_stops_quietly_and_the_run_goes_on_later(tmp_path: Path) -> None:
    """As a terminal does it: to the command and all its workers at once."""
    command_line = [sys.executable, "-m", "transect", "bench", "run", "fig1", "--quick"]
    chosen = ["--strategies", "random,gp-ucb", "--workers", "2", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [*command_line, *chosen],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 30.0
    while not list(tmp_path.rglob("*.json")) and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=30)
    done = len(list(tmp_path.rglob("*.json")))
    assert process.returncode == 130
    said = [line.strip() for line in error.splitlines() if "run/s" not in line and line.strip()]
    said = [line for line in said if "s/run" not in line]  # the bar
    assert said == [f"stopped: {done} of 60 runs done; a later call does the rest"]
    assert done > 0


def test_strategies_go_by_their_name_in_the_first_figure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "list"]) == 0
    assert "  ms-ucb           MS-UCB" in capsys.readouterr().out.splitlines()


def test_a_reader_may_leave_early() -> None:
    listing = subprocess.Popen(
        [sys.executable, "-m", "transect", "bench", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert listing.stdout is not None
    listing.stdout.close()
    assert listing.stderr is not None
    with listing.stderr:
        assert listing.stderr.read() == b""
    assert listing.wait() == 1
