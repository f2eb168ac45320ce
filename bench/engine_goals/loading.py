# SPDX-License-Identifier: Apache-2.0
"""Point 1: text facts loaded (bench/load_times.py)."""

from __future__ import annotations

import json
import sys
from typing import Any

from goals.setting import ROOT, Setting
from goals.verdicts import Row, judge, least

LEAST_MB = 100.0  # a second and core
ONE_STREAM = "gzip"  # which one thread inflates


def judge_loading(found: list[dict[str, Any]]) -> Row:
    """The largest files."""
    largest = max((row["rows"] for row in found), default=0)
    rates = {
        f"{row['kind']}, {row['threads']} thread{'s' if row['threads'] > 1 else ''}": (
            row["mb_per_second"] / row["threads"]
        )
        for row in found
        if row["rows"] == largest and not (ONE_STREAM in row["kind"] and row["threads"] > 1)
    }
    what = f"text of {largest:,} rows loaded, MB/s and core"
    note = "of one gzip stream one thread inflates alone: not on two"
    return judge("1", what, least(LEAST_MB, "", 0), rates, note=note if rates else "")


def all_rows(setting: Setting) -> list[Row]:
    out = setting.scratch / "load"
    setting.run(
        [
            sys.executable,
            ROOT / "bench" / "load_times.py",
            *("--program", setting.stratalog, "--out", out),
            *("--rows", "100000" if setting.is_quick else "4000000"),
            *("--repeats", "2" if setting.is_quick else "5"),
        ],
        3600,
    )
    return [judge_loading(json.loads(out.with_suffix(".json").read_text())["rows"])]
