#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Stratalog against datatoad and Ascent on the programs and inputs of peers.py.

Both peers speak dialects of their own, so the programs are translated rule by rule (plain atoms,
negation, `!=`, constants), and symbols become numbers beforehand: the peers read integers from CSV
files, Stratalog the original facts, and where those hold symbols the peers' files, too.
Ascent is compiled, once with `ascent!` for one thread and once
with `ascent_par!` for several; datatoad interprets. Whole processes, all sizes checked, medians of
--repeats runs in turns; who takes more than LONG_SECONDS runs once. A peer that needs more memory
or time than allowed is listed as such.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import peers
from turns import LONG_SECONDS, Way, run_in_turns


@dataclass
class Relation:
    """A declaration: whether columns hold symbols, and the file with its facts, if there is one."""

    name: str
    is_symbol: list[bool]
    filename: str | None = None
    delimiter: str = "\t"


@dataclass
class Atom:
    """`name(arguments)`, or `left != right` under the name `!=`."""

    name: str
    arguments: list[str]
    is_negated: bool = False


@dataclass
class Rule:
    head: Atom
    body: list[Atom]


@dataclass
class Program:
    relations: dict[str, Relation] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)


def parse(text: str) -> Program:
    """The part of the dialect that the benchmarks' programs use; anything else is an error."""
    program = Program()
    text = re.sub(r'("[^"]*")|//[^\n]*', lambda found: found[1] or "", text)
    for line in re.findall(r"\.decl\s+(\w+)\s*\(([^)]*)\)", text):
        kinds = [column.split(":")[1].strip() for column in line[1].split(",")]
        program.relations[line[0]] = Relation(line[0], [kind == "symbol" for kind in kinds])
    for name, options in re.findall(r"\.input\s+(\w+)[ \t]*(\([^)]*\))?", text):
        relation = program.relations[name]
        given = dict(re.findall(r'(\w+)="([^"]*)"', options))
        relation.filename = given.get("filename", f"{name}.facts")
        relation.delimiter = given.get("delimiter", "\t")
    rest = re.sub(
        r"\.decl[^)]*\)|\.input\s+\w+[ \t]*(\([^)]*\))?|\.(printsize|output)\s+\w+", "", text
    )
    for clause in split_clauses(rest):
        head, _, body = clause.partition(":-")
        rule = Rule(parse_atom(head), [parse_atom(a) for a in split_atoms(body)])
        program.rules.append(rule)
    return program


def split_clauses(text: str) -> list[str]:
    pieces = re.findall(r'((?:"[^"]*"|[^".])*)\.', text)
    return [piece.strip() for piece in pieces if piece.strip()]


def split_atoms(body: str) -> list[str]:
    pieces = re.findall(r'!?\s*\w+\s*\((?:"[^"]*"|[^")])*\)|\w+\s*!=\s*\w+', body)
    if re.sub(r"[,\s]", "", body) != re.sub(r"[,\s]", "", "".join(pieces)):
        raise ValueError(f"not understood: {body}")
    return pieces


def parse_atom(text: str) -> Atom:
    text = text.strip()
    if unequal := re.fullmatch(r"(\w+)\s*!=\s*(\w+)", text):
        return Atom("!=", [unequal[1], unequal[2]])
    match = re.fullmatch(r"(!?)\s*(\w+)\s*\((.*)\)", text, re.S)
    if match is None:
        raise ValueError(f"not understood: {text}")
    arguments = re.findall(r'"[^"]*"|[^,\s]+', match[3])
    return Atom(match[2], arguments, match[1] == "!")


