# SPDX-License-Identifier: Apache-2.0
"""bench/goals_checkpoint.py: verdicts can be missed, and one quick run fills the whole table."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import Stratalog

PROJECT = Path(__file__).resolve().parents[2]
for folder in ("bench", "python"):
    sys.path.insert(0, str(PROJECT / folder))

from checkpoint_goals import crashes, papers, readers, saving, streams  # noqa: E402
from goals.setting import CannotRunError  # noqa: E402
from goals.verdicts import Row, counted, judge, least, most, not_run  # noqa: E402
from stratalog_bench.results import Results  # noqa: E402

VERDICT = re.compile(r"met|missed( by [\d.,]+( ?%| points)?)?(: .+)?( \(.+\))?|not run: .+")


def test_the_worst_number_decides_and_goals_can_be_missed() -> None:
    assert judge("1", "w", least(0.95, "×"), {"a": 0.95, "b": 1.2}).verdict == "met"
    missed = judge("1", "w", least(0.95, "×"), {"a": 1.2, "b": 0.76})
    assert missed.verdict == "missed by 20% (b)"
    assert missed.measured == "a 1.20×, b 0.76×"
    assert judge("1", "w", most(0.05, "%"), {"a": 0.05}).verdict == "met"
    assert judge("1", "w", most(0.05, "%"), {"a": 0.0, "b": 0.081}).verdict == (
        "missed by 3.1 points (b)"
    )
    assert judge("1", "w", most(0, "", 0), {"a": 2.0}).verdict == "missed by 2"
    # A miss is not shown as nothing.
    assert most(0.05, "%").verdict(0.0503) == "missed by 0.03 points"
    assert least(0.95, "×").verdict(0.948) == "missed by 0.2%"
    assert most(0, "s").verdict(0.004) == "missed by 0.004s"
    assert judge("1", "w", least(1.0), {"a": math.nan}).is_missed
    nothing = judge("1", "w", least(1.0), {})
    assert not nothing.is_met and nothing.verdict == "not run: nothing was measured"
    assert counted([missed, nothing, not_run("2", "g", "why")]) == "0 met, 1 missed, 2 not run"


def save(case: str, total: float, pack: float = 0.0, protocol: float = 0.0) -> dict[str, Any]:
    return {
        "event": "save",
        "section": "sizes",
        "case": case,
        "ranks": 2,
        "data": "128 MB balanced",
        "repeat": 0,
        "row_bytes": 128_000_000,
        "bytes": 128_000_000,
        "durability": "full",
        "seconds": {"total": total, "pack": pack, "metadata": protocol, "commit": 0.0},
    }


def verdicts(rows: list[Row]) -> dict[str, str]:
    return {row.point: row.verdict for row in rows}


def test_saves_are_judged_both_ways() -> None:
    events = [
        save("raw-shared", 0.10),
        save("raw-fpp", 0.08),
        save("hdf5-direct", 0.10, pack=0.02, protocol=0.001),
        save("hdf5-opt", 0.20),
        save("hdf5-opt-printed", 0.14),
        save("hdf5", 0.15),
        save("shared-opt-rows", 0.30),
        save("fpp-rows", 0.10, protocol=0.02),
    ]
    results = Results(events=events, left_out=["size 4 GB: too large"])
    found = verdicts(saving.judge_bandwidth(results))
    assert found == {
        "1a": "met",
        "1b": "missed by 16%",
        "1c": "met",
        "1c'": "missed by 7%",
        "1d": "missed by 25%",
        "1e": "met",
    }
    rows = saving.judge_bandwidth(results)
    assert {row.durability for row in rows} == {"full"}
    # What did not fit stands beside the numbers.
    assert "size 4 GB: too large" in rows[0].measured
    assert verdicts(saving.judge_packing(results)) == {"4": "missed by 10.0 points"}
    assert verdicts(saving.judge_protocol(results)) == {
        "6a": "missed by 20.0 points",
        "6a'": "missed by 20.0 points",
        "6b": "met",
        "6b'": "missed by 20.0 points",
    }
    assert saving.judge_in_memory(results).verdict == "met"
    assert saving.judge_in_memory(Results(events=events[:3])).verdict.startswith("not run")
    nothing = saving.judge_bandwidth(Results())
    assert {row.verdict for row in nothing} == {"not run: nothing was measured"}


def test_restarts_are_judged_by_the_slowest_reader() -> None:
    def restart(ranks: int, read: float, case: str = "fpp-rows") -> dict[str, Any]:
        return save(case, read) | {
            "event": "restart",
            "section": "restart",
            "ranks": ranks,
            "writers": 4,
            "seconds": {
                "total": read + 9,
                "read": read,
                "shuffle": 9,
                "bare": 0.08,
                "bare_held": 0.09,
            },
        }

    rows = saving.judge_restarts(Results(events=[restart(1, 0.1), restart(7, 0.2)]))
    assert rows[0].verdict == "missed by 50% (by 7)"
    assert "not by 2, 3, 4" in rows[0].measured
    assert saving.judge_restarts(Results(events=[restart(2, 0.09)]))[0].is_met
    # What is packed has fewer bytes to read: it stands beside reading as many as rows have, too.
    packed = restart(7, 0.05, "fpp-compact") | {"bytes": 4_000_000}
    packed["seconds"] = packed["seconds"] | {"bare": 0.002}
    found = saving.judge_restarts(Results(events=[restart(7, 0.2), packed]))
    assert "128 MB of rows in 4 MB" in next(row for row in found if row.point == "5c").measured
    assert verdicts(found)["5c"] == "missed by 95%"
    assert verdicts(found)["5c'"] == "met"
    assert [row.point for row in found if row.point.endswith("*")] == ["5a*", "5b*"]


def test_streams_are_judged_for_every_closure() -> None:
    def closure(name: str, size: int, seconds: float) -> dict[str, Any]:
        own = {"format": "hdf5-streams", "bytes": size, "smaller": 1e9 / size}
        return {
            "closure": name,
            "raw_bytes": 1_000_000_000,
            "rows": [
                own | {"pack_and_encode_seconds": seconds + 0.1, "decode_seconds": seconds},
                {"format": "zlib 1", "bytes": 10**8},
                {"format": "Parquet, zstd", "bytes": 5 * 10**7},
            ],
        }

    good, bad = closure("good", 10**7, 0.4), closure("bad", 2 * 10**8, 1.9)
    assert verdicts(streams.judge_streams([good]))["2.1a"] == "met"
    found = verdicts(streams.judge_streams([good, bad]))
    assert found["2.1a"] == "missed by 38% (bad)"
    assert found["2.1b"] == "missed by 50% (bad)"
    assert found["2.1c"] == "missed by 74% (bad)"
    assert found["2.1d"] == "missed by 75% (bad)"
    assert found["2.2"].startswith("not run: its filter")
    printed = (
        "streams encode            0.004 s    5.150 ns/tuple      3.11 GB/s raw    2.2 B/tuple"
        "      7.3x\n"
        "streams decode            0.002 s    2.101 ns/tuple      7.62 GB/s raw    2.2 B/tuple"
        "      7.3x\n"
    )
    numbers = streams.codec_numbers(printed)
    assert numbers == {"encode": 3.11, "decode": 7.62, "smaller": 7.3}
    assert verdicts(streams.judge_codec({"usroads": numbers})) == {
        "2.3a": "missed by 9%",
        "2.3b": "met",
        "2.3c": "met",
    }


def test_the_papers_runs_are_judged_by_medians() -> None:
    def runs(added: list[float], size: int) -> list[dict[str, float]]:
        return [
            {"wall_seconds": 1 + one, "without_wall_seconds": 1, "bytes": size} for one in added
        ]

    row = {
        "case": "usroads",
        "plain_bytes": 2000,
        "runs": {
            "beside": runs([0.01, 0.015, 0.3], 90),
            "beside-skip": runs([0.03], 50),
            "held": runs([0.05], 90),
            "held-skip": runs([0.07], 50),
        },
    }
    alone = row | {"runs": {"beside": runs([0.03], 90), "beside-skip": runs([0.01], 50)}}
    found = verdicts(papers.judge_papers([row], [alone]))
    assert found == {
        "3a": "met",
        "3b": "met",
        "3c": "missed by 1.0 points",
        "3d": "met",
        "3e": "missed by 1.0 points",
        "3b'": "missed by 1.0 points",
        "3c'": "met",
    }
    row["plain_bytes"] = 900
    assert verdicts(papers.judge_papers([row], [alone]))["3a"].startswith("missed by 50%")


LOG = """\
Crash states, 2026-11-23T11:58:50+00:00, 4b750f6, --states 800000
  streams, fpp: 17 states, 0 problems
