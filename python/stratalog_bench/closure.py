# SPDX-License-Identifier: Apache-2.0
"""A real closure: transitive closure of a graph, run by the command with checkpoints."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from stratalog_bench.processes import Event, Programs, run_to_end
from stratalog_bench.strategies import OVERLAPPED

PROGRAM = """\
.decl edge(a: number, b: number)
.input edge
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.printsize path
"""


def write_road(grid: int, seed: int, folder: Path) -> None:
    """folder/edge.facts: a grid of roads that lead east or south, three of ten closed.

    Many rounds and a closure with long rows, as the road networks of the papers have.
    """
    chance = random.Random(seed)
    lines = []
    for row in range(grid):
        for column in range(grid):
            node = row * grid + column
            if column + 1 < grid and chance.random() < 0.7:
                lines.append(f"{node}\t{node + 1}\n")
            if row + 1 < grid and chance.random() < 0.7:
                lines.append(f"{node}\t{node + grid}\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "edge.facts").write_text("".join(lines))


def run_once(
    programs: Programs, ranks: int, mode: str, every: int, durability: str, work: Path, facts: Path
) -> Event:
    """One run from facts to the fixpoint; mode "none" writes no checkpoints, and one that ends in
    "+overlap" writes them beside the evaluation.

    The checkpoints stay in work/MODE, so that a later measurement can take its relations there.
    """
    program = work / "closure.dl"
    program.write_text(PROGRAM)
    report = work / "report.json"
    report.unlink(missing_ok=True)
    shutil.rmtree(work / mode, ignore_errors=True)
    words = ["run", str(program), "-F", str(facts), "-q", "--report", str(report)]
    if mode != "none":
        words += ["--checkpoint", str(work / mode), "--every", f"{every}it", "--full-every", "1"]
        words += ["--mode", mode.removesuffix(OVERLAPPED), "--durability", durability]
        # The papers' runs wait for their checkpoints.
        words += [] if mode.endswith(OVERLAPPED) else ["--no-overlap"]
    command = programs.launch(ranks, *words)
    event: Event = {"case": mode, "ranks": ranks, "every": every}
    code, complaint = run_to_end(command, ranks, 600)
    if code != 0 or not report.exists():
        return event | {"event": "failed", "message": f"exit code {code}: {complaint}"}
    said = json.loads(report.read_text())
    saves = said["checkpoints"]
    return event | {
        "event": "run",
        "seconds": {
            "total": said["seconds"]["total"],
            # That the run was held up, not what was done beside it.
            "checkpoints": sum(save["held_seconds"] for save in saves),
        },
        "checkpoints": saves,
        "iterations": max(stratum["iterations"] for stratum in said["strata"]),
        "rows": sum(relation["rows"] for relation in said["print_sizes"]),
    }


def compare_modes(
    programs: Programs,
    ranks: int,
    modes: tuple[str, ...],
    repeats: int,
    every: int,
    durability: str,
    work: Path,
    facts: Path,
    keep: str = "",
) -> Iterator[Event]:
    """Runs without checkpoints and with every mode; folders go but that of `keep`."""
    for repeat in range(repeats):
        for mode in ("none", *modes):
            event = run_once(programs, ranks, mode, every, durability, work, facts)
            if mode != keep or repeat + 1 < repeats:
                shutil.rmtree(work / mode, ignore_errors=True)
            yield event | {"repeat": repeat}
