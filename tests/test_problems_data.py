"""Rover and MOPTA08: formulas on small made-up files, and the published numbers if at hand."""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import splev, splprep

from transect._array import Host
from transect.problems import make, mopta08, rover
from transect.problems.data import VARIABLE

ROVER = "rover/rover_obstacles.npz"
MOPTA08 = "mopta08/mopta08_coeffs.npz"
BESIDE = Path(__file__).parents[2] / "shared" / "data"

Arrays = Mapping[str, Any]


def write(folder: Path, name: str, arrays: Arrays) -> Path:
    """The .npz file ``name`` in ``folder``; gives the folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, allow_pickle=False, **arrays)
    return folder


def published(name: str) -> Path:
    """The folder with the real numbers, or a skip that says where they were looked for."""
    folder = Path(os.environ.get(VARIABLE, BESIDE))
    if not (folder / name).is_file():
        pytest.skip(f"{name} is not in {folder}; set {VARIABLE} to test on the published numbers")
    return folder


# --- rover ---------------------------------------------------------------------------


def rover_arrays() -> dict[str, Any]:
    return {
        "centres_60d": np.random.default_rng(0).uniform(0.1, 0.9, (9, 2)),
        "half_60d": 0.08,
        "start": [0.1, 0.2],
        "goal": [0.9, 0.7],
        "s_range": [[-0.1, -0.1], [1.1, 1.1]],
        "obstacle_cost": 20.0,
        "base_cost": 0.05,
        "miss_weight": 10.0,
        "offset": 5.0,
    }


def slow_rover(arrays: Arrays, x: Host) -> float:
    """Cost - 5 with SciPy's smoothing spline, one sample and one obstacle at a time."""
    low, high = np.asarray(arrays["s_range"])
    points = np.array([low + pair * (high - low) for pair in x.reshape(-1, 2)])
    spline: Any = splprep(points.T, k=3)[0]
    path = np.array(splev(np.linspace(0, 1, 1000), spline)).T

    def cost(p: Host) -> float:
        blocked = not (0 <= p[0] < 1 and 0 <= p[1] < 1)
        for c in np.asarray(arrays["centres_60d"]):
            near, far = c - arrays["half_60d"], c + arrays["half_60d"]
            blocked |= bool(near[0] <= p[0] < far[0] and near[1] <= p[1] < far[1])
        return float(arrays["base_cost"] + arrays["obstacle_cost"] * blocked)

    total = 0.0
    costs = [cost(p) for p in path]
    for i in range(999):
        total += math.dist(path[i], path[i + 1]) * (costs[i] + costs[i + 1]) / 2
    for p, q in ((path[0], arrays["start"]), (path[-1], arrays["goal"])):
        total += arrays["miss_weight"] * (abs(p[0] - q[0]) + abs(p[1] - q[1]))
    return total - float(arrays["offset"])


def test_rover_follows_its_formula(tmp_path: Path) -> None:
    arrays = rover_arrays()
    problem = make("rover", D=60, folder=write(tmp_path, ROVER, arrays))
    assert (problem.D, problem.least, problem.optimum) == (60, -5.0, None)
    rng = np.random.default_rng(1)
    line = np.linspace(0.1, 0.9, 30).repeat(2) + rng.normal(0, 0.02, 60)
    for x in (*rng.uniform(0, 1, (5, 60)), line):
        assert problem(x) == pytest.approx(slow_rover(arrays, x), rel=1e-9)


def test_rover_on_a_straight_line_by_hand(tmp_path: Path) -> None:
    """From start to goal without a miss: the length, and the 0.2 of it under one obstacle."""
    arrays = {**rover_arrays(), "centres_60d": [[0.5, 0.5]], "half_60d": 0.1}
    arrays |= {"start": [0.1, 0.5], "goal": [0.9, 0.5], "s_range": [[0.0, 0.0], [1.0, 1.0]]}
    problem = rover(folder=write(tmp_path, ROVER, arrays))
    x = np.stack([np.linspace(0.1, 0.9, 30), np.full(30, 0.5)], axis=1).ravel()
    assert problem(x) == pytest.approx(0.05 * 0.8 + 20 * 0.2 - 5, abs=20 * 0.8 / 999)


def test_rover_stands_still_where_all_points_are_one(tmp_path: Path) -> None:
    """Corners of the box put points on top of each other; SciPy's spline refuses them."""
    problem = rover(folder=write(tmp_path, ROVER, rover_arrays()))
    assert problem(np.zeros(60)) == pytest.approx(10 * (0.2 + 0.3 + 1.0 + 0.8) - 5)
    pairs = np.random.default_rng(0).integers(0, 2, 60).astype(float)
    assert math.isfinite(problem(pairs))
    assert problem(pairs) == pytest.approx(problem(np.clip(pairs, 1e-9, 1 - 1e-9)), abs=0.1)


