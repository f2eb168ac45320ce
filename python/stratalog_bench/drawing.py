# SPDX-License-Identifier: Apache-2.0
"""What the figures share: style, panels, legends, axes."""

from __future__ import annotations

from typing import Any

from stratalog_bench.quantities import size_text
from stratalog_bench.summary import Measured

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
}


def panels(
    plot: Any, count: int, width: float, height: float, columns: int = 3, **more: Any
) -> Any:
    columns = min(count, columns)
    rows = -(-count // columns)
    figure, axes = plot.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False, **more
    )
    cells = list(axes.flat)
    for spare in cells[count:]:
        spare.set_visible(False)
    figure.set_layout_engine("constrained")
    return figure, cells[:count]


def legend_below(figure: Any, axes: Any, columns: int) -> None:
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns)


def size_axis(axis: Any, rows: list[Measured]) -> None:
    """Logarithmic, with the measured sizes as ticks."""
    axis.set_xscale("log")
    sizes = sorted({row.row_bytes for row in rows})
    # Slanted: 2 and 4 GB beside each other are wider than a small panel has room for.
    axis.set_xticks(
        [size / 1e6 for size in sizes],
        [size_text(size) for size in sizes],
        rotation=45,
        ha="right",
        rotation_mode="anchor",
    )
    axis.minorticks_off()
    axis.set_xlabel("rows")


def keep_ticks_below_gaps(axes: Any, columns: int) -> None:
    """Where the last row has fewer panels, those above the gap show the ticks of a shared axis."""
    for axis in axes[-columns:]:
        axis.tick_params(labelbottom=True)


def largest(rows: list[Measured]) -> str:
    return max(rows, key=lambda row: row.row_bytes).data
