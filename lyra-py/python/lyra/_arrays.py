"""Numbers of the user's as arrays of numpy: what may be taken for numbers, and what may not."""

from __future__ import annotations

from typing import Any

import numpy as np

from lyra._errors import InvalidInputError


def float32_of(given: Any) -> Any:
    """An array, a tensor on any device, or lists of numbers as float32; a copy only where it is
    not one already."""
    array = _numbers(given)
    # What is too large becomes infinite; said below, and not by a warning of numpy's.
    with np.errstate(over="ignore"):
        floats = np.asarray(array, dtype=np.float32)
    if array.dtype.kind == "f" and array.dtype.itemsize > 4:
        infinite = np.isinf(floats)
        if infinite.any() and np.isfinite(array[infinite]).any():
            raise InvalidInputError("a value is out of the range of float32")
    return floats


def float64_of(given: Any, name: str) -> Any:
    """An array of one dimension as float64; None where it is one of Python objects."""
    if getattr(given, "dtype", None) == object:
        return None
    array = _numbers(given)
    if array.ndim != 1:
        raise InvalidInputError(f"{name} has {array.ndim} dimension(s); expected 1")
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype=np.float64)


def _numbers(given: Any) -> Any:
    """Only numbers are taken for numbers: numpy alone would read texts, would drop the imaginary
    half of complex ones, and would take what lies under a mask."""
    is_tensor = hasattr(given, "detach") and hasattr(given, "cpu")
    held = given.detach().cpu() if is_tensor else given
    if np.ma.is_masked(held):
        raise InvalidInputError(
            "an array has masked values; expected a value everywhere",
            hint="array.filled(value) puts one where there is none",
        )
    try:
        array = np.asarray(held)
    except Exception as error:  # Rows of different lengths, and whatever an object raises.
        raise InvalidInputError(str(error)) from error
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"an array is of type {array.dtype}; expected numbers")
    return array
