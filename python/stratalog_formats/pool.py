# SPDX-License-Identifier: Apache-2.0
"""The pool encoding: the sets of a block, each once, and streams that say which group has which.

Follows docs/formats/checkpoint.md. A loop over the sets; the groups are numpy's work.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stratalog_formats.compact import read_sets
from stratalog_formats.damage import demand
from stratalog_formats.streams import unpack_stream

U32 = npt.NDArray[np.uint32]
_REACH = 4096  # sets that a group may name
_GROUPS = (1 << 20) + 256
_ROWS = (1 << 22) + 65536


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
    counts = (stops - starts)[chosen]
    demand(int(counts.sum()) == rows, "another number of tuples than the block's header says")
    ends = np.cumsum(counts)
    index = np.repeat(starts[chosen] - (ends - counts), counts) + np.arange(rows)
    return [*(np.repeat(column, counts) for column in streams), cells[index]]
