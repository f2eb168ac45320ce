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

CHOICE = """
.decl e(x: number, y: number)
e(1, 2). e(1, 1). e(2, 2). e(2, 3). e(3, 3). e(0, 5). e(4, 5). e(0, 1). e(-1, 9).
.decl matching(x: number, y: number) choice-domain x, y
matching(x, y) :- e(x, y).
.output matching
.decl least(x: number, y: number) choice-domain x
least(x, y) :- e(x, y).
.output least
.decl tree(child: number, parent: number) choice-domain child
tree(1, 0).
tree(y, x) :- tree(x, _), e(x, y).
tree(y, x) :- tree(x, _), e(y, x).
.output tree
.decl text(s: symbol, n: number) choice-domain n
text("b", 1). text("a", 1). text(cat("c", to_string(n)), n) :- e(n, _).
.output text
"""

LIMITS = """
.decl n(x: number)
n(1).
n(x + 1) :- n(x), x < 1000.
.limitsize n(n=5)
.output n
.decl m(x: number)
m(x) :- n(x), x < 3.
m(x * 2) :- m(x), recursive_iteration_cnt() < 3.
.decl found = debug_delta(m)
.output found
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
    "choice": (
        CHOICE,
        {
            "matching": ["-1\t9", "0\t1", "1\t2", "2\t3", "4\t5"],
            "least": ["-1\t9", "0\t1", "1\t1", "2\t2", "3\t3", "4\t5"],
            "tree": ["0\t1", "1\t0", "2\t1", "3\t2", "4\t5", "5\t0"],
            "text": ["a\t1", "c-1\t-1", "c0\t0", "c2\t2", "c3\t3", "c4\t4"],
        },
    ),
    "limits": (
        LIMITS,
        {
            "n": ["1", "2", "3", "4", "5"],
            "found": ["1\t0", "2\t0", "4\t1", "8\t2"],
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


@pytest.mark.parametrize("ranks", (None, 2))
def test_output_files_have_the_mode_of_the_umask(
    ranks: int | None, stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "program.dl"
    program.write_text(".decl a(x: number)\na(1).\n.output a\n")
    command = stratalog.command("run", program, "-D", tmp_path / "out", ranks=ranks)
    finished = stratalog.run_command(["sh", "-c", 'umask 027; exec "$@"', "sh", *command])
    assert finished.code == 0, finished
    assert (tmp_path / "out" / "a.csv").stat().st_mode & 0o777 == 0o640
