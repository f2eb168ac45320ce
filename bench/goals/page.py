# SPDX-License-Identifier: Apache-2.0
"""All goals of one subject in one run and one table: measured and written point by point."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from peers import SHARED, machine

from goals.setting import ROOT, CannotRunError, Setting
from goals.verdicts import Row, counted, not_run, table

Measure = Callable[[Setting], list[Row]]
# The points that one measurement covers, what it is, and how.
Measures = tuple[tuple[tuple[int, ...], str, Measure], ...]


@dataclass(frozen=True)
class Subject:
    """What the goals are of."""

    title: str
    script: str  # bench/SCRIPT.py
    out: str  # name of the page in the build folder
    measures: Measures

    @property
    def points(self) -> tuple[int, ...]:
        return tuple(sorted(point for points, _, _ in self.measures for point in points))


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


def measure(subject: Subject, points: set[int], setting: Setting) -> Iterator[list[Row]]:
    """All rows so far, after each measurement; points that are not asked for are rows as well."""
    rows: list[Row] = []
    for covered, what, run in subject.measures:
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


def to_markdown(subject: Subject, rows: list[Row], about: dict[str, Any]) -> str:
    mode = (
        "**Quick mode**: small sizes and stand-ins, few repeats; it shows that everything runs, "
        "and its verdicts are about these sizes."
        if about["quick"]
        else "Sizes and repeats as the goals name them."
    )
    lines = [
        f"# {subject.title}",
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


def parser_of(subject: Subject) -> argparse.ArgumentParser:
    def points_of(text: str) -> set[int]:
        points = {int(word) for word in text.split(",") if word.strip().isdigit()}
        if not points or not points <= set(subject.points):
            known = ", ".join(map(str, subject.points))
            raise argparse.ArgumentTypeError(f"points are of {known}")
        return points

    parser = argparse.ArgumentParser(description=subject.title)
    build = Path(os.environ.get("STRATALOG_BUILD", ROOT / "build"))
    stratalog = os.environ.get("STRATALOG", str(build / "stratalog"))
    parser.add_argument("--quick", action="store_true", help="a minute or two")
    parser.add_argument("--points", type=points_of, default=set(subject.points), metavar="N,...")
    parser.add_argument("--stratalog", default=stratalog)
    parser.add_argument("--mpiexec", default=os.environ.get("MPIEXEC", "mpiexec"))
    parser.add_argument("--build", type=Path, default=build, help="where the test programs are")
    parser.add_argument(
        "--scratch", type=Path, help="default: BUILD/bench/goals; kept if it was there"
    )
    parser.add_argument("--out", type=Path, help=f"default: BUILD/bench/{subject.out}")
    parser.add_argument("--note", default="", help="what else the machine did, for the page")
    return parser


def run(subject: Subject, words: list[str], parser: argparse.ArgumentParser | None = None) -> int:
    """`parser`: parser_of(subject), perhaps with options of its own."""
    args = (parser or parser_of(subject)).parse_args(words)
    # What was there is somebody's.
    is_scratch_ours = args.scratch is None or not args.scratch.exists()
    args.scratch = args.scratch or args.build / "bench" / "goals"
    args.out = args.out or args.build / "bench" / subject.out
    setting = Setting(
        build=args.build.resolve(),
        stratalog=str(Path(args.stratalog).resolve()),
        mpiexec=args.mpiexec,
        shared=SHARED.resolve(),
        scratch=args.scratch.resolve(),
        out=args.out.resolve(),
        is_quick=args.quick,
        options=vars(args),
    )
    setting.scratch.mkdir(parents=True, exist_ok=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    about: dict[str, Any] = {
        **machine(),
        "quick": args.quick,
        "note": args.note,
        "version": version_of(setting),
        "command": setting.neutral(" ".join([subject.script, *words])),
    }
    markdown = ""
    for rows in measure(subject, args.points, setting):
        about |= {
            "seconds": round(time.monotonic() - start, 1),
            "load_at_end": os.getloadavg()[0],
            "commands": setting.commands,
        }
        content = {"about": about, "rows": [asdict(row) for row in rows]}
        text = setting.neutral(json.dumps(content, indent=1, ensure_ascii=False))
        args.out.with_suffix(".json").write_text(text + "\n")
        markdown = setting.neutral(to_markdown(subject, rows, about))
        args.out.with_suffix(".md").write_text(markdown)
    if is_scratch_ours:
        shutil.rmtree(setting.scratch, ignore_errors=True)
    print(markdown)
    return 0
