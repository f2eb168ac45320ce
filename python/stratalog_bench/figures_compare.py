# SPDX-License-Identifier: Apache-2.0
"""Figures that compare: restarts, sizes and their model, bare writes, skew, a real closure."""

from __future__ import annotations

from typing import Any

from stratalog_bench.drawing import (
    keep_ticks_below_gaps,
    largest,
    legend_below,
    panels,
    size_axis,
)
from stratalog_bench.quantities import ranks_text, size_text
from stratalog_bench.results import Results
from stratalog_bench.strategies import BY_NAME, STRATEGIES
from stratalog_bench.summary import (
    fit_all,
    pick,
    ranks_of,
    ratio_to_raw,
    restarts,
    saves,
    share_of_core,
    unique,
)


def draw_restart(results: Results, plot: Any) -> Any:
    sections = [rows for name in ("sizes", "growth") if (rows := restarts(results, name))]
    if not sections:
        return None
    rows = max(sections, key=lambda one: max(row.row_bytes for row in one))
    rows = pick(rows, data=largest(rows))
    names = [one for one in STRATEGIES if pick(rows, case=one.name)]
    ranks = ranks_of(rows)
    figure, (axis,) = panels(plot, 1, 7.2, 3.0)
    width = 0.8 / len(names)
    for at, strategy in enumerate(names):
        bars = pick(rows, case=strategy.name)
        axis.bar(
            [ranks.index(row.ranks) + (at - (len(names) - 1) / 2) * width for row in bars],
            [row.bandwidth / 1e6 for row in bars],
            width=width * 0.92,
            color=strategy.colour,
            label=strategy.name,
        )
    axis.set_xticks(range(len(ranks)), [ranks_text(count) for count in ranks])
    axis.grid(visible=False, axis="x")
    axis.set_title(f"restart from {size_text(rows[0].row_bytes)}")
    axis.set_ylabel("MB/s of rows")
    legend_below(figure, [axis], 4)
    return figure


def draw_offsets(results: Results, plot: Any) -> Any:
    rows = [row for row in restarts(results, "restart") if not row.is_beside_bare]
    if not rows:
        return None
    ranks = ranks_of(rows)
    figure, axes = panels(plot, len(ranks), 3.8, 2.7, sharey=True)
    for axis, count in zip(axes, ranks, strict=True):
        names = unique(pick(rows, ranks=count), lambda row: row.case)
        for at, name in enumerate(names):
            for offset, parts, hatch in ((-0.19, "as-written", ""), (0.19, "balanced", "///")):
                for row in pick(rows, ranks=count, case=name, parts=parts):
                    read, move = row.seconds["read"] * 1e3, row.seconds["shuffle"] * 1e3
                    axis.bar(
                        at + offset,
                        read,
                        width=0.34,
                        color=BY_NAME[name].colour,
                        hatch=hatch,
                        edgecolor="white",
                        lw=0,
                    )
                    axis.bar(at + offset, move, bottom=read, width=0.34, color="#555555")
        axis.set_xticks(range(len(names)), names, rotation=25, ha="right")
        axis.grid(visible=False, axis="x")
        axis.set_title(ranks_text(count))
    handles = [
        plot.Rectangle((0, 0), 1, 1, color="#888888"),
        plot.Rectangle((0, 0), 1, 1, facecolor="#888888", hatch="///", edgecolor="white"),
        plot.Rectangle((0, 0), 1, 1, color="#555555"),
    ]
    figure.legend(
        handles,
        ["read, with the writers' offsets", "read, without", "tuples to their owners"],
        loc="outside lower center",
        ncols=3,
    )
    axes[0].set_ylabel("milliseconds")
    return figure


def draw_sizes(results: Results, plot: Any) -> Any:
    rows = saves(results, "sizes")
    cores = int(results.machine.get("cores") or 1)
    models = fit_all(rows, cores)
    names = [case for case in unique(rows, lambda row: row.case) if case in models]
    if not names:
        return None
    columns = min(4, len(names))
    figure, axes = panels(plot, len(names), 2.5, 2.2, columns, sharex=True, sharey=True)
    level = results.options.get("durability", "")
    counts = ranks_of(rows)
    shades = dict(zip(counts, ("o", "s", "^", "D", "v") * len(counts), strict=False))
    for axis, name in zip(axes, names, strict=True):
        colour = BY_NAME[name].colour
        for count in counts:
            points = sorted(pick(rows, case=name, ranks=count), key=lambda row: row.row_bytes)
            sizes = [row.row_bytes / 1e6 for row in points]
            axis.plot(
                sizes,
                [row.total for row in points],
                ls="",
                marker=shades[count],
                ms=4,
                color=colour,
                alpha=0.8,
                label=ranks_text(count),
            )
            axis.plot(
                sizes,
                [
                    models[name].seconds(r.files, r.ranks, r.row_bytes, share_of_core(r, cores))
                    for r in points
                ],
                lw=1,
                ls=("-", "--", ":", "-.")[counts.index(count) % 4],
                color="#333333",
                alpha=0.7,
            )
        size_axis(axis, rows)
        axis.set_yscale("log")
        model = models[name]
        error = f"±{model.median_error:.0%}" if model.is_tested else f"{model.points} points"
        levels = {row.durability for row in pick(rows, case=name)} - {level}
        own = "".join(f", {other}" for other in sorted(levels))
        axis.set_title(f"{name}{own}  ({error})", fontsize=8.5)
    for axis in axes[::columns]:
        axis.set_ylabel("seconds")
    for axis in axes[:-columns]:
        axis.set_xlabel("")
    keep_ticks_below_gaps(axes, columns)
    for handle in figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(counts)
    ).legend_handles:
        handle.set_color("#333333")
    return figure


