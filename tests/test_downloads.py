"""Downloads of data sets, from a stand-in for OpenML, and what is kept of them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import tqdm
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from made_up import (
    LOADERS,
    MNIST_FILES,
    Fake,
    Patch,
    World,
    check_form,
    fake,
    flipped,
    isolate,
    make_up,
)
from transect.problems import data, datasets
from transect.problems.data import VARIABLE


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: Patch) -> Path:
    return isolate(tmp_path, monkeypatch)


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: Patch) -> World:
    return make_up(tmp_path, monkeypatch)


def answer_of(world: World, name: str, sparse: bool = False) -> tuple[Any, NDArray[Any]]:
    """What OpenML gives: numbers as floats, labels as words."""
    if name == "mnist":
        X: Any = np.concatenate(world.pixels).astype(float)
        y: NDArray[Any] = np.concatenate(world.labels).astype(str).astype(object)
    else:
        X = np.vstack(world.gisette[0::2]).astype(float)
        y = np.concatenate(world.gisette[1::2]).astype(str).astype(object)
    if sparse:  # with a zero that is stored
        X = csr_matrix(X + np.eye(*X.shape) * (X == 0))
        X.data[X.data == 1] = 0
    return X, y


@pytest.mark.parametrize(("name", "sparse"), [("mnist", 0), ("gisette", 0), ("gisette", 1)])
def test_downloads_are_checked_and_kept(
    name: str, sparse: bool, made_up: World, own_cache: Path, monkeypatch: Patch
) -> None:
    fetch = fake(monkeypatch, answer_of(made_up, name, sparse), written=10)
    monkeypatch.setenv(VARIABLE, str(own_cache))  # a folder that does not have it
    got, expected = LOADERS[name](), LOADERS[name](made_up.folder)
    again = LOADERS[name]()
    assert fetch.calls == [{"mnist": ("mnist_784", 1), "gisette": ("gisette", "active")}[name]]
    assert fetch.homes[0].parent == own_cache
    assert [path.name for path in own_cache.iterdir()] == [f"{name}.npz"]  # and nothing else
    for one in (got, again):
        if name == "mnist":
            assert np.array_equal(one.pixels, expected.pixels)
            assert np.array_equal(one.labels, expected.labels)
            assert (one.pixels.dtype, one.labels.dtype) == (np.uint8, np.int64)
        else:
            check_form(one, 12, (5, 2))
            assert np.array_equal(one.valid.X.toarray(), expected.valid.X.toarray())
            assert np.array_equal(one.train.y, expected.train.y)


def test_the_bytes_that_arrive_are_shown_meanwhile(
    made_up: World, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = threading.Event()

    class Bar(tqdm.tqdm):  # type: ignore[type-arg]
        def update(self, n: float | None = 1) -> bool | None:
            if n:
                seen.set()
            return super().update(n)

    class Slow(Fake):
        def __call__(self, name: str, **options: Any) -> Any:
            got = super().__call__(name, **options)
            assert seen.wait(10), "nothing was shown before the end"
            return got

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    slow = Slow(answer_of(made_up, "mnist"), written=2_500_000)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", slow)
    datasets.mnist()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "mnist_784 from OpenML" in captured.err
    assert "2.50MB" in captured.err
    assert not [t for t in threading.enumerate() if "watch" in t.name]


@pytest.mark.parametrize("name", ["mnist", "gisette"])
@pytest.mark.parametrize("error", [URLError, TimeoutError, ValueError, EOFError, HTTPException])
def test_offline_it_says_what_to_do(
    name: str, error: type[Exception], made_up: World, own_cache: Path, monkeypatch: Patch
) -> None:
    fake(monkeypatch, error("no route"))
    with pytest.raises(FileNotFoundError) as caught:
        LOADERS[name]()
    files = {"mnist": MNIST_FILES, "gisette": ["/gisette_train.data", "/gisette_valid.labels"]}
    parts = [file.split("/")[1] for file in files[name]]
    for part in (*parts, "no route", "https://", f"a folder named {name}", VARIABLE):
        assert part in str(caught.value)
    assert not any(own_cache.iterdir())


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("mnist", lambda X, y: (X[1:], y[1:]), r"pixels must be .* \(120, 784\), found .* \(119,"),
        ("mnist", lambda X, y: (X + 0.5, y), "pixels must be whole numbers"),
        ("mnist", lambda X, y: (X * 2, y), "pixels must be whole numbers from 0 to 255"),
        ("mnist", lambda X, y: (X[::-1], y[::-1]), "the numbers of the digits 0 to 9 must be"),
        ("gisette", lambda X, y: (X[:, 1:], y), r"the shape must be \(14, 12\), found \(14, 11\)"),
        ("gisette", lambda X, y: (X / 999, y), "entries of train must be whole numbers"),
        ("gisette", lambda X, y: (X[:, ::-1] * 0 + 7, y), "the sum of train_data must be"),
        ("gisette", lambda X, y: (X, np.where(y == "1", "1", "0")), r"the numbers of \+1 and -1"),
    ],
)
def test_a_wrong_download_is_not_kept(
    name: str,
    change: Callable[..., Any],
    message: str,
    made_up: World,
    own_cache: Path,
    monkeypatch: Patch,
) -> None:
    fake(monkeypatch, change(*answer_of(made_up, name)))
    with pytest.raises(ValueError, match=f"{name}.* of OpenML: {message}"):
        LOADERS[name]()
    assert not any(own_cache.iterdir())


@pytest.mark.parametrize("damage", [lambda c: c[:-40], lambda c: b"", flipped, "foreign"])
def test_a_damaged_cache_is_named(
    damage: Any, made_up: World, own_cache: Path, monkeypatch: Patch
) -> None:
    fetch = fake(monkeypatch, answer_of(made_up, "mnist"))
    datasets.mnist()
    path = own_cache / "mnist.npz"
    if damage == "foreign":
        np.savez(path, pixels=np.zeros(3))
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=f"Delete {path}"):
        datasets.mnist()
    path.unlink()
    assert datasets.mnist().name == "mnist"
    assert len(fetch.calls) == 2


def test_what_is_kept_is_there_in_full_or_not_at_all(tmp_path: Path, monkeypatch: Patch) -> None:
    path = tmp_path / "new" / "kept.npz"
    data.keep(path, {"a": np.arange(3)})

    def half(stream: Any, **_: Any) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", half)
    with pytest.raises(KeyboardInterrupt):
        data.keep(path, {"a": np.arange(4)})
    assert [p.name for p in path.parent.iterdir()] == ["kept.npz"]
    assert data.Numbers.read(path).take("a").tolist() == [0, 1, 2]


def test_without_scikit_learn_the_extra_is_named(monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    for load in (datasets.mnist, datasets.digits, datasets.gisette):
        with pytest.raises(ImportError, match=r"extra 'data'.*transect\[data\]"):
            load()
