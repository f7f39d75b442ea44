"""Converts numbers from the user to numpy arrays: which values are accepted as numbers, and which are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from lyra._errors import InvalidInputError


def float32_of(given: Any) -> Any:
    """An array, a tensor on any device, or lists of numbers as float32; copied only if it is not a
    float32 array already."""
    array = _numbers(given)
    # Values that are too large become infinite; the error below reports them, not a numpy warning.
    with np.errstate(over="ignore"):
        floats = np.asarray(array, dtype=np.float32)
    if array.dtype.kind == "f" and array.dtype.itemsize > 4:
        infinite = np.isinf(floats)
        if infinite.any() and np.isfinite(array[infinite]).any():
            raise InvalidInputError("a value is out of the range of float32")
    return floats


def float64_of(given: Any, name: str) -> Any:
    """A one-dimensional array as float64; None for an array of Python objects."""
    if getattr(given, "dtype", None) == object:
        return None
    array = _numbers(given)
    if array.ndim != 1:
        raise InvalidInputError(f"{name} has {array.ndim} dimension(s); expected 1")
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype=np.float64)


def _numbers(given: Any) -> Any:
    """Accepts numbers only: numpy alone would parse texts, drop the imaginary part of complex
    numbers, and use the values under a mask."""
    is_tensor = hasattr(given, "detach") and hasattr(given, "cpu")
    held = given.detach().cpu() if is_tensor else given
    if np.ma.is_masked(held):
        raise InvalidInputError(
            "an array has masked values; expected a value everywhere",
            hint="array.filled(value) fills in the masked values",
        )
    try:
        array = np.asarray(held)
    except Exception as error:  # Rows of different lengths, and any exception that an object raises.
        raise InvalidInputError(str(error)) from error
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"an array is of type {array.dtype}; expected numbers")
    return array
