# SPDX-License-Identifier: Apache-2.0
"""Lattices whose least upper bound no order gives: bits, and functors of a library, on threads and
processes, against fixpoints in Python; restarts; functors that are no upper bounds."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from stratalog_runner import RANK_COUNTS, Stratalog, check_resumed_generations

# Sources below 60, as bits: some masks are wide numbers. `back` looks for masks by the second
# column, so that they lie in more than their home.
MASKS = """
.type Mask <: unsigned
.lattice Mask<> { Bottom -> 0, Top -> 0xFFFFFFFFFFFFFFFF, Lub -> _ bor _, Glb -> _ band _ }
.decl edge(x: number, y: number)
.input edge
.decl seen(x: number, via: number, m: Mask<>)
seen(s, s % 3, 1 bshl to_unsigned(s)) :- edge(s, _), s < 60.
seen(y, via, m) :- seen(x, via, m), edge(x, y).
seen(x, via, 1 bshl 63) :- back(x), via = x % 3.
.decl back(x: number)
back(0).
back(x) :- back(v), v < 3, seen(x, v, m), m > 4294967296.
.decl all(m: Mask<>)
all(m) :- seen(_, _, m).
.decl both(x: number)
both(x) :- seen(x, 0, 3).
.output seen, back, all, both
"""

LIBRARY = r"""
#include <stdint.h>
#include <string.h>
static char text[64];
// Letters of both, in order.
const char* letters(const char* a, const char* b) {
  char* to = text;
  while (*a || *b) {
    char next = !*b || (*a && *a <= *b) ? *a : *b;
    if (*a == next) ++a;
    if (*b == next) ++b;
    *to++ = next;
  }
  *to = 0;
  return text;
}
int64_t flat(int64_t a, int64_t b) {
  return a == 0 || a == b ? b : b == 0 ? a : INT64_C(1) << 50;
}
int64_t plus(int64_t a, int64_t b) { return a + b; }
"""

LETTERS = """
.type Letters <: symbol
.type Flat <: number
.functor letters(Letters, Letters): Letters
.functor flat(Flat, Flat): Flat
.lattice Letters<> { Bottom -> "", Lub -> @letters(_, _) }
.lattice Flat<> { Bottom -> 0, Lub -> @flat(_, _) }
.decl edge(x: number, y: number)
.input edge
.decl above(x: number, s: Letters<>)
above(x, substr("abcdefghijklmnopqrstuvwxyz", x % 26, 1)) :- edge(x, _).
above(y, s) :- above(x, s), edge(x, y).
.decl constant(x: number, v: Flat<>)
constant(x, x % 7) :- edge(x, _), x % 5 = 0.
constant(y, v) :- constant(x, v), edge(x, y).
.output above, constant
"""

NO_LUB = """
.type Sum <: number
.functor plus(Sum, Sum): Sum
.lattice Sum<> { Lub -> @plus(_, _) }
.decl r(x: number, v: Sum<>)
r(x, 1) :- x = range(0, 9).
r(x, v + 2) :- r(x, v), v < 100.
.output r
"""


def arcs() -> list[tuple[int, int]]:
    choose = random.Random(11)
    return sorted({(choose.randrange(80), choose.randrange(80)) for _ in range(110)})


def rows(path: Path) -> set[tuple[str, ...]]:
    return {tuple(line.split("\t")) for line in path.read_text().splitlines()}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, stratalog: Stratalog) -> Path:
    folder = tmp_path_factory.mktemp("bounds")
    (folder / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in arcs()))
    (folder / "functors.c").write_text(LIBRARY)
    command = ["cc", "-shared", "-fPIC", "-o", folder / "libfunctors.so", folder / "functors.c"]
    subprocess.run(command, check=True)
    for name, text in (("masks", MASKS), ("letters", LETTERS), ("no_lub", NO_LUB)):
        (folder / f"{name}.dl").write_text(text)
    return folder


@pytest.fixture(scope="module")
def library(inputs: Path, stratalog: Stratalog) -> tuple[object, ...]:
    where = ("-F", inputs, "-L", inputs)
    tried = stratalog("run", inputs / "letters.dl", *where, "-D", inputs, expect=None)
    if "libffi was not there" in tried.err:
        pytest.skip("this build has no libffi: user-defined functors are refused")
    return where


def runs() -> list[tuple[tuple[object, ...], int | None]]:
    return [
        *((("-j", ranks), None) for ranks in RANK_COUNTS),
        *(((), ranks) for ranks in RANK_COUNTS[1:]),
    ]


def masks() -> tuple[dict[tuple[int, int], int], set[int]]:
    found = {}
    for s, _ in arcs():
        if s < 60:
            found[s, s % 3] = found.get((s, s % 3), 0) | 1 << s
    back = {0}
    changed = True
    while changed:
        before = dict(found), set(back)
        for x, y in arcs():
            for via in range(3):
                if (x, via) in found:
                    found[y, via] = found.get((y, via), 0) | found[x, via]
        for x in back:
            found[x, x % 3] = found.get((x, x % 3), 0) | 1 << 63
        back |= {x for (x, via), m in found.items() if via in back and m > 2**32}
        changed = before != (found, back)
    return found, back


def test_bits(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    plan = stratalog("explain", inputs / "masks.dl", "-F", inputs).out
    assert "keeps the least upper bound of the m of each (x, via)" in plan
    found, back = masks()
    assert len(back) > 3
    union = 0
    for m in found.values():
        union |= m
    for arguments, ranks in runs():
        out = tmp_path / f"out{arguments}{ranks}"
        stratalog("run", inputs / "masks.dl", "-F", inputs, "-D", out, *arguments, ranks=ranks)
        seen = {(str(x), str(via), str(m)) for (x, via), m in found.items()}
        assert rows(out / "seen.csv") == seen, (arguments, ranks)
        assert rows(out / "back.csv") == {(str(x),) for x in back}
        assert rows(out / "all.csv") == {(str(union),)}
        assert rows(out / "both.csv") == {
            (str(x),) for (x, via), m in found.items() if via == 0 and m & 3 == 3
        }


def reached(start: dict[int, set[object]]) -> dict[int, set[object]]:
    found = {x: set(values) for x, values in start.items()}
    changed = True
    while changed:
        changed = False
        for x, y in arcs():
            more = found.get(x, set()) - found.get(y, set())
            if more:
                found.setdefault(y, set()).update(more)
                changed = True
    return found


def test_functors_of_a_library(
    stratalog: Stratalog, inputs: Path, library: tuple[object, ...], tmp_path: Path
) -> None:
    above = reached({x: {chr(ord("a") + x % 26)} for x, _ in arcs()})
    constant = reached({x: {x % 7} for x, _ in arcs() if x % 5 == 0})

    def flat(values: set[object]) -> object:
        known = values - {0}
        return 1 << 50 if len(known) > 1 else next(iter(known), 0)

    for arguments, ranks in runs():
        out = tmp_path / f"out{arguments}{ranks}"
        stratalog("run", inputs / "letters.dl", *library, "-D", out, *arguments, ranks=ranks)
        assert rows(out / "above.csv") == {
            (str(x), "".join(sorted(str(c) for c in s))) for x, s in above.items()
        }, (arguments, ranks)
        assert rows(out / "constant.csv") == {(str(x), str(flat(v))) for x, v in constant.items()}


@pytest.mark.parametrize(("before", "after"), ((None, 3), (3, None)))
def test_a_resumed_run_goes_on(
    before: int | None,
    after: int | None,
    stratalog: Stratalog,
    inputs: Path,
    library: tuple[object, ...],
    tmp_path: Path,
) -> None:
    for name, relation in (("masks", "seen"), ("letters", "above")):
        folder = tmp_path / name
        folder.mkdir()
        check_resumed_generations(
            *(stratalog, (inputs / f"{name}.dl", *library), folder),
            before=before,
            after=after,
            more_than=3,
            stride=9,
            exported=relation,
        )


@pytest.mark.parametrize("ranks", (None, 3))
def test_a_functor_that_is_no_upper_bound(
    stratalog: Stratalog, inputs: Path, library: tuple[object, ...], ranks: int | None
) -> None:
    failed = stratalog("run", inputs / "no_lub.dl", *library, "-D", "-", expect=1, ranks=ranks)
    assert "no_lub.dl:4:1: the Lub of 1 and 3 is 4" in failed.err
    assert "the Lub of that and 1 is 5: it is no upper bound" in failed.err
