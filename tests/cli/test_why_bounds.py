# SPDX-License-Identifier: Apache-2.0
"""why on lattices whose least upper bound joins several values: what no rule gives by itself is a
leaf, and proofs go on above it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import Stratalog

LATTICE = """.type M <: number
.lattice M<> { Bottom -> 0, Lub -> _ bor _, Glb -> _ band _ }
"""
# r(1) joins two facts, r(3) is what a rule gives, q stands above both, low is not in r's recursion.
JOINED = (
    LATTICE
    + """.decl r(x: number, m: M<>)
r(1, 2). r(1, 4). r(2, 8).
r(x, m) :- r(2, m), x = 3.
.decl q(x: number, y: number)
q(x, y) :- r(x, _), r(y, _), x < y.
.output r, q
"""
)
# Each of 1 and 2 has all bits only by way of the other one, whose lower value is not stored.
CIRCLE = (
    LATTICE
    + """.decl edge(x: number, y: number)
edge(1, 2). edge(2, 1).
.decl r(x: number, m: M<>)
r(1, 4). r(2, 3).
r(y, m) :- r(x, m), edge(x, y).
.decl top(x: number)
top(x) :- r(x, m), m = 7.
.output r, top
"""
)
BOUND = "least upper bound of the values that rules give for this key"


def saved(stratalog: Stratalog, folder: Path, program: str) -> Path:
    (folder / "p.dl").write_text(program)
    run = ("run", folder / "p.dl", "-D", folder, "-q")
    stratalog(*run, "--checkpoint", folder / "ck")
    return folder / "ck"


def proof(stratalog: Stratalog, store: Path, goal: str) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(stratalog("why", store, goal, "--json").out)["nodes"]
    for node in nodes:
        below = [nodes[i]["height"] for i in node["premises"]]
        leaf = node["kind"] in ("input", "fact", "least upper bound")
        assert node["height"] == (0 if leaf else 1 + max(below, default=0))
    return nodes


def kinds(nodes: list[dict[str, Any]]) -> dict[str, str]:
    return {node["tuple"]: node["kind"] for node in nodes}


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory, stratalog: Stratalog) -> Path:
    return saved(stratalog, tmp_path_factory.mktemp("joined"), JOINED)


def test_a_bound_that_no_rule_gives_is_a_leaf(stratalog: Stratalog, joined: Path) -> None:
    assert stratalog("why", joined, "r(1, 6)").out == f"r(1, 6)  {BOUND}\n"
    [node] = proof(stratalog, joined, "r(1, 6)")
    assert (node["kind"], node["premises"], node["rule"]["line"]) == ("least upper bound", [], 3)


def test_a_value_that_one_rule_gives_is_derived(stratalog: Stratalog, joined: Path) -> None:
    assert kinds(proof(stratalog, joined, "r(3, 8)")) == {"r(3, 8)": "derived", "r(2, 8)": "fact"}


def test_proofs_go_on_above_a_bound(stratalog: Stratalog, joined: Path) -> None:
    assert kinds(proof(stratalog, joined, "q(1, 3)")) == {
        "q(1, 3)": "derived",
        "r(1, 6)": "least upper bound",
        "r(3, 8)": "derived",
        "r(2, 8)": "fact",
    }
    assert BOUND in stratalog("why", joined, "q(1, 3)").out


def test_values_that_rest_on_each_other(stratalog: Stratalog, tmp_path: Path) -> None:
    store = saved(stratalog, tmp_path, CIRCLE)
    nodes = proof(stratalog, store, "r(1, 7)")
    assert kinds(nodes) == {
        "r(1, 7)": "derived",
        "r(2, 7)": "least upper bound",
        "edge(2, 1)": "fact",
    }
    assert kinds(proof(stratalog, store, "top(2)"))["r(2, 7)"] in ("derived", "least upper bound")


def test_what_was_never_there_is_still_refused(stratalog: Stratalog, joined: Path) -> None:
    assert stratalog("why", joined, "r(1, 2)", expect=None).code == 7
