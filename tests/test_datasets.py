"""Data sets: on small made-up ones always, and on the published ones if they are at hand."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import (
    LOADERS,
    MNIST_FILES,
    STAND_IN,
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    Patch,
    World,
    check_form,
    flipped,
    isolate,
    make_up,
)
from transect.problems import data, datasets
from transect.problems.data import CACHE_VARIABLE, VARIABLE

BESIDE = Path(__file__).parents[2] / "shared" / "data"
PUBLISHED = os.environ.get(VARIABLE, str(BESIDE))  # before a test takes the variable away


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: Patch) -> Path:
    return isolate(tmp_path, monkeypatch)


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: Patch) -> World:
    return make_up(tmp_path, monkeypatch)


@pytest.fixture(params=["made up", "published"])
def world(request: pytest.FixtureRequest) -> World:
    """The made-up data, and the published ones or a skip that says where they were sought."""
    if request.param == "made up":
        found: World = request.getfixturevalue("made_up")
        return found
    folder = Path(PUBLISHED)
    missing = [name for name in (*MNIST_FILES, STAND_IN) if not (folder / name).is_file()]
    if missing:
        pytest.skip(f"{missing[0]} is not in {folder}; set {VARIABLE} to test on published data")
    return World(folder, (), ())


# --- MNIST and the digits ------------------------------------------------------------


def test_the_facts_are_the_published_ones() -> None:
    train, test = datasets.MNIST
    assert train.counts == (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
    assert test.counts == (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)
    mean, deviation = 0.1307, 0.3081  # what everybody normalises by
    assert train.total / (60000 * 784 * 255) == pytest.approx(mean, abs=5e-5)
    assert test.total / (10000 * 784 * 255) == pytest.approx(mean, abs=deviation / 100)
    assert datasets.GISETTE.totals == ((3_197_297_133, 529_310_977),)
    assert datasets.GISETTE_LIKE.totals[0] == (3_233_232_027, 537_118_592)
    for facts in (datasets.GISETTE, datasets.GISETTE_LIKE):
        assert (facts.features, facts.each) == (5000, (3000, 500))


def test_mnist_from_its_files(world: World) -> None:
    images = datasets.mnist(world.folder)
    first = sum(datasets.MNIST[0].counts)
    n = first + sum(datasets.MNIST[1].counts)
    assert (images.name, images.levels, images.pixels.shape) == ("mnist", 255, (n, 784))
    assert [images.pixels.dtype, images.labels.dtype] == [np.dtype("u1"), np.dtype("i8")]
    if world.pixels:
        assert np.array_equal(images.pixels, np.concatenate(world.pixels))
        assert np.array_equal(images.labels, np.concatenate(world.labels))
    else:
        assert images.labels[:5].tolist() == [5, 0, 4, 1, 9]
        assert images.labels[first : first + 5].tolist() == [7, 2, 1, 0, 4]
        assert images.pixels[0].reshape(28, 28)[5, 12:16].tolist() == [3, 18, 18, 18]


def test_mnist_may_be_unpacked(made_up: World) -> None:
    expected = datasets.mnist(made_up.folder)
    for name in MNIST_FILES:
        packed = made_up.folder / name
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    assert np.array_equal(datasets.mnist(made_up.folder).pixels, expected.pixels)


def test_digits() -> None:
    images = datasets.digits()
    assert (images.name, images.levels, images.pixels.shape) == ("digits", 16, (1797, 64))
    assert [images.pixels.dtype, images.labels.dtype] == [np.dtype("u1"), np.dtype("i8")]
    assert (images.pixels.max(), int(images.pixels.sum(dtype=int))) == (16, 561718)
    counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(images.labels).tolist() == counts


# --- two classes ---------------------------------------------------------------------


def test_gisette_from_its_files(made_up: World) -> None:
    both = datasets.gisette(made_up.folder)
    check_form(both, 12, (5, 2))
    assert both.name == "gisette"
    for i, split in enumerate((both.train, both.valid)):
        assert np.array_equal(split.X.toarray(), made_up.gisette[2 * i])
        assert np.array_equal(split.y, made_up.gisette[2 * i + 1])


def test_the_stand_in_from_its_file(world: World) -> None:
    both = datasets.gisette_like(world.folder)
    assert both.name == "gisette-like"
    check_form(both, datasets.GISETTE_LIKE.features, datasets.GISETTE_LIKE.each)


# --- wrong files ---------------------------------------------------------------------


def repacked(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda content: gzip.compress(change(gzip.decompress(content)))


DAMAGE: list[tuple[str, Callable[[bytes], bytes], str]] = [
    (TRAIN_IMAGES, lambda c: c[: len(c) // 2], "is damaged"),
    (TRAIN_IMAGES, flipped, "is damaged"),
    (TEST_LABELS, lambda c: c[:-3], "is damaged"),
    (TEST_IMAGES, lambda c: b"", "must begin with bytes 00 00 08 03, found none"),
    (TRAIN_LABELS, lambda c: b"<html>", "must begin with bytes 00 00 08 01, found 3c 68 74 6d"),
    (TRAIN_LABELS, repacked(lambda c: c[:6]), "found 0 bytes"),
    (TRAIN_IMAGES, repacked(lambda c: c[:-1]), r"entries of shape \(90, 28, 28\), found 70559"),
    (TRAIN_LABELS, repacked(lambda c: c[:8] + bytes(90)), r"digits 0 to 9 must be \(3, .*\(90, 0"),
    (TEST_LABELS, repacked(lambda c: c[:-1] + b"\x0a"), "labels must be .* 0 to 9 .* to 10"),
    (TEST_IMAGES, repacked(lambda c: c[:-1] + b"\x01"), "sum of all pixels must be"),
    (STAND_IN, lambda c: c[: len(c) // 2], "is damaged"),
    (STAND_IN, flipped, "is damaged"),
    ("gisette/gisette_train.data", lambda c: c[:-9], "10 rows of 12 numbers, found 1"),
    ("gisette/gisette_train.data", lambda c: c.replace(b"0", b"x", 1), "is damaged or no text"),
    ("gisette/gisette_valid.data", lambda c: b"\xff\xfe" + c, "is damaged or no text"),
    ("gisette/gisette_valid.data", lambda c: c.replace(b" 0 ", b" 1 ", 1), "sum of valid_data"),
    ("gisette/gisette_valid.data", lambda c: c.replace(b" 0 ", b" -7 ", 1), "0 to 999 .* from -7"),
    ("gisette/gisette_valid.labels", lambda c: c.replace(b"-1", b"1", 1), r"found \(3, 1\)"),
    ("gisette/gisette_train.labels", lambda c: c.replace(b"-1", b"-2", 1), "-1 to 1 .* from -2"),
]


@pytest.mark.parametrize(("name", "change", "message"), DAMAGE)
def test_a_damaged_file_is_named(
    name: str, change: Callable[[bytes], bytes], message: str, made_up: World
) -> None:
    load = {"mnist": datasets.mnist, "gisette": datasets.gisette}
    path = made_up.folder / name
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=message) as caught:
        load.get(name.split("/")[0], datasets.gisette_like)(made_up.folder)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (TRAIN_IMAGES, TRAIN_LABELS, "must begin with bytes 00 00 08 03, found 00 00 08 01"),
        (
            TRAIN_IMAGES,
            TEST_IMAGES,
            r"pixels must be .* \(90, 784\), found .* \(30, 784\)",
        ),
        (TRAIN_LABELS, TEST_LABELS, r"labels must be .* of shape \(90,\), found .* \(30,\)"),
        ("gisette/gisette_train.data", "gisette/gisette_valid.data", "10 rows .* found 48 numbers"),
        ("gisette/gisette_train.data", "gisette/gisette_train.labels", "12 numbers, found 10 numb"),
    ],
)
def test_swapped_files_are_noticed(first: str, second: str, message: str, made_up: World) -> None:
    one, other = made_up.folder / first, made_up.folder / second
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        (datasets.mnist if first.startswith("mnist") else datasets.gisette)(made_up.folder)
    assert str(one) in str(caught.value)


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("train_data", None, "has no array 'train_data'"),
        ("train_data", lambda a: a / 2, "train_data must be whole numbers from 1 to 999"),
        ("train_data", lambda a: a * 2, "train_data must be whole numbers .* from .* to 1998"),
        ("valid_data", lambda a: np.minimum(a + 1, 999), "sum of valid_data must be .*, found"),
        ("valid_data", lambda a: a.astype("U3"), "valid_data must be whole numbers"),
        ("train_y", lambda a: a[1:], r"train_y must be .* shape \(80,\), found int8 of .*79"),
        ("valid_y", lambda a: -np.abs(a), r"\+1 and -1 in valid_y must be \(7, 7\), found \(0, 14"),
        ("train_indices", lambda a: a + 1, "train_indices must be .* 0 to 299 .* to 300"),
        ("train_indices", lambda a: a[::-1].copy(), "train_indices must rise within each row"),
        ("train_indptr", lambda a: a[::-1].copy(), "train_indptr must rise from 0"),
        ("train_indptr", lambda a: np.maximum(a, 1), "train_indptr must rise from 0"),
        ("train_indptr", lambda a: np.minimum(a, a[-1] - 1), "train_indptr must rise from 0"),
        ("valid_indptr", lambda a: a[:-1], "valid_indptr must be whole numbers"),
    ],
)
def test_a_wrong_stand_in_is_named(
    key: str, change: Callable[[Any], Any] | None, message: str, made_up: World
) -> None:
    path = made_up.folder / STAND_IN
    with np.load(path) as file:
        arrays = {k: file[k] for k in file.files if k != key or change}
    if change:
        arrays[key] = change(arrays[key])
    data.keep(path, arrays)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.gisette_like(made_up.folder)
    assert str(path) in str(caught.value)


def test_nothing_is_unpickled(made_up: World, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "sprung",)

    path = made_up.folder / STAND_IN
    np.savez(path, train_y=np.array([Trap()], dtype=object))
    with pytest.raises(ValueError, match="is damaged"):
        datasets.gisette_like(made_up.folder)
    assert not (tmp_path / "sprung").exists()


# --- which source --------------------------------------------------------------------


@pytest.mark.parametrize("name", LOADERS)
def test_the_folder_may_come_from_the_environment(
    name: str, made_up: World, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv(VARIABLE, str(made_up.folder))
    assert LOADERS[name]().name == name.replace("_", "-")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=f"not in {tmp_path / 'empty'}: ") as caught:
        LOADERS[name](tmp_path / "empty")  # the folder given goes first, and must have it
    first = {"mnist": "mnist/train-images", "gisette": "gisette/gisette_train.data"}
    assert first.get(name, STAND_IN) in str(caught.value)


def test_half_a_data_set_is_no_reason_to_download(made_up: World, monkeypatch: Patch) -> None:
    monkeypatch.setenv(VARIABLE, str(made_up.folder))
    (made_up.folder / TEST_LABELS).unlink()
    with pytest.raises(FileNotFoundError, match=f"not in {made_up.folder}: mnist/t10k-labels"):
        datasets.mnist()


def test_the_stand_in_is_made_of_mnist_and_kept(
    made_up: World, own_cache: Path, monkeypatch: Patch
) -> None:
    (made_up.folder / STAND_IN).unlink()
    monkeypatch.setattr(datasets, "SEED", 1)  # that of the made-up facts
    first = datasets.gisette_like(made_up.folder)
    assert [path.name for path in own_cache.iterdir()] == ["gisette_like.npz"]
    monkeypatch.setattr(datasets, "SEED", 2)
    again = datasets.gisette_like(made_up.folder)  # not made anew
    assert np.array_equal(first.train.X.toarray(), again.train.X.toarray())
    (own_cache / "gisette_like.npz").unlink()
    with pytest.raises(ValueError, match="the stand-in made of MNIST: the sum of train_data"):
        datasets.gisette_like(made_up.folder)
    assert not any(own_cache.iterdir())


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    made_up: World, tmp_path: Path, monkeypatch: Patch
) -> None:
    (made_up.folder / STAND_IN).unlink()
    monkeypatch.setattr(datasets, "SEED", 1)
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match=f"gisette_like is not kept .*{CACHE_VARIABLE}"):
        assert datasets.gisette_like(made_up.folder).name == "gisette-like"


def test_where_the_cache_is(monkeypatch: Patch, tmp_path: Path) -> None:
    assert data.cache() == tmp_path / "cache"
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data.cache() == tmp_path / "transect"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data.cache() == Path.home() / ".cache" / "transect"
