#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Stratalog against compiled Soufflé on the same programs and inputs, and checks answers.

Each case is a whole process from fact files to printed sizes, at one thread and at two, and at two
ranks of MPI.
Soufflé runs with its default B-trees and with all relations declared `brie`. Times are user +
system seconds, wall seconds, and the largest resident set of one process. Runs of Soufflé that take
longer than --seconds are ended; what they would have taken is more than that. The result is a
Markdown table and a JSON file with the commands and the machine.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import warm_memory

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("STRATALOG_SHARED", ROOT.parent / "shared"))
THROTTLE = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "10",
}


@dataclass
class Case:
    """A program on an input, with the sizes that are known to be right."""

    name: str
    program: str
    facts: str
    sizes: dict[str, int]


@dataclass
class Measurement:
    """Medians over the runs of one command."""

    command: list[str]
    cpu_seconds: float
    wall_seconds: float
    peak_kib: int
    correct: bool
    runs: list[float] = field(default_factory=list)
    was_ended: bool = False  # it took longer than it was given


def closure(name: str, tuples: int) -> Case:
    return Case(f"tc {name}", "tc", f"graph:{name}", {"path": tuples})


CLOSURES = [
    closure("chain4000", 7998000),
    closure("wiki-Vote", 11947132),
    closure("cti", 6859653),
    closure("fe_sphere", 78557912),
    closure("SF.cedge", 80498014),
    closure("CA-HepTh", 74619885),
    closure("fe_body", 156120489),
    closure("usroads", 871365688),
    closure("p2p-Gnutella31", 884179859),
]

OTHERS = [
    Case("sg cti", "sg", "graph:cti", {"sg": 14503742}),
    Case("sg TG.cedge", "sg", "graph:TG.cedge", {"sg": 608090}),
    Case("cspa x264", "cspa", "facts:cspa-cpu17:x264", {"ValueFlow": 80697, "ValueAlias": 2550761}),
    Case(
        "cspa cactus",
        "cspa",
        "facts:cspa-cpu17:cactus",
        {"ValueFlow": 48375, "ValueAlias": 8295164},
    ),
    Case(
        "cspa povray",
        "cspa",
        "facts:cspa-cpu17:povray",
        {"ValueFlow": 147207, "ValueAlias": 3358580},
    ),
    Case(
        "alias_cfl mcf", "alias_cfl", "facts:cspa-cpu17:mcf", {"V": 325048, "M": 10385, "A": 4503}
    ),
    Case(
        "andersen_c hmmer",
        "andersen_c",
        "facts:hmmer",
        {"Pts": 697565, "Mem": 12796, "Reach": 17325},
    ),
    Case("javapt", "javapt", "facts:javapt", {"VPT": 254467, "FPT": 116778, "CG": 11366}),
    Case(
        "javapt 260",
        "javapt",
        "facts:javapt:entry260",
        {"VPT": 6685674, "FPT": 2101810, "CG": 17836},
    ),
    Case(
        "polonius_liveness clap",
        "polonius_liveness",
        "facts:polonius_clap",
        {"var_live_on_entry": 329734, "origin_live_on_entry": 757882},
    ),
    Case("univ_bench lubm", "univ_bench", "facts:lubm", {"memberOf": 8330, "triangle": 208}),
    Case("galen_el", "galen_el", "facts:galen_el", {"sub": 1091144, "ex": 309713}),
    Case("galen_pq", "galen_pq", "facts:galen_pq", {"p": 7560179, "q": 16595494}),
]


