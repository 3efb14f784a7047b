"""Studies: what a TOML file says, its objectives and units, and the commands that run it."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import has_ended
from transect import minimize
from transect.cli import main
from transect.journal import read
from transect.space import Space
from transect.study import load

RUNS = (Path(__file__).parents[1] / "docs" / "runs.md").read_text()

TWO = "[space]\ndim = 2\nlower = -1\nupper = 1\n"
RANDOM = '[run]\nstrategy = "random"\nseed = 0\n'
MIXED = """
[[space.variables]]
name = "rate"
lower = 1e-4
upper = 1e-1
scale = "log"
[[space.variables]]
name = "layers"
lower = 1
upper = 9
integer = true
"""
LAST_LINE = "print('working'); print(sum(v * v for v in point['x'])); print()"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a study, and return its path."""

    def written(*parts: str, name: str = "study.toml") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(parts))
        return path

    return written


def python_function(folder: Path, body: str) -> str:
    """An objective ``f(x)`` with this body, in a module of its own."""
    module = re.sub(r"\W", "_", f"objective_{folder.name}")  # each is imported once in a process
    (folder / f"{module}.py").write_text(f"import numpy as np\n\ndef f(x):\n    {body}\n")
    return f'[objective]\nfunction = "{module}:f"\n'


def program(folder: Path, body: str, *arguments: str) -> str:
    """A program that has read its ``point``, unless there are arguments, and then does this."""
    source = "import json, os, sys, time\n"
    source += "" if arguments else "point = json.load(sys.stdin)\n"
    (folder / "simulate.py").write_text(source + body)
    command = [sys.executable, "-S", "-E", "simulate.py", *arguments]
    return f"[objective]\ncommand = {json.dumps(command)}\n"


def objective_at(path: Path, x: Any) -> Any:
    return load(path).objective(np.array(x, dtype=float))


# --- objectives ----------------------------------------------------------------------


def test_a_function_gets_a_vector_in_real_units(write: Any, tmp_path: Path) -> None:
    body = "assert isinstance(x, np.ndarray) and x.dtype == float; return list(x)"
    study = write(python_function(tmp_path, body), MIXED)
    np.testing.assert_allclose(objective_at(study, [-2.0, 3.4]), [0.01, 3.0])


def test_a_program_reads_its_point_from_standard_input(write: Any, tmp_path: Path) -> None:
    study = write(program(tmp_path, LAST_LINE), TWO)
    assert objective_at(study, [0.5, -1.0]) == 1.25


def test_a_program_reads_its_point_from_a_file(write: Any, tmp_path: Path) -> None:
    body = "open('seen', 'w').write(sys.argv[2] + sys.argv[1]); "
    body += "assert sys.stdin.read() == ''; print(json.load(open(sys.argv[1]))['x'][1])"
    study = write(program(tmp_path, body, "{file}", "not a {file}"), TWO)
    assert objective_at(study, [0.5, 0.25]) == 0.25
    said, file = (tmp_path / "seen").read_text().split("/", 1)
    assert said == "not a {file}"
    assert not Path("/", file).exists()


def test_a_program_gets_names_and_integers(write: Any, tmp_path: Path) -> None:
    study = write(program(tmp_path, "json.dump(point, open('seen', 'w')); print(1)"), MIXED)
    objective_at(study, [-3.0, 7.6])
    assert (tmp_path / "seen").read_text() == '{"x": [0.001, 8], "names": ["rate", "layers"]}'


def test_arguments_do_not_go_through_a_shell(write: Any, tmp_path: Path) -> None:
    body = "print(len(sys.argv)); assert sys.argv[1:] == ['$HOME; exit 3', '*', '']; print(4)"
    study = write(program(tmp_path, body, "$HOME; exit 3", "*", ""), TWO)
    assert objective_at(study, [0, 0]) == 4.0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sys.stderr.write('x' * 9999 + 'no licence'); sys.exit(3)", "exit code 3;.*no licence$"),
        ("os.kill(os.getpid(), 9)", "exit code -9"),
        ("print(7); print('done')", "exit code 0.* no number: 'done'"),
        ("sys.stderr.write('odd'); print()", "exit code 0.* no number: ''; .*odd"),
    ],
)
def test_a_program_that_fails_says_why(body: str, reason: str, write: Any, tmp_path: Path) -> None:
    study = write(program(tmp_path, body), TWO)
    with pytest.raises(RuntimeError, match=reason) as caught:
        objective_at(study, [0, 0])
    assert len(str(caught.value)) < 1000


