# SPDX-License-Identifier: Apache-2.0
"""Facts of growing programs as files, and their outputs against what they should be."""

from __future__ import annotations

import random
from pathlib import Path

from growing_rules import Number, Program, State, rows_of

Facts = dict[str, set[tuple[Number, ...]]]


def write_facts(facts: Facts, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, rows in facts.items():
        lines = sorted("\t".join(map(str, row)) for row in rows)
        (folder / f"{name}.facts").write_text("".join(f"{line}\n" for line in lines))


def read_rows(path: Path) -> set[tuple[float, ...]]:
    return {tuple(map(float, line.split("\t"))) for line in path.read_text().splitlines()}


def difference(program: Program, expected: State, out: Path) -> str:
    """What is wrong with the first output that differs; empty if none does."""
    for relation in program.relations:
        path = out / f"{relation.name}.csv"
        if not path.exists():
            return f"{path.name} is missing"
        found = read_rows(path)
        wanted = {tuple(map(float, row)) for row in rows_of(relation, expected)}
        if found != wanted or len(path.read_text().splitlines()) != len(wanted):
            missing, more = sorted(wanted - found)[:5], sorted(found - wanted)[:5]
            return f"{relation.name}: missing {missing}, too many {more}"
    return ""


def write_portions(facts: Facts, seed: int, first: Path, later: Path) -> None:
    """The same facts in two folders: those that a run begins with, and those that are added."""
    choose = random.Random(seed)
    portions: tuple[Facts, Facts] = ({name: set() for name in facts}, {})
    for name, rows in sorted(facts.items()):
        is_added_to = choose.randrange(3) > 0
        for row in sorted(rows):
            part = portions[1 if is_added_to and choose.randrange(3) == 0 else 0]
            part.setdefault(name, set()).add(row)
    if not portions[1]:  # facts that are known already
        name = min(facts)
        portions[1][name] = set(sorted(facts[name])[:1])
    for part, folder in zip(portions, (first, later), strict=True):
        write_facts(part, folder)
