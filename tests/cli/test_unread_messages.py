# SPDX-License-Identifier: Apache-2.0
"""Messages that nobody reads, and answers that nobody reads: a run ends as it would, or says so."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from stratalog_runner import Stratalog, environment

PROGRAM = """.decl e(x: number)
.decl a(x: number)
e(1). e(2).
a(x * 2) :- e(x).
.output a
.printsize a
"""


def pipe_without_reader() -> int:
    read_end, write_end = os.pipe()
    os.close(read_end)
    return write_end


def full_device() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def run_with(
    stratalog: Stratalog, ranks: int | None, *arguments: object, **streams: int
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            stratalog.command(*arguments, ranks=ranks),
            stdin=subprocess.DEVNULL,
            env=environment(),
            timeout=120,
            check=False,
            **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams),
        )
    finally:
        for stream in streams.values():
            os.close(stream)


@pytest.mark.parametrize("sink", (pipe_without_reader, full_device))
@pytest.mark.parametrize("way", ("alone", "threads", "processes"))
def test_a_run_whose_messages_cannot_be_written_has_its_answer(
    way: str, sink: object, stratalog: Stratalog, tmp_path: Path
) -> None:
    assert callable(sink)
    program = tmp_path / "a.dl"
    program.write_text(PROGRAM)
    report = tmp_path / "report.json"
    options = ("run", program, "-D", tmp_path, "--report", report)
    ended = run_with(
        stratalog,
        2 if way == "processes" else None,
        *options,
        *(("-j", "2") if way == "threads" else ()),
        stderr=sink(),
    )
    assert ended.stdout == b"a\t2\n"
    assert sorted((tmp_path / "a.csv").read_text().split()) == ["2", "4"]
    if way != "processes":  # a launcher that cannot pass messages on fails, and ends its ranks
        assert ended.returncode == 0
        assert json.loads(report.read_text())["strata"]


@pytest.mark.parametrize("sink", (pipe_without_reader, full_device))
def test_errors_that_cannot_be_written_keep_their_code(
    sink: object, stratalog: Stratalog, tmp_path: Path
) -> None:
    assert callable(sink)
    program = tmp_path / "bad.dl"
    program.write_text("a(x) :- b(x).\n")
    assert run_with(stratalog, None, "check", program, stderr=sink()).returncode == 1


def test_an_answer_that_nobody_reads_is_an_error_and_files_are_written(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "a.dl"
    program.write_text(PROGRAM)
    ended = run_with(
        stratalog, None, "run", program, "-D", tmp_path, "-q", stdout=pipe_without_reader()
    )
    assert ended.returncode == 4
    assert b"cannot write to standard output: Broken pipe" in ended.stderr
    assert sorted((tmp_path / "a.csv").read_text().split()) == ["2", "4"]