total: {states} distinct states, {problems} problems, {failed} chunks failed
"""


def test_crash_logs_are_judged_by_states_and_problems() -> None:
    good = crashes.read_log(LOG.format(states="1,038,141", problems=0, failed=0))
    assert (good.version, good.states) == ("4b750f6", 1_038_141)
    assert "hdf5-direct" in good.missing
    found = crashes.judge_campaign("7a", good, 1_000_000, "cited")
    assert verdicts(found) == {"7a": "met", "7a'": "met"}
    assert "no line names" in found[0].measured
    bad = crashes.read_log(LOG.format(states="900,000", problems=1, failed=2))
    assert verdicts(crashes.judge_campaign("7a", bad, 1_000_000, "cited")) == {
        "7a": "missed by 10%",
        "7a'": "missed by 2 (failed chunks)",
    }
    one = "total: 900,000 distinct states, 1 problem, 1 chunk failed"
    assert (crashes.read_log(one).problems, crashes.read_log(one).failed) == (1, 1)
    with pytest.raises(CannotRunError):
        crashes.read_log("Crash states, of a campaign that was interrupted")


def test_readers_that_read_something_else_miss(tmp_path: Path) -> None:
    def verdict(read: Any, *modules: str) -> str:
        reader = readers.Reader("r", modules, read)
        return readers.judge_reader("8", reader, tmp_path, tmp_path / "x.h5", "hdf5-direct").verdict

    assert verdict(lambda *_: set(readers.PAIRS)) == "met"
    assert verdict(lambda *_: readers.PAIRS | {(9, 1)}) == "missed by 1"
    assert verdict(lambda *_: set()).startswith("missed by")
    assert verdict(lambda *_: readers.pairs_of([[1]])) == "missed: it cannot read it"
    assert verdict(lambda *_: set(), "no_such_module") == "not run: there is no no_such_module"


def test_one_quick_run_fills_the_table(stratalog: Stratalog, tmp_path: Path) -> None:
    build = Path(stratalog.program).parent
    done = subprocess.run(
        [
            sys.executable,
            PROJECT / "bench" / "goals_checkpoint.py",
            "--quick",
            *("--stratalog", stratalog.program, "--mpiexec", stratalog.mpiexec),
            *("--build", build, "--scratch", tmp_path / "scratch", "--out", tmp_path / "goals"),
        ],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "goals.json").read_text())
    rows = content["rows"]
    assert {int(row["point"][0]) for row in rows} == set(range(1, 9))
    for row in rows:
        assert VERDICT.fullmatch(row["verdict"]), row
        assert row["goal"] and row["durability"]
        ran = not row["verdict"].startswith("not run")
        assert bool(row["measured"]) == ran, row
        assert ran == bool(row["numbers"]) or "cannot read" in row["verdict"], row
        if row["point"][0] in "1456":
            assert ran, row
            assert row["durability"] == "full"
    read = [row for row in rows if row["point"].startswith("8.1")]
    assert [row for row in read if row["verdict"].startswith("missed")] == []
    page = (tmp_path / "goals.md").read_text()
    assert page.strip() == done.stdout.strip()
    lines = [line for line in page.splitlines() if re.match(r"\| \d", line)]
    assert len(lines) == len(rows)
    assert all(line.count(" | ") == 4 for line in lines)
    assert "**Quick mode**" in page
    assert str(tmp_path) not in page
    assert str(PROJECT) + "/" not in page
    assert not (tmp_path / "scratch").exists()