def test_rover_with_the_published_obstacles() -> None:
    problem = rover(folder=published(ROVER))
    values = np.array([problem(x) for x in np.random.default_rng(0).uniform(0, 1, (300, 60))])
    assert -values.mean() == pytest.approx(-18.8, abs=1.5)
    assert values.min() > problem.least


# --- MOPTA08 -------------------------------------------------------------------------


def mopta08_arrays() -> dict[str, Any]:
    """All keys, few simulations: sets 1 and 2 share rows, as the published ones do."""
    rng = np.random.default_rng(0)
    inputs = np.array(["xxxxx", "xuuuu", "xeeee", "xssss", "xrrrr"])
    lengths = {"xxxxx": 124, "xuuuu": 9, "xeeee": 8, "xssss": 7, "xrrrr": 6}
    names = inputs[np.arange(68) % 5]
    arrays: dict[str, Any] = {
        "xl": rng.uniform(0.5, 1.0, 124),
        "xu": rng.uniform(2.0, 3.0, 124),
        "mmmm": rng.uniform(0.1, 2.0, 124),
        "aaaa": rng.uniform(0.3, 1.2, 124),
        "gu": rng.uniform(1.0, 3.0, 68) * rng.choice([-1, 1], 68),
        "ssss": rng.choice([-1, 1], 68),
        "g_in": names,
        "g_s": [
            0 if n == "xxxxx" and i % 2 else 1 + list(lengths).index(n) for i, n in enumerate(names)
        ],
        "p": np.where(np.arange(68) % 7 == 0, 1.5, 1.9),
        "evp": rng.choice([0.0, 0.2], 68),
        "uselog": rng.integers(0, 2, 68),
        "offset": rng.normal(0, 1, 68),
        "check_x": rng.uniform(0, 1, (2, 124)),
    }
    for name in inputs[1:]:
        entries = rng.permutation(124)[: lengths[name]] + 1
        arrays[f"{name[1:]}2opt"] = entries * rng.choice([-1, 1], lengths[name])
    for s, name in enumerate(inputs):
        arrays[f"s{s + 1}"] = rng.uniform(0.5, 3.0, (4 + s, lengths[name]))
    arrays["s0"] = np.vstack([arrays["s1"][[2, 0]], rng.uniform(0.5, 3.0, (1, 124))])
    for i, name in enumerate(names):
        k = lengths[name]
        arrays[f"theta_{i + 1}"] = rng.uniform(0.0, 1.0 / k, k)
        arrays[f"beta_{i + 1}"] = rng.normal(0, 0.1, k + 1)
        arrays[f"pcoef_{i + 1}"] = rng.normal(0, 1, len(arrays[f"s{arrays['g_s'][i]}"]))
    return arrays


def slow_mopta08(arrays: Arrays, x: Host) -> tuple[float, Host]:
    """Mass and g (68,), one limit, one simulation and one variable at a time."""
    X = [lo + v * (hi - lo) for lo, v, hi in zip(arrays["xl"], x, arrays["xu"], strict=True)]
    inputs = {"xxxxx": X}
    for name in ("uuuu", "eeee", "ssss", "rrrr"):
        entries = arrays[f"{name}2opt"]
        inputs[f"x{name}"] = [X[k - 1] if k > 0 else arrays["aaaa"][-k - 1] for k in entries]
    g = np.empty(68)
    for i in range(68):
        z = inputs[str(arrays["g_in"][i])]
        theta, beta = arrays[f"theta_{i + 1}"], arrays[f"beta_{i + 1}"]
        y = beta[0] + sum(b * v for b, v in zip(beta[1:], z, strict=True))
        samples = arrays[f"s{arrays['g_s'][i]}"]
        for row, weight in zip(samples, arrays[f"pcoef_{i + 1}"], strict=True):
            far = sum(
                t * abs(v - s) ** arrays["p"][i] for t, v, s in zip(theta, z, row, strict=True)
            )
            y += (1 - arrays["evp"][i]) * weight * math.exp(-far)
        if arrays["uselog"][i]:
            y = math.exp(y) + arrays["offset"][i]
        g[i] = (arrays["ssss"][i] * y - arrays["gu"][i]) / abs(arrays["gu"][i])
    return float(sum(m * v for m, v in zip(arrays["mmmm"], X, strict=True))), g


def test_mopta08_follows_its_formula(tmp_path: Path) -> None:
    arrays = mopta08_arrays()
    problem = make("mopta08", D=124, folder=write(tmp_path, MOPTA08, arrays))
    assert (problem.D, problem.optimum) == (124, None)  # the best known point is not in this file
    for x in np.random.default_rng(1).uniform(0, 1, (5, 124)):
        mass, g = slow_mopta08(arrays, x)
        assert np.allclose(problem.constraints(x), g, rtol=1e-10, atol=1e-10)
        assert (g > 0).any()
        assert (g < 0).any()
        assert problem(x) == pytest.approx(mass + 10 * sum(max(v, 0) for v in g))


