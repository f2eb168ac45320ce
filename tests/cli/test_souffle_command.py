# SPDX-License-Identifier: Apache-2.0
"""A link named `souffle` takes Soufflé's command line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
#ifdef LIMIT
.limitsize path(n=LIMIT)
#endif
"""


@pytest.fixture
def souffle(stratalog: Stratalog, tmp_path: Path) -> Path:
    link = tmp_path / "bin" / "souffle"
    link.parent.mkdir()
    link.symlink_to(Path(stratalog.program).resolve())
    return link


def run(souffle: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [souffle, *words], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_tool_that_calls_souffle_gets_its_answer(souffle: Path, tmp_path: Path) -> None:
    (tmp_path / "tc.dl").write_text(PROGRAM)
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "edge.facts").write_text("1\t2\n2\t3\n")
    for words in (
        ("tc.dl", "--fact-dir=in", "--output-dir=out", "-M", "LIMIT=100"),
        ("-c", "-w", "-Fin", "-Dout", "-j", "2", "tc.dl"),
        ("-j", "auto", "-F", "in", "-D", "out", "tc.dl", "-p", "profile.json"),
    ):
        done = run(souffle, tmp_path, *words)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), words
        assert (tmp_path / "out" / "path.csv").read_text() == "1\t2\n1\t3\n2\t3\n"
        (tmp_path / "out" / "path.csv").unlink()
    assert (tmp_path / "profile.json").exists()


def test_what_it_cannot_do_is_said(souffle: Path, tmp_path: Path) -> None:
    (tmp_path / "tc.dl").write_text(PROGRAM)
    done = run(souffle, tmp_path, "tc.dl", "-o", "tc")
    assert done.returncode == 1
    assert "-o is an option of Soufflé" in done.stderr
    for words in (("-wo", "tc"), ("--dl-prog", "tc")):
        assert (
            "is an option of Soufflé; leave it out"
            in run(souffle, tmp_path, "tc.dl", *words).stderr
        )
    version = run(souffle, tmp_path, "--version").stdout.splitlines()
    assert version[0].startswith("stratalog ")
    assert version[1:] == ["Word size: 64 bits"]


def test_without_warnings_fact_files_may_be_missing(
    souffle: Path, stratalog: Stratalog, tmp_path: Path
) -> None:
    (tmp_path / "tc.dl").write_text(PROGRAM)
    (tmp_path / "out").mkdir()
    done = run(souffle, tmp_path, "tc.dl", "-Dout")
    assert done.returncode == 2
    assert "there is no fact file edge.facts" in done.stderr
    assert done.stderr.rstrip().endswith("; -w takes it as empty")
    # `run` has no such option, and does not name it.
    refused = stratalog("run", "tc.dl", expect=2, cwd=tmp_path)
    assert "-w" not in refused.err
    for words in (("-w",), ("-wj2",), ("--no-warn", "-F", "nowhere"), ("-w", "--ranks", "2")):
        done = run(souffle, tmp_path, "tc.dl", "-Dout", *words)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), words
        assert (tmp_path / "out" / "path.csv").read_text() == ""
        (tmp_path / "out" / "path.csv").unlink()


@pytest.mark.parametrize("medium", ["jsonfile", 'sqlite, dbname="x.db"'])
def test_documents_and_databases_must_be_there(souffle: Path, tmp_path: Path, medium: str) -> None:
    (tmp_path / "tc.dl").write_text(PROGRAM.replace(".input edge", f".input edge(IO={medium})"))
    done = run(souffle, tmp_path, "-w", "tc.dl")
    assert done.returncode == 2
    assert "there is no fact file" in done.stderr
    assert "-w takes" not in done.stderr


def test_a_resumed_run_remembers_that_files_may_be_missing(
    souffle: Path, stratalog: Stratalog, tmp_path: Path
) -> None:
    late = PROGRAM + ".decl late(x: number)\n.input late\n.output late\nlate(x) :- path(x, _).\n"
    (tmp_path / "tc.dl").write_text(late)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n3\t4\n")
    words = ("--checkpoint", "ck", "--every", "1it", "--keep", "9", "tc.dl")
    assert run(souffle, tmp_path, "-w", *words).returncode == 0
    (tmp_path / "late.csv").unlink()
    first = sorted(path.name for path in (tmp_path / "ck").glob("gen-*"))[0]
    stratalog("resume", "ck", first, "-q", cwd=tmp_path)
    assert (tmp_path / "late.csv").read_text() == "1\n2\n3\n"
