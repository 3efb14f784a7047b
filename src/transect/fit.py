"""Hyper-parameters from data, and a model of all evaluations so far.

``Surrogate`` is the recipe (kernel, one length-scale or ARD, priors, when to refit);
``Surrogate.advance`` turns a history into a ``Model``, refitting on a schedule and
extending the Cholesky factor in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Host, to_device, to_host
from ._checks import positive_number, whole_number
from ._clock import late
from ._threads import quiet_blas
from .gp import VARIANCE_FLOOR, GaussianProcess, Hyperparameters
from .kernels import KERNELS, Kernel, squared_distance
from .likelihood import LogPosterior, Priors, dimension_scaled, shrunk, shrunk_noisy
from .model import Model, extend_distances, grown

# Starting length-scales on [-1,1]^D as multiples of sqrt(D): √D/10, √D/5 and √D on the
# unit cube (published defaults for many dimensions), doubled for our box.
START_LENGTHSCALES = (0.2, 0.4, 2.0)
PRIORS: dict[str, Callable[[int], Priors]] = {
    "none": lambda D: Priors(),
    "dimension-scaled": dimension_scaled,
    "shrunk": shrunk,
    "shrunk-noisy": shrunk_noisy,
}
NEGLIGIBLE = 1e-4  # a step that gains less log posterior than this ends a climb
CHEAP = 2e4  # n² times length-scales up to which a first fit climbs from every start
ROUNDS, FEWER_ROUNDS = 60, 20  # of a climb, at most; and where they are expensive:
MOST_FITTED = 2000  # observations; more say little about hyper-parameters, for eight times the work
EXPENSIVE = 5e8  # n² times length-scales; a tenth more data start from what is nearly right
NEIGHBOURS = 4  # points next to a failed one that tell an accident from a region
CONSTANT = 1e-9  # standardised values that differ by less are one value and its rounding
WILD_VALUE = 5.0  # a value this many standard deviations out makes the old fit void


def load() -> None:
    """Import what fits need: it takes longer than many suggestions, so not in the first one."""
    import scipy.optimize  # noqa: F401

    with quiet_blas():
        pass


@dataclass(frozen=True)
class Refit:
    """Hyper-parameters from at most so many observations, 0 for those of before, in time."""

    most: int
    deadline: float | None = None


@dataclass(frozen=True)
class Surrogate:
    """How to model the objective.

    kernel: "matern52" or "rbf". ard: one length-scale per coordinate instead of one.
    prior: "none" (maximum likelihood), "dimension-scaled" or, for ARD, "shrunk" (length-scales
    that are alike and values without noise unless the data say otherwise) and "shrunk-noisy"
    (the same for values known to be noisy). noise_floor: least noise
    variance, in units of the values' variance. refit_always: refit at every step up to
    this many observations, afterwards each time they have grown by ``refit_growth``. known:
    (length-scale on [-1, 1]^D, variance of the function, variance of the noise), taken as they
    are, with a mean of 0, instead of anything fitted; what the theory assumes. clip: values
    further below the median than so many times the best one is above it count as that far below;
    how bad they are says little about where the best ones are.
    """

    kernel: str = "matern52"
    ard: bool = False
    prior: str = "none"
    noise_floor: float = 1e-6
    refit_always: int = 40
    refit_growth: float = 1.1
    known: tuple[float, float, float] | None = None
    clip: float | None = None

    def __repr__(self) -> str:
        """Without ``known`` and ``clip`` at None: stored results tell recipes by their texts."""
        later = ("known", "clip")
        shown = [
            f for f in fields(self) if f.name not in later or getattr(self, f.name) is not None
        ]
        return f"Surrogate({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in shown)})"

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {sorted(KERNELS)}, got {self.kernel!r}")
        if self.prior not in PRIORS:
            raise ValueError(f"prior must be one of {sorted(PRIORS)}, got {self.prior!r}")
        positive_number("noise_floor", self.noise_floor, below=1.0)
        whole_number("refit_always", self.refit_always, 0)
        if positive_number("refit_growth", self.refit_growth) <= 1.0:
            raise ValueError(f"refit_growth must be greater than 1, got {self.refit_growth}")
        if self.clip is not None:
            positive_number("clip", self.clip)
        if self.known is not None:
            if not isinstance(self.known, Sequence) or len(self.known) != 3:
                raise ValueError(
                    f"known must be (length-scale, variance, noise variance), got {self.known!r}"
                )
            for name, value in zip(("length-scale", "variance", "noise"), self.known, strict=True):
                positive_number(f"known {name}", value)

    def advance(
        self,
        previous: Model | None,
        X: Host,
        y: Host,
        device: Any | None = None,
        *,
        other_inputs: bool = False,
        refit: Refit | None = None,
    ) -> Model:
        """The model for all evaluations so far, X (n, D) and y (n,), y = nan for a failure.

        ``previous`` must be the model of a prefix of the same history; with ``other_inputs``,
        of the same values seen from other coordinates, whose hyper-parameters these share.
        Failed points take no part in the fit; afterwards they count with a low value (see
        _stand_ins). ``refit``: instead of the schedule's, where time is short.
        """
        ok = np.isfinite(y)
        y = self.clipped(y)
        if refit is None:
            due = previous is None or self.refit_is_due(previous, y[ok])
            refit = Refit(len(y) if due else 0)
        anew = previous is None or other_inputs or refit.most > 0
        # What a model is depends on the data, on when it was built and how it grew since then,
        # not on the models before; so distances are not taken over from those.
        known = None if anew else previous
        base = np.empty((0, 0)) if self.ard else extend_distances(known, X)
        if previous is None or refit.most:
            shift, scale = standardisation(y[ok]) if self.known is None else (0.0, 1.0)
            warm = None if previous is None else previous.gp.hyper
            u = _standardised(y, shift, scale)
            on = _spread(np.flatnonzero(ok), min(refit.most, MOST_FITTED))
            among = None if self.ard else base[np.ix_(on, on)]
            hyper = self.fit(X[on], u[on], warm, among, refit.deadline)
            fitted_on = min(int(np.count_nonzero(ok)), refit.most)
        else:
            shift, scale, fitted_on = previous.shift, previous.scale, previous.fitted_on
            u = _standardised(y, shift, scale)
            hyper = previous.gp.hyper
        u[~ok] = 0.0
        gp = grown(None if known is None else known.gp, hyper, X, u, base, device)
        if not np.all(ok):
            if self.known is None:  # not the last fit's, which failures took no part in
                gp = _with_mean(gp, _mean(gp, u, ok))
            u[~ok] = _stand_ins(gp, u, ok)
            if self.known is None:  # where nothing is known, much fails if much has failed
                gp = _with_mean(gp, _mean(gp, u, np.ones_like(ok)))
            gp = gp.with_values(to_device(u, device))
        sizes = () if known is None else known.sizes
        if not sizes or sizes[-1] < gp.n:
            sizes = (*sizes, gp.n)
        return Model(gp, shift, scale, fitted_on, base, sizes=sizes)

    def refit_is_due(self, previous: Model, y: Host) -> bool:
        """Whether the values y (n,), failures left out, have outgrown the last fit."""
        if self.known is not None:
            return False
        n, fitted_on = len(y), previous.fitted_on
        if n == fitted_on:
            return False
        wild = (
            np.abs(_standardised(self.clipped(y)[fitted_on:], previous.shift, previous.scale))
            > WILD_VALUE
        )
        return (
            n <= self.refit_always
            or n >= round(self.refit_growth * fitted_on, 9)
            or bool(np.any(wild))
        )

    def clipped(self, y: Host) -> Host:
        """The values y (n,), to be maximised, as they count; nan stays nan."""
        values = y[np.isfinite(y)]
        if self.clip is None or len(values) == 0:
            return y
        median, best = float(np.median(values)), float(np.max(values))
        # Halved, since a difference of values may overflow.
        least = median - 2.0 * self.clip * (0.5 * best - 0.5 * median)
        return np.maximum(y, least) if best > median and math.isfinite(least) else y

    def fit(
        self,
        X: Host,
        u: Host,
        warm: Hyperparameters | None = None,
        base: Host | None = None,
        deadline: float | None = None,
    ) -> Hyperparameters:
        """Best hyper-parameters for standardised values ``u`` (n,) at ``X`` (n, D).

        ``base`` (n, n) are the points' squared distances, where they are known. Several
        starting points are compared, and L-BFGS-B climbs from the best of them; from all,
        where that is cheap and there is no warm start. At ``deadline`` the best ones so far.
        """
        D = X.shape[1]
        kernel = KERNELS[self.kernel]
        if self.known is not None:
            lengthscale, amplitude, noise = self.known
            return Hyperparameters(kernel, np.array(lengthscale), amplitude, noise)
        priors = PRIORS[self.prior](D)
        size = D if self.ard else 1
        log_start = [math.log(c * math.sqrt(D)) for c in START_LENGTHSCALES]
        if len(u) < 3 or float(np.ptp(u)) < CONSTANT:  # nothing to learn from
            theta = np.array([log_start[1]] * size + [0.0, 0.0])
            return replace(_unpack(kernel, theta), noise=self.noise_floor)

        if base is None and not self.ard:
            base = squared_distance(X, X)
        posterior = LogPosterior(kernel, X, u, base, priors)
        log_noise = [math.log(max(v, self.noise_floor)) for v in priors.starting_noise]
        starts = [np.array([s] * size + [0.0, v]) for v in log_noise for s in log_start]
        if warm is not None:
            starts.insert(0, _pack(warm, size))
        bounds = _bounds(D, size, self.noise_floor, priors.learn_amplitude)
        # At least the first one, which a warm start is.
        tried = (s for i, s in enumerate(starts) if i == 0 or not late(deadline))
        scored = sorted(((posterior.value(s), i) for i, s in enumerate(tried)), reverse=True)
        cheap = warm is None and len(u) ** 2 * size <= CHEAP
        chosen = scored if cheap else scored[:1]
        climbs = [_climb(posterior, starts[i], value, bounds, deadline) for value, i in chosen]
        _, theta = max(climbs, key=lambda climb: climb[0])
        return replace(_unpack(kernel, theta), mean=posterior.mean(theta))


def _spread(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most so many of the rows, spread evenly over them."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.intp)]


def _stand_ins(gp: GaussianProcess, u: Host, ok: NDArray[np.bool_]) -> Host:
    """Values (f,) that failed points count with, in a process of all points and values u (n,).

    A failure next to successes says little about the function: it counts one standard
    deviation below what is expected there. One among failures, or where nothing is known to
    work, marks a region to leave: it counts as the worst value seen. In between, by the cube of
    the share of failed neighbours, or by how little is known of the place.
    """
    mean, var = _without(gp, u, ok)
    best, worst = float(np.max(u[ok])), float(np.min(u[ok]))
    worst = min(worst, best - math.sqrt(gp.hyper.amplitude))
    mild = np.clip(np.minimum(mean, best) - np.sqrt(var), worst, None)
    X = to_host(gp.X / gp.hyper.lengthscale)
    sq = squared_distance(X[~ok], X)  # (f, n)
    nearest = np.argsort(sq, axis=1)[:, 1 : 1 + NEIGHBOURS]  # the first is the point itself
    share = np.mean(~ok[nearest], axis=1) if nearest.shape[1] else np.zeros(len(mild))
    region = np.maximum(share, var / gp.hyper.amplitude) ** 3
    stand_ins: Host = mild + np.clip(region, 0.0, 1.0) * (worst - mild)
    return stand_ins


def _without(gp: GaussianProcess, u: Host, ok: NDArray[np.bool_]) -> tuple[Host, Host]:
    """Mean and variance (f,) of the function at failed points, expected by the others' u (n,).

    With Q = K⁻¹ these are m - Q_FF⁻¹ (Q(u - m))_F with u_F = m, and the diagonal of Q_FF⁻¹ without
    noise (Rasmussen & Williams 2006, Sec. 5.4.2, for one point): O(n²f) where another process of
    the others would take O(n³).
    """
    L_inv = to_host(gp.L_inv)
    Q_F = L_inv.T @ L_inv[:, ~ok]  # (n, f)
    inverse = np.linalg.inv(Q_F[~ok])
    mean = gp.hyper.mean - inverse @ (Q_F.T @ np.where(ok, u - gp.hyper.mean, 0.0))
    var = np.diagonal(inverse) - (gp.hyper.noise + gp.jitter)
    return mean, np.clip(var, VARIANCE_FLOOR * gp.hyper.amplitude, None)


def _with_mean(gp: GaussianProcess, mean: float) -> GaussianProcess:
    return replace(gp, hyper=replace(gp.hyper, mean=mean))


def _mean(gp: GaussianProcess, u: Host, of: NDArray[np.bool_]) -> float:
    """The likeliest mean of a process, by its values u (n,) at the points ``of`` (n,) alone.

    1ᵀP⁻¹u / 1ᵀP⁻¹1, where the covariance P of those points has the inverse Q_OO - Q_OF Q_FF⁻¹ Q_FO.
    """
    L_inv = to_host(gp.L_inv)
    both = np.stack([np.where(of, 1.0, 0.0), np.where(of, u, 0.0)], axis=1)  # (n, 2)
    whitened = L_inv @ both
    others = L_inv[:, ~of]  # (n, f)
    left_out = others.T @ whitened  # (f, 2)
    S = whitened.T @ whitened - left_out.T @ np.linalg.solve(others.T @ others, left_out)
    return float(S[0, 1] / S[0, 0])


def standardisation(y: Host) -> tuple[float, float]:
    """Mean and standard deviation of y (n,), safe for every finite value."""
    largest = float(np.max(np.abs(y)))
    if largest < 1e-305:  # zeros, or so near the end of the number range that steps have no digits
        return 0.0, 1.0
    u = y / largest  # squares of 1e300 overflow, of 1e-300 vanish
    shift, spread = float(np.mean(u)), float(np.std(u))
    if spread <= 1e-14:  # constant, up to rounding
        return shift * largest, largest
    return shift * largest, spread * largest


def _standardised(y: Host, shift: float, scale: float) -> Host:
    """(y - shift) / scale; halved first, since a difference of values may overflow."""
    return (0.5 * y - 0.5 * shift) / (0.5 * scale)


def _climb(
    posterior: LogPosterior,
    start: Host,
    value: float,
    bounds: list[tuple[float, float]],
    deadline: float | None,
) -> tuple[float, Host]:
    """One L-BFGS-B ascent from ``start``, where the posterior is ``value``; (value, θ)."""
    from scipy.optimize import minimize  # slow to import, and only needed once data is there

    if late(deadline):
        return value, start
    best = value, start

    def negative(theta: Host) -> tuple[float, Host]:
        nonlocal best
        value, grad = posterior(theta)
        if deadline is not None:
            best = max(best, (value, theta.copy()), key=lambda pair: pair[0])
            if late(deadline):
                raise TimeoutError
        # A matrix that cannot be factored is a wall; L-BFGS-B backs off from a large value.
        return (-value, -grad) if math.isfinite(value) else (1e25, grad)

    lower, upper = np.array(bounds).T
    rounds = ROUNDS if len(posterior.u) ** 2 * len(start) <= EXPENSIVE else FEWER_ROUNDS
    # L-BFGS-B stops by a gain relative to the value; ours is to be absolute.
    size = max(len(posterior.u), abs(value)) if math.isfinite(value) else len(posterior.u)
    try:
        result = minimize(
            negative,
            np.clip(start, lower, upper),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": rounds, "ftol": NEGLIGIBLE / size, "gtol": 1e-4},
        )
    except TimeoutError:
        return best
    return -float(result.fun), np.asarray(result.x)


def _bounds(
    D: int, size: int, noise_floor: float, learn_amplitude: bool
) -> list[tuple[float, float]]:
    root = math.sqrt(D)
    lengthscale = (math.log(0.01 * root), math.log(100.0 * root))
    amplitude = (math.log(1e-2), math.log(1e2)) if learn_amplitude else (0.0, 0.0)
    noise = (math.log(noise_floor), 0.0)
    return [lengthscale] * size + [amplitude, noise]


def _pack(hyper: Hyperparameters, size: int) -> Host:
    log_l = np.log(np.broadcast_to(to_host(hyper.lengthscale), (size,)))
    return np.concatenate([log_l, [math.log(hyper.amplitude), math.log(hyper.noise)]])


def _unpack(kernel: Kernel, theta: Host) -> Hyperparameters:
    """θ = (log ℓ [1 or D], log a, log noise) as hyper-parameters."""
    lengthscale = np.exp(theta[:-2])
    if len(lengthscale) == 1:
        lengthscale = lengthscale.reshape(())
    return Hyperparameters(kernel, lengthscale, math.exp(theta[-2]), math.exp(theta[-1]))
