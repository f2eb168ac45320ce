# SPDX-License-Identifier: Apache-2.0
"""The library on processes of MPI, through mpi4py: ranks that were given different things end
together, with what differs, instead of waiting for each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import EDGE_CLOSURE, Stratalog

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["STRATALOG"]).resolve().parent
RANKS = 3

# One script for all cases: what rank 1 does otherwise comes as JSON. One line from each rank.
SCRIPT = """
import json, sys
from mpi4py import MPI
import stratalog
world = MPI.COMM_WORLD
case = json.loads(sys.argv[1])
mine = {**case["all"], **(case["odd"] if world.rank == 1 else {})}
text = mine.pop("text", None) or sys.argv[2]
try:
    given = {key: mine.pop(key) for key in ("name", "include", "define") if key in mine}
    program = stratalog.Program(text, comm=world, **given)
    program.insert("edge", [(i, i + 1) for i in range(world.rank, world.rank + 3)])
    program.run(**mine)
    told = ["OK", str(program.count("path"))]
except stratalog.RunError as error:
    told = [error.code, str(error)]
for line in world.gather(json.dumps(told)) or ():
    print(line)
"""


def told_by_ranks(
    stratalog: Stratalog, folder: Path, all_ranks: dict[str, Any], odd: dict[str, Any]
) -> list[list[str]]:
    script = folder / "script.py"
    script.write_text(SCRIPT)
    case = json.dumps({"all": all_ranks, "odd": odd})
    paths = [str(PROJECT / "python"), os.environ.get("PYTHONPATH", "")]
    finished = stratalog.run_command(
        ["env", f"PYTHONPATH={':'.join(paths)}", f"STRATALOG_LIBRARY={BUILD / 'libstratalog.so'}",
         stratalog.mpiexec, "-n", str(RANKS), sys.executable, str(script), case, EDGE_CLOSURE],
        timeout=60,
    )  # fmt: skip
    assert finished.code == 0, finished.err
    return [json.loads(line) for line in finished.out.splitlines()]


@pytest.fixture(scope="module", autouse=True)
def mpi4py(tmp_path_factory: pytest.TempPathFactory, stratalog: Stratalog) -> None:
    pytest.importorskip("mpi4py")
    asked = "from mpi4py import MPI; print(MPI.COMM_WORLD.size)"
    command = [stratalog.mpiexec, "-n", "2", sys.executable, "-c", asked]
    found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    if found.stdout.split() != ["2", "2"]:
        pytest.skip("mpi4py is of another MPI than mpiexec")


def test_tuples_may_differ(tmp_path: Path, stratalog: Stratalog) -> None:
    assert told_by_ranks(stratalog, tmp_path, {}, {}) == [["OK", "15"]] * RANKS


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ({"text": EDGE_CLOSURE + ".decl z()"}, "another text of the program"),
        ({"text": "edge("}, "another text of the program"),
        ({"include": ["inc"]}, "another list of include folders"),
        ({"define": ["A"]}, "another list of macros"),
        ({"checkpoint": "ck"}, "another folder of checkpoints"),
        ({"facts": "."}, "another folder of facts"),
        ({"output": "."}, "another folder of outputs"),
    ],
)
def test_what_differs_is_named_on_all_ranks(
    tmp_path: Path, stratalog: Stratalog, odd: dict[str, Any], words: str
) -> None:
    if "checkpoint" in odd:
        odd = {"checkpoint": str(tmp_path / "ck")}
    told = told_by_ranks(stratalog, tmp_path, {}, odd)
    assert len(told) == RANKS
    for code, message in told:
        assert code == "RanksDisagree"
        assert f"rank 1 gave {words} than rank 0" in message


def test_what_is_to_become_of_checkpoints_differs(tmp_path: Path, stratalog: Stratalog) -> None:
    common = {"checkpoint": str(tmp_path / "ck"), "on_checkpoints": "resume"}
    told = told_by_ranks(stratalog, tmp_path, common, {"on_checkpoints": "overwrite"})
    assert [code for code, _ in told] == ["RanksDisagree"] * RANKS
    assert all("another on_checkpoints" in message for _, message in told)


def test_errors_are_those_of_all(tmp_path: Path, stratalog: Stratalog) -> None:
    told = told_by_ranks(stratalog, tmp_path, {"text": "edge(x)."}, {})
    assert [code for code, _ in told] == ["InvalidArgument"] * RANKS
    assert all(message.startswith("program:1:1: error") for _, message in told)
    told = told_by_ranks(stratalog, tmp_path, {}, {"threads": 2})
    assert [code for code, _ in told] == ["InvalidArgument"] * RANKS
    assert all(message.startswith("rank 1: 2 threads") for _, message in told)
