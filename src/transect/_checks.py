"""Checks of what users hand in: each error names the argument and what was expected."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Collection
from typing import Any

import numpy as np

from ._array import Host


def whole_number(name: str, value: Any, least: int) -> int:
    """``value`` as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def positive_number(name: str, value: Any, below: float = math.inf) -> float:
    """``value`` as a float with 0 < value < below."""
    if is_real(value) and 0 < value < below:
        return float(value)
    expected = "a positive number" if below == math.inf else f"a number between 0 and {below:g}"
    raise ValueError(f"{name} must be {expected}, got {value!r}")


def known_name(name: str, value: str, known: Collection[str]) -> str:
    """``value``, if it is one of the ``known``; else the error suggests the nearest of them."""
    if value in known:
        return value
    near = difflib.get_close_matches(value.lower(), known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r:.100}{hint}")


def is_real(value: Any) -> bool:
    """Whether ``value`` is a real number; True and False are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def one_number(name: str, value: Any) -> float:
    """``value`` as a float: a number, an array or tensor that holds one, or None for nan."""
    if value is None:
        return math.nan
    if isinstance(value, int | numbers.Real):
        try:
            return float(value)
        except OverflowError:  # an integer beyond 1e308
            return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    shape = getattr(value, "shape", None)
    kind = getattr(getattr(value, "dtype", None), "kind", "f")  # torch's dtypes have none
    if shape is not None and all(n == 1 for n in shape) and kind in "biuf":
        try:
            return float(value.reshape(()))
        except (TypeError, ValueError, RuntimeError):  # a complex tensor, for one
            pass
    what = f"an array of shape {tuple(shape)}" if shape else f"{type(value).__name__} {value!r}"
    raise TypeError(f"{name} must be one real number (or None for a failure), got {what:.200}")


def numbers_array(value: Any) -> Host:
    """``value`` as an array of floats; a ValueError for text, complex or ragged input."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufO":
        raise ValueError("not real numbers")
    try:
        return np.array(array, dtype=np.float64)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None
