# SPDX-License-Identifier: Apache-2.0
"""Rules that subsume, end to end: against searches in Python, ranks, checkpoints."""

from __future__ import annotations

import heapq
import random
from pathlib import Path

import pytest
from stratalog_runner import (
    PROGRAMS,
    RANK_COUNTS,
    Stratalog,
    check_resumed_generations,
    outputs,
)

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
    assert "keeps the least d of each (x)" in plan
    assert "best(x, d) <= best(x, c)" not in plan  # nothing is joined for it
    (tmp_path / "joins.dl").write_text(SMALL.replace("c < d.", "c < d, x > 0."))
    joins = stratalog("explain", tmp_path / "joins.dl").out
    assert "best(x, d) <= best(x, c) :- c < d, x > 0." in joins
    stratalog("run", tmp_path / "p.dl", "--checkpoint", tmp_path / "ck", "-q")
    assert "e(1, 3)" in stratalog("why", tmp_path / "ck", "best(1, 3)").out
    gone = stratalog("why-not", tmp_path / "ck", "best(1, 5)").out
    assert "subsumes it" in gone
    assert "all of it holds" in gone


WEIGHTED = """.decl edge(x: number, y: number)
.input edge
.decl w(x: number, y: number, d: {kind})
w(x, y, {weight}) :- edge(x, y).
.decl dist(s: number, y: number, d: {kind})
dist(s, s, {zero}) :- edge(s, _), s % 5 = 0.
dist(s, z, d + e) :- dist(s, y, d), w(y, z, e).
dist(s, y, a) <= dist(s, y, b) :- {test}.
.decl between(s: number, z: number, d: {kind})
between(s, z, d) :- dist(s, z, d), s < z.
.output dist, between
"""
# Weights as the program has them and as Python does: small numbers, such that cells do not ascend
# with values, and floats; the longest ways are asked for as the least of negative lengths.
WEIGHTS = {
    "small": ("number", "1 + (x * 7 + y * 13) % 9", "0", "b < a"),
    "wide": ("unsigned", "3000000000 + to_unsigned((x * 7 + y * 13) % 9)", "0", "a >= b"),
    "float": ("float", "0.25 + to_float((x * 7 + y * 13) % 9)", "0.0", "b < a"),
    "least": ("number", "0 - 3000000000 - (x * 7 + y * 13) % 9", "0", "b > a"),
}


def weight(name: str, x: int, y: int) -> float:
    rest = (x * 7 + y * 13) % 9
    if name == "small":
        return 1 + rest
    return {"wide": 3000000000 + rest, "float": 0.25 + rest, "least": 3000000000 + rest}[name]


def arcs() -> list[tuple[int, int]]:
    choose = random.Random(5)
    return sorted({(choose.randrange(80), choose.randrange(80)) for _ in range(260)})


def shortest(name: str) -> set[tuple[int, int, float]]:
    following: dict[int, list[tuple[int, float]]] = {}
    for x, y in arcs():
        following.setdefault(x, []).append((y, weight(name, x, y)))
    sign = -1 if name == "least" else 1
    found: set[tuple[int, int, float]] = set()
    for start in (x for x in following if x % 5 == 0):
        known: dict[int, float] = {}
        waiting = [(0.0, start)]
        while waiting:
            length, at = heapq.heappop(waiting)
            if at in known:
                continue
            known[at] = length
            for to, more in following.get(at, []):
                heapq.heappush(waiting, (length + more, to))
        found |= {(start, to, sign * length) for to, length in known.items()}
    return found


@pytest.mark.parametrize("name", WEIGHTS)
def test_best_values_against_dijkstra(name: str, stratalog: Stratalog, tmp_path: Path) -> None:
    """The closest by sums of weights, for all kinds of numbers, on threads and on processes."""
    kind, formula, zero, test = WEIGHTS[name]
    program = tmp_path / "p.dl"
    program.write_text(WEIGHTED.format(kind=kind, weight=formula, zero=zero, test=test))
    (tmp_path / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in arcs()))
    expected = shortest(name)
    assert len(expected) > 300
    assert "only the best value" in stratalog("explain", program, "-F", tmp_path).out
    runs: list[tuple[tuple[object, ...], int | None]] = [
        *((("-j", ranks), None) for ranks in RANK_COUNTS),
        *(((), ranks) for ranks in RANK_COUNTS[1:]),
        (("--replicate-limit", 1), 3),
    ]
    for arguments, ranks in runs:
        folder = tmp_path / f"out-{arguments}-{ranks}"
        stratalog("run", program, "-F", tmp_path, "-D", folder, *arguments, ranks=ranks)
        rows = {
            (int(s), int(y), float(d))
            for s, y, d in (
                line.split("\t") for line in (folder / "dist.csv").read_text().splitlines()
            )
        }
        assert rows == expected, (arguments, ranks)
        assert len((folder / "between.csv").read_text().splitlines()) == sum(
            s < z for s, z, _ in expected
        )


# Both sides of the recursion are searched, so that there are further shards and indices to follow.
BOTH_WAYS = WEIGHTED.replace(
    "dist(s, z, d + e) :- dist(s, y, d), w(y, z, e).",
    "dist(x, y, e) :- w(x, y, e), x % 5 = 0.\n"
    ".decl rest(s: number, y: number, d: {kind})\n"
    "rest(x, y, d) :- w(x, y, d).\n"
    "rest(x, z, d + e) :- rest(x, y, d), rest(y, z, e).\n"
    "rest(s, y, a) <= rest(s, y, b) :- {test}.\n"
    "dist(s, z, d) :- rest(s, z, d), s % 5 = 0.",
)


@pytest.mark.parametrize("name", ("small", "wide"))
def test_best_values_that_are_searched_both_ways(
    name: str, stratalog: Stratalog, tmp_path: Path
) -> None:
    kind, formula, zero, test = WEIGHTS[name]
    program = tmp_path / "p.dl"
    program.write_text(BOTH_WAYS.format(kind=kind, weight=formula, zero=zero, test=test))
    (tmp_path / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in arcs()))
    for arguments, ranks in ((("-j", 1), None), (("-j", 3), None), ((), 2), ((), 4)):
        folder = tmp_path / f"out-{arguments}-{ranks}"
        stratalog("run", program, "-F", tmp_path, "-D", folder, *arguments, ranks=ranks)
        rows = {
            tuple(map(int, line.split("\t")))
            for line in (folder / "dist.csv").read_text().splitlines()
        }
        assert rows == shortest(name), (arguments, ranks)
