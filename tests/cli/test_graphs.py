# SPDX-License-Identifier: Apache-2.0
"""Closures of real graphs: exact sizes, exact rounds, the same bytes at any number of ranks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from stratalog_runner import DATA, EXPECTED, PROGRAMS, RANK_COUNTS, Stratalog

Unpack = Callable[[str], Path]
SMALL = ("karate", "lesmis", "jazz", "celegans_metabolic", "cora-cites")
LARGE = ("polblogs", "airfoil1", "power")


def expected_rounds(name: str) -> list[int]:
    lines = (DATA / "deltas" / f"{name}.tsv").read_text().splitlines()
    return [int(line.split("\t")[1]) for line in lines]


@pytest.mark.parametrize("ranks", (None, *RANK_COUNTS))
@pytest.mark.parametrize("name", SMALL)
def test_closure_is_exact_and_has_the_same_bytes(
    name: str, ranks: int | None, stratalog: Stratalog, graph: Unpack, tmp_path: Path
) -> None:
    if name in ("lesmis", "celegans_metabolic") and ranks not in (None, 3):
        pytest.skip("three graphs at all rank counts, two at one and three ranks")
    finished = stratalog(
        "run", PROGRAMS / "closure.dl", "-F", graph(name), "-D", tmp_path, ranks=ranks
    )
    assert finished.sizes() == {"path": EXPECTED["graphs"][name]["closure"]}
    pairs = [tuple(map(int, line.split("\t"))) for line in (tmp_path / "path.csv").open()]
    assert pairs == sorted(closure_by_search(graph(name) / "edge.facts"))


def closure_by_search(edges: Path) -> set[tuple[int, int]]:
    """A breadth-first search from every node: slow and obvious."""
    successors: dict[int, list[int]] = {}
    for line in edges.read_text().splitlines():
        source, target = map(int, line.split("\t"))
        successors.setdefault(source, []).append(target)
    pairs = set()
    for start in successors:
        seen: set[int] = set()
        stack = list(successors[start])
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.extend(successors.get(node, ()))
        pairs |= {(start, node) for node in seen}
    return pairs


@pytest.mark.parametrize("ranks", (None, 2, 3))
@pytest.mark.parametrize("name", LARGE)
def test_larger_closures_are_exact(
    name: str, ranks: int | None, stratalog: Stratalog, graph: Unpack, tmp_path: Path
) -> None:
    program = tmp_path / "closure.dl"
    text = (PROGRAMS / "closure.dl").read_text()
    program.write_text(text.replace(".output path\n", ""))
    finished = stratalog("run", program, "-F", graph(name), ranks=ranks)
    assert finished.sizes() == {"path": EXPECTED["graphs"][name]["closure"]}


@pytest.mark.parametrize("ranks", (None, 3))
@pytest.mark.parametrize("name", ("karate", "cora-cites", "polblogs"))
def test_every_round_has_the_exact_number_of_new_tuples(
    name: str, ranks: int | None, stratalog: Stratalog, graph: Unpack, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    arguments = ("-F", graph(name), "-D", tmp_path, "--report", report, "--no-pivot")
    stratalog("run", PROGRAMS / "closure.dl", *arguments, ranks=ranks)
    strata = json.loads(report.read_text())["strata"]
    path = next(stratum for stratum in strata if stratum["relations"] == "path")
    assert path["new_tuples_per_round"] == expected_rounds(name)
    assert path["iterations"] == EXPECTED["graphs"][name]["rounds"]


@pytest.mark.parametrize("ranks", (None, *RANK_COUNTS))
@pytest.mark.parametrize(
    "options", ((), ("--no-pivot",), ("--no-sets",), ("--no-pivot", "--no-sets"))
)
def test_ways_of_evaluating_agree(
    options: tuple[str, ...], ranks: int | None, stratalog: Stratalog, graph: Unpack
) -> None:
    for program in ("closure_right.dl", "closure_double.dl"):
        finished = stratalog("run", PROGRAMS / program, "-F", graph("jazz"), *options, ranks=ranks)
        assert finished.sizes() == {"path": EXPECTED["graphs"]["jazz"]["closure"]}


@pytest.mark.parametrize("ranks", (None, *RANK_COUNTS))
def test_same_generation(
    ranks: int | None, stratalog: Stratalog, graph: Unpack, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    arguments = ("-F", graph("cora-cites"), "-D", tmp_path, "--report", report)
    finished = stratalog("run", PROGRAMS / "same_generation.dl", *arguments, ranks=ranks)
    expected = EXPECTED["same_generation"]["cora-cites"]
    assert finished.sizes() == {"same": expected["same"]}
    strata = json.loads(report.read_text())["strata"]
    assert strata[-1]["iterations"] == expected["rounds"]


def test_ranks_that_own_nothing(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n")
    arguments = ("-F", tmp_path, "-D", tmp_path)
    finished = stratalog("run", PROGRAMS / "closure.dl", *arguments, ranks=7)
    assert finished.sizes() == {"path": 1}
    (tmp_path / "edge.facts").write_text("")
    finished = stratalog("run", PROGRAMS / "closure.dl", *arguments, ranks=4)
    assert finished.sizes() == {"path": 0}
    assert (tmp_path / "path.csv").read_text() == ""
