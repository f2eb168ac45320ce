# SPDX-License-Identifier: Apache-2.0
"""Point 3: the papers' own runs with their checkpoints (bench/papers_run.py)."""

from __future__ import annotations

import json
import statistics
import sys
from typing import Any

from goals.setting import ROOT, CannotRunError, Setting
from goals.verdicts import Row, judge, least, most

CASES, QUICK_CASES = ("usroads", "cz40948 stand-in"), ("small",)
# The answer is saved at the end; the papers' runs do not, and neither do those with "skip".
WAYS = ("none", "beside", "held", "beside-skip", "held-skip")
SMALLER = 20.0
GOALS = (
    ("b", "beside", "beside the evaluation, and the answer", 0.02),
    ("c", "beside-skip", "beside the evaluation, none at the end", 0.02),
    ("d", "held", "the evaluation waits, and the answer", 0.06),
    ("e", "held-skip", "the evaluation waits, none at the end", 0.06),
)
# One rank, so that there is a core for what goes on beside the evaluation.
FREE_CORE_WAYS = ("none", "beside", "beside-skip")
FREE_CORE_GOALS = (
    ("b'", "beside", "beside the evaluation of one rank, and the answer", 0.02),
    ("c'", "beside-skip", "beside the evaluation of one rank, none at the end", 0.02),
)
DURABILITY = "full"  # papers_run.py takes the default


def run_papers(
    setting: Setting, ranks: int = 2, ways: tuple[str, ...] = WAYS
) -> list[dict[str, Any]]:
    if not setting.shared.exists():
        raise CannotRunError(f"there are no data sets at {setting.neutral(str(setting.shared))}")
    out = setting.scratch / f"papers-run-{ranks}"
    setting.run(
        [
            sys.executable,
            ROOT / "bench" / "papers_run.py",
            *("--stratalog", setting.stratalog, "--mpiexec", setting.mpiexec),
            *("--scratch", setting.scratch / "papers", "--out", out),
            *("--repeats", "1" if setting.is_quick else "7", "--ranks", str(ranks)),
            *("--ways", *ways),
            *("--cases", *(QUICK_CASES if setting.is_quick else CASES)),
        ],
        7200,
        STRATALOG_SHARED=str(setting.shared),
    )
    rows: list[dict[str, Any]] = json.loads(out.with_suffix(".json").read_text())["rows"]
    return rows


def _ratios(row: dict[str, Any], way: str) -> list[float]:
    return [run["wall_seconds"] / run["without_wall_seconds"] - 1 for run in row["runs"][way]]


def judge_papers(
    rows: list[dict[str, Any]], alone: list[dict[str, Any]], note: str = ""
) -> list[Row]:
    """`rows` of two ranks, `alone` of one."""
    smaller = {
        f"{row['case']}, {text}": row["plain_bytes"]
        / statistics.median(run["bytes"] for run in row["runs"][way])
        for row in rows
        for way, text in (("beside", "with the answer"), ("beside-skip", "none at the end"))
    }
    judged = [
        judge(
            "3a",
            "full + delta as uint64, over all bytes written",
            least(SMALLER, "×", 1),
            smaller,
            DURABILITY,
            note,
        )
    ]
    for goals, of in ((GOALS, rows), (FREE_CORE_GOALS, alone)):
        judged += [_judge_added(of, *goal, note) for goal in goals]
    return judged


def _judge_added(
    rows: list[dict[str, Any]], letter: str, way: str, text: str, limit: float, note: str
) -> Row:
    added = {row["case"]: statistics.median(_ratios(row, way)) for row in rows}
    turns = min((len(row["runs"][way]) for row in rows), default=0)
    spread = "; ".join(
        f"{row['case']} {min(_ratios(row, way)):+.1%} to {max(_ratios(row, way)):+.1%}"
        for row in rows
    )
    told = "; ".join(filter(None, (f"medians of {turns} turns: {spread}", note)))
    what = f"added to the run, {text}"
    return judge(f"3{letter}", what, most(limit, "%"), added, DURABILITY, told)
