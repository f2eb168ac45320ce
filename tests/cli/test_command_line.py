# SPDX-License-Identifier: Apache-2.0
"""Exit codes, messages and Soufflé's habits, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stratalog_runner import PROGRAMS, Stratalog, chain


@pytest.mark.parametrize("ranks", (None, 3))
def test_errors_of_a_program_come_all_at_once(
    ranks: int | None, stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "wrong.dl"
    program.write_text(
        ".decl edge(a: number, b: number)\n"
        ".decl path(a: number, b: number)\n"
        "path(x, y) :- edgee(x, y).\n"
        "path(x, z) :- edge(x, y).\n"
    )
    refused = stratalog("run", program, ranks=ranks, expect=1)
    assert f"{program}:3:15: error" in refused.err
    assert "did you mean `edge`" in refused.err
    assert f"{program}:4:" in refused.err
    assert "^" in refused.err
    assert refused.err.count("edgee(x, y)") == 1, "one rank speaks"
    checked = stratalog("check", program, "--json", expect=1).json()
    assert [entry["line"] for entry in checked["diagnostics"] if entry["severity"] == "error"] == [
        3,
        4,
    ]


def test_check_and_explain(stratalog: Stratalog, tmp_path: Path) -> None:
    assert stratalog("check", PROGRAMS / "borrow_check.dl").out == ""
    text = stratalog("explain", PROGRAMS / "closure.dl").out
    assert "no tuple crosses ranks" in text
    plan = stratalog("explain", PROGRAMS / "closure.dl", "-F", chain(5, tmp_path), "--json").json()
    assert plan["strata"][-1]["pivot_columns"] == {"path": "from"}


@pytest.mark.parametrize("ranks", (None, 2))
def test_facts_that_are_missing_or_wrong_end_with_code_2(
    ranks: int | None, stratalog: Stratalog, tmp_path: Path
) -> None:
    run = ("run", PROGRAMS / "closure.dl", "-D", tmp_path)
    assert "edge.facts" in stratalog(*run, "-F", tmp_path, ranks=ranks, expect=2).err
    assert "nowhere" in stratalog(*run, "-F", tmp_path / "nowhere", ranks=ranks, expect=2).err
    (tmp_path / "edge.facts").write_text("1\t2\n3\tfour\n5\n")
    refused = stratalog(*run, "-F", tmp_path, ranks=ranks, expect=2)
    assert "edge.facts:2" in refused.err
    assert '"four"' in refused.err
    assert "edge.facts:3" in refused.err
    assert refused.out == ""


def test_wrong_command_lines_end_with_code_1(stratalog: Stratalog, tmp_path: Path) -> None:
    for arguments in (
        (),
        ("frob",),
        ("run",),
        ("run", "a.dl", "--frob"),
        ("run", "a.dl", "--resume"),
    ):
        refused = stratalog(*arguments, expect=1)
        assert refused.err.startswith("stratalog: ")
        assert refused.out == ""
    assert "no.dl" in stratalog("run", tmp_path / "no.dl", expect=1).err
    once = stratalog("run", ranks=3, expect=1)
    assert once.err.count("PROGRAM") == 1


def test_memory_limit_ends_with_code_5(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(3000, tmp_path / "chain")
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path, "--no-pivot")
    for ranks in (None, 2):
        refused = stratalog(*run, "--memory-limit", "300K", ranks=ranks, expect=5)
        assert "memory" in refused.err
        assert refused.out == ""


def test_output_that_cannot_be_written_ends_with_code_4(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    folder = chain(5, tmp_path / "chain")
    (tmp_path / "file").write_text("")
    run = ("run", PROGRAMS / "closure.dl", "-F", folder)
    stratalog(*run, "-D", tmp_path / "file", expect=4)
    stratalog(*run, "-D", tmp_path, "--report", tmp_path / "no" / "report.json", expect=4)


def test_macros_includes_and_standard_input(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "limit.dl").write_text("#ifndef LIMIT\n#define LIMIT 3\n#endif\n")
    program = tmp_path / "count.dl"
    program.write_text(
        '#include "limit.dl"\n.decl n(x: number)\nn(x) :- x = range(0, LIMIT).\n.printsize n\n'
    )
    include = ("-I", tmp_path / "include")
    for ranks in (None, 2):
        assert stratalog("run", program, *include, ranks=ranks).sizes() == {"n": 3}
        assert stratalog("run", program, *include, "-M", "LIMIT=7", ranks=ranks).sizes() == {"n": 7}
    for words in ("LIMIT=HALF*2 HALF=4", " HALF=4  LIMIT=HALF*2 "):
        assert stratalog("run", program, *include, "-M", words).sizes() == {"n": 8}
    program.write_text(".decl n(x: symbol)\nn(A). n(B).\n.output n\n")
    words = ("-M", 'A="a b" B="c"')
    assert "\na b\nc\n" in stratalog("run", program, *words, "-D", "-").out
    text = ".decl n(x: number)\nn(1). n(2).\n.printsize n\n"
    assert stratalog("run", "-", text=text).out == "n\t2\n"


def test_output_to_the_console(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(3, tmp_path / "chain")
    for ranks in (None, 2):
        run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", "-")
        out = stratalog(*run, ranks=ranks, cwd=tmp_path).out
        assert "1\t2\n1\t3\n2\t3\n" in out
        assert out.endswith("path\t3\n")
    assert list(tmp_path.iterdir()) == [folder], "no file was written"


def test_ranks_starts_mpiexec(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(40, tmp_path / "chain")
    report = tmp_path / "report.json"
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path, "--report", report)
    finished = stratalog(*run, "--ranks", 3, MPIEXEC=stratalog.mpiexec)
    assert finished.sizes() == {"path": 780}
    assert json.loads(report.read_text())["ranks"] == 3
    assert "mpiexec" in stratalog(*run, "--ranks", 2, ranks=2, expect=1).err
    assert "no program" in stratalog(*run, "--ranks", 2, expect=1, MPIEXEC="/nowhere/mpiexec").err


def parts_of_time(report: Path) -> tuple[list[float], float]:
    seconds = dict(json.loads(report.read_text())["seconds"])
    total = seconds.pop("total")
    return list(seconds.values()), total


def test_breakdown_on_standard_error_and_as_json(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(200, tmp_path / "chain")
    report = tmp_path / "report.json"
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path)
    keep = ("--checkpoint", tmp_path / "checkpoints", "--every", "50it", "--report", report)
    stratalog(*run, *keep, "--overlap", "none")
    parts, total = parts_of_time(report)
    assert sum(parts) == pytest.approx(total, abs=1e-4), "on one rank"
    finished = stratalog(*run, *keep, "--restart-fresh", ranks=2)
    for word in ("join", "exchange", "deduplicate", "checkpoint: write", "total", "packing is"):
        assert word in finished.err
    told = json.loads(report.read_text())
    # Of each part the slowest rank's time: ranks wait for each other at different places.
    parts, total = parts_of_time(report)
    assert sum(parts) >= total - 1e-4
    assert max(parts) <= total
    assert len(told["checkpoints"]) >= 3
    assert 0 <= told["pack_share_of_checkpoints"] <= 1
    assert told["print_sizes"] == [{"name": "path", "rows": 19900}]
    quiet = stratalog(*run, "--quiet")
    assert quiet.err == ""
    assert quiet.out == "path\t19900\n"
