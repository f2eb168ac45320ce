# SPDX-License-Identifier: Apache-2.0
"""stratalog bench checkpoint where nothing, or not everything, can be measured: what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from stratalog_runner import Stratalog

QUICK = ("bench", "checkpoint", "--quick", "--budget", "6s")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "ended with exit code 3 and said nothing"),
        ("echo no hosts >&2; exit 3", "ended with exit code 3: no hosts"),
        ("echo ready", "started no rank of"),
    ],
)
def test_a_launcher_that_starts_nothing_is_named_with_what_it_said(
    stratalog: Stratalog, tmp_path: Path, script: str, said: str
) -> None:
    launcher = tmp_path / "launch"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    out = tmp_path / "out"
    refused = stratalog(*QUICK, "--only", "sizes", "-o", out, expect=1, MPIEXEC=str(launcher))
    for text in (refused.err, (out / "report.md").read_text()):
        assert f"{launcher} -n 1 {said}" in text
        assert "Traceback" not in text
    # Nothing is in the way of the next try.
    assert [path.name for path in out.iterdir()] == ["report.md"]


def test_a_launcher_that_is_no_program(stratalog: Stratalog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "'/nosuch'" in stratalog(*QUICK, "-o", out, expect=1, MPIEXEC="/nosuch").err
    assert not out.exists()
    text = tmp_path / "launch"
    text.write_text("#!/nosuch/shell\n")
    text.chmod(0o755)
    assert f"cannot start {text}" in stratalog(*QUICK, "-o", out, expect=1, MPIEXEC=str(text)).err
    # Pricing plans starts no ranks.
    stratalog("bench", "checkpoint", "--modelled", "-o", tmp_path / "m", MPIEXEC="/nosuch")


def test_a_bench_without_numbers_ends_with_code_1(stratalog: Stratalog, tmp_path: Path) -> None:
    only = ("--only", "end-to-end", "--closures", "usroads", "--data-sets", tmp_path)
    refused = stratalog(*QUICK, *only, "-o", tmp_path / "out", expect=1)
    assert "there is no data/graphs/usroads.tsv.xz" in refused.err
    assert "Nothing was measured." in (tmp_path / "out" / "report.md").read_text()
