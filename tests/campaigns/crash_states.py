#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The long campaign of crash states: every layout and feature, in chunks, on one core, at the
lowest priority, with a log.

PROGRAMs are what the targets fault_crash_states_test, fault_stage_test and fault_node_stages_test
build. Each of their tests is a chunk with a process of its own; STATES scales how many states each
may see (the default of `make test` is 80,000). The log has the program's lines of states for each
layout and feature, each chunk's CPU time, and a total. With --resume a campaign that was
interrupted goes on: chunks that the log says have passed are not run again. The exit code is 1 if a
chunk finds a problem, or if the total is below LEAST.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

CHUNK = re.compile(r"^(\S+): ([\d,]+) states, \d+ s of CPU, passed$")
STATES = re.compile(r"^\[ STATES   \] (.*): (\d+) distinct states, (\d+) problems?$")


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def tests_of(program: Path) -> list[str]:
    listed = subprocess.run(
        [program, "--gtest_list_tests"], capture_output=True, text=True, check=True
    ).stdout
    names: list[str] = []
    suite = ""
    for line in listed.splitlines():
        if not line.startswith(" ") and line.split("#")[0].strip().endswith("."):
            suite = line.split("#")[0].strip()
        elif line.startswith("  "):
            names.append(suite + line.split("#")[0].strip())
    return names


def passed_before(log: Path) -> tuple[set[str], int]:
    """Tests that the log of an interrupted campaign says have passed, and their states."""
    tests: set[str] = set()
    states = 0
    for line in log.read_text().splitlines():
        found = CHUNK.match(line)
        if found and found[1] not in tests:
            tests.add(found[1])
            states += int(found[2].replace(",", ""))
    return tests, states


def run_chunk(program: Path, test: str, states: int) -> tuple[int, str, float]:
    """Exit code, output and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(
        ["nice", "-n", "19", program, f"--gtest_filter={test}"],
        env={**os.environ, "STRATALOG_CRASH_STATES": str(states)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result.returncode, result.stdout, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=Path, nargs="+", metavar="PROGRAM")
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--least", type=int, default=1_000_000)
    parser.add_argument("--only", default="", metavar="REGEX", help="tests with such names")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--version", default="", help="what is tested, for the log")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()

    total = problems = failed = 0
    done: set[str] = set()
    if options.resume and options.log.exists():
        done, total = passed_before(options.log)
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with options.log.open("a" if options.resume else "w") as log:

        def say(line: str) -> None:
            print(line, flush=True)
            log.write(line + "\n")
            log.flush()

        say(
            f"Crash states, {started}, {options.version or 'unnamed version'}, --states "
            f"{options.states}"
        )
        chunks = [
            (program, test)
            for program in options.programs
            for test in tests_of(program)
            if re.search(options.only, test)
        ]
        for program, test in chunks:
            if test in done:
                continue
            code, output, seconds = run_chunk(program, test, options.states)
            states = 0
            for line in output.splitlines():
                found = STATES.match(line)
                if found is None:
                    continue
                states += int(found[2])
                problems += int(found[3])
                problems_text = counted(int(found[3]), "problem")
                say(f"  {found[1]}: {int(found[2]):,} states, {problems_text}")
            total += states
            failed += code != 0
            verdict = "passed" if code == 0 else f"FAILED with {code}"
            say(f"{test}: {states:,} states, {seconds:.0f} s of CPU, {verdict}")
            if code != 0:
                say(output)
        say(
            f"total: {total:,} distinct states, {counted(problems, 'problem')}, "
            f"{counted(failed, 'chunk')} failed"
        )
    return 1 if failed or problems or total < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
