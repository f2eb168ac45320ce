# SPDX-License-Identifier: Apache-2.0
"""Point 3: two threads against two of Soufflé (bench/peers.py), datatoad and Ascent
(bench/rust_peers.py)."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from goals.setting import ROOT, CannotRunError, Setting
from goals.verdicts import Row, judge, least, most

CLOSURES = ("tc SF.cedge", "tc fe_body", "tc usroads", "tc p2p-Gnutella31")
# Whom the goal names.
NAMED = (
    *("sg cti", "sg TG.cedge", "cspa x264", "cspa cactus", "cspa povray"),
    *("andersen_c hmmer", "javapt", "javapt 260", "polonius_liveness clap", "galen_el"),
)
OTHERS = ("alias_cfl mcf", "univ_bench lubm")
OVER_DEFAULT, OVER_BEST, NAMED_OVER_BEST, OTHERS_OVER_BEST = 20.0, 6.0, 2.0, 1.0
OF_DEFAULTS_MEMORY, OF_BRIES_MEMORY = 0.25, 1.0
SECONDS = 21.0  # that a peer gets
Rows = dict[str, dict[str, Any]]  # by case: measurements by name


def _is_usable(entry: Any) -> bool:
    """Runs that were ended took at least as long."""
    return isinstance(entry, dict) and (entry["correct"] or entry.get("why", "").startswith("over"))


def _over(row: dict[str, Any], ours: str, theirs: list[str]) -> float | None:
    """How many times as long the quickest of `theirs` takes."""
    mine = row.get(ours)
    if not isinstance(mine, dict) or not mine["correct"]:
        return None
    found = [row[name]["wall_seconds"] for name in theirs if _is_usable(row.get(name))]
    return min(found) / mine["wall_seconds"] if found else None


def best_of_all(souffle: Rows, rust: Rows, case: str) -> float | None:
    """On the same inputs: the peers in Rust read numbers where the facts hold symbols."""
    numbers = "stratalog, integers 2"
    row = rust.get(case, {})
    ours = numbers if numbers in row else "stratalog 2"
    ratios = [
        _over(souffle.get(case, {}), "stratalog 2", ["btree 2", "brie 2"]),
        _over(row, ours, ["datatoad 1", "datatoad 2", "Ascent 1", "Ascent 2"]),
    ]
    return min((ratio for ratio in ratios if ratio is not None), default=None)


def _known(numbers: dict[str, float | None]) -> dict[str, float]:
    return {name: number for name, number in numbers.items() if number is not None}


def judge_peers(souffle: Rows, rust: Rows) -> list[Row]:
    who = [
        *(["Soufflé"] if souffle else []),
        *(
            name
            for name in ("datatoad", "Ascent")
            if any(f"{name} 2" in row for row in rust.values())
        ),
    ]
    note = f"against {', '.join(who)}; ended after {SECONDS:g} s" if who else ""
    rows = [
        judge(
            "3a",
            "closures: Soufflé's default, over ours",
            least(OVER_DEFAULT, "×", 1),
            _known({c: _over(souffle.get(c, {}), "stratalog 2", ["btree 2"]) for c in CLOSURES}),
        )
    ]
    for point, what, cases, limit in (
        ("3b", "closures", CLOSURES, OVER_BEST),
        ("3c", "the programs that are named", NAMED, NAMED_OVER_BEST),
        ("3d", "others", OTHERS, OTHERS_OVER_BEST),
    ):
        ratios = _known({case: best_of_all(souffle, rust, case) for case in cases})
        rows.append(
            judge(
                point,
                f"{what}: the best of all peers, over ours",
                least(limit, "×", 1),
                ratios,
                note=note,
            )
        )
    for point, peer, name, limit in (
        ("3e", "Soufflé's default's", "btree 2", OF_DEFAULTS_MEMORY),
        ("3f", "brie's", "brie 2", OF_BRIES_MEMORY),
    ):
        shares = {
            case: souffle[case]["stratalog 2"]["peak_kib"] / souffle[case][name]["peak_kib"]
            for case in CLOSURES
            if name in souffle.get(case, {})
        }
        rows.append(judge(point, f"memory of closures, of {peer}", most(limit, "×"), shares))
    return rows


def _run(setting: Setting, script: str, words: list[str], cases: tuple[str, ...]) -> Rows:
    out = setting.scratch / script
    pattern = "^(" + "|".join(re.escape(case) for case in cases) + ")$"
    setting.run(
        [
            sys.executable,
            ROOT / "bench" / f"{script}.py",
            *("--stratalog", setting.stratalog, "--scratch", setting.scratch, "--out", out),
            *("--seconds", f"{SECONDS:g}", "--only", pattern, *words),
        ],
        7200,
        STRATALOG_SHARED=str(setting.shared),
    )
    rows: list[dict[str, Any]] = json.loads(out.with_suffix(".json").read_text())["rows"]
    return {row["case"]: row for row in rows}


def all_rows(setting: Setting) -> list[Row]:
    options = setting.options
    cases = (
        ("sg TG.cedge", "andersen_c hmmer") if setting.is_quick else (*CLOSURES, *NAMED, *OTHERS)
    )
    repeats = ["--repeats", "1" if setting.is_quick else "9"]
    souffle: Rows = {}
    rust: Rows = {}
    if options["souffle"]:
        words = ["--souffle", options["souffle"], "--threads", "2", "--mpiexec", setting.mpiexec]
        souffle = _run(setting, "peers", [*words, *repeats], cases)
    if options["datatoad"] or options["cargo"]:
        words = ["--datatoad", options["datatoad"], "--cargo", options["cargo"]]
        rust = _run(setting, "rust_peers", [*words, *repeats], cases)
    if not souffle and not rust:
        raise CannotRunError("no peer is named (--souffle, --datatoad, --cargo)")
    return judge_peers(souffle, rust)
