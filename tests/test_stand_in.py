"""The recipe of the stand-in: on scikit-learn's digits, and on MNIST if it is at hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from transect.problems import datasets
from transect.problems.data import VARIABLE, Numbers
from transect.problems.datasets import Facts, Images, TwoClasses
from transect.problems.stand_in import stand_in

DATA = Path(os.environ.get(VARIABLE, Path(__file__).parents[2] / "shared" / "data"))
FILES = ("mnist/train-images-idx3-ubyte.gz", "gisette_like/gisette_like.npz")
SMALL = Facts("digits-like", 500, (150, 30), ())


@dataclass(frozen=True)
class Edition:
    """A stand-in, what it is made of, and what is known about it."""

    name: str
    facts: Facts
    images: Images
    arrays: Mapping[str, NDArray[Any]]

    @property
    def both(self) -> TwoClasses:
        return datasets._two_classes(self.facts, Numbers(self.name, self.arrays))

    @property
    def X(self) -> NDArray[np.uint16]:
        """Training and validation examples (L, p)."""
        return np.vstack([self.both.train.X.toarray(), self.both.valid.X.toarray()])

    @property
    def rows(self) -> NDArray[np.int32]:
        """The images (L,) of the examples."""
        return np.concatenate([self.arrays[f"{part}_mnist_id"] for part in ("train", "valid")])


@pytest.fixture(scope="module", params=["digits", "made here of MNIST", "handed round"])
def edition(request: pytest.FixtureRequest) -> Edition:
    """The same checks run on all; those of MNIST need files, or say where they were sought."""
    name = request.param
    if name == "digits":
        images, facts = datasets.digits(), SMALL
        return Edition(name, facts, images, datasets._stand_in(facts, images))
    for file in FILES:
        if not (DATA / file).is_file():
            pytest.skip(f"{file} is not in {DATA}; set {VARIABLE} to test on published data")
    images, facts = datasets.mnist(DATA), datasets.GISETTE_LIKE
    if name == "handed round":
        return Edition(name, facts, images, Numbers.read(DATA / FILES[1]).arrays)
    return Edition(name, facts, images, datasets._stand_in(facts, images))


def recipe(images: Images, rows: NDArray[Any], info: NDArray[Any]) -> NDArray[np.float64]:
    """Features (L, f) of images by the published recipe, written down once more."""
    scaled = images.pixels[rows] / images.levels
    scaled[scaled < 0.5] = 0
    a, b = scaled[:, info[:, 1]], scaled[:, info[:, 2]]
    result: NDArray[np.float64] = np.rint(999 * np.where(info[:, 0] == 0, a, a * b))
    return result


def test_classes_and_images(edition: Edition) -> None:
    labels = edition.images.labels[edition.rows]
    y = np.concatenate([edition.both.train.y, edition.both.valid.y])
    assert set(labels.tolist()) == {4, 9}
    assert np.array_equal(y, np.where(labels == 4, 1, -1))
    assert len(np.unique(edition.rows)) == len(edition.rows) == 2 * sum(edition.facts.each)
    changes = (np.diff(edition.both.train.y) != 0).mean()
    assert changes == pytest.approx(0.5, abs=0.1)  # in random order


def test_pixels_and_pairs_follow_the_recipe_exactly(edition: Edition) -> None:
    info = edition.arrays["feat_info"]
    measured = np.flatnonzero(info[:, 0] != 2)
    X = edition.X
    for columns in np.array_split(measured, 5):  # five times less memory
        assert np.array_equal(X[:, columns], recipe(edition.images, edition.rows, info[columns]))


def test_probes_have_the_values_of_other_images(edition: Edition) -> None:
    """Of some fours and nines, each image at most once, and not of the example's own."""
    info, labels = edition.arrays["feat_info"], edition.images.labels
    probes = np.flatnonzero(info[:, 0] == 2)[:100]
    either = np.flatnonzero((labels == 4) | (labels == 9))
    there = recipe(edition.images, either, info[probes]).astype(int)
    own = recipe(edition.images, edition.rows, info[probes])
    got = edition.X[:, probes]
    for j in range(len(probes)):
        left = np.bincount(there[:, j], minlength=1000) - np.bincount(got[:, j], minlength=1000)
        assert (left >= 0).all()
    for k in np.flatnonzero((got > 0).mean(axis=0) > 0.1):
        assert abs(np.corrcoef(own[:, k], got[:, k])[0, 1]) < 6 * len(own) ** -0.5


