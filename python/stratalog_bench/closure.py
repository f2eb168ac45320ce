# SPDX-License-Identifier: Apache-2.0
"""Real closures: transitive closures of graphs, run by the command with checkpoints."""

from __future__ import annotations

import json
import lzma
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stratalog_bench.options import Options
from stratalog_bench.processes import Event, Programs, broken_text, run_to_end
from stratalog_bench.strategies import RunWay

PROGRAM = """\
.decl edge(a: number, b: number)
.input edge
.decl path(a: number, b: number)
path(x, y) :- edge(x, y){condition}.
path(x, z) :- path(x, y), edge(y, z).
.printsize path
"""
# The papers' graphs, with the pairs of their whole closures.
GRAPH_PAIRS = {"usroads": 871_365_688, "fe_ocean": 1_669_750_513}
PAIR_BYTES = 16  # two 64-bit numbers
RUN_SECONDS = 600


@dataclass(frozen=True)
class Closure:
    """Edges, and how many of their sources are followed: those that `divisor` divides."""

    name: str
    facts: Path
    divisor: int = 1

    @property
    def program(self) -> str:
        condition = f", x % {self.divisor} = 0" if self.divisor > 1 else ""
        return PROGRAM.format(condition=condition)


class MissingGraphError(Exception):
    """Why a closure cannot be run."""


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


def sources_divisor(pairs: int, most_bytes: int) -> int:
    """So that the closure, as rows, has about as many bytes at the most."""
    return max(1, -(-pairs * PAIR_BYTES // most_bytes))


def prepare(name: str, options: Options, work: Path) -> Closure:
    """The edges of a closure in `work`; MissingGraphError says what there is not."""
    facts = work / f"{name}-facts"
    if name == "road":
        write_road(options.grid, options.seed, facts)
        return Closure(name, facts)
    packed = options.data_sets / "data" / "graphs" / f"{name}.tsv.xz"
    if not packed.is_file():
        raise MissingGraphError(
            f"{name}: there is no data/graphs/{name}.tsv.xz below {options.data_sets} "
            "(--data-sets, or STRATALOG_SHARED)"
        )
    facts.mkdir(parents=True, exist_ok=True)
    with lzma.open(packed) as edges, (facts / "edge.facts").open("wb") as plain:
        shutil.copyfileobj(edges, plain)
    return Closure(name, facts, sources_divisor(GRAPH_PAIRS[name], max(options.sizes)))


def run_once(
    programs: Programs,
    ranks: int,
    way: RunWay | None,
    every: int,
    durability: str,
    work: Path,
    closure: Closure,
) -> Event:
    """One run from facts to the fixpoint; without a way, without checkpoints.

    The checkpoints stay in work/WAY, so that a later measurement can take its relations there.
    """
    name = way.name if way else "none"
    program = work / "closure.dl"
    program.write_text(closure.program)
    report = work / "report.json"
    report.unlink(missing_ok=True)
    shutil.rmtree(work / name, ignore_errors=True)
    words = ["run", str(program), "-F", str(closure.facts), "-q", "--report", str(report)]
    if way is not None:
        words += ["--checkpoint", str(work / name), "--every", f"{every}it", *way.words]
        words += ["--durability", durability]
    command = programs.launch(ranks, *words)
    event: Event = {"case": name, "ranks": ranks, "every": every, "closure": closure.name}
    code, complaint = run_to_end(command, ranks, RUN_SECONDS)
    if code != 0 or not report.exists():
        return event | {"event": "failed", "message": broken_text(command, code, complaint)}
    said = json.loads(report.read_text())
    saves = said["checkpoints"]
    return event | {
        "event": "run",
        "divisor": closure.divisor,
        "seconds": {
            "total": said["seconds"]["total"],
            # That the run was held up, not what was done beside it.
            "checkpoints": sum(save["held_seconds"] for save in saves),
        },
        "checkpoints": saves,
        "iterations": max(stratum["iterations"] for stratum in said["strata"]),
        "rows": sum(relation["rows"] for relation in said["print_sizes"]),
    }


def compare_ways(
    programs: Programs,
    ranks: int,
    ways: tuple[RunWay, ...],
    repeats: int,
    every: int,
    durability: str,
    work: Path,
    closure: Closure,
    keep: str = "",
) -> Iterator[Event]:
    """Runs without checkpoints and in every way; folders go but that of `keep`."""
    for repeat in range(repeats):
        for way in (None, *ways):
            event = run_once(programs, ranks, way, every, durability, work, closure)
            name = event["case"]
            if name != keep or repeat + 1 < repeats:
                shutil.rmtree(work / name, ignore_errors=True)
            yield event | {"repeat": repeat}
