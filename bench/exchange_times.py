#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times runs by rounds with exchanges beside joining against exchanges after it, in turns.

Processes of MPI, each turn one run of each kind, in an order that alternates; whole evaluation in
seconds as the report says, sizes checked. A network can be put between the ranks of one machine by
a launcher in front of mpiexec (`--launch`), for example a network namespace whose loopback is held
to a rate, with MPI told to use sockets by its environment variables.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import peers

KINDS = ("after", "beside")
CASES = (
    "sg cti",
    "cspa povray",
    "cspa x264",
    "andersen_c hmmer",
    "javapt 260",
    "galen_el",
    "galen_pq",
)


def run(args: argparse.Namespace, case: peers.Case, facts: Path, kind: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as out:
        report = Path(out) / "report.json"
        program = peers.SHARED / "data" / "rules" / f"{case.program}.dl"
        command = [
            *shlex.split(args.launch),
            *("mpiexec", "-n", str(args.ranks), args.stratalog, "run", str(program)),
            *("-F", str(facts), "-D", out, "--exchange", kind, "--report", str(report), "-q"),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**peers.THROTTLE, **os.environ}
        )
        if done.returncode != 0:
            sys.exit(f"{shlex.join(command)} ended with {done.returncode}: {done.stderr}")
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        sizes = {line[0]: int(line[1]) for line in lines if len(line) == 2}
        for name, size in case.sizes.items():
            if sizes.get(name) != size:
                sys.exit(f"{case.name}: {name} has {sizes.get(name)} tuples, {size} are right")
        found = json.loads(report.read_text())
        if found["exchange"] != kind:
            sys.exit(f"this group of ranks cannot exchange {kind} joining")
        return {
            "seconds": found["seconds"]["total"] - found["seconds"]["load"],
            "megabytes": sum(s["exchanged_bytes"] for s in found["strata"]) / 1e6,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stratalog", default=str(peers.ROOT / "build" / "stratalog"))
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "exchange")
    parser.add_argument("--launch", default="", help="what stands in front of mpiexec")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name holds it")
    args = parser.parse_args()
    print("| case | MB sent | after (s) | beside (s) | ratio of turns: median (all) |")
    print("|---|--:|--:|--:|---|")
    for case in peers.OTHERS:
        if case.name not in CASES or args.only not in case.name:
            continue
        facts = peers.unpack(case.facts, args.scratch)
        seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        megabytes = 0.0
        for turn in range(args.turns):
            for kind in KINDS if turn % 2 == 0 else KINDS[::-1]:
                found = run(args, case, facts, kind)
                seconds[kind].append(found["seconds"])
                megabytes = found["megabytes"]
        ratios = [b / a for a, b in zip(*(seconds[kind] for kind in KINDS), strict=True)]
        medians = [statistics.median(seconds[kind]) for kind in KINDS]
        all_ratios = " ".join(f"{ratio:.2f}" for ratio in ratios)
        print(
            f"| {case.name} | {megabytes:.0f} | {medians[0]:.2f} | {medians[1]:.2f} "
            f"| {statistics.median(ratios):.2f} ({all_ratios}) |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
