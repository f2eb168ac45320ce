# SPDX-License-Identifier: Apache-2.0
"""The compact encoding: a block's fragments (a prefix and a set of last cells), one by one.

Follows docs/formats/checkpoint.md. Fragments depend on the ones before them, so this is a loop in
Python: about a million fragments a second. Large sets are numpy's work, whatever their form.
"""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from stratalog_formats.damage import DamagedError, demand

U32 = npt.NDArray[np.uint32]
_FEW = 16  # below, a loop is quicker than numpy's calls
_CELLS = 1 << 32
_REACH = 1024  # sets that a copy may name


class _Payload:
    """Takes numbers from the front of a payload; raises IndexError at its end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def varint(self) -> int:
        value = self.data[self.at]
        self.at += 1
        if value < 0x80:
            return value
        value &= 0x7F
        for shift in range(7, 70, 7):
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise IndexError

    def signed(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def octets(self, count: int) -> npt.NDArray[np.uint8]:
        if self.at + count > len(self.data):
            raise IndexError
        self.at += count
        return np.frombuffer(self.data, np.uint8, count, self.at - count)


def _put(cells: array[int], elements: npt.NDArray[np.int64]) -> None:
    demand(len(elements) > 0 and elements[0] >= 0 and elements[-1] < _CELLS, "no 32-bit cells")
    cells.frombytes(elements.astype(np.uint32).tobytes())


def _bits(octets: npt.NDArray[np.uint8], base: int) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.unpackbits(octets, bitorder="little")).astype(np.int64) + base


def _sparse_bytes(payload: _Payload, size: int) -> npt.NDArray[np.uint8]:
    """The words whose nonzero bytes the masks name."""
    there = np.unpackbits(payload.octets(size), bitorder="little").astype(bool)
    octets = np.zeros(8 * size, dtype=np.uint8)
    octets[there] = payload.octets(int(there.sum()))
    return octets


def _put_gaps(payload: _Payload, kind: int, base: int, size: int, cells: array[int]) -> None:
    demand(0 < size <= 16384, "a set of a size that cannot be")
    if kind == 1 and size >= _FEW:
        steps = payload.octets(size - 1).astype(np.int64) + 1
        return _put(cells, np.concatenate([[base], base + np.cumsum(steps)]))
    cells.append(base)
    data, at = payload.data, payload.at
    for _ in range(size - 1):
        gap = data[at]
        at += 1
        if gap >= 0x80 and kind == 2:
            payload.at = at - 1
            gap = payload.varint()
            at = payload.at
        base += gap + 1
        cells.append(base)
    payload.at = at
    return None


def _put_runs(payload: _Payload, base: int, size: int, cells: array[int]) -> None:
    left = 65536
    demand(size > 0, "no runs")
    for i in range(size):
        base += payload.varint() + 1 if i else 0
        length = payload.varint() + 1
        left -= length
        demand(left >= 0, "runs that are too long")
        if length == 1:
            cells.append(base)
        else:
            _put(cells, np.arange(base, base + length))
        base += length


def _put_set(payload: _Payload, kind: int, base: int, size: int, cells: array[int]) -> None:
    if kind in (1, 2):
        _put_gaps(payload, kind, base, size, cells)
    elif kind == 3:
        _put_runs(payload, base, size, cells)
    else:
        demand(kind in (4, 5), f"no such kind of fragment: {kind}")
        demand(size <= 1024, "a set of a size that cannot be")
        octets = payload.octets(8 * size) if kind == 4 else _sparse_bytes(payload, size)
        _put(cells, _bits(octets, base))


def _change_prefix(payload: _Payload, prefix: list[int]) -> None:
    changed = payload.varint()
    prefix[changed] += payload.signed()
    for i in range(changed + 1, len(prefix)):
        prefix[i] = payload.varint()


# The common steps stand here in full, because calls are what costs time.
def _decode(data: bytes, groups: int, arity: int, rows: int) -> list[U32]:
    payload = _Payload(data)
    prefix = [0] * (arity - 1)
    changes = [(0, list(prefix))]  # fragments at which other cells than the prefix's last changed
    lasts = array("I")
    ends = array("Q")
    cells = array("I")
    pos = last = base = size = 0
    spelled: list[tuple[int, int]] = []  # where in cells the sets are that copies may name
    for fragment in range(groups):
        tag = data[pos]
        pos += 1
        mode = tag & 0x30
        if mode == 0x10:
            last += 1
        elif mode == 0x20 and data[pos] < 0x80:
            last += data[pos]
            pos += 1
        elif mode:
            payload.at = pos
            if mode == 0x20:
                last += payload.varint()
            else:
                prefix[-1] = last
                _change_prefix(payload, prefix)
                last = prefix[-1]
                changes.append((fragment, list(prefix)))
            pos = payload.at
        if tag & 7 == 6:
            demand(not tag & 0xC8, "a copy with a base or a size")
            payload.at = pos
            back = payload.varint()
            pos = payload.at
            demand(back < min(len(spelled), _REACH), "a copy of nothing")
            begin, end = spelled[-1 - back]
            cells.extend(cells[begin:end])
            demand(len(cells) <= rows, "more tuples than the block's header says")
            ends.append(len(cells))
            lasts.append(last)
            continue
        if not tag & 0x08:
            value = data[pos]
            pos += 1
            if value >= 0x80:
                payload.at = pos - 1
                value = payload.varint()
                pos = payload.at
            base += value >> 1 ^ -(value & 1)
        if not tag & 7:
            cells.append(base)
        else:
            payload.at = pos
            if not tag & 0x40:
                size = payload.varint()
            first = len(cells)
            _put_set(payload, tag & 7, base, size, cells)
            spelled.append((first, len(cells)))
            pos = payload.at
            demand(len(cells) <= rows, "more tuples than the block's header says")
        ends.append(len(cells))
        lasts.append(last)
    demand(pos == len(data), "bytes after the last fragment")
    demand(len(cells) == rows, "another number of tuples than the block's header says")
    demand(arity > 1 or last == 0, "a prefix where there is none")
    stops = np.frombuffer(ends, dtype=np.uint64).astype(np.int64)
    counts = stops - np.concatenate([[0], stops[:-1]])
    begins = np.array([fragment for fragment, _ in changes], dtype=np.int64)
    fragments = np.array([*begins[1:], groups], dtype=np.int64) - begins
    columns: list[U32] = []
    for column in range(arity - 2):
        values = np.array([prefix[column] for _, prefix in changes], dtype=np.uint32)
        columns.append(np.repeat(np.repeat(values, fragments), counts))
    if arity > 1:
        columns.append(np.repeat(np.frombuffer(lasts, dtype=np.uint32), counts))
    return [*columns, np.frombuffer(cells, dtype=np.uint32)]


def read_sets(data: bytes, sets: int, most: int) -> tuple[U32, npt.NDArray[np.int64]]:
    """Fragments without prefixes: their cells, and where each one ends. At most `most` cells."""
    payload = _Payload(data)
    cells = array("I")
    ends = array("Q")
    base = size = 0
    try:
        for _ in range(sets):
            tag = data[payload.at]
            payload.at += 1
            demand(tag & 7 < 6 and not tag & 0xB0, "no such fragment of a pool")
            if not tag & 0x08:
                base += payload.signed()
            if not tag & 7:
                cells.append(base)
            else:
                if not tag & 0x40:
                    size = payload.varint()
                _put_set(payload, tag & 7, base, size, cells)
            demand(len(cells) <= most, "more cells than the block's tuples have")
            ends.append(len(cells))
    except (IndexError, OverflowError) as error:
        raise DamagedError("sets that end early or have cells beyond 32 bits") from error
    demand(payload.at == len(data), "bytes after the last set")
    stops = np.frombuffer(ends, dtype=np.uint64).astype(np.int64)
    return np.frombuffer(cells, dtype=np.uint32), stops


def decode_compact(data: bytes, groups: int, arity: int, rows: int) -> list[U32]:
    """The columns of a block, in group column order; DamagedError if the bytes cannot be one."""
    demand(0 < groups <= rows <= groups * 65536, "a number of tuples that fragments cannot hold")
    try:
        return _decode(data, groups, arity, rows)
    except (IndexError, OverflowError) as error:
        raise DamagedError("a payload that ends early or has cells beyond 32 bits") from error
