# SPDX-License-Identifier: Apache-2.0
"""The parts of report.md about sequences of checkpoints and about runs from end to end."""

from __future__ import annotations

from statistics import median

from stratalog_bench.markdown import seconds_text, table
from stratalog_bench.processes import Event
from stratalog_bench.quantities import ranks_text, size_text
from stratalog_bench.results import Results
from stratalog_bench.runs import closure_text
from stratalog_bench.sequences import Sequence, best_rival, sequences
from stratalog_bench.strategies import BY_NAME


def chain_table(rows: list[Sequence]) -> list[str]:
    return table(
        [
            "strategy",
            "ranks",
            "checkpoints (whole)",
            "rows as the papers write them",
            "written",
            "papers ÷ written",
            "files",
            "repeats",
            "durability",
            "seconds, all",
            "the last",
            "restart",
        ],
        (
            [
                row.case,
                str(row.ranks),
                f"{len(row.seconds)} ({row.whole})",
                size_text(row.row_bytes),
                size_text(row.bytes),
                f"{row.smaller:.1f}",
                str(row.files),
                str(row.repeats),
                row.durability,
                seconds_text(row.total),
                seconds_text(row.seconds[-1]),
                "" if row.restart_seconds is None else seconds_text(row.restart_seconds),
            ]
            for row in rows
        ),
    )


def learned_table(rows: list[Sequence]) -> list[str]:
    fewest = min(row.total for row in rows)
    return table(
        [
            "strategy",
            "ranks",
            "checkpoints",
            "repeats",
            "durability",
            "seconds, all",
            "÷ quickest",
            "later half",
            "the last",
            "written",
            "chosen for the last",
        ],
        (
            [
                row.case,
                str(row.ranks),
                str(len(row.seconds)),
                str(row.repeats),
                row.durability,
                seconds_text(row.total),
                f"{row.total / fewest:.2f}",
                seconds_text(row.later_half),
                seconds_text(row.seconds[-1]),
                size_text(row.bytes),
                row.chosen,
            ]
            for row in rows
        ),
    )


def run_table(events: list[Event]) -> list[str]:
    groups: dict[tuple[str, int, str], list[Event]] = {}
    for event in events:
        key = (closure_text(event), event["ranks"], event["case"])
        groups.setdefault(key, []).append(event)

    def seconds(key: tuple[str, int, str], part: str) -> float:
        return float(median(event["seconds"][part] for event in groups[key]))

    rows = []
    for key in groups:
        closure, ranks, case = key
        first = groups[key][0]
        total = seconds(key, "total")
        bare = (closure, ranks, "none")
        rows.append(
            [
                case,
                closure,
                str(ranks),
                str(first["rows"]),
                str(len(first["checkpoints"])),
                size_text(sum(save["bytes"] for save in first["checkpoints"])),
                str(len(groups[key])),
                first.get("durability", ""),
                seconds_text(total),
                seconds_text(seconds(key, "checkpoints")),
                f"{total / seconds(bare, 'total') - 1:+.0%}" if bare in groups else "",
            ]
        )
    return table(
        [
            "checkpoints",
            "closure",
            "ranks",
            "pairs",
            "number",
            "written",
            "repeats",
            "durability",
            "seconds",
            "of these held up",
            "against none",
        ],
        rows,
    )


def sequence_tables(results: Results) -> list[str]:
    lines: list[str] = []
    if rows := sequences(results, "chains"):
        lines += ["### Sequences of a relation that grows", "", *chain_table(rows)]
    if rows := sequences(results, "learned"):
        lines += ["### Modes that learn, beside fixed ones", "", *learned_table(rows)]
    if runs := list(results.of("run", "end-to-end")):
        lines += ["### From facts to the fixpoint", "", *run_table(runs)]
    return lines


def sequence_headlines(results: Results) -> list[str]:
    lines = []
    rows = sequences(results, "learned")
    for row in rows:
        rival = best_rival(row, rows)
        if not BY_NAME[row.case].learns or rival is None:
            continue
        lines.append(
            f"- {row.case}, {len(row.seconds)} checkpoints on {ranks_text(row.ranks)}: "
            f"**{row.total / rival.total:.2f}×** the time of the best fixed strategy that it can "
            f"choose from ({rival.case}), the later half "
            f"{row.later_half / rival.later_half:.2f}×; in the end {row.chosen}."
        )
    both = {row.case: row for row in rows if BY_NAME[row.case].learns}
    if len(both) == 2:
        ratio = both["hdf5-auto"].total / both["auto"].total
        lines.append(f"- hdf5-auto against auto: **{ratio:.2f}×** the time.")
    chains = sequences(results, "chains")
    for row in chains:
        for papers in chains:
            if row.case == "fpp-compact+growth" and (papers.case, papers.ranks) == (
                "fpp-rows",
                row.ranks,
            ):
                lines.append(
                    f"- {len(row.seconds)} checkpoints of a relation that grows, "
                    f"{ranks_text(row.ranks)}: chains of sets write "
                    f"**1/{papers.bytes / row.bytes:.0f}** of the bytes of whole rows and take "
                    f"{row.total / papers.total:.2f}× the time."
                )
    return lines
