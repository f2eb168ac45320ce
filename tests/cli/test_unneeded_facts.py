# SPDX-License-Identifier: Apache-2.0
"""Fact files of relations on which no output depends may be missing, with a warning: Soufflé does
not read them at all."""

from __future__ import annotations

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


@pytest.mark.parametrize("ranks", [None, 2])
def test_only_what_outputs_need_must_be_there(
    tmp_path: Path, stratalog: Stratalog, ranks: int | None
) -> None:
    program = tmp_path / "case.dl"
    run = ("run", program, "-F", tmp_path, "-D", tmp_path)
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
