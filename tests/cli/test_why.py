# SPDX-License-Identifier: Apache-2.0
"""why and why-not: proofs of least height, checked against a search of their own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import Stratalog

HEAD = """.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
"""
CLOSURES = {
    "left": "path(x, z) :- path(x, y), edge(y, z).\n",
    "right": "path(x, z) :- edge(x, y), path(y, z).\n",
    "both": "path(x, z) :- path(x, y), path(y, z).\n",
}


def edges(seed: int, nodes: int, count: int) -> list[tuple[int, int]]:
    source = random.Random(seed)
    return sorted({(source.randrange(nodes), source.randrange(nodes)) for _ in range(count)})


def save(stratalog: Stratalog, folder: Path, program: str, facts: dict[str, str]) -> Path:
    (folder / "facts").mkdir(parents=True, exist_ok=True)
    for name, text in facts.items():
        (folder / "facts" / f"{name}.facts").write_text(text)
    (folder / "p.dl").write_text(program)
    run = ("run", folder / "p.dl", "-F", folder / "facts", "-D", folder)
    stratalog(*run, "--checkpoint", folder / "ck", "-q")
    return folder / "ck"


def text_of(rows: list[tuple[int, int]]) -> str:
    return "".join(f"{x}\t{y}\n" for x, y in rows)


def heights(rows: list[tuple[int, int]], kind: str) -> dict[tuple[int, int], int]:
    """Height of the lowest proof of each pair, round by round."""
    height = dict.fromkeys(rows, 1)
    for number in range(2, 100):
        steps = {1: set(rows), 2: set(height)}
        left, right = {"left": (2, 1), "right": (1, 2), "both": (2, 2)}[kind]
        after: dict[int, list[int]] = {}
        for y, z in steps[right]:
            after.setdefault(y, []).append(z)
        found = {(x, z) for x, y in steps[left] for z in after.get(y, ())} - set(height)
        if not found:
            return height
        height.update(dict.fromkeys(found, number))
    raise AssertionError


def check_proof(proof: dict[str, Any], rows: set[str]) -> None:
    nodes = proof["nodes"]
    for node in nodes:
        below = [nodes[i]["height"] for i in node["premises"]]
        if node["kind"] == "input":
            assert node["height"] == 0
            assert node["tuple"] in rows
        elif node["kind"] == "fact":
            assert (node["height"], below) == (0, [])
        else:
            assert node["height"] == 1 + max(below, default=0), "a premise is lower"
            assert node["rule"]["line"] > 0


@pytest.mark.parametrize("kind", CLOSURES)
def test_proofs_of_closures_have_least_height(
    stratalog: Stratalog, tmp_path: Path, kind: str
) -> None:
    rows = edges(5, 24, 34)
    checkpoint = save(stratalog, tmp_path, HEAD + CLOSURES[kind], {"edge": text_of(rows)})
    expected = heights(rows, kind)
    source = random.Random(1)
    names = {f"edge({x}, {y})" for x, y in rows}
    chosen = [*source.sample(sorted(expected), 7), max(expected, key=lambda pair: expected[pair])]
    for x, y in chosen:
        proof = stratalog("why", checkpoint, f"path({x}, {y})", "--json").json()
        assert proof["nodes"][0]["tuple"] == f"path({x}, {y})"
        assert proof["nodes"][0]["height"] == expected[x, y], (kind, x, y)
        check_proof(proof, names)
    missing = next((x, y) for x in range(24) for y in range(24) if (x, y) not in expected)
    goal = f"path{missing}"
    assert "why-not" in stratalog("why", checkpoint, goal, expect=7).err
    answer = stratalog("why-not", checkpoint, goal, "--json").json()
    assert len(answer["rules"]) == 2
    assert answer["rules"][0]["fails"] == f"edge{missing}"
    there = "path({}, {})".format(*chosen[0])
    assert "`why`" in stratalog("why-not", checkpoint, there, expect=7).err


# So few instances that the search backwards gives up: heights are then found forwards.
FEW = ("--limit", 60)


@pytest.mark.parametrize("kind", CLOSURES)
def test_heights_found_forwards(stratalog: Stratalog, tmp_path: Path, kind: str) -> None:
    rows = edges(8, 24, 38)
    checkpoint = save(stratalog, tmp_path, HEAD + CLOSURES[kind], {"edge": text_of(rows)})
    expected = heights(rows, kind)
    names = {f"edge({x}, {y})" for x, y in rows}
    for x, y in sorted(expected, key=lambda pair: expected[pair])[:: len(expected) // 6]:
        proof = stratalog("why", checkpoint, f"path({x}, {y})", "--json", *FEW).json()
        assert proof["is_lowest"]
        assert proof["nodes"][0]["height"] == expected[x, y], (kind, x, y)
        check_proof(proof, names)


def test_rules_that_join_their_own_recursion(stratalog: Stratalog, tmp_path: Path) -> None:
    """Backwards, nearly all pairs of a chain's closure would be asked for."""
    checkpoint = save(
        stratalog,
        tmp_path,
        HEAD + CLOSURES["both"],
        {"edge": text_of([(i, i + 1) for i in range(400)])},
    )
    proof = stratalog("why", checkpoint, "path(0, 400)", "--json").json()
    assert proof["is_lowest"]
    assert proof["nodes"][0]["height"] == 10  # one step, then nine doublings
    check_proof(proof, {f"edge({i}, {i + 1})" for i in range(400)})
    assert "gave up" in stratalog("why", checkpoint, "path(0, 400)", *FEW, expect=5).err


