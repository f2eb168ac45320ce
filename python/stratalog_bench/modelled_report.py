# SPDX-License-Identifier: Apache-2.0
"""`stratalog bench checkpoint --modelled`: model.json, report.md, figures of the papers' runs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from stratalog_bench.markdown import table
from stratalog_bench.modelled import (
    GRAPHS,
    LFS_MODES,
    OPT_MODES,
    OPT_RANKS,
    PRINTED_MODES,
    RA_RANKS,
    Modelled,
    machines,
    price_all,
    price_with,
    printed,
    run_seconds,
)
from stratalog_bench.modelled_claims import PAPER_RANKS, Number, Statement, numbers, statements
from stratalog_bench.modelled_figures import DRAWINGS, draw_all
from stratalog_bench.processes import BenchError

FORMAT, VERSION = "stratalog-bench-modelled", 1
FACTORS = (0.25, 1, 4, 16)  # of an assumed rate

INTRODUCTION = """\
**Everything here is modelled; nothing was measured at these rank counts.** Every checkpoint was
planned by the real planners (policy, ladder, placement, rounds, aggregators, edges, read ranges)
at the rank count that stands there; a model of processes, network, data servers with locks on
stripes, and a metadata server priced the plans. All its parameters stand in
`python/stratalog_bench/machines.json`, each with where its value comes from. Theta's were
calibrated on numbers of RA-checkpoint, those marked *used* below. HDF5-OPT prints no time at all,
so Perlmutter's are assumptions, and its rows are a test of them. The papers' programs do not
sync, so neither do these checkpoints.

