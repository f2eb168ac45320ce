# SPDX-License-Identifier: Apache-2.0
"""Points 1, 4, 5 and 6: saves and restarts of synthetic relations by `stratalog bench checkpoint`,
beside bare writes and reads of the same bytes by the same ranks."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from goals.setting import CannotRunError, Setting
from goals.verdicts import Row, judge, least, most
from stratalog_bench.quantities import size_text
from stratalog_bench.results import Results
from stratalog_bench.summary import Measured, pick, restarts, saves

RANKS = 2
FILLED = 64e6  # bytes of rows of a rank, from which the protocol's share counts
STRATEGIES = (
    "raw-shared",
    "raw-fpp",
    "hdf5-direct",
    "hdf5-opt",
    "hdf5-opt-printed",
    "hdf5",
    "shared-opt-rows",
    "fpp-rows",
    "fpp-compact",
)
MEMORY = Path("/dev/shm")  # a file system without a device, on Linux
MEMORY_STRATEGIES = ("raw-fpp", "raw-shared", "hdf5-direct", "hdf5-direct-one-file", "hdf5-opt")
READ_STRATEGIES = ("fpp-rows", "hdf5-direct", "fpp-compact")
WRITERS = 4
READERS = (1, 2, 3, 4, 7)


def bench(setting: Setting, name: str, *words: str) -> Results:
    out = setting.scratch / name
    shutil.rmtree(out, ignore_errors=True)
    setting.run(
        [setting.stratalog, "bench", "checkpoint", "-q", "-o", out, *words],
        3600,
        MPIEXEC=setting.mpiexec,
    )
    return Results.load(Path(out) / "results.json")


def run_saves(setting: Setting) -> Results:
    sizes, repeats, budget = (
        ("64M,128M", "3", "60s") if setting.is_quick else ("64M,512M,2G,4G", "5", "15m")
    )
    return bench(
        setting,
        "saves",
        *("--only", "sizes", "--sizes", sizes, "--ranks", str(RANKS), "--repeats", repeats),
        *("--budget", budget, "--strategies", ",".join(STRATEGIES)),
    )


def run_saves_in_memory(setting: Setting) -> Results:
    """What the strategies cost where no device is the limit."""
    sizes, repeats, budget = (
        ("64M", "3", "60s") if setting.is_quick else ("64M,512M,2G,4G", "5", "5m")
    )
    if not MEMORY.is_dir():
        raise CannotRunError(f"no file system in memory at {MEMORY}")
    with tempfile.TemporaryDirectory(dir=MEMORY) as work:
        return bench(
            setting,
            "saves-in-memory",
            *("--only", "sizes", "--sizes", sizes, "--ranks", str(RANKS), "--repeats", repeats),
            *("--budget", budget, "--strategies", ",".join(MEMORY_STRATEGIES), "--work", work),
        )


def run_restarts(setting: Setting) -> Results:
    size, repeats, budget = ("64M", "1", "60s") if setting.is_quick else ("2G", "7", "10m")
    return bench(
        setting,
        "restarts",
        *("--only", "restart", "--sizes", size, "--ranks", str(WRITERS), "--repeats", repeats),
        *("--budget", budget, "--strategies", ",".join(READ_STRATEGIES)),
    )


def _level(rows: list[Measured]) -> str:
    return ", ".join(dict.fromkeys(row.durability for row in rows)) or "-"


def _ratios(rows: list[Measured], one: str, other: str) -> dict[str, float]:
    """Bandwidth of `one` over `other` at each size."""
    return {
        size_text(mine.row_bytes): mine.bandwidth / theirs.bandwidth
        for mine in pick(rows, case=one)
        for theirs in pick(rows, case=other, ranks=mine.ranks, data=mine.data)
        if theirs.bandwidth > 0
    }


def _left_out(results: Results) -> str:
    """What the bench had no room or time for: the goal speaks of it, the numbers do not."""
    failed = [event["message"] for event in results.events if event["event"] == "failed"]
    return "; ".join(dict.fromkeys([*results.left_out, *failed]))


def judge_bandwidth(results: Results) -> list[Row]:
    rows = saves(results, "sizes")
    level, note = _level(rows), _left_out(results)

    def against(point: str, one: str, other: str, text: str, limit: float) -> Row:
        return judge(point, text, least(limit, "×"), _ratios(rows, one, other), level, note)

    return [
        against("1a", "hdf5-direct", "raw-shared", "hdf5-direct over bare writes, one file", 0.95),
        against("1b", "hdf5-direct", "raw-fpp", "hdf5-direct over bare writes, own files", 0.95),
        against("1c", "hdf5-direct", "hdf5-opt", "hdf5-direct over hdf5-opt", 1.5),
        against(
            "1c'", "hdf5-direct", "hdf5-opt-printed", "hdf5-direct over hdf5-opt as printed", 1.5
        ),
        against("1d", "hdf5-opt", "hdf5", "hdf5-opt over hdf5", 1.0),
        against("1e", "hdf5-opt", "shared-opt-rows", "hdf5-opt over shared-opt", 1.0),
    ]


def judge_in_memory(results: Results) -> Row:
    """Of 1c, what is ours and not the device's."""
    rows = saves(results, "sizes")
    return judge(
        "1c*",
        "hdf5-direct over hdf5-opt, in memory (tmpfs): no device, no fsync",
        least(1.5, "×"),
        _ratios(rows, "hdf5-direct", "hdf5-opt"),
        _level(rows),
        _left_out(results),
    )