class Numbers:
    """Symbols as dense numbers; numbers stay what they are."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def of(self, symbol: str) -> int:
        return self.known.setdefault(symbol, len(self.known))

    def argument(self, text: str) -> str:
        """An argument of an atom: symbols by their numbers, all else as it is."""
        return str(self.of(text[1:-1])) if text.startswith('"') else text


def write_numbers(program: Program, facts: Path, into: Path) -> Numbers:
    """The facts as comma-separated integers, NAME.csv for each relation that is read."""
    numbers = Numbers()
    into.mkdir(parents=True, exist_ok=True)
    for relation in program.relations.values():
        if relation.filename is None:
            continue
        target = into / f"{relation.name}.csv"
        with (facts / relation.filename).open(newline="") as lines, target.open("w") as coded:
            for line in lines:
                cells = line.rstrip("\n").split(relation.delimiter)
                if len(cells) < len(relation.is_symbol):
                    continue
                cells = cells[: len(relation.is_symbol)]
                kinds = zip(cells, relation.is_symbol, strict=True)
                coded.write(",".join(str(numbers.of(c)) if s else c for c, s in kinds) + "\n")
    return numbers


class Toad:
    """Rules for datatoad: one a line, no wildcards, inequality as a relation of its own."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.wildcards = 0

    def argument(self, text: str) -> str:
        if text == "_":
            self.wildcards += 1
            return f"any{self.wildcards}"
        return self.numbers.argument(text)

    def atom(self, atom: Atom) -> str:
        arguments = ", ".join(self.argument(a) for a in atom.arguments)
        if atom.name == "!=":
            return f":noteq({arguments})"
        return f"{'!' if atom.is_negated else ''}{atom.name}({arguments})"

    def script(self, program: Program, folder: Path, sizes: dict[str, int]) -> str:
        """Sizes are tested by datatoad itself, over all its workers; a wrong one is a panic."""
        lines = [
            f".flow {r.name} {folder / (r.name + '.csv')}"
            for r in program.relations.values()
            if r.filename is not None and (folder / f"{r.name}.csv").stat().st_size > 0
        ]
        for rule in program.rules:
            body = ", ".join(self.atom(a) for a in rule.body)
            lines.append(f"{self.atom(rule.head)} :- {body}.")
        lines += [f".test {name} {size}" for name, size in sizes.items()]
        return "\n".join([*lines, ".quit", ""])


class Dialect:
    """The program in its own dialect, with numbers for symbols, over the peers' files."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def atom(self, atom: Atom) -> str:
        arguments = [self.numbers.argument(a) for a in atom.arguments]
        if atom.name == "!=":
            return " != ".join(arguments)
        return f"{'!' if atom.is_negated else ''}{atom.name}({', '.join(arguments)})"

    def source(self, program: Program, sizes: Iterable[str]) -> str:
        lines = []
        for r in program.relations.values():
            columns = ", ".join(f"c{i}: number" for i in range(len(r.is_symbol)))
            lines.append(f".decl {r.name}({columns})")
            if r.filename is not None:
                lines.append(f'.input {r.name}(filename="{r.name}.csv", delimiter=",")')
        for rule in program.rules:
            body = ", ".join(self.atom(a) for a in rule.body)
            lines.append(f"{self.atom(rule.head)} :- {body}.")
        return "\n".join([*lines, *(f".printsize {name}" for name in sizes), ""])


class Ascent:
    """A Rust program around `ascent!` or `ascent_par!`: from CSV files to printed sizes."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def atom(self, atom: Atom) -> str:
        arguments = [self.numbers.argument(a) for a in atom.arguments]
        if atom.name == "!=":
            return f"if {' != '.join(arguments)}"
        return f"{'!' if atom.is_negated else ''}{rust_name(atom.name)}({', '.join(arguments)})"

    def source(self, program: Program, macro: str) -> str:
        relations = [
            f"    relation {rust_name(r.name)}({', '.join(['u32'] * len(r.is_symbol))});"
            for r in program.relations.values()
        ]
        rules = [
            f"    {self.atom(rule.head)} <-- {', '.join(self.atom(a) for a in rule.body)};"
            for rule in program.rules
        ]
        reads = [
            f'    program.{rust_name(r.name)} = read(&folder, "{r.name}")'
            f".into_iter().map(|t| ({''.join(f't[{c}], ' for c in range(len(r.is_symbol)))}))"
            ".collect();"
            for r in program.relations.values()
            if r.filename is not None
        ]
        sizes = [
            f'    println!("{name}\\t{{}}", program.{rust_name(name)}.len());'
            for name in program.relations
        ]
        return "\n".join(
            [
                RUST_BEGIN.replace("MACRO", macro),
                *relations,
                *rules,
                "}",
                RUST_MAIN,
                *reads,
                "    program.run();",
                *sizes,
                "}",
                "",
            ]
        )


