#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What checkpointing adds to the papers' own runs, and how much it writes.

RA-checkpoint saves the closure of usroads every 400 iterations and that of cz40948 every 1,000,
and its engine needs two iterations for one semi-naive round: every 200 and 500 rounds here. Each
run with checkpoints stands between two runs without, in an order that changes from turn to turn,
and is compared with the mean of these two: what else the machine does comes and goes in seconds.
What a way adds is the median of these ratios, with an interval that holds the true median with at
least 90 % confidence, whatever the noise is like (from the order of the ratios alone). --more adds
turns to those in OUT.json, so that many short sittings make one result. The bytes are compared
with the papers' format: total and delta of the closure and the edges at each of these checkpoints,
as rows of 64-bit numbers. Writes OUT.json and OUT.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import ROOT, SHARED, machine, run_to_end, unpack

NUMBER_BYTES = 8


@dataclass
class PaperCase:
    """A closure, and how often the papers save it."""

    name: str
    facts: str  # graph:NAME, or gen:ARGUMENTS of the generator beside the data sets
    tuples: int
    every: int  # rounds
    rounds: int = 0  # as the first run finds


CASES = [
    PaperCase("usroads", "graph:usroads", 871_365_688, 200),
    PaperCase(
        "cz40948 stand-in",
        "gen:ring n=40948 w=7 deg=10 sink=1 narrow=588 extra=2676 seed=1",
        1_676_697_757,
        500,
    ),
    # Said by name only. No run of the papers that have checkpoints, but another graph of theirs.
    PaperCase("fe_ocean", "graph:fe_ocean", 1_669_750_513, 100),
    # To see that everything works.
    PaperCase(
        "small", "gen:ring n=5108 w=7 deg=10 sink=1 narrow=73 extra=334 seed=1", 26_086_557, 60
    ),
]

WAYS = {
    "none": "no checkpoints",
    "beside": "by rounds, beside the evaluation",
    "pack": "by rounds, packed beside the evaluation, too",
    "held": "by rounds, the evaluation waits",
    "time": "by time, as often, beside the evaluation",
    "time-held": "by time, as often, the evaluation waits",
    "beside-skip": "by rounds, beside, none at the end",
    "held-skip": "by rounds, the evaluation waits, none at the end",
}
CONFIDENCE = 0.9


def prepare(case: PaperCase, scratch: Path) -> Path:
    """The folder with the edges."""
    kind, rest = case.facts.split(":", 1)
    if kind == "graph":
        return unpack(case.facts, scratch)
    folder = scratch / ("gen_" + rest.replace(" ", "_").replace("=", ""))
    if not (folder / "edge.facts").exists():
        folder.mkdir(parents=True, exist_ok=True)
        generator = SHARED / "data" / "tools" / "gen.py"
        with (folder / "edge.tmp").open("wb") as out:
            subprocess.run([sys.executable, str(generator), *rest.split()], stdout=out, check=True)
        (folder / "edge.tmp").rename(folder / "edge.facts")
    return folder


def command_of(
    case: PaperCase, way: str, args: argparse.Namespace, strategy: str, baseline: float
) -> list[str]:
    command = [args.stratalog, "run", str(ROOT / "bench" / "programs" / "tc.dl")]
    command += ["-F", str(prepare(case, args.scratch)), "-q"]
    command += ["--report", str(args.scratch / "report.json")]
    if args.ranks > 1:
        command = [args.mpiexec, "-n", str(args.ranks), *command]
    if strategy == "rounds":
        command.append("--no-pivot")
    if way == "none":
        return command
    every = f"{case.every}it"
    if way.startswith("time"):
        # As many checkpoints as by rounds.
        every = f"{max(0.05, baseline / (case.rounds // case.every + 1)):.2f}s"
    command += ["--checkpoint", str(args.scratch / "checkpoints"), "--every", every]
    if "held" in way:
        command.append("--no-overlap")
    if way == "pack":
        command += ["--overlap", "pack"]
    if way.endswith("skip"):
        command += ["--at-end", "skip"]
    return command


def run_once(command: list[str], case: PaperCase, scratch: Path) -> dict[str, Any]:
    """One run; its times, and what its report says of checkpoints."""
    shutil.rmtree(scratch / "checkpoints", ignore_errors=True)
    os.sync()
    run = run_to_end(command)
    if run.returncode != 0 or f"path\t{case.tuples}" not in run.printed:
        raise SystemExit(f"{' '.join(command)}\nended with {run.returncode}: {run.printed!r}")
    report = json.loads((scratch / "report.json").read_text())
    closure = max(report["strata"], key=lambda s: s["tuples"])
    saved = report["checkpoints"]
    return {
        "wall_seconds": run.wall_seconds,
        "cpu_seconds": run.cpu_seconds,
        "evaluation_seconds": report["seconds"]["total"],
        "rounds": closure["iterations"],
        "new_tuples_per_round": closure["new_tuples_per_round"],
        "edges": min(s["tuples"] for s in report["strata"]),
        "peak_memory_bytes": report["peak_memory_bytes"],
        "checkpoints": len(saved),
        "bytes": sum(s["bytes"] for s in saved),
        "final_bytes": saved[-1]["bytes"] if saved else 0,
        "held_seconds": sum(s["held_seconds"] for s in saved),
        "final_seconds": saved[-1]["held_seconds"] if saved else 0.0,
        # Of the slowest rank at each: what the writing costs a processor, idle or not.
        "packing_seconds": sum(s["pack_seconds"] + s["encode_seconds"] for s in saved),
        "pack_share": report["pack_share_of_checkpoints"],
    }


