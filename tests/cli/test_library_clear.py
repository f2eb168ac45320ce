# SPDX-License-Identifier: Apache-2.0
"""A program that serves for long: what clear() forgets is forgotten, and what stays is not."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import stratalog as package
from stratalog import Record

PROGRAM = """
.type Pair = [name: symbol, size: number]
.decl kept(p: Pair, s: symbol)
.decl changing(s: symbol, n: number, p: Pair)
.decl both(s: symbol, n: number)
both(s, n) :- changing(s, n, _).
both(s, n) :- kept([_, n], s).
"""


def test_values_that_nobody_uses_are_forgotten() -> None:
    program = package.Program(PROGRAM)
    kept = [(Record((f"k{i}", 2**40 + i)), f"s{i}") for i in range(50)]
    program.insert("kept", kept)
    peaks = []
    for round_ in range(30):
        program.clear("changing")
        first = round_ * 300
        names = [f"name {first + i}" for i in range(300)]
        program.insert(
            "changing",
            [(name, 2**50 + first + i, Record((name, i))) for i, name in enumerate(names)],
        )
        peaks.append(program.run().peak_memory_bytes)
        expected = {(name, 2**50 + first + i) for i, name in enumerate(names)}
        expected |= {(f"s{i}", 2**40 + i) for i in range(50)}
        assert set(map(tuple, program["both"])) == expected
        assert set(map(tuple, program["kept"])) == set(kept)
    assert max(peaks[10:]) < 3 * peaks[0]
    program.clear("changing")
    program.clear("kept")
    assert program.run().peak_memory_bytes < peaks[0]
    assert program.count("both") == 0


LIMITED = """
import stratalog
try:
    stratalog.Program(".decl a(x: number)\\na(1).").run()
except stratalog.RunError as error:
    print(error)
"""


def test_a_limit_of_address_space_is_named() -> None:
    # Enough to load the library, too little for what a rank reserves.
    limit = 480 << 20
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "python")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    if "reserves" not in done.stdout:
        pytest.skip(f"Python itself needs more: {done.stderr[-200:]}")
    assert "raise the limit (ulimit -v)" in done.stdout
