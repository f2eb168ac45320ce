# SPDX-License-Identifier: Apache-2.0
"""report.md: machine, headlines, tables and figures of a run, all computed from results."""

from __future__ import annotations

from pathlib import Path

from stratalog_bench.figures import draw_all
from stratalog_bench.markdown import seconds_text, table
from stratalog_bench.model import CostModel
from stratalog_bench.processes import Event
from stratalog_bench.quantities import ranks_text, size_text
from stratalog_bench.report_sequences import sequence_headlines, sequence_tables
from stratalog_bench.results import Results
from stratalog_bench.strategies import BY_NAME, PHASES
from stratalog_bench.summary import (
    Measured,
    fit_all,
    measured_ranks,
    pick,
    ratio_to_raw,
    repeats_span,
    restarts,
    saves,
)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def save_table(rows: list[Measured]) -> list[str]:
    head = [
        "strategy",
        "ranks",
        "rows",
        "written",
        "files",
        "repeats",
        "durability",
        "seconds",
        "MB/s of rows",
        "÷ raw",
        *("fsync" if phase == "sync" else phase for phase in PHASES),
    ]
    return table(
        head,
        (
            [
                row.label,
                str(row.ranks),
                size_text(row.row_bytes) + ("" if row.skew in ("balanced", "") else f" {row.skew}"),
                size_text(row.bytes),
                str(row.files),
                str(row.repeats),
                row.durability,
                seconds_text(row.total),
                f"{row.bandwidth / 1e6:.0f}",
                _ratio(None if BY_NAME[row.case].is_peer else ratio_to_raw(row, rows)),
                *(seconds_text(row.seconds[p]) if p in row.seconds else "" for p in PHASES),
            ]
            for row in rows
        ),
    )


def restart_table(rows: list[Measured]) -> list[str]:
    return table(
        [
            "strategy",
            "written by",
            "read by",
            "parts",
            "rows",
            "read",
            "repeats",
            "durability",
            "seconds",
            "of these shuffle",
            "bare pread of the same bytes",
            "MB/s of rows",
        ],
        (
            [
                row.label,
                str(row.writers),
                str(row.ranks),
                row.parts,
                size_text(row.row_bytes),
                size_text(row.bytes),
                str(row.repeats),
                row.durability,
                seconds_text(row.total),
                seconds_text(row.seconds.get("shuffle", 0.0)),
                seconds_text(row.seconds["bare"]) if "bare" in row.seconds else "",
                f"{row.bandwidth / 1e6:.0f}",
            ]
            for row in rows
        ),
    )


def _speed(bandwidth: float) -> str:
    return "" if bandwidth == float("inf") else f"{bandwidth / 1e6:.0f}"


def model_table(models: dict[str, CostModel]) -> list[str]:
    return table(
        [
            "strategy",
            "start, ms",
            "per file, ms",
            "per rank, ms",
            "device, MB/s",
            "core, MB/s",
            "median error",
            "largest error",
            "points (parameters)",
        ],
        (
            [
                name,
                f"{model.start_seconds * 1e3:.1f}",
                f"{model.seconds_per_file * 1e3:.2f}",
                f"{model.seconds_per_rank * 1e3:.2f}",
                _speed(model.device_bandwidth),
                _speed(model.core_bandwidth),
                f"{model.median_error:.0%}" if model.is_tested else "too few points",
                f"{model.largest_error:.0%}" if model.is_tested else "",
                f"{model.points} ({model.parameters})",
            ]
            for name, model in models.items()
        ),
    )


def _compared(rows: list[Measured], one: str, other: str) -> list[float]:
    """Bandwidth of `one` over `other`, for all data and ranks that both have."""
    return [
        mine.bandwidth / theirs.bandwidth
        for mine in pick(rows, case=one)
        for theirs in pick(rows, case=other, ranks=mine.ranks, data=mine.data)
        if theirs.bandwidth > 0
    ]


