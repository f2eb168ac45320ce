#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One closure in the forms in which people write it, with filters, and with rules behind it.

Each form is run by each PROGRAM (`--stratalog NAME=PATH`, several to compare builds), with 1 and 2
threads, and by Soufflé's interpreter where --souffle names it; least of --repeats runs in turns,
ended after --seconds. All must print the same sizes. Writes OUT.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from peers import machine, run_to_end

HEAD = """.decl edge(a: number, b: number)
.input edge
.decl node(a: number)
node(x) :- edge(x, _), x % 3 != 0.
.decl src(a: number)
src(x) :- edge(x, _), x % 50 = 0.
.decl sink(a: number)
sink(y) :- edge(_, y), !edge(y, _).
.decl root(a: number)
root(x) :- edge(x, _), !edge(_, x).
.decl path(a: number, b: number)
.printsize path
path(x, y) :- edge(x, y).
"""
CLOSURES = {
    "": "path(x, z) :- path(x, y), edge(y, z).",
    "backwards": "path(x, z) :- edge(x, y), path(y, z).",
    "two paths": "path(x, z) :- path(x, y), path(y, z).",
    "two paths, both ways": "path(x, z) :- path(x, y), path(y, z).\npath(x, y) :- path(y, x).",
    "two paths, node(y)": "path(x, z) :- path(x, y), path(y, z), node(y).",
}
FILTERS = [
    *("node(x)", "node(y)", "node(z)", "!node(x)", "x != z", "x % 3 != 0", "y % 3 != 0"),
    *("z % 3 != 0", "(y + z) % 3 != 0", "x < z"),
]
BEHIND = {
    "hop": ("a: number, b: number", "q(x, z) :- edge(x, y), path(y, z)."),
    "cycles": ("a: number, b: number", "q(x, y) :- path(x, y), path(y, x)."),
    "turned": ("a: number, b: number", "q(y, x) :- path(x, y)."),
    "missing": ("a: number, b: number", "q(x, y) :- src(x), node(y), !path(x, y)."),
    "from roots to sinks": ("a: number, b: number", "q(x, y) :- root(x), path(x, y), sink(y)."),
    "met by two": (
        "a: number, b: number",
        "q(x, y) :- path(x, z), path(y, z), src(x), src(y), src(z).",
    ),
    "how many": ("a: number, n: number", "q(x, n) :- node(x), n = count : { path(x, _) }."),
}


def forms() -> dict[str, str]:
    """The whole program of each form, by what is special about it."""
    programs = {name or "as it is": HEAD + rule for name, rule in CLOSURES.items()}
    step = CLOSURES[""].rstrip(".")
    programs |= {f"`{test}`": HEAD + f"{step}, {test}." for test in FILTERS}
    for name, (columns, rule) in BEHIND.items():
        more = f"\n.decl q({columns})\n.printsize q\n{rule}"
        programs[f"{name}: `{rule.rstrip('.')}`"] = HEAD + CLOSURES[""] + more
    return {name: text + "\n" for name, text in programs.items()}


def least(commands: dict[str, list[str]], repeats: int, seconds: float) -> dict[str, str]:
    """Cells of a table, by way; a way that is ended once is not tried again."""
    walls: dict[str, float] = {}
    peaks: dict[str, int] = {}
    printed: dict[str, str] = {}
    for _ in range(repeats):
        for way, command in commands.items():
            if walls.get(way, 0) >= seconds:
                continue
            run = run_to_end(command, stderr=subprocess.DEVNULL, seconds=seconds)
            walls[way] = min(walls.get(way, run.wall_seconds), run.wall_seconds)
            peaks[way] = max(peaks.get(way, 0), run.peak_kib)
            if run.wall_seconds >= seconds:
                walls[way] = seconds
                continue
            if run.returncode != 0:
                raise SystemExit(f"{' '.join(command)} ended with {run.returncode}")
            printed[way] = " ".join(sorted(run.printed.split()))
    if len(set(printed.values())) > 1:
        raise SystemExit(f"they do not say the same: {printed}")
    return {
        way: f"over {seconds:g}" if wall >= seconds else f"{wall:.2f}, {peaks[way] >> 10}"
        for way, wall in walls.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stratalog", action="append", required=True, metavar="NAME=PATH")
    parser.add_argument("--souffle", type=Path)
    parser.add_argument("--facts", type=Path, required=True, help="folder with edge.facts")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--out", type=Path, required=True, help="OUT.md is written")
    options = parser.parse_args()
    builds = dict(each.split("=", 1) for each in options.stratalog)
    ways = [f"{name}, {j}" for name in builds for j in options.threads]
    ways += ["Soufflé, 1"] if options.souffle else []
    lines = [f"| s, MiB | {' | '.join(ways)} |", f"|---|{'--:|' * len(ways)}"]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "form.dl"
        commands = {
            f"{name}, {j}": [path, "run", str(file), "-F", str(options.facts), "-q", "-j", str(j)]
            for name, path in builds.items()
            for j in options.threads
        }
        if options.souffle:
            facts = ["-F", str(options.facts)]
            commands["Soufflé, 1"] = [str(options.souffle), str(file), *facts, "-w", "-j", "1"]
        for form, text in forms().items():
            file.write_text(text)
            cells = least(commands, options.repeats, options.seconds)
            lines.append(f"| {form} | {' | '.join(cells[way] for way in ways)} |")
            print(lines[-1], flush=True)
    about = f"{machine()['cpu']}, {machine()['cores']} cores; {' '.join(sys.argv)}\n\n"
    options.out.with_suffix(".md").write_text(about + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
