"""Rows as data frames: finds the type of each column, because SQL values have no fixed type."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lyra._errors import InvalidInputError

if TYPE_CHECKING:
    import pandas
    import pyarrow

_INTEGERS = range(-(2**63), 2**63)


def package(name: str) -> Any:
    """An optional package; if it is missing, the error says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        message = f"{name} is not installed: pip install {name}"
        raise ModuleNotFoundError(message, name=missing.name) from missing


def kind_of(values: list[Any]) -> str:
    """The common type of the values that are not None: "bool", "int", "float", "str"; "null" if all
    are None; "other" for lists and dicts; "mixed" if they have no common type."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return "null"
    if kinds == {bool}:
        return "bool"
    if kinds == {int}:
        return "int" if all(value is None or value in _INTEGERS for value in values) else "mixed"
    if kinds <= {int, float}:
        exact = all(not isinstance(value, int) or float(value) == value for value in values)
        return "float" if exact else "mixed"
    if all(issubclass(kind, str) for kind in kinds):
        return "str"
    if kinds <= {list} or all(issubclass(kind, dict) for kind in kinds):
        return "other"
    return "mixed"


def to_pandas(columns: dict[str, list[Any]]) -> pandas.DataFrame:
    """One series for each column."""
    library = package("pandas")
    series = {name: _series(library, values) for name, values in columns.items()}
    frame: pandas.DataFrame = library.DataFrame(series)
    return frame


def _series(pandas: Any, values: list[Any]) -> Any:
    kind = kind_of(values)
    with_nulls = any(value is None for value in values)
    if kind == "int":
        return pandas.Series(values, dtype="Int64" if with_nulls else "int64")
    if kind == "bool":
        return pandas.Series(values, dtype="boolean" if with_nulls else "bool")
    if kind == "float":
        return pandas.Series(values, dtype="float64")
    if kind == "str":
        return pandas.Series(values)
    return pandas.Series(values, dtype="object")


def to_arrow(columns: dict[str, list[Any]], schema: pyarrow.Schema | None) -> pyarrow.Table:
    """One array for each column, of the type in the schema, or without a schema of the type of its values."""
    library = package("pyarrow")
    table: pyarrow.Table
    if schema is None:
        table = library.table({name: _array(library, name, values) for name, values in columns.items()})
        return table
    strangers = [name for name in schema.names if name not in columns]
    if strangers:
        known = ", ".join(columns)
        raise InvalidInputError(f"schema has the column {strangers[0]!r}; there are: {known}")
    arrays = [_array(library, field.name, columns[field.name], field.type) for field in schema]
    table = library.Table.from_arrays(arrays, schema=schema)
    return table


def _array(pyarrow: Any, name: str, values: list[Any], wanted: Any = None) -> Any:
    types = {"int": pyarrow.int64(), "float": pyarrow.float64(), "bool": pyarrow.bool_()}
    kind = kind_of(values)
    if wanted is None and kind == "mixed":
        there = sorted({type(value).__name__ for value in values if value is not None})
        raise InvalidInputError(
            f"the column {name!r} has values of no common type: {', '.join(there)}",
            hint="set the type in the query with CAST(… AS TEXT), or with to_arrow(schema=…)",
        )
    if wanted is not None and (pyarrow.types.is_string(wanted) or pyarrow.types.is_large_string(wanted)):
        values = [value if value is None or isinstance(value, str) else str(value) for value in values]
    try:
        return pyarrow.array(values, type=types.get(kind) if wanted is None else wanted)
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the column {name!r} does not fit its type: {error}",
            hint="set another type with to_arrow(schema=…)",
        ) from error
