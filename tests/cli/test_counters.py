# SPDX-License-Identifier: Apache-2.0
"""autoinc(): the same numbers at any number of ranks and after restarts."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from stratalog_runner import Stratalog, committed

PROGRAM = """.type Pair = [left: number, name: symbol]
.decl item(x: number, name: symbol)
.input item
.decl numbered(id: number, x: number, name: symbol)
numbered(autoinc(), x, n) :- item(x, n).
.decl twice(first: number, x: number, second: number)
twice(autoinc(), x, autoinc() + 100) :- item(x, _), x > 10.
.decl pairs(id: number, x: number)
pairs(autoinc(), x) :- item(x, n), item(y, n), x < y.
.decl alone(id: number, label: symbol)
alone(autoinc(), "first").
alone(autoinc(), "second") :- item(1, _); item(2, _).
.decl record(r: Pair)
record([autoinc(), cat(n, to_string(x))]) :- item(x, n), x < 3.
.decl next(id: number, n: number)
next(0, 0).
next(i, n + 1) :- next(j, n), numbered(i, _, _), i = j + 1.
.output numbered, twice, pairs, alone, record
.printsize next
"""
NAMES = ("ant", "bee", "cat", "dog")


def items() -> list[tuple[int, str]]:
    choose = random.Random(3)
    return sorted({(choose.randrange(25), choose.choice(NAMES)) for _ in range(60)})


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "item.facts").write_text("".join(f"{x}\t{n}\n" for x, n in items()))
    (tmp_path / "p.dl").write_text(PROGRAM)
    return tmp_path / "p.dl"


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def rows(folder: Path, name: str) -> list[list[str]]:
    return [line.split("\t") for line in (folder / f"{name}.csv").read_text().splitlines()]


def test_numbers(stratalog: Stratalog, program: Path, tmp_path: Path) -> None:
    finished = stratalog("run", program, "-F", tmp_path, "-D", tmp_path / "out")
    out = tmp_path / "out"
    numbered = rows(out, "numbered")
    assert [(int(x), n) for _, x, n in numbered] == items(), "in order of values"
    twice = [(int(a), int(b)) for a, _, b in rows(out, "twice")]
    assert len(twice) == len({x for x, _ in items() if x > 10}), "`_` does not count"
    assert {b - a for a, b in twice} == {101}
    pairs = rows(out, "pairs")
    assert len(pairs) == sum(1 for x, n in items() for y, m in items() if n == m and x < y), (
        "every combination counts"
    )
    taken = [int(row[0]) for row in numbered + pairs + rows(out, "alone")]
    taken += [number for a, b in twice for number in (a, b - 100)]
    taken += [int(line.split(",")[0][1:]) for (line,) in rows(out, "record")]
    assert sorted(taken) == list(range(len(taken))), "one counter for the whole program"
    assert finished.sizes() == {"next": len(items())}


def test_the_same_bytes_at_any_number_of_ranks(
    stratalog: Stratalog, program: Path, tmp_path: Path
) -> None:
    stratalog("run", program, "-F", tmp_path, "-D", tmp_path / "one")
    for ranks in (2, 3, 7):
        folder = tmp_path / str(ranks)
        stratalog("run", program, "-F", tmp_path, "-D", folder, ranks=ranks)
        assert outputs(folder) == outputs(tmp_path / "one")


def test_after_a_restart(stratalog: Stratalog, program: Path, tmp_path: Path) -> None:
    stratalog("run", program, "-F", tmp_path, "-D", tmp_path / "whole")
    store = tmp_path / "checkpoints"
    keep = ("--checkpoint", store, "--every", "1it", "--keep", "100")
    stratalog("run", program, "-F", tmp_path, "-D", tmp_path / "first", *keep)
    generations = committed(store)
    assert len(generations) > 8
    for generation in generations[:: len(generations) // 4]:
        copy = tmp_path / f"copy-{generation}"
        shutil.copytree(store, copy)
        resumed = tmp_path / generation
        stratalog("resume", copy, generation, "-F", tmp_path, "-D", resumed, ranks=2)
        assert outputs(resumed) == outputs(tmp_path / "whole"), generation
    number, x, name = rows(tmp_path / "whole", "numbered")[5]
    proof = stratalog("why", store, f'numbered({number}, {x}, "{name}")').out
    assert "autoinc()" in proof
    assert f'item({x}, "{name}")' in proof
