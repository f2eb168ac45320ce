# SPDX-License-Identifier: Apache-2.0
"""Sequences of checkpoints by one writer: chains of a relation that grows, and modes that learn.
From events to rows of tables; medians over repeats. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from stratalog_bench.processes import Event
from stratalog_bench.results import Results
from stratalog_bench.strategies import BY_NAME, COMPACT, ROWS, STREAMS


@dataclass(frozen=True)
class Sequence:
    """What one strategy did at all checkpoints of a sequence."""

    case: str
    ranks: int
    data: str
    durability: str
    repeats: int
    seconds: tuple[float, ...]  # of each checkpoint
    row_bytes: int  # of all: everything, its last round and the edges, as rows of 64-bit numbers
    bytes: int  # written
    files: int
    whole: int  # checkpoints for which nothing was taken over from the one before
    restart_seconds: float | None  # from the last one
    chosen: str  # by a mode that learns, for the last one

    @property
    def total(self) -> float:
        return sum(self.seconds)

    @property
    def later_half(self) -> float:
        return sum(self.seconds[len(self.seconds) // 2 :])

    @property
    def smaller(self) -> float:
        """Rows as the papers write them, over what was written."""
        return self.row_bytes / self.bytes if self.bytes else 0.0


def _whole_repeats(events: Iterable[Event]) -> list[list[Event]]:
    """Checkpoints of each repeat, in order; repeats that ended early are left out."""
    repeats: dict[int, list[Event]] = {}
    for event in events:
        repeats.setdefault(event["repeat"], []).append(event)
    most = max((len(same) for same in repeats.values()), default=0)
    return [
        sorted(same, key=lambda event: int(event["checkpoint"]))
        for same in repeats.values()
        if len(same) == most
    ]


def sequences(results: Results, section: str) -> list[Sequence]:
    """One row for each (strategy, ranks, data), in order of first appearance."""
    groups: dict[tuple[str, int, str], list[Event]] = {}
    for event in results.of("save", section):
        if "checkpoint" in event:
            groups.setdefault((event["case"], event["ranks"], event["data"]), []).append(event)
    restarts: dict[tuple[str, int, str], list[float]] = {}
    for event in results.of("restart", section):
        key = (event["case"], event["ranks"], event["data"])
        restarts.setdefault(key, []).append(event["seconds"]["total"])
    rows = []
    for key, events in groups.items():
        repeats = _whole_repeats(events)
        first = repeats[0]
        rows.append(
            Sequence(
                case=key[0],
                ranks=key[1],
                data=key[2],
                durability=first[0].get("durability", ""),
                repeats=len(repeats),
                seconds=tuple(
                    median(run[at]["seconds"]["total"] for run in repeats)
                    for at in range(len(first))
                ),
                row_bytes=sum(event["row_bytes"] for event in first),
                bytes=sum(event["bytes"] for event in first),
                files=sum(event["files"] for event in first),
                whole=sum(event.get("growth_images", 0) == 0 for event in first),
                restart_seconds=median(restarts[key]) if key in restarts else None,
                chosen=first[-1].get("chosen", ""),
            )
        )
    return rows


def is_fixed(row: Sequence) -> bool:
    strategy = BY_NAME[row.case]
    return not (strategy.learns or strategy.is_peer or strategy.is_variant)


# What a mode that learns can write: modes, and whether in an encoding of ours or as rows.
CHOICES = {
    "auto": (("fpp", "shared-opt"), (COMPACT, STREAMS)),
    "hdf5-auto": (("hdf5-direct", "hdf5-opt"), (ROWS,)),
}


def rivals(learned: Sequence, rows: Iterable[Sequence]) -> list[Sequence]:
    """Fixed strategies that write what the mode might have chosen to write."""
    modes, encodings = CHOICES.get(BY_NAME[learned.case].mode, ((), ()))
    return [
        row
        for row in rows
        if is_fixed(row)
        and (row.ranks, row.data) == (learned.ranks, learned.data)
        and BY_NAME[row.case].mode in modes
        and BY_NAME[row.case].encoding in encodings
    ]


def best_rival(learned: Sequence, rows: Iterable[Sequence]) -> Sequence | None:
    return min(rivals(learned, rows), key=lambda row: row.total, default=None)
