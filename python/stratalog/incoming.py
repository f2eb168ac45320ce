# SPDX-License-Identifier: Apache-2.0
"""Values of Python, numpy, pandas and Arrow as the columns that the library takes.

Numbers of the right width are handed over where they lie; the library reads them once. Texts go as
Arrow has them: bytes back to back and where each begins.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog import arrow_incoming
from stratalog.arrow_incoming import Texts
from stratalog.kinds import demand_all_taken, demand_taken
from stratalog.library import ColumnIn
from stratalog.nulls import demand_no_nulls
from stratalog.schema import Attribute, Relation, Structure
from stratalog.table import Table
from stratalog.values import Record, Term, quoted, to_text

_NUMBERS = {"number": np.int64, "unsigned": np.uint64, "float": np.float64}


class Columns:
    """Columns for one call, with everything that must stay alive during it."""

    def __init__(self, relation: Relation, structures: tuple[Structure, ...], data: Any) -> None:
        self._kept: list[Any] = []
        self._structures = structures
        columns = _split(relation, data)
        filled = [
            self._column(f"{relation.name}.{attribute.name}", attribute, column)
            for attribute, column in zip(relation.attributes, columns, strict=True)
        ]
        lengths = {rows for rows, _ in filled}
        if len(lengths) > 1:
            raise ValueError(f"{relation.name}: columns of different lengths: {sorted(lengths)}")
        self.rows = lengths.pop() if lengths else _rows_without_columns(relation, data)
        self.columns = (ColumnIn * max(1, len(filled)))(*(column for _, column in filled))

    def _column(self, what: str, attribute: Attribute, values: Any) -> tuple[int, Any]:
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError(f"{what}: expected a column of values, found {values!r}")
        if arrow_incoming.is_array(values):
            values = arrow_incoming.in_one_piece(values)
        demand_no_nulls(what, attribute, values)
        if attribute.structure is None and attribute.kind in _NUMBERS:
            return self._numbers(what, attribute, values)
        return self._texts(what, attribute, values)

    def _texts(self, what: str, attribute: Attribute, values: Any) -> tuple[int, Any]:
        if arrow_incoming.is_array(values):
            indices, offsets, text = arrow_incoming.texts(what, values)
        else:
            if isinstance(values, np.ndarray):
                values = values.tolist()
            encoded = [_bytes_of(what, attribute, value, self._structures) for value in values]
            indices, offsets, text = _back_to_back(encoded)
        self._kept += [indices, offsets, text]
        rows = len(offsets) - 1 if indices is None else len(indices)
        column = ColumnIn(
            None if indices is None else indices.ctypes.data,
            0 if indices is None else indices.strides[0],
            text.ctypes.data,
            offsets.ctypes.data,
            len(offsets) - 1,
        )
        return rows, column

    def _numbers(self, what: str, attribute: Attribute, values: Any) -> tuple[int, Any]:
        array = _number_array(what, attribute, values)
        self._kept.append(array)
        return len(array), ColumnIn(array.ctypes.data, array.strides[0], None, None, 0)


def _rows_without_columns(relation: Relation, data: Any) -> int:
    """A list of (), True, or whatever has a number of rows."""
    if isinstance(data, (bool, np.bool_)):
        return int(data)
    shape: tuple[int, ...] = getattr(data, "shape", ())
    if len(shape) != 2:
        return len(_rows(relation, data))
    if shape[1] != 0:
        raise ValueError(f"{relation.name} has no columns; given were {shape[1]}")
    return int(shape[0])


def _split(relation: Relation, data: Any) -> list[Any]:
    """One sequence of values for each attribute."""
    names = [a.name for a in relation.attributes]
    if not names:
        return []
    if isinstance(data, Table):
        data = data.to_columns()
    elif arrow_incoming.is_reader(data):
        data = data.read_all()
    elif hasattr(data, "to_batches") and not arrow_incoming.is_table(data):
        raise TypeError(f"{relation.name}: read the Arrow data into a pyarrow.Table first")
    if isinstance(data, np.ndarray):
        return _split_array(relation, data)
    if hasattr(data, "collect_schema") and not hasattr(data, "to_numpy"):
        raise TypeError(f"{relation.name}: collect() the lazy data frame first")
    if arrow_incoming.is_table(data):
        found = _named(relation, data.column_names, data.columns)
    elif isinstance(data, Mapping):
        found = dict(data)
    elif hasattr(data, "columns") and hasattr(data, "__getitem__"):  # a data frame
        found = _named(relation, list(data.columns), (data[name] for name in data.columns))
    elif len(names) == 1 and _is_column(relation, data):
        return [data]
    else:
        rows = _rows(relation, data)
        return [[row[i] for row in rows] for i in range(len(names))]
    if set(found) != set(names):
        raise ValueError(
            f"{relation.name} has the columns {', '.join(names)}; given were "
            f"{', '.join(map(str, found)) or 'none'}"
        )
    return [found[name] for name in names]


def _split_array(relation: Relation, data: npt.NDArray[Any]) -> list[Any]:
    arity = len(relation.attributes)
    if data.dtype.names is not None:
        return _split(relation, {name: data[name] for name in data.dtype.names})
    if data.ndim == 1 and arity == 1:
        return [data]
    if data.ndim != 2 or data.shape[1] != arity:
        raise ValueError(
            f"{relation.name}: expected an array of shape (rows, {arity}), found {data.shape}"
        )
    return [data[:, i] for i in range(arity)]


def _rows(relation: Relation, data: Any) -> list[Any]:
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise TypeError(f"{relation.name}: expected tuples, found {data!r}")
    arity = len(relation.attributes)
    rows = list(data)
    if arity == 1 and not any(_is_row(relation, row) for row in rows):
        return [(value,) for value in rows]
    for number, row in enumerate(rows):
        if not _is_row(relation, row) or len(row) != arity:
            raise ValueError(
                f"{relation.name}, row {number}: expected a tuple of {arity} values, found {row!r}"
            )
    return rows


def _is_row(relation: Relation, row: Any) -> bool:
    """And not a value of a relation with one column."""
    if len(relation.attributes) == 1 and relation.attributes[0].structure is not None:
        return isinstance(row, Sequence) and not isinstance(row, (str, bytes, Record, Term))
    is_array = isinstance(row, np.ndarray) and row.ndim == 1
    return is_array or (isinstance(row, Sequence) and not isinstance(row, (str, bytes)))


def _is_column(relation: Relation, data: Any) -> bool:
    """A column of Arrow or pandas; of one of objects these have to tell."""
    if arrow_incoming.is_array(data):
        return True
    if not hasattr(data, "to_numpy") or not hasattr(data, "dtype"):
        return False
    has_objects = isinstance(data.dtype, np.dtype) and data.dtype.kind == "O"
    return not has_objects or not any(_is_row(relation, row) for row in data)


def _named(relation: Relation, names: Sequence[Any], columns: Iterable[Any]) -> dict[Any, Any]:
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise ValueError(f"{relation.name}: several of the columns have the name {twice[0]!r}")
    return dict(zip(names, columns, strict=True))


def _number_array(what: str, attribute: Attribute, values: Any) -> npt.NDArray[Any]:
    wanted = np.dtype(_NUMBERS[attribute.kind])
    if arrow_incoming.is_array(values):
        values = arrow_incoming.numbers(values)
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not isinstance(values, np.ndarray) or values.dtype == object:
        return _number_list(what, attribute, list(values), wanted)
    if values.ndim != 1:
        raise ValueError(f"{what}: expected one dimension, found {values.ndim}")
    if values.dtype == wanted or len(values) == 0:
        return values.astype(wanted, copy=False)
    if values.dtype.kind not in ("iuf" if wanted.kind == "f" else "iu"):
        raise TypeError(f"{what}: type {attribute.type} takes no values of {values.dtype}")
    if wanted.kind != "f":
        lowest, highest = _limits(wanted)
        if int(values.min()) < lowest or int(values.max()) > highest:
            raise _too_far(what, attribute, values.tolist(), wanted)
    return values.astype(wanted)


def _number_list(
    what: str, attribute: Attribute, values: list[Any], wanted: np.dtype[Any]
) -> npt.NDArray[Any]:
    first_of_types = {type(value): value for value in reversed(values)}
    for value in first_of_types.values():
        demand_taken(what, attribute, value)
    if wanted.kind != "f":  # numpy's own would wrap around
        values = list(map(operator.index, values))
    try:
        return np.array(values, dtype=wanted)
    except OverflowError:
        raise _too_far(what, attribute, values, wanted) from None


def _limits(wanted: np.dtype[Any]) -> tuple[int, int]:
    if wanted.kind == "f":
        return -(1 << 1024) + 1, (1 << 1024) - 1
    return (-(1 << 63), (1 << 63) - 1) if wanted.kind == "i" else (0, (1 << 64) - 1)


def _too_far(
    what: str, attribute: Attribute, values: list[Any], wanted: np.dtype[Any]
) -> OverflowError:
    lowest, highest = _limits(wanted)
    row = next((i for i, value in enumerate(values) if not lowest <= value <= highest), 0)
    ends = "" if wanted.kind == "f" else f"; its numbers are from {lowest} to {highest}"
    return OverflowError(
        f"{what}: type {attribute.type} does not hold {values[row]}, of row {row}{ends}"
    )


def _bytes_of(
    what: str, attribute: Attribute, value: Any, structures: tuple[Structure, ...]
) -> bytes:
    if attribute.structure is None:
        demand_taken(what, attribute, value)
    elif not isinstance(value, str):  # which is Soufflé's text already
        demand_all_taken(what, attribute, value, structures)
        value = to_text(value, quoted)
    if isinstance(value, bytes):
        return value
    try:
        encoded: bytes = value.encode("utf-8", "surrogateescape")
        return encoded
    except UnicodeEncodeError as error:
        raise ValueError(f"{what}: {value!r} is no text: {error}") from None


def _back_to_back(pieces: list[bytes]) -> Texts:
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces)), out=offsets[1:])
    return None, offsets, np.frombuffer(b"".join(pieces) or b"\0", dtype=np.uint8)
