# SPDX-License-Identifier: Apache-2.0
"""Table: a relation of a checkpoint, read when something asks for its tuples, and only as far.

Blocks are read one at a time. Keys choose blocks by their zones first, then tuples. An equivalence
relation is stored as classes and becomes pairs while it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt
from stratalog_formats.damage import DamagedError, demand
from stratalog_formats.read_checkpoint import Zone, multiset_hash

from stratalog.errors import CheckpointError, NotInstalledError
from stratalog.keys import CellSet, cells_of
from stratalog.names import nearest
from stratalog.schema import Attribute, Relation
from stratalog.values import Column, Record, Term, Values, quoted_where_needed, to_text

U32 = npt.NDArray[np.uint32]
_PAIRS_AT_ONCE = 1 << 20
_NUMERIC = ("number", "unsigned", "float")


class Blocks(Protocol):
    """Relations as blocks of cells."""

    @property
    def relations(self) -> list[dict[str, Any]]: ...

    def blocks(
        self, index: int, wanted: Callable[[Zone], bool] | None = None
    ) -> Iterator[list[U32]]: ...

    def column(self, index: int, column: int) -> Iterator[U32]: ...


class Source(Protocol):
    """Where tuples come from: a checkpoint, or a run in this process."""

    @property
    def _stores_classes(self) -> bool:
        """Whether blocks of an equivalence relation are classes; otherwise they are pairs, all of
        one first element together, their second elements ascending."""

    @property
    def _generation(self) -> Blocks: ...
    @property
    def _values_of_cells(self) -> Values: ...
    def _relation_of(self, line: dict[str, Any]) -> Relation: ...
    def _told_about_lost_files(self) -> AbstractContextManager[None]: ...
    def _verify(self, index: int) -> None: ...

    def _fill(self, index: int, columns: list[Column]) -> bool:
        """Writes all of a relation's numbers, 64 bits each, where the columns lie; False if that
        is not possible in one go."""


class Table:
    """A relation, or the part of it that keys choose. Nothing is read before it is needed."""

    def __init__(
        self,
        checkpoint: Source,
        index: int,
        conditions: tuple[tuple[int, CellSet], ...] = (),
    ) -> None:
        self._checkpoint = checkpoint
        self._index = index
        self._conditions = conditions
        self._counted: int | None = None  # once something has read them
        self._line = checkpoint._generation.relations[index]
        self._relation = checkpoint._relation_of(self._line)

    @property
    def name(self) -> str:
        return self._relation.name

    @property
    def version(self) -> str:
        """total, or delta: what the round before the checkpoint added."""
        return str(self._line["version"])

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self._relation.attributes

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def types(self) -> dict[str, str]:
        """The declared type of each column."""
        return {attribute.name: attribute.type for attribute in self.attributes}

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """Of the arrays that to_columns() makes."""
        return {
            a.name: np.dtype(self._checkpoint._values_of_cells.dtype(a)) for a in self.attributes
        }

    @property
    def is_equivalence(self) -> bool:
        return self._relation.is_equivalence

    @property
    def _is_stored_as_classes(self) -> bool:
        return self.is_equivalence and self._checkpoint._stores_classes

    def __repr__(self) -> str:
        columns = ", ".join(f"{a.name}: {a.type}" for a in self.attributes)
        rows = "some rows" if self._conditions else f"{self._line['rows']:,} rows"
        if self._is_stored_as_classes:
            rows = f"equivalence classes of {self._line['rows']:,} elements"
        delta = " delta" if self.version == "delta" else ""
        return f"<stratalog.Table {self.name}({columns}){delta}, {rows}>"

    __reversed__ = None  # nor is it a sequence: table[i] is a key

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(
            f"the stratalog.Table {self.name} has no copies or pickles; to_numpy(), to_columns(), "
            "to_pandas() and to_arrow() have all of its tuples"
        )

    # -- keys ---------------------------------------------------------------------------------

    def _column(self, name: str) -> int:
        if name not in self.columns:
            raise KeyError(
                f"{self.name} has no column {name!r}{nearest(name, self.columns)}; it has "
                f"{', '.join(self.columns)}"
            )
        return self.columns.index(name)

    def _example(self) -> str:
        return f"{{{self.columns[0] if self.columns else 'column'!r}: value}}"

    def where(self, keys: Mapping[str, Any] | None = None, /, **more: Any) -> Table:
        """The tuples with all of these values: {column: value}, column=value, or both.

        A value may be a slice (first included, last excluded) or a list of values. Only blocks
        whose zones can hold such tuples are read.
        """
        if keys is not None and not isinstance(keys, Mapping):
            raise TypeError(
                f"where() takes columns with their values, as where({self._example()}); found "
                f"{keys!r}. {self.name}[...] takes values of the first columns in order"
            )
        conditions = list(self._conditions)
        for name, wanted in [*(keys or {}).items(), *more.items()]:
            column = self._column(name)
            attribute = self.attributes[column]
            if attribute.kind == "unknown":
                self._checkpoint._values_of_cells.column(attribute, np.empty(0, dtype=np.uint32))
            conditions.append(
                (column, cells_of(self._checkpoint._values_of_cells, attribute, wanted))
            )
        return Table(self._checkpoint, self._index, tuple(conditions))

    def __getitem__(self, key: Any) -> Table:
        """table[3], table[3:10], table[3, "x"]: keys of the first columns, in order."""
        is_tuple = isinstance(key, tuple) and not isinstance(key, (Record, Term))
        keys = key if is_tuple else (key,)
        if len(keys) > len(self.columns):
            raise KeyError(f"{self.name} has {len(self.columns)} columns, not {len(keys)}")
        first = self.attributes[0] if self.attributes else None
        if isinstance(key, str) and key in self.columns and first and first.kind in _NUMERIC:
            raise TypeError(
                f"{self.name}[{key!r}] asks for tuples with {key!r} in column {self.columns[0]}, "
                f"which has type {first.type}; .column({key!r}) is the column of that name"
            )
        return self.where(dict(zip(self.columns, keys, strict=False)))

    def __contains__(self, values: object) -> bool:
        keys = _tuple_of(values)
        if len(keys) != len(self.columns) or any(isinstance(k, _SEVERAL) for k in keys):
            raise ValueError(
                f"{self.name} has tuples of {len(self.columns)} values; found {values!r}"
            )
        return bool(self[keys])

    # -- blocks of cells ----------------------------------------------------------------------

    def _is_wanted(self, zone: Zone) -> bool:
        return all(
            cells.may_meet(int(zone[column, 0]), int(zone[column, 1]))
            for column, cells in self._conditions
        )

    def _stored_blocks(self) -> Iterator[list[U32]]:
        generation = self._checkpoint._generation
        with self._checkpoint._told_about_lost_files():
            if not self._conditions:
                yield from generation.blocks(self._index)
                return
            for columns in generation.blocks(self._index, self._is_wanted):
                chosen = np.ones(len(columns[0]), dtype=bool)
                for column, cells in self._conditions:
                    chosen &= cells.mask(columns[column])
                if chosen.any():
                    yield [cells[chosen] for cells in columns]

    def _member_arrays(self) -> list[U32]:
        """The classes of an equivalence relation, as cells, ascending."""
        leasts = [np.empty(0, dtype=np.uint32)]
        members = [np.empty(0, dtype=np.uint32)]
        with self._checkpoint._told_about_lost_files():
            blocks = self._checkpoint._generation.blocks(self._index)
            for least, member in blocks if self._is_stored_as_classes else _least_pairs(blocks):
                leasts.append(least)
                members.append(member)
        least, member = np.concatenate(leasts), np.concatenate(members)
        order = np.lexsort((member, least))
        least, member = least[order], member[order]
        return [m for m in np.split(member, np.flatnonzero(np.diff(least)) + 1) if len(m)]

    def _pair_blocks(self) -> Iterator[list[U32]]:
        for members in self._member_arrays():
            sides = [members, members]
            for column, cells in self._conditions:
                sides[column] = sides[column][cells.mask(sides[column])]
            left, right = sides
            step = max(1, _PAIRS_AT_ONCE // max(1, len(right)))
            for at in range(0, len(left), step):
                part = left[at : at + step]
                if len(right):
                    yield [np.repeat(part, len(right)), np.tile(right, len(part))]

    def _blocks(self) -> Iterator[list[U32]]:
        if not self.attributes:
            return iter(())
        return self._pair_blocks() if self._is_stored_as_classes else self._stored_blocks()

    def _column_blocks(self, column: int) -> Iterator[U32]:
        generation = self._checkpoint._generation
        if self._conditions or self._is_stored_as_classes:
            yield from (cells[column] for cells in self._blocks())
            return
        with self._checkpoint._told_about_lost_files():
            yield from generation.column(self._index, column)

    def _expected_rows(self) -> int | None:
        """How many there are, if that can be told without reading tuples."""
        if self.attributes and (self._conditions or self._is_stored_as_classes):
            return self._counted
        return int(self._line["rows"])

    def _count(self) -> int:
        rows = self._expected_rows()
        self._counted = self._count_tuples() if rows is None else rows
        return self._counted

    def _count_tuples(self) -> int:
        if not self._is_stored_as_classes:
            return sum(len(columns[0]) for columns in self._blocks())
        count = 0
        for members in self._member_arrays():
            sides = [members, members]
            for column, cells in self._conditions:
                sides[column] = sides[column][cells.mask(sides[column])]
            count += len(sides[0]) * len(sides[1])
        return count

    def __len__(self) -> int:
        return self._count()

    def __bool__(self) -> bool:
        return (
            any(len(columns[0]) for columns in self._blocks()) if self.attributes else len(self) > 0
        )

    @property
    def shape(self) -> tuple[int, int]:
        return self._count(), len(self.attributes)

    # -- values -------------------------------------------------------------------------------

    def blocks(self) -> Iterator[dict[str, Column]]:
        """The tuples in pieces of at most some million, each as arrays by column name."""
        values = self._checkpoint._values_of_cells
        for cells in self._blocks():
            yield {a.name: values.column(a, c) for a, c in zip(self.attributes, cells, strict=True)}

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Tuples of Python's values, in the order in which they are stored."""
        if not self.attributes:
            return iter([()] * len(self))
        return (
            row
            for block in self.blocks()
            for row in zip(*map(_to_list, block.values()), strict=True)
        )

    def classes(self) -> Iterator[list[Any]]:
        """The classes of an equivalence relation (eqrel), each as the list of its elements.

        Of a run on several ranks, each class is with one of them.
        """
        if not self.is_equivalence:
            raise CheckpointError(f"{self.name} is no equivalence relation (eqrel)")
        if self._conditions:
            raise CheckpointError("classes() is for the whole relation")
        values, attribute = self._checkpoint._values_of_cells, self.attributes[0]
        return (_to_list(values.column(attribute, each)) for each in self._member_arrays())

    def cells(self) -> npt.NDArray[np.uint32]:
        """The bare cells, shape (rows, columns), of every block one after another."""
        expected = self._expected_rows()
        filled = _Growing(np.uint32, expected, len(self.attributes))
        if not self.attributes:
            return filled.whole
        for columns in self._blocks():
            filled.add(columns)
        self._check_rows(filled.rows, expected)
        return filled.finished()

    def _check_rows(self, found: int, expected: int | None) -> None:
        demand(
            expected is None or found == expected,
            f"{self.name}: {expected} tuples expected, {found} found",
        )

    def to_columns(self) -> dict[str, Column]:
        """One array for each column: int64, uint64, float64, or objects."""
        expected = self._expected_rows()
        if expected and all(dtype.kind != "O" for dtype in self.dtypes.values()):
            whole = {name: np.empty(expected, dtype) for name, dtype in self.dtypes.items()}
            if self._checkpoint._fill(self._index, list(whole.values())):
                return whole
        filled = {
            a.name: _Growing(self._checkpoint._values_of_cells.dtype(a), expected)
            for a in self.attributes
        }
        rows = 0
        for block in self.blocks():
            for name, column in block.items():
                filled[name].add([column])
            rows += len(column)
        self._check_rows(rows, expected if self.attributes else None)
        return {name: growing.finished() for name, growing in filled.items()}

    def column(self, name: str) -> Column:
        """One column's values; the others are not translated, and of mode hdf5-streams not read."""
        at = self._column(name)
        attribute = self.attributes[at]
        expected = self._expected_rows()
        filled = _Growing(self._checkpoint._values_of_cells.dtype(attribute), expected)
        for cells in self._column_blocks(at):
            filled.add([self._checkpoint._values_of_cells.column(attribute, cells)])
        column = filled.finished()
        self._check_rows(len(column), expected)
        return column

    def to_numpy(self) -> npt.NDArray[Any]:
        """All tuples, shape (rows, columns): of one type of numbers if all columns have it."""
        dtypes = set(self.dtypes.values())
        dtype = dtypes.pop() if len(dtypes) == 1 else np.dtype(object)
        expected = self._expected_rows()
        arity = len(self.attributes)
        filled = _Growing(dtype, expected, arity)
        if arity == 0:
            return filled.whole
        if dtype.kind != "O" and expected:
            columns = [filled.whole[:, i] for i in range(arity)]
            if self._checkpoint._fill(self._index, columns):
                return filled.whole
        for block in self.blocks():
            filled.add(list(block.values()))
        self._check_rows(filled.rows, expected)
        return filled.finished()

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """What numpy.asarray(table) gives: to_numpy(), and never rounded numbers."""
        if copy is False:
            raise ValueError("an array of a table is always made anew: leave copy=False out")
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Structured values are Soufflé's text, which insert() takes: symbols
        within are in quotes where they would be read as something else."""
        try:
            import pandas
        except ImportError as error:
            raise NotInstalledError("to_pandas() needs pandas: pip install pandas") from error
        columns = self.to_columns()
        return pandas.DataFrame(
            {
                # As they are: pandas would make texts of its own, and has none that are no UTF-8.
                a.name: pandas.Series(_flat(a, columns[a.name]), dtype=columns[a.name].dtype)
                for a in self.attributes
            },
            index=range(len(self)) if not self.attributes else None,
        )

    def to_arrow(self) -> Any:
        """A pyarrow.Table; symbols are dictionaries of strings, structured values Soufflé's text,
        as to_pandas() has it.

        Symbols that are not UTF-8 make the columns that hold symbols binary.
        """
        try:
            import pyarrow
        except ImportError as error:
            raise NotInstalledError("to_arrow() needs pyarrow: pip install pyarrow") from error
        from stratalog.arrow import to_arrow

        return to_arrow(pyarrow, self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """For readers of Arrow's data (polars, DuckDB, pyarrow.table()); by to_arrow()."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def verify(self) -> None:
        """Reads everything and recomputes the relation's hash; DamagedError if it differs."""
        self._checkpoint._verify(self._index)


