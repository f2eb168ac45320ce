# SPDX-License-Identifier: Apache-2.0
"""Figures of sequences of checkpoints: chains of a relation that grows, and modes that learn."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from stratalog_bench.drawing import legend_below, panels
from stratalog_bench.quantities import ranks_text
from stratalog_bench.results import Results
from stratalog_bench.sequences import Sequence, is_fixed, rivals, sequences
from stratalog_bench.strategies import BY_NAME


def draw_chains(results: Results, plot: Any) -> Any:
    rows = sequences(results, "chains")
    if not rows:
        return None
    ranks = max(row.ranks for row in rows)
    rows = [row for row in rows if row.ranks == ranks]
    figure, (times, sizes) = panels(plot, 2, 4.2, 0.22 * len(rows) + 1.2)
    for at, row in enumerate(rows):
        colour = BY_NAME[row.case].colour
        times.barh(at, row.total, height=0.7, color=colour)
        sizes.barh(at, row.bytes / 1e6, height=0.7, color=colour)
        sizes.text(row.bytes / 1e6, at, f" {row.smaller:.1f}×", va="center", fontsize=7.5)
    for axis, label in (
        (times, f"seconds, all {len(rows[0].seconds)} checkpoints"),
        (sizes, "MB written, and the papers' bytes ÷ these"),
    ):
        axis.set_yticks(range(len(rows)), [row.case for row in rows] if axis is times else [])
        axis.invert_yaxis()
        axis.grid(visible=False, axis="y")
        axis.set_xlabel(label)
    times.set_title(f"{rows[0].data}, {ranks_text(ranks)}")
    return figure


def draw_learned(results: Results, plot: Any) -> Any:
    rows = sequences(results, "learned")
    learned = [row for row in rows if BY_NAME[row.case].learns]
    if not learned:
        return None
    figure, axes = panels(plot, len(learned), 4.4, 3.0)

    def draw(axis: Any, row: Sequence, width: float) -> None:
        axis.plot(
            range(1, len(row.seconds) + 1),
            list(accumulate(row.seconds)),
            color=BY_NAME[row.case].colour,
            lw=width,
            label=row.case,
        )

    for axis, row in zip(axes, learned, strict=True):
        for other in rivals(row, filter(is_fixed, rows)):
            draw(axis, other, 1.2)
        draw(axis, row, 2.6)
        axis.set_title(f"{row.case}, {row.data}, {ranks_text(row.ranks)}")
        axis.set_xlabel("checkpoints")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylim(0)
    axes[0].set_ylabel("seconds, all so far")
    legend_below(figure, axes, 4)
    return figure
