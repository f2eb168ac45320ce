# SPDX-License-Identifier: Apache-2.0
"""Commands measured in turns: what else the machine does comes and goes, and meets all alike."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field

import peers

WRONG_SIZE = 101  # a Rust program that panics
LONG_SECONDS = 2.0


@dataclass
class Way:
    """`sizes` as the command prints them; none where it looks at them itself."""

    command: list[str]
    sizes: dict[str, int]


@dataclass
class Outcome:
    """Medians of all runs; `why` says what ended one early."""

    wall_seconds: float
    cpu_seconds: float
    peak_kib: int
    correct: bool
    why: str = ""
    runs: list[float] = field(default_factory=list)


def run_once(way: Way, seconds: float | None = None, memory_kib: int | None = None) -> Outcome:
    run = peers.run_to_end(
        way.command, stderr=subprocess.DEVNULL, seconds=seconds, memory_kib=memory_kib
    )
    why = ""
    if run.returncode == WRONG_SIZE:
        why = "WRONG or ended by itself"
    elif seconds is not None and run.wall_seconds >= seconds:
        why = f"over {seconds:g} s"
    elif run.returncode != 0:
        limit = f" (memory limit {memory_kib >> 20} GiB)" if memory_kib else ""
        why = f"ended with {run.returncode}{limit}"
    return Outcome(
        run.wall_seconds, run.cpu_seconds, run.peak_kib, run.printed_right(way.sizes), why
    )


def run_in_turns(
    ways: Mapping[str, Way],
    repeats: int,
    long_repeats: int = 1,
    seconds: float | None = None,
    memory_kib: int | None = None,
) -> dict[str, Outcome]:
    """Whoever takes more than LONG_SECONDS runs `long_repeats` times. `seconds`, `memory_kib`: as
    of run_to_end."""
    runs: dict[str, list[Outcome]] = {name: [] for name in ways}
    for turn in range(max(repeats, long_repeats)):
        for name, way in ways.items():
            is_long = turn > 0 and runs[name][0].wall_seconds > LONG_SECONDS
            if turn < (long_repeats if is_long else repeats):
                runs[name].append(run_once(way, seconds, memory_kib))
    return {
        name: Outcome(
            statistics.median(run.wall_seconds for run in all_runs),
            statistics.median(run.cpu_seconds for run in all_runs),
            max(run.peak_kib for run in all_runs),
            all(run.correct for run in all_runs),
            next((run.why for run in all_runs if run.why), ""),
            [run.wall_seconds for run in all_runs],
        )
        for name, all_runs in runs.items()
    }
