# SPDX-License-Identifier: Apache-2.0
"""`-m`: outputs are those without it, less is computed, and every command knows of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROGRAM = """
.decl edge(a: number, b: number)
.input edge
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
.decl reached(b: number)
.output reached
reached(y) :- path(90, y).
"""
LENGTH = 100


@pytest.fixture(name="folder")
def folder_with_a_chain(tmp_path: Path) -> Path:
    edges = "".join(f"{n}\t{n + 1}\n" for n in range(LENGTH))
    (tmp_path / "edge.facts").write_text(edges)
    (tmp_path / "p.dl").write_text(PROGRAM)
    return tmp_path


def sizes(stratalog: Stratalog, folder: Path) -> dict[str, int]:
    listed = stratalog("inspect", folder, "--json").json()["relations"]
    return {r["name"]: r["rows"] for r in listed if "made_for" not in r}


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_less_is_computed_and_the_output_is_the_same(
    stratalog: Stratalog, folder: Path, ranks: int
) -> None:
    common = ("run", folder / "p.dl", "-F", folder, "-j", ranks, "-q")
    stratalog(*common, "-D", folder / "all", "--checkpoint", folder / "ck_all")
    stratalog(*common, "-D", folder / "some", "--checkpoint", folder / "ck_some", "-m", "*")
    expected = "".join(f"{n}\n" for n in range(91, LENGTH + 1))
    assert (folder / "all" / "reached.csv").read_text() == expected
    assert (folder / "some" / "reached.csv").read_text() == expected
    assert sizes(stratalog, folder / "ck_all")["path"] == LENGTH * (LENGTH + 1) // 2
    assert sizes(stratalog, folder / "ck_some") == {"edge": LENGTH, "path": 55, "reached": 10}


def test_proofs_do_not_tell_of_demands(stratalog: Stratalog, folder: Path) -> None:
    run = ("run", folder / "p.dl", "-F", folder, "-D", folder, "--checkpoint", folder / "ck", "-q")
    stratalog(*run, "-m", "path")
    proof = stratalog("why", folder / "ck", "path(98, 100)").out
    assert "edge(98, 99)" in proof
    assert "edge(99, 100)" in proof
    assert "edge(97" not in proof
    assert "#" not in proof
    told = stratalog("why-not", folder / "ck", "path(3, 5)").out
    assert "path is computed only as far as the outputs ask for it" in told
    told = stratalog("why-not", folder / "ck", "reached(7)").out
    assert "only as far" not in told
    assert "fails  path(90, 7)" in told


def test_proofs_of_closures_that_join_two_of_their_tuples(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    """What is restricted has the steps of the closure, not all that the rules as written need."""
    program = tmp_path / "two.dl"
    program.write_text(
        ".decl edge(a: number, b: number)\nedge(1, 2). edge(2, 3). edge(3, 4).\n"
        ".decl reach(a: number, b: number)\nreach(x, y) :- edge(x, y).\n"
        "reach(x, z) :- reach(x, y), reach(y, z).\n"
        ".decl result(x: number)\n.output result\nresult(1) :- reach(1, 4).\n"
    )
    for wish in ("*", "reach"):
        folder = tmp_path / f"ck-{len(wish)}"
        stratalog("run", program, "-D", tmp_path, "--checkpoint", folder, "-q", "-m", wish)
        proof = stratalog("why", folder, "result(1)").out
        for step in ("reach(1, 3)", "edge(3, 4)", "reach(x, y), reach(y, z)"):
            assert step in proof


def test_a_resumed_run_has_the_same_wishes(stratalog: Stratalog, folder: Path) -> None:
    run = ("run", folder / "p.dl", "-F", folder, "-D", folder, "--checkpoint", folder / "ck", "-q")
    stratalog(*run, "-m", "path")
    other = stratalog(*run, "--resume", expect=None)
    assert other.code != 0
    assert "program" in other.err
    assert stratalog(*run, "--resume", "-m", "path").code == 0


def test_names_that_nothing_has_are_told(stratalog: Stratalog, folder: Path) -> None:
    told = stratalog("check", folder / "p.dl", "-m", "pth").err
    assert "names `pth`, which is no relation that is computed" in told
    assert "did you mean `path`?" in told
    assert stratalog("check", folder / "p.dl", "-m", "*").err == ""
    assert "path#" in stratalog("explain", folder / "p.dl", "-m", "*").out
    assert "path#" not in stratalog("explain", folder / "p.dl").out
