#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Soufflé's own tests through Stratalog at several rank counts, and again killed and resumed.

Needs STRATALOG_SOUFFLE_TESTS, the folder `tests` of a copy of Soufflé's sources, and STRATALOG, the
command; for more than one rank MPIEXEC. Without the first it says so and stops. Every test that
Soufflé's lists call positive runs; its outputs must be the expected ones, in any order of lines.

With --resume each test runs once more with a checkpoint after every round. Then every generation
that it left (at most --most of them, evenly chosen, the first and the last among them) is put into
a folder as a kill at that moment leaves it, with nothing newer, and a new process goes on from it,
on another number of ranks, to the same outputs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GROUPS = ("evaluation", "semantic", "syntactic", "example")
POSITIVE = re.compile(r"^\s*positive_test\s*\(\s*([\w-]+)", re.MULTILINE)
NOT_SUPPORTED = re.compile(r"not supported yet: (.*)")


@dataclass
class Case:
    name: str
    program: Path
    facts: Path
    expected: dict[str, list[str]]


def lines_of(path: Path) -> list[str]:
    return sorted(path.read_text(errors="replace").splitlines())


def cases(tests: Path, pattern: str) -> Iterator[Case]:
    for group in GROUPS:
        for name in POSITIVE.findall((tests / group / "CMakeLists.txt").read_text()):
            folder = tests / group / name
            program = folder / f"{name}.dl"
            if not program.exists() or not re.search(pattern, f"{group}/{name}"):
                continue
            facts = folder / "facts"
            expected = {p.name: lines_of(p) for p in folder.glob("*.csv")}
            yield Case(f"{group}/{name}", program, facts if facts.is_dir() else folder, expected)


class Suite:
    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.counts: Counter[str] = Counter()
        self.resumed = 0  # runs that went on from a generation

    def command(self, ranks: int, *arguments: str | Path) -> tuple[int, str]:
        """Exit code and messages; 124 when it took too long."""
        launcher = [] if ranks == 1 else [self.options.mpiexec, "-n", str(ranks)]
        try:
            result = subprocess.run(
                [*launcher, self.options.stratalog, *arguments],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.options.limit,
                cwd=self.scratch / "out",
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124, f"took more than {self.options.limit:.0f} s"
        return result.returncode, result.stdout + result.stderr

    def fresh_outputs(self) -> Path:
        out = self.scratch / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        return out

    def difference(self, case: Case) -> str:
        """The first output that is not as expected; empty if there is none."""
        for name, lines in sorted(case.expected.items()):
            found = self.scratch / "out" / name
            if not found.exists():
                return f"{name} is missing"
            if lines_of(found) != lines:
                return f"{name} differs"
        return ""

    def judge(self, case: Case, code: int, messages: str) -> str:
        """What is wrong; empty if nothing is."""
        if code == 0:
            return self.difference(case)
        refused = sorted(set(NOT_SUPPORTED.findall(messages)))
        if code == 1 and refused:
            return "refused: " + "; ".join(refused)
        last = messages.strip().splitlines()[-1:] or [""]
        return f"exit code {code}: {last[0][:160]}"

    def run(self, case: Case, ranks: int) -> str:
        out = self.fresh_outputs()
        where = ["-F", case.facts, "-D", out, case.program]
        return self.judge(case, *self.command(ranks, "run", "-q", "--no-progress", *where))

    def run_resumed(self, case: Case) -> str:
        saved = self.scratch / "saved"
        shutil.rmtree(saved, ignore_errors=True)
        out = self.fresh_outputs()
        keeping = ["--checkpoint", saved, "--every", "1it", "--keep", "1000000"]
        where = ["-F", case.facts, "-D", out, case.program]
        first, second = self.options.resume
        problem = self.judge(
            case, *self.command(first, "run", "-q", "--no-progress", *keeping, *where)
        )
        if problem:
            return f"with checkpoints at {first} ranks: {problem}"
        code, listed = self.command(1, "ls", saved, "--json")
        if code != 0:
            return f"ls: exit code {code}: {listed.strip()[-160:]}"
        names = sorted(g["name"] for g in json.loads(listed)["generations"])
        last = len(names) - 1
        most = min(self.options.most, len(names))
        for at in sorted({i * last // max(1, most - 1) for i in range(most)}):
            problem = self.go_on(case, saved, names[: at + 1], second)
            if problem:
                return f"generation {at + 1} of {len(names)} resumed at {second} ranks: {problem}"
        return ""

    def go_on(self, case: Case, saved: Path, left: list[str], ranks: int) -> str:
        killed = self.scratch / "killed"
        shutil.rmtree(killed, ignore_errors=True)
        shutil.copytree(saved, killed)
        for folder in killed.iterdir():
            if folder.is_dir() and folder.name not in left and (saved / folder.name).is_dir():
                shutil.rmtree(folder)
        self.fresh_outputs()
        self.resumed += 1
        return self.judge(case, *self.command(ranks, "resume", "-q", "--no-progress", killed))

    def run_all(self) -> int:
        for case in cases(self.options.tests, self.options.only):
            for ranks in self.options.ranks:
                self.note(case, f"{ranks} ranks", self.run(case, ranks))
            if self.options.resume:
                self.note(case, "resumed", self.run_resumed(case))
        for what in sorted(self.counts):
            print(f"{what}: {self.counts[what]}")
        if self.options.resume:
            first, second = self.options.resume
            print(f"{self.resumed} runs of {first} ranks went on at {second}")
        return 0

    def note(self, case: Case, what: str, problem: str) -> None:
        self.counts[f"{what}, {'as expected' if not problem else 'not'}"] += 1
        if problem:
            print(f"{case.name}\t{what}\t{problem}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 3, 7])
    parser.add_argument(
        "--resume",
        type=int,
        nargs=2,
        metavar=("FIRST", "SECOND"),
        help="kill runs of FIRST ranks at checkpoints and resume them at SECOND",
    )
    parser.add_argument("--most", type=int, default=20, help="generations of a test to go on from")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each run")
    parser.add_argument("--only", default="", help="regular expression for GROUP/NAME")
    options = parser.parse_args()
    tests = os.environ.get("STRATALOG_SOUFFLE_TESTS", "")
    if not tests:
        print("skipped: STRATALOG_SOUFFLE_TESTS does not name Soufflé's tests")
        return 0
    options.tests = Path(tests).absolute()
    options.stratalog = str(Path(os.environ["STRATALOG"]).absolute())
    options.mpiexec = os.environ.get("MPIEXEC", "mpiexec")
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "out").mkdir()
        return Suite(options, Path(scratch)).run_all()


if __name__ == "__main__":
    sys.exit(main())
