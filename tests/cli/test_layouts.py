# SPDX-License-Identifier: Apache-2.0
"""Every layout of checkpoints through the command: written, verified, read by others, resumed."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from stratalog_runner import PROGRAMS, Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

from stratalog_formats.read_checkpoint import newest_generation  # noqa: E402

NODES = 150
LAYOUTS = [
    ("shared-opt",),
    ("hdf5-direct",),
    ("hdf5-direct", "--align", "4K", "--files", "2"),
    ("hdf5-opt",),
    ("hdf5-opt", "--hdf5-opt", "O2,O4", "--relations-per-file", "1"),
    ("shared", "--files", "2", "--relations-per-file", "3"),
    ("fpp", "--relations-per-file", "2"),
]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    (folder / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(NODES)))
    return folder


def run(stratalog: Stratalog, chain: Path, out: Path, *mode: str) -> Path:
    checkpoints = out / "checkpoints"
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", chain, "-D", out / "out"),
        *("--checkpoint", checkpoints, "--every", "40it", "--durability", "none"),
        *("--full-every", "1"),  # each generation holds all rows, for readers of its files alone
        *("--mode", *mode),
        ranks=3,
    )
    return checkpoints


@pytest.mark.parametrize("mode", LAYOUTS, ids=lambda mode: " ".join(mode))
def test_written_verified_and_read_by_others(
    stratalog: Stratalog, chain: Path, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    checkpoints = run(stratalog, chain, tmp_path, *mode)
    stratalog("verify", checkpoints, "--deep")
    state = stratalog("inspect", checkpoints, "--json").json()
    assert state["mode"] == mode[0]
    generation = newest_generation(checkpoints)
    rows = generation.rows(generation.find("path", "total"))
    expected = {(a, b) for a, b in rows.tolist()}
    assert len(expected) == len(rows) > NODES
    assert all(a < b for a, b in expected)
    files = sorted(generation.directory.glob("*.h5"))
    assert bool(files) == mode[0].startswith("hdf5")
    if files:
        h5py = pytest.importorskip("h5py")
        found: set[tuple[int, int]] = set()
        for path in files:
            with h5py.File(path) as file:
                if "path.total" in file and not file["path.total"].is_virtual:
                    part = np.asarray(file["path.total"])
                    about = file["path.total"].attrs
                    assert bytes(about["relation"]) == b"path"
                    assert [bytes(name) for name in about["columns"]] == [b"from", b"to"]
                    assert [bytes(kind) for kind in about["kinds"]] == [b"number"] * 2
                    assert b"stratalog export" in bytes(about["cells"])
                    found |= {(a, b) for a, b in part.tolist()}
        assert found == expected
        with h5py.File(generation.directory / "relations.h5") as file:
            assert {(a, b) for a, b in file["path.total"][:].tolist()} == expected
    if len(mode) > 2 and mode[1] == "--relations-per-file" and mode[0] == "fpp":
        # One file of a rank holds shards of two relation versions.
        assert len({s["file"] for s in generation.shards}) < len(generation.shards)
    stratalog("resume", checkpoints, "-D", tmp_path / "again", ranks=2)
    lines = (tmp_path / "again" / "path.csv").read_text().split()
    assert len(lines) == NODES * (NODES + 1)


def test_names_and_values_that_do_not_fit(
    stratalog: Stratalog, chain: Path, tmp_path: Path
) -> None:
    program = ("run", PROGRAMS / "closure.dl", "-F", chain, "--checkpoint", tmp_path / "c")
    for options, word in (
        (("--mode", "hdf6"), "--mode"),
        (("--mode", "hdf5-opt", "--hdf5-opt", "O8"), "O1 to O7"),
        (("--mode", "shared", "--align", "5000"), "power of two"),
        (("--mode", "fpp", "--files", "3"), "--files"),
    ):
        refused = stratalog(*program, *options, expect=1)
        assert word in refused.err


def why(stratalog: Stratalog, checkpoints: Path) -> str:
    return stratalog("inspect", checkpoints, "--why").out


def test_auto_chooses_says_why_and_is_resumed(
    stratalog: Stratalog, chain: Path, tmp_path: Path
) -> None:
    checkpoints = run(stratalog, chain, tmp_path, "auto")
    stratalog("verify", checkpoints, "--deep")
    state = stratalog("inspect", checkpoints, "--json").json()
    assert state["mode"] == "fpp"  # this machine has one kernel
    assert state["layout"][0]["about"] == "auto"
    assert state["layout"][0]["text"].startswith("fpp, compact: ")
    assert "  auto: fpp, compact: " in why(stratalog, checkpoints)
    # What was chosen goes on choosing.
    stratalog("resume", checkpoints, "-D", tmp_path / "again", ranks=2)
    assert "  auto: fpp, compact: " in why(stratalog, checkpoints)
    assert (tmp_path / "again" / "path.csv").read_bytes() == (
        tmp_path / "out" / "path.csv"
    ).read_bytes()


def test_auto_takes_the_number_of_files_that_was_asked_for(
    stratalog: Stratalog, chain: Path, tmp_path: Path
) -> None:
    checkpoints = run(stratalog, chain, tmp_path, "auto", "--files", "2")
    stratalog("verify", checkpoints, "--deep")
    assert stratalog("inspect", checkpoints, "--json").json()["mode"] == "shared-opt"
    assert "number of files was asked for" in why(stratalog, checkpoints)


def test_every_layout_says_why(stratalog: Stratalog, chain: Path, tmp_path: Path) -> None:
    for name in ("opt", "fpp"):
        (tmp_path / name).mkdir()
    tuned = why(stratalog, run(stratalog, chain, tmp_path / "opt", "hdf5-opt"))
    for step in ("O1", "O3", "O4"):
        assert f"  {step}: " in tuned
    assert "less than 10 MB" in tuned
    plain = why(stratalog, run(stratalog, chain, tmp_path / "fpp", "fpp"))
    assert "mode fpp was asked for" in plain


@pytest.mark.parametrize("mode", ("shared-opt", "hdf5", "hdf5-opt"))
def test_modes_that_hold_the_evaluation_up_refuse_to_overlap(
    stratalog: Stratalog, chain: Path, tmp_path: Path, mode: str
) -> None:
    arguments = ("run", PROGRAMS / "closure.dl", "-F", chain, "-D", tmp_path)
    saved = ("--checkpoint", tmp_path / "ck", "--mode", mode)
    refused = stratalog(*arguments, *saved, "--overlap", "pack", expect=1)
    assert (
        "--overlap pack is for modes fpp, shared, hdf5-direct, hdf5-streams, hdf5-auto and auto;"
        in refused.err
    )
    assert f"a checkpoint in mode {mode} holds the evaluation up until it is written" in refused.err
    stratalog("run", *arguments[1:], "--checkpoint", tmp_path / "ck", "--overlap", "pack")


@pytest.mark.parametrize("ranks", (1, 2, 3))
@pytest.mark.parametrize("way", ("write", "pack"))
@pytest.mark.parametrize("strategy", ("--no-pivot", ""))
def test_streams_are_packed_and_written_beside_the_evaluation(
    stratalog: Stratalog, chain: Path, tmp_path: Path, strategy: str, way: str, ranks: int
) -> None:
    report = tmp_path / "report.json"
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", chain, "-D", tmp_path, *strategy.split()),
        *("--checkpoint", tmp_path / "ck", "--mode", "hdf5-streams", "--every", "5it"),
        *("--overlap", way, "--report", report),
        ranks=ranks,
    )
    ways = [entry["overlap"] for entry in json.loads(report.read_text())["checkpoints"]]
    assert ways[-1] == "none"
    # By pivot the first ones come before all edges are known.
    assert set(ways[:-1]) == {way} if strategy else way in ways
    assert "all is well" in stratalog("verify", tmp_path / "ck", "--deep").out


@pytest.mark.parametrize(
    "mode",
    [
        ("fpp",),
        ("shared",),
        ("shared-opt",),
        ("shared", "--files", "2"),
        ("hdf5",),
        ("hdf5-opt",),
        ("hdf5-opt", "--hdf5-opt", "none"),
        ("hdf5-direct",),
        ("hdf5-streams",),
    ],
)
def test_nobody_else_may_read_the_files(
    mode: tuple[str, ...], stratalog: Stratalog, chain: Path, tmp_path: Path
) -> None:
    before = os.umask(0o022)
    try:
        checkpoints = run(stratalog, chain, tmp_path, *mode)
    finally:
        os.umask(before)
    modes = {
        path.relative_to(checkpoints): stat.filemode(path.stat().st_mode)
        for path in checkpoints.rglob("*")
    }
    wanted = {
        name: "drwx------" if (checkpoints / name).is_dir() else "-rw-------" for name in modes
    }
    assert modes == wanted
