# SPDX-License-Identifier: Apache-2.0
"""Larger real inputs that are not part of the project: the graphs of ../shared up to 100 M tuples.

Skipped by name where ../shared (or STRATALOG_SHARED) is absent. Graphs above STRATALOG_LONG tuples
(default 2 million) are left out; STRATALOG_LONG=100000000 runs all. STRATALOG_RANKS=1,2,3,4,7.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from stratalog_runner import DATA, PROGRAMS, Stratalog, unpack_facts, unpack_graph

SHARED = Path(
    os.environ.get("STRATALOG_SHARED") or Path(__file__).resolve().parents[2].parent / "shared"
)
KNOWN = json.loads((DATA / "expected_shared.json").read_text())
LIMIT = int(os.environ.get("STRATALOG_LONG", "2000000"))
LARGEST = 100_000_000
RANKS = tuple(int(word) for word in os.environ.get("STRATALOG_RANKS", "2,3").split(","))


def need(path: Path, tuples: int) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is not there (no shared data)")
    if tuples > LIMIT:
        pytest.skip(f"{tuples:,} tuples; set STRATALOG_LONG={LARGEST} to run it")
    return path


def without_output(program: str, folder: Path) -> Path:
    """The program with its sizes only: output of 100 million tuples is another test's business."""
    lines = (PROGRAMS / program).read_text().splitlines(keepends=True)
    target = folder / program
    target.write_text("".join(line for line in lines if not line.startswith(".output")))
    return target


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(
    "name", [name for name, known in KNOWN["graphs"].items() if known["closure"] <= LARGEST]
)
def test_closure(name: str, ranks: int, stratalog: Stratalog, tmp_path: Path) -> None:
    known = KNOWN["graphs"][name]
    archive = need(SHARED / "data" / "graphs" / f"{name}.tsv.xz", known["closure"])
    folder = unpack_graph(name, tmp_path / "facts", archive)
    program = without_output("closure.dl", tmp_path)
    report = tmp_path / "report.json"
    arguments = ("-F", folder, "--report", report)
    finished = stratalog("run", program, *arguments, ranks=ranks, timeout=1800)
    assert finished.sizes() == {"path": known["closure"]}
    sizes = {entry["name"]: entry["rows"] for entry in json.loads(report.read_text())["relations"]}
    assert sizes["edge"] == known["edges"]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", tuple(KNOWN["same_generation"]))
def test_same_generation(name: str, ranks: int, stratalog: Stratalog, tmp_path: Path) -> None:
    known = KNOWN["same_generation"][name]
    archive = need(SHARED / "data" / "graphs" / f"{name}.tsv.xz", known["same"])
    folder = unpack_graph(name, tmp_path / "facts", archive)
    program = without_output("same_generation.dl", tmp_path)
    report = tmp_path / "report.json"
    arguments = ("-F", folder, "--report", report)
    finished = stratalog("run", program, *arguments, ranks=ranks, timeout=1800)
    assert finished.sizes() == {"same": known["same"]}
    assert json.loads(report.read_text())["strata"][-1]["iterations"] == known["rounds"]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", tuple(KNOWN["cspa"]))
def test_alias_analysis(name: str, ranks: int, stratalog: Stratalog, tmp_path: Path) -> None:
    known = KNOWN["cspa"][name]
    archive = need(SHARED / "data" / "facts" / "cspa-cpu17.tar.xz", sum(known.values()))
    rules = SHARED / "data" / "rules" / "cspa.dl"
    folder = unpack_facts(archive, tmp_path) / "cspa" / name
    finished = stratalog("run", rules, "-F", folder, ranks=ranks, timeout=1800)
    assert finished.sizes() == known
