#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs with rich features through Soufflé and through Stratalog, and random programs
that only Stratalog takes against their least fixpoints, on ranks and threads.

The first kind (`rich`, rich_programs.py) has records, lists, algebraic types, eqrel, subsumption,
choices, nested aggregates, strings, inline relations and components. It needs STRATALOG_SOUFFLE, a
souffle command built for 64 bits; without, it says so and is left out. Where answers are not unique
(choices), what a choice promises is checked instead: tuples of the candidates only, no key twice,
nothing more that could be chosen. The second kind (`growing`, tests/cli/growing_programs.py) has
lattices and aggregates in recursion, also with facts that are added later.

STRATALOG is the command, MPIEXEC starts ranks. Programs that Soufflé refuses or that take too long
there are counted by reason; every difference is kept in a folder of its own. The log has one line
for each program that was not equal, and a summary; SIGTERM and SIGINT end it with both.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from against_souffle import last_line, run
from rich_programs import Choice, RichProgram, rich_program

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from growing_programs import growing_program
from growing_rules import least_fixpoint
from growing_runs import difference, write_facts, write_portions

Rows = list[list[str]]


def lines_of(path: Path) -> list[bytes]:
    return sorted(path.read_bytes().splitlines()) if path.exists() else [b"(missing)"]


def fields_of(folder: Path, name: str) -> Rows:
    text = (folder / f"{name}.csv").read_text(errors="surrogateescape")
    return [line.split("\t") for line in text.splitlines()]


def choice_problem(choice: Choice, folder: Path) -> str:
    """What is wrong with the tuples that were chosen; empty if nothing is."""
    chosen = fields_of(folder, choice.relation)
    candidates = fields_of(folder, choice.candidates)
    if choice.step:
        reached = {y for _, y in chosen}
        steps = [row for row in fields_of(folder, choice.step) if row[0] in reached]
        candidates = candidates + steps
    if any(row not in candidates for row in chosen):
        return f"{choice.relation} has a tuple that nothing derives"
    for key in choice.keys:
        if len({tuple(row[i] for i in key) for row in chosen}) != len(chosen):
            return f"{choice.relation} has a key twice"
    taken = [{tuple(row[i] for i in key) for row in chosen} for key in choice.keys]
    for row in candidates:
        keys = (tuple(row[i] for i in key) for key in choice.keys)
        if not any(key in known for key, known in zip(keys, taken, strict=True)):
            return f"{choice.relation} lacks a tuple that agrees with none of it: {row}"
    return ""


