#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All goals of checkpoint I/O in one run and one table: what was to be shown, what was measured, at
which durability, and whether it is met, missed and by how much, or was not run and why.

    bench/goals_checkpoint.py --quick                     # a minute or two: small sizes, stand-ins
    bench/goals_checkpoint.py --out bench/results/DATE-goals-checkpoint

Points: 1 bandwidth against bare writes and between the HDF5 modes; 2 sorted streams; 3 the papers'
own runs; 4 packing; 5 restart on 1, 2, 3, 4 and 7 ranks; 6 the protocol; 7 crash states; 8 other
readers. Writes OUT.json and OUT.md, after each point. What breaks or is not there is a row "not
run" with the reason; the exit code says nothing of verdicts.
"""

from __future__ import annotations

import sys

from peers import ROOT

sys.path.insert(0, str(ROOT / "python"))

from checkpoint_goals import crashes, papers, readers, saving, streams
from goals.page import Measures, Subject, run
from goals.setting import CannotRunError, Setting
from goals.verdicts import Row
from stratalog_bench.results import Results


def _saves(setting: Setting) -> list[Row]:
    """Points 1, 4 and 6 look at the same saves."""
    results = saving.run_saves(setting)
    try:
        in_memory = saving.run_saves_in_memory(setting)
    except CannotRunError as problem:
        in_memory = Results(left_out=[str(problem)])
    return [
        *saving.judge_bandwidth(results),
        saving.judge_in_memory(in_memory),
        *saving.judge_packing(results),
        *saving.judge_protocol(results),
    ]


def _restarts(setting: Setting) -> list[Row]:
    return saving.judge_restarts(saving.run_restarts(setting))


def _papers(setting: Setting) -> list[Row]:
    note = "quick: a small stand-in, not the papers' runs" if setting.is_quick else ""
    alone = papers.run_papers(setting, 1, papers.FREE_CORE_WAYS)
    return papers.judge_papers(papers.run_papers(setting), alone, note)


MEASURES: Measures = (
    ((1, 4, 6), "bandwidth, packing and protocol of saves", _saves),
    ((2,), "sorted streams", streams.all_rows),
    ((3,), "the papers' own runs", _papers),
    ((5,), "restart on other rank counts", _restarts),
    ((7,), "crash states", crashes.all_rows),
    ((8,), "other readers", readers.all_rows),
)

SUBJECT = Subject(
    "The goals of checkpoint I/O, in one run",
    "bench/goals_checkpoint.py",
    "goals-checkpoint",
    MEASURES,
)

if __name__ == "__main__":
    sys.exit(run(SUBJECT, sys.argv[1:]))
