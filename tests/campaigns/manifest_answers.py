#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every graph and every program of the shared data against its independently computed answers.

Closures are held to their size, to the size of every round (deltas/NAME.tsv, where there is one)
and, up to --checksums tuples and on the first and the last of the rank counts, to the checksum of
all pairs, read back from the run's checkpoint by the Python package. Same generation: size, rounds
and checksum. Fact sets: sizes. Answers and graphs are read from MANIFEST.md itself. One line a run
goes to the log; the exit code is 1 if any answer was wrong. Needs STRATALOG (the command), MPIEXEC
for ranks, and numpy.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import stratalog  # noqa: E402
from stratalog_runner import environment  # noqa: E402

Words = NDArray[np.uint64]


@dataclass
class Case:
    name: str
    program: str  # in rules/
    facts: str  # graph:NAME, gen:ARGUMENTS or set:ARCHIVE:FOLDER
    sizes: dict[str, int]
    rounds: int | None = None
    deltas: list[int] | None = None
    checksum: int | None = None  # of the one relation of sizes
    swaps: dict[str, str] = field(default_factory=dict)  # fact files under another name

    def tuples(self) -> int:
        return sum(self.sizes.values())


def rows_of(text: str, title: str) -> Iterator[list[str]]:
    """The cells of the first table below a title."""
    lines = iter(text[text.index(title) :].splitlines()[1:])
    table = [line for line in _until_gap(lines) if line.startswith("|")]
    for line in table[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def _until_gap(lines: Iterator[str]) -> Iterator[str]:
    begun = False
    for line in lines:
        if begun and not line.startswith("|"):
            return
        begun = begun or line.startswith("|")
        yield line


def number(text: str) -> int:
    return int(re.sub(r"[^0-9]", "", text))


def deltas_of(data: Path, name: str) -> list[int] | None:
    file = data / "deltas" / f"{name}.tsv"
    if not file.exists():
        return None
    return [int(line.split("\t")[1]) for line in file.read_text().splitlines()]


def pairs_case(
    name: str,
    program: str,
    facts: str,
    answers: tuple[str, str, str, str],
    deltas: list[int] | None,
) -> Case:
    """One relation of pairs; its name, tuples, rounds and checksum as the manifest writes them."""
    relation, tuples, rounds, checksum = answers
    sizes = {relation: number(tuples)}
    return Case(name, program, facts, sizes, number(rounds), deltas, int(checksum.strip("`"), 16))


def closures(data: Path, text: str) -> Iterator[Case]:
    for row in rows_of(text, "## Graphs"):
        answers = ("path", row[5], row[6], row[8])
        deltas = deltas_of(data, row[0])
        yield pairs_case(f"tc {row[0]}", "tc.dl", f"graph:{row[0]}", answers, deltas)
    for row in rows_of(text, "## Synthetic graphs"):
        answers = ("path", row[3], row[4], row[6])
        deltas = deltas_of(data, "cz40948-like") if "n=40948" in row[0] else None
        name = f"tc {row[0].split()[0]} {row[3]}"
        yield pairs_case(name, "tc.dl", f"gen:{row[0]}", answers, deltas)


def same_generations(text: str) -> Iterator[Case]:
    for row in rows_of(text, "## Same generation"):
        answers = ("sg", row[1], row[3], row[4])
        yield pairs_case(f"sg {row[0]}", "sg.dl", f"graph:{row[0]}", answers, None)


def sizes_in(text: str) -> dict[str, int]:
    """`VPT 254,467 (remarks), FPT 116,778` as numbers by name."""
    text = re.sub(r"\(.*?\)", "", text)
    found = re.findall(r"([A-Za-z_]\w*) ([0-9][0-9,]*[0-9]|[0-9])", text)
    return {name: number(value) for name, value in found}


def fact_sets(text: str) -> Iterator[Case]:
    last = ""
    for row in rows_of(text, "## Fact sets"):
        last = row[0] or last
        if not row[3].endswith(".dl"):
            continue
        swaps = {"Entry.facts": "Entry260.facts"} if "Entry260.facts as" in row[1] else {}
        answer = row[4].split(":", 1)[1] if ":" in row[4] else row[4]
        if row[3] == "polonius_naive.dl":
            continue
        yield Case(
            f"{Path(row[3]).stem} {last}{' 260' if swaps else ''}",
            row[3],
            f"set:{last}:{last}",
            sizes_in(answer),
            swaps=swaps,
        )
    yield from borrow_checks(text)
    yield from alias_analyses(text)


def borrow_checks(text: str) -> Iterator[Case]:
    begin = text.index("polonius_small with polonius_naive.dl (")
    names, answers = text[begin:].split("(", 1)[1].split("):", 1)
    relations = [name.strip() for name in names.split("/")]
    for entry in answers.split("\n\n")[0].split(";"):
        folder, values = entry.strip().rstrip(".").rsplit(" ", 1)
        sizes = dict(zip(relations, map(number, values.split("/")), strict=True))
        yield Case(
            f"polonius_naive {folder}",
            "polonius_naive.dl",
            f"set:polonius_small:polonius_small/{folder}",
            sizes,
        )


def alias_analyses(text: str) -> Iterator[Case]:
    for row in rows_of(text, "cspa-cpu17 (I)"):
        facts = f"set:cspa-cpu17:cspa/{row[0]}"
        names = ("ValueFlow", "ValueAlias", "MemoryAlias")
        sizes = dict(zip(names, map(number, row[3:6]), strict=True))
        yield Case(f"cspa {row[0]}", "cspa.dl", facts, sizes)
        if row[6]:
            values = map(number, row[6].split("/"))
            sizes = dict(zip(("V", "M", "A"), values, strict=True))
            yield Case(f"alias_cfl {row[0]}", "alias_cfl.dl", facts, sizes)


def unpack(case: Case, data: Path, scratch: Path) -> Path:
    """A folder with the case's facts, made once."""
    kind, rest = case.facts.split(":", 1)
    folder = scratch / re.sub(r"[^A-Za-z0-9.-]+", "_", case.name)
    if kind == "set":
        archive, inside = rest.split(":", 1)
        if not folder.exists():
            with tarfile.open(data / "facts" / f"{archive}.tar.xz") as packed:
                packed.extractall(folder, filter="data")
            for name, other in case.swaps.items():
                shutil.copy(folder / inside / other, folder / inside / name)
        return folder / inside
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    if kind == "graph":
        packed_graph = (data / "graphs" / f"{rest}.tsv.xz").read_bytes()
        (folder / "edge.facts").write_bytes(lzma.decompress(packed_graph))
        return folder
    generator = [sys.executable, str(data / "tools" / "gen.py"), *rest.split()]
    made = subprocess.run(generator, capture_output=True, check=True).stdout
    (folder / "edge.facts").write_bytes(made)
    return folder


def mix(x: Words) -> Words:
    """splitmix64's output step, as the manifest says."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def checksum(blocks: Iterable[dict[str, Words]]) -> int:
    """Over all pairs, whatever their order."""
    total = 0
    for block in blocks:
        first, second = (np.asarray(column).astype(np.uint64) for column in block.values())
        total += int(np.sum(mix(mix(first) ^ second), dtype=np.uint64))
    return total & 0xFFFF_FFFF_FFFF_FFFF


def run(case: Case, facts: Path, ranks: int, options: argparse.Namespace, check: bool) -> str:
    """`exact`, or what is wrong."""
    with tempfile.TemporaryDirectory(dir=options.scratch) as name:
        report = Path(name) / "report.json"
        program = options.shared / "data" / "rules" / case.program
        command = [os.environ["STRATALOG"], "run", str(program), "-F", str(facts), "-q"]
        command += ["--report", str(report)]
        if options.threads:
            command += ["-j", str(ranks)]
        elif ranks > 1:
            command = [os.environ["MPIEXEC"], "-n", str(ranks), *command]
        checkpoint = Path(name) / "checkpoint"
        if check:
            command += ["--checkpoint", str(checkpoint), "--every", "1h"]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment(), check=False
        )
        if done.returncode != 0:
            return f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        sizes = {line[0]: int(line[1]) for line in lines if len(line) == 2}
        wrong = {
            name: sizes.get(name) for name, rows in case.sizes.items() if sizes.get(name) != rows
        }
        if wrong:
            return f"sizes {wrong}, expected {case.sizes}"
        stratum = json.loads(report.read_text())["strata"][-1]
        if case.rounds is not None and stratum["iterations"] != case.rounds:
            return f"{stratum['iterations']} rounds, expected {case.rounds}"
        if case.deltas is not None and stratum["new_tuples_per_round"] != case.deltas:
            return "sizes of rounds differ"
        if check:
            (relation,) = case.sizes
            found = checksum(stratalog.open(checkpoint)[relation].blocks())
            if found != case.checksum:
                return f"checksum {found:016x}, expected {case.checksum:016x}"
            return "exact, checksum, too"
        return "exact"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--ranks", default="1,2,3,4,7")
    parser.add_argument("--threads", action="store_true", help="ranks as threads (-j)")
    parser.add_argument("--only", default="", help="a regular expression of case names")
    parser.add_argument("--checksums", type=int, default=100_000_000, help="up to so many tuples")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "manifest")
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    data = options.shared / "data"
    if not data.exists():
        print(f"{data} is not there: nothing to do")
        return 0
    options.scratch.mkdir(parents=True, exist_ok=True)
    text = (data / "MANIFEST.md").read_text()
    cases = [*closures(data, text), *same_generations(text), *fact_sets(text)]
    cases = [case for case in cases if re.search(options.only, case.name)]
    counts = [int(word) for word in options.ranks.split(",")]
    wrong = 0
    lines = []
    for case in cases:
        facts = unpack(case, data, options.scratch)
        for ranks in counts:
            check = (
                case.checksum is not None
                and case.tuples() <= options.checksums
                and ranks in (counts[0], counts[-1])
            )
            begin = time.monotonic()
            verdict = run(case, facts, ranks, options, check)
            wrong += not verdict.startswith("exact")
            kind = "threads" if options.threads else "ranks"
            line = f"{case.name}\t{ranks} {kind}\t{case.tuples():,} tuples\t"
            line += f"{time.monotonic() - begin:.2f} s\t{verdict}"
            print(line, flush=True)
            lines.append(line)
            if options.log:
                options.log.write_text("\n".join(lines) + "\n")
    summary = f"{len(lines)} runs of {len(cases)} cases, {wrong} wrong"
    print(summary)
    if options.log:
        options.log.write_text("\n".join([*lines, summary]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
