# SPDX-License-Identifier: Apache-2.0
"""bench/goals_engine.py: who is compared with whom, verdicts that can be missed, a run without
data sets and peers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from stratalog_runner import Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "bench"))

from engine_goals import against_peers, loading, times  # noqa: E402
from engine_goals.inputs import Times, case_of  # noqa: E402
from goals.verdicts import Row  # noqa: E402


def run(seconds: float, correct: bool = True, kib: int = 1024, why: str = "") -> dict[str, Any]:
    return {"wall_seconds": seconds, "correct": correct, "peak_kib": kib, "why": why}


def verdicts(rows: list[Row]) -> dict[str, str]:
    return {row.point: row.verdict for row in rows}


def test_the_quickest_peer_on_the_same_input_decides() -> None:
    souffle = {"andersen_c hmmer": {"stratalog 2": run(1), "btree 2": run(5), "brie 2": run(4)}}
    rust = {
        "andersen_c hmmer": {
            "stratalog 2": run(1),
            "stratalog, integers 2": run(0.5),
            "datatoad 1": run(9),
            "datatoad 2": run(3),
            "Ascent 1": run(1.5),
            "Ascent 2": run(0.1, correct=False, why="ended with 101"),
        }
    }
    best = against_peers.best_of_all
    assert best(souffle, {}, "andersen_c hmmer") == 4
    # What read numbers is compared with what read numbers; whoever failed is not.
    assert best(souffle, rust, "andersen_c hmmer") == 3
    assert best({}, {}, "andersen_c hmmer") is None
    row = next(r for r in against_peers.judge_peers(souffle, rust) if r.point == "3c")
    assert row.verdict == "met"
    assert "against Soufflé, datatoad, Ascent" in row.measured
    rust["andersen_c hmmer"]["Ascent 1"] = run(0.9)
    assert verdicts(against_peers.judge_peers(souffle, rust))["3c"] == "missed by 10%"


def test_closures_are_judged_by_time_and_memory() -> None:
    souffle = {
        "tc usroads": {
            "stratalog 2": run(1, kib=100),
            # Ended: it would have taken more of both.
            "btree 2": run(21, kib=500),
            "brie 2": run(5, kib=90),
        }
    }
    assert verdicts(against_peers.judge_peers(souffle, {})) == {
        "3a": "met",
        "3b": "missed by 17%",
        "3c": "not run: against Soufflé; ended after 21 s",
        "3d": "not run: against Soufflé; ended after 21 s",
        "3e": "met",
        "3f": "missed by 11%",
    }


def test_times_efficiency_and_memory_are_judged() -> None:
    measured = {
        "tc fe_ocean": {
            "1": Times([14.0]),
            "2": Times([13.0, 8.0, 11.0], peak_kib=5 << 20),
            "1 beside 1": Times([20.0]),
        },
        "tc crdt-tree": {
            "1": Times([0.4]),
            "2": Times([0.2], peak_kib=1 << 20),
            "1 beside 1": Times([0.4]),
        },
    }
    found = verdicts(times.judge_times(measured))
    assert found["4a"] == "met" and found["4e"] == "met"
    assert found["4b"] == "not run: nothing was measured"
    assert found["4f"] == "missed by 25%"
    efficiency = times.judge_efficiency(measured)
    assert efficiency.verdict == "missed by 20% (tc fe_ocean)"
    assert efficiency.measured.endswith("leave each other: tc fe_ocean 0.70, tc crdt-tree 1.00")
    assert times.judge_memory(measured).verdict == "missed by 61% (tc fe_ocean)"
    assert case_of("sg fe_ocean").program == "sg"


def test_processes_are_compared_without_launching_them() -> None:
    found = times.judge_latency(
        "x",
        {
            "1 thread": Times([2.0]),
            "2 threads": Times([1.0]),
            "1 process": Times([5.0]),
            "2 processes": Times([6.0]),
        },
        {"1 process": Times([1.0]), "2 processes": Times([3.0])},
    )
    assert found == {"x, 2 threads": 0.5, "x, 2 processes": 0.75}


def test_loading_is_judged_by_core_and_largest_file() -> None:
    def row(kind: str, rows: int, threads: int, rate: float) -> dict[str, Any]:
        return {"kind": kind, "rows": rows, "threads": threads, "mb_per_second": rate}

    rows = [row("a", 1000, 1, 50), row("a", 4000, 1, 150), row("a, gzip", 4000, 2, 10)]
    assert loading.judge_loading(rows).verdict == "met"
    assert loading.judge_loading([*rows, row("a", 4000, 2, 190)]).verdict == (
        "missed by 5% (a, 2 threads)"
    )


def test_a_run_without_data_sets_and_peers_says_so(stratalog: Stratalog, tmp_path: Path) -> None:
    theirs = tmp_path / "scratch" / "theirs"
    theirs.mkdir(parents=True)
    done = subprocess.run(
        [
            sys.executable,
            PROJECT / "bench" / "goals_engine.py",
            *("--quick", "--points", "2,3,4,5"),
            *("--stratalog", stratalog.program, "--mpiexec", stratalog.mpiexec),
            *("--scratch", tmp_path / "scratch", "--out", tmp_path / "goals"),
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"STRATALOG_SHARED": str(tmp_path / "absent")},
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = {
        r["point"]: r["verdict"] for r in json.loads((tmp_path / "goals.json").read_text())["rows"]
    }
    assert rows["1"] == "not run: not asked for (--points)"
    assert rows["3"] == "not run: no peer is named (--souffle, --datatoad, --cargo)"
    assert all(rows[point].startswith("not run: there are no data sets") for point in "245")
    page = (tmp_path / "goals.md").read_text()
    assert "| point | goal | measured | verdict |" in page
    assert str(tmp_path) not in page
    assert theirs.exists()
