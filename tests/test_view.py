"""What a view computes without D equals the posterior at the full points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers import make_gp, numeric_gradient
from transect._array import Host
from transect.acquisition import UCB, Acquisition, LogEI
from transect.gp import GaussianProcess
from transect.subspace import Slices, Subspace
from transect.view import LONG, View

D = 6
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """A view and, for coordinates v on its subspaces, the points of [-1, 1]^D they are."""

    view: View
    point: Callable[[Host, Rows], Host]  # (p, d), (p,) -> (p, D)
    V: Host  # (p, d)
    rows: Rows  # (p,)


def on_subspace(gp: GaussianProcess, subspace: Subspace) -> Case:
    rng = np.random.default_rng(1)
    V = rng.uniform(subspace.lower, subspace.upper, (12, subspace.d))
    view = View.of_subspace(gp, subspace)
    return Case(view, lambda v, rows: subspace.point(v), V, np.zeros(12, dtype=np.int64))


def on_slices(gp: GaussianProcess, slices: Slices) -> Case:
    rng = np.random.default_rng(1)
    z = slices.z(10, 14)
    V, rows = rng.uniform(-1.0, 1.0, (12, slices.d)), rng.integers(4, size=12)
    return Case(View.of_slices(gp, slices, z), lambda v, r: slices.point(z[r], v), V, rows)


def whole_box(gp: GaussianProcess) -> Case:
    return on_subspace(gp, Subspace.whole(D))


def segment(gp: GaussianProcess) -> Case:
    rng = np.random.default_rng(2)
    return on_subspace(gp, Subspace.segment(rng.uniform(-1.0, 1.0, D), rng.normal(size=D)))


def segment_through_an_observation(gp: GaussianProcess) -> Case:
    return on_subspace(gp, Subspace.segment(gp.X[0], np.eye(D)[2]))


def embedding(gp: GaussianProcess) -> Case:
    """Three columns, neither orthogonal nor of equal length."""
    rng = np.random.default_rng(3)
    basis = rng.uniform(-1.0, 1.0, (D, 3)) * np.array([0.05, 0.1, 0.2])
    offset = rng.uniform(-0.5, 0.5, D)
    return on_subspace(gp, Subspace(offset, basis, np.full(3, -1.0), np.full(3, 1.0)))


def slices_of_two(gp: GaussianProcess) -> Case:
    return on_slices(gp, Slices(D, 2, 5))


def slices_of_two_permuted(gp: GaussianProcess) -> Case:
    return on_slices(gp, Slices(D, 2, 5, np.random.default_rng(4).permutation(D)))


def slices_that_are_points(gp: GaussianProcess) -> Case:
    return on_slices(gp, Slices(D, 0, 5))


def slices_that_are_the_box(gp: GaussianProcess) -> Case:
    return on_slices(gp, Slices(D, D, 5))


CASES = [
    whole_box,
    segment,
    segment_through_an_observation,
    embedding,
    slices_of_two,
    slices_of_two_permuted,
    slices_that_are_points,
    slices_that_are_the_box,
]
every_view = pytest.mark.parametrize("case", CASES)
both_kernels = pytest.mark.parametrize("kernel", ["matern52", "rbf"])
both_scales = pytest.mark.parametrize("ard", [False, True])
both_acquisitions = pytest.mark.parametrize("acquisition", [UCB(4.0), LogEI(0.8)])


@both_acquisitions
@both_scales
@both_kernels
@every_view
def test_values_are_those_at_the_full_points(
    case: Callable[[GaussianProcess], Case], kernel: str, ard: bool, acquisition: Acquisition
) -> None:
    gp = make_gp(kernel, n=15, D=D, ard=ard)
    c = case(gp)
    expected = acquisition.value(*gp.posterior(c.point(c.V, c.rows)))
    plain = c.view.value(acquisition, c.V, c.rows)
    np.testing.assert_allclose(plain, expected, rtol=0.0, atol=1e-11)
    value, _ = c.view.objective(acquisition)(c.V, c.rows)
    np.testing.assert_allclose(value, expected, rtol=0.0, atol=1e-11)


@both_scales
@every_view
def test_distances_are_those_of_the_full_points(
    case: Callable[[GaussianProcess], Case], ard: bool
) -> None:
    gp = make_gp(n=15, D=D, ard=ard)
    c = case(gp)
    sq, _ = c.view.sq(c.V, c.rows)
    gap = (c.point(c.V, c.rows)[:, None, :] - gp.X[None, :, :]) / gp.hyper.lengthscale
    np.testing.assert_allclose(sq, np.sum(gap**2, axis=2), rtol=0.0, atol=1e-13)
    assert np.all(sq >= 0.0)


@both_acquisitions
@both_scales
@both_kernels
@pytest.mark.parametrize("case", [c for c in CASES if c is not slices_that_are_points])
def test_gradient_is_the_derivative_along_the_subspace(
    case: Callable[[GaussianProcess], Case], kernel: str, ard: bool, acquisition: Acquisition
) -> None:
    gp = make_gp(kernel, n=15, D=D, ard=ard)
    c = case(gp)
    V = 0.9 * c.V  # so that the differences' steps stay in the box
    _, grad = c.view.objective(acquisition)(V, c.rows)

    def value(v: Host) -> Host:
        return np.asarray(acquisition.value(*gp.posterior(c.point(v, c.rows))))

    # Values are good to 1e-14 or so, which the step divides; it is short because σ bends
    # sharply close to an observation.
    numeric = numeric_gradient(value, V, 2e-4)
    np.testing.assert_allclose(grad, numeric, rtol=1e-8, atol=1e-8)


@both_scales
def test_gradient_at_an_observation(ard: bool) -> None:
    gp = make_gp(n=15, D=D, ard=ard)
    view = View.of_subspace(gp, Subspace.whole(D))
    value, grad = view.objective(UCB(4.0))(gp.X.copy(), np.zeros(15, dtype=np.int64))
    mean, var, d_mean, d_var = gp.posterior_grad(gp.X)
    _, by_mean, by_var = UCB(4.0).partials(mean, var)
    expected = by_mean[:, None] * d_mean + by_var[:, None] * d_var
    np.testing.assert_allclose(value, UCB(4.0).value(mean, var), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(grad, expected, rtol=0.0, atol=1e-11)


@both_scales
def test_slices_from_known_distances(ard: bool) -> None:
    gp, slices = make_gp(n=15, D=D, ard=ard), Slices(D, 2, 5)
    z = slices.z(0, 4)
    scale = np.broadcast_to(gp.hyper.lengthscale, (D,))[:4]
    c = np.sum(((z[:, None, :] - gp.X[None, :, :4]) / scale) ** 2, axis=2)
    one, other = View.of_distances(gp, slices, c), View.of_slices(gp, slices, z)
    V, rows = np.random.default_rng(0).uniform(-1.0, 1.0, (9, 2)), np.arange(9) % 4
    for a, b in zip(
        one.objective(UCB(1.0))(V, rows), other.objective(UCB(1.0))(V, rows), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-11)


# --- long subspaces, which are seen without a copy of the data ------------------------------

MANY = LONG + 24


def long_box() -> Subspace:
    return Subspace.whole(MANY)


def long_segment() -> Subspace:
    rng = np.random.default_rng(2)
    return Subspace.segment(rng.uniform(-0.5, 0.5, MANY), rng.normal(size=MANY))


def long_edge() -> Subspace:
    return Subspace.segment(np.random.default_rng(4).uniform(-1.0, 1.0, MANY), np.eye(MANY)[7])


def long_embedding() -> Subspace:
    """Columns that are neither orthogonal nor of equal length, and an offset."""
    rng = np.random.default_rng(3)
    basis = rng.uniform(-1.0, 1.0, (MANY, 3)) * np.array([0.05, 0.1, 0.2])
    return Subspace(rng.uniform(-0.5, 0.5, MANY), basis, np.full(3, -1.0), np.full(3, 1.0))


def long_embedding_at_the_centre() -> Subspace:
    return replace(long_embedding(), offset=np.zeros(MANY))


every_long = pytest.mark.parametrize(
    "subspace", [long_box, long_segment, long_edge, long_embedding, long_embedding_at_the_centre]
)


@both_acquisitions
@both_scales
@both_kernels
@every_long
def test_values_on_long_subspaces(
    subspace: Callable[[], Subspace], kernel: str, ard: bool, acquisition: Acquisition
) -> None:
    gp = make_gp(kernel, n=15, D=MANY, ard=ard)
    c = on_subspace(gp, subspace())
    expected = acquisition.value(*gp.posterior(c.point(c.V, c.rows)))
    plain = c.view.value(acquisition, c.V, c.rows)
    np.testing.assert_allclose(plain, expected, rtol=0.0, atol=1e-10)
    value, _ = c.view.objective(acquisition)(c.V, c.rows)
    np.testing.assert_allclose(value, expected, rtol=0.0, atol=1e-10)


@both_scales
@every_long
def test_distances_on_long_subspaces(subspace: Callable[[], Subspace], ard: bool) -> None:
    gp = make_gp(n=15, D=MANY, ard=ard)
    c = on_subspace(gp, subspace())
    sq, _ = c.view.sq(c.V, c.rows)
    gap = (c.point(c.V, c.rows)[:, None, :] - gp.X[None, :, :]) / gp.hyper.lengthscale
    np.testing.assert_allclose(sq, np.sum(gap**2, axis=2), rtol=0.0, atol=1e-12)
    assert np.all(sq >= 0.0)


@both_acquisitions
@both_scales
@both_kernels
@every_long
def test_gradients_on_long_subspaces(
    subspace: Callable[[], Subspace], kernel: str, ard: bool, acquisition: Acquisition
) -> None:
    """Along a few random directions: differences in all of them would take long."""
    gp = make_gp(kernel, n=15, D=MANY, ard=ard)
    c = on_subspace(gp, subspace())
    V = 0.9 * c.V  # so that the differences' steps stay in the box
    _, grad = c.view.objective(acquisition)(V, c.rows)
    directions = np.random.default_rng(5).normal(size=(V.shape[1], 3))
    directions /= np.max(np.abs(directions))

    def value(s: Host) -> Host:
        return np.asarray(acquisition.value(*gp.posterior(c.point(V + s @ directions.T, c.rows))))

    numeric = numeric_gradient(value, np.zeros((len(V), 3)), 2e-3)
    np.testing.assert_allclose(grad @ directions, numeric, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("size", "ard", "copied"), [
    (LONG - 1, False, True), (LONG, False, False), (LONG - 1, True, True), (LONG, True, False),
])  # fmt: skip
def test_from_some_length_on_the_data_are_not_copied(size: int, ard: bool, copied: bool) -> None:
    gp = make_gp(n=15, D=size, ard=ard)
    view = View.of_subspace(gp, Subspace.whole(size))
    assert np.shares_memory(view.u, gp.X) is not copied


@both_scales
def test_a_long_view_leaves_the_data_alone(ard: bool) -> None:
    gp = make_gp(n=15, D=MANY, ard=ard)
    gp.X.flags.writeable = False
    gp.norm.flags.writeable = False
    for subspace in (long_box(), long_segment(), long_embedding()):
        c = on_subspace(gp, subspace)
        c.view.value(UCB(4.0), c.V, c.rows)
        c.view.objective(UCB(4.0))(c.V, c.rows)
    assert np.array_equal(gp.X, make_gp(n=15, D=MANY, ard=ard).X)


def test_a_long_box_that_is_not_at_the_centre() -> None:
    shifted = Subspace(np.full(MANY, 0.1), None, np.full(MANY, -0.9), np.full(MANY, 0.9))
    gp = make_gp(n=15, D=MANY)
    c = on_subspace(gp, shifted)
    expected = UCB(4.0).value(*gp.posterior(c.point(c.V, c.rows)))
    np.testing.assert_allclose(c.view.value(UCB(4.0), c.V, c.rows), expected, atol=1e-10)


def test_the_scale_is_how_fast_the_model_changes() -> None:
    gp = make_gp(n=15, D=D, ard=True)
    rates = 1.0 / gp.hyper.lengthscale
    relative = rates / np.exp(np.mean(np.log(rates)))
    np.testing.assert_allclose(whole_box(gp).view.scale, relative, rtol=1e-12)
    scale = slices_of_two_permuted(gp).view.scale
    assert scale.shape == (2,)
    assert np.prod(scale) == pytest.approx(1.0)
    assert segment(gp).view.scale == embedding(gp).view.scale == 1.0
    assert whole_box(make_gp(n=15, D=D)).view.scale == 1.0
    long = make_gp(n=15, D=MANY, ard=True)
    rates = 1.0 / long.hyper.lengthscale
    got = on_subspace(long, long_box()).view.scale
    np.testing.assert_allclose(got, rates / np.exp(np.mean(np.log(rates))), rtol=1e-10)
