# SPDX-License-Identifier: Apache-2.0
"""ls, inspect, verify, export: looking into a checkpoint folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stratalog_runner import EXPECTED, PROGRAMS, Stratalog

Unpack = Callable[[str], Path]


@pytest.fixture(scope="module")
def stored(stratalog: Stratalog, facts: Unpack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on symbols, with its checkpoints and output."""
    folder = tmp_path_factory.mktemp("stored")
    stratalog(
        *("run", PROGRAMS / "borrow_check.dl", "-F", facts("polonius_small") / "vec-push-ref_foo1"),
        *("-D", folder / "out", "--checkpoint", folder / "checkpoints", "--every", "5it"),
        ranks=3,
    )
    return folder


def test_ls(stratalog: Stratalog, stored: Path) -> None:
    text = stratalog("ls", stored / "checkpoints").out
    assert text.count("resume takes this") == 1
    assert [line.split()[2] for line in text.splitlines()[:2]] == ["iteration", "finished"]
    listed = stratalog("ls", stored / "checkpoints", "--json").json()["generations"]
    conditions = [entry["condition"] for entry in listed]
    # Retired generations whose files the kept ones use are listed behind them.
    assert conditions == ["valid"] * 2 + ["base"] * (len(listed) - 2)
    assert set(listed[0]["builds_on"]) <= {entry["name"] for entry in listed}
    assert listed[0]["builds_on"], "finished relations are written once"
    assert listed[0]["ranks"] == 3
    assert [entry.get("finished") for entry in listed[:2]] == [True, False]
    assert listed[0]["name"] > listed[-1]["name"], "newest first"


@pytest.mark.parametrize("mode", ("fpp", "shared-opt", "hdf5-direct", "hdf5-streams"))
def test_columns_of_ls(stratalog: Stratalog, tmp_path: Path, mode: str) -> None:
    program = tmp_path / "p.dl"
    program.write_text(".decl x(n: number)\nx(7).\n")
    where = ("--checkpoint", tmp_path / "ck", "--mode", mode)
    stratalog("run", program, *where, "-q", ranks=1)
    head, row = stratalog("ls", tmp_path / "ck").out.splitlines()[:2]
    for word, value in (("mode", mode), ("durability", "full")):
        assert row[head.index(word) :].startswith(f"{value} "), f"{head}\n{row}"
    for word in ("iteration", "ranks", "rows"):
        end = head.index(word) + len(word)
        assert row[end - 1] != " " and row[end] == " ", f"{head}\n{row}"


def test_inspect(stratalog: Stratalog, stored: Path) -> None:
    state = stratalog("inspect", stored / "checkpoints", "--json").json()
    rows = {
        entry["name"]: entry["rows"] for entry in state["relations"] if entry["version"] == "total"
    }
    expected = EXPECTED["borrow_check"]["vec-push-ref_foo1"]
    assert {name: rows[name] for name in expected} == expected
    assert {section["name"] for section in state["sections"]} >= {"program", "dictionary"}
    text = stratalog("inspect", stored / "checkpoints", state["generation"]).out
    assert "written by 3 ranks" in text
    assert "strata finished" in text


def test_verify(stratalog: Stratalog, stored: Path) -> None:
    assert "all is well" in stratalog("verify", stored / "checkpoints").out
    report = stratalog("verify", stored / "checkpoints", "--deep", "--json").json()
    assert all(entry["problems"] == [] for entry in report["generations"])
    assert report["generations"][0]["rows"] > 0


def test_export_tsv_equals_the_output(stratalog: Stratalog, stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "subset.tsv"
    stratalog("export", stored / "checkpoints", "--relation", "subset", "--to", "tsv", target)
    assert target.read_bytes() == (stored / "out" / "subset.csv").read_bytes()
    printed = stratalog("export", stored / "checkpoints", "-", "--relation", "errors").out
    assert (stored / "out" / "errors.csv").read_text() in printed


def test_export_hdf5_reads_with_h5py(stratalog: Stratalog, stored: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    target = tmp_path / "subset.h5"
    stratalog("export", stored / "checkpoints", "--relation", "subset", "--to", "hdf5", target)
    with h5py.File(target) as file:
        group = file["subset"]
        symbols = group["symbols:"].asstr()[:]
        columns = [symbols[group[name][:]] for name in ("sub", "super", "point")]
        rows = ["\t".join(row) for row in zip(*columns, strict=True)]
    assert rows == (stored / "out" / "subset.csv").read_text().splitlines()


def test_what_is_not_there(stratalog: Stratalog, stored: Path, tmp_path: Path) -> None:
    refused = stratalog(
        "export", stored / "checkpoints", tmp_path / "x", "--relation", "subsett", expect=1
    )
    assert "did you mean `subset`" in refused.err
    assert (
        "no generation gen-9" in stratalog("inspect", stored / "checkpoints", "gen-9", expect=7).err
    )
    assert stratalog("ls", tmp_path / "nowhere", expect=7).err.startswith("stratalog: ")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert stratalog("ls", empty).out == "no checkpoints\n"
    (empty / "notes.txt").write_text("something else")
    refused = stratalog("ls", empty, expect=7)
    assert "no checkpoint folder" in refused.err
    assert refused.out == ""
    assert "no checkpoint folder" in stratalog("ls", empty, "--json", expect=7).err


def test_rows_of_verify_are_those_of_ls(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        ".decl x(n: number)\nx(7). x(8).\n.decl yes()\nyes() :- x(7).\n.output yes\n"
    )
    stratalog("run", program, "-D", tmp_path, "--checkpoint", tmp_path / "ck", "-q", ranks=1)
    listed = stratalog("ls", tmp_path / "ck", "--json").json()["generations"]
    verified = stratalog("verify", tmp_path / "ck", "--deep", "--json").json()["generations"]
    assert [entry["rows"] for entry in verified] == [entry["rows"] for entry in listed]