def _span(ratios: list[float]) -> str:
    low, high = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    return f"{low}×" if low == high else f"{low}× to {high}×"


def headlines(results: Results) -> list[str]:
    """What the papers disagree on, and what we want to know, in sentences with numbers."""
    rows = saves(results, "sizes")
    large = [row for row in rows if row.row_bytes >= 32e6]
    scope = "from 32 MB on" if large else "all sizes"
    chosen = large or rows
    lines = []
    for one, other, text in (
        ("hdf5-direct", "raw-shared", "hdf5-direct against bare pwrite + fsync into one file"),
        ("hdf5-direct", "raw-fpp", "hdf5-direct against bare pwrite + fsync into a file per rank"),
        ("hdf5-direct", "hdf5-opt", "hdf5-direct against hdf5-opt"),
        ("hdf5-direct", "hdf5-direct-one-file", "hdf5-direct against hdf5-direct into one file"),
        ("hdf5-direct", "hdf5-opt-printed", "hdf5-direct against hdf5-opt as printed"),
        ("hdf5-opt", "hdf5-opt-printed", "hdf5-opt against hdf5-opt as printed"),
        ("hdf5-opt", "hdf5", "hdf5-opt against hdf5 (HDF5-OPT: faster everywhere)"),
        ("hdf5-opt", "shared-opt-rows", "hdf5-opt against shared-opt (HDF5-OPT: 1.15 to 1.59)"),
        ("fpp-rows", "shared-rows", "fpp against shared (RA-checkpoint: 2.2 at 256 ranks)"),
        ("fpp-rows", "raw-fpp", "fpp against bare pwrite + fsync into as many files"),
        ("fpp-compact", "fpp-rows", "fpp compact against fpp rows_u64"),
        ("fpp-streams", "fpp-rows", "fpp streams against fpp rows_u64"),
    ):
        if ratios := _compared(chosen, one, other):
            lines.append(f"- {text}: **{_span(ratios)}** the bandwidth ({scope}).")
    filled = [row for row in chosen if row.row_bytes >= 64e6 * row.ranks]
    for case in ("hdf5-direct", "fpp-rows"):
        for own, where in (
            (pick(chosen, case=case), scope),
            (pick(filled, case=case), "from 64 MB a rank on"),
        ):
            if not own:
                continue
            pack = max(row.seconds.get("pack", 0.0) / row.total for row in own)
            protocol = max(
                (row.seconds["metadata"] + row.seconds["commit"]) / row.total for row in own
            )
            lines.append(
                f"- {case}: packing is at most **{pack:.0%}** of the checkpoint, metadata and "
                f"commit protocol at most **{protocol:.0%}** ({where})."
            )
    read = restarts(results, "sizes")
    read = [row for row in read if row.row_bytes >= 32e6] or read
    for case, peer in (("fpp-rows", "raw-fpp"), ("hdf5-direct", "raw-shared")):
        if ratios := _compared(read, case, peer):
            lines.append(f"- restart of {case} against bare pread: **{_span(ratios)}** ({scope}).")
    elsewhere = [row for row in restarts(results, "restart") if row.is_beside_bare]
    for case in dict.fromkeys(row.case for row in elsewhere):
        own = pick(elsewhere, case=case)
        ratios = [row.seconds["bare"] / row.seconds["read"] for row in own]
        lines.append(
            f"- restart of {case} by {', '.join(str(row.ranks) for row in own)} from a checkpoint "
            f"of {own[0].writers}, before the shuffle, against bare pread of the same bytes: "
            f"**{_span(ratios)}**."
        )
    return lines + sequence_headlines(results)


