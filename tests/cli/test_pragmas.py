# SPDX-License-Identifier: Apache-2.0
"""Pragmas: options that a program sets. The command line wins, then the checkpoint, then they."""

from __future__ import annotations

from pathlib import Path

from stratalog_runner import Stratalog

PROGRAM = """
.pragma "fact-dir" "in"
.pragma "output-dir" "out"
.decl e(x: number, y: number)
.input e
.decl r(x: number, y: number)
.output r
r(x, y) :- e(x, y).
r(x, z) :- r(x, y), e(y, z).
"""


def prepare(folder: Path) -> Path:
    program = folder / "p.dl"
    program.write_text(PROGRAM)
    for name, first in (("in", 1), ("other", 7)):
        (folder / name).mkdir()
        (folder / name / "e.facts").write_text(f"{first}\t2\n2\t3\n")
    return program


def test_folders_of_a_program(stratalog: Stratalog, tmp_path: Path) -> None:
    program = prepare(tmp_path)
    for ranks in (None, 2):
        stratalog("run", program, ranks=ranks, cwd=tmp_path)
        assert (tmp_path / "out" / "r.csv").read_text() == "1\t2\n1\t3\n2\t3\n"
        (tmp_path / "out" / "r.csv").unlink()


def test_the_command_line_wins(stratalog: Stratalog, tmp_path: Path) -> None:
    program = prepare(tmp_path)
    stratalog("run", program, "-F", "other", "-D", "elsewhere", cwd=tmp_path)
    assert (tmp_path / "elsewhere" / "r.csv").read_text() == "2\t3\n7\t2\n7\t3\n"
    assert not (tmp_path / "out").exists()
    stratalog("run", program, "-F", "other", "-D", ".", cwd=tmp_path)
    assert (tmp_path / "r.csv").exists()
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_knows_them(stratalog: Stratalog, tmp_path: Path) -> None:
    program = prepare(tmp_path)
    stratalog("run", program, "--checkpoint", "ck", "--every", "1it", cwd=tmp_path)
    (tmp_path / "out" / "r.csv").unlink()
    stratalog("resume", "ck", cwd=tmp_path)
    assert (tmp_path / "out" / "r.csv").read_text() == "1\t2\n1\t3\n2\t3\n"


def test_libraries_of_a_program(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "f.dl"
    program.write_text(
        '.pragma "library-dir" "no/such"\n.pragma "libraries" "first_missing"\n'
        '.pragma "libraries" "second_missing"\n'
        ".functor f(x: number): number\n.decl a(x: number)\na(@f(1)).\n.output a\n"
    )
    refused = stratalog("run", program, cwd=tmp_path, expect=None)
    assert refused.code != 0
    assert "first_missing" in refused.err


def test_what_means_nothing_is_said_with_its_line(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "w.dl"
    program.write_text(
        '.pragma "auto-schedule" "x"\n.pragma "output-dri" "x"\n.pragma "jobs" "4"\n'
        ".decl a(x: number)\na(1).\n"
    )
    told = stratalog("check", program).err
    assert f'{program}:1:9: warning: `.pragma "auto-schedule"` is ignored' in told
    assert f'{program}:2:9: warning: `.pragma "output-dri"` is unknown and ignored' in told
    assert "did you mean `output-dir`?" in told
    assert f'{program}:3:9: warning: `.pragma "jobs"` is ignored' in told
    assert "give `-j N` to the command" in told
