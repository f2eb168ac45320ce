# SPDX-License-Identifier: Apache-2.0
"""Runs that stop themselves (SIGSTOP) at an operation that the test names.

A test that looks, waits and then damages, signals or kills races against the run, and loses on a
busy machine. These runs stand still when they have come to where the test wants them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from stratalog_runner import Stratalog, environment, preloaded_library

# Goes between the program and the C library. STOP_AT_COMMIT=N: the N-th manifest has got its name.
# STOP_AT_WRITE=N: the N-th write to a checkpoint is about to happen. STOP_AT_FAILED_WRITE=N: the
# N-th one that failed has. Each stops once, with its thread in the operation.
STOPPER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static atomic_long commits, writes, failures;
static void count(atomic_long* seen, const char* wanted) {
  const char* at = getenv(wanted);
  if (at && atomic_fetch_add(seen, 1) + 1 == atol(at)) kill(getpid(), SIGSTOP);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  int (*next)(int, const char*, int, const char*) = dlsym(RTLD_NEXT, "renameat");
  int result = next(from_folder, from, to_folder, to);
  size_t length = strlen(to);
  if (result == 0 && length >= 8 && !strcmp(to + length - 8, "MANIFEST"))
    count(&commits, "STOP_AT_COMMIT");
  return result;
}
#define WATCHED_PWRITE(name)                                                             \\
  ssize_t name(int fd, const void* data, size_t bytes, off_t at) {                       \\
    ssize_t (*next)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, #name);          \\
    count(&writes, "STOP_AT_WRITE");                                                     \\
    ssize_t result = next(fd, data, bytes, at);                                          \\
    if (result < 0) count(&failures, "STOP_AT_FAILED_WRITE");                            \\
    return result;                                                                       \\
  }
WATCHED_PWRITE(pwrite)
WATCHED_PWRITE(pwrite64)
"""


def descendants(ancestor: int) -> list[int]:
    """Processes below another one, also those that mpiexec and its helpers have started."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (fields := status_fields(int(entry.name))):
            parents[int(entry.name)] = int(fields[1])

    def descends(pid: int) -> bool:
        while pid in parents and pid != ancestor:
            pid = parents[pid]
        return pid == ancestor

    return [pid for pid in parents if pid != ancestor and descends(pid)]


def status_fields(pid: int) -> list[str]:
    """State, parent and so on; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


@dataclass
class StoppedRun:
    process: subprocess.Popen[str]
    pid: int  # of the rank that stands still

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def send_and_go_on(self, *numbers: signal.Signals) -> None:
        """The signals are there before the run takes another step, also by way of a launcher."""
        for number in numbers:
            self.process.send_signal(number)
            wait_for_signal(self.pid, number)
        self.go_on()

    def kill(self) -> None:
        """SIGKILL to every rank, as a node that loses power would: no handler, no clean end."""
        for pid in descendants(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.kill()
        self.process.communicate(timeout=60)

    def end(self) -> tuple[str, str]:
        """Goes on to the end: standard output and error."""
        self.go_on()
        return self.process.communicate(timeout=300)


class StoppingRuns:
    def __init__(self, stratalog: Stratalog, folder: Path) -> None:
        self.stratalog = stratalog
        self.library = preloaded_library(folder, STOPPER)

    def __call__(
        self, *arguments: object, ranks: int | None = None, kib: int | None = None, **where: int
    ) -> StoppedRun:
        """Starts a run and returns when it stands still. `where`: STOP_AT_... as above.
        Of several ranks the others go on to where they wait for the one that
        stands still. `kib`: files may not be larger, until somebody raises the limit."""
        limit = [] if kib is None else ["sh", "-c", f'ulimit -S -f {2 * kib}; exec "$0" "$@"']
        process = subprocess.Popen(
            [*limit, *self.stratalog.command(*arguments, ranks=ranks)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(
                LD_PRELOAD=str(self.library), **{name: str(value) for name, value in where.items()}
            ),
            start_new_session=True,
        )
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            for pid in (process.pid, *descendants(process.pid)):
                if status_fields(pid)[:1] == ["T"]:
                    return StoppedRun(process, pid)
            if process.poll() is not None:
                break
            time.sleep(0.01)
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"the run did not come to {where}\n{out}\n{err}")


def wait_for_signal(pid: int, number: signal.Signals) -> None:
    """Until a signal waits for a process that stands still."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("ShdPnd:") and int(line.split()[1], 16) >> (number - 1) & 1:
                return
        time.sleep(0.01)
    pytest.fail(f"signal {number} did not come")
