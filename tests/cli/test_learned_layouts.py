# SPDX-License-Identifier: Apache-2.0
"""Mode hdf5-auto: HDF5 files, and what they cost decides how they are written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from stratalog_runner import PROGRAMS, Stratalog, chain, preloaded_library

NODES = 1300
PAIRS = NODES * (NODES - 1) // 2  # 13.5 MB: what is below 10 MB is never deflated

# A network of 20 MB a second for each rank, in the way of whatever writes files.
SLOW_WRITES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
static void wait_for(ssize_t bytes) {
  if (bytes < 4096) return;
  long long ns = bytes * 50LL;
  struct timespec t = {ns / 1000000000, ns % 1000000000};
  nanosleep(&t, 0);
}
#define SLOW_PWRITE(name)                                                                \\
  ssize_t name(int fd, const void* data, size_t bytes, off_t at) {                       \\
    ssize_t (*next)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, #name);          \\
    wait_for(bytes);                                                                     \\
    return next(fd, data, bytes, at);                                                    \\
  }
SLOW_PWRITE(pwrite)
SLOW_PWRITE(pwrite64)
ssize_t write(int fd, const void* data, size_t bytes) {
  ssize_t (*next)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  wait_for(bytes);
  return next(fd, data, bytes);
}
"""


@pytest.fixture(scope="module")
def slow_writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return preloaded_library(tmp_path_factory.mktemp("slow"), SLOW_WRITES)


def run(stratalog: Stratalog, out: Path, *options: object, **extra: object) -> Path:
    checkpoints = out / "ck"
    done = stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", chain(NODES, out / "facts"), "-D", out),
        *("--checkpoint", checkpoints, "--every", "40it", "--durability", "none"),
        *("--keep", "60", "--mode", "hdf5-auto", *options),
        **extra,
    )
    assert done.sizes() == {"path": PAIRS}
    return checkpoints


def layouts(stratalog: Stratalog, checkpoints: Path) -> dict[str, str]:
    """What the manifests say of each generation, oldest first."""
    names = [g["name"] for g in stratalog("ls", checkpoints, "--json").json()["generations"]]
    return {
        name: "\n".join(
            f"{reason['about']}: {reason['text']}"
            for reason in stratalog("inspect", checkpoints, name, "--json").json()["layout"]
        )
        for name in sorted(names)
    }


def test_a_slow_file_system_teaches_deflate(
    stratalog: Stratalog, slow_writes: Path, tmp_path: Path
) -> None:
    checkpoints = run(
        stratalog, tmp_path, "--full-every", "1", ranks=2, LD_PRELOAD=str(slow_writes)
    )
    said = layouts(stratalog, checkpoints)
    last = list(said.values())[-1]
    measured = next(line for line in last.splitlines() if line.startswith("auto: measured: "))
    for option in (
        "hdf5-direct",
        "hdf5-opt over 1 file, contiguous",
        "hdf5-opt over 1 file, deflate 1",
    ):
        assert option in measured
    assert measured.count(" s for about ") >= 4  # and neighbours
    assert any("deflate 3, to measure it" in text for text in said.values())
    # What it settled on: the last save of all may try something else.
    choices = [
        line
        for text in said.values()
        for line in text.splitlines()
        if line.startswith("auto: choice: ")
    ]
    settled = [line for line in choices if not line.endswith(" to measure it at this size")]
    assert "deflate" in settled[-1]
    assert "all is well" in stratalog("verify", checkpoints, "--deep").out
    h5py = pytest.importorskip("h5py")
    compressions = set()
    for name in said:
        rows = []
        for path in sorted((checkpoints / name).glob("*.h5")):
            with h5py.File(path) as file:
                if "path.total" in file and not file["path.total"].is_virtual:
                    compressions.add(file["path.total"].compression)
                    rows.append(np.asarray(file["path.total"]))
        pairs = np.concatenate(rows)
        assert (pairs[:, 0] < pairs[:, 1]).all()
        assert len(np.unique(pairs, axis=0)) == len(pairs)
        state = stratalog("inspect", checkpoints, name, "--json").json()
        assert state["mode"] in ("hdf5-direct", "hdf5-opt")
        totals = [r["rows"] for r in state["relations"] if r["name"] == "path"]
        assert len(pairs) in totals
    assert compressions == {None, "gzip"}
    # What was chosen goes on choosing.
    resumed = stratalog("resume", checkpoints, list(said)[-5], ranks=3)
    assert resumed.sizes() == {"path": PAIRS}
    assert json.loads((checkpoints / "options.json").read_text())["mode"] == "hdf5-auto"


def test_a_wish_is_never_tried_otherwise(
    stratalog: Stratalog, slow_writes: Path, tmp_path: Path
) -> None:
    for level in ("0", "6"):
        out = tmp_path / level
        out.mkdir()
        checkpoints = run(
            stratalog,
            out,
            *("--full-every", "1", "--deflate", level),
            ranks=2,
            LD_PRELOAD=str(slow_writes),
        )
        for text in layouts(stratalog, checkpoints).values():
            for line in text.splitlines():
                if line.startswith("auto: choice: "):
                    assert ("deflate 6" in line) == (level == "6"), line
                    assert "deflate 1" not in line


@pytest.mark.parametrize("where", [{"ranks": 2}, {}, {"threads": 3}], ids=str)
def test_chains(stratalog: Stratalog, tmp_path: Path, where: dict[str, int]) -> None:
    threads = where.get("threads")
    jobs = ("-j", threads) if threads else ()
    checkpoints = run(stratalog, tmp_path, *jobs, ranks=where.get("ranks"))
    state = stratalog("inspect", checkpoints, "--json").json()
    assert state["mode"].startswith("hdf5-")
    assert state["builds_on"]
    assert "all is well" in stratalog("verify", checkpoints, "--deep").out
    if threads:
        assert state["mode"] == "hdf5-direct"
        assert "hdf5-opt" not in "".join(layouts(stratalog, checkpoints).values())
    resumed = stratalog("resume", checkpoints, sorted(layouts(stratalog, checkpoints))[3], ranks=3)
    assert resumed.sizes() == {"path": PAIRS}


def test_threads_cannot_deflate(stratalog: Stratalog, tmp_path: Path) -> None:
    refused = stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", chain(5, tmp_path / "facts"), "-j", 2),
        *("--checkpoint", tmp_path / "ck", "--mode", "hdf5-auto", "--deflate", "3"),
        expect=1,
    )
    assert "--deflate 3 of mode hdf5-auto writes through MPI" in refused.err