def unpack(facts: str, scratch: Path) -> Path:
    """A folder with the fact files of a case."""
    kind, name, *rest = facts.split(":")
    folder = scratch / facts.replace(":", "_")
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    if kind == "graph":
        if name == "chain4000":
            (folder / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(3999)))
            return folder
        with lzma.open(SHARED / "data" / "graphs" / f"{name}.tsv.xz") as packed:
            (folder / "edge.facts").write_bytes(packed.read())
        return folder
    with tarfile.open(SHARED / "data" / "facts" / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    if rest == ["entry260"]:
        found = next(folder.rglob("Entry260.facts"))
        shutil.copy(found, found.with_name("Entry.facts"))
    elif rest:
        inner = next(p for p in folder.rglob(rest[0]) if p.is_dir())
        for file in inner.iterdir():
            shutil.move(str(file), folder / file.name)
        for source, target in (
            ("assign", "assign"),
            ("dereference", "dereference"),
            ("field", "field"),
        ):
            plain = folder / source
            if plain.is_file():
                plain.rename(folder / f"{target}.facts")
    subfolders = [p for p in folder.iterdir() if p.is_dir()]
    if not any(p.is_file() for p in folder.iterdir()) and len(subfolders) == 1:
        for file in subfolders[0].iterdir():
            shutil.move(str(file), folder / file.name)
    if name == "cspa-cpu17" and not (folder / "field.facts").exists():
        (folder / "field.facts").touch()
    return folder


def program_of(case: Case) -> Path:
    ours = ROOT / "bench" / "programs" / f"{case.program}.dl"
    return ours if ours.exists() else SHARED / "data" / "rules" / f"{case.program}.dl"


@dataclass
class EndedRun:
    """A process that has ended, with the children that it waited for."""

    returncode: int
    printed: str
    wall_seconds: float
    cpu_seconds: float
    peak_kib: int  # of the largest of these processes

    def printed_right(self, sizes: dict[str, int]) -> bool:
        """Whether it ended well and printed these, one a line."""
        lines = self.printed.splitlines()
        found = dict(line.split("\t") for line in lines if line.count("\t") == 1)
        return self.returncode == 0 and all(found.get(k) == str(v) for k, v in sizes.items())


FIRST_PEAK = 256 << 20  # bytes that a run may have of which nothing is known
_peaks: dict[str, int] = {}  # bytes, by command


def ranks_of(command: list[str]) -> int:
    """Each has its own memory; the peak that the system tells is that of the largest."""
    return int(command[2]) if command[1:2] == ["-n"] else 1  # whatever the launcher's name is


def run_to_end(
    command: list[str],
    stderr: int | None = None,
    seconds: float | None = None,
    memory_kib: int | None = None,
) -> EndedRun:
    """Runs it, no longer than `seconds`: then it is killed. `memory_kib`: all it may map. Before,
    as much memory is touched as it had the last time (warm_memory.py), for each of its ranks."""
    key = " ".join(command)
    warm_memory.warm(ranks_of(command) * _peaks.get(key, FIRST_PEAK) * 5 // 4)
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=stderr, env=os.environ | THROTTLE)
        if memory_kib:
            limit = memory_kib << 10
            resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))
        alarm = threading.Timer(seconds or 0, os.kill, (process.pid, signal.SIGKILL))
        if seconds:
            alarm.start()
        # wait4 tells of this process and the children that it waited for, and of no other.
        _, status, used = os.wait4(process.pid, 0)
        alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0)
        printed = out.read()
    cpu = used.ru_utime + used.ru_stime
    _peaks[key] = max(_peaks.get(key, 0), used.ru_maxrss << 10)
    return EndedRun(process.returncode, printed, wall, cpu, used.ru_maxrss)


def measure(
    command: list[str], sizes: dict[str, int], repeats: int, seconds: float | None = None
) -> Measurement:
    cpu: list[float] = []
    wall: list[float] = []
    peak = 0
    correct = True
    was_ended = False
    for _ in range(repeats):
        run = run_to_end(command, stderr=subprocess.DEVNULL, seconds=seconds)
        was_ended |= seconds is not None and run.wall_seconds >= seconds
        wall.append(run.wall_seconds)
        cpu.append(run.cpu_seconds)
        peak = max(peak, run.peak_kib)
        correct &= run.printed_right(sizes)
    return Measurement(
        command,
        statistics.median(cpu),
        statistics.median(wall),
        peak,
        correct or was_ended,
        cpu,
        was_ended,
    )


def compile_souffle(souffle: str, program: Path, kind: str, threads: int, scratch: Path) -> str:
    """A compiled program; `kind` is btree or brie, which every declaration then asks for."""
    binary = scratch / f"souffle-{program.stem}-{kind}-j{threads}"
    if not binary.exists():
        text = program.read_text()
        if kind == "brie":
            text = re.sub(r"(?m)^(\.decl[^)\n]*\))", r"\1 brie", text)
        source = scratch / f"{program.stem}-{kind}.dl"
        source.write_text(text)
        command = [souffle, f"-j{threads}", "-o", str(binary), str(source)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return str(binary)


def run_case(case: Case, args: argparse.Namespace) -> dict[str, object]:
    facts = unpack(case.facts, args.scratch)
    program = program_of(case)
    row: dict[str, object] = {"case": case.name}
    base = [args.stratalog, "run", str(program), "-F", str(facts), "-q"]
    row["stratalog 1"] = asdict(measure(base, case.sizes, args.repeats))
    row["stratalog 2"] = asdict(measure([*base, "-j", "2"], case.sizes, args.repeats))
    row["mpiexec 2"] = asdict(measure([args.mpiexec, "-n", "2", *base], case.sizes, args.repeats))
    for kind in ("btree", "brie") if args.souffle else ():
        for threads in args.threads:
            binary = compile_souffle(args.souffle, program, kind, threads, args.scratch)
            command = [binary, "-F", str(facts), f"-j{threads}"]
            row[f"{kind} {threads}"] = asdict(measure(command, case.sizes, 1, args.seconds))
    return row


def machine() -> dict[str, object]:
    model = "unknown"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            x.split(":")[1].strip()
            for x in cpuinfo.read_text().splitlines()
            if x.startswith("model name")
        ]
        model = names[0] if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "load_at_start": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d"),
    }


