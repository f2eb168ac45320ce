# SPDX-License-Identifier: Apache-2.0
"""What programs are made of besides rules, end to end: the same rows at any number of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from stratalog_runner import Stratalog

COMPONENTS = """
.comp Closure<N> {
  .decl step(x: N, y: N) overridable
  .decl reach(x: N, y: N)
  reach(x, y) :- step(x, y).
  reach(x, z) :- reach(x, y), step(y, z).
  .output reach
}
.comp Backwards<N> : Closure<N> {
  .override step
  .init forwards = Closure<N>
  step(x, y) :- forwards.step(y, x).
  ends(as(y, symbol)) :- reach(_, y), !step(y, _).
}
.type Name <: symbol
.decl call(x: Name, y: Name)
.decl ends(x: symbol)
.output ends
call("a", "b"). call("b", "c"). call("b", "d").
.init calls = Backwards<Name>
calls.forwards.step(x, y) :- call(x, y).
"""

INLINE = """
.decl edge(x: number, y: number)
edge(1, 2). edge(2, 3). edge(3, 1). edge(4, 1).
.decl near(x: number, y: number) inline
near(x, y) :- edge(x, y).
near(x, y) :- edge(y, x).
.decl above(x: number, y: number) inline
above(x, y) :- x > y.
.decl start(x: number) inline
start(x) :- edge(x, _), !edge(_, x).
.decl up(x: number, y: number)
up(x, y) :- near(x, y), !above(x, y).
.output up
.decl inner(x: number)
inner(x) :- edge(x, _), !start(x).
.output inner
.decl degree(x: number, n: number)
degree(x, n) :- edge(x, _), n = count : { near(x, _) }.
.output degree
"""

# Program, then the rows of each output.
CASES: dict[str, tuple[str, dict[str, list[str]]]] = {
    "components": (
        COMPONENTS,
        {
            "calls.reach": ["b\ta", "c\ta", "c\tb", "d\ta", "d\tb"],
            "calls.forwards.reach": ["a\tb", "a\tc", "a\td", "b\tc", "b\td"],
            "ends": ["a"],
        },
    ),
    "inline": (
        INLINE,
        {
            "up": ["1\t2", "1\t3", "1\t4", "2\t3"],
            "inner": ["1", "2", "3"],
            "degree": ["1\t3", "2\t2", "3\t2", "4\t1"],
        },
    ),
}


@pytest.mark.parametrize("ranks", (None, 2, 3))
@pytest.mark.parametrize("name", tuple(CASES))
def test_rows(name: str, ranks: int | None, stratalog: Stratalog, tmp_path: Path) -> None:
    text, outputs = CASES[name]
    program = tmp_path / "program.dl"
    program.write_text(text)
    stratalog("run", program, "-F", tmp_path, "-D", tmp_path / "out", ranks=ranks)
    for relation, rows in outputs.items():
        assert (tmp_path / "out" / f"{relation}.csv").read_text().splitlines() == rows
