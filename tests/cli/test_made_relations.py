# SPDX-License-Identifier: Apache-2.0
"""Relations that the compiler makes for rules: not listed as the program's, and not lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

import stratalog as package  # noqa: E402

PROGRAM = """
.decl owns(x: number, y: number, share: number)
owns(1, 2, 60). owns(2, 3, 30). owns(1, 3, 21). owns(2, 4, 50).
.decl controls(x: number, y: number)
controls(x, x) :- owns(x, _, _).
controls(x, y) :- controls(x, _), owns(_, y, _),
                  sum s : { controls(x, z), owns(z, y, s) } > 50.
.decl odd(x: number)
odd(x) :- owns(x, _, _), owns(u, v, _), owns(v, u, _).
.decl id(n: number, x: number)
id(autoinc(), x) :- owns(x, _, _).
.output controls
"""
DECLARED = ["owns", "controls", "odd", "id"]


@pytest.fixture(name="folder")
def folder_of_a_run(stratalog: Stratalog, tmp_path: Path) -> Path:
    (tmp_path / "p.dl").write_text(PROGRAM)
    stratalog(
        *("run", tmp_path / "p.dl", "-D", tmp_path, "--checkpoint", tmp_path / "ck", "-q"),
        *("--report", tmp_path / "report.json"),
    )
    return tmp_path


def test_what_a_run_reports(stratalog: Stratalog, folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    assert [entry["name"] for entry in report["relations"]] == DECLARED
    made = {entry["name"]: entry for entry in report["made_relations"]}
    assert {entry["made_for"] for entry in made.values()} == {"controls", "odd", "id"}
    assert made["controls#total2"]["rows"] == 5
    assert "#" not in json.dumps(report["strata"])
    names = [entry["relations"] for entry in report["strata"]]
    assert "controls" in names and "a part of odd" in names
    run = ("run", folder / "p.dl", "-D", folder)
    assert "#" not in stratalog(*run, "-v").err
    lines = stratalog(*run, "--progress=json").err
    assert "#" not in lines
    assert list(json.loads(lines.splitlines()[-1])["rows"]) == DECLARED


def test_what_a_checkpoint_holds(stratalog: Stratalog, folder: Path) -> None:
    store = folder / "ck"
    text = stratalog("inspect", store).out
    assert "#" not in text
    whole = stratalog("inspect", store, "--json").json()["relations"]
    made = [entry for entry in whole if "made_for" in entry]
    assert sorted(entry["name"] for entry in whole if "made_for" not in entry) == sorted(DECLARED)
    assert f"made for rules: {len(made)} more" in text
    assert sum(entry["rows"] for entry in made) == int(text.split(" more")[1].split()[0]) > 0
    refused = stratalog("export", store, folder / "x.tsv", "--relation", "nothing", expect=1)
    assert refused.err.rstrip().endswith("it holds " + ", ".join(
        entry["name"] for entry in whole if "made_for" not in entry))  # fmt: skip
    stratalog("export", store, folder / "x.tsv", "--relation", "controls#total2")
    assert len((folder / "x.tsv").read_text().splitlines()) == 5
    checkpoint = package.open(store)
    assert sorted(checkpoint) == sorted(DECLARED)
    assert len(list(checkpoint["controls#total2"])) == 5


def test_verify_looks_at_them_all_the_same(stratalog: Stratalog, folder: Path) -> None:
    store = folder / "ck"
    checked = stratalog("verify", store, "--deep", "--json").json()["generations"][0]
    whole = stratalog("inspect", store, "--json").json()["relations"]
    assert checked["rows"] == sum(entry["rows"] for entry in whole)
    file = next(store.rglob("*controls_total2.total.000000"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    damaged = stratalog("verify", store, "--deep", expect=3)
    assert "controls_total2" in damaged.out + damaged.err
