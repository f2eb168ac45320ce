# SPDX-License-Identifier: Apache-2.0
"""Banned symbols: what library objects may call, read with `nm` from the built static libraries.

The include check sees words; this one sees what really got into an object, however it was spelt.
Needs a build folder (STRATALOG_BUILD, or build/).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checks.compile_commands import build_folder, sources_of
from checks.layering import read_rooms
from checks.source_tree import Exceptions, Finding, SourceTree


@dataclass(frozen=True)
class Ban:
    what: str
    pattern: re.Pattern[str]  # of the undefined symbol, as nm -C prints it
    rooms_allowed: frozenset[str] = frozenset()
    files_allowed: str = r"$^"  # member name without .o, such as mpi_comm.cc


BANS = (
    Ban("calls MPI", re.compile(r"P?MPIX?_\w+"), files_allowed=r"(mpi|hdf5)_.*"),
    Ban("calls HDF5", re.compile(r"H5[A-Z]\w*"), files_allowed=r"hdf5_.*"),
    Ban(
        "prints",
        re.compile(
            r"(v?f?printf|puts|fputs|putchar|fputc|stdout|stderr|perror|__v?f?printf_chk)|std::(cout|cerr|clog)"
            r"|fmt::v\d+::vprint.*"
        ),
    ),
    Ban("ends the process", re.compile(r"_?exit|_Exit|quick_exit|abort|raise")),
    Ban("reads the environment", re.compile(r"(secure_)?getenv|setenv|environ")),
    Ban(
        "opens files",
        re.compile(
            r"open(64|at|at64)?|creat(64)?|f(d|re)?open(64)?|gz(d)?open(64)?|mkstemp(64)?"
            r"|std::basic_[io]?f(stream|ilebuf)<.*|std::filesystem::.*"
        ),
        rooms_allowed=frozenset({"write", "read"}),
        files_allowed=r"hdf5_.*",
    ),
    Ban("starts programs", re.compile(r"system|popen|v?fork|posix_spawnp?|exec[lv]p?e?")),
    Ban("uses unseeded chance", re.compile(r"s?rand(om)?|std::random_device::.*")),
)


def libraries(tree: SourceTree) -> dict[str, Path]:
    """Built static libraries of the rooms, and the parallel one, by room name."""
    names = [*read_rooms(tree.text("CMakeLists.txt")), "parallel"]
    found = {}
    for name in names:
        file = f"libstratalog_{name}.a"
        if path := next(iter(sorted(build_folder(tree).rglob(file))), None):
            found[name] = path
    return found


def undefined_symbols(listing: str) -> Iterator[tuple[str, str]]:
    """(member without .o, symbol) from the output of `nm -C -A --undefined-only` on an archive."""
    for line in listing.splitlines():
        if match := re.match(r"[^:]*:([^:]+)\.o:\s+[Uw] (.+)", line):
            yield match.group(1), re.sub(r"@.*", "", match.group(2))


def judge(
    room: str, symbols: Iterator[tuple[str, str]], exceptions: Exceptions
) -> Iterator[Finding]:
    """One finding for each object and ban, naming the symbols."""
    bad: dict[tuple[str, str], list[str]] = {}
    for member, symbol in symbols:
        for ban in BANS:
            if not ban.pattern.fullmatch(symbol) or room in ban.rooms_allowed:
                continue
            if re.fullmatch(ban.files_allowed, member):
                continue
            if not exceptions.allows("banned_symbols", f"{room}/{member}: {symbol}"):
                bad.setdefault((member, ban.what), []).append(symbol)
    for (member, what), names in bad.items():
        listed = ", ".join(sorted(set(names))[:4])
        yield Finding(f"src/{room}/{member}", 0, f"{what} ({listed})")


def name_sources(build: Path, room: str, found: Iterator[Finding]) -> Iterator[Finding]:
    """Findings in files that were compiled together name all of them."""
    for finding in found:
        unity = build / "CMakeFiles" / f"stratalog_{room}.dir" / "Unity" / Path(finding.path).name
        names = " or ".join(source.name for source in sources_of(unity))
        yield Finding(f"src/{room}/{names}", finding.line, finding.message)


def check(tree: SourceTree, exceptions: Exceptions) -> list[Finding]:
    found: list[Finding] = []
    for room, library in libraries(tree).items():
        listing = subprocess.run(
            ["nm", "-C", "-A", "--undefined-only", str(library)],
            capture_output=True,
            text=True,
            check=True,
        )
        judged = judge(room, undefined_symbols(listing.stdout), exceptions)
        found += name_sources(build_folder(tree), room, judged)
    return found
