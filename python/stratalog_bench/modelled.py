# SPDX-License-Identifier: Apache-2.0
"""The papers' runs at the papers' rank counts, priced by the file-system model.

The command plans every checkpoint with its real planners (`stratalog bench model`); what a plan
costs on the papers' machines says machines.json. Nothing here is measured."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stratalog_bench.processes import BenchError

GIB = float(1 << 30)
ROW_BYTES = 16  # two columns
# RA-checkpoint, IV: table I, the graph, its rank counts.
TABLE_1 = (13, 26, 39, 52, 64, 75)
RA_EDGES = 412_148
RA_ITERATIONS = 5866
RA_RANKS = (256, 512, 1024, 2048, 4096)
RA_MODES = ("fpp", "shared", "shared-opt", "hdf5-direct")
# HDF5-OPT, table 2: edges, iterations, paths; a full and a delta snapshot every 400 iterations.
GRAPHS = {
    "vsp_finan": (552_000, 1040, 910_000_000),
    "fe_ocean": (410_000, 494, 1_670_000_000),
    "usroads": (165_000, 1212, 870_000_000),
}
EVERY = 400
OPT_RANKS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
OPT_MODES = ("shared", "shared-opt", "hdf5", "hdf5-opt", "hdf5-direct", "hdf5-streams", "fpp")
# Bytes that deflated streams leave of 1,000 bytes of rows: of the closures that were measured,
# usroads' shrinks least (35 times; bench/streams/hdf5_streams.py).
STREAMS_MILLI = 29
LADDER = ("none", *(",".join(f"O{step}" for step in range(1, last + 1)) for last in range(1, 8)))
# What the paper claims is claimed of the printed hints: aggregators whatever the stripes.
AS_PRINTED = "printed:cb-nodes"
PRINTED_LADDER = tuple(f"{step},{AS_PRINTED}" if "O5" in step else step for step in LADDER)
PRINTED_MODES = ("shared-opt", "hdf5-opt")
# Whose files one rank creates, by ordinary calls: without lfs they get no stripes.
LFS_MODES = ("hdf5-opt", "hdf5-direct")


def machines() -> dict[str, dict[str, Any]]:
    """Values and sources of each machine: {"theta": {"pack_rate": [value, source], ...}}."""
    text = (Path(__file__).parent / "machines.json").read_text()
    return {name: about for name, about in json.loads(text).items() if name != "about"}


def _dataset(rows: float) -> dict[str, Any]:
    return {"columns": 2, "rows": int(rows)}


def ra_checkpoint(number: int) -> list[dict[str, Any]]:
    """Relations of checkpoint `number` of table I: path whole, path's delta, edges."""
    rows = TABLE_1[number] * GIB / ROW_BYTES
    delta = TABLE_1[-1] * GIB / ROW_BYTES / RA_ITERATIONS
    parts = [rows - RA_EDGES, RA_EDGES]
    # The last one stands at the fixpoint: nothing is new.
    if number < len(TABLE_1) - 1:
        parts = [rows - RA_EDGES - delta, delta, RA_EDGES]
    return [_dataset(part) for part in parts]


def opt_checkpoints(graph: str) -> list[list[dict[str, Any]]]:
    """Of a whole run: growth linear in iterations, as in RA-checkpoint's table I."""
    edges, iterations, paths = GRAPHS[graph]
    stops = [*range(EVERY, iterations, EVERY), iterations]
    checkpoints = []
    before = 0
    for stop in stops:
        rows = paths * stop // iterations
        checkpoints.append([_dataset(rows), _dataset(rows - before), _dataset(edges)])
        before = rows
    return checkpoints


@dataclass
class Modelled:
    """Lines of `stratalog bench model`, by machine and name."""

    lines: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def of(self, machine: str, *parts: object) -> dict[str, Any]:
        return self.lines[machine][name_of(*parts)]

    def seconds(self, machine: str, *parts: object, phase: str = "total") -> float:
        return float(self.of(machine, *parts)["seconds"].get(phase, 0.0))

    def bandwidth(self, machine: str, *parts: object) -> float:
        """GiB/s of rows, as the papers count."""
        return float(self.of(machine, *parts)["row_bytes"]) / GIB / self.seconds(machine, *parts)


