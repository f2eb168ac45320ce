#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How quickly text facts become relations: MB of text a second, and whether that depends on size.

Pairs of numbers in random and in ascending order, 64-bit numbers, symbols of few and of many
different texts, and gzip, each in files that double in size. The time is that of the whole
process less that of the same program on an empty file, so it includes sorting the tuples into
their index. Medians of --repeats runs in turns. Writes OUT.json and OUT.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import warm_memory
from peers import ROOT, machine

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
    text = "".join(lines(rows)).encode()
    if is_packed:
        (folder / "r.facts.gz").write_bytes(gzip.compress(text, 1))
    else:
        (folder / "r.facts").write_bytes(text)
    return len(text)


def seconds(program: Path, folder: Path, threads: int) -> float:
    command = [str(program), "run", str(folder / "load.dl"), "-F", str(folder), "-q"]
    warm_memory.warm(1 << 30)
    begin = time.perf_counter()
    subprocess.run([*command, "-j", str(threads)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "stratalog")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 2_000_000, 4_000_000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True, help="OUT.json and OUT.md")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as name:
        cases = []
        for kind in KINDS:
            for rows in [0, *options.rows]:
                folder = Path(name) / f"{kind}-{rows}".replace(" ", "_")
                cases.append((kind, rows, folder, prepare(folder, kind, rows)))
        times: dict[tuple[str, int, int], list[float]] = {}
        for _ in range(options.repeats):
            for kind, rows, folder, _size in cases:
                for threads in options.threads:
                    taken = seconds(options.program, folder, threads)
                    times.setdefault((kind, rows, threads), []).append(taken)
        for kind, rows, _folder, size in cases:
            for threads in options.threads:
                start = statistics.median(times[kind, 0, threads])
                taken = statistics.median(times[kind, rows, threads]) - start
                if rows:
                    rate = size / 1e6 / taken
                    found.append((kind, rows, size, threads, taken, rate))
    document = {
        "machine": machine(),
        "command": sys.argv,
        "rows": [
            dict(
                zip(
                    ("kind", "rows", "bytes", "threads", "seconds", "mb_per_second"),
                    row,
                    strict=True,
                )
            )
            for row in found
        ],
    }
    options.out.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    table = ["| facts | rows | MB | threads | s | MB/s |", "|---|--:|--:|--:|--:|--:|"]
    table += [
        f"| {kind} | {rows:,} | {size / 1e6:.0f} | {threads} | {taken:.3f} | {rate:.0f} |"
        for kind, rows, size, threads, taken, rate in found
    ]
    text = "# Loading text facts\n\n" + f"Machine: {machine()}\n\n" + "\n".join(table) + "\n"
    options.out.with_suffix(".md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
