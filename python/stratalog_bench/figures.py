# SPDX-License-Identifier: Apache-2.0
"""The papers' figures from results, as PNG files, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stratalog_bench.drawing import STYLE
from stratalog_bench.figures_compare import (
    draw_closure,
    draw_offsets,
    draw_ratio,
    draw_restart,
    draw_sizes,
    draw_skew,
)
from stratalog_bench.figures_sequences import draw_chains, draw_learned
from stratalog_bench.figures_write import draw_end_to_end, draw_growth, draw_ladder, draw_phases
from stratalog_bench.results import Results
from stratalog_bench.strategies import SERIAL


@dataclass(frozen=True)
class Picture:
    """A drawn figure: file name, title, and what it shows."""

    file: str
    title: str
    caption: str


@dataclass(frozen=True)
class Drawing:
    name: str
    title: str
    caption: str
    draw: Callable[[Results, Any], Any]  # (results, pyplot) -> figure, or None without data


DRAWINGS = (
    Drawing(
        "end_to_end",
        "End-to-end time",
        "HDF5-OPT, figure 3. Transitive closures from facts to the fixpoint, without "
        "checkpoints and with one every quarter of the rounds: whole ones, or with +growth what "
        "is new. With +overlap they are written beside the evaluation; the coloured part is what "
        "held it up. Of the papers' graphs so many sources are followed as fit the largest size.",
        draw_end_to_end,
    ),
    Drawing(
        "ladder",
        "The tuning ladder",
        "HDF5-OPT, figure 4. hdf5-opt with steps O1 to O7 taken one after the other; numbers "
        "are relative to no step at all, whiskers the fastest and slowest repeat.",
        draw_ladder,
    ),
    Drawing(
        "growth",
        "Bandwidth of growing checkpoints",
        "RA-checkpoint, figure 3. Six checkpoints in the proportions of its table I.",
        draw_growth,
    ),
    Drawing(
        "chains",
        "Everything each time, or what is new",
        "Six checkpoints in the proportions of RA-checkpoint's table I, written by one writer: "
        "everything, and with +growth what is new since the one before, whole where the rule of "
        "runs ends a chain.",
        draw_chains,
    ),
    Drawing(
        "learned",
        "Modes that learn",
        "The same relations saved again and again by one writer; each mode beside those fixed "
        "strategies that write what it can choose.",
        draw_learned,
    ),
    Drawing(
        "phases",
        "Where the time of a checkpoint goes",
        "RA-checkpoint, figure 4, with more parts. Each part is the slowest rank's, so a bar "
        "may be longer than the checkpoint took; the black mark is the whole time.",
        draw_phases,
    ),
    Drawing(
        "restart",
        "Restart from the largest checkpoint",
        "RA-checkpoint, figure 5. From the largest checkpoint of sizes and growth. Reading, "
        "verifying and decoding into memory; pages of the files were dropped from the page cache "
        "before.",
        draw_restart,
    ),
    Drawing(
        "offsets",
        "Restart with and without offsets",
        "RA-checkpoint, figure 6. With the writers' offsets each rank reads its own tuples; "
        "without, ranks read equal parts and send tuples to their owners.",
        draw_offsets,
    ),
    Drawing(
        "sizes",
        "Time against size, and the model",
        "Lines: seconds = start + per file * files + per rank * (ranks - 1) + bytes / device + "
        "share / core, fitted to all points of a strategy; solid, dashed, dotted as the rank "
        "counts. In brackets the median error, or the number of points where they are too few for "
        "one; before it the durability where it is another one than the figure's.",
        draw_sizes,
    ),
    Drawing(
        "ratio",
        "Against bare writes",
        "Bandwidth relative to pwrite + fsync of the same number of bytes by the same ranks "
        "into one file or a file each, whichever is faster.",
        draw_ratio,
    ),
    Drawing(
        "skew",
        "Skew",
        "Equal sums, dealt to the ranks evenly, 15/16 on one rank, nothing on odd ranks, and a "
        "share of 1/(r+1) on rank r.",
        draw_skew,
    ),
    Drawing(
        "closure",
        "A real closure",
        "The relations of a checkpointed run (total and delta), saved by every strategy.",
        draw_closure,
    ),
)


def _durability(drawing: Drawing, results: Results) -> str:
    """Of what a figure shows. Python's files stand in that of sizes, whose panels name theirs."""
    level = results.options.get("durability", "unknown")
    serial = {one.name for one in SERIAL}
    others = {
        (event["case"], event["durability"])
        for event in (results.of("save", "sizes") if drawing.draw is draw_sizes else ())
        if event["case"] in serial and event.get("durability", level) != level
    }
    if not others:
        return f"durability {level}"
    names = ", ".join(sorted(name for name, _ in others))
    return f"durability {level} ({names}: {', '.join(sorted({own for _, own in others}))})"


def draw_all(results: Results, folder: Path) -> list[Picture]:
    """Figures that have data; ImportError without matplotlib."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plot

    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    with plot.rc_context(STYLE):
        for drawing in DRAWINGS:
            figure = drawing.draw(results, plot)
            if figure is None:
                continue
            figure.suptitle(
                f"Measured, {_durability(drawing, results)}: {drawing.title}",
                fontsize=9.5,
                color="#444444",
            )
            file = f"{drawing.name}.png"
            figure.savefig(folder / file, metadata={"Software": None})
            plot.close(figure)
            pictures.append(Picture(file, drawing.title, drawing.caption))
    return pictures
