#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All goals of checkpoint I/O in one run and one table: what was to be shown, what was measured, at
which durability, and whether it is met, missed and by how much, or was not run and why.

    bench/goals_checkpoint.py --quick                     # a minute or two: small sizes, stand-ins
    bench/goals_checkpoint.py --out bench/results/DATE-goals-checkpoint

Points: 1 bandwidth against bare writes and between the HDF5 modes; 2 sorted streams; 3 the papers'
own runs; 4 packing; 5 restart on 1, 2, 3, 4 and 7 ranks; 6 the protocol; 7 crash states; 8 other
readers. Writes OUT.json and OUT.md, after each point. What breaks or is not there is a row "not
run" with the reason; the exit code says nothing of verdicts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from peers import ROOT, SHARED, machine

sys.path.insert(0, str(ROOT / "python"))

from checkpoint_goals import crashes, papers, readers, saving, streams
from checkpoint_goals.setting import CannotRunError, Setting
from checkpoint_goals.verdicts import Row, counted, not_run, table

Measure = Callable[[Setting], list[Row]]


def _saves(setting: Setting) -> list[Row]:
    """Points 1, 4 and 6 look at the same saves."""
    results = saving.run_saves(setting)
    return [
        *saving.judge_bandwidth(results),
        *saving.judge_packing(results),
        *saving.judge_protocol(results),
    ]


def _restarts(setting: Setting) -> list[Row]:
    return saving.judge_restarts(saving.run_restarts(setting))


def _papers(setting: Setting) -> list[Row]:
    note = "quick: a small stand-in, not the papers' runs" if setting.is_quick else ""
    return papers.judge_papers(papers.run_papers(setting), note)


MEASURES: tuple[tuple[tuple[int, ...], str, Measure], ...] = (
    ((1, 4, 6), "bandwidth, packing and protocol of saves", _saves),
    ((2,), "sorted streams", streams.all_rows),
    ((3,), "the papers' own runs", _papers),
    ((5,), "restart on other rank counts", _restarts),
    ((7,), "crash states", crashes.all_rows),
    ((8,), "other readers", readers.all_rows),
)
POINTS = tuple(sorted(point for points, _, _ in MEASURES for point in points))


def version_of(setting: Setting) -> str:
    said = subprocess.run(
        [setting.stratalog, "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return f"{said}, commit {commit}" if commit else said


def measure(points: set[int], setting: Setting) -> Iterator[list[Row]]:
    """All rows so far, after each measurement; points that are not asked for are rows as well."""
    rows: list[Row] = []
    for covered, what, run in MEASURES:
        if points & set(covered):
            print(f"bench: {what}", file=sys.stderr)
        else:
            rows += [not_run(str(point), what, "not asked for (--points)") for point in covered]
            continue
        try:
            found = run(setting)
        except CannotRunError as why:
            found = [not_run(str(point), what, str(why)) for point in covered]
        # What is measured with a point that is asked for is not judged.
        rows += [row for row in found if row.number in points]
        rows += [
            not_run(str(point), what, "not asked for (--points)")
            for point in covered
            if point not in points
        ]
        yield sorted(rows, key=lambda row: row.number)


def to_markdown(rows: list[Row], about: dict[str, Any]) -> str:
    mode = (
        "**Quick mode**: small sizes and stand-ins, few repeats; it shows that everything runs, "
        "and its verdicts are about these sizes."
        if about["quick"]
        else "Sizes and repeats as the goals name them."
    )
    lines = [
        "# The goals of checkpoint I/O, in one run",
        "",
        f"Machine: {about['cpu']}, {about['cores']} cores, {about['system']}; {about['date']}; "
        f"load {about['load_at_start']:.1f} at the start, {about['load_at_end']:.1f} at the end; "
        f"{about['seconds']:.0f} s. {about['version']}. {about['note']}".rstrip(),
        "",
        f"{mode} A goal holds for every number of its row, so the worst one decides. "
        f"{counted(rows)}.",
        "",
        *table(rows),
        "",
        "```",
        about["command"],
        "```",
        "",
        "which has run",
        "",
        "```",
        *about["commands"],
        "```",
        "",
    ]
    return "\n".join(lines)


def parse_points(text: str) -> set[int]:
    points = {int(word) for word in text.split(",") if word.strip().isdigit()}
    if not points or not points <= set(POINTS):
        raise argparse.ArgumentTypeError(f"points are of {', '.join(map(str, POINTS))}")
    return points


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    build = Path(os.environ.get("STRATALOG_BUILD", ROOT / "build"))
    stratalog = os.environ.get("STRATALOG", str(build / "stratalog"))
    parser.add_argument("--quick", action="store_true", help="a minute or two")
    parser.add_argument("--points", type=parse_points, default=set(POINTS), metavar="N,...")
    parser.add_argument("--stratalog", default=stratalog)
    parser.add_argument("--mpiexec", default=os.environ.get("MPIEXEC", "mpiexec"))
    parser.add_argument("--build", type=Path, default=build, help="where the test programs are")
    parser.add_argument("--scratch", type=Path, help="default: BUILD/bench/goals")
    parser.add_argument("--out", type=Path, help="default: BUILD/bench/goals-checkpoint")
    parser.add_argument("--note", default="", help="what else the machine did, for the page")
    args = parser.parse_args(words)
    args.scratch = args.scratch or args.build / "bench" / "goals"
    args.out = args.out or args.build / "bench" / "goals-checkpoint"
    return args


def main(words: list[str]) -> int:
    args = parse(words)
    setting = Setting(
        build=args.build.resolve(),
        stratalog=str(Path(args.stratalog).resolve()),
        mpiexec=args.mpiexec,
        shared=SHARED.resolve(),
        scratch=args.scratch.resolve(),
        out=args.out.resolve(),
        is_quick=args.quick,
    )
    setting.scratch.mkdir(parents=True, exist_ok=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    about: dict[str, Any] = {
        **machine(),
        "quick": args.quick,
        "note": args.note,
        "version": version_of(setting),
        "command": setting.neutral(" ".join(["bench/goals_checkpoint.py", *words])),
    }
    markdown = ""
    for rows in measure(args.points, setting):
        about |= {
            "seconds": round(time.monotonic() - start, 1),
            "load_at_end": os.getloadavg()[0],
            "commands": setting.commands,
        }
        content = {"about": about, "rows": [asdict(row) for row in rows]}
        text = setting.neutral(json.dumps(content, indent=1, ensure_ascii=False))
        args.out.with_suffix(".json").write_text(text + "\n")
        markdown = setting.neutral(to_markdown(rows, about))
        args.out.with_suffix(".md").write_text(markdown)
    shutil.rmtree(setting.scratch, ignore_errors=True)
    print(markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