class Campaign:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.counts: Counter[str] = Counter()
        self.features: Counter[str] = Counter()
        self.log: list[str] = []

    def ways(self) -> Iterator[tuple[str, list[str]]]:
        """Names of the ways to run, and their commands up to the arguments of `run`."""
        for ranks in self.options.ranks:
            launcher = [] if ranks == 1 else [self.options.mpiexec, "-n", str(ranks)]
            yield f"{ranks} ranks", [*launcher, self.options.stratalog]
        for threads in self.options.threads:
            yield f"{threads} threads", [self.options.stratalog, f"-j{threads}"]

    def start(self, command: list[str], *arguments: str | Path) -> tuple[int, str]:
        """`command` ends in the program, or in the option -j that belongs to `run`."""
        extra = [command.pop()] if command[-1].startswith("-j") else []
        whole = [*command, str(arguments[0]), "-q", *extra, *map(str, arguments[1:])]
        return run(whole, self.options.limit)

    def rich(self, seed: int, folder: Path) -> None:
        program = rich_program(seed)
        facts = folder / "facts"
        facts.mkdir()
        for name, text in program.fact_files.items():
            (facts / name).write_text(text)
        file = folder / "program.dl"
        file.write_text(program.text)
        theirs = folder / "souffle"
        theirs.mkdir()
        where = ("-F", facts, file)
        code, messages = run(
            [self.options.souffle, "-w", "-D", str(theirs), *map(str, where)], self.options.limit
        )
        if code != 0:
            said = next((x for x in messages.splitlines() if "rror" in x), last_line(messages))
            self.note(
                folder, "refused by Soufflé" if code != 124 else "slow in Soufflé", said[:160]
            )
            return
        unsure = {f"{choice.relation}.csv" for choice in program.choices}
        expected = {p.name: lines_of(p) for p in theirs.glob("*.csv") if p.name not in unsure}
        for name, command in self.ways():
            ours = folder / name.replace(" ", "")
            code, messages = self.start(command, "run", "-D", ours, *where)
            if code != 0:
                self.note(folder, f"failed at {name}", last_line(messages))
                return
            problem = self.rich_problem(program, expected, ours)
            if problem:
                self.note(folder, f"differs at {name}", problem)
                return
        self.counts["rich programs equal"] += 1
        self.features.update(program.features)

    @staticmethod
    def rich_problem(program: RichProgram, expected: dict[str, list[bytes]], ours: Path) -> str:
        for name, lines in sorted(expected.items()):
            if lines_of(ours / name) != lines:
                return name
        problems = (choice_problem(choice, ours) for choice in program.choices)
        return next(filter(None, problems), "")

    def growing(self, seed: int, folder: Path) -> None:
        program = growing_program(seed)
        file = folder / "program.dl"
        file.write_text(program.text())
        expected = least_fixpoint(program)
        write_facts(program.facts, folder / "facts")
        write_portions(program.facts, seed, folder / "first", folder / "later")
        for name, command in self.ways():
            ours, added = folder / name.replace(" ", ""), folder / f"added{name.replace(' ', '')}"
            kept = folder / f"kept{name.replace(' ', '')}"
            runs = (
                (ours, ("run", "-D", ours, "-F", folder / "facts", file)),
                (None, ("run", "-D", added, "-F", folder / "first", "--checkpoint", kept, file)),
                (added, ("resume", kept, "--add-facts", folder / "later")),
            )
            for out, arguments in runs:
                code, messages = self.start(list(command), *arguments)
                if code == 1 and "facts cannot be added" in messages:
                    self.counts["of these without added facts, as refused"] += name == "1 ranks"
                    continue
                if code != 0:
                    self.note(folder, f"{arguments[0]} failed at {name}", last_line(messages))
                    return
                problem = difference(program, expected, out) if out else ""
                if problem:
                    self.note(folder, f"{arguments[0]} differs at {name}", problem)
                    return
        self.counts["growing programs equal"] += 1

    def note(self, folder: Path, what: str, detail: str) -> None:
        self.counts[what] += 1
        self.log.append(f"{folder.name}\t{what}\t{detail}")
        if what.startswith("refused"):
            self.counts[what] -= 1
            self.counts[f"{what}: {reason_of(detail)}"] += 1
        if not what.startswith(("refused", "slow")):
            shutil.copytree(folder, self.options.keep / folder.name, dirs_exist_ok=True)

    def stop_early(self, *_: object) -> None:
        self.options.seconds = 0

    def run(self) -> int:
        for ending in (signal.SIGTERM, signal.SIGINT):
            signal.signal(ending, self.stop_early)
        start = time.monotonic()
        seed, end = self.options.first, self.options.first + self.options.count
        while seed < end and time.monotonic() - start < self.options.seconds:
            with tempfile.TemporaryDirectory() as scratch:
                for kind in self.options.kinds:
                    folder = Path(scratch) / f"{kind}{seed}"
                    folder.mkdir()
                    (self.rich if kind == "rich" else self.growing)(seed, folder)
            seed += 1
        for line in self.log:
            print(line)
        if self.features:
            counted = (f"{name} {count}" for name, count in sorted(self.features.items()))
            print("programs with " + ", ".join(counted))
        summary = "; ".join(
            f"{count} {what}" for what, count in sorted(self.counts.items()) if count
        )
        where = ", ".join(name for name, _ in self.ways())
        print(f"seeds {self.options.first} to {seed - 1} at {where}: {summary}")
        return 0 if not any(" at " in what and n for what, n in self.counts.items()) else 1


def reason_of(message: str) -> str:
    """Without names and places."""
    words = message.split(" in file")[0].split()
    return " ".join(word for word in words if not any(c.isdigit() for c in word))[:60]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--kinds", nargs="+", choices=("rich", "growing"), default=["rich", "growing"]
    )
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many programs of each kind")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many seconds")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each run")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--threads", type=int, nargs="*", default=[2])
    parser.add_argument("--keep", type=Path, default=Path("differences"), help="where they go")
    options = parser.parse_args()
    options.souffle = os.environ.get("STRATALOG_SOUFFLE", "")
    if not options.souffle and "rich" in options.kinds:
        print("skipped rich programs: STRATALOG_SOUFFLE does not name a souffle command")
        options.kinds.remove("rich")
    options.stratalog = os.environ["STRATALOG"]
    options.mpiexec = os.environ.get("MPIEXEC", "mpiexec")
    return Campaign(options).run()


if __name__ == "__main__":
    sys.exit(main())