def test_features(edition: Edition) -> None:
    """All live pixels, distinct pairs to the half of the features, the rest probes, mixed."""
    labels, levels = edition.images.labels, edition.images.levels
    ink = edition.images.pixels[(labels == 4) | (labels == 9)] >= levels / 2
    live = np.flatnonzero(ink.any(axis=0))
    info, half = edition.arrays["feat_info"], edition.facts.features // 2
    pixels, pairs, probes = (info[info[:, 0] == kind, 1:] for kind in (0, 1, 2))
    assert (len(pixels), len(pairs), len(probes)) == (len(live), half - len(live), half)
    assert np.array_equal(np.sort(pixels[:, 0]), live)
    drawn = np.vstack([pairs, probes])
    assert (drawn[:, 0] < drawn[:, 1]).all()
    assert len(np.unique(drawn, axis=0)) == len(drawn)
    assert np.isin(drawn, live).all()
    assert (info[:half, 0] == 2).mean() == pytest.approx(0.5, abs=0.1)
    if levels == 255:  # pairs lie around the middle of the upper part
        assert len(live) == 595
        row, column = drawn.ravel() // 28, drawn.ravel() % 28
        assert [row.mean(), column.mean()] == pytest.approx([10.35, 13.5], abs=0.15)
        assert [row.std(), column.std()] == pytest.approx([3.83, 3.94], abs=0.1)


def test_probes_say_nothing_about_the_class_nor_about_each_other(edition: Edition) -> None:
    X, y = edition.both.train.X.toarray()[:, :1000], edition.both.train.y
    varied = (X > 0).mean(axis=0) > 0.1  # else a single image counts too much
    table = np.abs(np.corrcoef(X[:, varied].T, y))  # (f + 1, f + 1)
    probe = np.append(edition.arrays["feat_info"][:1000, 0][varied] == 2, False)
    noise = len(y) ** -0.5
    assert probe.sum() > 100
    assert np.median(table[-1, probe]) < noise
    assert table[-1, probe].max() < 5 * noise
    assert table[-1, :-1][~probe[:-1]].max() > 0.5
    among = table[np.ix_(probe, probe)][np.triu_indices(probe.sum(), 1)]
    assert np.median(among) < noise
    assert among.max() < 6 * noise


def test_what_is_made_here_is_always_the_same() -> None:
    both = datasets.digits_like()
    assert both.name == "digits-like"
    assert [int(s.X.sum(dtype=np.int64)) for s in (both.train, both.valid)] == [28362960, 5599053]
    again = datasets.digits_like()
    assert np.array_equal(again.valid.X.toarray(), both.valid.X.toarray())
    assert np.array_equal(again.train.y, both.train.y)


@pytest.mark.parametrize("features", [2, 7, 120, 800])
def test_any_number_of_features(features: int) -> None:
    both = datasets.digits_like(features)
    assert (both.train.X.shape, both.valid.X.shape) == ((300, features), (60, features))


def test_impossible_stand_ins_are_refused() -> None:
    with pytest.raises(ValueError, match="features must be an integer of at least 2"):
        datasets.digits_like(1)
    with pytest.raises(ValueError, match=r"live pixels have \d+ pairs, \d+ are needed"):
        datasets.digits_like(5000)
    images = datasets.digits()
    with pytest.raises(ValueError, match="200 fours and nines are needed, there are 181 and 180"):
        stand_in(images.pixels, images.labels, 16, 100, (150, 50), 0)
