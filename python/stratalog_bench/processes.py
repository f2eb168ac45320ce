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
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class BenchError(Exception):
    """Something that the user has to know, in one sentence."""


@dataclass(frozen=True)
class Programs:
    """What is started: the command and the launcher that belongs to it."""

    stratalog: str
    mpiexec: str

    @staticmethod
    def find() -> Programs:
        stratalog = os.environ.get("STRATALOG") or shutil.which("stratalog") or ""
        mpiexec = os.environ.get("MPIEXEC") or shutil.which("mpiexec") or ""
        if not stratalog:
            raise BenchError(
                "STRATALOG names no program; start this as `stratalog bench checkpoint`"
            )
        if not mpiexec:
            raise BenchError("no mpiexec on the PATH; name it with MPIEXEC=/path/to/mpiexec")
        return Programs(stratalog, mpiexec)

    def launch(self, ranks: int, *words: str) -> list[str]:
        return [self.mpiexec, "-n", str(ranks), self.stratalog, *words]


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
                said = complaints.read().strip()[-2000:] or "no message"
                yield {"event": "failed", "ranks": ranks, "message": f"exit code {code}: {said}"}


def run_to_end(command: list[str], ranks: int, seconds: float) -> tuple[int, str]:
    """Exit code and standard error of a command; code 124 after `seconds`."""
    with tempfile.TemporaryFile("w+") as complaints:
        deadline = time.monotonic() + seconds
        with started(command, ranks, complaints) as process:
            code = 124
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=max(1.0, deadline - time.monotonic()))
                code = process.returncode
        complaints.seek(0)
        return code, complaints.read().strip()[-2000:]