def test_a_program_that_does_not_read_its_point_is_fine(write: Any, tmp_path: Path) -> None:
    study = write(program(tmp_path, "print(2.5)", "x"), TWO.replace("2", "20000"))
    assert objective_at(study, np.zeros(20000)) == 2.5


@pytest.mark.parametrize("kind", [python_function, program])
def test_objectives_can_be_sent_elsewhere(kind: Any, write: Any, tmp_path: Path) -> None:
    body = "return 3.0" if kind is python_function else "print(3)"
    objective = load(write(kind(tmp_path, body), TWO)).objective
    assert pickle.loads(pickle.dumps(objective))(np.zeros(2)) == 3.0


def test_a_program_over_its_time_is_stopped_with_its_children(write: Any, tmp_path: Path) -> None:
    body = "import subprocess; child = subprocess.Popen(['sleep', '60'])\n"
    body += "open('pids', 'a').write(f'{os.getpid()} {child.pid} '); time.sleep(60); print(1)"
    limits = RANDOM + "max_evals = 2\nworkers = 2\neval_time = 1.5\n"
    study = write(program(tmp_path, body), TWO, limits)
    assert main(["run", str(study)]) == 1
    assert {t.error for t in read(tmp_path / "study.db").trials} == {"took longer than 1.5 s"}
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 4
    assert all(has_ended(pid) for pid in pids)


# --- units ---------------------------------------------------------------------------


def test_points_stay_inside_the_bounds() -> None:
    lower, upper = np.array([1e-5, 3.0, -2.0]), np.array([0.3, 7e4, 2.0])
    log, integer = np.array([True, True, False]), np.array([False, True, True])
    space = Space(lower, upper, log, integer)
    for x, real in zip(space.bounds.T, (lower, upper), strict=True):
        values = space.real(x)
        np.testing.assert_allclose(values, real, rtol=1e-15)
        assert np.all((lower <= values) & (values <= upper))
    np.testing.assert_array_equal(space.real(np.array([-1.0, 1.0, 0.4])), [0.1, 10.0, 0.0])


@pytest.mark.parametrize(
    "space",
    [
        "dim = 2\nlower = 1\nupper = [10, 100]\nscale = 'log'",
        "lower = [1, 1.0]\nupper = [10, 100]\nscale = 'log'",
        "variables = [{name = 'a', lower = 1, upper = 10, scale = 'log'},"
        "{name = 'b', lower = 1, upper = 100, scale = 'log'}]",
    ],
)
def test_one_space_in_several_words(space: str, write: Any) -> None:
    study = load(write('[objective]\nfunction = "a:b"\n[space]', space))
    np.testing.assert_array_equal(study.space.bounds, [(0, 1), (0, 2)])
    assert not study.space.integer.any()


# --- bad studies ---------------------------------------------------------------------

GOOD = {
    "objective": 'function = "a:b"',
    "space": "dim = 3\nlower = 0\nupper = 1",
    "run": "max_evals = 5",
}
VARIABLE = "[[space.variables]]\nname = 'a'\nlower = 0\nupper = 1\n"


