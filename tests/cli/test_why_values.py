# SPDX-License-Identifier: Apache-2.0
"""why and why-not show what is written with the values that it has: expressions and records inside
of atoms, ranges, aggregates; and why-not gives true reasons where the goal gives the values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import Stratalog

PROGRAM = """.type P = [a: number, b: symbol]
.type Nat = Zero {} | Succ { n: Nat } | Pair { x: number, p: P }
.decl a(x: number)
a(1). a(2). a(3).
.decl b(x: number, y: number)
b(1, 2). b(2, 3).
.decl n(x: number)
n(7).
.decl neg(x: number)
neg(x) :- b(x, _), !n(x + 5).
.decl lone(x: number)
lone(x) :- b(x, y), !b(x * y, y - 1).
.decl r(p: P, f: float, u: unsigned)
r([x, to_string(x)], to_float(x) / 2, to_unsigned(x)) :- a(x), x > 1.
.decl apart(x: number)
apart(x) :- a(x), !(x > 1, r([x, to_string(x)], 1.0, 2)).
.decl held(x: number)
held(x) :- a(x), r([x + 1, to_string(x + 1)], _, to_unsigned(x + 1)).
.decl part(x: number)
part(x) :- r([x, s], _, _), s != "2".
.decl some(x: number)
some(x) :- a(x), x = range(2, 5).
.decl pairs(x: number, y: number)
pairs(x, y) :- x = range(0, 3), y = range(0, 3), x + y = 4.
.decl differ(x: number, y: number)
differ(x, y) :- y = range(0, 3), a(x), x != y.
.decl even(x: number)
even(x) :- x = range(0, 10), x % 2 = 0, !a(x).
.decl below(x: number, y: number)
below(x + 1, y) :- a(x), y = range(0, x).
.decl shifted(x: number)
shifted(range(0, 3)).
shifted(x + range(10, 12)) :- a(x).
.decl counted(x: number, y: number)
counted(x, y) :- a(x), y = max z : { a(z), z < x }.
counted(x, y) :- a(x), y = sum z + 1 : { a(z), r([z, _], _, _) }, x = 1.
.decl many(x: number)
many(x) :- a(x), x < count : { b(_, _) }.
.decl middle(x: number)
middle(x) :- a(x), k = count : { b(_, _) }, k < x.
.decl nat(n: Nat)
nat($Zero()).
nat($Succ(n)) :- nat(n), n = $Zero().
nat($Pair(x, [x, "a"])) :- a(x).
.decl deep(x: number)
deep(x) :- nat($Pair(x, p)), p != nil, !nat($Succ($Pair(x, p))).
.decl fixed(x: number, y: number)
fixed(4, y) :- a(y).
.decl inl(x: number) inline
inl(x) :- a(x), x > 1.
inl(10).
.decl outside(x: number)
outside(x) :- a(x), !inl(x + 1).
.decl tail(x: number)
tail(x) :- r(p, _, _), p = [x, s], s != "3".
.decl alone(x: number)
alone(x) :- n(x), b(y, z), !b(y + 7, z), r([y, _], _, _).
"""


@pytest.fixture(scope="module")
def checkpoint(stratalog: Stratalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("values")
    (folder / "p.dl").write_text(PROGRAM)
    stratalog("run", folder / "p.dl", "-D", folder, "--checkpoint", folder / "ck", "-q")
    return folder / "ck"


@pytest.mark.parametrize(
    ("goal", "conditions"),
    [
        ("neg(1)", ["!n(6)"]),
        ("lone(1)", ["!b(2, 1)"]),
        ("apart(1)", ["1 <= 1"]),
        ("apart(3)", ['!r([3, "3"], 1.0, 2u)']),
        ("held(1)", []),
        ("part(3)", ['"3" != "2"']),
        ("some(2)", ["2 is one of range(2, 5)"]),
        ("pairs(2, 2)", ["2 is one of range(0, 3)", "2 is one of range(0, 3)", "2 + 2 = 4"]),
        ("differ(3, 0)", ["0 is one of range(0, 3)", "3 != 0"]),
        ("below(3, 1)", ["1 is one of range(0, 2)"]),
        ("shifted(11)", ["10 is one of range(10, 12)"]),
        ("shifted(2)", ["2 is one of range(0, 3)"]),
        ("counted(3, 2)", ["2 = max z : { a(z), z < 3 }"]),
        ("counted(1, 7)", ["7 = sum z + 1 : { a(z), r([z, _], _, _) }", "1 = 1"]),
        ("many(1)", ["2 = count : { b(_, _) }", "1 < 2"]),
        ("middle(3)", ["2 = count : { b(_, _) }", "2 < 3"]),
        ("nat($Succ($Zero()))", ["$Zero() = $Zero()"]),
        ("deep(2)", ['[2, "a"] != nil', '!nat($Succ($Pair(2, [2, "a"])))']),
        ("outside(3)", ["!a(4)", "10 != 3 + 1"]),
        ("tail(2)", ['[2, "2"] = [2, "2"]', '"2" != "3"']),
        ("alone(7)", ["!b(9, 3)"]),
    ],
)
def test_conditions_have_their_values(
    stratalog: Stratalog, checkpoint: Path, goal: str, conditions: list[str]
) -> None:
    proof = stratalog("why", checkpoint, goal, "--json").json()
    assert proof["nodes"][0]["conditions"] == conditions
    lines = stratalog("why", checkpoint, goal).out.splitlines()
    shown = [line[3:].removesuffix("holds").rstrip() for line in lines if line.endswith(" holds")]
    assert shown[: len(conditions)] == conditions


def judged(stratalog: Stratalog, checkpoint: Path, goal: str) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = stratalog("why-not", checkpoint, goal, "--json").json()["rules"]
    return rules


@pytest.mark.parametrize(
    ("goal", "satisfied", "fails"),
    [
        ("pairs(1, 1)", ["1 is one of range(0, 3)"] * 2, "1 + 1 = 4"),
        ("pairs(1, 3)", ["1 is one of range(0, 3)"], "3 is one of range(0, 3)"),
        ("differ(2, 2)", ["2 is one of range(0, 3)", "a(2)"], "2 != 2"),
        ("even(2)", ["2 is one of range(0, 10)", "2 % 2 = 0"], "!a(2)"),
        ("even(5)", ["5 is one of range(0, 10)"], "5 % 2 = 0"),
        ("even(12)", [], "12 is one of range(0, 10)"),
        ("some(1)", ["a(1)"], "1 is one of range(2, 5)"),
        ("many(3)", ["a(3)", "2 = count : { b(_, _) }"], "3 < 2"),
        ("middle(1)", ["a(1)", "2 = count : { b(_, _) }"], "2 < 1"),
        ("apart(9)", [], "a(9)"),
        ("held(3)", ["a(3)"], 'r([4, "4"], _, 4)'),
        ("part(2)", ['r([2, "2"], _, _)'], '"2" != "2"'),
        ("part(9)", [], "r([9, s], _, _)"),
        ("tail(3)", ['r([3, "3"], _, _)', '[3, "3"] = [3, "3"]'], '"3" != "3"'),
        ("fixed(4, 9)", [], "a(9)"),
    ],
)
def test_reasons_are_true(
    stratalog: Stratalog, checkpoint: Path, goal: str, satisfied: list[str], fails: str
) -> None:
    rule = judged(stratalog, checkpoint, goal)[0]
    assert rule["head_fits"]
    assert (rule["satisfied"], rule["fails"]) == (satisfied, fails)


def test_negated_atoms_that_fail_have_values(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text(PROGRAM.replace("n(7).", "n(7). n(6)."))
    stratalog("run", tmp_path / "p.dl", "-D", tmp_path, "--checkpoint", tmp_path / "ck", "-q")
    rule = judged(stratalog, tmp_path / "ck", "neg(1)")[0]
    assert (rule["satisfied"], rule["fails"]) == (["b(1, _)"], "!n(6)")


@pytest.mark.parametrize(
    ("goal", "number", "misfit"),
    [
        ("r(nil, 1.0, 2)", 0, "nil is not [x, to_string(x)]"),
        ("fixed(5, 1)", 0, "5 is not 4"),
        ("nat($Pair(1, nil))", 0, "$Pair(1, nil) is not $Succ(n)"),
        ("nat($Pair(1, nil))", 1, '$Pair(1, nil) is not $Pair(x, [x, "a"])'),
        ('nat($Pair(1, [2, "a"]))', 1, '$Pair(1, [2, "a"]) is not $Pair(x, [x, "a"])'),
    ],
)
def test_goals_that_are_not_like_the_head(
    stratalog: Stratalog, checkpoint: Path, goal: str, number: int, misfit: str
) -> None:
    rule = judged(stratalog, checkpoint, goal)[number]
    assert not rule["head_fits"]
    assert (rule["satisfied"], rule["fails"]) == ([], None)
    assert rule["misfit"] == misfit
    text = stratalog("why-not", checkpoint, goal).out
    assert f"  its head is never this tuple: {misfit}\n" in text


def test_records_that_fit_the_head_but_not_each_other(
    stratalog: Stratalog, checkpoint: Path
) -> None:
    rule = judged(stratalog, checkpoint, 'r([2, "3"], 1.0, 2)')[0]
    assert rule["head_fits"]
    assert rule["misfit"] is None
    assert rule["fails"] == '"3" = to_string(2)'


def test_aggregates_are_shown_as_written(stratalog: Stratalog, checkpoint: Path) -> None:
    first, second = judged(stratalog, checkpoint, "counted(1, 0)")
    assert (first["satisfied"], first["found"]) == (["a(1)"], None)
    assert first["fails"] == "0 = max z : { a(z), z < 1 }"
    assert (second["satisfied"], second["found"]) == (["a(1)"], "7")
    assert second["fails"] == "0 = sum z + 1 : { a(z), r([z, _], _, _) }"
    text = stratalog("why-not", checkpoint, "counted(1, 0)").out
    assert "#" not in text
