# SPDX-License-Identifier: Apache-2.0
"""Tables as pyarrow tables: a record batch for each block, one dictionary of symbols for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stratalog.schema import Attribute, Structure
from stratalog.values import quoted_where_needed, to_text

if TYPE_CHECKING:
    from stratalog.table import Table


def _are_utf8(texts: list[bytes]) -> bool:
    try:
        for text in texts:
            text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class _Symbols:
    """All symbols as Arrow has them: as strings, or binary if some are no UTF-8."""

    def __init__(self, pyarrow: Any, table: Table) -> None:
        dictionary = table._checkpoint._values_of_cells.dictionary
        texts = [dictionary.symbol(i) for i in range(dictionary.symbol_count)]
        self.are_utf8 = _are_utf8(texts)
        if not self.are_utf8:
            self.type = pyarrow.large_binary()
        elif sum(map(len, texts)) < 1 << 31:
            self.type = pyarrow.string()
        else:
            self.type = pyarrow.large_string()
        self.values = pyarrow.array(texts, type=pyarrow.large_binary()).cast(self.type)


def _holds_symbols(attribute: Attribute, structures: tuple[Structure, ...]) -> bool:
    """Whether a symbol may be anywhere within the column's values."""
    seen = set()
    todo = [attribute]
    while todo:
        field = todo.pop()
        if field.structure is None and field.kind == "symbol":
            return True
        if field.structure is not None and field.structure not in seen:
            seen.add(field.structure)
            todo += [f for branch in structures[field.structure].branches for f in branch.fields]
    return False


def _field(pyarrow: Any, attribute: Attribute, symbols: _Symbols | None) -> Any:
    """`symbols` are those that the column may hold."""
    if attribute.structure is not None:
        is_binary = symbols is not None and not symbols.are_utf8
        kind = pyarrow.binary() if is_binary else pyarrow.string()
    elif attribute.kind == "symbol" and symbols is not None:
        kind = pyarrow.dictionary(pyarrow.int32(), symbols.type)
    else:
        kinds = {"number": pyarrow.int64, "unsigned": pyarrow.uint64, "float": pyarrow.float64}
        kind = kinds[attribute.kind]()
    return pyarrow.field(
        attribute.name, kind, nullable=False, metadata={"stratalog type": attribute.type}
    )


def to_arrow(pyarrow: Any, table: Table) -> Any:
    """A pyarrow.Table of all tuples of `table`."""
    if not table.attributes:  # only a structure without fields says how many there are
        rows = pyarrow.array([{}] * len(table), type=pyarrow.struct([]))
        return pyarrow.Table.from_batches([pyarrow.RecordBatch.from_struct_array(rows)])
    values = table._checkpoint._values_of_cells
    holding = [_holds_symbols(a, values.structures) for a in table.attributes]
    symbols = _Symbols(pyarrow, table) if any(holding) else None
    schema = pyarrow.schema(
        _field(pyarrow, attribute, symbols if holds else None)
        for attribute, holds in zip(table.attributes, holding, strict=True)
    )
    batches = []
    for cells in table._blocks():
        arrays = []
        for attribute, column, field in zip(table.attributes, cells, schema, strict=True):
            if attribute.structure is None and attribute.kind == "symbol":
                assert symbols is not None
                indices = pyarrow.array(column.astype(np.int32))
                arrays.append(pyarrow.DictionaryArray.from_arrays(indices, symbols.values))
            elif attribute.structure is not None:
                texts = [
                    to_text(value, quoted_where_needed).encode("utf-8", "surrogateescape")
                    for value in values.column(attribute, column)
                ]
                arrays.append(pyarrow.array(texts, type=field.type))
            else:
                arrays.append(pyarrow.array(values.column(attribute, column), type=field.type))
        batches.append(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
    return pyarrow.Table.from_batches(batches, schema=schema)