def name_of(*parts: object) -> str:
    return " / ".join(str(part) for part in parts)


def printed(mode: str) -> str:
    """The name of a mode with the hints that the paper prints."""
    return f"{mode} as printed"


def _case(
    strategy: str, ranks: int, datasets: list[dict[str, Any]], *parts: object, **more: Any
) -> dict[str, Any]:
    return {
        "name": name_of(*parts),
        "strategy": strategy,
        "ranks": ranks,
        "datasets": datasets,
        "durability": "none",  # the papers' programs do not sync
        **more,
    }


def theta_cases() -> Iterable[dict[str, Any]]:
    last = len(TABLE_1) - 1
    for ranks in RA_RANKS:
        for mode in (*RA_MODES, "raw-fpp"):
            for number in range(len(TABLE_1)):
                yield _case(mode, ranks, ra_checkpoint(number), "save", mode, ranks, number)
        for mode in LFS_MODES:
            for lfs in (True, False):
                name = ("lfs", lfs, mode, ranks)
                yield _case(mode, ranks, ra_checkpoint(last), *name, lfs=lfs)
        for mode in ("fpp", "shared", "hdf5-direct"):
            for parts in ("as-written", "balanced"):
                yield _case(
                    mode,
                    ranks,
                    ra_checkpoint(last),
                    *("restart", mode, ranks, parts),
                    restart=parts,
                )


def perlmutter_cases() -> Iterable[dict[str, Any]]:
    for graph in GRAPHS:
        for number, datasets in enumerate(opt_checkpoints(graph)):
            for ranks in OPT_RANKS:
                for mode in OPT_MODES:
                    name = ("save", graph, mode, ranks, number)
                    more = {"encoded_milli": STREAMS_MILLI} if mode == "hdf5-streams" else {}
                    yield _case(mode, ranks, datasets, *name, **more)
                for mode in PRINTED_MODES:
                    name = ("save", graph, printed(mode), ranks, number)
                    yield _case(mode, ranks, datasets, *name, ladder=f"all,{AS_PRINTED}")
    for number, datasets in enumerate(opt_checkpoints("usroads")):
        for ranks in OPT_RANKS:
            for ladder in dict.fromkeys((*LADDER, *PRINTED_LADDER)):
                yield _case(
                    "hdf5-opt",
                    ranks,
                    datasets,
                    *("ladder", ladder, ranks, number),
                    ladder=ladder,
                )


def run_seconds(modelled: Modelled, graph: str, mode: str, ranks: int) -> float:
    """All checkpoints of a run."""
    return sum(
        modelled.seconds("perlmutter", "save", graph, mode, ranks, number)
        for number in range(len(opt_checkpoints(graph)))
    )


def ladder_seconds(modelled: Modelled, ladder: str, ranks: int) -> float:
    return sum(
        modelled.seconds("perlmutter", "ladder", ladder, ranks, number)
        for number in range(len(opt_checkpoints("usroads")))
    )


def _price(stratalog: str, spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.json"
        file.write_text(json.dumps(spec))
        done = subprocess.run(
            [stratalog, "bench", "model", str(file)], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise BenchError(done.stderr.strip() or f"bench model ended with {done.returncode}")
    return (json.loads(line) for line in done.stdout.splitlines())


CASES: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
    "theta": theta_cases,
    "perlmutter": perlmutter_cases,
}


def price_with(stratalog: str, machine: str, factors: dict[str, float]) -> Modelled:
    """The machine's cases, with some of its parameters multiplied."""
    about = machines()[machine]
    values = {
        name: pair[0] * factors.get(name, 1.0) for name, pair in about.items() if name != "about"
    }
    lines = _price(stratalog, {"machine": values, "cases": list(CASES[machine]())})
    return Modelled({machine: {line["name"]: line for line in lines}})


def price_all(stratalog: str) -> Modelled:
    """Every case of both papers; seconds of CPU, no MPI, no checkpoint written."""
    modelled = Modelled()
    for machine in CASES:
        modelled.lines |= price_with(stratalog, machine, {}).lines
    return modelled
