"""Objectives to be minimised, each with its box and what is known about its optimum.

Functions of all variables, functions of a few variables hidden among many, two real problems
whose numbers are loaded from a folder of the user's, and two that learn from data sets.
``make`` takes them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .embedded import branin, camelback, hartmann6
from .mopta08 import mopta08
from .network import network
from .problem import Problem
from .ramp import ramp
from .rover import rover
from .synthetic import (
    ackley,
    hyper_ellipsoid,
    levy,
    rastrigin,
    rosenbrock,
    schwefel12,
    styblinski_tang,
)

__all__ = [
    "BY_NAME",
    "Problem",
    "ackley",
    "branin",
    "camelback",
    "hartmann6",
    "hyper_ellipsoid",
    "levy",
    "make",
    "mopta08",
    "network",
    "ramp",
    "rastrigin",
    "rosenbrock",
    "rover",
    "schwefel12",
    "styblinski_tang",
]

BY_NAME: Mapping[str, Callable[..., Problem]] = {
    "ackley": ackley,
    "levy": levy,
    "hyper-ellipsoid": hyper_ellipsoid,
    "schwefel-1.2": schwefel12,
    "rosenbrock": rosenbrock,
    "rastrigin": rastrigin,
    "styblinski-tang": styblinski_tang,
    "camelback": camelback,
    "branin": branin,
    "hartmann6": hartmann6,
    "rover": rover,
    "mopta08": mopta08,
    "network": network,
    "ramp": ramp,
}


def make(name: str, D: int, **options: Any) -> Problem:
    """The problem of that name in D dimensions; ``options`` are those of its function."""
    if name not in BY_NAME:
        raise ValueError(f"there is no problem {name!r}; there are {', '.join(BY_NAME)}")
    return BY_NAME[name](D, **options)
