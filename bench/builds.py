#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a change has made anything slower: two builds on all programs, in turns.

The programs of `bench/peers.py`, and those of Soufflé's own benchmarks where --benchmarks names a
checkout. Each row is one program with one number of threads: least wall seconds, MiB and the ratio
of both, second build over first; whatever the builds put out must be equal. Ratios beyond --marked
end in a `*`. Writes OUT.md, row by row.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import peers
from souffle_benchmarks import digest, facts_of, run_small


@dataclass
class Task:
    name: str
    program: Path
    facts: Path


@dataclass
class Best:
    """Of some runs of one build."""

    seconds: float = float("inf")
    mib: float = 0
    outputs: dict[str, int] | None = None  # none where one was ended or failed


def tasks(args: argparse.Namespace) -> Iterator[Task]:
    """All that --only and --but leave; facts are made as they are needed."""

    def is_wanted(name: str) -> bool:
        return bool(re.search(args.only, name)) and not (args.but and re.search(args.but, name))

    for case in [*peers.CLOSURES, *peers.OTHERS]:
        if is_wanted(case.name):
            facts = peers.unpack(case.facts, args.scratch)
            yield Task(case.name, peers.program_of(case), facts)
    if args.benchmarks:
        for maker in sorted(args.benchmarks.glob("benchmarks/*/gen_facts.sh")):
            for program in sorted(maker.parent.glob("*.dl")):
                name = f"souffle {program.stem}"
                if is_wanted(name):
                    facts = facts_of(program, args.size, args.scratch / "souffle")
                    yield Task(name, program, facts)


def run_in_turns(task: Task, threads: int, args: argparse.Namespace) -> list[Best]:
    """One Best a build, in their order; one run only where it takes long."""
    best = [Best() for _ in args.build]
    output = args.scratch / "out"
    for turn in range(args.repeats):
        for build, so_far in zip(args.build, best, strict=True):
            if turn > 0 and (so_far.outputs is None or so_far.seconds > args.long):
                continue
            shutil.rmtree(output, ignore_errors=True)
            output.mkdir(parents=True)
            command = [build, "run", str(task.program), "-F", str(task.facts), "-D", str(output)]
            command += ["-q", "-j", str(threads)]
            seconds, kib, code = run_small(command, output / "printed", args.seconds)
            so_far.outputs = digest(output) if code == 0 else None
            so_far.seconds = min(so_far.seconds, seconds)
            so_far.mib = max(so_far.mib, kib / 1024)
    return best


def row(task: Task, threads: int, best: list[Best], marked: float) -> str:
    first, second = best

    def ratio(a: float, b: float) -> str:
        times = b / a if a > 0 else 1
        return f"{times:.2f}{'*' if times > marked or times < 1 / marked else ''}"

    if first.outputs is None or second.outputs is None:
        says = "ended or failed"
    else:
        says = "equal" if first.outputs == second.outputs else "DIFFER"
    cells = [task.name, str(threads), f"{first.seconds:.2f}", f"{second.seconds:.2f}"]
    cells += [ratio(first.seconds, second.seconds), f"{first.mib:.0f}", f"{second.mib:.0f}"]
    return f"| {' | '.join([*cells, ratio(first.mib, second.mib), says])} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", action="append", required=True, help="two: before and after")
    parser.add_argument("--benchmarks", type=Path, help="a checkout of Soufflé's benchmarks")
    parser.add_argument("--size", default="small", help="of those: small, medium or large")
    parser.add_argument("--only", default="", help="programs whose name matches this pattern")
    parser.add_argument("--but", default="", help="none whose name matches this pattern")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="no run takes longer")
    parser.add_argument("--long", type=float, default=5, help="runs of so many seconds once only")
    parser.add_argument("--marked", type=float, default=1.08)
    parser.add_argument("--scratch", type=Path, default=peers.ROOT / "build" / "bench")
    parser.add_argument("--out", type=Path, required=True, help="OUT.md is written")
    args = parser.parse_args()
    if len(args.build) != 2:
        parser.error("--build twice: before and after")
    args.scratch.mkdir(parents=True, exist_ok=True)
    about = peers.machine()
    heads = ["program", "threads", "before s", "after s", "ratio", "before MiB", "after MiB"]
    lines = [
        f"{about['cpu']}, {about['cores']} cores, {about['date']}; {' '.join(sys.argv)}",
        "",
        f"| {' | '.join([*heads, 'ratio', 'outputs'])} |",
        "|---|" + "--:|" * (len(heads) + 1),
    ]
    print("\n".join(lines), flush=True)
    for task in tasks(args):
        for threads in args.threads:
            best = run_in_turns(task, threads, args)
            lines.append(row(task, threads, best, args.marked))
            print(lines[-1], flush=True)
            args.out.with_suffix(".md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
