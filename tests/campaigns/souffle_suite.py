#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Soufflé's own tests through Stratalog at several rank counts, and again killed and resumed.

Needs STRATALOG_SOUFFLE_TESTS, the folder `tests` of a copy of Soufflé's sources, and STRATALOG, the
command; for more than one rank MPIEXEC. Without the first it says so and stops. All tests run that
Soufflé's lists name for its interpreter: the outputs of positive ones must be the expected ones, in
any order of lines, and negative ones must be refused. Libraries of functors are compiled with CXX
(c++) for 64 bits, against Soufflé's headers.

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

GROUPS = ("evaluation", "semantic", "syntactic", "example", "interface")
CALL = re.compile(r"^\s*(\w+)\s*\(([^()]*)\)", re.MULTILINE)
NEVER = re.compile(r"^if \(FALSE\)$.*?^endif ?\(\)$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"#.*")
NOT_SUPPORTED = re.compile(r"not supported yet: (.*)")


@dataclass
class Case:
    name: str
    program: Path
    facts: Path
    expected: dict[str, list[str]]
    is_refused: bool = False  # by Soufflé
    library: Path | None = None  # the source of its functors
    include: tuple[Path, ...] = ()
    json: tuple[str, ...] = ()  # of the expected outputs, those that are documents


def lines_of(path: Path) -> list[str]:
    return sorted(path.read_text(errors="replace").splitlines())


def documents_of(path: Path) -> list[str]:
    """The items of a JSON document, in any order."""
    items = json.loads(path.read_text())
    return sorted(json.dumps(item) for item in items)


def words_after(keyword: str, words: list[str]) -> list[str]:
    """The values of a keyword of CMake, up to the next one."""
    if keyword not in words:
        return []
    rest = words[words.index(keyword) + 1 :]
    return rest[: next((i for i, word in enumerate(rest) if re.fullmatch("[A-Z_]+", word)), None)]


def registered(text: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Name, all words and folders of facts of each test that a CMakeLists.txt adds."""
    for match in CALL.finditer(COMMENT.sub("", NEVER.sub("", text))):
        macro, words = match[1].lower(), match[2].split()
        if macro == "souffle_positive_cpp_test" or not macro.endswith("_test") or not words:
            continue  # drivers in C++ need Soufflé's compiled programs
        name = next(iter(words_after("TEST_NAME", words)), words[0])
        if "$" in name:
            continue  # the definition of a macro
        if macro.startswith("negative"):
            words.append("NEGATIVE")
        if "functor" in macro:
            words.append("FUNCTORS")
        yield name, words, words_after("FACTS_DIR_NAMES", words) or [""]


def cases(tests: Path, pattern: str) -> Iterator[Case]:
    for group in GROUPS:
        for name, words, kinds in registered((tests / group / "CMakeLists.txt").read_text()):
            folder = tests / group / name
            for kind in kinds:
                label = "/".join(filter(None, (group, name, kind)))
                program = folder / f"{name}.dl"
                if not program.exists() or not re.search(pattern, label):
                    continue
                results = folder / kind
                facts = results if kind else folder / "facts"
                documents = sorted(results.glob("*.json")) if "EXTRA_DATA" in words else []
                outputs = [*results.glob("*.csv"), *documents]
                yield Case(
                    label,
                    program,
                    facts if facts.is_dir() else folder,
                    {p.name: lines_of(p) for p in outputs},
                    is_refused="NEGATIVE" in words,
                    library=folder / "functors.cpp" if "FUNCTORS" in words else None,
                    include=tuple(folder / q for q in words_after("INCLUDE_DIRS", words)),
                    json=tuple(p.name for p in documents),
                )


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
            if name in case.json:
                theirs = case.program.parent / name
                if documents_of(found) != documents_of(theirs):
                    return f"{name} differs"
            elif lines_of(found) != lines:
                return f"{name} differs"
        return ""

    def judge(self, case: Case, code: int, messages: str) -> str:
        """What is wrong; empty if nothing is."""
        if case.is_refused:
            if code == 0:
                return "accepted, and refused by Soufflé"
            return "" if code in (1, 2) else f"exit code {code} where the program is refused"
        if code == 0:
            return self.difference(case)
        refused = sorted(set(NOT_SUPPORTED.findall(messages)))
        if code == 1 and refused:
            return "refused: " + "; ".join(refused)
        lines = messages.strip().splitlines() or [""]
        said = next((line for line in lines if ": error: " in line), lines[-1])
        return f"exit code {code}: {said.replace(f'{self.options.tests}/', '')[:200]}"

    def where(self, case: Case, out: Path) -> list[str | Path]:
        libraries = [] if case.library is None else ["-L", self.library_of(case.library)]
        folders = [word for folder in case.include for word in ("-I", folder)]
        return [*libraries, *folders, "-F", case.facts, "-D", out, case.program]

    def library_of(self, source: Path) -> Path:
        """A folder with the functors of a test, compiled as Soufflé compiles them for 64 bits."""
        folder = self.scratch / "libraries" / source.parent.name
        target = folder / "libfunctors.so"
        if not target.exists():
            folder.mkdir(parents=True)
            headers = self.options.tests.parent / "src" / "include"
            flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-fwrapv", "-DRAM_DOMAIN_SIZE=64"]
            command = [os.environ.get("CXX", "c++"), *flags, f"-I{headers}", source, "-o", target]
            subprocess.run(command, check=True, capture_output=True)
        return folder

    def run(self, case: Case, ranks: int) -> str:
        out = self.fresh_outputs()
        where = self.where(case, out)
        return self.judge(case, *self.command(ranks, "run", "-q", "--no-progress", *where))

    def run_resumed(self, case: Case) -> str:
        saved = self.scratch / "saved"
        shutil.rmtree(saved, ignore_errors=True)
        out = self.fresh_outputs()
        keeping = ["--checkpoint", saved, "--every", "1it", "--keep", "1000000"]
        where = self.where(case, out)
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
            if self.options.resume and not case.is_refused:
                self.note(case, "resumed", self.run_resumed(case))
        for what in sorted(self.counts):
            print(f"{what}: {self.counts[what]}")
        if self.options.resume:
            first, second = self.options.resume
            print(f"{self.resumed} runs of {first} ranks went on at {second}")
        return 0

    def note(self, case: Case, what: str, problem: str) -> None:
        kind = "negative" if case.is_refused else "positive"
        self.counts[f"{kind}, {what}, {'as expected' if not problem else 'not'}"] += 1
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
