# SPDX-License-Identifier: Apache-2.0
"""Random programs over lattices and aggregates in recursion (growing_programs.py) against their
least fixpoints in Python: on one rank, on threads and processes, and with facts that come later.
STRATALOG_GROWING_PROGRAMS is the number of programs, STRATALOG_GROWING_FIRST the first seed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from growing_programs import growing_program
from growing_rules import least_fixpoint
from growing_runs import difference, write_facts, write_portions
from stratalog_runner import Stratalog

FIRST = int(os.environ.get("STRATALOG_GROWING_FIRST", "1"))
PROGRAMS = int(os.environ.get("STRATALOG_GROWING_PROGRAMS", "40"))
WAYS: tuple[tuple[tuple[str, ...], int | None], ...] = (
    (("-j", "2"), None),
    ((), 2),
    (("-j", "3"), None),
    ((), 3),
)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_against_the_least_fixpoint(seed: int, stratalog: Stratalog, tmp_path: Path) -> None:
    program = growing_program(seed)
    expected = least_fixpoint(program)
    file = tmp_path / "p.dl"
    file.write_text(program.text())
    write_facts(program.facts, tmp_path / "facts")
    for arguments, ranks in (((), None), WAYS[seed % len(WAYS)]):
        out = tmp_path / f"out{arguments}{ranks}"
        where = ("-F", tmp_path / "facts", "-D", out, "-q")
        stratalog("run", file, *where, *arguments, ranks=ranks)
        assert difference(program, expected, out) == "", (arguments, ranks, program.text())


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS // 4))
def test_facts_that_come_later(seed: int, stratalog: Stratalog, tmp_path: Path) -> None:
    program = growing_program(seed)
    file = tmp_path / "p.dl"
    file.write_text(program.text())
    write_portions(program.facts, seed, tmp_path / "first", tmp_path / "later")
    out, kept = tmp_path / "out", tmp_path / "kept"
    where = ("-F", tmp_path / "first", "-D", out, "--checkpoint", kept, "-q")
    arguments, ranks = WAYS[seed % len(WAYS)]
    stratalog("run", file, *where, *arguments)
    more = ("--add-facts", tmp_path / "later", "-q")
    added = stratalog("resume", kept, *more, *arguments, ranks=ranks, expect=None)
    if added.code == 1 and "facts cannot be added" in added.err:
        pytest.skip("an input would start over")
    assert added.code == 0, added
    assert difference(program, least_fixpoint(program), out) == "", program.text()
