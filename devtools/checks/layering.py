# SPDX-License-Identifier: Apache-2.0
"""Include layering: a room includes only the rooms it lists under NEEDS in CMakeLists.txt.

The table of rooms is CMake's own (stratalog_room(NAME [DIR d] [SELDOM] NEEDS ...)), read from
there, so that it exists once. mpi_* and hdf5_* files are compiled into stratalog_parallel, which
stands on all rooms; they may include their room's needs. The command (src/cli) may include any
room; it reaches MPI and HDF5 only through the module that it loads. All other files include
neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.source_tree import Exceptions, Finding, SourceTree, code_only, includes

# Files that see MPI or HDF5: built into stratalog_parallel, never into a room's own library.
PARALLEL_FILE = re.compile(r"src/(.*/)?(mpi|hdf5)_[^/]*\.(h|cc)")
COMMAND_FILE = re.compile(r"src/cli/[^/]*\.(h|cc)")
FOREIGN_HEADER = re.compile(r'^\s*#\s*include\s+[<"](mpi|hdf5|H5\w+)\.h[">]', re.MULTILINE)


@dataclass(frozen=True)
class Room:
    name: str
    folder: str  # below src/
    needs: frozenset[str]


def read_rooms(cmake: str) -> dict[str, Room]:
    """Rooms by name, from the text of CMakeLists.txt."""
    rooms = {}
    for match in re.finditer(r"^\s*stratalog_room\(([^)]*)\)", cmake, re.MULTILINE):
        name, *rest = match.group(1).split()
        folder, needs, into = name, set(), ""
        for word in rest:
            if word in ("DIR", "NEEDS"):
                into = word
            elif word == "SELDOM":
                into = ""
            elif into == "DIR":
                folder = word
            elif into == "NEEDS":
                needs.add(word)
        rooms[name] = Room(name, folder, frozenset(needs))
    return rooms


def room_of(path: str, rooms: dict[str, Room]) -> Room | None:
    """The room in whose folder the file is; `path` is relative to src/."""
    folder = path.rpartition("/")[0]
    return next((room for room in rooms.values() if room.folder == folder), None)


def _cycle(rooms: dict[str, Room]) -> str | None:
    """CMake lists rooms in the order of the data flow: a room may need only rooms listed before."""
    seen: set[str] = set()
    for room in rooms.values():
        if late := sorted(room.needs - seen):
            return f"room '{room.name}' needs '{late[0]}', which is not listed before it"
        seen.add(room.name)
    return None


def check(tree: SourceTree, exceptions: Exceptions) -> list[Finding]:
    rooms = read_rooms(tree.text("CMakeLists.txt"))
    if not rooms:
        return [
            Finding("CMakeLists.txt", 0, "no stratalog_room(...) found: the layering is unchecked")
        ]
    found = []
    if problem := _cycle(rooms):
        found.append(Finding("CMakeLists.txt", 0, problem))
    for path in tree.select(r"src/.*\.(h|cc)"):
        found += _check_file(path, tree.text(path), rooms, exceptions)
    return found


def _check_file(
    path: str, text: str, rooms: dict[str, Room], exceptions: Exceptions
) -> list[Finding]:
    own = room_of(path.removeprefix("src/"), rooms)
    parallel = bool(PARALLEL_FILE.fullmatch(path))
    command = bool(COMMAND_FILE.fullmatch(path))
    if own is None and not parallel and not command:
        return [Finding(path, 0, "is in no room; add stratalog_room(...) to CMakeLists.txt")]
    found = []
    if not parallel:
        for match in FOREIGN_HEADER.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            message = f"includes {match.group(1)}.h; only mpi_* and hdf5_* files may"
            found.append(Finding(path, line, message))
    for line, target in includes(text):
        if FOREIGN_HEADER.match(f'#include "{target}"'):
            continue
        problem = _check_include(target, own, parallel, rooms)
        if problem and not exceptions.allows("layering", f"{path} -> {target}"):
            found.append(Finding(path, line, problem))
    if "COMM_WORLD" in code_only(text) and not path.startswith("src/cli/"):
        found.append(Finding(path, 0, "names COMM_WORLD; a library takes the Comm it is given"))
    return found


def _check_include(
    target: str, own: Room | None, parallel: bool, rooms: dict[str, Room]
) -> str | None:
    if "/" not in target:
        return f'includes "{target}"; write the path from src/, as in "base/status.h"'
    if target.startswith("cli/"):
        return None if own is None else f"room '{own.name}' includes the command line"
    other = room_of(target, rooms)
    if other is None:
        return f'includes "{target}", which is in no room'
    if PARALLEL_FILE.fullmatch(f"src/{target}") and not parallel:
        return f'includes "{target}", which sees MPI or HDF5'
    if own is None or other == own or other.name in own.needs:
        return None
    return f"room '{own.name}' includes room '{other.name}', which it does not list under NEEDS"
