"""The command line and the pictures."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transect.cli import main
from transect.plots import HEIGHTS, _figure, best_so_far, convergence

PLAN = ["plan", "--dim", "9", "--evals", "9"]


def test_demo_prints_both_results_and_writes_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "demo.png"
    assert main(["demo", "--dim", "10", "--evals", "40", "--out", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "transect" in out
    assert "random search" in out
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--dim", "1"], "--dim must be an integer of at least 2, got 1"),
        (["demo", "--evals", "0"], "--evals must be an integer of at least 1, got 0"),
        (["demo", "--seed", "-1"], "--seed must be an integer of at least 0, got -1"),
        (["plan", "--dim", "1", "--evals", "9"], "--dim must be an integer of at least 2, got 1"),
        (["plan", "--dim", "9", "--evals", "1"], "--evals must be an integer of at least 2, got 1"),
        ([*PLAN, "--seconds", "0"], "--seconds must be a positive number, got 0.0"),
        ([*PLAN, "--total", "-1"], "--total must be a positive number, got -1.0"),
        ([*PLAN, "--memory", "nan"], "--memory must be a positive number, got nan"),
        (["bench", "run", "fig1", "--workers", "0"], "--workers must be an integer of at least 1"),
    ],
)
def test_an_error_names_the_option_as_it_was_written(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"transect: {message}")


def test_best_so_far_skips_failures() -> None:
    values = [3.0, np.nan, 1.0, 2.0]
    np.testing.assert_array_equal(best_so_far(values), [3.0, 3.0, 1.0, 1.0])
    np.testing.assert_array_equal(best_so_far(values, maximize=True), [3.0, 3.0, 3.0, 3.0])


def test_convergence_takes_plain_values(tmp_path: Path) -> None:
    path = convergence({"a": [3.0, 2.0], "b": [4.0, 1.0]}, tmp_path / "run.svg", initial=1)
    assert path.read_text().startswith("<?xml")


# Losses of a network, in outline: one run begins in the middle of the box, which is no good there.
EARLY = {
    "transect": np.r_[2.354, np.linspace(0.29, 0.2307, 149)],
    "random search": np.r_[0.251, np.linspace(0.25, 0.2191, 149)],
}


def texts(figure: Any) -> dict[str, Any]:
    return {text.get_text().strip(): text for text in figure.axes[0].texts}


def test_a_first_value_far_away_does_not_squeeze_the_others() -> None:
    for sign in (1.0, -1.0):  # minimised, maximised
        figure = _figure({name: sign * values for name, values in EARLY.items()}, "", 5)
        low, high = figure.axes[0].get_ylim()
        inside = [np.mean((low < sign * v) & (sign * v < high)) for v in EARLY.values()]
        assert inside == [149 / 150, 1.0]
        assert high - low < 0.1
        names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert names == [f"transect (at first {sign * 2.354:.4g})", "random search"]


@pytest.mark.parametrize(
    "values",
    [np.linspace(9.0, 1.0, 40), [9.0, 3.0, 2.0, 1.5], [9.0, 1.0, 1.0], [9.0], [np.nan] * 3],
)
def test_other_curves_are_drawn_as_a_whole(values: Any) -> None:
    figure = _figure({"a": np.array(values)}, "", 1)
    low, high = figure.axes[0].get_ylim()
    assert np.all(np.isnan(values) | ((low < np.array(values)) & (np.array(values) < high)))


def test_labels_do_not_overprint_each_other() -> None:
    ends = {"a": 1.0, "b": 1.001, "c": 1.002, "d": 1.5, "e": np.nan}
    figure = _figure({k: np.array([2.0 + v, v]) for k, v in ends.items()}, "", 0)
    labels = [texts(figure)[label] for label in ("1", "1.001", "1.002", "1.5")]
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in labels]
    for below, above in pairwise(boxes):
        assert below.y1 <= above.y0 + 1.0
    assert labels[3].get_position()[1] == 1.5, "what is in nobody's way stays where it is"


def test_the_initial_design_is_named_where_no_curve_is() -> None:
    """At the bottom, unless a curve is there; this one is at the bottom, and then above it."""
    free = _figure({"a": np.linspace(2.0, 1.0, 60)}, "", 5)
    assert texts(free)["initial\n design"].get_position()[1] == HEIGHTS[0]
    taken = _figure({"a": np.r_[np.linspace(2.0, 1.0, 8), np.full(52, 1.0)]}, "", 5)
    assert texts(taken)["initial\n design"].get_position()[1] > 0.1
