# SPDX-License-Identifier: Apache-2.0
"""The pool encodings: the sets of a block, each once, and streams that say which group has which.

Follows docs/formats/checkpoint.md. A loop over the sets that are spelled out; the rest is numpy's
work.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stratalog_formats.compact import read_sets
from stratalog_formats.damage import demand
from stratalog_formats.streams import unpack_stream

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]
_REACH = 4096  # sets that a run may name
_GROUPS = (1 << 20) + 256
_ROWS = (1 << 22) + 65536
_ROW_CELLS = 512  # of a table
_ROWS_AT_ONCE = 1 << 13
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
# What a run of groups may say of its set; above: how far back it is.
_SPELLED, _CHANGES, _ROW, _TABLE = range(4)


def _spread(columns: list[U32], cells: U32, starts: I64, counts: I64, rows: int) -> list[U32]:
    """The tuples of groups whose sets lie at `starts` of `cells`."""
    demand(int(counts.sum()) == rows, "another number of tuples than the block's header says")
    ends = np.cumsum(counts)
    index = np.repeat(starts - (ends - counts), counts) + np.arange(rows)
    return [*(np.repeat(column, counts) for column in columns), cells[index]]


def decode_pool(payload: bytes | memoryview, groups: int, arity: int, rows: int) -> list[U32]:
    """The columns of a block, in group column order; DamagedError if the bytes cannot be one."""
    view = memoryview(payload)
    demand(0 < groups < _GROUPS and groups <= rows < _ROWS, "more than a block has")
    demand(arity > 1 and len(view) >= 8 + 4 * arity, "a block without its head")
    sets, set_bytes, *lengths = np.frombuffer(view, dtype="<u4", count=2 + arity).tolist()
    at = 8 + 4 * arity
    demand(set_bytes + sum(lengths) == len(view) - at, "a block of another length")
    cells, stops = read_sets(bytes(view[at : at + set_bytes]), sets, rows)
    at += set_bytes
    streams = []
    for length in lengths:
        streams.append(unpack_stream(view[at : at + length], groups))
        at += length
    back = streams.pop().astype(np.int64)
    pooled = np.cumsum(back == 0)  # so far, with the group's own
    demand(int(pooled[-1]) == sets, "another number of sets")
    demand(bool(((back <= pooled) & (back <= _REACH)).all()), "a set that is not there")
    chosen = pooled - np.maximum(back, 1)
    starts = np.concatenate([[0], stops[:-1]])
    return _spread(streams, cells, starts[chosen], (stops - starts)[chosen], rows)


def _read_rows(sizes: I64, gaps: I64, begins_anew: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """The bits of each row, 64 bytes; a row that does not begin anew changes the one before."""
    demand(int(sizes.sum()) == len(gaps), "another number of bits than the rows have")
    ends = np.cumsum(sizes)
    steps = gaps + 1
    summed = np.cumsum(steps)
    before = (summed - steps)[ends - sizes]
    bits = summed - np.repeat(before, sizes) - 1
    demand(bool((bits < _ROW_CELLS).all()), "a bit that no row has")
    changes = np.zeros((len(sizes), _ROW_CELLS // 8), dtype=np.uint8)
    row = np.repeat(np.arange(len(sizes)), sizes)
    np.bitwise_or.at(changes, (row, bits >> 3), (1 << (bits & 7)).astype(np.uint8))
    summed_changes = np.bitwise_xor.accumulate(changes, axis=0)
    first = np.maximum.accumulate(np.where(begins_anew, np.arange(len(sizes)), 0))
    base = np.where((first > 0)[:, None], summed_changes[first - 1], np.uint8(0))
    return np.asarray(summed_changes ^ base, dtype=np.uint8)


def _places_of_bits(rows: npt.NDArray[np.uint8]) -> tuple[I64, I64]:
    """Row and place of each bit that is set; of some rows at a time, as each takes 512 bytes."""
    found_rows, found_bits = [], []
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        some = np.unpackbits(rows[first : first + _ROWS_AT_ONCE], axis=1, bitorder="little")
        row, bit = np.nonzero(some)
        found_rows.append(row + first)
        found_bits.append(bit)
    return np.concatenate(found_rows), np.concatenate(found_bits)


def decode_run_pool(payload: bytes | memoryview, groups: int, arity: int, rows: int) -> list[U32]:
    """The same of a block with runs of groups, and rows of bits."""
    view = memoryview(payload)
    head = 20 + 4 * (arity + 3)
    demand(0 < groups < _GROUPS and groups <= rows < _ROWS, "more than a block has")
    demand(arity > 1 and len(view) >= head, "a block without its head")
    numbers = np.frombuffer(view, dtype="<u4", count=head // 4).tolist()
    sets, set_bytes, runs, row_count, bit_count, *lengths = numbers
    demand(0 < runs <= groups and row_count <= runs, "more runs or rows than a block has")
    demand(bit_count <= row_count * _ROW_CELLS, "more bits than rows have")
    demand(set_bytes + sum(lengths) == len(view) - head, "a block of another length")
    at = head + set_bytes
    streams = []
    values = [*[groups] * (arity - 1), runs, runs, row_count, bit_count]
    for length, count in zip(lengths, values, strict=True):
        streams.append(unpack_stream(view[at : at + length], count))
        at += length
    *prefixes, what, run_lengths, sizes, gaps = (stream.astype(np.int64) for stream in streams)
    columns = [column.astype(np.uint32) for column in prefixes]
    # Sets that are spelled out, tables among them: no more cells than the tuples and the tables.
    is_table = what == _TABLE
    most = rows + int(is_table.sum()) * _ROW_CELLS
    cells, stops = read_sets(bytes(view[head : head + set_bytes]), sets, most)
    starts = np.concatenate([[0], stops[:-1]]).astype(np.int64)
    demand(int(((what == _SPELLED) | is_table).sum()) == sets, "another number of sets")
    is_row = (what >= _CHANGES) & (what <= _TABLE)
    demand(int(is_row.sum()) == row_count, "another number of rows")
    is_new = what <= _TABLE
    kinds = what[is_new]  # of the sets of the pool, in their order
    tables = np.cumsum(kinds == _TABLE)
    spelled = np.cumsum((kinds == _SPELLED) | (kinds == _TABLE)) - 1
    counts = np.zeros(len(kinds), dtype=np.int64)
    places = np.zeros(len(kinds), dtype=np.int64)
    plain = kinds == _SPELLED
    places[plain] = starts[spelled[plain]]
    counts[plain] = (stops - starts)[spelled[plain]]
    if row_count:
        own = kinds != _SPELLED
        demand(bool((tables[own] > 0).all()), "a row without a table")
        bits = _read_rows(sizes + 1, gaps, kinds[own] != _CHANGES)
        table_at = spelled[kinds == _TABLE][tables[own] - 1]
        counts[own] = _ONES[bits].sum(axis=1, dtype=np.int64)
        demand(bool((counts[own] > 0).all()), "a row of nothing")
        demand(int(counts[own].sum()) <= rows, "rows of more cells than there are tuples")
        row, bit = _places_of_bits(bits)
        demand(bool((bit < (stops - starts)[table_at][row]).all()), "a bit without a cell")
        places[own] = len(cells) + np.cumsum(counts[own]) - counts[own]
        cells = np.concatenate([cells, cells[starts[table_at][row] + bit]])
    pooled = np.cumsum(is_new)
    back = np.where(is_new, 1, what - _TABLE)
    demand(bool(((back <= pooled) & (back <= _REACH)).all()), "a set that is not there")
    chosen: I64 = np.asarray(pooled - back, dtype=np.int64)
    known = ~is_new & (kinds[chosen] != _SPELLED)
    now = np.concatenate([[0], tables])[pooled]
    demand(bool((tables[chosen] == now)[known].all()), "a row of another table")
    demand(int((run_lengths + 1).sum()) == groups, "another number of groups")
    chosen = np.repeat(chosen, run_lengths + 1)
    return _spread(columns, cells, places[chosen], counts[chosen], rows)
