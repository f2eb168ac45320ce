#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All goals of the engine that a clock or a memory meter can tell, in one run and one table: what
was to be shown, what was measured, and whether it is met, missed and by how much, or was not run
and why.

    bench/goals_engine.py --quick                     # a minute: small inputs
    bench/goals_engine.py --souffle souffle --datatoad datatoad --cargo cargo --out OUT

Points: 1 loading; 2 memory; 3 against peers, those that are named; 4 times of large closures; 5 two
ranks against one. Writes OUT.json and OUT.md, after each point. What breaks or is not there is a
row "not run" with the reason; the exit code says nothing of verdicts.
"""

from __future__ import annotations

import os
import sys

from engine_goals import against_peers, loading, times
from goals.page import Subject, parser_of, run

SUBJECT = Subject(
    "The goals of the engine, in one run",
    "bench/goals_engine.py",
    "goals-engine",
    (
        ((1,), "loading", loading.all_rows),
        ((2, 4, 5), "times, memory, two ranks against one", times.all_rows),
        ((3,), "against peers", against_peers.all_rows),
    ),
)


def main(words: list[str]) -> int:
    parser = parser_of(SUBJECT)
    souffle = os.environ.get("STRATALOG_SOUFFLE", "")
    parser.add_argument("--souffle", default=souffle, help="a souffle program")
    parser.add_argument("--datatoad", default="", help="a datatoad program")
    parser.add_argument("--cargo", default="", help="compiles Ascent's programs")
    return run(SUBJECT, words, parser)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
