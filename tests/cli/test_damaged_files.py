# SPDX-License-Identifier: Apache-2.0
"""Bits of the files that ranks wrote through HDF5 and MPI-IO together are flipped, one at a time:
verify finds each, and a run that goes on takes the older generation, or the right tuples.

The modes that need no MPI are tested so without processes (tests/fault).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from stratalog_runner import EDGE_CLOSURE, Stratalog, chain, committed

NODES = 60
FLIPS = 90
MODES = (
    ("shared-opt",),
    ("hdf5",),
    ("hdf5-opt", "--hdf5-opt", "none"),
    ("hdf5-opt",),
    ("hdf5-opt", "--hdf5-opt", "O4", "--deflate", "1"),
)


def flip(path: Path, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes((byte ^ (1 << bit % 8),)))


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_every_flipped_bit_is_found(
    stratalog: Stratalog, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    program = tmp_path / "closure.dl"
    program.write_text(EDGE_CLOSURE)
    checkpoints = tmp_path / "ck"
    run = ("run", program, "-F", chain(NODES, tmp_path / "chain"), "-q", "--full-every", "1")
    run += ("--mode", *mode, "--every", "30it", "--checkpoint", checkpoints)
    stratalog(*run, ranks=2)
    older, newest = committed(checkpoints)[-2:]
    files = [path for path in (checkpoints / newest).iterdir() if path.stat().st_size > 0]
    assert any(path.name != "MANIFEST" for path in files)
    for path in files:
        bits = path.stat().st_size * 8
        for number in range(FLIPS):
            # Spread over the file, over bits of bytes and over both of its ends.
            bit = min(bits - 1, number * bits // (FLIPS - 1) + number % 8)
            flip(path, bit)
            found = stratalog("verify", checkpoints, "--deep", expect=None)
            assert found.code != 0, (path.name, bit)
            assert newest in found.out + found.err, (path.name, bit)
            # Also where several shards lie in what is damaged.
            lines = found.out.splitlines()
            assert len(set(lines)) == len(lines), (path.name, bit)
            assert "1 problems" not in found.out
            if number % 15 == 7:
                copy = tmp_path / "copy"
                shutil.copytree(checkpoints, copy)
                resumed = stratalog("resume", copy, ranks=2)
                assert f"path\t{NODES * (NODES - 1) // 2}" in resumed.out, (path.name, bit)
                # What lies between the extents of a shared file is verify's alone.
                kinds = (older, newest) if path.suffix == ".shared" else (older,)
                assert any(f"resumed from {kind}" in resumed.err for kind in kinds), path.name
                shutil.rmtree(copy)
            flip(path, bit)
    stratalog("verify", checkpoints, "--deep")


def test_options_that_no_resume_can_read_are_told(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "closure.dl"
    program.write_text(EDGE_CLOSURE)
    checkpoints = tmp_path / "ck"
    stratalog(
        *("run", program, "-F", chain(NODES, tmp_path / "chain"), "-D", "-"),
        *("--checkpoint", checkpoints),
    )
    assert stratalog("verify", checkpoints, "--json").json().keys() == {"generations"}
    (checkpoints / "options.json").write_text("")
    told = stratalog("verify", checkpoints, expect=3)
    assert "all is well" in told.out and "options.json is damaged" in told.out
    assert (
        "options.json"
        in stratalog("verify", checkpoints, "--json", expect=3).json()["options_problem"]
    )
    stratalog("resume", checkpoints, expect=3)
