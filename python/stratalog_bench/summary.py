# SPDX-License-Identifier: Apache-2.0
"""From events to rows of tables: medians over repeats, ratios, fitted models. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median

from stratalog_bench.model import Cost, CostModel, fit
from stratalog_bench.processes import Event
from stratalog_bench.results import Results
from stratalog_bench.strategies import PEERS

# What an event tells of which point it is a repeat.
_OF_A_POINT = (
    "event",
    "section",
    "case",
    "ranks",
    "data",
    "skew",
    "parts",
    "writers",
    "checkpoint",
    "closure",
)


@dataclass(frozen=True)
class Measured:
    """All repeats of one measurement; seconds are medians by part."""

    case: str
    ranks: int
    data: str
    skew: str
    parts: str  # of restarts
    writers: int  # of restarts on another rank count; else the ranks
    row_bytes: int
    bytes: int
    files: int
    seconds: dict[str, float]
    durability: str = ""
    totals: tuple[float, ...] = field(default=())

    @property
    def total(self) -> float:
        return self.seconds["total"]

    @property
    def bandwidth(self) -> float:
        """Bytes of rows (of 64-bit numbers) per second, whatever the encoding makes of them."""
        return self.row_bytes / self.total if self.total > 0 else 0.0

    @property
    def is_beside_bare(self) -> bool:
        """A restart from files that were kept, between two bare reads of them."""
        return "bare" in self.seconds

    @property
    def repeats(self) -> int:
        return len(self.totals)

    @property
    def label(self) -> str:
        return self.case


def condense(events: Iterable[Event], durability: str = "") -> list[Measured]:
    """One row for each (strategy, ranks, data, way of reading), in order of first appearance.

    `durability` is that of events of older versions, which do not say it.
    """
    groups: dict[tuple[object, ...], list[Event]] = {}
    for event in events:
        key = (
            event["case"],
            event["ranks"],
            event["data"],
            event.get("parts", ""),
            event.get("writers", event["ranks"]),
            event.get("durability", durability),
            "bare" in event["seconds"],
        )
        groups.setdefault(key, []).append(event)
    rows = []
    for same in groups.values():
        first = same[0]
        names = dict.fromkeys(name for event in same for name in event["seconds"])
        rows.append(
            Measured(
                case=first["case"],
                ranks=first["ranks"],
                data=first["data"],
                skew=first.get("skew", ""),
                parts=first.get("parts", ""),
                writers=first["writers"] if "writers" in first else first["ranks"],
                row_bytes=first["row_bytes"],
                bytes=first["bytes"],
                files=first.get("files", 0),
                durability=first.get("durability", durability),
                seconds={n: median(e["seconds"].get(n, 0.0) for e in same) for n in names},
                totals=tuple(event["seconds"]["total"] for event in same),
            )
        )
    return rows


def saves(results: Results, section: str) -> list[Measured]:
    return condense(results.of("save", section), results.options.get("durability", ""))


def restarts(results: Results, section: str) -> list[Measured]:
    return condense(results.of("restart", section), results.options.get("durability", ""))


def pick(rows: Iterable[Measured], **wanted: object) -> list[Measured]:
    """Rows whose attributes have the wanted values."""
    return [r for r in rows if all(getattr(r, name) == v for name, v in wanted.items())]


def ratio_to_raw(row: Measured, rows: Iterable[Measured]) -> float | None:
    """Bandwidth over that of the fastest bare peer on the same data and ranks; None without one."""
    fastest = max(
        (
            peer.bandwidth
            for case in PEERS
            for peer in pick(rows, case=case, ranks=row.ranks, data=row.data)
        ),
        default=0.0,
    )
    return row.bandwidth / fastest if fastest > 0 else None


def share_of_core(row: Measured, cores: int) -> float:
    """Bytes of rows that the busiest core has to do with, in a balanced checkpoint."""
    return row.row_bytes / min(row.ranks, max(cores, 1))


def fit_all(rows: Iterable[Measured], cores: int) -> dict[str, CostModel]:
    """A model for each strategy with enough measurements, over sizes and rank counts.

    Bytes are those of the rows, so that the bandwidths of encodings can be compared.
    """
    costs: dict[str, list[Cost]] = {}
    for row in rows:
        share = share_of_core(row, cores)
        cost = Cost(row.files, row.ranks, row.row_bytes, share, row.total)
        costs.setdefault(row.case, []).append(cost)
    fitted = {case: fit(points) for case, points in costs.items()}
    return {case: model for case, model in fitted.items() if model is not None}


def repeats_span(results: Results) -> tuple[int, int]:
    """How often each point was measured, at the least and at the most: the budget may not have
    allowed all repeats."""
    points = Counter(
        (*(str(event.get(name)) for name in _OF_A_POINT), "bare" in event["seconds"])
        for event in results.events
        if event["event"] in ("save", "restart", "run")
    )
    return min(points.values(), default=0), max(points.values(), default=0)


def measured_ranks(results: Results) -> list[int]:
    """Rank counts of all saves and runs."""
    return sorted({e["ranks"] for e in results.events if e["event"] in ("save", "run")})


def ranks_of(rows: Iterable[Measured]) -> list[int]:
    return sorted({row.ranks for row in rows})


def unique(rows: Iterable[Measured], key: Callable[[Measured], str]) -> list[str]:
    """Values in the order in which they come."""
    return list(dict.fromkeys(key(row) for row in rows))
