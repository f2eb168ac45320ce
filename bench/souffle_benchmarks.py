#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Soufflé's own benchmarks (github.com/souffle-lang/benchmarks, fetched aside), on both engines.

Every program that has a generator of facts, in the size that is asked for: wall seconds and memory
of Stratalog and of the program that Soufflé compiles, and whether all outputs are equal. Facts are
made by the benchmarks' own scripts; where there is no ruby, this file makes the random numbers.

    bench/souffle_benchmarks.py --benchmarks CHECKOUT --souffle SOUFFLE --out NAME
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import peers

# Rows of random_fact_generator.rb: NAME ROWS RANGE...
GENERATOR = "--as-fact-generator"


def print_random_facts(name: str, rows: int, ranges: list[int]) -> None:
    """As the benchmarks' ruby script: the name is the seed, though other numbers come of it."""
    numbers = random.Random(name)
    for at in range(0, rows, 4096):
        lines = (
            "\t".join(str(numbers.randrange(max(1, limit))) for limit in ranges)
            for _ in range(min(4096, rows - at))
        )
        sys.stdout.write("\n".join(lines) + "\n")


def with_ruby(scratch: Path) -> dict[str, str]:
    """The environment in which the benchmarks' generators find a ruby, or what stands in for it."""
    if shutil.which("ruby"):
        return dict(os.environ)
    folder = scratch / "ruby"
    folder.mkdir(parents=True, exist_ok=True)
    stand_in = folder / "ruby"
    # Its first argument is the script that it would run.
    stand_in.write_text(
        f'#!/bin/sh\nshift\nexec {sys.executable} {Path(__file__).resolve()} {GENERATOR} "$@"\n'
    )
    stand_in.chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}


def facts_of(program: Path, size: str, scratch: Path) -> Path:
    folder = scratch / size / program.parent.name
    if not folder.exists():
        made = folder.with_suffix(".part")
        made.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["bash", str(program.parent / "gen_facts.sh")],
            cwd=made,
            env=with_ruby(scratch) | {"SIZE": size},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        made.rename(folder)
    return folder / "facts"


def digest(folder: Path) -> dict[str, int]:
    """Of each output, whatever the order of its lines."""
    found = {}
    for file in sorted(folder.iterdir()):
        with file.open("rb") as lines:
            found[file.name] = sum(
                int.from_bytes(hashlib.sha256(line).digest(), "little") for line in lines
            )
    return found


