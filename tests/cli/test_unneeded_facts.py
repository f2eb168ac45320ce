# SPDX-License-Identifier: Apache-2.0
"""Relations on which no output depends: left out where nobody can see them, as in Soufflé. Where a
checkpoint keeps them, their fact files may be missing, with a warning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROGRAM = """
.decl e(x: number, y: number)
.input e
.decl extra(x: number)
.input extra
.decl json(x: number)
.input json(IO=jsonfile)
.decl derived(x: number)
derived(x) :- extra(x), json(x).
.decl a(x: number)
a(x) :- e(x, _).
"""


ENDLESS = """
.decl e(x: number, y: number)
.input e
.decl grows(x: number, n: number)
grows(x, 0) :- e(x, _).
grows(x, n + 1) :- grows(x, n).
.decl reads(x: number)
reads(1 / (x - x)) :- grows(x, _).
.decl wrong(x: number)
.input wrong
.decl a(x: number)
a(x) :- e(x, _).
.output a
"""


@pytest.mark.parametrize("ranks", [None, 2])
@pytest.mark.parametrize("more", [(), ("--profile", "profile.json")], ids=["plain", "profile"])
def test_what_nobody_can_see_is_left_out(
    tmp_path: Path, stratalog: Stratalog, ranks: int | None, more: tuple[str, ...]
) -> None:
    program = tmp_path / "case.dl"
    program.write_text(ENDLESS)
    (tmp_path / "e.facts").write_text("1\t2\n3\t4\n")
    (tmp_path / "wrong.facts").write_text("word\n")
    words = [tmp_path / word if word.endswith(".json") else word for word in more]
    run = ("run", program, "-F", tmp_path, "-D", tmp_path, "--report", tmp_path / "r.json", *words)
    assert stratalog(*run, ranks=ranks).err.count("wrong") == 0
    assert (tmp_path / "a.csv").read_text() == "1\n3\n"
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["left_out"] == ["grows", "reads", "wrong"]
    assert report["relations"] == [{"name": "e", "rows": 2}, {"name": "a", "rows": 2}]
    assert [stratum["relations"] for stratum in report["strata"]] == ["e", "a"]
    if more:
        profile = json.loads((tmp_path / "profile.json").read_text())
        assert [relation["name"] for relation in profile["relations"]] == ["e", "a"]


def test_numbers_are_the_same_whoever_keeps_what(tmp_path: Path, stratalog: Stratalog) -> None:
    program = tmp_path / "case.dl"
    program.write_text(
        ".decl e(x: number)\ne(1). e(2). e(3).\n.decl first(x: number, n: number)\n"
        "first(x, autoinc()) :- e(x).\n.decl second(x: number, n: number)\n"
        "second(x, autoinc()) :- e(x).\n.output second\n"
    )
    found = []
    for more in ((), ("--checkpoint", tmp_path / "ck")):
        stratalog("run", program, "-D", tmp_path, *more)
        found.append((tmp_path / "second.csv").read_text())
    assert found[0] == found[1]


@pytest.mark.parametrize("ranks", [None, 2])
def test_only_what_outputs_need_must_be_there(
    tmp_path: Path, stratalog: Stratalog, ranks: int | None
) -> None:
    program = tmp_path / "case.dl"
    kept = ("--checkpoint", tmp_path / "ck", "--restart-fresh")
    run = ("run", program, "-F", tmp_path, "-D", tmp_path, *kept)
    (tmp_path / "e.facts").write_text("1\t2\n3\t4\n")
    program.write_text(PROGRAM + ".output a\n")
    said = stratalog(*run, ranks=ranks).err
    assert (tmp_path / "a.csv").read_text() == "1\n3\n"
    for name in ("extra.facts", "json.json"):
        expected = f"there is no fact file {tmp_path / name}; no output depends on it"
        assert said.count(expected) == 1

    assert "scan e" in stratalog("explain", program, "-F", tmp_path).out

    # What is there is read, and must be right.
    (tmp_path / "extra.facts").write_text("word\n")
    assert "extra.facts:1: field 1" in stratalog(*run, ranks=ranks, expect=2).err
    (tmp_path / "extra.facts").unlink()

    for asked in (".output derived", ".printsize derived", "a(x) :- derived(x).\n.output a"):
        program.write_text(PROGRAM + asked + "\n")
        assert "there is no fact file" in stratalog(*run, ranks=ranks, expect=2).err
    # Nothing is put out: whatever is kept in a checkpoint may be asked for.
    program.write_text(PROGRAM)
    assert "there is no fact file" in stratalog(*run, ranks=ranks, expect=2).err
