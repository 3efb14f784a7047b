"""A table in one small file, to be kept beside the code.

Regrets along the runs are for pictures, which show their logarithm: that is rounded to one
of LEVELS between a problem's least and largest. The least regret of each run is for tests,
and exact.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Host
from .store import write_atomically
from .table import Cell, Table, log_regret

FORMAT = 1
LEVELS = 2**13  # finer than any picture; all 16 bits would take a quarter more on disk
FAILED = LEVELS  # the code of nan


def pack(table: Table, path: str | Path) -> None:
    """Write a table as a compressed .npz; the same table gives the same bytes."""
    cells = sorted(table.cells.items())
    scales = _scales(table)
    index = {
        "format": FORMAT,
        "scales": scales,
        "cells": [[*key, *cell.regret.shape] for key, cell in cells],
    }
    codes = [_codes(cell.regret, *scales[problem]) for (problem, _), cell in cells]
    curves = _joined([code.ravel() for code in codes], np.uint16)  # (all evaluations,)
    arrays = {
        "index": np.frombuffer(json.dumps(index).encode(), np.uint8),
        # High and low bytes apart: the former repeat themselves and compress well.
        "high": (curves >> 8).astype(np.uint8),
        "low": (curves & 255).astype(np.uint8),
        "seeds": _joined([np.array(cell.seeds) for _, cell in cells], np.int64),
        "final": _joined([cell.final for _, cell in cells], np.float64),
        "evaluations": np.array([cell.evaluations for _, cell in cells], np.float64),
        "seconds": np.array([cell.seconds for _, cell in cells], np.float64),
    }
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    write_atomically(Path(path), file.getvalue())


def unpack(path: str | Path) -> Table:
    """Read a table that ``pack`` wrote; a ValueError for any other file."""
    try:
        arrays = _unzipped(path)
        index = json.loads(arrays["index"].tobytes())
        if index["format"] != FORMAT:
            raise ValueError(f"its format is {index['format']}, not {FORMAT}")
        return _table(index, arrays)
    except (
        zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError,
        ValueError, LookupError, TypeError,
    ) as error:  # fmt: skip
        raise ValueError(f"{path} is not a packed table, or is damaged: {error}") from error


def _table(index: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Table:
    curves = arrays["high"].astype(np.uint16) << 8 | arrays["low"]
    cells: dict[tuple[str, str], Cell] = {}
    row = at = 0  # of the next cell in the arrays by run and by evaluation
    for i, (problem, strategy, repeats, evals) in enumerate(index["cells"]):
        codes = curves[at : at + repeats * evals].reshape(repeats, evals)
        cells[problem, strategy] = Cell(
            seeds=tuple(arrays["seeds"][row : row + repeats].tolist()),
            regret=_regret(codes, *index["scales"][problem]),
            final=arrays["final"][row : row + repeats],
            evaluations=float(arrays["evaluations"][i]),
            seconds=float(arrays["seconds"][i]),
        )
        row, at = row + repeats, at + repeats * evals
    return Table(cells)


def _scales(table: Table) -> dict[str, tuple[float, float]]:
    """(least, step) of log10 regret for each problem, over all strategies."""
    by_problem: dict[str, list[Host]] = {}
    for (problem, _), cell in table.cells.items():
        by_problem.setdefault(problem, []).append(log_regret(cell.regret).ravel())
    scales = {}
    for problem, parts in by_problem.items():
        logs = np.concatenate(parts)
        low, high = (float(np.nan_to_num(f.reduce(logs))) for f in (np.fmin, np.fmax))
        scales[problem] = low, (high - low) / (LEVELS - 1) or 1.0
    return scales


def _codes(regret: Host, low: float, step: float) -> NDArray[np.uint16]:
    codes = np.round((log_regret(regret) - low) / step)
    return np.nan_to_num(codes, nan=FAILED).astype(np.uint16)


def _regret(codes: NDArray[np.uint16], low: float, step: float) -> Host:
    return np.where(codes == FAILED, np.nan, 10.0 ** (low + step * codes))


def _joined(arrays: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype)


def _unzipped(path: str | Path) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as archive:
        return {
            # read as a whole first, which checks the sum of its bytes
            name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            for name in archive.namelist()
        }
