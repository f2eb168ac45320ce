# SPDX-License-Identifier: Apache-2.0
"""The compact encoding: a block's fragments (a prefix and a set of last cells), one by one.

Follows docs/formats/checkpoint.md. Fragments depend on the ones before them, so this is a loop in
Python: about a million fragments a second. Large sets are numpy's work, whatever their form.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stratalog_formats.damage import DamagedError, demand

U32 = npt.NDArray[np.uint32]
_FEW = 16  # below, a loop is quicker than numpy's calls
_CELLS = 1 << 32


class _Payload:
    """Takes numbers from the front of a payload; raises IndexError at its end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

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


def _put(cells: U32, at: int, elements: list[int] | npt.NDArray[np.int64]) -> int:
    """Stores elements from `at` on; returns the place behind them."""
    end = at + len(elements)
    demand(end <= len(cells), "more tuples than the block's header says")
    demand(len(elements) > 0 and elements[0] >= 0 and elements[-1] < _CELLS, "no 32-bit cells")
    cells[at:end] = elements
    return end


def _bits(octets: npt.NDArray[np.uint8], base: int) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.unpackbits(octets, bitorder="little")).astype(np.int64) + base


def _sparse_bytes(payload: _Payload, size: int) -> npt.NDArray[np.uint8]:
    """The words whose nonzero bytes the masks name."""
    there = np.unpackbits(payload.octets(size), bitorder="little").astype(bool)
    octets = np.zeros(8 * size, dtype=np.uint8)
    octets[there] = payload.octets(int(there.sum()))
    return octets


def _put_gaps(payload: _Payload, kind: int, base: int, size: int, cells: U32, at: int) -> int:
    demand(0 < size <= 16384, "a set of a size that cannot be")
    if kind == 1 and size >= _FEW:
        steps = payload.octets(size - 1).astype(np.int64) + 1
        return _put(cells, at, np.concatenate([[base], base + np.cumsum(steps)]))
    elements = [base]
    for _ in range(size - 1):
        base += (payload.byte() if kind == 1 else payload.varint()) + 1
        elements.append(base)
    return _put(cells, at, elements)


def _put_runs(payload: _Payload, base: int, size: int, cells: U32, at: int) -> int:
    first = at
    for i in range(size):
        base += payload.varint() + 1 if i else 0
        length = payload.varint() + 1
        demand(at + length - first <= 65536, "runs that are too long")
        at = _put(cells, at, np.arange(base, base + length))
        base += length
    demand(at > first, "no runs")
    return at


def _put_set(payload: _Payload, kind: int, base: int, size: int, cells: U32, at: int) -> int:
    if kind in (1, 2):
        return _put_gaps(payload, kind, base, size, cells, at)
    if kind == 3:
        return _put_runs(payload, base, size, cells, at)
    demand(kind in (4, 5), f"no such kind of fragment: {kind}")
    demand(size <= 1024, "a set of a size that cannot be")
    octets = payload.octets(8 * size) if kind == 4 else _sparse_bytes(payload, size)
    return _put(cells, at, _bits(octets, base))


def _change_prefix(payload: _Payload, mode: int, prefix: list[int]) -> None:
    if mode == 1:
        prefix[-1] += 1
    elif mode == 2:
        prefix[-1] += payload.varint()
    else:
        changed = payload.varint()
        prefix[changed] += payload.signed()
        for i in range(changed + 1, len(prefix)):
            prefix[i] = payload.varint()


def _decode(data: bytes, groups: int, arity: int, cells: U32) -> list[U32]:
    payload = _Payload(data)
    prefix = [0] * (arity - 1)
    prefixes: list[list[int]] = [[] for _ in prefix]
    ends = []
    base = size = at = 0
    for _ in range(groups):
        tag = payload.byte()
        if mode := tag >> 4 & 3:
            _change_prefix(payload, mode, prefix)
        if not tag & 0x08:
            base += payload.signed()
        kind = tag & 7
        if kind == 0:
            cells[at] = base
            at += 1
        else:
            if not tag & 0x40:
                size = payload.varint()
            at = _put_set(payload, kind, base, size, cells, at)
        ends.append(at)
        for column, cell in zip(prefixes, prefix, strict=True):
            column.append(cell)
    demand(payload.at == len(data), "bytes after the last fragment")
    demand(at == len(cells), "fewer tuples than the block's header says")
    counts = np.array(ends, dtype=np.int64) - np.array([0, *ends[:-1]], dtype=np.int64)
    columns = [np.repeat(np.array(column, dtype=np.uint32), counts) for column in prefixes]
    return [*columns, cells]


def decode_compact(data: bytes, groups: int, arity: int, rows: int) -> list[U32]:
    """The columns of a block, in group column order; DamagedError if the bytes cannot be one."""
    demand(rows <= groups * 65536, "more tuples than fragments can hold")
    try:
        return _decode(data, groups, arity, np.empty(rows, dtype=np.uint32))
    except (IndexError, OverflowError) as error:
        raise DamagedError("a payload that ends early or has cells beyond 32 bits") from error
