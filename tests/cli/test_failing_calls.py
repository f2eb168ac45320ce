# SPDX-License-Identifier: Apache-2.0
"""Any one call of one rank that changes a checkpoint's files fails, in every mode, or one that
changes an HDF5 file of results: no rank waits for ever, nothing is said to be durable that is not,
and the older generation stays.

A library that is loaded in front of the C library counts a rank's calls on files of one folder and
fails one of them. How many there are is counted first; then each of them fails in a run of its
own.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from stratalog_runner import (
    EDGE_CLOSURE,
    Stratalog,
    chain,
    committed,
    environment,
    preloaded_library,
)

FAILS_AT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static atomic_int calls;
static int is_of_checkpoint(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof(path) - 1);
  path[length < 0 ? 0 : length] = 0;
  const char* generation = getenv("FAILING_FOLDER");
  return generation && strstr(path, generation) != 0;
}
static int fails(int fd) {
  const char* rank = getenv("PMI_RANK");
  const char* wanted = getenv("FAILING_RANK");
  if (!rank || !wanted || strcmp(rank, wanted) || !is_of_checkpoint(fd)) return 0;
  int call = atomic_fetch_add(&calls, 1) + 1;
  const char* at = getenv("FAILING_CALL");
  if (!at || atoi(at) != call) return 0;
  errno = EIO;
  return 1;
}
__attribute__((destructor)) static void tell(void) {
  const char* file = getenv("FAILING_COUNT");
  if (!file || calls == 0) return;
  FILE* out = fopen(file, "w");
  fprintf(out, "%d", (int)calls);
  fclose(out);
}
#define FAILING(type, name, parameters, arguments)              \\
  type name parameters {                                        \\
    type (*next) parameters = dlsym(RTLD_NEXT, #name);          \\
    return fails(fd) ? -1 : next arguments;                     \\
  }
FAILING(ssize_t, pwrite, (int fd, const void* data, size_t n, off_t at), (fd, data, n, at))
FAILING(ssize_t, pwrite64, (int fd, const void* data, size_t n, off_t at), (fd, data, n, at))
FAILING(ssize_t, write, (int fd, const void* data, size_t n), (fd, data, n))
FAILING(int, ftruncate, (int fd, off_t size), (fd, size))
FAILING(int, ftruncate64, (int fd, off_t size), (fd, size))
FAILING(int, fsync, (int fd), (fd))
FAILING(int, fdatasync, (int fd), (fd))
"""
NODES = 120
NEWEST = "gen-00000001-0000000002"
MODES = (
    ("fpp",),
    ("shared",),
    ("shared-opt",),
    ("hdf5",),
    ("hdf5-opt", "--hdf5-opt", "none"),
    ("hdf5-opt",),
    ("hdf5-opt", "--hdf5-opt", "O4", "--deflate", "1"),
    ("hdf5-direct",),
    ("hdf5-streams",),
)


class FailingRuns:
    """Runs on two ranks, in which a call of one rank on files of `folder` fails."""

    def __init__(self, library: Path, command: list[str], folder: str, rank: int) -> None:
        self.command = command
        self.variables = {
            "LD_PRELOAD": str(library),
            "FAILING_RANK": str(rank),
            "FAILING_FOLDER": folder,
        }

    def run(self, call: int, **more: str) -> subprocess.CompletedProcess[str]:
        # `timeout`: ranks leave SIGTERM to the next safe point, which a hang never meets.
        return subprocess.run(
            ["timeout", "-s", "KILL", "60", *self.command],
            capture_output=True,
            text=True,
            env=environment(**self.variables, **more, FAILING_CALL=str(call)),
            check=False,
        )

    def calls(self, count: Path) -> int:
        """Of a run in which none fails."""
        done = self.run(0, FAILING_COUNT=str(count))
        assert done.returncode == 0, done
        return int(count.read_text()) if count.exists() else 0


@pytest.fixture(scope="session")
def failing_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return preloaded_library(tmp_path_factory.mktemp("failing"), FAILS_AT)


@pytest.mark.parametrize("rank", (0, 1))
@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_any_call_of_a_checkpoint_may_fail(
    stratalog: Stratalog, failing_library: Path, tmp_path: Path, mode: tuple[str, ...], rank: int
) -> None:
    program = tmp_path / "closure.dl"
    program.write_text(EDGE_CLOSURE)
    checkpoints = tmp_path / "ck"
    command = stratalog.command(
        *("run", program, "-F", chain(NODES, tmp_path / "chain"), "-q", "--every", "60it"),
        *("--checkpoint", checkpoints, "--full-every", "1", "--mode", *mode),
        ranks=2,
    )
    runs = FailingRuns(failing_library, command, NEWEST, rank)
    calls = runs.calls(tmp_path / "count")
    assert calls > 0 or rank == 1
    for call in range(1, calls + 1):
        shutil.rmtree(checkpoints)
        done = runs.run(call)
        assert f"path\t{NODES * (NODES - 1) // 2}" in done.stdout, (call, done)
        failed = "checkpoint" in done.stderr and "fail" in done.stderr
        assert done.returncode in (0, 4), (call, done)
        assert failed or done.returncode == 0, (call, done)
        # What is there is whole, and something is there.
        assert committed(checkpoints), (call, done)
        stratalog("verify", checkpoints, "--deep")


@pytest.mark.parametrize("rank", (0, 1))
def test_any_call_of_an_hdf5_output_may_fail(
    stratalog: Stratalog, failing_library: Path, tmp_path: Path, rank: int
) -> None:
    program = tmp_path / "closure.dl"
    program.write_text(EDGE_CLOSURE + ".output path(IO=hdf5)\n")
    results = tmp_path / "results"
    results.mkdir()
    command = stratalog.command(
        *("run", program, "-F", chain(NODES, tmp_path / "chain"), "-q", "-D", results), ranks=2
    )
    runs = FailingRuns(failing_library, command, str(results), rank)
    calls = runs.calls(tmp_path / "count")
    assert calls > 0
    for call in range(1, calls + 1):
        done = runs.run(call)
        assert done.returncode == 4, (call, done)
        assert str(results) in done.stderr, (call, done)