def judge_packing(results: Results) -> list[Row]:
    rows = pick(saves(results, "sizes"), case="hdf5-direct")
    shares = {size_text(row.row_bytes): row.seconds["pack"] / row.total for row in rows}
    return [
        judge("4", "packing, of hdf5-direct's time", most(0.10, "%"), shares, _level(rows)),
    ]


def judge_protocol(results: Results) -> list[Row]:
    """Of the steps that bare writing has not, and of the whole checkpoint."""
    rows = saves(results, "sizes")
    filled = [row for row in rows if row.row_bytes >= FILLED * row.ranks]
    judged = []
    for letter, case in (("a", "fpp-rows"), ("b", "hdf5-direct")):
        own = pick(filled, case=case)
        steps = {
            size_text(row.row_bytes): protocol / (row.total - protocol)
            for row in own
            if (protocol := row.seconds["metadata"] + row.seconds["commit"]) < row.total
        }
        whole = {size: 1 / ratio - 1 for size, ratio in _ratios(filled, case, "raw-fpp").items()}
        judged += [
            judge(
                f"6{letter}",
                f"{case}: metadata and commit, over the rest of the checkpoint",
                most(0.05, "%"),
                steps,
                _level(own),
            ),
            judge(
                f"6{letter}'",
                f"{case}: the whole checkpoint, over bare write + fsync",
                most(0.05, "%"),
                whole,
                _level(own),
            ),
        ]
    return judged


def _over_reads(own: list[Measured], peer: str) -> dict[str, float]:
    """A bare read's time over that of the restart, by number of readers."""
    return {
        f"by {row.ranks}": row.seconds[peer] / row.seconds["read"]
        for row in sorted(own, key=lambda row: row.ranks)
        if row.ranks in READERS
    }


def judge_restarts(results: Results) -> list[Row]:
    rows = [row for row in restarts(results, "restart") if row.is_beside_bare]
    judged = []
    for letter, case in zip("abc", READ_STRATEGIES, strict=True):
        own = pick(rows, case=case)
        ratios = _over_reads(own, "bare")
        missing = [str(count) for count in READERS if f"by {count}" not in ratios]
        notes = [f"not by {', '.join(missing)}"] if missing else []
        if own:
            rows_text, bytes_text = size_text(own[0].row_bytes), size_text(own[0].bytes)
            notes.append(f"{rows_text} of rows in {bytes_text}, written by {own[0].writers}")
        judged.append(
            judge(
                f"5{letter}",
                f"{case}: restart before the shuffle, over bare pread of the same bytes",
                least(0.8, "×"),
                ratios,
                _level(own),
                "; ".join(notes),
            )
        )
        if case == "fpp-compact":
            continue  # beside 5c'
        judged.append(
            judge(
                f"5{letter}*",
                f"{case}: the same, over bare pread into fresh memory that holds the bytes",
                least(0.8, "×"),
                _over_reads(own, "bare_held"),
                _level(own),
            )
        )
    compact = pick(rows, case="fpp-compact")
    of_rows = {
        f"by {row.ranks}": peer.seconds["bare"] / row.seconds["read"]
        for row in sorted(compact, key=lambda row: row.ranks)
        for peer in pick(rows, case="fpp-rows", ranks=row.ranks, data=row.data)
    }
    judged.append(
        judge(
            "5c'",
            "fpp-compact: the same, over bare pread of fpp-rows' bytes",
            least(0.8, "×"),
            of_rows,
            _level(compact),
        )
    )
    return judged
