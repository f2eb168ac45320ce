# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a measurement and ends them, whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = dict[str, Any]
# A launcher that has not started one rank by then (it may wait in a queue) is given up.
START_SECONDS = 300


class BenchError(Exception):
    """Something that the user has to know, in one sentence."""


@dataclass(frozen=True)
class Programs:
    """What is started: the command and the launcher that belongs to it."""

    stratalog: str
    mpiexec: str

    @staticmethod
    def find() -> Programs:
        named = os.environ.get("MPIEXEC")
        mpiexec = shutil.which(named or "mpiexec")
        if mpiexec is None:
            raise BenchError(
                f"MPIEXEC is '{named}', which is no program"
                if named
                else "no mpiexec on the PATH; name it with MPIEXEC=/path/to/mpiexec"
            )
        return Programs(find_stratalog(), mpiexec)

    def launch(self, ranks: int, *words: str) -> list[str]:
        return [self.mpiexec, "-n", str(ranks), self.stratalog, *words]

    def launcher_complaint(self, version: str) -> str:
        """Why no rank can be started, empty if one can: it is asked for its `version`."""
        command = self.launch(1, "--version")
        try:
            code, out, said = _outcome(command, 1, START_SECONDS)
        except OSError as problem:
            return f"cannot start {self.mpiexec}: {problem.strerror}"
        if code != 0:
            return broken_text(command, code, said)
        if version not in out:
            said = f": {out.strip()[-200:]}" if out.strip() else ""
            return f"{_launcher(command)} started no rank of {self.stratalog}{said}"
        return ""


def find_stratalog() -> str:
    stratalog = os.environ.get("STRATALOG") or shutil.which("stratalog")
    if not stratalog:
        raise BenchError("STRATALOG names no program; start this as `stratalog bench checkpoint`")
    return stratalog


def _launcher(command: list[str]) -> str:
    """The launcher's part of a command: it, and how many ranks it was to start."""
    return " ".join(command[:3])


def broken_text(command: list[str], code: int, said: str) -> str:
    """How ranks ended, and what they or their launcher said: nobody else knows which it was."""
    what = f": {said}" if said else " and said nothing"
    return f"{_launcher(command)} ended with exit code {code}{what}"


def environment(ranks: int) -> dict[str, str]:
    """Ranks that share cores must give way while they wait (MPICH waits by spinning)."""
    if ranks < (os.cpu_count() or 1):
        return dict(os.environ)
    throttle = {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "10",
    }
    return {**throttle, **os.environ}


@contextlib.contextmanager
def started(command: list[str], ranks: int, complaints: Any) -> Iterator[subprocess.Popen[str]]:
    """A process group of its own, which is gone when the block is left."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=complaints,
        text=True,
        env=environment(ranks),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            for end in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, end)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
                    break
        if process.stdout is not None:
            process.stdout.close()


def run_worker(programs: Programs, ranks: int, spec: Event) -> Iterator[Event]:
    """One line of the worker after the other, as they come; a last event "failed" if it broke."""
    with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as scratch:
        file = Path(scratch) / "spec.json"
        file.write_text(json.dumps(spec))
        with tempfile.TemporaryFile("w+") as complaints:
            command = programs.launch(ranks, "bench", "worker", str(file))
            with started(command, ranks, complaints) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    with contextlib.suppress(json.JSONDecodeError):
                        yield json.loads(line)
                code = process.wait()
            if code != 0:
                complaints.seek(0)
                said = complaints.read().strip()[-2000:]
                message = broken_text(command, code, said)
                yield {"event": "failed", "ranks": ranks, "message": message}


def _outcome(command: list[str], ranks: int, seconds: float) -> tuple[int, str, str]:
    """Exit code, standard output and error of a command; code 124 after `seconds`."""
    with tempfile.TemporaryFile("w+") as complaints:
        code, out = 124, ""
        with (
            started(command, ranks, complaints) as process,
            contextlib.suppress(subprocess.TimeoutExpired),
        ):
            out, _ = process.communicate(timeout=seconds)
            code = process.returncode
        complaints.seek(0)
        return code, out, complaints.read().strip()[-2000:]


def run_to_end(command: list[str], ranks: int, seconds: float) -> tuple[int, str]:
    """Exit code and standard error of a command; code 124 after `seconds`."""
    code, _, said = _outcome(command, ranks, seconds)
    return code, said
