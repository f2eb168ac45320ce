#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs through Soufflé and through Stratalog at several rank counts, compared.

Needs STRATALOG_SOUFFLE (the souffle command), STRATALOG (the command), WRITE_PROGRAMS (what the
target write_programs builds) and, for more than one rank, MPIEXEC. Without STRATALOG_SOUFFLE it
says so and stops. Programs that Soufflé refuses or that take too long are counted and left out;
every difference is kept in a folder of its own. The log has one line per program that was not
equal, and a summary; SIGTERM and SIGINT end it with both after the programs at hand.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path


def run(command: list[str], limit: float) -> tuple[int, str]:
    """Exit code and messages; 124 when it took too long."""
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",  # messages quote what programs hold
            timeout=limit,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, "took too long"
    return result.returncode, result.stdout + result.stderr


def outputs(folder: Path) -> dict[str, list[str]]:
    return {path.name: sorted(path.read_text().splitlines()) for path in folder.glob("*.csv")}


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else ""


class Campaign:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.counts: Counter[str] = Counter()
        self.log: list[str] = []

    def compare(self, folder: Path) -> None:
        program = folder / "program.dl"
        theirs = folder / "souffle"
        theirs.mkdir()
        where = ["-F", str(folder / "facts"), str(program)]
        code, messages = run([self.options.souffle, "-w", "-D", str(theirs), *where], 20)
        if code != 0:
            reason = next((x for x in messages.splitlines() if "rror" in x), last_line(messages))
            self.note(folder, "refused by Soufflé", reason[:160])
            return
        expected = outputs(theirs)
        for ranks in self.options.ranks:
            ours = folder / f"ours{ranks}"
            launcher = [] if ranks == 1 else [self.options.mpiexec, "-n", str(ranks)]
            command = [*launcher, self.options.stratalog, "run", "-q", "--no-progress"]
            code, messages = run([*command, "-D", str(ours), *where], 60)
            if code != 0:
                self.note(folder, f"failed at {ranks} ranks", last_line(messages))
                return
            found = outputs(ours)
            for name in sorted(expected):
                if expected[name] == found.get(name):
                    continue
                self.note(folder, f"differs at {ranks} ranks", name)
                return
        self.counts["equal"] += 1

    def note(self, folder: Path, what: str, detail: str) -> None:
        self.counts[what] += 1
        self.log.append(f"{folder.name}\t{what}\t{detail}")
        if not what.startswith("refused"):
            shutil.copytree(folder, self.options.keep / folder.name, dirs_exist_ok=True)

    def stop_early(self, *_: object) -> None:
        self.options.seconds = 0

    def run(self) -> int:
        start = time.monotonic()
        seed = self.options.first
        end = seed + self.options.count
        for ending in (signal.SIGTERM, signal.SIGINT):
            signal.signal(ending, self.stop_early)
        while seed < end and time.monotonic() - start < self.options.seconds:
            many = min(50, end - seed)
            with tempfile.TemporaryDirectory() as scratch:
                code, messages = run(
                    [self.options.write_programs, scratch, str(seed), str(many)], 60
                )
                if code != 0:
                    print(messages, file=sys.stderr)
                    return 1
                for s in range(seed, seed + many):
                    self.compare(Path(scratch) / str(s))
            seed += many
        for line in self.log:
            print(line)
        ranks = ", ".join(map(str, self.options.ranks))
        summary = "; ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        print(f"seeds {self.options.first} to {seed - 1} at {ranks} ranks: {summary}")
        return 0 if all(k == "equal" or k.startswith("refused") for k in self.counts) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many seconds")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--keep", type=Path, default=Path("differences"), help="where they go")
    options = parser.parse_args()
    options.souffle = os.environ.get("STRATALOG_SOUFFLE", "")
    if not options.souffle:
        print("skipped: STRATALOG_SOUFFLE does not name a souffle command")
        return 0
    options.stratalog = os.environ["STRATALOG"]
    options.write_programs = os.environ["WRITE_PROGRAMS"]
    options.mpiexec = os.environ.get("MPIEXEC", "mpiexec")
    return Campaign(options).run()


if __name__ == "__main__":
    sys.exit(main())
