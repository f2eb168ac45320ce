# SPDX-License-Identifier: Apache-2.0
"""Figures of runs and of writing: end to end, ladder, growing checkpoints, phases."""

from __future__ import annotations

from typing import Any

from stratalog_bench.drawing import largest, legend_below, panels
from stratalog_bench.plan import GROWTH
from stratalog_bench.quantities import ranks_text, size_text
from stratalog_bench.results import Results
from stratalog_bench.runs import closure_text
from stratalog_bench.strategies import PHASE_COLOURS, PHASES, RUN_COLOURS, STRATEGIES
from stratalog_bench.summary import pick, ranks_of, saves, unique


def draw_end_to_end(results: Results, plot: Any) -> Any:
    events = list(results.of("run", "end-to-end"))
    if not events:
        return None
    cells = list(dict.fromkeys((closure_text(event), event["ranks"]) for event in events))
    names = [name for name, _ in cells]
    cells = sorted(cells, key=lambda cell: (names.index(cell[0]), cell[1]))
    figure, axes = panels(plot, len(cells), 4.2, 3.2)
    for axis, (name, count) in zip(axes, cells, strict=True):
        own = [e for e in events if e["ranks"] == count and closure_text(e) == name]
        ways = list(dict.fromkeys(event["case"] for event in own))
        for at, way in enumerate(ways):
            same = [event for event in own if event["case"] == way]
            best = sorted(same, key=lambda e: e["seconds"]["total"])[len(same) // 2]
            total, saving = best["seconds"]["total"], best["seconds"]["checkpoints"]
            colour = RUN_COLOURS.get(way, "#9aa0a6")
            axis.bar(at, total - saving, color="#d0d0d0", width=0.7)
            axis.bar(at, saving, bottom=total - saving, color=colour, width=0.7)
            axis.text(at, total, f"{total:.2f}", ha="center", va="bottom", fontsize=6.5)
        axis.set_xticks(range(len(ways)), ways, rotation=50, ha="right", fontsize=7.5)
        axis.set_title(f"{name}, {ranks_text(count)}")
        axis.grid(visible=False, axis="x")
        axis.set_ylabel("seconds to the fixpoint")
    handles = [
        plot.Rectangle((0, 0), 1, 1, color="#d0d0d0"),
        plot.Rectangle((0, 0), 1, 1, color=RUN_COLOURS["hdf5-opt"]),
    ]
    figure.legend(
        handles,
        ["evaluation", "held up by checkpoints, in the way's colour"],
        loc="outside lower center",
        ncols=2,
    )
    return figure


def draw_ladder(results: Results, plot: Any) -> Any:
    rows = saves(results, "ladder")
    steps = [row for row in rows if row.case.startswith("ladder-")]
    if not steps:
        return None
    data = unique(steps, lambda row: row.data)
    figure, axes = panels(plot, len(data), 4.4, 2.9)
    for axis, name in zip(axes, data, strict=True):
        bars = sorted(pick(steps, data=name), key=lambda row: row.case)
        base = bars[0]
        names = ["none" if row.case == "ladder-0" else f"+O{row.case[-1]}" for row in bars]
        for at, row in enumerate(bars):
            low, high = row.total - min(row.totals), max(row.totals) - row.total
            axis.bar(
                at,
                row.total * 1e3,
                width=0.7,
                color="#8c564b" if row.case == "ladder-0" else "#ff7f0e",
            )
            axis.errorbar(at, row.total * 1e3, [[low * 1e3], [high * 1e3]], color="#444", lw=0.8)
            axis.text(
                at,
                max(row.totals) * 1e3,
                f" {row.total / base.total:.2f}×" if base.case == "ladder-0" else "",
                ha="center",
                va="bottom",
                fontsize=7,
            )
        for direct in pick(rows, data=name, case="hdf5-direct"):
            axis.axhline(direct.total * 1e3, color="#2ca02c", ls="--", label="hdf5-direct")
        axis.set_xticks(range(len(bars)), names)
        axis.set_title(f"{size_text(base.row_bytes)}, {ranks_text(base.ranks)}")
        axis.set_ylim(0, axis.get_ylim()[1] * 1.1)
        axis.grid(visible=False, axis="x")
        axis.legend(loc="best")
    axes[0].set_ylabel("milliseconds per checkpoint")
    return figure


def draw_growth(results: Results, plot: Any) -> Any:
    rows = saves(results, "growth")
    if not rows:
        return None
    ranks = ranks_of(rows)
    labels = [*(str(i) for i in range(len(GROWTH) - 1)), "final"]
    # Which of the six: sizes are in the table's proportions, whatever the first one is.
    unit = min(row.row_bytes for row in rows) / GROWTH[0]
    places = {
        row.row_bytes: min(range(len(GROWTH)), key=lambda i: abs(GROWTH[i] - row.row_bytes / unit))
        for row in rows
    }
    figure, axes = panels(plot, len(ranks), 3.4, 2.8, sharey=True)
    for axis, count in zip(axes, ranks, strict=True):
        for strategy in STRATEGIES:
            line = sorted(pick(rows, ranks=count, case=strategy.name), key=lambda r: r.row_bytes)
            if not line:
                continue
            axis.plot(
                [places[r.row_bytes] for r in line],
                [r.bandwidth / 1e6 for r in line],
                marker="o",
                ms=3.5,
                lw=1.4,
                color=strategy.colour,
                label=strategy.name,
                ls="--" if strategy.is_peer else "-",
            )
        axis.set_title(ranks_text(count))
        axis.set_xticks(range(len(GROWTH)), labels)
        axis.set_xlabel("checkpoint")
    axes[0].set_ylim(0, 1.05 * max(row.bandwidth for row in rows) / 1e6)
    axes[0].set_ylabel("MB/s of rows")
    legend_below(figure, axes, 4)
    return figure


def draw_phases(results: Results, plot: Any) -> Any:
    # All panels show the same strategies, also those that are missing at a rank count.
    rows = [row for row in saves(results, "sizes") if row.case in {one.name for one in STRATEGIES}]
    if not rows:
        return None
    data = largest(rows)
    ranks = ranks_of(pick(rows, data=data))
    present = {row.case for row in pick(rows, data=data)}
    names = [one.name for one in reversed(STRATEGIES) if one.name in present]
    figure, axes = panels(plot, len(ranks), 3.7, 3.3, sharey=True)
    for axis, count in zip(axes, ranks, strict=True):
        bars = pick(rows, data=data, ranks=count)
        for row in bars:
            at = names.index(row.case)
            left = 0.0
            for phase in PHASES:
                seconds = row.seconds.get(phase, 0.0)
                axis.barh(
                    at,
                    seconds,
                    left=left,
                    height=0.72,
                    color=PHASE_COLOURS[phase],
                    label="fsync" if phase == "sync" else phase,
                )
                left += seconds
            axis.plot([row.total], [at], marker="|", color="black", ms=9)
        axis.set_yticks(range(len(names)), names)
        axis.grid(visible=False, axis="y")
        axis.set_title(f"{size_text(bars[0].row_bytes)}, {ranks_text(count)}")
        axis.set_xlabel("seconds")
    legend_below(figure, axes, 7)
    return figure
