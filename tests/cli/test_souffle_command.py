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
    assert run(souffle, tmp_path, "--version").stdout.startswith("stratalog")
