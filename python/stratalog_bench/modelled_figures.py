# SPDX-License-Identifier: Apache-2.0
"""The papers' figures from the model, each marked as modelled. What a paper prints is a star."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stratalog_bench.drawing import STYLE, legend_below, panels
from stratalog_bench.modelled import (
    GRAPHS,
    LADDER,
    OPT_MODES,
    OPT_RANKS,
    RA_MODES,
    RA_RANKS,
    TABLE_1,
    Modelled,
    ladder_seconds,
    run_seconds,
)
from stratalog_bench.strategies import BY_NAME, MODE_COLOURS, PHASE_COLOURS, PHASES

NAMES = {
    "fpp": "fpp (POSIX)",
    "shared": "shared (MPI-IO)",
    "shared-opt": "shared-opt (MPI-IO OPT)",
    "hdf5": "hdf5 (basic)",
    "hdf5-opt": "hdf5-opt",
    "hdf5-direct": "hdf5-direct (ours)",
    "hdf5-streams": "hdf5-streams (ours)",
    "raw-fpp": "bare writes, a file each",
}
COLOURS = {**MODE_COLOURS, "raw-fpp": "#9aa0a6", "hdf5-streams": BY_NAME["hdf5-streams"].colour}
LAST = len(TABLE_1) - 1


@dataclass(frozen=True)
class Drawing:
    name: str
    title: str
    caption: str
    draw: Callable[[Modelled, Any], Any]


def _mark(figure: Any, title: str) -> Any:
    figure.suptitle(f"MODELLED, not measured: {title}", fontsize=9.5, color="#a03020")
    return figure


def _rank_axis(axis: Any, ranks: tuple[int, ...]) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(ranks, [f"{count:,}" for count in ranks], rotation=45, ha="right")
    axis.minorticks_off()
    axis.set_xlabel("ranks")


def _plain_log_axis(axis: Any) -> None:
    """Logarithmic from top to bottom, with numbers as people write them."""
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    ticks = [m * 10.0**e for e in range(-3, 5) for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


def draw_end_to_end(modelled: Modelled, plot: Any) -> Any:
    figure, axes = panels(plot, len(GRAPHS), 3.5, 3.4)
    for axis, graph in zip(axes, GRAPHS, strict=True):
        for mode in OPT_MODES:
            axis.plot(
                OPT_RANKS,
                [run_seconds(modelled, graph, mode, ranks) for ranks in OPT_RANKS],
                marker="o",
                ms=3.5,
                lw=1.4,
                # Lines that cover each other stay visible.
                ls="--" if mode in ("hdf5", "fpp") else "-",
                color=COLOURS[mode],
                label=NAMES[mode],
            )
        _plain_log_axis(axis)
        _rank_axis(axis, OPT_RANKS)
        axis.set_title(graph)
    axes[0].set_ylabel("seconds, all checkpoints of the run")
    legend_below(figure, axes, 3)
    return _mark(figure, "checkpoints of a closure on Perlmutter")


def draw_ladder(modelled: Modelled, plot: Any) -> Any:
    shown = (32, 128, 512, 2048)
    figure, axes = panels(plot, len(shown), 3.0, 2.8, columns=4)
    names = ["none", *(f"+O{step}" for step in range(1, len(LADDER)))]
    for axis, ranks in zip(axes, shown, strict=True):
        times = [ladder_seconds(modelled, step, ranks) for step in LADDER]
        colours = ["#8c564b", *(["#ff7f0e"] * (len(times) - 1))]
        axis.bar(range(len(times)), times, width=0.72, color=colours)
        for at, time in enumerate(times):
            axis.text(at, time, f"{time / times[0]:.2f}×", ha="center", va="bottom", fontsize=6.5)
        axis.set_xticks(range(len(times)), names, rotation=45)
        axis.set_title(f"{ranks:,} ranks")
        axis.grid(visible=False, axis="x")
    axes[0].set_ylabel("seconds, all checkpoints")
    return _mark(figure, "the tuning ladder on usroads, Perlmutter")


def draw_growth(modelled: Modelled, plot: Any) -> Any:
    modes = ("shared", "fpp", "hdf5-direct")
    printed = {
        ("fpp", 256): {LAST: 3.797},
        ("shared", 256): {LAST: 1.724},
        ("fpp", 512): {0: 8.334, LAST: 7.577},
        ("fpp", 4096): {0: 26.925, LAST: 52.783},
    }
    figure, axes = panels(plot, len(modes), 3.5, 3.2, sharey=True)
    tones = ("#c6dbef", "#9ecae1", "#6baed6", "#3182bd", "#08519c", "#08306b")
    for axis, mode in zip(axes, modes, strict=True):
        for number in range(len(TABLE_1)):
            at = [r + (number - LAST / 2) * 0.13 for r in range(len(RA_RANKS))]
            axis.bar(
                at,
                [modelled.bandwidth("theta", "save", mode, ranks, number) for ranks in RA_RANKS],
                width=0.12,
                color=tones[number],
                label=f"{TABLE_1[number]} GiB",
            )
            points = [
                (place, printed[mode, ranks][number])
                for place, ranks in zip(at, RA_RANKS, strict=True)
                if number in printed.get((mode, ranks), {})
            ]
            if points:
                axis.plot(
                    *zip(*points, strict=True),
                    ls="",
                    marker="*",
                    ms=9,
                    mec="white",
                    mew=0.5,
                    color="#d62728",
                    zorder=3,
                    label="printed by the paper",
                )
        axis.set_xticks(range(len(RA_RANKS)), [f"{ranks:,}" for ranks in RA_RANKS])
        axis.set_xlabel("ranks")
        axis.set_title(NAMES[mode])
        axis.grid(visible=False, axis="x")
    _plain_log_axis(axes[0])
    axes[0].set_ylabel("GiB/s of rows, with packing")
    legend_below(figure, axes, 7)
    return _mark(figure, "growing checkpoints on Theta")


def draw_phases(modelled: Modelled, plot: Any) -> Any:
    modes = (*RA_MODES, "raw-fpp")
    figure, axes = panels(plot, len(modes), 2.6, 2.8, columns=5)
    for axis, mode in zip(axes, modes, strict=True):
        for at, ranks in enumerate(RA_RANKS):
            bottom = 0.0
            for phase in PHASES:
                seconds = sum(
                    modelled.seconds("theta", "save", mode, ranks, number, phase=phase)
                    for number in range(len(TABLE_1))
                )
                axis.bar(
                    at,
                    seconds,
                    bottom=bottom,
                    width=0.72,
                    color=PHASE_COLOURS[phase],
                    label="fsync" if phase == "sync" else phase,
                )
                bottom += seconds
            axis.text(at, bottom, f"{bottom:.3g}", ha="center", va="bottom", fontsize=7)
        axis.set_xticks(range(len(RA_RANKS)), [f"{r:,}" for r in RA_RANKS], rotation=45)
        axis.set_ylim(0, axis.get_ylim()[1] * 1.06)
        axis.set_title(NAMES[mode], fontsize=8.5)
        axis.set_xlabel("ranks")
        axis.grid(visible=False, axis="x")
    axes[0].set_ylabel("seconds, all six checkpoints")
    legend_below(figure, axes, 7)
    return _mark(figure, "where the time of all six checkpoints goes on Theta")


def draw_restart(modelled: Modelled, plot: Any) -> Any:
    modes = ("fpp", "shared", "hdf5-direct")
    figure, (axis,) = panels(plot, 1, 6.4, 3.2)
    for at, mode in enumerate(modes):
        axis.bar(
            [r + (at - 1) * 0.27 for r in range(len(RA_RANKS))],
            [
                modelled.bandwidth("theta", "restart", mode, ranks, "as-written")
                for ranks in RA_RANKS
            ],
            width=0.25,
            color=COLOURS[mode],
            label=mode,
        )
    axis.plot(
        [RA_RANKS.index(4096) - 0.27],
        [82.193],
        ls="",
        marker="*",
        ms=10,
        mec="white",
        color="black",
        label="printed by the paper (POSIX)",
    )
    axis.set_xticks(range(len(RA_RANKS)), [f"{ranks:,}" for ranks in RA_RANKS])
    axis.set_xlabel("ranks")
    axis.set_ylabel("GiB/s of rows")
    axis.grid(visible=False, axis="x")
    legend_below(figure, [axis], 4)
    return _mark(figure, "restart from 75 GiB on Theta")


def draw_offsets(modelled: Modelled, plot: Any) -> Any:
    modes = ("fpp", "shared", "hdf5-direct")
    shown = (256, 512, 4096)
    figure, axes = panels(plot, len(shown), 3.2, 2.8)
    for axis, ranks in zip(axes, shown, strict=True):
        for at, mode in enumerate(modes):
            for offset, parts, hatch in ((-0.2, "as-written", ""), (0.2, "balanced", "///")):
                key = ("theta", "restart", mode, ranks, parts)
                told, read, move = (
                    modelled.seconds(*key, phase=phase) for phase in ("metadata", "read", "route")
                )
                axis.bar(at + offset, told, width=0.36, color="#bab0ac")
                axis.bar(
                    at + offset,
                    read,
                    bottom=told,
                    width=0.36,
                    color=COLOURS[mode],
                    hatch=hatch,
                    edgecolor="white",
                    lw=0,
                )
                axis.bar(at + offset, move, bottom=told + read, width=0.36, color="#555555")
        axis.set_xticks(range(len(modes)), modes)
        axis.set_title(f"{ranks:,} ranks")
        axis.grid(visible=False, axis="x")
    axes[0].set_ylabel("seconds")
    handles = [
        plot.Rectangle((0, 0), 1, 1, color="#bab0ac"),
        plot.Rectangle((0, 0), 1, 1, color="#888888"),
        plot.Rectangle((0, 0), 1, 1, facecolor="#888888", hatch="///", edgecolor="white"),
        plot.Rectangle((0, 0), 1, 1, color="#555555"),
    ]
    names = ("manifest", "read, with offsets", "read, without", "tuples to their owners")
    figure.legend(handles, names, loc="outside lower center", ncols=4)
    return _mark(figure, "restart with and without offsets on Theta, 75 GiB")


DRAWINGS = (
    Drawing(
        "end_to_end",
        "End-to-end time",
        "HDF5-OPT, figure 3: all checkpoints of a run (whole and growth, every 400 iterations, and "
        "at the end). The paper's bars hold the evaluation, too, whose time it does not print.",
        draw_end_to_end,
    ),
    Drawing(
        "ladder",
        "The tuning ladder",
        "HDF5-OPT, figure 4: steps O1 to O7 taken one after the other; numbers are relative to "
        "none.",
        draw_ladder,
    ),
    Drawing(
        "growth",
        "Bandwidth of growing checkpoints",
        "RA-checkpoint, figure 3: the six checkpoints of table I. Stars stand in the paper.",
        draw_growth,
    ),
    Drawing(
        "phases",
        "Where the time goes",
        "RA-checkpoint, figure 4: all six checkpoints.",
        draw_phases,
    ),
    Drawing(
        "restart",
        "Restart from the largest checkpoint",
        "RA-checkpoint, figure 5: each rank reads what it wrote. Restarts read with pread from "
        "every layout, not with MPI collective I/O, so the paper's gap between the two is not "
        "here.",
        draw_restart,
    ),
    Drawing(
        "offsets",
        "Restart with and without offsets",
        "RA-checkpoint, figure 6.",
        draw_offsets,
    ),
)


def draw_all(modelled: Modelled, folder: Path) -> None:
    """A PNG for each drawing; ImportError without matplotlib."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plot

    folder.mkdir(parents=True, exist_ok=True)
    with plot.rc_context(STYLE):
        for drawing in DRAWINGS:
            figure = drawing.draw(modelled, plot)
            figure.savefig(folder / f"{drawing.name}.png", metadata={"Software": None})
            plot.close(figure)