def rust_name(name: str) -> str:
    """Keeps names apart that differ in case only (`A` and `a`)."""
    return f"r_{name.lower()}{'_u' if name != name.lower() else ''}"


RUST_BEGIN = """#![allow(clippy::all, unused)]
use std::io::BufRead;
ascent::MACRO! {
    struct Rules;"""

RUST_MAIN = """
fn read(folder: &str, name: &str) -> Vec<Vec<u32>> {
    let file = std::fs::File::open(format!("{folder}/{name}.csv")).unwrap();
    std::io::BufReader::new(file)
        .lines()
        .map(|line| line.unwrap().split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect()
}
fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let mut program = Rules::default();"""


def build_ascent(
    case: peers.Case, program: Program, numbers: Numbers, args: argparse.Namespace
) -> dict[str, Path]:
    """The compiled programs by macro."""
    crate = args.scratch / "ascent"
    (crate / "src" / "bin").mkdir(parents=True, exist_ok=True)
    (crate / "Cargo.toml").write_text(
        '[package]\nname = "peers"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
        f'ascent = "={args.ascent_version}"\n\n[profile.release]\nlto = "thin"\n'
    )
    binaries = {}
    for macro in ("ascent", "ascent_par"):
        name = f"{case.program}_{macro}"
        source = crate / "src" / "bin" / f"{name}.rs"
        text = Ascent(numbers).source(program, macro)
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        command = [args.cargo, "build", "--release", "--quiet", "--bin", name]
        built = subprocess.run(command, cwd=crate, capture_output=True, text=True)
        if built.returncode != 0:
            sys.exit(f"{name}: {built.stderr[-3000:]}")
        binaries[macro] = crate / "target" / "release" / name
    return binaries


def run_case(case: peers.Case, args: argparse.Namespace) -> dict[str, object]:
    facts = peers.unpack(case.facts, args.scratch)
    file = peers.program_of(case)
    program = parse(file.read_text())
    folder = args.scratch / "numbers" / re.sub(r"\W", "_", case.name)
    numbers = write_numbers(program, facts, folder)
    ways: dict[str, Way] = {}
    base = [args.stratalog, "run", str(file), "-F", str(facts), "-q"]
    for ranks in (1, 2):
        ways[f"stratalog {ranks}"] = Way([*base, "-j", str(ranks)], case.sizes)
    if any(any(relation.is_symbol) for relation in program.relations.values()):
        numeric = folder / "program.dl"
        shown = program.relations if args.all_sizes else case.sizes
        numeric.write_text(Dialect(numbers).source(program, shown))
        base = [args.stratalog, "run", str(numeric), "-F", str(folder), "-q"]
        for ranks in (1, 2):
            ways[f"stratalog, integers {ranks}"] = Way([*base, "-j", str(ranks)], case.sizes)
    if args.datatoad:
        script = folder / "program.dt"
        script.write_text(Toad(numbers).script(program, folder, case.sizes))
        for workers in (1, 2):
            command = [args.datatoad, *(["-w", str(workers)] if workers > 1 else []), str(script)]
            ways[f"datatoad {workers}"] = Way(command, {})
    if args.cargo:
        binaries = build_ascent(case, program, numbers, args)
        for macro, threads in (("ascent", 1), ("ascent_par", 2)):
            command = ["env", f"RAYON_NUM_THREADS={threads}", str(binaries[macro]), str(folder)]
            ways[f"Ascent {threads}"] = Way(command, case.sizes)
    outcomes = run_in_turns(ways, args.repeats, seconds=args.seconds, memory_kib=args.memory_kib)
    return {"case": case.name} | {name: asdict(outcome) for name, outcome in outcomes.items()}