def _least_pairs(blocks: Iterator[list[U32]]) -> Iterator[list[U32]]:
    """Of the pairs of an equivalence relation those whose first element is the least of its class,
    so that each class is there once: in the order of the blocks it begins with itself."""
    last = -1
    leads = np.zeros(1, dtype=bool)  # whether the element that the last block ended with is such
    for first, second in blocks:
        begins = np.empty(len(first), dtype=bool)
        begins[:1] = first[:1] != last
        begins[1:] = first[1:] != first[:-1]
        leads = np.concatenate([leads[-1:], first[begins] == second[begins]])
        chosen = leads[np.cumsum(begins)]
        yield [first[chosen], second[chosen]]
        last = int(first[-1]) if len(first) else last


class _Growing:
    """An array that blocks are added to: in place where its length is known, else it grows by an
    eighth at a time. The system moves the pages of large ones, so that one copy is held."""

    def __init__(self, dtype: Any, rows: int | None, columns: int | None = None) -> None:
        self._is_known = rows is not None
        shape = () if columns is None else (columns,)
        self.whole: Column = np.empty((rows or 0, *shape), dtype=dtype)
        self.rows = 0

    def _resize(self, rows: int) -> None:
        self.whole.resize((rows, *self.whole.shape[1:]), refcheck=False)  # ours alone

    def add(self, columns: list[Column]) -> None:
        """A block: one column, or as many as the array has."""
        begin, end = self.rows, self.rows + len(columns[0])
        if end > len(self.whole):
            demand(not self._is_known, "more tuples than expected")
            self._resize(max(end, len(self.whole) + len(self.whole) // 8))
        if self.whole.ndim == 1:
            self.whole[begin:end] = columns[0]
        else:
            for i, column in enumerate(columns):
                self.whole[begin:end, i] = column
        self.rows = end

    def finished(self) -> Column:
        if self.rows < len(self.whole):
            self._resize(self.rows)
        return self.whole


_SEVERAL = (slice, range, list, set, frozenset, np.ndarray)  # keys that several tuples may have


def _tuple_of(values: object) -> tuple[Any, ...]:
    """A row: a tuple, a list or an array of one dimension, or the value of a single column."""
    if isinstance(values, (np.ndarray, np.void)):
        values = values.tolist()
    if isinstance(values, (tuple, list)) and not isinstance(values, (Record, Term)):
        return tuple(values)
    return (values,)


def _to_list(column: Column) -> list[Any]:
    items: list[Any] = column.tolist()
    return items


def _flat(attribute: Attribute, column: Column) -> Column:
    """A column as plain texts where it has structured values."""
    if attribute.structure is None:
        return column
    texts = np.empty(len(column), dtype=object)
    texts[:] = [to_text(value, quoted_where_needed) for value in column]
    return texts


__all__ = ["DamagedError", "Table", "multiset_hash"]
