# SPDX-License-Identifier: Apache-2.0
"""Values of Python, numpy, pandas and Arrow as the columns that the library takes.

Numbers of the right width are handed over where they lie; the library reads them once. Texts go as
Arrow has them: bytes back to back and where each begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.library import ColumnIn
from stratalog.schema import Attribute, Relation
from stratalog.table import Table
from stratalog.values import Record, Term, to_text

_NUMBERS = {"number": np.int64, "unsigned": np.uint64, "float": np.float64}


class Columns:
    """Columns for one call, with everything that must stay alive during it."""

    def __init__(self, relation: Relation, data: Any) -> None:
        self._kept: list[Any] = []
        columns = _split(relation, data)
        filled = [
            self._column(relation, attribute, column)
            for attribute, column in zip(relation.attributes, columns, strict=True)
        ]
        lengths = {rows for rows, _ in filled}
        if len(lengths) > 1:
            raise ValueError(f"{relation.name}: columns of different lengths: {sorted(lengths)}")
        # Without columns a tuple is (): a list of them, or True.
        self.rows = lengths.pop() if lengths else (int(data) if _is_flag(data) else len(data))
        self.columns = (ColumnIn * max(1, len(filled)))(*(column for _, column in filled))

    def _column(self, relation: Relation, attribute: Attribute, values: Any) -> tuple[int, Any]:
        what = f"{relation.name}.{attribute.name}"
        if attribute.structure is None and attribute.kind in _NUMBERS:
            return self._numbers(what, attribute, values)
        found = _arrow_texts(values)
        if found is None:
            if isinstance(values, np.ndarray):
                values = values.tolist()
            found = _texts(what, attribute, values)
        indices, offsets, text = found
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


def _is_flag(data: Any) -> bool:
    return isinstance(data, (bool, np.bool_))


def _is_arrow_table(data: Any) -> bool:
    return hasattr(data, "column_names") and hasattr(data, "combine_chunks")


def _split(relation: Relation, data: Any) -> list[Any]:
    """One sequence of values for each attribute."""
    names = [a.name for a in relation.attributes]
    if not names:
        return []
    if isinstance(data, Table):
        data = data.to_columns()
    elif hasattr(data, "to_batches") and not _is_arrow_table(data):
        raise TypeError(f"{relation.name}: read the Arrow data into a pyarrow.Table first")
    if isinstance(data, np.ndarray):
        return _split_array(relation, data)
    if _is_arrow_table(data):
        found = {name: data.column(name) for name in data.column_names}
    elif isinstance(data, Mapping):
        found = dict(data)
    elif hasattr(data, "columns") and hasattr(data, "__getitem__"):  # a data frame
        found = {name: data[name].to_numpy() for name in data.columns}
    else:
        return _split_rows(relation, data)
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


def _split_rows(relation: Relation, data: Iterable[Any]) -> list[Any]:
    arity = len(relation.attributes)
    rows = list(data)
    for number, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or len(row) != arity:
            raise ValueError(
                f"{relation.name}, row {number}: expected a tuple of {arity} values, found {row!r}"
            )
    return [[row[i] for row in rows] for i in range(arity)]


def _number_array(what: str, attribute: Attribute, values: Any) -> npt.NDArray[Any]:
    wanted = np.dtype(_NUMBERS[attribute.kind])
    if getattr(values, "null_count", 0):
        raise ValueError(f"{what}: {values.null_count} values are null; relations have none")
    if hasattr(values, "to_numpy"):
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
        lowest, highest = (-(1 << 63), (1 << 63) - 1) if wanted.kind == "i" else (0, (1 << 64) - 1)
        found = (int(values.min()), int(values.max()))
        if found[0] < lowest or found[1] > highest:
            raise OverflowError(f"{what}: type {attribute.type} does not hold all of {found}")
    return values.astype(wanted)


def _number_list(
    what: str, attribute: Attribute, values: list[Any], wanted: np.dtype[Any]
) -> npt.NDArray[Any]:
    allowed: tuple[type, ...] = (int, np.integer)
    if wanted.kind == "f":
        allowed = (int, float, np.integer, np.floating)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, allowed):
            raise TypeError(f"{what}: type {attribute.type} takes no {value!r}")
    try:
        return np.array(values, dtype=wanted)
    except OverflowError as error:
        raise OverflowError(f"{what}: type {attribute.type}: {error}") from None


Texts = tuple[npt.NDArray[np.int32] | None, npt.NDArray[np.int64], npt.NDArray[np.uint8]]


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _bytes_of(what: str, attribute: Attribute, value: Any) -> bytes:
    if attribute.structure is not None:
        if value is None or isinstance(value, (Record, Term)):
            value = to_text(value, _quoted)
        if not isinstance(value, str):
            raise TypeError(
                f"{what}: type {attribute.type} takes stratalog.Record, stratalog.Term, None or "
                f"text, not {value!r}"
            )
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{what}: type {attribute.type} takes str or bytes, not {value!r}")


def _texts(what: str, attribute: Attribute, values: Iterable[Any]) -> Texts:
    pieces = [_bytes_of(what, attribute, value) for value in values]
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces)), out=offsets[1:])
    return None, offsets, np.frombuffer(b"".join(pieces) or b"\0", dtype=np.uint8)


def _arrow_texts(values: Any) -> Texts | None:
    """Arrow's strings, by their own buffers; None if `values` are none of Arrow's."""
    if not hasattr(values, "type") or not hasattr(values, "null_count"):
        return None
    import pyarrow

    if values.null_count:
        raise ValueError(f"{values.null_count} texts are null; relations have none")
    if isinstance(values, pyarrow.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
        if isinstance(values, pyarrow.ChunkedArray):
            values = values.chunk(0)
    if pyarrow.types.is_dictionary(values.type):
        indices = values.indices.cast(pyarrow.int32()).to_numpy(zero_copy_only=False)
        _, offsets, text = _large_texts(pyarrow, values.dictionary)
        return indices, offsets, text
    return _large_texts(pyarrow, values)


def _large_texts(pyarrow: Any, values: Any) -> Texts:
    array = values.cast(pyarrow.large_binary())
    offsets, text = array.buffers()[1:]
    whole = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    if len(whole) == 0:
        whole = np.zeros(1, dtype=np.int64)
    data = b"\0" if text is None or text.size == 0 else text
    return None, whole, np.frombuffer(data, dtype=np.uint8)
