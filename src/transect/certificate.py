"""Which guarantee, if any, a run has, and what stands in its way.

A strategy knows what the theory says of it and which of the theorem's assumptions its
settings break; the certificates of a run's suggestions say what went short on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .strategies import Guarantee, Strategy, no_guarantee


def of_strategy(strategy: Strategy, D: int) -> Guarantee:
    """What holds for every run of ``strategy`` in D dimensions, if nothing goes short."""
    own = getattr(strategy, "guarantee", None)  # users' own strategies need not have one
    general: Guarantee = no_guarantee(strategy, D) if own is None else own(D)
    return general


def of_run(general: Guarantee, infos: Sequence[Mapping[str, Any]], failures: int = 0) -> Guarantee:
    """What of that is left for a run.

    ``infos``: ``Trial.info`` of its trials; ``failures``: evaluations that gave no value.
    """
    if general.statement is None:
        return general
    return Guarantee(general.statement, (*general.unmet, *_shortfalls(infos, failures)))


def _shortfalls(infos: Sequence[Mapping[str, Any]], failures: int) -> list[str]:
    """Assumptions that single suggestions or evaluations did not meet, counted."""
    about = [i for i in infos if i.get("insured", True)]  # that the theory says something about
    found = [i for i in about if i.get("source") == "strategy"]
    counts = {
        "did not look at all slices": sum(i["subspaces"] < i.get("slices", 0) for i in found),
        "did not pass the gate": sum(i.get("margin", 0.0) < 0.0 for i in found),
        "used a part of the observations only": sum(i["observations"] < i["told"] for i in found),
        "did not wait for all values": sum(i["pending"] > 0 for i in found),
        "repeated a point and were replaced by random ones": len(
            [i for i in about if i.get("source") == "instead of a duplicate"]
        ),
    }
    total = len(found) + counts["repeated a point and were replaced by random ones"]
    unmet = [f"{count} of {total} suggestions {what}" for what, count in counts.items() if count]
    if not total:
        unmet.append("no suggestion was made that it is about")
    if failures:
        unmet.append(f"{failures} failed evaluations count with values made up for them")
    return unmet