def draw_skew(results: Results, plot: Any) -> Any:
    rows = saves(results, "skew")
    if not rows:
        return None
    skews = unique(rows, lambda row: row.skew)
    names = unique(rows, lambda row: row.case)
    figure, (axis,) = panels(plot, 1, 7.2, 3.0)
    width = 0.8 / len(skews)
    tones = ("#4e79a7", "#e15759", "#f28e2b", "#59a14f")
    for at, skew in enumerate(skews):
        bars = pick(rows, skew=skew)
        axis.bar(
            [names.index(row.case) + (at - (len(skews) - 1) / 2) * width for row in bars],
            [row.bandwidth / 1e6 for row in bars],
            width=width * 0.92,
            color=tones[at % 4],
            label=skew,
        )
    axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axis.grid(visible=False, axis="x")
    axis.set_ylabel("MB/s of rows")
    axis.set_title(f"{size_text(rows[0].row_bytes)}, {ranks_text(rows[0].ranks)}")
    legend_below(figure, [axis], 4)
    return figure


def draw_ratio(results: Results, plot: Any) -> Any:
    rows = saves(results, "sizes")
    ranks = ranks_of(rows)
    if not any(ratio_to_raw(row, rows) for row in rows if not BY_NAME[row.case].is_peer):
        return None
    figure, axes = panels(plot, len(ranks), 3.4, 3.2, sharey=True)
    for axis, count in zip(axes, ranks, strict=True):
        for strategy in STRATEGIES:
            line = sorted(pick(rows, ranks=count, case=strategy.name), key=lambda r: r.row_bytes)
            points = [(r.row_bytes / 1e6, ratio_to_raw(r, rows)) for r in line]
            if strategy.is_peer or strategy.encoding != "rows_u64" or not points:
                continue
            axis.plot(
                *zip(*points, strict=True),
                marker="o",
                ms=3.5,
                lw=1.4,
                color=strategy.colour,
                label=strategy.name,
            )
        axis.axhline(1, color="#333333", lw=0.8, ls=":")
        size_axis(axis, rows)
        axis.set_title(ranks_text(count))
    ratios = [ratio for row in rows if (ratio := ratio_to_raw(row, rows)) is not None]
    axes[0].set_ylim(0, max(1.1, min(2.0, 1.05 * max(ratios))))
    axes[0].set_ylabel("bandwidth ÷ bare pwrite + fsync")
    legend_below(figure, axes, 3)
    return figure


def draw_closure(results: Results, plot: Any) -> Any:
    rows = saves(results, "closure")
    if not rows:
        return None
    names = unique(rows, lambda row: row.case)
    figure, (times, sizes) = panels(plot, 2, 4.0, 3.0)
    ranks = ranks_of(rows)
    width = 0.8 / len(ranks)
    for at, count in enumerate(ranks):
        bars = pick(rows, ranks=count)
        times.barh(
            [names.index(row.case) + (at - (len(ranks) - 1) / 2) * width for row in bars],
            [row.total for row in bars],
            height=width * 0.92,
            color=("#4e79a7", "#f28e2b", "#59a14f", "#e15759")[at % 4],
            label=ranks_text(count),
        )
    for at, name in enumerate(names):
        row = pick(rows, case=name)[0]
        sizes.barh(at, row.bytes / 1e6, height=0.7, color=BY_NAME[name].colour)
        sizes.text(
            row.bytes / 1e6, at, f" {row.row_bytes / row.bytes:.1f}×", va="center", fontsize=7.5
        )
    for axis, label in ((times, "seconds per checkpoint"), (sizes, "MB written, and rows ÷ bytes")):
        axis.set_yticks(range(len(names)), names if axis is times else [])
        axis.invert_yaxis()
        axis.grid(visible=False, axis="y")
        axis.set_xlabel(label)
    times.legend()
    times.set_title(f"closure, {size_text(rows[0].row_bytes)} of rows")
    return figure
