# SPDX-License-Identifier: Apache-2.0
"""Equivalence relations end to end: against the closure in Python, ranks, checkpoints."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from stratalog_runner import PROGRAMS, Stratalog, check_resumed_generations, outputs

PROGRAM = PROGRAMS / "aliases.dl"


def links() -> list[tuple[int, int]]:
    choose = random.Random(7)
    return [(choose.randrange(40), choose.randrange(40)) for _ in range(45)]


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "link.facts").write_text("".join(f"{x}\t{y}\n" for x, y in links()))
    return folder


def closure(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    classes: dict[int, set[int]] = {}
    for x, y in pairs:
        both = classes.get(x, {x}) | classes.get(y, {y})
        for each in both:
            classes[each] = both
    return {(x, y) for x, members in classes.items() for y in members}


def expected() -> dict[str, set[tuple[int, ...]]]:
    edges = set(links())
    points = {(x, y) for x, y in edges if x % 3 == 0}
    alias: set[tuple[int, int]] = set()
    while True:
        more = {(v, o) for v, w in alias for u, o in points if u == w}
        new = {(x, y) for x, y in edges for o in range(200) if {(x, o), (y, o)} <= points}
        heads = {x for x, _ in points}
        new |= {(x + 100, y + 100) for x, y in alias if x < 50 and x in heads}
        grown = closure(alias | new)
        if grown == alias and more <= points:
            break
        alias, points = grown, points | more
    same = closure(edges)
    left, right = {x for x, _ in edges}, {y for _, y in edges}
    return {
        "same": same,
        "alias": alias,
        "points": points,
        "near": closure({(x, x + 1) for x in range(12)} | {(50, 51), (0, 50), (1, 51), (2, 52)}),
        "sizes": {(x, sum(1 for pair in same if pair[0] == x)) for x in left},
        "apart": {(x, y) for x in left for y in right if (x, y) not in same},
        "loops": {(x,) for x, _ in alias if (x, x) in same},
    }


def test_against_the_closure(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    finished = stratalog("run", PROGRAM, "-F", inputs, "-D", tmp_path)
    for name, rows in expected().items():
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert {tuple(map(int, line.split("\t"))) for line in lines} == rows, name
        assert len(lines) == len(rows)
    assert finished.sizes() == {"same": len(expected()["same"])}


def test_the_same_bytes_at_any_number_of_ranks(
    stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    stratalog("run", PROGRAM, "-F", inputs, "-D", tmp_path / "one")
    for ranks in (2, 3, 7):
        folder = tmp_path / str(ranks)
        stratalog("run", PROGRAM, "-F", inputs, "-D", folder, ranks=ranks)
        assert outputs(folder) == outputs(tmp_path / "one")


@pytest.mark.parametrize(("before", "after"), ((None, 3), (3, 2)))
def test_a_resumed_run_knows_the_classes(
    before: int | None, after: int, stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    check_resumed_generations(
        *(stratalog, (PROGRAM, "-F", inputs), tmp_path),
        before=before,
        after=after,
        more_than=5,
        stride=3,
        exported="alias",
    )


def test_pairs_that_ranks_tell_each_other_are_counted(
    stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    sent = {}
    for ranks in (1, 2, 3):
        run = ("run", PROGRAM, "-F", inputs, "-D", tmp_path / "out", "--report", report)
        stratalog(*run, ranks=ranks)
        strata = json.loads(report.read_text())["strata"]
        sent[ranks] = next(s["exchanged_bytes"] for s in strata if s["relations"] == "same")
    assert sent[1] == 0
    # At most one pair of 8 bytes for each element that a rank has met, to each other rank.
    elements = len({cell for pair in links() for cell in pair})
    for ranks in (2, 3):
        assert 8 * (ranks - 1) <= sent[ranks] <= 8 * elements * ranks * (ranks - 1)
