"""MOPTA08: the mass of a car under 68 limits from crash, noise and durability (Jones 2008).

x in [0, 1]^124 scales 124 thicknesses, shapes and materials X. The mass is linear in X; each
limit is a Kriging model of simulations. Its value is mass + 10·Σ max(g, 0), as papers have it;
a design is feasible where all g ≤ 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._array import Host
from .._checks import whole_number
from ..box import Box
from .data import Numbers
from .problem import Problem

VARIABLES = 124
LIMITS = 68
PENALTY = 10.0
BEST_KNOWN = 222.2323638811574

_INPUTS = ("xxxxx", "xuuuu", "xeeee", "xssss", "xrrrr")  # all variables, or four selections


@dataclass(frozen=True, eq=False)
class Kriging:
    """Models of m limits that share their input z (k,) and the power p.

    y_i = β_i0 + β_i·z + Σ_j c_ji·exp(-Σ_l θ_li·|z_l - S_jl|^p). The limits are fitted to
    overlapping sets of simulations: S has each one once, and c is 0 where a limit lacks it.
    """

    which: NDArray[np.intp]  # (m,), the limits
    source: NDArray[np.intp]  # (k,), where z is in (X, fixed values)
    S: Host  # (n, k)
    p: float
    theta: Host  # (k, m)
    beta_0: Host  # (m,)
    beta: Host  # (m, k)
    c: Host  # (n, m)

    def __call__(self, z: Host) -> Host:
        correlation: Host = np.exp(-(np.abs(z - self.S) ** self.p @ self.theta))  # (n, m)
        y: Host = self.beta_0 + self.beta @ z + np.sum(self.c * correlation, axis=0)
        return y


@dataclass(frozen=True, eq=False)
class Mopta08:
    """Mass and limits as functions of x (124,) in [0, 1]."""

    low: Host  # (124,)
    high: Host  # (124,)
    mass_per_unit: Host  # (124,)
    fixed: Host  # (124,), values of what is no variable
    models: tuple[Kriging, ...]
    logs: NDArray[np.bool_]  # (68,), modelled as log(y - offset)
    offset: Host  # (68,)
    sign: Host  # (68,)
    bound: Host  # (68,)

    @staticmethod
    def of(numbers: Numbers) -> Mopta08:
        bound = numbers.floats("gu", LIMITS)
        if not bound.all():
            raise ValueError(f"{numbers.path}: gu must not be 0, the limits are relative to it")
        return Mopta08(
            numbers.floats("xl", VARIABLES),
            numbers.floats("xu", VARIABLES),
            numbers.floats("mmmm", VARIABLES),
            numbers.floats("aaaa", VARIABLES),
            _models(numbers),
            numbers.integers("uselog", LIMITS) != 0,
            numbers.floats("offset", LIMITS),
            numbers.floats("ssss", LIMITS),
            bound,
        )

    def __call__(self, x: Host) -> float:
        return self.mass(x) + PENALTY * float(np.maximum(self.constraints(x), 0.0).sum())

    def mass(self, x: Host) -> float:
        return float(self.mass_per_unit @ self._design(x))

    def constraints(self, x: Host) -> Host:
        """How far each limit is over its bound, relative to it: g (68,)."""
        values = np.concatenate([self._design(x), self.fixed])
        y = np.empty(LIMITS)
        for model in self.models:
            y[model.which] = model(values[model.source])
        y[self.logs] = np.exp(y[self.logs]) + self.offset[self.logs]
        return (self.sign * y - self.bound) / np.abs(self.bound)

    def _design(self, x: Host) -> Host:
        return self.low + x * (self.high - self.low)


def mopta08(
    D: int = VARIABLES,
    *,
    folder: str | Path | None = None,
    noise: float = 0.0,
    noise_seed: int = 0,
) -> Problem:
    """MOPTA08 on [0, 1]^124, with the numbers in ``folder`` (see ``data``).

    ``problem.constraints(x)`` gives g (68,). ``least`` is the best known value, and ``optimum``
    its point where the file has it.
    """
    if whole_number("D", D, 1) != VARIABLES:
        raise ValueError(f"mopta08 has D = {VARIABLES}, got {D}")
    numbers = Numbers.load("mopta08/mopta08_coeffs.npz", folder)
    car = Mopta08.of(numbers)
    points = numbers.floats("check_x", None, VARIABLES)
    best = [x for x in points if abs(car(x) - BEST_KNOWN) < 1e-6]
    box = Box.of(np.tile([0.0, 1.0], (D, 1)))
    optimum = best[0] if best else None
    return Problem("mopta08", box, car, BEST_KNOWN, optimum, noise, noise_seed, car.constraints)


def _models(numbers: Numbers) -> tuple[Kriging, ...]:
    """One for each input and power that occur."""
    inputs = np.array(numbers.words("g_in", LIMITS, _INPUTS))
    p = numbers.floats("p", LIMITS)
    kinds = sorted(set(zip(inputs.tolist(), p.tolist(), strict=True)))
    return tuple(
        _kriging(numbers, name, power, np.flatnonzero((inputs == name) & (p == power)))
        for name, power in kinds
    )


def _kriging(numbers: Numbers, name: str, p: float, which: NDArray[np.intp]) -> Kriging:
    source = _source(numbers, name)
    k = len(source)
    used = numbers.integers("g_s", LIMITS)[which]  # (m,), the set of simulations of each
    sets = {int(s): numbers.floats(f"s{s}", None, k) for s in np.unique(used)}
    S, row = np.unique(np.vstack(list(sets.values())), axis=0, return_inverse=True)
    ends = np.cumsum([len(samples) for samples in sets.values()])
    rows = dict(zip(sets, np.split(row, ends[:-1]), strict=True))
    weight = 1.0 - numbers.floats("evp", LIMITS)
    theta = np.array([numbers.floats(f"theta_{i + 1}", k) for i in which])  # (m, k)
    beta = np.array([numbers.floats(f"beta_{i + 1}", k + 1) for i in which])  # (m, k + 1)
    c = np.zeros((len(S), len(which)))
    for column, (i, s) in enumerate(zip(which, used, strict=True)):
        pcoef = numbers.floats(f"pcoef_{i + 1}", len(sets[s]))
        np.add.at(c[:, column], rows[s], weight[i] * pcoef)
    return Kriging(which, source, S, p, theta.T, beta[:, 0], beta[:, 1:], c)


def _source(numbers: Numbers, name: str) -> NDArray[np.intp]:
    """Where an input's entries (k,) are in (X, fixed): k > 0 is X_k, k < 0 is fixed_-k."""
    if name == "xxxxx":
        return np.arange(VARIABLES)
    key = f"{name[1:]}2opt"
    entries = numbers.integers(key, None)
    if not ((entries != 0) & (np.abs(entries) <= VARIABLES)).all():
        raise ValueError(f"{numbers.path}: {key} must be ±1 to ±{VARIABLES}")
    return np.where(entries > 0, entries - 1, VARIABLES - 1 - entries)
