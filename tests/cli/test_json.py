# SPDX-License-Identifier: Apache-2.0
"""IO=jsonfile and IO=json through the command, at several numbers of ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROGRAM = """
.type List = [head: symbol, tail: List]
.decl p(n: number, s: symbol, l: List, f: float)
.input p(IO=jsonfile)
.decl q(n: number, s: symbol, l: List, f: float)
q(n + 1, cat(s, "!"), [s, l], f) :- p(n, s, l, f).
.output q(IO=jsonfile)
.output q(IO=jsonfile, format=object, filename="objects.json")
.decl none(n: number)
none(n) :- p(n, _, _, _), n < 0.
.output none(IO=jsonfile)
.decl yes()
yes() :- p(_, _, _, _).
.output yes(IO=jsonfile)
.decl small(n: number)
small(n) :- p(n, _, _, _), n < 3.
.output small(IO=json)
"""


@pytest.mark.parametrize("ranks", [None, 2, 3])
def test_facts_and_outputs(tmp_path: Path, stratalog: Stratalog, ranks: int | None) -> None:
    facts = [[n, f'é"{n % 7}', None if n % 2 else ["a\n", None], n / 4] for n in range(500)]
    (tmp_path / "p.json").write_text(json.dumps(facts))
    (tmp_path / "case.dl").write_text(PROGRAM)
    ran = stratalog("run", tmp_path / "case.dl", "-F", tmp_path, "-D", tmp_path / "o", ranks=ranks)
    expected = [[n + 1, s + "!", [s, rest], f] for n, s, rest, f in facts]
    text = (tmp_path / "o" / "q.json").read_text()
    assert json.loads(text) == expected
    assert text.startswith('[[1, "é\\"0!", ["é\\"0", ["a\\n", null]], 0],\n[2, ')
    assert text.endswith("]]\n")
    objects = json.loads((tmp_path / "o" / "objects.json").read_text())
    assert objects[1] == {"n": 2, "s": 'é"1!', "l": {"head": 'é"1', "tail": None}, "f": 0.25}
    assert len(objects) == 500
    assert (tmp_path / "o" / "none.json").read_text() == "[]\n"
    assert (tmp_path / "o" / "yes.json").read_text() == "[null\n]\n"
    assert ran.out == "[[0],\n[1],\n[2]]\n"


def test_objects_read_back(tmp_path: Path, stratalog: Stratalog) -> None:
    (tmp_path / "case.dl").write_text(PROGRAM)
    (tmp_path / "p.json").write_text(
        '[{"f": 1, "s": "x", "n": 1, "l": {"head": "y", "tail": null}}]'
    )
    stratalog("run", tmp_path / "case.dl", "-F", tmp_path, "-D", tmp_path)
    assert json.loads((tmp_path / "q.json").read_text()) == [[2, "x!", ["x", ["y", None]], 1]]


def test_all_floats_come_back(tmp_path: Path, stratalog: Stratalog) -> None:
    declared = ".decl f(x: float, n: number)\n.output f\n"
    (tmp_path / "a.dl").write_text(
        declared + "f(-0.0, 0). f(0.0, 0). f(2.0, 0). f(1.0 / 0.0, 0). f(-1.0 / 0.0, 0).\n"
        'f(to_float("nan"), 0). f(to_float("-nan"), 0).\n.output f(IO=jsonfile)\n'
    )
    (tmp_path / "b.dl").write_text(declared + ".input f(IO=jsonfile)\n")
    stratalog("run", tmp_path / "a.dl", "-D", tmp_path)
    text = (tmp_path / "f.json").read_text()
    assert text.replace(",\n", " ") == (
        '[["-nan", 0] ["-inf", 0] [-0.0, 0] [0, 0] [2, 0] ["inf", 0] ["nan", 0]]\n'
    )
    for again in (text, text.replace("-0.0", "-0").replace(" 0]", " -0]")):
        (tmp_path / "f.json").write_text(again)
        stratalog("run", tmp_path / "b.dl", "-F", tmp_path, "-D", tmp_path / "again")
        read = (tmp_path / "again" / "f.csv").read_text()
        assert read == (tmp_path / "f.csv").read_text()
        assert "\n-0\t0\n0\t0\n" in read


@pytest.mark.parametrize("ranks", [None, 2])
def test_what_is_wrong_is_named(tmp_path: Path, stratalog: Stratalog, ranks: int | None) -> None:
    (tmp_path / "case.dl").write_text(PROGRAM)
    (tmp_path / "p.json").write_text('[[1, "a", null, 1],\n[2, 3, null, 1]]\n')
    told = stratalog("run", tmp_path / "case.dl", "-F", tmp_path, ranks=ranks, expect=None)
    assert told.code != 0
    assert "p.json:2: attribute or field `s` (type symbol): expected a string, found 3" in told.err
    colour = ".type C = R {} | G {}\n.decl c(c: C)\nc($R()).\n.output c(IO=jsonfile)\n"
    (tmp_path / "case.dl").write_text(colour)
    told = stratalog("run", tmp_path / "case.dl", "-D", tmp_path, ranks=ranks, expect=None)
    assert told.code == 1
    assert "case.dl:4:9: error: .output c: IO=jsonfile cannot hold attribute `c`" in told.err
