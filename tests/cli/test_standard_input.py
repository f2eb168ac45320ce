# SPDX-License-Identifier: Apache-2.0
"""Facts from standard input: IO=stdin, on one rank and several, and through checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest
from stratalog_runner import Stratalog, committed

CLOSURE = """
.decl first(x: number, y: number)
.input first
.decl reach(x: number, y: number)
reach(x, y) :- first(x, y).
reach(x, z) :- reach(x, y), first(y, z).
.printsize reach
.decl edge(x: symbol, y: symbol)
.input edge(IO=stdin, delimiter=",")
.decl path(x: symbol, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
EDGES = "a,b\nb,c\nc,d\n"
PATHS = "a\tb\na\tc\na\td\nb\tc\nb\td\nc\td\n"


def prepare(folder: Path) -> Path:
    program = folder / "p.dl"
    program.write_text(CLOSURE)
    (folder / "first.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(40)))
    return program


def oldest_checkpoint(stratalog: Stratalog, program: Path) -> str:
    """Runs the program with a checkpoint for each round; the generation of the first."""
    keep = ("--checkpoint", "ck", "--every", "1it", "--keep", "100", "--at-end", "skip")
    stratalog("run", program, *keep, "--no-pivot", cwd=program.parent, text=EDGES)
    return committed(program.parent / "ck")[0]


@pytest.mark.parametrize("ranks", (None, 1, 3))
def test_facts_from_standard_input(ranks: int | None, stratalog: Stratalog, tmp_path: Path) -> None:
    program = prepare(tmp_path)
    stratalog("run", program, ranks=ranks, cwd=tmp_path, text=EDGES)
    assert (tmp_path / "path.csv").read_text() == PATHS


def test_threads(stratalog: Stratalog, tmp_path: Path) -> None:
    program = prepare(tmp_path)
    stratalog("run", program, "-j", "2", cwd=tmp_path, text=EDGES)
    assert (tmp_path / "path.csv").read_text() == PATHS


def test_no_folder_of_facts_is_needed(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "only.dl"
    program.write_text(
        ".decl a(x: number, s: symbol)\n.output a\n"
        '.input a(IO=stdin, headers=true, columns="1:0")\n'
    )
    stratalog("run", program, "-F", "missing", cwd=tmp_path, text="s\tx\nv\t7\n")
    assert (tmp_path / "a.csv").read_text() == "7\tv\n"


@pytest.mark.parametrize("ranks", (None, 2))
def test_errors_have_the_line(ranks: int | None, stratalog: Stratalog, tmp_path: Path) -> None:
    program = prepare(tmp_path)
    refused = stratalog("run", program, ranks=ranks, cwd=tmp_path, text="a,b\nc\n", expect=None)
    assert refused.code != 0
    assert "<standard input>:2: " in refused.err


def test_the_first_relation_gets_all(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "two.dl"
    program.write_text(
        ".decl a(x: number)\n.decl b(x: number)\n.input a(IO=stdin)\n.input b(IO=stdin)\n"
        ".printsize a, b\n"
    )
    finished = stratalog("run", program, cwd=tmp_path, text="1\n2\n")
    assert finished.sizes() == {"a": 2, "b": 0}
    assert "4:1: warning: standard input is read for several relations" in finished.err


def test_resume_does_not_ask_again(stratalog: Stratalog, tmp_path: Path) -> None:
    program = prepare(tmp_path)
    oldest = oldest_checkpoint(stratalog, program)
    (tmp_path / "path.csv").unlink()
    # The oldest is of the recursion that comes before everything that needs standard input.
    stratalog("resume", "ck", oldest, "--at-end", "skip", cwd=tmp_path, text="")
    assert (tmp_path / "path.csv").read_text() == PATHS


def test_resume_refuses_what_it_would_have_to_ask_again(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    program = prepare(tmp_path)
    program.write_text(CLOSURE + 'edge("z", "a") :- reach(0, 9).\n')
    oldest = oldest_checkpoint(stratalog, program)
    refused = stratalog("resume", "ck", oldest, cwd=tmp_path, text=EDGES, expect=None)
    assert refused.code != 0
    assert "relation `edge` is read from standard input" in refused.err
