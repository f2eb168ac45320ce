# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of library runs in the hands of the command: the folder is free when the run has
ended, and remembers what the run was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stratalog_runner import EDGE_CLOSURE, Stratalog

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["STRATALOG"]).resolve().parent
sys.path.insert(0, str(PROJECT / "python"))
os.environ.setdefault("STRATALOG_LIBRARY", str(BUILD / "libstratalog.so"))

import stratalog as package  # noqa: E402

CLOSURE = EDGE_CLOSURE + ".output path\n"


def test_a_finished_run_leaves_its_folder_to_others(tmp_path: Path, stratalog: Stratalog) -> None:
    program = package.Program(CLOSURE)
    program.insert("edge", [(1, 2), (2, 3)])
    program.run(checkpoint=tmp_path / "ck")
    assert stratalog("resume", tmp_path / "ck", "-D", tmp_path).sizes() == {"path": 3}
    again = program.run(checkpoint=tmp_path / "ck", on_checkpoints="overwrite")
    assert again.checkpoints == 1
    stratalog("compact", tmp_path / "ck")
    assert len(program["path"]) == 3


def test_the_folders_of_a_run_are_remembered(
    tmp_path: Path, stratalog: Stratalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "edge.facts").write_text("1\t2\n2\t3\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    program = package.Program(CLOSURE, name="closure.dl")
    program.run(facts="facts", output="out", checkpoint="ck", checkpoint_every=30)
    written = (tmp_path / "out" / "path.csv").read_bytes()
    (tmp_path / "out" / "path.csv").unlink()
    stratalog("resume", tmp_path / "ck", cwd=tmp_path / "elsewhere")
    assert (tmp_path / "out" / "path.csv").read_bytes() == written
    assert list((tmp_path / "elsewhere").iterdir()) == []
    # As the command would have written it.
    said = json.loads((tmp_path / "ck" / "options.json").read_text())
    arguments = ("closure.dl", "-F", "facts", "-D", "out", "--every", "30s")
    (tmp_path / "closure.dl").write_text(CLOSURE)
    stratalog("run", *arguments, "--checkpoint", "ck2", cwd=tmp_path)
    by_command = json.loads((tmp_path / "ck2" / "options.json").read_text())
    assert said.items() <= by_command.items()
    assert said["facts"] == str(tmp_path / "facts")
    assert said["program"] == "closure.dl"


HALVES = """
.functor half(x: number): number
.decl n(x: number)
n(1048576).
n(@half(x)) :- n(x), x > 0.
.printsize n
"""


def test_the_libraries_of_a_run_are_remembered(
    tmp_path: Path, stratalog: Stratalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "#include <stdint.h>\nint64_t half(int64_t x) { return x / 2; }\n"
    (tmp_path / "half.c").write_text(source)
    command = ["cc", "-shared", "-fPIC", "-o", tmp_path / "libhalf.so", tmp_path / "half.c"]
    subprocess.run(command, check=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    try:
        package.Program(HALVES, libraries=["libhalf.so"]).run(checkpoint="ck")
    except package.RunError as error:
        if error.code == "NotSupported":
            pytest.skip("this build has no libffi: user-defined functors are refused")
        raise
    resumed = stratalog("resume", tmp_path / "ck", cwd=tmp_path / "elsewhere")
    assert resumed.sizes() == {"n": 22}
