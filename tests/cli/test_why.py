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
        else:
            assert node["height"] == 1 + max(below), "a premise is lower"
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


def test_the_tree_as_text(stratalog: Stratalog, tmp_path: Path) -> None:
    rows = [(i, i + 1) for i in range(60)]
    checkpoint = save(stratalog, tmp_path, HEAD + CLOSURES["left"], {"edge": text_of(rows)})
    assert stratalog("why", checkpoint, "path(3,5)").out.splitlines() == [
        "path(3, 5)",
        f"  path(x, z) :- path(x, y), edge(y, z).  [{tmp_path}/p.dl:5]",
        "  path(3, 4)",
        f"    path(x, y) :- edge(x, y).  [{tmp_path}/p.dl:4]",
        "    edge(3, 4)  (input)",
        "  edge(4, 5)  (input)",
    ]
    assert "--depth 0" in stratalog("why", checkpoint, "path(0, 60)").out
    assert "edge(0, 1)  (input)" in stratalog("why", checkpoint, "path(0, 60)", "--depth", 0).out
    assert "gave up" in stratalog("why", checkpoint, "path(0, 60)", "--limit", 5, expect=5).err


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
    assert fails("next(1, 21)") == ["21 = ((y * 10) + 1)"], "y = 3 gets further than y = 2"
    assert fails("next(1, 2)") == ["2 = ((y * 10) + 1)"]
    assert fails("degree(7, 1)") == ["edge(7, _)"]
    text = stratalog("why-not", checkpoint, "edge(9, 9)").out
    assert "not among the tuples that were read" in text


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
