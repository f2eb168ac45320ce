# SPDX-License-Identifier: Apache-2.0
"""Every header of src/ compiles when it is the first thing a file includes.

Where x.cc exists beside x.h, it must include x.h first: then the build itself is the proof. Only
headers without such a file are compiled here, with the flags of a file of the same folder or,
failing that, any.
"""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

from checks.clean_cache import CleanCache
from checks.compile_commands import compile_commands, flags_only
from checks.source_tree import Exceptions, Finding, SourceTree, includes


def check(tree: SourceTree, _: Exceptions) -> list[Finding]:
    found, alone = first_includes(tree)
    commands = compile_commands(tree)
    if not commands:
        return found
    cache = CleanCache(tree, "headers_alone", "1")
    todo = [path for path in alone if not cache.is_clean(path)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda p: _compile(tree, p, _flags_for(p, commands)), todo))
    for path, error in zip(todo, results, strict=True):
        if error:
            found.append(Finding(path, 0, f"does not compile alone: {error}"))
        else:
            cache.remember(path)
    return found


def first_includes(tree: SourceTree) -> tuple[list[Finding], list[str]]:
    """Findings for x.cc that do not include x.h first; headers that have no x.cc."""
    found, alone = [], []
    known = set(tree.paths)
    for header in tree.select(r"src/.*\.h"):
        source = header.removesuffix(".h") + ".cc"
        if source not in known:
            alone.append(header)
            continue
        first = next(includes(tree.text(source)), (0, ""))
        if f"src/{first[1]}" != header:
            message = f'its first include must be "{header.removeprefix("src/")}"'
            found.append(Finding(source, first[0], message))
    return found, alone


def _flags_for(header: str, commands: dict[str, list[str]]) -> list[str]:
    folder = header.rpartition("/")[0]
    sees_more = ("/mpi_" in header, "/hdf5_" in header)

    def distance(path: str) -> tuple[bool, bool, str]:
        parallel = "/mpi_" in path or "/hdf5_" in path or path.startswith("src/cli/")
        return (any(sees_more) != parallel, path.rpartition("/")[0] != folder, path)

    sources = [path for path in commands if path.startswith("src/")] or list(commands)
    return flags_only(commands[min(sources, key=distance)])


def _compile(tree: SourceTree, header: str, flags: list[str]) -> str | None:
    """The first error, or None."""
    text = f'#include "{tree.root / header}"\n'
    command = [*flags, "-fsyntax-only", "-w", "-x", "c++", "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    errors = [line for line in result.stderr.splitlines() if "error" in line]
    return (errors or result.stderr.splitlines() or ["unknown"])[0]
