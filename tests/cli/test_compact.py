# SPDX-License-Identifier: Apache-2.0
"""compact: a chain of generations written anew as one, also in another layout."""

from __future__ import annotations

from pathlib import Path

import pytest
from stratalog_runner import PROGRAMS, Stratalog, chain

NODES = 200
PAIRS = NODES * (NODES - 1) // 2


@pytest.fixture
def folder(stratalog: Stratalog, tmp_path: Path) -> Path:
    """A checkpoint folder whose newest generation builds on older ones."""
    facts = chain(NODES, tmp_path / "facts")
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out"),
        *("--checkpoint", tmp_path / "ck", "--every", "30it", "--durability", "none"),
        ranks=2,
    )
    return tmp_path / "ck"


@pytest.mark.parametrize(
    ("ranks", "mode"),
    [
        (1, ""),
        (2, ""),
        (3, "shared"),
        (1, "hdf5-direct"),
        (2, "hdf5"),
        (3, "hdf5-opt"),
        (2, "hdf5-streams"),
    ],
)
def test_stands_by_itself(
    ranks: int, mode: str, folder: Path, stratalog: Stratalog, tmp_path: Path
) -> None:
    before = stratalog("inspect", folder, "--json").json()
    assert before["builds_on"]
    options = ("--mode", mode) if mode else ()
    done = stratalog("compact", folder, *options, ranks=ranks)
    assert before["generation"] in done.out
    after = stratalog("inspect", folder, "--json").json()
    assert not after["builds_on"]
    assert after["mode"] == (mode or before["mode"])
    assert after["engine_state"] == before["engine_state"]
    for key in ("name", "version", "rows", "hash"):
        assert [r[key] for r in after["relations"]] == [r[key] for r in before["relations"]]
    assert stratalog("verify", folder, "--deep").out.count("all is well") == 2
    resumed = stratalog("resume", folder, "-D", tmp_path / "again", ranks=2)
    assert resumed.sizes() == {"path": PAIRS}
    stratalog("compact", folder, "--mode", "fpp", "--encoding", "streams")
    assert stratalog("inspect", folder, "--json").json()["encoding"] == "streams"
    # The second time nothing builds on the first generations any more.
    stratalog("compact", folder)
    names = {entry.name for entry in folder.glob("gen-*")}
    assert len(names) == 2
    assert not any(name.startswith("gen-00000001") for name in names)


def files_of(folder: Path, stratalog: Stratalog) -> list[Path]:
    generation = stratalog("inspect", folder, "--json").json()["generation"]
    return sorted(path for path in (folder / generation).iterdir() if ".h5" in path.suffixes)


def test_takes_the_layout_options_of_a_run(folder: Path, stratalog: Stratalog) -> None:
    mode = ("--mode", "hdf5-streams")
    sizes = {}
    for level in (0, 9):
        stratalog("compact", folder, *mode, "--deflate", level, "--files", 1, ranks=2)
        sizes[level] = sum(path.stat().st_size for path in files_of(folder, stratalog))
    assert sizes[9] < sizes[0]
    assert len(files_of(folder, stratalog)) == 1
    stratalog("compact", folder, *mode, "--files", 2, ranks=2)
    assert len(files_of(folder, stratalog)) == 2
    failed = stratalog("compact", folder, "--mode", "shared", "--deflate", 3, expect=1)
    assert "--deflate is for modes hdf5-opt, hdf5-streams and hdf5-auto" in failed.err


def test_keeps_the_layout_of_the_run(stratalog: Stratalog, tmp_path: Path) -> None:
    facts, folder = chain(NODES, tmp_path / "facts"), tmp_path / "ck"
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out"),
        *("--checkpoint", folder, "--durability", "none"),
        *("--mode", "hdf5-streams", "--files", 2),
        ranks=2,
    )
    assert len(files_of(folder, stratalog)) == 2
    stratalog("compact", folder, ranks=2)
    assert len(files_of(folder, stratalog)) == 2


def test_refuses_what_is_damaged(folder: Path, stratalog: Stratalog) -> None:
    newest = stratalog("inspect", folder, "--json").json()["generation"]
    before = sorted(path.name for path in folder.glob("gen-*"))
    victim = next((folder / newest).glob("*path.total*"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    failed = stratalog("compact", folder, expect=3)
    assert victim.name in failed.err
    assert sorted(path.name for path in folder.glob("gen-*")) == before


def test_refuses_what_is_not_there(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    failed = stratalog("compact", tmp_path / "empty", expect=7)
    assert "empty" in failed.err