# A process starts with the memory of the one that it was forked from, and that is counted as its
# own: a small one comes between.
STARTER = """
import os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
lost = os.open(os.devnull, os.O_WRONLY)
to = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, lost, 2)]
begin = time.monotonic()
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=to)
_, status, used = os.wait4(pid, 0)
print(time.monotonic() - begin, used.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


def run_small(command: list[str], printed_to: Path, seconds: float) -> tuple[float, int, int]:
    """Seconds, KiB of memory and exit code of a run that is killed once it takes too long."""
    starter = [sys.executable, "-S", "-E", "-c", STARTER, str(printed_to), *command]
    process = subprocess.Popen(starter, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return seconds, 0, -signal.SIGKILL
    wall, kib, code = printed.split()
    return float(wall), int(kib), int(code)


def run_one(command: list[str], output: Path, args: argparse.Namespace) -> dict[str, Any]:
    """The quickest of some runs; one only where it takes long."""
    runs: dict[str, Any] = {}
    for _ in range(args.repeats):
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        # What a program prints is compared as well: some only print sizes.
        printed = output / "printed"
        wall, kib, code = run_small([*command, "-D", str(output)], printed, args.seconds)
        ended = wall >= args.seconds
        if not runs or wall < runs["seconds"]:
            runs |= {"seconds": wall, "mib": kib / 1024, "was_ended": ended}
        runs["failed"] = code != 0 and not ended
        if ended or runs["failed"] or wall > 5:
            break
    if not runs["was_ended"] and not runs["failed"]:
        runs["outputs"] = digest(output)
    return runs


# For one thread it is another program, without locks.
def compiled(program: Path, threads: int, args: argparse.Namespace) -> str:
    if args.compiled:
        return str(args.compiled / f"{program.stem}-j{threads}")
    return str(peers.compile_souffle(args.souffle, program, "btree", threads, args.scratch))


def run_program(program: Path, args: argparse.Namespace) -> dict[str, object]:
    facts = facts_of(program, args.size, args.scratch)
    row: dict[str, object] = {"program": program.stem}
    for threads in args.threads:
        ours = [args.stratalog, "run", str(program), "-F", str(facts), "-q", "-j", str(threads)]
        row[f"ours {threads}"] = run_one(ours, args.scratch / "out" / "ours", args)
        theirs = [compiled(program, threads, args), "-F", str(facts), "-j", str(threads)]
        row[f"souffle {threads}"] = run_one(theirs, args.scratch / "out" / "souffle", args)
    known = [run["outputs"] for run in row.values() if isinstance(run, dict) and "outputs" in run]
    equal = all(outputs == known[0] for outputs in known)
    # Where nobody has put anything out there is nothing to compare.
    says_much = len(known) > 1 and any(any(outputs.values()) for outputs in known)
    row["equal"] = equal if says_much else None
    return row


def cell(run: dict[str, Any], name: str, digits: int) -> str:
    if run["failed"] or (name == "mib" and run["was_ended"]):
        return "failed" if run["failed"] else "-"
    return ("over " if run["was_ended"] else "") + f"{run[name]:.{digits}f}"


def to_markdown(rows: list[dict[str, object]], args: argparse.Namespace) -> str:
    about = peers.machine()
    lines = [
        f"# Soufflé's own benchmarks, size {args.size}, {about['date']}",
        "",
        f"Machine: {about['cpu']}, {about['cores']} cores, {about['system']}; load "
        f"{about['load_at_start']:.1f} at the end. Best of {args.repeats} runs (one where it takes "
        "more than 5 s), wall seconds with loading and output, MiB of memory.",
        "",
        "```",
        " ".join(["bench/souffle_benchmarks.py", *sys.argv[1:]]),
        "```",
        "",
    ]
    heads = ["program"]
    for threads in args.threads:
        heads += [f"ours, {threads} s", f"Soufflé, {threads} s", "ratio", "ours MiB", "Soufflé MiB"]
    lines += [f"| {' | '.join([*heads, 'outputs'])} |", "|---|" + "--:|" * len(heads)]
    for row in rows:
        cells = [str(row["program"])]
        for threads in args.threads:
            ours, theirs = row[f"ours {threads}"], row[f"souffle {threads}"]
            assert isinstance(ours, dict) and isinstance(theirs, dict)
            more = "over " if theirs["was_ended"] else ""
            comparable = not (ours["failed"] or ours["was_ended"] or theirs["failed"])
            ratio = f"{more}{theirs['seconds'] / ours['seconds']:.1f}x" if comparable else "-"
            cells += [cell(ours, "seconds", 2), cell(theirs, "seconds", 2), ratio]
            cells += [cell(ours, "mib", 0), cell(theirs, "mib", 0)]
        equal = row["equal"]
        cells.append("not compared" if equal is None else "equal" if equal else "DIFFER")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--benchmarks", type=Path, required=True, help="a checkout of them")
    parser.add_argument("--souffle", default="souffle", help="a souffle program that compiles")
    parser.add_argument("--compiled", type=Path, help="a folder with NAME-jTHREADS, compiled")
    parser.add_argument("--stratalog", default=str(peers.ROOT / "build" / "stratalog"))
    parser.add_argument("--size", default="small", help="small, medium or large")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="no run takes longer")
    parser.add_argument("--scratch", type=Path, default=peers.ROOT / "build" / "bench" / "souffle")
    parser.add_argument("--out", required=True, help="NAME.json and NAME.md are written")
    args = parser.parse_args()
    args.scratch = args.scratch.resolve()
    args.scratch.mkdir(parents=True, exist_ok=True)
    rows = []
    for generator in sorted((args.benchmarks / "benchmarks").glob("*/gen_facts.sh")):
        for program in sorted(generator.parent.glob("*.dl")):
            if args.only and program.stem not in args.only:
                continue
            print(f"{program.stem}...", file=sys.stderr, flush=True)
            rows.append(run_program(program.resolve(), args))
    for row in rows:
        for run in row.values():
            if isinstance(run, dict):
                run.pop("outputs", None)
    Path(f"{args.out}.json").write_text(json.dumps(rows, indent=1) + "\n")
    Path(f"{args.out}.md").write_text(to_markdown(rows, args))
    return 0 if all(row["equal"] is not False for row in rows) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == [GENERATOR]:
        print_random_facts(sys.argv[2], int(sys.argv[3]), [int(x) for x in sys.argv[4:]])
    else:
        sys.exit(main())