def plain_bytes(case: PaperCase, new_tuples: list[int], edges: int) -> int:
    """Closure, its delta and the edges at each checkpoint, as pairs of 64-bit numbers."""
    row = 2 * NUMBER_BYTES
    total = 0
    for at in range(case.every, len(new_tuples) + 1, case.every):
        total += (sum(new_tuples[:at]) + new_tuples[at - 1] + edges) * row
    return total


def identity(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["case"], row["strategy"], row["ranks"]


def measure_case(
    case: PaperCase, strategy: str, args: argparse.Namespace, earlier: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The row after each turn. Takes what earlier sittings have measured out of `earlier`."""
    commands: dict[str, list[str]] = {}

    def run(way: str, turn: int, baseline: float) -> dict[str, Any]:
        commands[way] = command_of(case, way, args, strategy, baseline)
        print(f"bench: {case.name}, {strategy}, {WAYS[way]}, {turn}", file=sys.stderr)
        return run_once(commands[way], case, args.scratch)

    # The first run warms the machine and finds out how long one takes; it does not count.
    first = run("none", 0, 0.0)
    case.rounds = first["rounds"]
    row = {
        "case": case.name,
        "strategy": strategy,
        "ranks": args.ranks,
        "tuples": case.tuples,
        "rounds": case.rounds,
        "every_rounds": case.every,
        "plain_bytes": plain_bytes(case, first["new_tuples_per_round"], first["edges"]),
        "baseline_seconds": first["evaluation_seconds"],
        "runs": {},
    }
    for known in earlier:
        if identity(known) == identity(row):
            row = known
            commands.update(known["commands"])
    if row in earlier:
        earlier.remove(row)
    runs: dict[str, list[dict[str, Any]]] = row["runs"]
    for way in args.ways:
        runs.setdefault(way, [])
    done = len(runs["none"])
    for turn in range(args.repeats):
        ways = [way for way in args.ways if way != "none"]
        shift = (done + turn) // 2 % len(ways)
        ways = ways[shift:] + ways[:shift]
        if turn % 2 == 1:
            ways.reverse()
        before = run("none", turn + 1, 0.0)
        runs["none"].append(before)
        for way in ways:
            with_checkpoints = run(way, turn + 1, row["baseline_seconds"])
            after = run("none", turn + 1, 0.0)
            runs["none"].append(after)
            for key in ("wall_seconds", "cpu_seconds"):
                with_checkpoints[f"without_{key}"] = (before[key] + after[key]) / 2
            runs[way].append(with_checkpoints)
            before = after
        for all_runs in runs.values():
            for one in all_runs:
                one.pop("new_tuples_per_round", None)
        row["commands"] = {
            way: neutral(" ".join(command), args).split() for way, command in commands.items()
        }
        yield row


def median(runs: list[dict[str, Any]], key: str) -> float:
    return statistics.median(run[key] for run in runs)


def added(row: dict[str, Any], way: str, key: str) -> list[float]:
    """What the way adds to the runs before and after it, as shares of their mean, ascending."""
    return sorted(run[key] / run[f"without_{key}"] - 1 for run in row["runs"][way])


def interval(ascending: list[float]) -> str:
    """An interval around the median by order statistics; its bounds are measured values."""
    n = len(ascending)
    below = 0.0  # the probability that fewer than `cut` values lie below the true median
    cut = 0
    while cut < n // 2:
        below += math.comb(n, cut) / 2**n
        if 2 * below > 1 - CONFIDENCE:
            break
        cut += 1
    if cut == 0:
        return "too few turns"
    return f"{ascending[cut - 1]:+.1%} to {ascending[n - cut]:+.1%}"


def table(row: dict[str, Any]) -> list[str]:
    lines = [
        f"## {row['case']}, by {row['strategy']}, {row['ranks']} ranks",
        "",
        f"{row['tuples']:,} tuples in {row['rounds']:,} rounds, checkpoints every "
        f"{row['every_rounds']} rounds ({2 * row['every_rounds']:,} of the papers' iterations). As "
        f"the papers write them: {row['plain_bytes'] / 1e9:.2f} GB.",
        "",
        "| checkpoints | turns | wall s | CPU s | added to the wall | added to the CPU | packing "
        "s, % of the wall | number | held up s | last one s, % of it | MB written | MB without "
        "the last one | plain / written | plain / all but the last | peak MiB |",
        "|---|--:|--:|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for way, runs in row["runs"].items():
        wall = median(runs, "wall_seconds")
        cells = [WAYS[way], f"{len(runs)}", f"{wall:.2f}", f"{median(runs, 'cpu_seconds'):.2f}"]
        if way == "none":
            cells += ["-"] * 10
        else:
            ratios = {key: added(row, way, key) for key in ("wall_seconds", "cpu_seconds")}
            last = median(runs, "final_seconds")
            packing = median(runs, "packing_seconds")
            without = median(row["runs"]["none"], "wall_seconds")
            written = median(runs, "bytes")
            before = median([{"b": run["bytes"] - run["final_bytes"]} for run in runs], "b")
            if way.endswith("skip"):  # its last one is like the others
                last, before = 0.0, written
            cells += [
                *(
                    f"**{statistics.median(found):+.1%}** ({interval(found)})"
                    for found in ratios.values()
                ),
                f"{packing:.2f}, {packing / without:.1%}",
                f"{median(runs, 'checkpoints'):.0f}",
                f"{median(runs, 'held_seconds'):.2f}",
                f"{last:.2f}, {last / without:.1%}",
                f"{written / 1e6:.1f}",
                f"{before / 1e6:.1f}",
                f"{row['plain_bytes'] / max(1, written):.1f}",
                f"{row['plain_bytes'] / max(1, before):.1f}",
            ]
        cells.append(f"{median(runs, 'peak_memory_bytes') / 2**20:.0f}")
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "```"]
    lines += [" ".join(command) for command in row["commands"].values()]
    return [*lines, "```", ""]


def to_markdown(rows: list[dict[str, Any]], about: dict[str, Any]) -> str:
    lines = [
        "# Checkpoints in the papers' own runs",
        "",
        f"Machine: {about['cpu']}, {about['cores']} cores, {about['system']}; {about['date']}; "
        f"load at start {about['load_at_start']:.1f}. Mode fpp, durability full. Whole "
        "processes, from the fact file to the printed size; medians. Each run with checkpoints "
        "stands between two without and is compared with their mean; the intervals hold the true "
        f"median with {CONFIDENCE:.0%} confidence. Packing is what walking, hashing and encoding "
        "cost the slowest rank. A run ends by saving its answer, which nothing is left to hide "
        "behind; the papers' runs do not, and neither do the lines with none at the end. Goals: at "
        "most 2 % added with checkpoints beside the evaluation, 6 % without, and a twentieth of "
        "the bytes.",
        "",
    ]
    for row in rows:
        lines += table(row)
    return "\n".join(lines)


def neutral(value: str, args: argparse.Namespace) -> str:
    """Without the folders of this machine."""
    for here, there in (
        (f"{args.scratch}/", ""),
        (args.mpiexec, "mpiexec"),
        (args.stratalog, "stratalog"),
        (f"{ROOT}/", ""),
        (f"{SHARED}/", "../shared/"),
    ):
        value = value.replace(here, there)
    return value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    build = Path(os.environ.get("STRATALOG_BUILD", ROOT / "build"))
    parser.add_argument("--stratalog", default=str(build / "stratalog"))
    parser.add_argument("--mpiexec", default=os.environ.get("MPIEXEC", "mpiexec"))
    parser.add_argument("--scratch", type=Path, default=build / "bench")
    parser.add_argument("--out", type=Path, default=build / "bench" / "papers-run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--more", action="store_true", help="add turns to those in OUT.json")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument(
        "--strategies",
        nargs="+",
        default=["pivot"],
        choices=["pivot", "rounds"],
        help="how the recursion is run; by rounds it takes several times as long",
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        default=[case.name for case in CASES[:2]],
        choices=[case.name for case in CASES],
    )
    args = parser.parse_args()
    if not SHARED.exists():
        print(f"bench: skipped, there are no data sets at {SHARED} (set STRATALOG_SHARED)")
        return 0
    if "none" not in args.ways:
        args.ways = ["none", *args.ways]
    args.scratch.mkdir(parents=True, exist_ok=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    about = machine()
    rows: list[dict[str, Any]] = []
    everything: list[dict[str, Any]] = []
    known = args.out.with_suffix(".json")
    earlier = json.loads(known.read_text())["rows"] if args.more and known.exists() else []
    for case in CASES:
        for strategy in args.strategies if case.name in args.cases else ():
            for row in measure_case(case, strategy, args, earlier):
                everything = [*earlier, *rows, row]
                text = neutral(json.dumps({"machine": about, "rows": everything}, indent=1), args)
                known.write_text(text + "\n")
                args.out.with_suffix(".md").write_text(
                    neutral(to_markdown(everything, about), args)
                )
            rows = [*everything[len(earlier) :]]
    shutil.rmtree(args.scratch / "checkpoints", ignore_errors=True)
    print(neutral(to_markdown([*earlier, *rows], about), args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
