# SPDX-License-Identifier: Apache-2.0
"""Rules that subsume, end to end: against searches in Python, ranks, checkpoints."""

from __future__ import annotations

import heapq
import random
from pathlib import Path

import pytest
from stratalog_runner import PROGRAMS, Stratalog, check_resumed_generations, outputs

PROGRAM = PROGRAMS / "shortest_paths.dl"
NODES = 30
Edge = tuple[int, int, int, int]


def edges() -> list[Edge]:
    choose = random.Random(11)
    return [
        (
            choose.randrange(NODES),
            choose.randrange(NODES),
            choose.randint(1, 9),
            choose.randint(1, 9),
        )
        for _ in range(90)
    ]


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "facts"
    folder.mkdir()
    lines = ("\t".join(map(str, edge)) + "\n" for edge in edges())
    (folder / "edge.facts").write_text("".join(lines))
    return folder


def distances(start: int) -> dict[int, int]:
    """Of paths with at least one edge."""
    found: dict[int, int] = {}
    waiting = [(length, y) for x, y, length, _ in edges() if x == start]
    heapq.heapify(waiting)
    while waiting:
        so_far, at = heapq.heappop(waiting)
        if at in found:
            continue
        found[at] = so_far
        for x, y, length, _ in edges():
            if x == at:
                heapq.heappush(waiting, (so_far + length, y))
    return found


def unbeaten() -> set[tuple[int, int, int]]:
    best: dict[int, set[tuple[int, int]]] = {0: {(0, 0)}}
    waiting = [(0, 0, 0)]
    while waiting:
        x, length, cost = waiting.pop()
        if (length, cost) not in best[x]:
            continue
        for a, y, more, dearer in edges():
            new = (length + more, cost + dearer)
            known = best.setdefault(y, set())
            if a != x or any(p <= new[0] and q <= new[1] for p, q in known):
                continue
            known -= {(p, q) for p, q in known if new[0] <= p and new[1] <= q}
            known.add(new)
            waiting.append((y, *new))
    return {(y, *point) for y, points in best.items() for point in points}


def expected() -> dict[str, set[tuple[int, ...]]]:
    distance = {(x, y, d) for x in range(NODES) for y, d in distances(x).items()}
    length = {(x, y): d for x, y, d in distance}
    way: dict[tuple[int, int], int] = {}
    for (x, y), d in length.items():
        last = {x for a, b, m, _ in edges() if (a, b, m) == (x, y, d)}
        last |= {a for a, b, m, _ in edges() if b == y and length.get((x, a), 10**9) + m == d}
        way[x, y] = min(last)
    cheapest: dict[tuple[int, int], int] = {}
    for x, y, _, cost in edges():
        cheapest[x, y] = min(cost, cheapest.get((x, y), cost))
    return {
        "distance": {tuple(row) for row in distance},
        "way": {(x, last, y, length[x, y]) for (x, y), last in way.items()},
        "choice": {tuple(row) for row in unbeaten()},
        "cheapest": {(x, y, cost) for (x, y), cost in cheapest.items()},
        "far": {(y, d) for x, y, d in distance if x == 0 and d >= 12},
    }


def test_against_searches(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    finished = stratalog("run", PROGRAM, "-F", inputs, "-D", tmp_path)
    for name, rows in expected().items():
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert {tuple(map(int, line.split("\t"))) for line in lines} == rows, name
        assert len(lines) == len(rows)
    assert finished.sizes() == {"distance": len(expected()["distance"])}


def test_the_same_bytes_at_any_number_of_ranks(
    stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    stratalog("run", PROGRAM, "-F", inputs, "-D", tmp_path / "one")
    for ranks in (2, 3, 7):
        folder = tmp_path / str(ranks)
        stratalog("run", PROGRAM, "-F", inputs, "-D", folder, ranks=ranks)
        assert outputs(folder) == outputs(tmp_path / "one")


@pytest.mark.parametrize(("before", "after"), ((None, 2), (3, None)))
def test_a_resumed_run_knows_what_has_gone(
    before: int | None, after: int | None, stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    check_resumed_generations(
        *(stratalog, (PROGRAM, "-F", inputs), tmp_path),
        before=before,
        after=after,
        more_than=10,
        stride=6,
        exported="way",
    )


SMALL = """.decl e(x: number, d: number)
.decl best(x: number, d: number)
e(1, 5). e(1, 3). e(2, 7).
best(x, d) :- e(x, d).
best(x, d) <= best(x, c) :- c < d.
"""


def test_explanations(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text(SMALL)
    plan = stratalog("explain", tmp_path / "p.dl").out
    assert "best(x, d) <= best(x, c) :- c < d." in plan
    stratalog("run", tmp_path / "p.dl", "--checkpoint", tmp_path / "ck", "-q")
    assert "e(1, 3)" in stratalog("why", tmp_path / "ck", "best(1, 3)").out
    gone = stratalog("why-not", tmp_path / "ck", "best(1, 5)").out
    assert "subsumes it" in gone
    assert "all of it holds" in gone
