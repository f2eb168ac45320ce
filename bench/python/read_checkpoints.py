# SPDX-License-Identifier: Apache-2.0
"""How quickly Python and `stratalog export` read checkpoints, whole and by key.

    python3 bench/python/read_checkpoints.py --stratalog build/stratalog

Random pairs (sparse: every encoding's worst case) and the closure of a chain (dense), written in
each encoding and read back. Every number of tuples is checked against the input. Prints a Markdown
table; times are CPU seconds, the least of `--repeats`.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

import stratalog  # noqa: E402

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y){tail}.
"""
LOW, HIGH = 1000, 1050
WAYS = (("--encoding", "compact"), ("--encoding", "streams"), ("--mode", "hdf5-direct"))


def write(command: Path, folder: Path, edges: np.ndarray, tail: str, *how: str) -> Path:
    folder.mkdir()
    np.savetxt(folder / "edge.facts", edges, fmt="%d", delimiter="\t")
    (folder / "p.dl").write_text(PROGRAM.format(tail=tail))
    checkpoints = ["--checkpoint", folder / "ck", "--durability", "none", *how]
    run = [command, "run", folder / "p.dl", "-F", folder, "-D", folder, "-q", *checkpoints]
    subprocess.run(run, check=True)
    return folder / "ck"


def least(repeats: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(repeats))


def python_seconds(read: Callable[[], int], expected: int) -> Callable[[], float]:
    def measure() -> float:
        begin = time.process_time()
        found = read()
        seconds = time.process_time() - begin
        assert found == expected, (found, expected)
        return seconds

    return measure


def command_seconds(arguments: list[object], expected: int) -> Callable[[], float]:
    def measure() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = subprocess.run(list(map(str, arguments)), check=True, capture_output=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert json.loads(out)["rows"] == expected, out
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return measure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stratalog", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=3_000_000)
    parser.add_argument("--nodes", type=int, default=4_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    sparse = np.unique(random.integers(0, 1 << 20, (options.pairs, 2)), axis=0)
    chain = np.stack([np.arange(options.nodes - 1), np.arange(1, options.nodes)], axis=1)
    cases = (
        (
            "random pairs",
            sparse,
            "",
            len(sparse),
            int(((sparse[:, 0] >= LOW) & (sparse[:, 0] < HIGH)).sum()),
        ),
        (
            *("closure of a chain", chain, ".\npath(x, z) :- path(x, y), edge(y, z)"),
            options.nodes * (options.nodes - 1) // 2,
            sum(options.nodes - 1 - x for x in range(LOW, HIGH)),
        ),
    )
    print(
        "| tuples | written with | bytes | Python: all | million/s | range | export: all | range |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name, edges, tail, rows, in_range in cases:
        for how in WAYS:
            with tempfile.TemporaryDirectory() as scratch:
                store = write(options.stratalog, Path(scratch) / "run", edges, tail, *how)
                size = sum(p.stat().st_size for p in store.rglob("*") if p.is_file())
                table = stratalog.open(store)["path"]
                whole = least(
                    options.repeats, python_seconds(lambda t=table: len(t.to_numpy()), rows)
                )
                part = least(
                    options.repeats, python_seconds(lambda t=table: len(t[LOW:HIGH]), in_range)
                )
                export = [options.stratalog, "export", store, Path(scratch) / "out"]
                export += ["--relation", "path", "--json"]
                times = [
                    least(options.repeats, command_seconds(export, rows)),
                    least(
                        options.repeats,
                        command_seconds([*export, "--where", f"x={LOW}:{HIGH}"], in_range),
                    ),
                ]
                cells = [
                    f"{rows:,} {name}",
                    f"`{' '.join(how)}`",
                    f"{size:,}",
                    f"{whole:.2f} s",
                    f"{rows / whole / 1e6:.1f}",
                    f"{part:.3f} s",
                    *(f"{seconds:.3f} s" for seconds in times),
                ]
                print("|", " | ".join(cells), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