def cell(row: dict[str, object], key: str) -> str:
    entry = row.get(key)
    if not isinstance(entry, dict):
        return "-"
    if entry.get("why"):
        return str(entry["why"])
    text = f"{entry['wall_seconds']:.3f} ({entry['peak_kib'] / 1024:.0f})"
    return text if entry["correct"] else f"{text} WRONG"


def best_ratio(row: dict[str, object], threads: int, ours: str = "stratalog") -> str:
    mine = row.get(f"{ours} {threads}")
    theirs = [
        entry["wall_seconds"]
        for key in ("datatoad", "Ascent")
        for number in (1, threads)
        if isinstance(entry := row.get(f"{key} {number}"), dict)
        and not entry["why"]
        and entry["correct"]
    ]
    if not isinstance(mine, dict) or not theirs:
        return "-"
    return f"{min(theirs) / mine['wall_seconds']:.1f}x"


def to_markdown(
    rows: list[dict[str, object]], about: dict[str, object], args: argparse.Namespace
) -> str:
    names = ("stratalog", "stratalog, integers", "datatoad", "Ascent")
    keys = [f"{name} {n}" for n in (1, 2) for name in names]
    lines = [
        "# Stratalog against datatoad and Ascent",
        "",
        f"Machine: {about['cpu']}, {about['cores']} cores, {about['system']}; {about['date']}; "
        f"load at start {about['load_at_start']:.1f}. Whole processes from fact files to printed "
        "sizes: wall seconds (MiB of the largest process). Medians of "
        f"{args.repeats} runs in turns, one run where it takes more than {LONG_SECONDS:g} s. "
        "Stratalog reads the original facts and, where those hold symbols, the peers' integers in "
        "CSV. The number behind a name is that of threads or workers; ratios: the best of the "
        "peers at one or so many of them / Stratalog. All sizes were checked."
        + (" On integers, Stratalog prints the sizes of all relations." if args.all_sizes else ""),
        "",
        f"| case | {' | '.join(keys)} | best peer / ours, 1 thread | 2 threads | "
        "on integers, 1 thread | 2 threads |",
        f"|---|{'--:|' * (len(keys) + 4)}",
    ]
    for row in rows:
        cells = [cell(row, key) for key in keys]
        cells += [
            best_ratio(row, threads, ours)
            for ours in ("stratalog", "stratalog, integers")
            for threads in (1, 2)
        ]
        lines.append(f"| {row['case']} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> int:
    build = peers.ROOT / "build"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--stratalog", default=str(build / "stratalog"))
    parser.add_argument("--datatoad", default="", help="a datatoad program")
    parser.add_argument(
        "--cargo", default=shutil.which("cargo") or "", help="compiles Ascent's programs"
    )
    parser.add_argument("--ascent-version", default="0.8.1")
    parser.add_argument("--scratch", type=Path, default=build / "bench")
    parser.add_argument("--out", type=Path, default=build / "bench" / "rust-peers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=120, help="a peer may take")
    parser.add_argument("--memory-kib", type=int, default=16 << 20, help="a peer may take")
    parser.add_argument(
        "--all-sizes",
        action="store_true",
        help="Stratalog prints the sizes of all relations, so that it computes all as the peers "
        "do, also those on which no output of the case depends",
    )
    parser.add_argument("--only", default="", help="cases whose name matches this pattern")
    args = parser.parse_args()
    about = peers.machine()
    rows: list[dict[str, object]] = []
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for case in [*peers.CLOSURES, *peers.OTHERS]:
        if not re.search(args.only, case.name):
            continue
        rows.append(run_case(case, args))
        print({k: cell(rows[-1], k) for k in rows[-1] if k != "case"}, case.name, flush=True)
        # After each case, so that nothing is lost where somebody runs out of patience.
        args.out.with_suffix(".json").write_text(json.dumps({"machine": about, "rows": rows}))
        args.out.with_suffix(".md").write_text(to_markdown(rows, about, args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
