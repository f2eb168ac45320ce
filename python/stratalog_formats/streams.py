# SPDX-License-Identifier: Apache-2.0
"""The streams encoding, with numpy: bit-packed streams and the trie that they hold.

Follows docs/formats/checkpoint.md; whole blocks at a time, nothing goes element by element.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stratalog_formats.damage import demand

U32 = npt.NDArray[np.uint32]
_UNIT = 256
_LANES = 8
_MOST_ROWS = (1 << 20) + (1 << 16)  # a block that has 2^20 tuples gets no further fragment


def _unpack_width(words: npt.NDArray[np.uint32], width: int) -> U32:
    """Units of one width: (units, width, lanes) words to (units, 256) numbers."""
    if width == 32:
        return words.reshape(-1, _UNIT)
    numbers = np.empty((len(words), _UNIT // _LANES, _LANES), dtype=np.uint32)
    for slot in range(_UNIT // _LANES):
        word, shift = divmod(slot * width, 32)
        value = words[:, word] >> np.uint32(shift)
        if shift + width > 32:
            value |= words[:, word + 1] << np.uint32(32 - shift)
        numbers[:, slot] = value
    numbers &= np.uint32((1 << width) - 1)
    return numbers.reshape(-1, _UNIT)


def _add_exceptions(
    numbers: U32, units: npt.NDArray[np.intp], widths: U32, entries: U32, high: list[U32], at: U32
) -> None:
    """Puts the high parts of exceptions in their places; `entries` are those of `units`."""
    counts = entries & 63
    sizes = np.repeat(entries >> 6, counts)
    value = np.zeros(len(sizes), dtype=np.uint32)
    for size, part in enumerate(high):
        value[sizes == size] = part
    unit = np.repeat(units, counts)
    numbers[unit, at] |= value << widths[unit]


def unpack_stream(data: memoryview, values: int) -> U32:
    """The numbers of one stream, which fills `data`."""
    units = -(-values // _UNIT)
    octets = np.frombuffer(data, dtype=np.uint8)
    heads = octets[:units]
    demand(len(heads) == units, "a stream ends early")
    widths = (heads & 63).astype(np.uint32)
    demand(bool((widths <= 32).all()), "a width that cannot be")
    with_exceptions = np.flatnonzero(heads & 64)
    front = units + len(with_exceptions)
    entries = octets[units:front].astype(np.uint32)
    sizes, counts = entries >> 6, entries & 63
    demand(len(entries) == len(with_exceptions), "a stream ends early")
    demand(bool(((sizes < 3) & (counts > 0)).all()), "exceptions that cannot be")
    many = [int(counts[sizes == size].sum()) for size in range(3)]
    word_count = int(widths.sum()) * _LANES
    at = -(-front // 4) * 4
    ends = at + 4 * word_count + 4 * many[2] + 2 * many[1] + 2 * many[0] + many[1] + many[2]
    demand(-(-ends // 4) * 4 == len(octets), "a stream of another length than its heads say")
    words = np.frombuffer(data, dtype="<u4", count=word_count, offset=at)
    at += 4 * word_count
    high = [np.empty(0, dtype=np.uint32)] * 3
    for size, dtype in ((2, "<u4"), (1, "<u2"), (0, "u1")):
        part = np.frombuffer(data, dtype=dtype, count=many[size], offset=at)
        at += part.nbytes
        high[size] = part.astype(np.uint32)
    positions = octets[at : at + sum(many)].astype(np.uint32)

    numbers = np.zeros((units, _UNIT), dtype=np.uint32)
    starts = (np.cumsum(widths, dtype=np.int64) - widths) * _LANES
    for width in np.flatnonzero(np.bincount(widths, minlength=1)):
        if width == 0:
            continue
        chosen = np.flatnonzero(widths == width)
        index = starts[chosen, None] + np.arange(width * _LANES)
        numbers[chosen] = _unpack_width(words[index].reshape(-1, width, _LANES), int(width))
    if len(with_exceptions):
        _add_exceptions(numbers, with_exceptions, widths, entries, high, positions)
    differences = np.flatnonzero(heads & 128)
    if len(differences):
        zigzag = numbers[differences]
        steps = (zigzag >> np.uint32(1)) ^ (np.uint32(0) - (zigzag & np.uint32(1)))
        numbers[differences] = np.cumsum(steps, axis=1, dtype=np.uint32)
    return numbers.reshape(-1)[:values]


def expand_children(count: U32, first: U32, gaps: U32) -> U32:
    """Children of all nodes of a level: for each `first`, then gaps (less one) to the others."""
    demand(bool((count > 0).all()), "a node without children")
    start = np.cumsum(count, dtype=np.int64) - count
    inner = np.ones(int(count.sum(dtype=np.int64)), dtype=bool)
    inner[start] = False
    step = np.zeros(len(inner), dtype=np.uint32)
    step[inner] = gaps + np.uint32(1)
    step = np.cumsum(step, dtype=np.uint32)
    children: U32 = step + np.repeat(first - step[start], count)
    return children


def decode_streams(payload: bytes | memoryview, arity: int, rows: int) -> list[U32]:
    """The columns of a block, in group column order."""
    view = memoryview(payload)
    streams = 2 if arity == 1 else 3 * arity - 2
    demand(len(view) >= 8 * streams, "a block without its directory")
    demand(rows < _MOST_ROWS, "more tuples than a block may have")
    directory = np.frombuffer(view, dtype="<u4", count=2 * streams).reshape(-1, 2)
    at = 8 * streams
    parts = []
    for values, length in directory.tolist():
        demand(at + length <= len(view), "a stream reaches beyond its block")
        demand(values <= rows, "more numbers than tuples")
        parts.append(unpack_stream(view[at : at + length], values))
        at += length
    demand(at == len(view), "bytes after the last stream")
    if arity == 1:
        parts.insert(0, np.array([rows], dtype=np.uint32))
        columns: list[U32] = []
    else:
        columns = [np.cumsum(parts.pop(0), dtype=np.uint32)]
    for level in range(0, len(parts), 3):
        count, first, gaps = parts[level : level + 3]
        demand(
            len(count) == len(first) and int(count.sum(dtype=np.int64)) == len(first) + len(gaps),
            "levels that do not fit each other",
        )
        columns = [np.repeat(column, count) for column in columns]
        columns.append(expand_children(count, first, gaps))
    demand(len(columns[0]) == rows and rows > 0, "another number of tuples")
    return columns
