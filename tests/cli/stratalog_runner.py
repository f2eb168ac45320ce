# SPDX-License-Identifier: Apache-2.0
"""Starts the built command, with or without mpiexec, and reads what it leaves behind.

STRATALOG and MPIEXEC name the programs; CTest sets them (cmake/tests.cmake).
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import tarfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
PROGRAMS = DATA / "programs"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
RANK_COUNTS = (1, 2, 3, 4, 7)


def environment(**extra: str) -> dict[str, str]:
    """More ranks than cores: ranks must give way while they wait, or runs take minutes."""
    throttle = {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "10",
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    }
    return {**os.environ, **throttle, **extra}


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str

    def sizes(self) -> dict[str, int]:
        """What .printsize printed."""
        lines = [line.split("\t") for line in self.out.splitlines()]
        return {line[0]: int(line[1]) for line in lines if len(line) == 2}

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Stratalog:
    program: str = field(default_factory=lambda: os.environ["STRATALOG"])
    mpiexec: str = field(default_factory=lambda: os.environ["MPIEXEC"])

    def command(self, *arguments: object, ranks: int | None = None) -> list[str]:
        launcher = [] if ranks is None else [self.mpiexec, "-n", str(ranks)]
        return [*launcher, self.program, *map(str, arguments)]

    def __call__(
        self,
        *arguments: object,
        ranks: int | None = None,
        expect: int | None = 0,
        timeout: float = 300,
        cwd: Path | None = None,
        text: str | None = None,
        **extra: str,
    ) -> Finished:
        """Runs to the end. `expect` is the exit code that must come out; None takes any."""
        result = subprocess.run(
            self.command(*arguments, ranks=ranks),
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=cwd,
            env=environment(**extra),
            input=text if text is not None else "",
            check=False,
            # Hydra dies of SIGPIPE itself where ranks end before it has said all to them.
            restore_signals=ranks is None,
        )
        finished = Finished(result.returncode, result.stdout, result.stderr)
        if expect is not None:
            assert finished.code == expect, f"{arguments} at {ranks} ranks\n{finished}"
        return finished

    def run_command(self, command: list[str], timeout: float = 300) -> Finished:
        """A command line of the test's own, in the environment of all runs."""
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment(),
            input="",
            check=False,
        )
        return Finished(result.returncode, result.stdout, result.stderr)

    def start(self, *arguments: object, ranks: int | None = None) -> subprocess.Popen[str]:
        """In a process group of its own, so that a test can kill all ranks."""
        return subprocess.Popen(
            self.command(*arguments, ranks=ranks),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            start_new_session=True,
        )


# For facts of one relation `edge`.
EDGE_CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.printsize path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def preloaded_library(folder: Path, source: str) -> Path:
    """Compiles C that goes between a program and the C library (LD_PRELOAD)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "preloaded.c").write_text(source)
    library = folder / "preloaded.so"
    command = [compiler, "-shared", "-fPIC", "-o", library, folder / "preloaded.c", "-ldl"]
    subprocess.run(command, check=True)
    return library


def committed(checkpoints: Path) -> list[str]:
    """Names of generations whose manifest is in place, oldest first."""
    names = (path.parent.name for path in checkpoints.glob("gen-*/MANIFEST"))
    return sorted(set(names))


def outputs(folder: Path) -> dict[str, bytes]:
    """The output files of a run."""
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def check_resumed_generations(
    stratalog: Stratalog,
    run: tuple[object, ...],
    folder: Path,
    *,
    before: int | None,
    after: int | None,
    more_than: int,
    stride: int,
    exported: str,
) -> None:
    """A run that keeps all generations on `before` ranks, resumed on `after` ranks from every
    `stride`-th of them: always the outputs of a whole run. `exported` names a relation."""
    stratalog("run", *run, "-D", folder / "whole")
    store = folder / "checkpoints"
    keep = ("--checkpoint", store, "--every", "1it", "--keep", "100")
    stratalog("run", *run, "-D", folder / "first", *keep, ranks=before)
    generations = committed(store)
    assert len(generations) > more_than
    for generation in generations[1::stride]:
        copy = folder / f"copy-{generation}"
        shutil.copytree(store, copy)
        resumed = folder / generation
        stratalog("resume", copy, generation, *run[1:], "-D", resumed, ranks=after)
        assert outputs(resumed) == outputs(folder / "whole"), generation
    table = folder / "exported.csv"
    stratalog("export", store, table, "--relation", exported)
    assert table.read_bytes() == (folder / "whole" / f"{exported}.csv").read_bytes()


def wait_until(condition: Any, seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def unpack_graph(name: str, folder: Path, archive: Path | None = None) -> Path:
    """folder/edge.facts from a packed edge list."""
    folder.mkdir(parents=True, exist_ok=True)
    source = archive or DATA / "graphs" / f"{name}.tsv.xz"
    (folder / "edge.facts").write_bytes(lzma.decompress(source.read_bytes()))
    return folder


def unpack_facts(archive: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder


def chain(nodes: int, folder: Path) -> Path:
    """1 -> 2 -> ... -> nodes: its closure has nodes*(nodes-1)/2 pairs, found in nodes-1 rounds."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(1, nodes)))
    return folder
