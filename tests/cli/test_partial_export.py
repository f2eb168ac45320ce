# SPDX-License-Identifier: Apache-2.0
"""`export --where`: the lines that a whole export has, from the blocks that can hold them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROGRAM = """
.type Colour = Red {} | Green {}
.type List = [head: number, tail: List]
.decl pair(x: number, y: number)
.input pair
.decl values(n: number, f: float, s: symbol, c: Colour, l: List)
values(-5, 1.5, "a:b", $Red(), nil). values(7, -0.0, "b", $Green(), [1, nil]).
values(1099511627776, 0.0, "", $Green(), nil).
.decl same(x: number, y: number) eqrel
same(x, x + 100) :- pair(x, _), x < 50.
.decl yes()
yes() :- pair(_, _).
"""


@pytest.fixture(scope="module", params=["compact", "streams", "rows"])
def store(
    request: pytest.FixtureRequest, stratalog: Stratalog, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Pairs of 3,000 x and 60 y each: several blocks on both ranks, whatever the encoding."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "values.dl").write_text(PROGRAM)
    lines = (
        f"{x}\t{(x * 7919 + y * y * 104729) % 1000003}\n" for x in range(3000) for y in range(60)
    )
    (folder / "pair.facts").write_text("".join(lines))
    how = {
        "compact": ("--encoding", "compact"),
        "streams": ("--encoding", "streams", "--mode", "shared"),
        "rows": ("--mode", "hdf5-direct"),
        "hdf5-streams": ("--mode", "hdf5-streams"),
    }[request.param]
    stratalog(
        *("run", folder / "values.dl", "-F", folder, "-D", folder),
        *("--checkpoint", folder / "ck", "--durability", "none", *how),
        ranks=2,
    )
    return folder


@pytest.fixture
def export(stratalog: Stratalog, store: Path, tmp_path: Path) -> Callable[..., list[list[str]]]:
    def run(relation: str, *where: str) -> list[list[str]]:
        keys = [argument for key in where for argument in ("--where", key)]
        stratalog("export", store / "ck", tmp_path / "out.tsv", "--relation", relation, *keys)
        return [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]

    return run


def test_lines_are_those_of_the_whole(export: Callable[..., list[list[str]]]) -> None:
    pairs = [(int(x), int(y)) for x, y in export("pair")]
    assert len(pairs) > 170_000
    for where, holds in (
        (["x=17"], lambda x, y: x == 17),
        (["x=2990:"], lambda x, y: x >= 2990),
        (["x=:3"], lambda x, y: x < 3),
        (["y=500000:500100"], lambda x, y: 500000 <= y < 500100),
        (["x=100:200", "y=:5000"], lambda x, y: 100 <= x < 200 and y < 5000),
        (["x=-7"], lambda x, y: False),
    ):
        found = [(int(x), int(y)) for x, y in export("pair", *where)]
        assert found == [pair for pair in pairs if holds(*pair)], where


def test_only_blocks_that_can_hold_it_are_read(
    stratalog: Stratalog, store: Path, tmp_path: Path
) -> None:
    export = ("export", store / "ck", tmp_path / "out", "--relation", "pair", "--json")
    whole = stratalog(*export).json()
    assert whole["blocks"] == whole["blocks_read"] >= 2
    part = stratalog(*export, "--where", "x=1500:1510").json()
    assert part["rows"] == 600
    assert part["blocks"] == whole["blocks"]
    if store.name.startswith("rows"):
        assert part["blocks_read"] < whole["blocks"]
    nothing = stratalog(*export, "--where", "y=-1").json()
    assert nothing["rows"] == 0
    assert nothing["blocks_read"] == 0


def test_values_of_all_kinds(export: Callable[..., list[list[str]]]) -> None:
    def numbers(*where: str) -> list[int]:
        return [int(line[0]) for line in export("values", *where)]

    assert numbers() == [-5, 7, 1099511627776]
    assert numbers("n=:0") == [-5]
    assert numbers("n=8:") == numbers("n=1099511627776") == [1099511627776]
    assert numbers("f=0") == [7, 1099511627776], "both zeros"
    assert numbers("f=0.1:") == [-5]
    assert numbers("s=a:b") == [-5], "symbols have no ranges"
    assert numbers("s=") == [1099511627776]
    assert numbers("s=nobody") == []
    assert numbers("c=Green") == numbers("c=$Green") == [7, 1099511627776]
    assert sorted(export("same", "x=3")) == [["3", "103"], ["3", "3"]]
    assert export("same", "x=3", "y=103") == [["3", "103"]]
    assert export("yes") == [["()"]]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("z=3", "one of the columns of values: n, f, s, c, l"),
        ("n", "expected COLUMN=VALUE"),
        ("n=one", 'expected a value, or LOW:HIGH (HIGH is not included), found "one"'),
        ("c=Blue", "no branch Blue"),
        ("l=nil", "which cannot be chosen by value yet"),
    ],
)
def test_what_is_no_key_is_refused(
    stratalog: Stratalog, store: Path, tmp_path: Path, where: str, said: str
) -> None:
    arguments = ("export", store / "ck", tmp_path / "out", "--relation", "values")
    refused = stratalog(*arguments, "--where", where, expect=None)
    assert refused.code not in (0, 8)
    assert said in refused.err
    assert not (tmp_path / "out").exists()