def _machine_lines(results: Results) -> list[str]:
    machine = results.machine
    system = machine.get("file_system", {})
    return [
        f"- {machine.get('cores')} cores, {machine.get('processor')}, "
        f"{size_text(machine.get('memory_bytes', 0))} of memory, {machine.get('system')}; "
        f"load {machine.get('load_at_start', 0):.1f} at the start.",
        f"- checkpoints on {system.get('type', 'an unknown file system')} "
        f"({system.get('options', '')}), durability **{results.options.get('durability')}**, "
        "fsync of files and folders as that level says, unless a row names another one.",
        f"- {machine.get('stratalog')}; started {results.started}, {results.seconds:.0f} s.",
        f"- command: `{' '.join(results.command)}`",
        "",
    ]


def _place(event: Event) -> str:
    """Where in the bench it happened."""
    what = f"{event.get('section', '')} {event.get('case', '')}".strip()
    return f"{what}, {ranks_text(event['ranks'])}" if "ranks" in event else what


def _left_out(results: Results) -> list[str]:
    failures = [event for event in results.events if event["event"] == "failed"]
    if not results.left_out and not failures:
        return []
    lines = ["## Not measured", ""]
    lines += [f"- {text}" for text in dict.fromkeys(results.left_out)]
    lines += [f"- FAILED {_place(event)}: {event['message']}" for event in failures]
    return [*lines, ""]


def _tables(results: Results) -> list[str]:
    lines = ["## Tables", ""]
    for section, text in (
        ("sizes", "Sizes"),
        ("ladder", "Ladder"),
        ("skew", "Skew"),
        ("growth", "Growing checkpoints"),
        ("closure", "Relations of a real closure"),
    ):
        if rows := saves(results, section):
            lines += [f"### {text}", "", *save_table(rows)]
    lines += sequence_tables(results)
    if rows := restarts(results, "restart"):
        lines += ["### Restart on the same and on other rank counts", "", *restart_table(rows)]
    return lines


def _times_text(least: int, most: int) -> str:
    if most <= 1:
        return "of one run each,"
    if least == most:
        return f"medians of {most} repeats,"
    return f"medians of {least} to {most} repeats, as the tables say,"


def write_report(results: Results, folder: Path) -> Path:
    """folder/report.md with folder/figures; without matplotlib, tables only."""
    rows = saves(results, "sizes")
    ranks = ", ".join(str(count) for count in measured_ranks(results))
    lines = ["# Checkpoint strategies side by side", "", *_machine_lines(results)]
    if not ranks:
        lines += ["Nothing was measured.", "", *_left_out(results)]
        return _write(folder, lines)
    lines += [
        "Everything here is **measured** on this machine; nothing is extrapolated. Times are "
        f"{_times_text(*repeats_span(results))} of the slowest rank, "
        "strategies taking turns; "
        "bandwidths count rows of 64-bit numbers, as the papers do, whatever an encoding makes of "
        "them. After every save the relations were read back and compared with row counts and "
        f"hashes of the manifest. Rank counts: {ranks}.",
        "",
    ]
    if said := headlines(results):
        lines += ["## Headlines", "", *said, ""]
    lines += _left_out(results)
    lines += ["## Figures", ""]
    try:
        for picture in draw_all(results, folder / "figures"):
            lines += [
                f"### {picture.title} (measured)",
                "",
                f"![{picture.title}, measured](figures/{picture.file})",
                "",
                picture.caption,
                "",
            ]
    except ImportError as problem:
        lines += [f"None: {problem}. `--redraw results.json` draws them where matplotlib is.", ""]
    if models := fit_all(rows, int(results.machine.get("cores") or 1)):
        lines += [
            "## Cost model",
            "",
            "seconds = start + per file × files + per rank × (ranks − 1) + bytes of rows / device "
            "+ bytes on the busiest core / core: least squares of logarithms, no coefficient "
            "negative, over all sizes and rank counts. Empty: not needed. A large error says "
            "that a strategy is not of this kind; hdf5-opt changes its layout at 10 MB.",
            "",
            *model_table(models),
        ]
    return _write(folder, [*lines, *_tables(results)])


def _write(folder: Path, lines: list[str]) -> Path:
    file = folder / "report.md"
    file.write_text("\n".join(lines).rstrip() + "\n")
    return file
