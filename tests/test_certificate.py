"""Which guarantee a run has: every assumption that is not met is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from transect import GPUCB, MSUCB, Anchored, Optimizer, Surrogate, minimize
from transect.certificate import of_run, of_strategy
from transect.strategies import BY_NAME, Guarantee

KNOWN = Surrogate(known=(1.0, 1.0, 1e-2))
SQUARE = [(-1.0, 1.0)] * 6


def bowl(x: Any) -> float:
    return float(np.sum(np.square(x)))


def step(**changes: Any) -> dict[str, Any]:
    """The certificate of a suggestion that nothing is missing from."""
    whole = {"source": "strategy", "subspaces": 3, "slices": 3, "margin": 0.0}
    return {**whole, "observations": 5, "told": 5, "pending": 0, **changes}


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (MSUCB(d=2, beta="corrected", surrogate=KNOWN), "Theorem 1"),
        (MSUCB(d=6, beta="paper", surrogate=KNOWN), "Srinivas"),
        (MSUCB(d=6, beta="corrected", surrogate=KNOWN), "Srinivas"),
        (GPUCB(surrogate=KNOWN), "Srinivas"),
        (Anchored(surrogate=KNOWN), "2 % of all"),
    ],
)
def test_what_the_theorems_assume_is_enough(strategy: Any, words: str) -> None:
    got = of_strategy(strategy, 6)
    assert got.holds
    assert words in str(got)
    assert str(got).startswith("Guarantee: with probability 0.9")


@pytest.mark.parametrize(
    ("strategy", "why"),
    [
        (MSUCB(d=2, beta="corrected"), "hyper-parameters are fitted"),
        (MSUCB(d=2, beta="paper", surrogate=KNOWN), "union over all slices"),
        (MSUCB(d=2, beta="practical", surrogate=KNOWN), "not the corrected one"),
        (MSUCB(d=2, beta=4.0, surrogate=KNOWN), "not the corrected one"),
        (MSUCB(d=6, beta="practical", surrogate=KNOWN), "not the published one"),
        (GPUCB(), "hyper-parameters are fitted"),
        (Anchored(surrogate=Surrogate()), "hyper-parameters are fitted"),
        (Anchored(surrogate=replace(KNOWN, clip=2.0)), "bad values are clipped"),
        (GPUCB(beta_scale=0.2, surrogate=KNOWN), "not the published one"),
        (GPUCB(acquisition="log-ei", surrogate=KNOWN), "not the published one"),
        (GPUCB(beta=lambda t: 1.0, surrogate=KNOWN), "not the published one"),
    ],
)
def test_settings_that_break_a_theorem_are_named(strategy: Any, why: str) -> None:
    got = of_strategy(strategy, 6)
    assert not got.holds
    assert len(got.unmet) == 1
    assert why in got.unmet[0]
    assert str(got).startswith(f"No guarantee, since {got.unmet[0]}. If that were not so: with")


def test_reasons_are_one_sentence() -> None:
    got = Guarantee("it holds", ("a", "b", "c"))
    assert str(got) == "No guarantee, since a; b and c. If that were not so: it holds."


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - {"anchored", "ms-ucb", "gp-ucb"}))
def test_the_others_have_none(name: str) -> None:
    got = of_strategy(BY_NAME[name](), 20)
    assert got.statement is None
    assert not got.holds
    assert str(got) == f"No guarantee: no regret bound is known for {name}."


def test_a_strategy_of_the_users_own_needs_no_word_on_it() -> None:
    class Own:
        name = "own"

    assert not of_strategy(Own(), 3).holds  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("info", "why"),
    [
        (step(subspaces=2), "1 of 2 suggestions did not look at all slices"),
        (step(margin=-0.5), "1 of 2 suggestions did not pass the gate"),
        (step(observations=4), "1 of 2 suggestions used a part of the observations only"),
        (step(pending=1), "1 of 2 suggestions did not wait for all values"),
        ({"source": "instead of a duplicate"}, "1 of 2 suggestions repeated a point"),
    ],
)
def test_what_went_short_in_a_run_is_counted(info: dict[str, Any], why: str) -> None:
    general = Guarantee("all is well")
    assert of_run(general, [{"source": "initial"}, step(), step()]).holds
    got = of_run(general, [{"source": "initial"}, step(), info])
    assert len(got.unmet) == 1
    assert got.unmet[0].startswith(why)


def test_of_steps_that_are_not_insured_nothing_is_asked() -> None:
    general = Guarantee("all is well")
    loose = step(insured=False, margin=-0.5, subspaces=2)
    assert of_run(general, [step(insured=True), loose]).holds
    got = of_run(general, [loose, step(insured=True, margin=-0.5)])
    assert got.unmet == ("1 of 1 suggestions did not pass the gate",)


def test_a_replaced_step_counts_if_it_was_insured() -> None:
    general = Guarantee("all is well")
    for insured in (True, False):
        replaced = {"source": "instead of a duplicate", "insured": insured}
        assert of_run(general, [step(insured=True), replaced]).holds == (not insured)


@pytest.mark.parametrize("infos", [[], [{"source": "initial"}], [step(insured=False)]])
def test_without_a_suggestion_that_it_is_about_there_is_none(infos: list[dict[str, Any]]) -> None:
    got = of_run(Guarantee("all is well"), infos)
    assert got.unmet == ("no suggestion was made that it is about",)


def test_failures_count_against_it() -> None:
    assert "2 failed evaluations" in of_run(Guarantee("yes"), [step()], failures=2).unmet[0]


def test_a_run_as_the_theory_has_it() -> None:
    strategy = MSUCB(d=2, beta="corrected", surrogate=KNOWN)
    r = minimize(bowl, SQUARE, 12, strategy, seed=1, n_init=4, progress=False)
    assert r.guarantee.holds


def test_a_run_with_points_in_flight_and_a_failure() -> None:
    opt = Optimizer(SQUARE, MSUCB(d=2, beta="corrected", surrogate=KNOWN), seed=1, n_init=2)
    for _ in range(2):
        opt.tell(opt.ask(), 1.0)
    opt.ask()
    opt.tell(opt.ask(), None)
    why = "; ".join(opt.guarantee.unmet)
    assert "1 of 2 suggestions did not wait" in why
    assert "1 failed" in why


def test_no_theorem_means_no_word_on_the_run() -> None:
    r = minimize(bowl, SQUARE, 6, "line-bo", seed=1, n_init=4, progress=False)
    assert r.guarantee.statement is None
    assert len(r.guarantee.unmet) == 1
