# SPDX-License-Identifier: Apache-2.0
"""Point 7: crash states. The long campaign takes hours, so its committed log is cited with its
version; a short one runs here (tests/campaigns/crash_states.py)."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from goals.setting import ROOT, CannotRunError, Setting
from goals.verdicts import Row, judge, least, most, not_run

PROGRAMS = ("fault_crash_states_test", "fault_stage_test", "fault_node_stages_test")
STATES_IN_CI, STATES_IN_CAMPAIGN = 100_000, 1_000_000
STATES_OF_A_TEST = 80_000  # as `make test` has it; with fewer, tests say that they saw too few
QUICK_TESTS = r"OtherEncodings|CompactionOfAChain$"
TOTAL = re.compile(
    r"^total: ([\d,]+) distinct states, (\d+) problems?, (\d+) chunks? failed$", re.MULTILINE
)
FEATURES = ("fpp", "shared", "hdf5-direct", "streams", "chain", "compaction", "stage", "overlap")
SIMULATED = "full, simulated"  # power fails at every operation of a store in memory


@dataclass(frozen=True)
class Campaign:
    """What a log of crash_states.py says."""

    states: int
    problems: int
    failed: int
    version: str
    missing: tuple[str, ...]  # features that no line names


def read_log(text: str) -> Campaign:
    totals = TOTAL.findall(text)
    if not totals:
        raise CannotRunError("the log has no total: the campaign did not end")
    states, problems, failed = totals[-1]
    head = text.partition("\n")[0].split(", ")
    lower = text.lower()
    return Campaign(
        states=int(states.replace(",", "")),
        problems=int(problems),
        failed=int(failed),
        version=head[2] if len(head) > 2 else "unnamed version",
        missing=tuple(one for one in FEATURES if one not in lower),
    )


def newest_log() -> Path:
    logs = sorted((ROOT / "bench" / "results").glob("*-crash-states.log"))
    if not logs:
        raise CannotRunError("there is no bench/results/*-crash-states.log")
    return logs[-1]


def committed_in(file: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "not committed"


def run_short(setting: Setting) -> Campaign:
    log = setting.scratch / "crash-states.log"
    programs = [setting.built(name) for name in PROGRAMS]
    only = QUICK_TESTS if setting.is_quick else ""
    try:
        setting.run(
            [
                sys.executable,
                ROOT / "tests" / "campaigns" / "crash_states.py",
                *programs,
                *("--states", STATES_OF_A_TEST, "--least", 0, "--log", log, f"--only={only}"),
            ],
            3600,
        )
    except CannotRunError:
        if not log.exists() or not TOTAL.search(log.read_text()):
            raise  # it says why it did not end; found problems are numbers below
    return read_log(log.read_text())


def judge_campaign(point: str, campaign: Campaign, at_least: int, source: str) -> list[Row]:
    note = source
    if campaign.missing:
        note += f"; no line names {', '.join(campaign.missing)}"
    seen = {"states": float(campaign.states)}
    bad = {"problems": float(campaign.problems), "failed chunks": float(campaign.failed)}
    return [
        judge(f"{point}", "crash states", least(at_least, "", 0), seen, SIMULATED, note),
        judge(f"{point}'", "of them with problems", most(0, "", 0), bad, SIMULATED, source),
    ]


def all_rows(setting: Setting) -> list[Row]:
    rows: list[Row] = []
    try:
        log = newest_log()
        campaign = read_log(log.read_text())
        cited = f"cited, not run here: {log.name} of {campaign.version}, commit {committed_in(log)}"
        rows += judge_campaign("7a", campaign, STATES_IN_CAMPAIGN, cited)
    except CannotRunError as why:
        rows.append(not_run("7a", "crash states of the long campaign", str(why)))
    try:
        short = run_short(setting)
        if setting.is_quick:
            why = f"quick mode sees {short.states:,} of a few tests"
            rows.append(not_run("7b", "crash states, as many as CI sees", why, SIMULATED))
            rows += judge_campaign("7b", short, 1, "run here")[1:]
        else:
            rows += judge_campaign("7b", short, STATES_IN_CI, "run here")
    except CannotRunError as why:
        rows.append(not_run("7b", "crash states, as many as CI sees", str(why)))
    return rows
