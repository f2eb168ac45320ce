# SPDX-License-Identifier: Apache-2.0
"""Equality of floats, on -0.0 and NaN: atoms and two variables go by bits, everything else compares
numbers. What is expected is what Soufflé 2.5 gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from stratalog_runner import RANK_COUNTS, Stratalog

HEAD = """
.decl a(x: float)
.decl b(x: float)
.decl p(x: float, y: float)
.decl q(t: number, x: float, y: float)
.output q
a(-0.0). a(0.0). a(1.0). a(to_float("nan")).
b(x) :- a(x).
p(x, y) :- a(x), b(y).
"""
ZEROS = {("-0", "0"), ("0", "-0")}
SAME_ZERO = {("-0", "-0"), ("0", "0")}
ONE = {("1", "1")}
NAN = {("nan", "nan")}

# The rule for q's tuples, and what it finds.
CASES = [
    ("(x, x) :- a(x), x = 0.0", SAME_ZERO),
    ("(x, x) :- a(x), -0.0 = x", SAME_ZERO),
    ("(x, x) :- a(x), x != 0.0", ONE | NAN),
    ("(x, x) :- a(x), b(x)", SAME_ZERO | ONE | NAN),
    ("(x, y) :- a(x), b(y), x = y", SAME_ZERO | ONE | NAN),
    ("(x, y) :- p(x, y), x = y", SAME_ZERO | ONE | NAN),
    ("(x, x) :- a(x), x = x", SAME_ZERO | ONE | NAN),
    ("(x, y) :- a(x), b(y), x + 0.0 = y", SAME_ZERO | ZEROS | ONE),
    ("(x, y) :- p(x, y), x + 0.0 = y", SAME_ZERO | ZEROS | ONE),
    ("(x, y) :- a(x), y = x + 0.0, b(y)", SAME_ZERO | ZEROS | ONE),
    ("(x, y) :- a(x), w = x + 0.0, y = w, b(y)", SAME_ZERO | ZEROS | ONE),
    ("(x, y) :- a(x), y = -x", ZEROS | {("1", "-1"), ("nan", "-nan")}),
    ("(to_float(n), 0) :- n = count : { a(x), x = 0.0 }", {("2", "0")}),
    ("(0, 0) :- a(0.0), a(-0.0)", {("0", "0")}),
    ("(m, m) :- m = min x : { a(x) }", {("-0", "-0")}),
    ("(m, m) :- m = max x : { a(x), x < 1 }", {("0", "0")}),
    ("(m, m) :- m = max x : { a(x) }", ONE),
]


@pytest.mark.parametrize("ranks", RANK_COUNTS)
def test_equality(stratalog: Stratalog, tmp_path: Path, ranks: int) -> None:
    rules = "".join(f"q({number}, {rule[1:]}.\n" for number, (rule, _) in enumerate(CASES))
    (tmp_path / "p.dl").write_text(HEAD + rules)
    stratalog("run", tmp_path / "p.dl", "-D", tmp_path, "-q", "-j", ranks)
    found: list[set[tuple[str, str]]] = [set() for _ in CASES]
    for line in (tmp_path / "q.csv").read_text().splitlines():
        number, x, y = line.split("\t")
        found[int(number)].add((x, y))
    for (rule, expected), rows in zip(CASES, found, strict=True):
        assert rows == expected, rule
