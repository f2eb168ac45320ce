# SPDX-License-Identifier: Apache-2.0
"""Relations over lattices: least and greatest values, and what they mean in bodies; on threads and
processes, against searches in Python."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from stratalog_runner import RANK_COUNTS, Stratalog, check_resumed_generations

MEETS = """
.type Height <: number
.lattice Height<> { Bottom -> -1, Top -> 100, Lub -> max(_, _), Glb -> min(_, _) }
.decl left(x: number, b: Height<>)
.decl right(x: number, b: Height<>)
.decl both(x: number, b: Height<>)
left(0, 12). left(0, 3). left(1, 8). left(2, -1). left(3, 5).
right(0, 2). right(0, 4). right(1, 40). right(2, 7).
both(x, b) :- left(x, b), right(x, b).
.decl high(x: number)
high(x) :- left(x, 8).
.decl low(x: number)
low(x) :- left(x, _), !left(x, 0).
// The value of a whole relation, and one that is known from elsewhere.
.decl all(b: Height<>)
.decl known(b: Height)
.decl covered(b: Height<>)
.decl most(b: number)
all(12). all(3).
known(6). known(2). known(16).
covered(b) :- all(b), known(b).
most(m) :- m = max b : { left(_, b) }.
.output both, high, low, all, covered, most
"""

NEAREST = """
.type Length <: number
.lattice Length<> {{ Bottom -> 1000000, Lub -> {lub}(_, _), Glb -> {glb}(_, _) }}
.decl edge(x: number, y: number)
.input edge
.decl dist(s: number, y: number, d: Length<>)
dist(s, s, 0) :- edge(s, _), s < 5.
dist(s, z, {sign}(1 + (y * 7 + z * 13) % 9) + d) :- dist(s, y, d), edge(y, z).
.decl near(s: number, y: number)
near(s, y) :- dist(s, y, {sign}9).
.output dist, near
"""


def arcs() -> list[tuple[int, int]]:
    choose = random.Random(3)
    return sorted({(choose.randrange(60), choose.randrange(60)) for _ in range(150)})


def rows(path: Path) -> set[tuple[str, ...]]:
    return {tuple(line.split("\t")) for line in path.read_text().splitlines()}


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in arcs()))
    return folder


def runs() -> list[tuple[tuple[object, ...], int | None]]:
    return [
        *((("-j", ranks), None) for ranks in RANK_COUNTS),
        *(((), ranks) for ranks in RANK_COUNTS[1:]),
    ]


def lengths() -> set[tuple[int, int, int]]:
    found: set[tuple[int, int, int]] = set()
    for start in {x for x, _ in arcs() if x < 5}:
        known = {start: 0}
        changed = True
        while changed:
            changed = False
            for x, y in arcs():
                more = known[x] + 1 + (x * 7 + y * 13) % 9 if x in known else 10**9
                if more < known.get(y, 10**8):
                    known[y] = more
                    changed = True
        found |= {(start, y, d) for y, d in known.items()}
    return found


@pytest.mark.parametrize(("lub", "glb", "sign"), (("min", "max", ""), ("max", "min", "-")))
def test_least_and_greatest_values(
    lub: str, glb: str, sign: str, stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    text = NEAREST.format(lub=lub, glb=glb, sign=sign)
    (tmp_path / "p.dl").write_text(text.replace("1000000", f"{sign}1000000"))
    plan = stratalog("explain", tmp_path / "p.dl", "-F", inputs).out
    assert f"keeps the {'least' if lub == 'min' else 'greatest'} d of each (s, y)" in plan
    expected = lengths()
    for arguments, ranks in runs():
        out = tmp_path / f"out{arguments}{ranks}"
        stratalog("run", tmp_path / "p.dl", "-F", inputs, "-D", out, *arguments, ranks=ranks)
        factor = -1 if sign else 1
        assert rows(out / "dist.csv") == {(str(s), str(y), str(factor * d)) for s, y, d in expected}
        # A known value asks for at least that much, which is a distance of at most 9.
        assert rows(out / "near.csv") == {(str(s), str(y)) for s, y, d in expected if d <= 9}


def test_what_values_mean_in_bodies(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(MEETS)
    for arguments, ranks in runs():
        out = tmp_path / f"out{arguments}{ranks}"
        stratalog("run", program, "-D", out, *arguments, ranks=ranks)
        assert rows(out / "both.csv") == {("0", "4"), ("1", "8")}  # -1 is Bottom
        assert rows(out / "high.csv") == {("0",), ("1",)}
        assert rows(out / "low.csv") == {("2",)}
        assert rows(out / "all.csv") == {("12",)}
        assert rows(out / "covered.csv") == {("6",)}
        assert rows(out / "most.csv") == {("12",)}


def test_a_resumed_run_goes_on(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(NEAREST.format(lub="min", glb="max", sign=""))
    check_resumed_generations(
        *(stratalog, (program, "-F", inputs), tmp_path),
        before=None,
        after=3,
        more_than=3,
        stride=3,
        exported="dist",
    )


FLOATS = """
.type Value <: float
.lattice Value<> {{ Bottom -> 0.0, Lub -> {lub}(_, _), Glb -> {glb}(_, _) }}
.decl given(k: number, x: Value)
.input given
.decl edge(k: number, l: number)
.input edge
.decl kept(k: number, x: Value<>)
kept(k, x) :- given(k, x).
kept(l, x) :- kept(k, x), edge(k, l).
.decl all(x: Value<>)
all(x) :- given(k, x), k < 20.
// What is subsumed by joins in the recursion above changes nothing.
.decl far(k: number, x: number)
far(k, k) :- kept(k, _).
far(l, x + 1) :- far(k, x), edge(k, l), kept(l, _), x < 50.
kept(k, x) :- given(k, x), far(k, _).
far(k, x) <= far(k, y) :- kept(k, _), x < y, y < x + 9.
.output kept, all
"""


@pytest.mark.parametrize("ranks", [None, *RANK_COUNTS])
@pytest.mark.parametrize("lub", ["max", "min"])
def test_one_of_the_floats_that_are_not_in_order(
    lub: str, ranks: int | None, stratalog: Stratalog, tmp_path: Path
) -> None:
    """-0.0 and 0.0 are one value of a lattice, the one that an aggregate has, and NaN gives way."""
    zero = "0" if lub == "max" else "-0"
    given, expected = [], set()
    for k, (values, kept) in enumerate(
        [
            (("-0.0", "0.0"), zero),
            (("0.0", "-0.0"), zero),
            (("nan", "-0.0"), "-0"),
            (("nan", "-nan"), "nan"),
            (("-nan", "nan"), "nan"),
            (("nan", "7.5", "-nan"), "7.5"),
        ]
    ):
        given += [f"{10 * k}\t{value}" for value in values]
        # On the way around, what is worse may arrive at what is better, and the other way round.
        expected |= {(str(10 * k + i), kept) for i in range(5)}
        given += [f"{10 * k + 1 + i % 4}\t{value}" for i, value in enumerate(values)]
    edges = [f"{10 * k + i}\t{10 * k + (i + 1) % 5}" for k in range(6) for i in range(5)]
    (tmp_path / "given.facts").write_text("\n".join(given) + "\n")
    (tmp_path / "edge.facts").write_text("\n".join(edges) + "\n")
    (tmp_path / "floats.dl").write_text(
        FLOATS.format(lub=lub, glb="min" if lub == "max" else "max")
    )
    run = ("run", tmp_path / "floats.dl", "-F", tmp_path, "-D", tmp_path, "-q")
    for more in ((), ("-j", "3")) if ranks is None else ((),):
        stratalog(*run, *more, ranks=ranks)
        assert rows(tmp_path / "kept.csv") == expected
        assert (tmp_path / "kept.csv").read_text().count("\n") == len(expected)
        assert (tmp_path / "all.csv").read_text() == f"{zero}\n"
