# SPDX-License-Identifier: Apache-2.0
"""Sums and means of floats are exact until they are rounded, once: ranks, threads, the order of
lines and what was added later do not show. What is expected is what Python's math.fsum gives."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROGRAM = """
.decl v(k: number, x: float)
.input v
.decl t(s: float, m: float)
t(s, m) :- s = sum x : { v(_, x) }, m = mean x : { v(_, x) }.
.decl below(k: number)
below(1) :- t(s, _), s < 21.0.
.decl group(g: number, s: float)
group(g, s) :- g = range(0, 10), s = sum x : { v(k, x), k % 10 = g }.
.output t, below, group
"""
TENTHS = [i / 10 for i in range(1, 21)]


def write_facts(folder: Path, floats: list[float], first: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    lines = [f"{k}\t{x!r}\n" for k, x in enumerate(floats, first)]
    (folder / "v.facts").write_text("".join(lines))


def uneven(count: int) -> list[float]:
    """Of many sizes, most of which cancel out."""
    made = random.Random(count)
    floats = [made.uniform(-1, 1) * 10.0 ** made.randrange(-30, 30) for _ in range(count)]
    return floats + [-x for x in floats[: count - 20]]


def expect(folder: Path, floats: list[float]) -> None:
    total = math.fsum(floats)
    rows = (folder / "t.csv").read_text().split()
    assert [float(x) for x in rows] == [total, total / len(floats)]
    assert (folder / "below.csv").read_text() == ("1\n" if total < 21 else "")
    groups = [line.split("\t") for line in (folder / "group.csv").read_text().splitlines()]
    assert {int(g): float(s) for g, s in groups} == {g: math.fsum(floats[g::10]) for g in range(10)}


@pytest.mark.parametrize("floats", [TENTHS, uneven(3000)], ids=["tenths", "uneven"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_ranks_and_threads(
    stratalog: Stratalog, tmp_path: Path, floats: list[float], count: int
) -> None:
    (tmp_path / "p.dl").write_text(PROGRAM)
    write_facts(tmp_path, floats)
    run = ("run", tmp_path / "p.dl", "-F", tmp_path, "-D", tmp_path, "-q")
    stratalog(*run, "-j", count)
    expect(tmp_path, floats)
    stratalog(*run, ranks=count)
    expect(tmp_path, floats)


def test_added_facts(stratalog: Stratalog, tmp_path: Path) -> None:
    floats = uneven(500)
    (tmp_path / "p.dl").write_text(PROGRAM)
    write_facts(tmp_path, floats[:300])
    write_facts(tmp_path / "more", floats[300:], 300)
    checkpoints = tmp_path / "c"
    run = ("run", tmp_path / "p.dl", "-F", tmp_path, "-D", tmp_path, "-q")
    stratalog(*run, "--checkpoint", checkpoints)
    expect(tmp_path, floats[:300])
    stratalog(
        "resume", checkpoints, "--add-facts", tmp_path / "more", "-D", tmp_path, "-q", "-j", 2
    )
    expect(tmp_path, floats)