@pytest.mark.parametrize(
    ("table", "entries", "key"),
    [
        ("objective", "", "objective needs either function or command"),
        ("objective", "function = 'a:b'\ncommand = ['x']", "objective needs either"),
        ("objective", "function = 3", "objective.function must be a text"),
        ("objective", "function = 'a.b'", 'objective.function must be "module:name"'),
        ("objective", "command = 'x --fast'", "objective.command must be a list of texts"),
        ("objective", "command = []", "objective.command must be a list"),
        ("objective", "command = ['']", r"objective.command\[0\] must be a text"),
        ("objective", "function = 'a:b'\nshell = true", "objective.shell is unknown"),
        ("space", "", "space.lower is missing"),
        ("space", "lower = 0\nupper = 1", "space.dim is missing"),
        ("space", "dim = 3\nlower = 0", "space.upper is missing"),
        ("space", "dim = 0\nlower = 0\nupper = 1", "space.dim must be an integer"),
        ("space", "dim = 3\nlower = [0, 0]\nupper = 1", "space.lower and space.upper must"),
        ("space", "lower = [0, 0]\nupper = [1]", "space.lower and space.upper must"),
        ("space", "lower = [0, true]\nupper = 1", r"space.lower\[1\] must be a number"),
        ("space", "lower = []\nupper = []", "space.lower must be a list"),
        ("space", "dim = 3\nlower = 1\nupper = 1", "space: lower must be less than upper"),
        ("space", "dim = 3\nlower = 0\nupper = inf", "space: lower and upper must be finite"),
        ("space", "dim = 3\nlower = 0\nupper = 1\nscale = 'log'", "space: lower must be positive"),
        ("space", "dim = 3\nlower = 0\nupper = 1\nscale = 'cubic'", "space.scale must be one of"),
        ("space", "dim = 3\nlower = 0\nupper = 1.5\ninteger = true", "whole numbers for integer"),
        ("space", "dim = 3\nlower = 0\nupper = 1\ninteger = 1", "space.integer must be true"),
        ("space", "dim = 3\nlower = 0\nupper = 1\nbounds = 1", "space.bounds is unknown"),
        ("space", "variables = []", "space.variables must be a list"),
        ("space", "variables = [1]", r"space.variables\[0\] must be a table"),
        ("space", "dim = 1\n" + VARIABLE, "space.dim cannot be given together"),
        ("space", VARIABLE * 2, "space.variables must have different names"),
        ("space", VARIABLE + "low = 3", r"space.variables\[0\].low is unknown"),
        ("space", VARIABLE.replace("name = 'a'", ""), r"space.variables\[0\].name is missing"),
        ("space", VARIABLE.replace("1", "-1"), "lower must be less than upper; of variable 'a'"),
        ("run", "max_evals = 2.5", "run.max_evals must be an integer"),
        ("run", "max_evals = 0", "run.max_evals must be an integer of at least 1"),
        ("run", "max_eval = 5", "run.max_eval is unknown; known are strategy, max_evals"),
        ("run", "seed = -1", "run.seed"),
        ("run", "n_init = '3'", "run.n_init"),
        ("run", "workers = 0", "run.workers"),
        ("run", "retries = true", "run.retries"),
        ("run", "eval_time = 0", "run.eval_time"),
        ("run", "suggest_time = 'short'", "run.suggest_time"),
        ("run", "max_time = -1.0", "run.max_time"),
        ("run", "maximize = 'yes'", "run.maximize must be true or false"),
        ("run", "journal = 3", "run.journal must be a text"),
        ("run", "strategy = 'best'", "run.strategy must be one of anchored"),
        ("run", "strategy = 'Anchored'", r"did you mean 'anchored'\?"),
        ("strategy", "d = 5", "strategy.d is unknown; known are insurance"),
        ("strategy", "insurance = 2", "strategy: insurance must be a share"),
        ("strategy", "insurance = 0.1\n[run]\nstrategy = 'ms-ucb'\n", "strategy.insurance is unkn"),
        ("strategy", "d = 5\n[run]\nstrategy = 'ms-ucb'\n", "strategy: d must be at most"),
        ("other", "", "other is unknown"),
        ("run", "max_evals = ", "Invalid value"),
    ],
)
def test_a_bad_study_names_the_key_and_the_file(
    table: str, entries: str, key: str, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {**GOOD, table: entries}
    if "[run]" in entries:
        del tables["run"]
    study = write(*(f"[{name}]\n{body}" for name, body in tables.items()))
    assert main(["run", str(study)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"transect: {study}: ")
    assert re.search(key, said), said
    assert list(study.parent.iterdir()) == [study]


@pytest.mark.parametrize(
    ("objective", "why"),
    [
        ('function = "no_such_module:f"', "objective.function: ModuleNotFoundError"),
        ('function = "json:f"', "objective.function: AttributeError"),
        ('function = "json:decoder"', "objective.function: decoder is no function"),
        ('command = ["./simulate"]', "objective.command: there is no program ./simulate"),
    ],
)
def test_an_objective_that_is_not_there_is_missed_before_the_run(
    objective: str, why: str, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write("[objective]", objective, TWO)
    assert main(["run", str(study)]) == 2
    assert f"{study}: {why}" in capsys.readouterr().err
    assert not study.with_suffix(".db").exists()


def test_a_value_that_is_no_number_ends_the_run(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(python_function(tmp_path, "return 'low'"), TWO)
    assert main(["run", str(study)]) == 2
    assert "objective: the objective's value must be one real number" in capsys.readouterr().err


def test_there_must_be_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capsys.readouterr().err


# --- runs ----------------------------------------------------------------------------


def test_a_run_ends_with_its_result(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(program(tmp_path, LAST_LINE), TWO, RANDOM, "max_evals = 6\nworkers = 2\n")
    assert main(["run", str(study)]) == 0
    trials = read(tmp_path / "study.db").trials
    best = min(trials, key=lambda t: float(t.value or 0.0))
    assert best.value == pytest.approx(np.sum(best.x**2))
    assert capsys.readouterr().out.splitlines() == [
        "made all 6 evaluations",
        f"best value {best.value:.10g}, evaluation {best.id + 1}",
        f"journal {tmp_path / 'study.db'}",
    ]
    assert main(["report", str(study)]) == 0
    of_study = capsys.readouterr().out
    assert main(["report", str(tmp_path / "study.db")]) == 0
    assert capsys.readouterr().out == of_study


def test_what_the_study_says_is_what_is_done(write: Any, tmp_path: Path) -> None:
    objective = python_function(tmp_path, "return float(np.sum(x))")
    options = '[strategy]\nd = 1\nn0 = 2\n[run]\nstrategy = "ms-ucb"\nmaximize = true\n'
    options += 'seed = 7\nn_init = 3\nmax_evals = 5\nsuggest_time = 5.0\njournal = "kept.db"\n'
    assert main(["run", str(write(objective, TWO, options))]) == 0
    settings = read(tmp_path / "kept.db").settings
    expected = {"strategy": "MSUCB(d=1, n0=2)", "maximize": True, "seed": 7, "n_init": 3}
    expected |= {"max_evals": 5, "suggest_time": 5.0, "bounds": [[-1.0, 1.0]] * 2}
    assert {key: settings[key] for key in expected} == expected


def test_a_longer_run_goes_on_as_if_it_had_been_one(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objective = python_function(tmp_path, "return float(np.sum(x**2))")
    run = "[run]\nseed = 3\n"
    short = write(objective, MIXED, run, "max_evals = 8\n")
    assert main(["run", str(short)]) == 0
    capsys.readouterr()
    longer = write(objective, MIXED, run, "max_evals = 12\n")
    assert main(["resume", str(longer)]) == 0
    begun = f"going on from {tmp_path / 'study.db'}: 8 of 12 evaluations made"
    assert capsys.readouterr().out.splitlines()[0] == begun
    whole = write(objective, MIXED, run, "max_evals = 12\nn_init = 4\n", name="whole.toml")
    assert main(["run", str(whole)]) == 0
    runs = [read(tmp_path / name).trials for name in ("study.db", "whole.db")]
    assert len(runs[0]) == 12
    for ours, theirs in zip(*runs, strict=True):
        np.testing.assert_array_equal(ours.x, theirs.x)
    assert main(["run", str(longer)]) == 0  # nothing is left to do
    assert len(read(tmp_path / "study.db").trials) == 12


def test_resume_needs_a_journal(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(python_function(tmp_path, "return 1.0"), TWO, RANDOM, "max_evals = 3\n")
    for command in ("resume", "status", "best"):
        assert main([command, str(study)]) == 2
        assert "there is no journal" in capsys.readouterr().err
    assert not (tmp_path / "study.db").exists()


def test_a_journal_of_other_variables_is_refused(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objective = python_function(tmp_path, "return float(np.sum(x))")
    assert main(["run", str(write(objective, TWO, RANDOM, "max_evals = 3\n"))]) == 0
    other = write(objective, TWO.replace("2", "3"), RANDOM, "max_evals = 3\n")
    for command in ("run", "status", "best"):
        assert main([command, str(other)]) == 2
        assert "study.db is of another run: space differs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (("seed = 0", "seed = 1"), "study.db is of another run: seed 0, not 1"),
        (('"random"', '"gp-ucb"'), "study.db is of another run: strategy"),
        (("max_evals", "n_init = 3\nmax_evals"), "study.db is of another run: n_init 1, not 3"),
        ((":f", ":g"), "objective.function: AttributeError"),
    ],
)
def test_what_is_refused_is_not_said_to_go_on(
    changed: tuple[str, str], why: str, write: Any, tmp_path: Path, capsys: Any
) -> None:
    study = write(python_function(tmp_path, "return 1.0"), TWO, RANDOM, "max_evals = 3\n")
    assert main(["run", str(study)]) == 0
    capsys.readouterr()
    before = study.with_suffix(".db").read_bytes()
    study.write_text(study.read_text().replace(*changed))
    assert main(["run", str(study)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert why in said.err
    assert study.with_suffix(".db").read_bytes() == before


def test_a_journal_is_no_study(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = finished.with_suffix(".db")
    assert main(["run", str(journal)]) == 2
    why = "this is a journal, not a study; status, best and report take journals"
    assert capsys.readouterr().err == f"transect: {journal}: {why}\n"
    other = tmp_path / "other.toml"
    other.write_bytes(b"\xff\xfe")
    assert main(["run", str(other)]) == 2
    assert "a study is a text file in TOML, and this is no text" in capsys.readouterr().err


def test_a_run_without_any_value_ends_with_1(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(program(tmp_path, "sys.exit('no licence')"), TWO, RANDOM, "max_evals = 3\n")
    assert main(["run", str(study)]) == 1
    said = capsys.readouterr().out
    assert "none gave a value, the first because: RuntimeError: exit code 1" in said
    assert "no licence" in said
    assert main(["best", str(study)]) == 1
    assert "no evaluation has succeeded yet" in capsys.readouterr().out
    assert main(["status", str(study)]) == 0
    assert "0 of 3 evaluations done, 3 failed, 0 pending" in capsys.readouterr().out


def test_a_run_that_max_time_stops_ends_with_1(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objective = python_function(tmp_path, "import time; time.sleep(0.05); return 1.0")
    study = write(objective, TWO, RANDOM, "max_evals = 50\nmax_time = 0.2\n")
    assert main(["run", str(study)]) == 1
    assert "stopped after max_time = 0.2 s" in capsys.readouterr().out
    assert 1 <= len(read(tmp_path / "study.db").trials) < 50


@pytest.mark.parametrize(
    ("number", "code", "limit"),
    [
        (signal.SIGINT, 130, ""),
        (signal.SIGTERM, 143, ""),
        (signal.SIGKILL, -9, "eval_time = 60\n"),  # in a process of its own, which notices
    ],
)
def test_a_run_that_is_stopped_stops_its_program_and_goes_on_later(
    number: int, code: int, limit: str, write: Any, tmp_path: Path, capsys: Any
) -> None:
    body = "slow = not os.path.exists('quick')\nopen('pid', 'w').write(str(os.getpid()))\n"
    body += "os.rename('pid', 'started'); time.sleep(60 * slow); print(1)"
    study = write(program(tmp_path, body), TWO, RANDOM, "max_evals = 3\n" + limit)
    run = subprocess.Popen([sys.executable, "-m", "transect", "run", str(study)], stderr=-1)
    while not (tmp_path / "started").exists():
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(number)
    run.communicate(timeout=10)
    assert run.returncode == code
    assert has_ended((tmp_path / "started").read_text())
    assert main(["status", str(study), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pending"] == 1
    (tmp_path / "quick").touch()
    assert main(["resume", str(study)]) == 0
    assert [t.state for t in read(tmp_path / "study.db").trials] == ["done"] * 3


# --- status and best -----------------------------------------------------------------


@pytest.fixture
def finished(write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A study to be maximised, done; evaluations with many layers have failed."""
    body = "return float(x[1]) if x[1] < 8 else None"
    study: Path = write(
        python_function(tmp_path, body), MIXED, RANDOM, "max_evals = 12\nmaximize = true\n"
    )
    assert main(["run", str(study)]) == 0
    capsys.readouterr()
    return study


def test_status(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = read(finished.with_suffix(".db")).trials
    failed = sum(t.state == "failed" for t in trials)
    best = max((t for t in trials if t.value is not None), key=lambda t: float(t.value or 0.0))
    assert 0 < failed < 12
    for path in (finished, finished.with_suffix(".db")):
        assert main(["status", str(path)]) == 0
        lines = capsys.readouterr().out.splitlines()
        counts = f"{12 - failed} of 12 evaluations done, {failed} failed, 0 pending"
        assert lines[0] == f"{finished.with_suffix('.db')}: {counts}"
        assert lines[1] == f"best value {best.value:g}, evaluation {best.id + 1}"
        assert re.fullmatch(r"suggestions took \S+ s together", lines[2])
        assert main(["status", str(path), "--json"]) == 0
        numbers = json.loads(capsys.readouterr().out)
        assert numbers.pop("suggest_seconds") >= 0.0
        assert numbers == {
            "journal": str(finished.with_suffix(".db")),
            "done": 12 - failed,
            "failed": failed,
            "pending": 0,
            "told": 0,
            "max_evals": 12,
            "value": best.value,
            "evaluation": best.id + 1,
        }


def test_status_counts_what_was_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.db"
    given: dict[str, Any] = {"x0": [[0.0], [0.5]], "y0": [1.0, None]}
    minimize(lambda x: 2.0, [(-1, 1)], 3, "random", journal=path, progress=False, **given)
    assert main(["status", str(path)]) == 0
    counts = "3 of 3 evaluations done, 0 failed, 0 pending; 2 told from elsewhere"
    assert capsys.readouterr().out.splitlines()[0] == f"{path}: {counts}"


def test_status_of_a_journal_that_has_become_longer(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished.write_text(finished.read_text().replace("max_evals = 12", "max_evals = 14"))
    assert main(["resume", str(finished)]) == 0
    capsys.readouterr()
    for path in (finished, finished.with_suffix(".db")):
        assert main(["status", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["max_evals"] == 14


def test_best_in_real_units(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["best", str(finished), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)
    rate, layers = best["x"]
    assert list(best) == ["value", "evaluation", "x", "names"]
    assert best["names"] == ["rate", "layers"]
    assert 1e-4 <= rate <= 1e-1
    assert isinstance(layers, int)
    assert layers == best["value"] == 7
    assert main(["best", str(finished)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"best value 7, evaluation {best['evaluation']}"
    assert lines[1:] == [f"  rate    {rate:.10g}", "  layers  7"]


def test_best_of_a_journal_is_as_the_optimizer_has_it(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = finished.with_suffix(".db")
    assert main(["best", str(journal), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)
    assert list(best) == ["value", "evaluation", "x"]
    assert best["x"] == read(journal).trials[best["evaluation"] - 1].x.tolist()
    assert -4.0 <= best["x"][0] <= -1.0
    assert main(["best", str(journal)]) == 0
    x = ", ".join(f"{v:.10g}" for v in best["x"])
    assert capsys.readouterr().out.splitlines()[1] == f"x = {x}"


# --- the documentation ---------------------------------------------------------------


def test_the_study_in_the_documentation_runs(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study,) = re.findall(r"```toml\n(.*?)```", RUNS, flags=re.DOTALL)
    (model,) = re.findall(r"```py\n(.*?)```", RUNS, flags=re.DOTALL)
    (tmp_path / "model.py").write_text(model)
    path = write(study)
    done = subprocess.run(
        [sys.executable, "-m", "transect", "run", "study.toml"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "made all 40 evaluations" in done.stdout
    assert main(["best", str(path), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)
    assert best["names"] == ["rate", "layers", "dropout"]
    assert best["x"][1] == 3
    assert best["value"] < 0.3


def test_the_point_in_the_documentation_is_what_a_program_gets() -> None:
    (study,) = re.findall(r"```toml\n(.*?)```", RUNS, flags=re.DOTALL)
    (point,) = re.findall(r'`(\{"x": .*?\})`', RUNS)
    shown = json.loads(point)
    assert "[[space.variables]]" in study
    assert re.findall(r'^name = "(.*)"$', study, flags=re.MULTILINE) == shown["names"]
    integer = np.array([False, True, False])
    space = Space(np.zeros(3), np.full(3, 9.0), ~np.ones(3, bool), integer, tuple(shown["names"]))
    assert json.dumps(space.point(np.array(shown["x"], dtype=float))) == point


def test_a_study_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("run", "resume", "status", "best"):
        assert main([verb, str(tmp_path / "no.toml")]) == 2
        assert "there is no study" in capsys.readouterr().err