FORWARDS = (
    HEAD
    + CLOSURES["both"]
    + """
.type Pair = [x: number, y: number]
.decl go()
go() :- edge(0, _).
.decl far(p: Pair)
far([x, y]) :- path(x, y), !edge(x, y), go().
.decl name(x: number, s: symbol)
name(y, cat("n", to_string(y))) :- far([_, y]).
.decl wide(x: number, n: number)
wide(x, n) :- path(x, _), n = count : { path(x, _) }, n > 3.
.decl one(x: number, y: number) choice-domain x
one(x, y) :- wide(x, _), path(x, y), x < y.
.decl numbered(x: number, n: number)
numbered(x, autoinc()) :- one(x, _).
.decl some(x: number)
some(100).
some(x) :- x = range(200, 203).
some(x + y) :- some(x), one(y, _), x < 100.
some(x) :- numbered(x, _).
.output some, name, numbered
"""
)


def test_forwards_and_backwards_agree(stratalog: Stratalog, tmp_path: Path) -> None:
    rows = [*((i, i + 1) for i in range(8)), (3, 9), (9, 10)]
    checkpoint = save(stratalog, tmp_path, FORWARDS, {"edge": text_of(rows)})
    numbers = (tmp_path / "numbered.csv").read_text().split()
    goals = [f"numbered({numbers[0]}, {numbers[1]})", f"some({numbers[0]})", "some(100)"]
    goals += ["some(201)", "far([1, 4])", "far([0, 10])", 'name(7, "n7")', "wide(0, 10)", "go()"]
    forwards = 0
    for goal in goals:
        backwards = stratalog("why", checkpoint, goal, "--json").json()
        few = stratalog("why", checkpoint, goal, "--json", "--limit", 12).json()
        assert few["is_lowest"]
        assert backwards["is_lowest"]
        assert few["nodes"][0]["height"] == backwards["nodes"][0]["height"], goal
        check_proof(few, {f"edge({x}, {y})" for x, y in rows})
        forwards += len(few["nodes"]) > 12
    assert forwards > 0