def test_mopta08_gives_the_published_values() -> None:
    folder = published(MOPTA08)
    problem = mopta08(folder=folder)
    with np.load(folder / MOPTA08) as file:
        points, masses, limits = (file[f"check_{key}"] for key in "xfg")
    for x, mass, g in zip(points, masses, limits, strict=True):
        assert np.allclose(problem.constraints(x), g, rtol=0, atol=1e-10)
        assert problem(x) == pytest.approx(mass + 10 * np.maximum(g, 0).sum(), rel=1e-12)
    assert problem.least == pytest.approx(222.2324, abs=1e-4)
    assert problem.optimum is not None
    assert problem(problem.optimum) == pytest.approx(problem.least, abs=1e-9)
    assert np.all(problem.constraints(problem.optimum) <= 0)
    assert np.all((problem.optimum >= 0) & (problem.optimum <= 1))
    for x in np.random.default_rng(0).uniform(0, 1, (20, 124)):
        assert problem(x) > problem.least


# --- both ----------------------------------------------------------------------------

FILES: dict[str, tuple[str, Callable[[], Arrays]]] = {
    "rover": (ROVER, rover_arrays),
    "mopta08": (MOPTA08, mopta08_arrays),
}
DIMENSIONS = {"rover": 60, "mopta08": 124}


@pytest.mark.parametrize("name", FILES)
def test_the_folder_may_come_from_the_environment(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, arrays = FILES[name]
    monkeypatch.setenv(VARIABLE, str(write(tmp_path, file, arrays())))
    x = np.full(DIMENSIONS[name], 0.4) + 0.01 * np.arange(DIMENSIONS[name]) / 60
    problem = make(name, DIMENSIONS[name], noise=0.5, noise_seed=1)
    assert np.array_equal(problem.box.lower, np.zeros(problem.D))
    assert np.array_equal(problem.box.upper, np.ones(problem.D))
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.noiseless(x) == problem.noiseless(x) != problem(x)
    assert np.array_equal(copy.constraints(x), problem.constraints(x))


@pytest.mark.parametrize("name", FILES)
def test_what_is_missing_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match=rf"{FILES[name][0]}.*no folder.*TRANSECT_DATA"):
        make(name, DIMENSIONS[name])
    with pytest.raises(FileNotFoundError) as caught:
        make(name, DIMENSIONS[name], folder=tmp_path)
    for part in (FILES[name][0], str(tmp_path), "TRANSECT_DATA"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["empty", "text", "cut", "flipped", "one array"])
def test_a_damaged_file_is_named(name: str, damage: str, tmp_path: Path) -> None:
    file, arrays = FILES[name]
    path = write(tmp_path, file, arrays()) / file
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "one array":
        with path.open("wb") as stream:
            np.save(stream, np.zeros(3))
    else:
        flipped = bytes(255 - byte for byte in content[middle - 50 : middle + 50])
        path.write_bytes(
            {
                "empty": b"",
                "text": b"no numbers here",
                "cut": content[:middle],
                "flipped": content[: middle - 50] + flipped + content[middle + 50 :],
            }[damage]
        )
    with pytest.raises(ValueError, match="is damaged") as caught:
        make(name, DIMENSIONS[name], folder=tmp_path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("rover", "goal", None, "has no array 'goal'"),
        ("rover", "goal", [0.1, 0.2, 0.3], "goal must be finite numbers of shape"),
        ("rover", "start", [0.1, math.nan], "start must be finite numbers"),
        ("rover", "half_60d", "wide", "half_60d must be finite numbers"),
        ("mopta08", "theta_7", None, "has no array 'theta_7'"),
        ("mopta08", "xl", np.zeros(123), "xl must be finite numbers of shape"),
        ("mopta08", "gu", np.zeros(68), "gu must not be 0"),
        ("mopta08", "g_in", ["xxxxx"] * 67 + ["other"], "g_in must be 68 words"),
        ("mopta08", "g_s", np.full(68, 77), "has no array 's77'"),
        ("mopta08", "g_s", np.full(68, 0.5), "g_s must be whole numbers"),
        ("mopta08", "uuuu2opt", [1, 2, 0, 4, 5, 6, 7, 8, 9], "uuuu2opt must be"),
        ("mopta08", "eeee2opt", [1, 2, 3, 4, 5, 6, 7, 125], "eeee2opt must be"),
        ("mopta08", "pcoef_1", np.zeros(2), "pcoef_1 must be finite numbers"),
    ],
)
def test_a_wrong_file_is_named(
    name: str, key: str, value: Any, message: str, tmp_path: Path
) -> None:
    file, make_arrays = FILES[name]
    arrays = {k: v for k, v in make_arrays().items() if k != key}
    folder = write(tmp_path, file, arrays if value is None else {**arrays, key: value})
    with pytest.raises(ValueError, match=message) as caught:
        make(name, DIMENSIONS[name], folder=folder)
    assert str(folder / file) in str(caught.value)
