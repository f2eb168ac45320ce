# SPDX-License-Identifier: Apache-2.0
"""Blocks of shards in mode hdf5-streams: numbers in shuffled and deflated chunks, with numpy.

Follows docs/formats/checkpoint.md, with the manifest in hand. Who has only the HDF5 file reads it
with h5py, as that page shows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog_formats.damage import demand
from stratalog_formats.streams import expand_children
from stratalog_formats.xxh3 import xxh3_64

U32 = npt.NDArray[np.uint32]
_MOST_ROWS = (1 << 17) + (1 << 16)


def _unfilter(stored: bytes, numbers: int) -> U32:
    """A chunk's numbers; one of 4 bytes a number is as HDF5 would have written it unfiltered."""
    if len(stored) == 4 * numbers:
        return np.frombuffer(stored, dtype="<u4").astype(np.uint32)
    octets = zlib.decompress(stored)
    demand(len(octets) == 4 * numbers, "a chunk's size")
    planes = np.frombuffer(octets, dtype=np.uint8).reshape(4, numbers)
    return np.ascontiguousarray(planes.T).reshape(-1).view("<u4").astype(np.uint32)


class ShardStreams:
    """The streams of one shard; `read(offset, length)` reads its extents, one after another."""

    def __init__(
        self,
        read: Callable[[int, int], bytes],
        shard: dict[str, Any],
        arity: int,
        seed: Callable[[int, int], int],
    ) -> None:
        """`seed(stream, chunk)` seeds a chunk's checksum."""
        self._read = read
        self._seed = seed
        self._arity = arity
        streams = 1 if arity == 1 else 3 * arity - 2
        self._chunks: list[int] = shard["chunks"]
        demand(len(self._chunks) == streams and all(c > 0 for c in self._chunks), "chunks")
        self._keys = np.array(shard["keys"], dtype=np.uint32)
        begins = np.array(shard["begins"], dtype=np.int64).reshape(-1, streams)
        demand(len(begins) == shard["blocks"] + 1 == len(self._keys) + 1, "number of blocks")
        demand(bool((np.diff(begins, axis=0) >= 0).all()), "blocks that go back")
        self._begins = begins
        self._pieces: list[str] = shard["pieces"]
        lengths = [length for _, length in shard["extents"]]
        self._offsets = np.cumsum([0, *lengths]).tolist()
        self._first_chunks = [int(begins[0, s]) // c for s, c in enumerate(self._chunks)]
        ends = [
            -(-int(begins[-1, s]) // c) if begins[-1, s] > begins[0, s] else self._first_chunks[s]
            for s, c in enumerate(self._chunks)
        ]
        held = [end - first for end, first in zip(ends, self._first_chunks, strict=True)]
        self._extents = np.cumsum([0, *held]).tolist()
        demand(self._extents[-1] == len(lengths) == len(self._pieces), "number of chunks")
        self._inflated: dict[int, tuple[int, U32]] = {}

    def _chunk(self, stream: int, chunk: int) -> U32:
        at, numbers = self._inflated.get(stream, (-1, np.empty(0, np.uint32)))
        if at == chunk:
            return numbers
        extent = self._extents[stream] + chunk - self._first_chunks[stream]
        begin, end = self._offsets[extent : extent + 2]
        stored = self._read(begin, end - begin)
        found = xxh3_64(stored + bytes(-len(stored) % 256), self._seed(stream, chunk))
        demand(f"{found:016x}" == self._pieces[extent], f"chunk {chunk}: checksum")
        numbers = _unfilter(stored, self._chunks[stream])
        self._inflated[stream] = (chunk, numbers)
        return numbers

    def _numbers(self, stream: int, block: int) -> U32:
        """What a stream has of a block."""
        begin, end = (int(self._begins[block + i, stream]) for i in range(2))
        demand(end - begin <= _MOST_ROWS, "more numbers than a block may have")
        size = self._chunks[stream]
        parts = [np.empty(0, np.uint32)]
        while begin < end:
            chunk, within = divmod(begin, size)
            taken = min(size - within, end - begin)
            parts.append(self._chunk(stream, chunk)[within : within + taken])
            begin += taken
        return np.concatenate(parts)

    def _keys_of(self, block: int) -> U32:
        keys = self._numbers(0, block)
        demand(len(keys) > 0, "a block without keys")
        keys[0] = self._keys[block]
        return np.cumsum(keys, dtype=np.uint32)

    def _level(self, block: int, level: int) -> U32:
        """The nodes of a level: what stands in column `level`, below each node of the one above."""
        if level == 0:
            return self._keys_of(block)
        count, first, gap = (self._numbers(3 * level - 2 + i, block) for i in range(3))
        demand(
            len(count) == len(first) and int(count.sum(dtype=np.int64)) == len(first) + len(gap),
            "levels that do not fit each other",
        )
        return expand_children(count, first, gap)

    def column(self, block: int, level: int) -> U32:
        """One column of a block, in the order of the streams; reads the streams that it needs."""
        cells = self._level(block, level)
        for below in range(level + 1, self._arity):
            count = self._numbers(3 * below - 2, block)
            demand(len(count) == len(cells), "levels that do not fit each other")
            cells = np.repeat(cells, count)
        demand(0 < len(cells) <= _MOST_ROWS, "another number of tuples")
        return cells

    def columns(self, block: int) -> list[U32]:
        """All columns, in the order of the streams."""
        columns = [self.column(block, level) for level in range(self._arity)]
        demand(all(len(c) == len(columns[0]) for c in columns), "another number of tuples")
        return columns
