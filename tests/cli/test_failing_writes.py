# SPDX-License-Identifier: Apache-2.0
"""One write of one rank fails while ranks write a file together: no rank waits for ever.

HDF5 does not get out of such a write by itself (see hdf5_relation_writer.cc). A library that is
loaded in front of the C library fails the first large write of one rank to a checkpoint's file.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from stratalog_runner import EDGE_CLOSURE, Stratalog, chain, environment, preloaded_library

FAILS_ONCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static atomic_int failed;
static int is_of_checkpoint(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof(path) - 1);
  path[length < 0 ? 0 : length] = 0;
  return strstr(path, "/gen-") != 0;
}
static int fails(int fd, size_t bytes) {
  const char* rank = getenv("PMI_RANK");
  const char* wanted = getenv("FAILING_RANK");
  if (!rank || !wanted || strcmp(rank, wanted) || bytes < 65536) return 0;
  if (!is_of_checkpoint(fd)) return 0;
  if (atomic_exchange(&failed, 1)) return 0;
  errno = EIO;
  return 1;
}
#define FAILING(name)                                                              \\
  ssize_t name(int fd, const void* data, size_t bytes, off_t at) {                 \\
    ssize_t (*next)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, #name);    \\
    return fails(fd, bytes) ? -1 : next(fd, data, bytes, at);                          \\
  }
FAILING(pwrite)
FAILING(pwrite64)
ssize_t write(int fd, const void* data, size_t bytes) {
  ssize_t (*next)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  return fails(fd, bytes) ? -1 : next(fd, data, bytes);
}
"""
NODES = 700


@pytest.fixture(scope="session")
def failing_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return preloaded_library(tmp_path_factory.mktemp("failing"), FAILS_ONCE)


@pytest.mark.parametrize("rank", ("0", "1"))
@pytest.mark.parametrize(
    "mode",
    (
        ("shared",),
        ("hdf5",),
        ("hdf5-opt", "--hdf5-opt", "none"),
        ("hdf5-direct",),
        ("hdf5-streams", "--deflate", "0"),
    ),
    ids=" ".join,
)
def test_no_rank_waits_for_ever(
    stratalog: Stratalog, failing_library: Path, tmp_path: Path, mode: tuple[str, ...], rank: str
) -> None:
    program = tmp_path / "closure.dl"
    program.write_text(EDGE_CLOSURE)
    facts = chain(NODES, tmp_path / "chain")
    rows = ("--encoding", "rows_u64") if mode[0] == "shared" else ()
    command = stratalog.command(
        *("run", program, "-F", facts, "-q", "--checkpoint", tmp_path / "ck"),
        *("--every", "1h", "--mode", *mode, *rows),
        ranks=2,
    )
    variables = environment(LD_PRELOAD=str(failing_library), FAILING_RANK=rank)
    # `timeout` because the ranks leave SIGTERM to the next safe point, which a hang never meets.
    done = subprocess.run(
        ["timeout", "-s", "KILL", "90", *command],
        capture_output=True,
        text=True,
        env=variables,
        check=False,
    )
    assert done.returncode == 4, done
    assert f"path\t{NODES * (NODES - 1) // 2}" in done.stdout
    assert "the checkpoint at the end failed" in done.stderr
    # What failed once does not fail again.
    stratalog("run", *command[command.index("run") + 1 :], "--restart-fresh", ranks=2)
    stratalog("verify", tmp_path / "ck", "--deep")


LARGE_RELATIONS = """
.decl n(x: number)
n(x) :- x = range(0, 1000).
.decl p(x: number, y: number)
.decl r(x: number, y: number)
.decl s(x: number, y: number)
p(x, y) :- n(x), n(y).
r(x, y) :- p(x, y), x < y.
s(x, y) :- p(x, y), x > y.
.printsize p
"""


@pytest.mark.parametrize("limit", ("5000", "20000"))
@pytest.mark.parametrize(
    "mode", (("hdf5",), ("hdf5-opt", "--hdf5-opt", "none"), ("hdf5-opt",)), ids=" ".join
)
def test_a_file_that_gets_no_room_is_given_up_by_all(
    stratalog: Stratalog, tmp_path: Path, mode: tuple[str, ...], limit: str
) -> None:
    """The reservation is refused, and then what closing the file writes is refused, too."""
    program = tmp_path / "pairs.dl"
    program.write_text(LARGE_RELATIONS)
    command = stratalog.command(
        *("run", program, "-q", "--checkpoint", tmp_path / "ck"),
        *("--every", "1h", "--mode", *mode),
        ranks=2,
    )
    done = subprocess.run(
        ["bash", "-c", f'ulimit -f {limit}; exec timeout -s KILL 90 "$@"', "limited", *command],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 4, done
    assert "p\t1000000" in done.stdout
    assert "the checkpoint at the end failed" in done.stderr
