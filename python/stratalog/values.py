# SPDX-License-Identifier: Apache-2.0
"""Cells to values: numbers by numpy, symbols and structured values once for each distinct cell.

A record becomes a Record (a tuple; nil is None), a value of an algebraic data type a Term. Both
print as Soufflé writes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from stratalog_formats.damage import demand
from stratalog_formats.dictionary import Dictionary, Records

from stratalog.errors import CheckpointError
from stratalog.schema import Attribute, StoredBranch, Structure

U32 = npt.NDArray[np.uint32]
Column = npt.NDArray[Any]

_DTYPES = {"number": np.int64, "unsigned": np.uint64, "float": np.float64}


class Record(tuple[Any, ...]):
    """A record: a tuple of its fields. str() is Soufflé's text, such as [1, nil]."""

    __slots__ = ()

    def __str__(self) -> str:
        return to_text(self)

    __repr__ = __str__


class Term(tuple[Any, ...]):
    """A value of an algebraic data type: its fields, and the name of its branch."""

    branch: str

    def __new__(cls, branch: str, fields: tuple[Any, ...] = ()) -> Term:
        if isinstance(fields, (str, bytes)) or not isinstance(fields, Iterable):
            raise TypeError(
                f"the fields of a Term are a tuple: Term({branch!r}, ({fields!r},)), "
                f"not Term({branch!r}, {fields!r})"
            )
        term = super().__new__(cls, fields)
        term.branch = branch
        return term

    def __getnewargs__(self) -> tuple[str, tuple[Any, ...]]:
        return self.branch, tuple(self)  # for copy and pickle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and self.branch == other.branch and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.branch, tuple.__hash__(self)))

    def __str__(self) -> str:
        return to_text(self)

    __repr__ = __str__


def _leaf_text(value: Any) -> str:
    if value is None:
        return "nil"
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            return "-nan" if math.copysign(1, value) < 0 else "nan"
        return f"{float(value):.17g}"
    return str(value)


def quoted(symbol: str | bytes, _: str = "") -> str:
    """A symbol in a structured value so that every reader takes it as it is."""
    text = symbol.decode("utf-8", "surrogateescape") if isinstance(symbol, bytes) else symbol
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def quoted_where_needed(symbol: str | bytes, close: str) -> str:
    """As it is, unless a reader would take it for something else: it skips blanks and takes quotes
    at the beginning, and ends at the next comma or at `close`, which ends the fields."""
    text = str(symbol)
    is_plain = text[:1] not in _BEGINS_OTHERWISE and "," not in text and close not in text
    return text if is_plain else quoted(text)


_BEGINS_OTHERWISE = ('"', " ", "\t", "\n", "\v", "\f", "\r")


def _as_it_is(symbol: str | bytes, _: str) -> str:
    return str(symbol)


def to_text(value: Any, symbol: Callable[[str | bytes, str], str] = _as_it_is) -> str:
    """A value as `stratalog export` writes it. Nesting of any depth. `symbol` makes the text of
    a symbol among fields that end with a bracket."""
    parts = []
    todo = [value]
    closes = [""]  # of the values that are open
    while todo:
        item = todo.pop()
        if isinstance(item, _Mark):
            parts.append(item.text)
            if item.text == closes[-1]:
                closes.pop()
        elif isinstance(item, (Record, Term)):
            is_term = isinstance(item, Term)
            parts.append(f"${item.branch}" if isinstance(item, Term) else "[")
            if is_term and not item:
                continue
            parts.append("(" if is_term else "")
            closes.append(")" if is_term else "]")
            todo.append(_Mark(closes[-1]))
            for i in range(len(item) - 1, -1, -1):
                todo.append(item[i])
                todo.extend([_Mark(", ")] if i else [])
        else:
            is_symbol = isinstance(item, (str, bytes))
            parts.append(symbol(item, closes[-1]) if is_symbol else _leaf_text(item))
    return "".join(parts)


class _Mark:
    """Text between values on to_text's stack."""

    def __init__(self, text: str) -> None:
        self.text = text


