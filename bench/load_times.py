#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How quickly text facts become relations: MB of text a second, and whether that depends on size.

Pairs of numbers in random and in ascending order, 64-bit numbers, symbols of few and of many
different texts, and gzip, each in files that double in size. The time is that of the whole
process less that of the same program on an empty file, so it includes sorting the tuples into
their index. Medians of --repeats runs in turns, --before another build. Writes OUT.json and OUT.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peers import ROOT, machine, run_to_end

Lines = Iterator[str]


def random_pairs(rows: int) -> Lines:
    draw = random.Random(1).randrange
    return (f"{draw(2_000_000)}\t{draw(2_000_000)}\n" for _ in range(rows))


def ascending_pairs(rows: int) -> Lines:
    return (f"{i // 8}\t{i % 8 * 1000 + i // 8}\n" for i in range(rows))


def hashes(rows: int) -> Lines:
    draw = random.Random(2).getrandbits
    return (f"{draw(64)}\t{i}\n" for i in range(rows))


def few_symbols(rows: int) -> Lines:
    draw = random.Random(3).randrange
    return (f"com.example.Class{draw(5000)}\tmethod {draw(5000)}\n" for _ in range(rows))


def many_symbols(rows: int) -> Lines:
    draw = random.Random(4).randrange
    return (f"com.example.Class{draw(rows)}\tmethod {draw(5000)}\n" for _ in range(rows))


KINDS: dict[str, tuple[Callable[[int], Lines], str, bool]] = {
    "numbers, random": (random_pairs, "a: number, b: number", False),
    "numbers, ascending": (ascending_pairs, "a: number, b: number", False),
    "64-bit numbers": (hashes, "a: unsigned, b: number", False),
    "symbols, few": (few_symbols, "a: symbol, b: symbol", False),
    "symbols, many": (many_symbols, "a: symbol, b: symbol", False),
    "numbers, random, gzip": (random_pairs, "a: number, b: number", True),
}


def prepare(folder: Path, kind: str, rows: int) -> int:
    """The program and its fact file; the bytes of text."""
    lines, attributes, is_packed = KINDS[kind]
    folder.mkdir()
    options = '(compress=true, filename="r.facts.gz")' if is_packed else ""
    (folder / "load.dl").write_text(f".decl r({attributes})\n.input r{options}\n.printsize r\n")
    # Line by line: a child's peak memory is at least what its parent had when it began.
    size = 0
    with (
        gzip.open(folder / "r.facts.gz", "wt", compresslevel=1)
        if is_packed
        else (folder / "r.facts").open("w")
    ) as out:
        for line in lines(rows):
            out.write(line)
            size += len(line)
    return size


@dataclass
class Loads:
    """Runs of one program on one file."""

    seconds: list[float] = field(default_factory=list)
    peak_kib: list[int] = field(default_factory=list)


def load(program: Path, folder: Path, threads: int, loads: Loads) -> None:
    command = [str(program), "run", str(folder / "load.dl"), "-F", str(folder), "-q"]
    run = run_to_end([*command, "-j", str(threads)])
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}")
    loads.seconds.append(run.wall_seconds)
    loads.peak_kib.append(run.peak_kib)


def page(found: list[dict[str, Any]], is_beside: bool) -> str:
    """`is_beside`: with columns for another program."""
    head = ["facts", "rows", "MB", "threads", "s", "MB/s", "MiB"]
    if is_beside:
        head += ["before s", "ratio", "before MiB"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
    for row in found:
        cells = [row["kind"], f"{row['rows']:,}", f"{row['bytes'] / 1e6:.0f}", str(row["threads"])]
        cells += [f"{row['seconds']:.3f}", f"{row['mb_per_second']:.0f}", f"{row['peak_mib']:.0f}"]
        if is_beside:
            cells.append(f"{row['before_seconds']:.3f}")
            cells.append(f"{row['seconds'] / row['before_seconds']:.2f}")
            cells.append(f"{row['before_peak_mib']:.0f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "stratalog")
    parser.add_argument("--before", type=Path, help="another program, in turns with it")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 2_000_000, 4_000_000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True, help="OUT.json and OUT.md")
    options = parser.parse_args()
    programs = [options.program, *([options.before] if options.before else [])]
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        cases = []
        for kind in KINDS:
            for rows in [0, *options.rows]:
                folder = Path(name) / f"{kind}-{rows}".replace(" ", "_")
                cases.append((kind, rows, folder, prepare(folder, kind, rows)))
        loads: dict[tuple[str, int, int, Path], Loads] = {}
        for _ in range(options.repeats):
            for kind, rows, folder, _size in cases:
                for threads in options.threads:
                    for program in programs:
                        key = (kind, rows, threads, program)
                        load(program, folder, threads, loads.setdefault(key, Loads()))
        for kind, rows, _folder, size in cases:
            for threads in options.threads if rows else []:
                row: dict[str, Any] = {
                    "kind": kind,
                    "rows": rows,
                    "bytes": size,
                    "threads": threads,
                }
                for prefix, program in zip(("", "before_"), programs, strict=False):
                    own = loads[kind, rows, threads, program]
                    start = statistics.median(loads[kind, 0, threads, program].seconds)
                    row[f"{prefix}seconds"] = statistics.median(own.seconds) - start
                    row[f"{prefix}peak_mib"] = statistics.median(own.peak_kib) / 1024
                row["mb_per_second"] = size / 1e6 / row["seconds"]
                found.append(row)
    document = {"machine": machine(), "command": sys.argv, "rows": found}
    options.out.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    text = f"# Loading text facts\n\nMachine: {machine()}\n\n" + page(found, len(programs) > 1)
    options.out.with_suffix(".md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
