# SPDX-License-Identifier: Apache-2.0
"""Records and algebraic data types end to end: values, files, rank counts, checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest
from stratalog_runner import PROGRAMS, Stratalog, check_resumed_generations, outputs

PROGRAM = PROGRAMS / "terms.dl"
EDGES = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 2), (5, 5)]
START = [
    "$Add($Lit(2), $Mul($Lit(3),$Lit(-7))),a",
    "$Lit(1099511627776),big",
    "$Mul($Add($Lit(1),$Lit(1)), $Add($Lit(1),$Lit(1))),shared",
]


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in EDGES))
    (folder / "start.facts").write_text("\n".join(START) + "\n")
    return folder


def lists(most: int) -> list[list[int]]:
    """All walks of up to `most` edges, the last node first."""
    walks = [[y, x] for x, y in EDGES]
    fresh = walks
    for _ in range(most - 1):
        fresh = [[z, *walk] for walk in fresh for y, z in EDGES if y == walk[0]]
        walks = walks + fresh
    return walks


def text(walk: list[int]) -> str:
    return "nil" if not walk else f"[{walk[0]}, {text(walk[1:])}]"


def test_plans_are_made_for_files_of_records(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        ".type P = [x: number]\n.type E = A {p: P} | B {}\n.decl a(p: P, e: E)\n.input a\n"
        ".decl b(p: P)\n.output b\nb(p) :- a(p, $B()).\n"
    )
    (tmp_path / "a.facts").write_text("[1]\t$B\n[2]\t$A([3])\n")
    assert "search a by (e)" in stratalog("explain", program, "-F", tmp_path).out


def test_values(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    finished = stratalog("run", PROGRAM, "-F", inputs, "-D", tmp_path)
    assert finished.sizes() == {"path": len(lists(4))}
    assert (tmp_path / "folded.csv").read_text().splitlines() == [
        "$Lit(1099511627776)\t$Lit(1099511627776)",
        "$Add($Lit(2), $Mul($Lit(3), $Lit(-7)))\t$Lit(-19)",
        "$Mul($Add($Lit(1), $Lit(1)), $Add($Lit(1), $Lit(1)))\t$Lit(4)",
    ]
    loops = [w for w in lists(4) if len(w) > 2 and w[0] == w[2]]
    assert sorted((tmp_path / "loop.csv").read_text().splitlines()) == sorted(map(text, loops))
    longest = [w for w in lists(4) if len(w) == 5]
    assert sorted((tmp_path / "longest.csv").read_text().splitlines()) == sorted(map(text, longest))
    assert '"$Mul($Lit(3), $Lit(-7))",-21' in (tmp_path / "value.csv").read_text().splitlines()


def test_the_same_bytes_at_any_number_of_ranks(
    stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    expected = None
    for ranks in (None, 2, 3, 7):
        folder = tmp_path / str(ranks)
        stratalog("run", PROGRAM, "-F", inputs, "-D", folder, ranks=ranks)
        expected = expected or outputs(folder)
        assert outputs(folder) == expected
    assert expected


@pytest.mark.parametrize(("before", "after"), ((1, 3), (3, 2), (2, None)))
def test_a_resumed_run_knows_all_records(
    before: int, after: int | None, stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    check_resumed_generations(
        *(stratalog, (PROGRAM, "-F", inputs), tmp_path),
        before=before,
        after=after,
        more_than=5,
        stride=3,
        exported="longest",
    )


def test_malformed_records(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    start = inputs / "start.facts"
    start.write_text("$Lit(1),a\n$Lit(x),b\n$Lit(1,c\n")
    finished = stratalog("run", PROGRAM, "-F", inputs, "-D", tmp_path, ranks=2, expect=2)
    assert (
        "start.facts:2: field 1 (attribute `t`, type Term): expected a number at its character 6, "
        'found "$Lit(x)"'
    ) in finished.err


SORT = """.type list = [head: number, tail: list]
.decl ToSort(start: list)
ToSort([2, [3, [1, nil]]]).
.decl Split(start: list, notdone: list, below: list, above: list)
Split([p, l], l, nil, nil) :- ToSort([p, l]).
Split([p, l], t, [h, b], a) :- Split([p, l], [h, t], b, a), h < p.
Split([p, l], t, b, [h, a]) :- Split([p, l], [h, t], b, a), h >= p.
ToSort(l) :- Split(_, nil, l, _).
ToSort(l) :- Split(_, nil, _, l).
.decl ToCat(a: list, b: list)
ToCat(t, b) :- ToCat([_, t], b).
.decl Cat(a: list, b: list, c: list)
Cat(nil, b, b) :- ToCat(nil, b).
Cat([h, a], b, [h, c]) :- ToCat([h, a], b), Cat(a, b, c).
.decl Sorted(start: list, end: list)
Sorted(nil, nil).
Sorted([h, t], end) :-
    ToSort([h, t]), Split([h, t], nil, b, a), Sorted(a, s), Sorted(b, r), Cat(r, [h, s], end).
ToCat(r, [h, s]) :- Split([h, _], nil, b, a), Sorted(a, s), Sorted(b, r).
.output Sorted
"""


def test_a_list_is_sorted(stratalog: Stratalog, tmp_path: Path) -> None:
    """The search by one column of Split once used an index without a directory for it."""
    (tmp_path / "sort.dl").write_text(SORT)
    for ranks in (None, 3):
        stratalog("run", tmp_path / "sort.dl", "-D", tmp_path, "-q", ranks=ranks)
        lines = (tmp_path / "Sorted.csv").read_text().splitlines()
        assert "[2, [3, [1, nil]]]\t[1, [2, [3, nil]]]" in lines


COMPARED = """.type P = [a: number, b: number]
.decl known(p: P)
known(nil).
.decl more(p: P)
.decl r(p: P)
.decl q(p: P)
r(p) :- known(p), (p != [4, 6] ; p != [2, 0]).
r([4, 0]) :- q(_).
q([2, y]) :- r(_), more([_, y]).
.output r
"""


def test_records_made_to_be_compared_with(stratalog: Stratalog, tmp_path: Path) -> None:
    """One rank made them, and had them in its dictionary when all ranks evaluated the same."""
    (tmp_path / "p.dl").write_text(COMPARED)
    for ranks in (None, 2, 3):
        stratalog("run", tmp_path / "p.dl", "-D", tmp_path, "-q", ranks=ranks)
        assert (tmp_path / "r.csv").read_text() == "nil\n"
