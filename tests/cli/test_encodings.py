# SPDX-License-Identifier: Apache-2.0
"""Encodings of tuples through the command: written, verified, read by others, resumed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from stratalog_runner import PROGRAMS, Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

from stratalog_formats.read_checkpoint import newest_generation  # noqa: E402

NODES = 150


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    (folder / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(NODES)))
    return folder


def run(stratalog: Stratalog, chain: Path, out: Path, *options: str, ranks: int = 2) -> Path:
    checkpoints = out / "checkpoints"
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", chain, "-D", out / "out"),
        *("--checkpoint", checkpoints, "--every", "40it", "--durability", "none"),
        *options,
        ranks=ranks,
    )
    return checkpoints


def half_way(checkpoints: Path) -> str:
    """The oldest generation; a resumed run has rounds left and writes checkpoints of its own."""
    return sorted(checkpoints.glob("gen-*/MANIFEST"))[0].parent.name


def encoding_of(stratalog: Stratalog, checkpoints: Path) -> str:
    return str(stratalog("inspect", checkpoints, "--json").json()["encoding"])


@pytest.mark.parametrize("mode", ["fpp", "shared"])
@pytest.mark.parametrize("encoding", ["compact", "streams", "auto", "rows_u64"])
def test_written_verified_read_and_resumed(
    stratalog: Stratalog, chain: Path, tmp_path: Path, mode: str, encoding: str
) -> None:
    options = ("--encoding", encoding, "--mode", mode)
    checkpoints = run(stratalog, chain, tmp_path, *options, "--no-pivot")
    assert encoding_of(stratalog, checkpoints) == encoding
    stratalog("verify", checkpoints, "--deep")
    generation = newest_generation(checkpoints)
    rows = generation.rows(generation.find("path"))
    assert len(np.unique(rows, axis=0)) == len(rows) == NODES * (NODES + 1) // 2
    shards = generation.shards
    assert all("zones" in shard for shard in shards)
    if encoding == "streams":
        assert all(shard["streams_blocks"] == shard["blocks"] for shard in shards)
    if encoding in ("compact", "rows_u64"):
        assert not any("streams_blocks" in shard for shard in shards)
    # On other ranks, without a word about the encoding: it stays.
    stratalog("resume", checkpoints, half_way(checkpoints), "-D", tmp_path / "again", ranks=3)
    lines = (tmp_path / "again" / "path.csv").read_text().split()
    assert len(lines) == NODES * (NODES + 1)
    assert encoding_of(stratalog, checkpoints) == encoding


def test_a_resumed_run_may_change_its_encoding(
    stratalog: Stratalog, chain: Path, tmp_path: Path
) -> None:
    checkpoints = run(stratalog, chain, tmp_path, "--keep", "9")
    assert encoding_of(stratalog, checkpoints) == "compact"
    first = half_way(checkpoints)
    stratalog(
        *("resume", checkpoints, first, "--encoding", "streams", "-D", tmp_path / "again"),
    )
    assert encoding_of(stratalog, checkpoints) == "streams"
    stratalog("verify", checkpoints, "--deep")
    # The hdf5 modes write rows; asking for streams in the same breath is a mistake.
    for mode in (("--mode", "hdf5"), ("--mode", "hdf5-direct")):
        refused = stratalog("resume", checkpoints, *mode, "--encoding", "streams", expect=1)
        assert "--encoding streams is for modes fpp" in refused.err
    stratalog("resume", checkpoints, first, "--mode", "hdf5-direct", "-D", tmp_path / "rows")
    assert encoding_of(stratalog, checkpoints) == "rows_u64"
    refused = stratalog("resume", checkpoints, "--encoding", "auto", expect=None)
    assert refused.code != 0
    assert "--encoding auto is for modes fpp" in refused.err
    lines = [(tmp_path / out / "path.csv").read_text() for out in ("out", "again", "rows")]
    assert lines[0] == lines[1] == lines[2]
