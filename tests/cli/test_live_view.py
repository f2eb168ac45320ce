# SPDX-License-Identifier: Apache-2.0
"""The live view on a real pseudo-terminal, and its absence in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from stratalog_runner import PROGRAMS, Stratalog, chain, environment


def run_on_terminal(command: list[str], **extra: str) -> tuple[int, str, str]:
    """(exit code, standard output, what the terminal got as standard error)."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=environment(TERM="xterm", LC_ALL="C.UTF-8", **extra),
    )
    os.close(theirs)
    seen = bytearray()
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    out, _ = process.communicate(timeout=300)
    os.close(ours)
    return process.returncode, out, seen.decode()


def test_a_terminal_sees_rounds_in_place(stratalog: Stratalog, tmp_path: Path) -> None:
    # Long enough for several redraws on a fast machine, too.
    folder = chain(4000, tmp_path / "chain")
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path, "--no-pivot")
    code, out, seen = run_on_terminal(stratalog.command(*run))
    assert code == 0
    assert out == f"path\t{4000 * 3999 // 2}\n"
    assert "stratum 2/2  path" in seen
    assert "tuples/s" in seen
    assert "\x1b[K" in seen, "drawn in place"
    assert "path: 7,998,000 tuples, 3,999 rounds" in seen
    last = seen[seen.rindex("\x1b[J") :]
    assert "round " not in last, "the view is gone when the run is over"


def test_through_mpiexec_that_we_start(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(800, tmp_path / "chain")
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path, "--no-pivot", "--ranks", 2)
    code, _, seen = run_on_terminal(stratalog.command(*run), MPIEXEC=stratalog.mpiexec)
    assert code == 0
    assert "\x1b[K" in seen
    assert "on 2 ranks" in seen


def test_a_pipe_sees_lines_at_most(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(300, tmp_path / "chain")
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path)
    assert "\x1b" not in stratalog(*run).err
    assert "stratum" not in stratalog(*run).err
    verbose = stratalog(*run, "-v").err
    assert "\x1b" not in verbose
    assert "stratum 2/2  path: 44,850 tuples, 299 rounds" in verbose