def test_the_tree_as_text(stratalog: Stratalog, tmp_path: Path) -> None:
    rows = [(i, i + 1) for i in range(60)]
    checkpoint = save(stratalog, tmp_path, HEAD + CLOSURES["left"], {"edge": text_of(rows)})
    at = f"{tmp_path}/p.dl"
    assert stratalog("why", checkpoint, "path(3,5)").out.splitlines() == [
        "path(3, 5)        rule 1",
        "├─ path(3, 4)     rule 2",
        "│  └─ edge(3, 4)  input",
        "└─ edge(4, 5)     input",
        "",
        f"rule 1  {at}:5  path(x, z) :- path(x, y), edge(y, z).",
        f"rule 2  {at}:4  path(x, y) :- edge(x, y).",
    ]
    assert "--depth 0" in stratalog("why", checkpoint, "path(0, 60)").out
    whole = stratalog("why", checkpoint, "path(0, 60)", "--depth", 0).out
    assert "└─ edge(0, 1)" in whole
    assert "--depth 0" not in whole
    assert "gave up" in stratalog("why", checkpoint, "path(0, 60)", "--limit", 5, expect=5).err
    assert stratalog("why-not", checkpoint, "path(5, 3)").out.splitlines() == [
        "path(5, 3) is not there",
        "",
        f"{at}:4  path(x, y) :- edge(x, y).",
        "  fails  edge(5, 3)",
        "",
        f"{at}:5  path(x, z) :- path(x, y), edge(y, z).",
        "  holds  path(5, 6)",
        "  fails  edge(6, 3)  (for these values and all others)",
    ]


RICH = """.decl edge(x: number, y: number)
.input edge
.decl blocked(x: number)
blocked(2).
.decl name(x: number, s: symbol)
name(1, "one"). name(3, "thr\\"ee").
.decl reach(x: number, s: symbol)
reach(y, s) :- edge(1, y), !blocked(y), name(y, s).
.decl degree(x: number, n: number)
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
.decl next(x: number, y: number)
next(x, y * 10 + 1) :- edge(x, y), y > 2.
.decl ok()
ok() :- reach(_, _).
.decl level(n: number)
level(0).
level(n + 1) :- level(n), n < 20.
.decl small(n: number)
small(n) :- n = range(0, 4).
.decl common(x: number, y: number, n: number)
common(x, y, n) :- edge(x, _), edge(y, _), x < y,
  n = count : { edge(x, z), edge(y, z), !blocked(z) }.
"""