def cell(row: dict[str, object], key: str, field_name: str) -> str:
    entry = row.get(key)
    if not isinstance(entry, dict):
        return "-"
    value = entry[field_name]
    text = f"{value / 1024:.0f}" if field_name == "peak_kib" else f"{value:.2f}"
    if entry.get("was_ended"):
        text = f"over {text}"
    return text if entry["correct"] else text + " WRONG"


def ratio(row: dict[str, object], ours: str, peers: list[str], field_name: str) -> str:
    """How many times as much the better of the peers needs."""
    mine = row.get(ours)
    theirs = [p for p in (row.get(k) for k in peers) if isinstance(p, dict)]
    if not isinstance(mine, dict) or not theirs:
        return "-"
    best = min(theirs, key=lambda p: p[field_name])
    more = "over " if best.get("was_ended") else ""
    return f"{more}{best[field_name] / max(mine[field_name], 1e-9):.1f}x"


def columns(threads: int) -> list[tuple[str, str, str]]:
    """(heading, key, field) of one number of threads or ranks."""
    names = [("ours", "stratalog"), ("B-tree", "btree"), ("brie", "brie")]
    if threads > 1:
        names.insert(1, ("ours, MPI", "mpiexec"))
    fields = (("wall", "wall_seconds"), ("CPU", "cpu_seconds"), ("MiB", "peak_kib"))
    return [
        (f"{name} {unit}", f"{key} {threads}", field_name)
        for unit, field_name in fields
        for name, key in names
    ]


def table(rows: list[dict[str, object]], threads: int) -> list[str]:
    heads = ["case", *(name for name, _, _ in columns(threads)), "wall ratios", "CPU ratios"]
    lines = [
        f"## {threads} thread{'s' if threads > 1 else ''}",
        "",
        f"| {' | '.join(heads)} |",
        f"|---|{'--:|' * (len(heads) - 1)}",
    ]
    ours, btree, brie = (f"{name} {threads}" for name in ("stratalog", "btree", "brie"))
    for row in rows:
        cells = [str(row["case"]), *(cell(row, key, name) for _, key, name in columns(threads))]
        for name in ("wall_seconds", "cpu_seconds"):
            default = ratio(row, ours, [btree], name)
            cells.append(f"{default}, {ratio(row, ours, [btree, brie], name)}")
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def to_markdown(rows: list[dict[str, object]], about: dict[str, object], threads: list[int]) -> str:
    lines = [
        "# Stratalog against compiled Soufflé",
        "",
        f"Machine: {about['cpu']}, {about['cores']} cores, {about['system']}; {about['date']}; "
        f"load at start {about['load_at_start']:.1f}. Whole processes, from fact files to printed "
        "sizes: wall seconds, CPU seconds (user + system), largest resident set of one process "
        "(with MPI there are as many as ranks). Ranks are threads (-j), beside them processes of "
        "MPI. "
        "Ratios are peer / Stratalog (B-tree, then the better of B-tree and brie), so more "
        "than 1 means that Stratalog is faster. All sizes were checked; a wrong one would be "
        "marked.",
        "",
    ]
    for count in threads:
        lines += table(rows, count)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    build = Path(os.environ.get("STRATALOG_BUILD", ROOT / "build"))
    parser.add_argument("--stratalog", default=str(build / "stratalog"))
    parser.add_argument("--mpiexec", default=os.environ.get("MPIEXEC", "mpiexec"))
    parser.add_argument(
        "--souffle", default=os.environ.get("STRATALOG_SOUFFLE", ""), help="a souffle program"
    )
    parser.add_argument("--scratch", type=Path, default=build / "bench")
    parser.add_argument("--out", type=Path, default=build / "bench" / "peers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1, 2], help="of the peer; one compilation each"
    )
    parser.add_argument(
        "--seconds", type=float, help="a run of Soufflé that takes longer is ended (default: none)"
    )
    parser.add_argument("--only", default="", help="cases whose name matches this pattern")
    args = parser.parse_args()
    if not SHARED.exists():
        print(f"bench: skipped, there are no data sets at {SHARED} (set STRATALOG_SHARED)")
        return 0
    args.scratch.mkdir(parents=True, exist_ok=True)
    about = machine()
    rows: list[dict[str, object]] = []
    for case in [*CLOSURES, *OTHERS]:
        if not re.search(args.only, case.name):
            continue
        print(f"bench: {case.name}", file=sys.stderr)
        rows.append(run_case(case, args))
        args.out.with_suffix(".json").write_text(
            json.dumps({"machine": about, "rows": rows}, indent=1)
        )
        args.out.with_suffix(".md").write_text(to_markdown(rows, about, args.threads))
    print(to_markdown(rows, about, args.threads))
    wrong = [
        r["case"] for r in rows for v in r.values() if isinstance(v, dict) and not v["correct"]
    ]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
