# SPDX-License-Identifier: Apache-2.0
"""Rules with millions of derivations for few tuples: exact on any number of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from stratalog_runner import Stratalog

NODES = 200
# Eight million pairs of edges in each rule: known numbers, numbers that have to be agreed on, and
# symbols; a set that is carried along with a made value.
PROGRAM = f"""
.decl node(x: number)
node(x) :- x = range(0, {NODES}).
.decl edge(x: number, y: number)
edge(x, y) :- node(x), node(y).
.decl known(a: number, b: number)
known((x * y) % 100, z % 50) :- edge(x, y), edge(y, z).
.decl large(a: number, b: number)
large(((x * y) % 100) * 10000000000, z % 50) :- edge(x, y), edge(y, z).
.decl word(a: symbol, b: number)
word(cat("v", to_string((x * y) % 7)), z) :- edge(x, y), edge(y, z), x < 50.
.decl carried(a: number, z: number)
carried((x * y) % 100, z) :- edge(x, y), edge(y, z).
.printsize known, large, word, carried
"""


@pytest.mark.parametrize("how", ((), ("-j", 3), ("-j", 2, "--mirror-limit", 0), "mpi"))
def test_many_derivations(how: tuple[object, ...], stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "many.dl"
    program.write_text(PROGRAM)
    run = ("run", program, "-D", tmp_path)
    done = stratalog(*run, ranks=2) if how == "mpi" else stratalog(*run, *how)
    products = {x * y % 100 for x in range(NODES) for y in range(NODES)}
    words = {x * y % 7 for x in range(50) for y in range(NODES)}
    assert done.sizes() == {
        "known": len(products) * 50,
        "large": len(products) * 50,
        "word": len(words) * NODES,
        "carried": len(products) * NODES,
    }