def test_negation_aggregates_functors_and_facts(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = {"edge": text_of([(1, 2), (1, 3), (1, 4), (3, 4)])}
    checkpoint = save(stratalog, tmp_path, RICH, facts)

    def why(goal: str) -> dict[str, Any]:
        proof: dict[str, Any] = stratalog("why", checkpoint, goal, "--json").json()
        return proof

    nodes = why('reach(3, "thr\\"ee")')["nodes"]
    assert nodes[0]["conditions"] == ["!blocked(3)"]
    assert [node["kind"] for node in nodes] == ["derived", "input", "fact"]
    assert nodes[2]["rule"]["line"] == 6
    assert why("degree(1, 3)")["nodes"][0]["conditions"] == ["3 = count : { edge(1, _) }"]
    # The compiler has made a relation of this body.
    assert why("common(1, 3, 1)")["nodes"][0]["conditions"] == [
        "1 < 3",
        "1 = count : { edge(1, z), edge(3, z), !blocked(z) }",
    ]
    assert why("next(3, 41)")["nodes"][1]["tuple"] == "edge(3, 4)"
    assert why("ok()")["nodes"][0]["height"] == 2
    assert why("level(13)")["nodes"][0]["height"] == 13
    assert why("small(2)")["nodes"][0]["height"] == 1

    def fails(goal: str) -> list[str]:
        answer = stratalog("why-not", checkpoint, goal, "--json").json()
        return [rule["fails"] for rule in answer["rules"]]

    assert fails('reach(2, "one")') == ["!blocked(2)"]
    assert fails('reach(4, "one")') == ['name(4, "one")']
    assert fails('reach(3, "never seen")') == ['name(3, "never seen")']
    assert fails("next(1, 21)") == ["21 = 3 * 10 + 1"], "y = 3 gets further than y = 2"
    assert fails("next(1, 2)") == ["2 = 3 * 10 + 1"]
    assert fails("degree(7, 1)") == ["edge(7, _)"]
    text = stratalog("why-not", checkpoint, "edge(9, 9)").out
    assert "not among the tuples that were read" in text


SAME = """.decl link(x: number, y: number)
.input link
.decl same(x: number, y: number) eqrel
same(x, y) :- link(x, y).
same(x + 100, y + 100) :- same(x, y), x = 1, y = 3.
same(200, 201).
.decl near(x: number, y: number)
near(x, y) :- same(x, y), link(y, _).
"""


def chain_of(proof: dict[str, Any]) -> list[str]:
    return [proof["nodes"][i]["tuple"] for i in proof["nodes"][0]["premises"]]


def test_pairs_of_equivalence_relations(stratalog: Stratalog, tmp_path: Path) -> None:
    links = [(1, 2), (3, 2), (3, 4), (4, 5), (1, 9)]
    checkpoint = save(stratalog, tmp_path, SAME, {"link": text_of(links)})

    def why(goal: str) -> dict[str, Any]:
        proof: dict[str, Any] = stratalog("why", checkpoint, goal, "--json").json()
        return proof

    assert why("same(1, 2)")["nodes"][0]["kind"] == "derived"
    turned = why("same(2, 1)")
    assert turned["nodes"][0]["kind"] == "equivalent"
    assert chain_of(turned) == ["same(1, 2)"]
    assert chain_of(why("same(5, 1)")) == ["same(4, 5)", "same(3, 4)", "same(3, 2)", "same(1, 2)"]
    assert chain_of(why("same(9, 9)")) == ["same(1, 9)"]
    assert chain_of(why("same(201, 200)")) == ["same(200, 201)"]
    # same(101, 103) is given by same(1, 3), which is a chain of two links.
    over = why("same(101, 103)")
    assert over["nodes"][0]["height"] == 3
    assert over["nodes"][1]["tuple"] == "same(1, 3)"
    assert why("near(5, 3)")["nodes"][0]["height"] == 3
    assert stratalog("why", checkpoint, "same(2, 1)").out.splitlines()[0].split("  ")[-1] == (
        "equivalence"
    )
    stratalog("why", checkpoint, "same(1, 101)", expect=7)
    apart = stratalog("why-not", checkpoint, "same(1, 101)", "--json").json()
    assert "no chain" in apart["note"]
    assert [rule["fails"] for rule in apart["rules"]] == ["link(1, 101)", "1 = 1 + 100"]
    unknown = stratalog("why-not", checkpoint, "same(1, 77)").out
    assert "no pair of same holds 77" in unknown


def test_pairs_that_were_read(stratalog: Stratalog, tmp_path: Path) -> None:
    program = ".decl same(x: number, y: number) eqrel\n.input same\n"
    checkpoint = save(stratalog, tmp_path / "read", program, {"same": "1\t2\n"})
    assert stratalog("why", checkpoint, "same(2, 1)").out == "same(2, 1)  input\n"
    checkpoint = save(stratalog, tmp_path / "mixed", program + "same(3, 4).\n", {"same": "1\t2\n"})
    assert "relation of their own" in stratalog("why", checkpoint, "same(2, 1)", expect=1).err


RECORDS = """.type List = [head: number, tail: List]
.type Shape = Dot { } | Box { wide: number, name: symbol }
.decl list(l: List)
list(nil).
list([n, t]) :- list(t), n = range(1, 3), !long(t).
.decl long(l: List)
long([9, nil]).
.decl size(l: List, n: number)
size(nil, 0).
size([h, t], n + 1) :- size(t, n), list([h, t]), n < 3.
.decl shape(s: Shape)
shape($Box(x * 2, "a\\"b")) :- size(_, x), x > 0.
.decl part(h: number)
part(h) :- size([h, [_, nil]], _).
"""


def test_records_and_types_with_branches(stratalog: Stratalog, tmp_path: Path) -> None:
    program = RECORDS.replace("list(t), n = range", "list(t), size(t, s), s < 2, n = range")
    checkpoint = save(stratalog, tmp_path, program.replace(", list([h, t])", ", h = 1"), {})
    proof = stratalog("why", checkpoint, "list([2, [1, nil]])", "--json").json()
    assert proof["nodes"][0]["tuple"] == "list([2, [1, nil]])"
    assert "!long([1, nil])" in proof["nodes"][0]["conditions"]
    assert [node["tuple"] for node in proof["nodes"][1:3]] == [
        "list([1, nil])",
        "size([1, nil], 1)",
    ]
    assert stratalog("why", checkpoint, "part(1)", "--json").json()["nodes"][0]["height"] == 3
    box = stratalog("why", checkpoint, "$Box".join(["shape(", '(4, "a\\"b"))']), "--json").json()
    assert box["nodes"][0]["height"] == 3
    absent = stratalog("why-not", checkpoint, "size([7, nil], 1)", "--json").json()
    assert absent["rules"][0]["satisfied"] == ["size(nil, 0)"]
    assert absent["rules"][0]["fails"] == "7 = 1"
    stratalog("why", checkpoint, "list([5, [5, [5, nil]]])", expect=7)


CHOICE = """.decl edge(x: number, y: number)
.input edge
.decl tree(parent: number, child: number) choice-domain child
tree(0, 1).
tree(x, y) :- tree(_, x), edge(x, y).
.decl few(x: number)
.limitsize few(n=3)
few(1).
few(x + 1) :- few(x), x < 100.
.decl hidden(x: number) inline
hidden(x) :- edge(x, _).
.decl seen(x: number)
seen(x) :- hidden(x), x > 1.
.comp Graph {
  .decl path(x: number, y: number)
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
}
.init g = Graph
.decl passes(x: number, n: unsigned)
passes(1, 0).
passes(x + 1, recursive_iteration_cnt()) :- passes(x, _), x < 5.
.decl largest(x: number, y: number)
largest(x, y) :- edge(x, _), y = max z : { edge(x, z) }.
"""


def test_what_else_the_language_has(stratalog: Stratalog, tmp_path: Path) -> None:
    rows = [(1, 2), (1, 3), (2, 3), (3, 4), (2, 4)]
    checkpoint = save(stratalog, tmp_path, CHOICE, {"edge": text_of(rows)})

    def why(goal: str) -> dict[str, Any]:
        proof: dict[str, Any] = stratalog("why", checkpoint, goal, "--json").json()
        return proof

    chosen = why("tree(1, 3)")["nodes"][0]
    assert chosen["conditions"] == ["chosen for its (child)"]
    passed_over = stratalog("why-not", checkpoint, "tree(2, 3)", "--json").json()
    assert passed_over["rules"][0]["fails"] is None
    assert "chosen" in passed_over["note"]
    assert why("few(3)")["nodes"][0]["height"] == 2
    assert ".limitsize" in stratalog("why-not", checkpoint, "few(4)").out
    assert [node["tuple"] for node in why("seen(2)")["nodes"]][1].startswith("edge(2, ")
    assert "inline" in stratalog("why", checkpoint, "hidden(2)", expect=1).err
    assert why("g.path(1, 4)")["nodes"][0]["height"] == 2
    assert "recursive_iteration_cnt" in stratalog("why", checkpoint, "passes(3, 2)", expect=1).err
    conditions = why("largest(1, 3)")["nodes"][0]["conditions"]
    assert conditions == ["3 = max z : { edge(1, z) }"]
    assert "z" in stratalog("why-not", checkpoint, "largest(1, 2)").out


AS_WRITTEN = """.type Nat = Zero {} | Succ { n: Nat }
.decl edge(x: number, y: number)
.input edge
.decl degree(x: number, n: number)
degree(x, n) :- edge(x, _),   // from here
   n = count : { edge(x, _) }.
.comp H {
  .type P = [x: number, y: number]
  .decl rec(p: P)
  rec([x, y]) :- edge(x, y).
}
.init h = H
.decl hr(x: number, y: number)
hr(x, y) :- h.rec([x, y]).
.decl small(n: number)
small(n) :- n = range(0, 5).
.decl id(x: number, n: number)
id(x, autoinc()) :- edge(x, _), x > 1.
.output id
.decl nat(n: Nat)
nat($Zero()).
nat($Succ(n)) :- nat(n), n = $Zero().
.decl best(x: number, c: number)
best(1, 5). best(1, 3).
best(x, c) :- edge(x, y), c = y * 10.
best(x, c) <= best(x, d) :- d < c.
.decl two(x: number)
two(x) :- edge(x, _), x = 1 ; edge(_, x), x > 2.
.decl alone(x: number)
alone(x) :- edge(x, _), edge(y, z), edge(z, y).
"""


def rules_and_lines(text: str) -> tuple[list[str], list[str]]:
    """What is printed of rules, and the rest, without places."""
    lines = [line for line in text.splitlines()[1:] if line]
    rules = [line.split("  ")[-1] for line in lines if "p.dl:" in line and ":-" in line]
    return rules, [line for line in lines if "p.dl:" not in line]


def test_rules_are_shown_as_they_are_written(stratalog: Stratalog, tmp_path: Path) -> None:
    rows = [(1, 2), (2, 3), (3, 1), (1, 4)]
    checkpoint = save(stratalog, tmp_path, AS_WRITTEN, {"edge": text_of(rows)})

    def why(goal: str) -> list[str]:
        return stratalog("why", checkpoint, goal).out.splitlines()

    def why_not(goal: str) -> tuple[list[str], list[str]]:
        return rules_and_lines(stratalog("why-not", checkpoint, goal).out)

    degree = "degree(x, n) :- edge(x, _), n = count : { edge(x, _) }."
    assert why("degree(1, 2)")[-1].endswith(degree)
    assert why_not("degree(1, 3)") == (
        [degree],
        [
            "  holds  edge(1, _)",
            "  fails  3 = count : { edge(1, _) }  (it is 2; no other values do better)",
        ],
    )
    assert why("hr(1, 2)")[-2].endswith("hr(x, y) :- h.rec([x, y]).")
    assert why_not("hr(2, 1)")[1] == ["  fails  h.rec([2, 1])"]
    assert why("small(2)")[1].startswith("└─ 2 is one of range(0, 5)  holds")
    assert why_not("small(7)")[1] == ["  fails  7 is one of range(0, 5)"]
    # Numbers: as if the rule were evaluated as it stands.
    x, n = (tmp_path / "id.csv").read_text().split()[:2]
    proof = stratalog("why", checkpoint, f"id({x}, {n})", "--json").json()["nodes"]
    assert [node["tuple"].split("(")[0] for node in proof] == ["id", "edge"]
    assert proof[0]["height"] == 1
    assert set(proof[0]["conditions"]) == {f"{x} > 1", f"{n} = autoinc()"}
    assert proof[0]["rule"]["text"] == "id(x, autoinc()) :- edge(x, _), x > 1."
    assert why_not("id(2, 77)")[1] == [
        "  holds  edge(2, _)",
        "  holds  2 > 1",
        "  fails  77 = autoinc()  (for these values and all others)",
    ]
    assert why_not("id(1, 0)")[1][-1].startswith("  fails  1 > 1")
    # Parts of a body that are evaluated by themselves.
    assert "#" not in stratalog("why-not", checkpoint, "alone(1)").out
    assert why_not("alone(1)")[1][-1].startswith("  fails  edge(y, z), edge(z, y)")
    assert why_not("two(9)") == (
        ["two(x) :- edge(x, _), x = 1 ; edge(_, x), x > 2."],
        ["  fails  edge(9, _)", "  or", "  fails  edge(_, 9)"],
    )


def test_what_is_printed_can_be_asked(stratalog: Stratalog, tmp_path: Path) -> None:
    checkpoint = save(stratalog, tmp_path, AS_WRITTEN, {"edge": "1\t2\n"})
    for goal in ("nat($Zero)", "nat($Zero())", "nat( $Zero )"):
        assert stratalog("why", checkpoint, goal).out.startswith("nat($Zero())  fact ")
    for goal in ("nat($Succ($Zero))", "nat($Succ($Zero()))"):
        nodes = stratalog("why", checkpoint, goal, "--json").json()["nodes"]
        assert [node["tuple"] for node in nodes] == ["nat($Succ($Zero()))", "nat($Zero())"]
        for node in nodes:
            stratalog("why", checkpoint, node["tuple"])
    kinds = """.type R = [a: float, s: symbol, u: unsigned]
.decl w(f: float, s: symbol, u: unsigned, n: number)
.input w
.decl x(r: R)
x([f, s, u]) :- w(f, s, u, _).
w(2, "a\\n\\tb", 5, 6).
"""
    rows = [
        '1e300\ta\\b"c\t18446744073709551615\t-9223372036854775808',
        "1e-7\t$Zero é\t0\t-1",
        "3\t\t1\t1",
    ]
    facts = {"w": "\n".join(rows) + "\n"}
    values = save(stratalog, tmp_path / "kinds", kinds, facts)
    for goal in (
        'x([1e300, "a\\\\b\\"c", 18446744073709551615])',
        'x([0.0000001, "$Zero é", 0])',
        'x([2, "a\\n\\tb", 5])',
        'x([3, "", 1])',
    ):
        nodes = stratalog("why", values, goal, "--json").json()["nodes"]
        assert [node["tuple"][0] for node in nodes] == ["x", "w"]
        for node in nodes:
            stratalog("why", values, node["tuple"])
    deep = "nat($Succ($Succ($Zero())))"
    assert stratalog("why-not", checkpoint, deep, "--json").json()["tuple"] == deep


def test_why_a_finished_run_lacks_a_tuple(stratalog: Stratalog, tmp_path: Path) -> None:
    checkpoint = save(stratalog, tmp_path, AS_WRITTEN, {"edge": "1\t2\n2\t3\n"})

    def note(goal: str) -> str:
        return str(stratalog("why-not", checkpoint, goal, "--json").json()["note"])

    # A fact of the program, and a tuple that a rule gives.
    assert note("best(1, 5)") == "best(1, 3) subsumes it"
    assert note("best(1, 20)") == "best(1, 3) subsumes it"
    assert note("best(1, 7)") == "", "no rule gives it"
    assert "stands in the program" in stratalog("why-not", checkpoint, "best(1, 5)").out


def test_a_run_that_was_interrupted(stratalog: Stratalog, tmp_path: Path) -> None:
    rows = [(i, i + 1) for i in range(50)]
    # A test that holds of every pair keeps the rule from being evaluated as one of steps.
    doubling = CLOSURES["both"].replace(".\n", ", x < z.\n")
    checkpoint = save(stratalog, tmp_path, HEAD + doubling, {"edge": text_of(rows)})
    # Doubling: six rounds. Older generations hold the first of them.
    run = ("run", tmp_path / "p.dl", "-F", tmp_path / "facts", "-D", tmp_path)
    options = ("--checkpoint", tmp_path / "many", "--every", "1it", "--keep", 20, "-q")
    stratalog(*run, *options)
    generations = stratalog("ls", tmp_path / "many", "--json").json()["generations"]
    names = sorted(each["name"] for each in generations)
    held = [
        stratalog("why", tmp_path / "many", name, "path(0, 5)", expect=None).code == 0
        for name in names
    ]
    assert not held[0]
    assert held[-1]
    first = held.index(True)
    proof = stratalog("why", tmp_path / "many", names[first], "path(0, 5)", "--json").json()
    assert proof["nodes"][0]["height"] == 4
    before = stratalog("why-not", tmp_path / "many", names[first - 1], "path(0, 5)").out
    assert "had not come to it" in before
    assert "all of it holds" in before
    assert checkpoint.exists()


def test_goals_that_are_no_tuples(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = {"edge": "1\t2\n"}
    checkpoint = save(stratalog, tmp_path, HEAD + CLOSURES["left"], facts)
    for goal, word in (
        ("pat(1, 2)", "pat"),
        ("path(1)", "goal:1"),
        ('path(1, "a")', "goal:1"),
        ("path(1, x)", "goal:1"),
        ("path(1, 2). path(2, 3)", "not one tuple"),
        ("path(1, 2) :- edge(1, 2)", "not one tuple"),
    ):
        for command in ("why", "why-not"):
            assert word in stratalog(command, checkpoint, goal, expect=1).err, goal
    nowhere = stratalog("why", tmp_path / "nowhere", "path(1, 2)", expect=7).err
    assert "--checkpoint" in nowhere