class Values:
    """Decodes cells with a checkpoint's dictionary, records and types."""

    def __init__(
        self,
        read_dictionary: Callable[[], Dictionary],
        read_records: Callable[[], Records],
        structures: tuple[Structure, ...],
    ) -> None:
        self.structures = structures
        self._read_dictionary = read_dictionary
        self._dictionary: Dictionary | None = None
        self._read_records = read_records
        self._records: Records | None = None
        self._texts: dict[int, str] = {}
        self._built: dict[tuple[int, int], Any] = {}

    @staticmethod
    def dtype(attribute: Attribute) -> Any:
        """Of the column's array: 64-bit numbers, or objects."""
        return object if attribute.structure is not None else _DTYPES.get(attribute.kind, object)

    def column(self, attribute: Attribute, cells: U32) -> Column:
        """The values of a column's cells, in their order."""
        if attribute.kind == "unknown":
            raise CheckpointError(
                f"column {attribute.name}: this checkpoint does not say what its columns mean (it "
                "was written before there were schemas); .cells() has the bare cells, and "
                "`stratalog export` translates them"
            )
        dtype = self.dtype(attribute)
        if dtype is not object:
            return self.dictionary.bits(cells).view(dtype)
        unique, inverse = np.unique(cells, return_inverse=True)
        values = np.empty(len(unique), dtype=object)
        for i, cell in enumerate(unique.tolist()):
            values[i] = self.value(attribute, cell)
        taken: Column = values[inverse]
        return taken

    def value(self, attribute: Attribute, cell: int) -> Any:
        """One cell's value."""
        if attribute.structure is not None:
            return self._structured(attribute.structure, cell)
        if attribute.kind == "symbol":
            text = self._texts.get(cell)
            if text is None:
                text = self.dictionary.symbol(cell).decode("utf-8", "surrogateescape")
                self._texts[cell] = text
            return text
        bits = self.dictionary.bits(np.array([cell], dtype=np.uint32))
        return bits.view(_DTYPES[attribute.kind])[0].item()

    @property
    def dictionary(self) -> Dictionary:
        if self._dictionary is None:
            self._dictionary = self._read_dictionary()
        return self._dictionary

    @property
    def records(self) -> Records:
        if self._records is None:
            self._records = self._read_records()
        return self._records

    # A branch and the cells of its fields; None is nil.
    def _open(self, structure: Structure, cell: int) -> tuple[StoredBranch, list[int]] | None:
        branches = structure.branches
        if structure.form == "enumeration":
            demand(cell < len(branches), f"{structure.name}: there is no branch {cell}")
            return branches[cell], []
        if structure.form == "record" and cell == 0:
            return None
        cells = self.records.cells(cell)
        number = 0
        if structure.form == "algebraic":
            demand(len(cells) > 0 and cells[0] < len(branches), f"{structure.name}: no such branch")
            number, cells = cells[0], cells[1:]
        branch = branches[number]
        demand(branch.shape == self.records.shape(cell), f"{structure.name}: a record's shape")
        demand(len(cells) == len(branch.fields), f"{structure.name}: a record's fields")
        return branch, cells

    # Structured values hold earlier ones, so a stack does what recursion could not for long lists.
    def _structured(self, structure: int, cell: int) -> Any:
        built = self._built
        todo = [(structure, cell)]
        while todo:
            key = todo[-1]
            if key in built:
                todo.pop()
                continue
            opened = self._open(self.structures[key[0]], key[1])
            if opened is None:
                built[key] = None
                continue
            branch, cells = opened
            missing = []
            for field, inner in zip(branch.fields, cells, strict=True):
                if field.structure is not None and (field.structure, inner) not in built:
                    demand(field.kind != "record" or inner < key[1], "a record in itself")
                    missing.append((field.structure, inner))
            if missing:
                todo.extend(missing)
                continue
            fields = tuple(self.value(f, c) for f, c in zip(branch.fields, cells, strict=True))
            is_record = self.structures[key[0]].form == "record"
            built[key] = Record(fields) if is_record else Term(branch.name, fields)
        return built[structure, cell]
