# SPDX-License-Identifier: Apache-2.0
"""Tables as pyarrow tables: a record batch for each block, one dictionary of symbols for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stratalog.schema import Attribute
from stratalog.values import to_text

if TYPE_CHECKING:
    from stratalog.table import Table


class _Symbols:
    """The symbols that a column may hold, as Arrow has them."""

    def __init__(self, pyarrow: Any, table: Table) -> None:
        dictionary = table._checkpoint._values_of_cells.dictionary
        texts = [dictionary.symbol(i) for i in range(dictionary.symbol_count)]
        try:
            for text in texts:
                text.decode("utf-8")
            self.type = (
                pyarrow.string() if sum(map(len, texts)) < 1 << 31 else pyarrow.large_string()
            )
        except UnicodeDecodeError:
            self.type = pyarrow.large_binary()
        self.values = pyarrow.array(texts, type=pyarrow.large_binary()).cast(self.type)


def _field(pyarrow: Any, attribute: Attribute, symbols: _Symbols | None) -> Any:
    if attribute.structure is not None:
        kind = pyarrow.string()
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
    has_symbols = any(a.kind == "symbol" and a.structure is None for a in table.attributes)
    symbols = _Symbols(pyarrow, table) if has_symbols else None
    schema = pyarrow.schema([_field(pyarrow, a, symbols) for a in table.attributes])
    batches = []
    for cells in table._blocks():
        arrays = []
        for attribute, column, field in zip(table.attributes, cells, schema, strict=True):
            if attribute.structure is None and attribute.kind == "symbol":
                assert symbols is not None
                indices = pyarrow.array(column.astype(np.int32))
                arrays.append(pyarrow.DictionaryArray.from_arrays(indices, symbols.values))
            elif attribute.structure is not None:
                texts = [to_text(value) for value in values.column(attribute, column)]
                arrays.append(pyarrow.array(texts, type=field.type))
            else:
                arrays.append(pyarrow.array(values.column(attribute, column), type=field.type))
        batches.append(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
    return pyarrow.Table.from_batches(batches, schema=schema)
