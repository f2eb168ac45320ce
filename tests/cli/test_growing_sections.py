# SPDX-License-Identifier: Apache-2.0
"""Symbols, large numbers, records and counts of rounds in checkpoints of a run that makes ever more
of them: each is written about once, and all readers find all of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import stratalog as library
from stratalog_runner import Stratalog

ROUNDS = 60
EACH = 200
# In each round as many new symbols, numbers beyond 32 bits, and lists.
PROGRAM = f"""\
.type List = [head: number, tail: List]
.decl name(b: number, n: number, s: symbol)
.decl large(b: number, n: number)
.decl list(b: number, l: List)
name(0, x, cat("symbol number ", to_string(x))) :- x = range(0, {EACH}).
name(b + 1, m, cat("symbol number ", to_string(m))) :-
  name(b, n, _), m = n + {EACH}, b < {ROUNDS}.
large(0, x * 1000000007 + 8000000000) :- x = range(0, {EACH}).
large(b + 1, n + 1000000000000) :- large(b, n), b < {ROUNDS}.
list(0, [x, nil]) :- x = range(0, {EACH}).
list(b + 1, [b, l]) :- list(b, l), b < {ROUNDS}.
.output name, large, list
"""
EVERY = 3


@pytest.fixture(scope="module", params=("fpp", "shared", "hdf5-streams"))
def run(
    stratalog: Stratalog, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("growing")
    (folder / "p.dl").write_text(PROGRAM)
    where = ("-D", folder / "out", "--checkpoint", folder / "ck", "--mode", request.param)
    often = ("--every", f"{EVERY}it", "--keep", 1000)
    stratalog("run", folder / "p.dl", *where, *often, "-q", ranks=2)
    return folder


def section_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("section-*"))


def test_values_are_written_about_once(stratalog: Stratalog, run: Path, tmp_path: Path) -> None:
    folders = sorted((run / "ck").glob("gen-*"))
    assert len(folders) >= 3 * ROUNDS // EVERY
    shutil.copytree(run / "ck", tmp_path / "ck")
    stratalog("compact", tmp_path / "ck")
    whole = section_bytes(sorted((tmp_path / "ck").glob("gen-*"))[-1])
    assert whole > 500_000
    # Whole in each of the generations they would be a dozen times as much.
    assert sum(map(section_bytes, folders)) < 3 * whole
    assert max((folder / "MANIFEST").stat().st_size for folder in folders) < 40_000
    state = stratalog("inspect", run / "ck", "--json").json()
    sections = {section["name"]: section["bytes"] for section in state["sections"]}
    assert set(sections) == {"program", "dictionary", "records", "rounds"}
    assert sum(sections.values()) == pytest.approx(whole, rel=0.02)


def test_all_readers_find_all_values(stratalog: Stratalog, run: Path) -> None:
    assert stratalog("verify", run / "ck", "--deep").out.count("all is well") > 10
    for relation in ("name", "large", "list"):
        stratalog("export", run / "ck", run / f"{relation}.tsv", "--relation", relation)
        expected = (run / "out" / f"{relation}.csv").read_bytes()
        assert (run / f"{relation}.tsv").read_bytes() == expected
    checkpoint = library.open(run / "ck")
    checkpoint.verify()
    names = checkpoint["name"].to_pandas()
    assert len(names) == (ROUNDS + 1) * EACH
    assert (names["s"] == "symbol number " + names["n"].astype(str)).all()
    assert len(checkpoint["list"].to_pandas()) == (ROUNDS + 1) * EACH


@pytest.mark.parametrize("ranks", (1, 3))
def test_a_run_goes_on_from_pieces(
    stratalog: Stratalog, run: Path, tmp_path: Path, ranks: int
) -> None:
    for folder in sorted((run / "ck").glob("gen-*"))[5::17]:
        again = tmp_path / folder.name
        shutil.copytree(run / "ck", again / "ck")
        resumed = ("resume", again / "ck", folder.name, "-D", again, "--every", f"{EVERY}it")
        stratalog(*resumed, "-q", "--report", again / "report.json", ranks=ranks)
        for relation in ("name", "large", "list"):
            expected = (run / "out" / f"{relation}.csv").read_bytes()
            assert (again / f"{relation}.csv").read_bytes() == expected
        report = json.loads((again / "report.json").read_text())
        rounds = {s["relations"]: s["new_tuples_per_round"] for s in report["strata"]}
        for relation in ("name", "large", "list"):
            assert rounds[relation] == [EACH] * (ROUNDS + 1)