What the model leaves out: jitter and other jobs, caches of servers, retries, what a lock costs
between rounds, overlap of packing with writing by other ranks, memory. Every server serves its
queue without loss."""


def _number_row(number: Number) -> list[str]:
    low, high = f"{number.low:.4g}", f"{number.high:.4g}"
    return [
        number.what,
        f"{low if low == high else f'{low} to {high}'} {number.unit}",
        f"{number.modelled:.4g} {number.unit}",
        f"{number.ratio:.2f}",
        "used" if number.was_used else "",
    ]


def _statement_row(statement: Statement) -> list[str]:
    return [statement.what, f"{statement.agreed} of {statement.points}", statement.note]


def _agreement(modelled: Modelled) -> list[str]:
    head = ["number", "printed by the paper", "modelled", "ratio", "calibration"]
    lines = ["## How well the model meets the papers", ""]
    lines += table(head, (_number_row(number) for number in numbers(modelled)))
    lines += ["Within a printed range the ratio is 1.", ""]
    lines += [
        "| what the papers say in words | the model agrees at | why |",
        "|---|--:|---|",
        *("| " + " | ".join(_statement_row(one)) + " |" for one in statements(modelled)),
        "",
    ]
    return lines


def _times(modelled: Modelled) -> list[str]:
    lines = ["## Modelled seconds of all checkpoints of a run (Perlmutter)", ""]
    for graph in GRAPHS:
        lines += [f"### {graph}", ""]
        lines += table(
            ["strategy", *(f"{ranks:,} ranks" for ranks in OPT_RANKS)],
            (
                [mode, *(f"{run_seconds(modelled, graph, mode, r):.3g}" for r in OPT_RANKS)]
                for mode in (*OPT_MODES, *map(printed, PRINTED_MODES))
            ),
        )
    return lines


def _striping(modelled: Modelled) -> list[str]:
    """What the stripes of files that one rank creates are worth, and lfs, which sets them."""
    lines = [
        "## Stripes of files that one rank creates (Theta, the last checkpoint)",
        "",
        "hdf5-direct and hdf5-opt create their files by ordinary calls and set 48 stripes of 8 MiB "
        "through `lfs`, once before and once after (`lfs_seconds` each). Without `lfs` the files "
        "lie on the default's one server. Modelled seconds:",
        "",
    ]
    rows = []
    for mode in LFS_MODES:
        for ranks in RA_RANKS:
            with_lfs, without = (
                modelled.seconds("theta", "lfs", lfs, mode, ranks) for lfs in (True, False)
            )
            rows.append(
                [
                    mode,
                    f"{ranks:,}",
                    f"{with_lfs:.3g}",
                    f"{without:.3g}",
                    f"{without / with_lfs:.2f}",
                ]
            )
    return lines + table(["mode", "ranks", "with lfs", "without", "without ÷ with"], rows)


def _sensitivity(varied: dict[float, Modelled]) -> list[str]:
    lines = [
        "## How much hangs on an assumption",
        "",
        "Perlmutter's `rank_write_rate`, what one process streams into a file, decides whether few "
        "aggregators (the printed O5) hold a checkpoint up. Modelled seconds on usroads:",
        "",
    ]
    modes = (*OPT_MODES, *map(printed, PRINTED_MODES))
    rows = []
    for factor, modelled in varied.items():
        for ranks in (PAPER_RANKS[0], PAPER_RANKS[-1]):
            times = [run_seconds(modelled, "usroads", mode, ranks) for mode in modes]
            rows.append([f"× {factor:g}", f"{ranks:,}", *(f"{time:.3g}" for time in times)])
    return lines + table(["rate", "ranks", *modes], rows)


def _parameters() -> list[str]:
    lines = ["## Parameters", ""]
    for machine, about in machines().items():
        lines += [f"### {machine}", "", f"{about['about']}.", ""]
        lines += ["| parameter | value | from |", "|---|--:|---|"]
        lines += [
            f"| {name} | {pair[0]:g} | {pair[1]} |"
            for name, pair in about.items()
            if name != "about"
        ]
        lines.append("")
    return lines


def _figures(modelled: Modelled, folder: Path) -> list[str]:
    try:
        draw_all(modelled, folder / "figures")
    except ImportError as problem:
        return ["## Figures", "", f"None: {problem}.", ""]
    lines = ["## Figures (modelled)", ""]
    for drawing in DRAWINGS:
        lines += [
            f"### {drawing.title} (modelled)",
            "",
            f"![{drawing.title}](figures/{drawing.name}.png)",
            "",
            drawing.caption,
            "",
        ]
    return lines


def _save(modelled: Modelled, file: Path, version: str) -> None:
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION, "stratalog": version}
    # Reasons of plans are long and the same over and over.
    lines = [
        {"machine": machine, **{key: value for key, value in line.items() if key != "why"}}
        for machine, of_machine in modelled.lines.items()
        for line in of_machine.values()
    ]
    text = json.dumps(content, indent=1)[:-2]
    events = ",\n  ".join(json.dumps(line) for line in lines)
    file.write_text(f'{text},\n "modelled": [\n  {events}\n ]\n}}\n')


def model_papers(stratalog: str, folder: Path) -> Path:
    """Writes folder/report.md, model.json, figures/*.png; a folder that holds them is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "model.json").exists():
        raise BenchError(f"there is a model.json in {folder}; name another folder with --output")
    modelled = price_all(stratalog)
    varied = {
        factor: price_with(stratalog, "perlmutter", {"rank_write_rate": factor})
        for factor in FACTORS
    }
    version = subprocess.run(
        [stratalog, "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    _save(modelled, folder / "model.json", version)
    lines = [
        "# The papers' checkpoints at 32 to 4,096 ranks, modelled",
        "",
        INTRODUCTION,
        "",
        f"{version}; `stratalog bench checkpoint --modelled`.",
        "",
        *_agreement(modelled),
        *_figures(modelled, folder),
        *_times(modelled),
        *_striping(modelled),
        *_sensitivity(varied),
        *_parameters(),
    ]
    report = folder / "report.md"
    report.write_text("\n".join(lines).rstrip() + "\n")
    return report
