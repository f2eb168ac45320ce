# SPDX-License-Identifier: Apache-2.0
"""--stage: checkpoints are written to a staging directory and drained to where they belong."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from stratalog_runner import PROGRAMS, Stratalog, chain

NODES = 150
PAIRS = NODES * (NODES - 1) // 2


def run_staged(stratalog: Stratalog, tmp_path: Path, *options: str, ranks: int = 2) -> str:
    facts = chain(NODES, tmp_path / "facts")
    done = stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out"),
        *("--checkpoint", tmp_path / "ck", "--stage", tmp_path / "fast", "--every", "30it"),
        *options,
        ranks=ranks,
    )
    assert done.sizes() == {"path": PAIRS}
    return done.err


@pytest.mark.parametrize(
    "mode", ["fpp", "shared", "shared-opt", "hdf5", "hdf5-opt", "hdf5-direct", "auto"]
)
def test_all_is_drained_at_the_end(mode: str, stratalog: Stratalog, tmp_path: Path) -> None:
    said = run_staged(stratalog, tmp_path, "--mode", mode)
    assert "drained to" in said
    generations = stratalog("ls", tmp_path / "ck", "--json").json()["generations"]
    assert {g["place"] for g in generations} <= {"drained", "drained and staged"}
    assert stratalog("inspect", tmp_path / "ck", "--json").json()["place"] == "drained and staged"
    # What has arrived needs no stage.
    shutil.rmtree(tmp_path / "fast")
    assert "all is well" in stratalog("verify", tmp_path / "ck", "--deep").out
    resumed = stratalog("resume", tmp_path / "ck", "-D", tmp_path / "again", ranks=3)
    assert resumed.sizes() == {"path": PAIRS}
    assert (tmp_path / "fast").is_dir()


def test_what_waits_in_the_stage_is_found(stratalog: Stratalog, tmp_path: Path) -> None:
    run_staged(stratalog, tmp_path)
    # As if the job had died before draining the newest.
    newest = stratalog("inspect", tmp_path / "ck", "--json").json()["generation"]
    (tmp_path / "ck" / newest / "MANIFEST").unlink()
    listed = stratalog("ls", tmp_path / "ck").out
    assert "staged, not drained" in listed.splitlines()[1]
    assert stratalog("ls", tmp_path / "ck", "--json").json()["generations"][0]["place"] == "staged"
    assert "not yet drained" in stratalog("inspect", tmp_path / "ck").out
    assert "not yet drained" in stratalog("verify", tmp_path / "ck", "--deep").out
    refused = stratalog("compact", tmp_path / "ck", expect=1)
    assert "waits in the staging directory" in refused.err
    stratalog("resume", tmp_path / "ck", "-D", tmp_path / "again")
    assert (tmp_path / "ck" / newest / "MANIFEST").exists()
    assert "all is well" in stratalog("verify", tmp_path / "ck", newest, "--deep").out
