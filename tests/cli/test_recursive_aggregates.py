# SPDX-License-Identifier: Apache-2.0
"""Aggregates in recursion that only grow (or only fall), on threads and processes, against
fixpoints in Python; restarts; sums that would not grow."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest
from stratalog_runner import RANK_COUNTS, Stratalog, check_resumed_generations

# Who controls whom: more than half of the shares, with those held by what is controlled. Shares are
# multiplied, so that sums are wide numbers.
CONTROL = """
.decl owns(x: number, y: number, share: unsigned)
.input owns
.decl holds(x: number, by: number, y: number, share: unsigned)
.decl controls(x: number, y: number)
holds(x, x, y, s) :- owns(x, y, s).
holds(x, z, y, s) :- controls(x, z), owns(z, y, s), x != z.
controls(x, y) :- holds(x, _, y, _), sum s * 100000000u : { holds(x, _, y, s) } > 5000000000u.
// As values on their way.
.type Share <: unsigned
.lattice Share<> { Bottom -> 0, Lub -> max(_, _), Glb -> min(_, _) }
.decl held(x: number, y: number, share: Share<>)
held(x, y, as(t, Share)) :- owns(x, _, _), owns(_, y, _), t = sum s : { holds(x, _, y, s) }.
.output controls, held
"""

# Who comes if enough friends do; some come anyway, those who need none among them.
PARTY = """
.decl knows(x: number, y: number)
.input knows
.decl needs(x: number, k: number)
.input needs
.decl comes(x: number)
comes(x) :- needs(x, k), k <= count : { knows(x, y), comes(y) }.
.decl crowded()
crowded() :- n = count : comes(_), n > 10.
comes(x) :- crowded(), needs(x, 7).
.type Guests <: number
.lattice Guests<> { Bottom -> 0, Lub -> max(_, _), Glb -> min(_, _) }
.decl guests(n: Guests<>)
guests(as(n, Guests)) :- n = count : { comes(_) }.
comes(x) :- guests(n), n >= 14, needs(x, 8).
.output comes, guests
.output crowded
"""

# Sums, least and greatest values of values that change themselves, over a graph without cycles.
PATHS = """
.type Number <: number
.type Length <: number
.type Weight <: float
.lattice Number<> { Bottom -> 0, Lub -> max(_, _), Glb -> min(_, _) }
.lattice Length<> { Bottom -> 1000000, Lub -> min(_, _), Glb -> max(_, _) }
.lattice Weight<> { Bottom -> 0, Lub -> max(_, _), Glb -> min(_, _) }
.decl edge(x: number, y: number)
.input edge
.decl node(x: number)
node(x) :- edge(x, _); edge(_, x).
.decl sink(x: number)
sink(x) :- node(x), !edge(x, _).
.decl paths(x: number, n: Number<>)
paths(x, 1) :- sink(x).
paths(x, as(n, Number)) :- node(x), n = sum m : { edge(x, y), paths(y, m) }.
.decl height(x: number, h: Number<>)
height(x, 0) :- sink(x).
height(x, as(h, Number)) :- edge(x, _), h = max f + 1 : { edge(x, y), height(y, f) }.
.decl depth(x: number, d: Length<>)
depth(x, 0) :- sink(x).
depth(x, as(d, Length)) :- edge(x, _), d = min e + 1 : { edge(x, y), depth(y, e) }.
.decl weight(x: number, w: Weight<>)
weight(x, 0.5) :- sink(x).
weight(x, as(w, Weight)) :- node(x), w = sum v : { edge(x, y), weight(y, v) }.
.output paths, height, depth, weight
"""


def rows(path: Path) -> set[tuple[str, ...]]:
    return {tuple(line.split("\t")) for line in path.read_text().splitlines()}


def texts(values: object) -> set[tuple[str, ...]]:
    return {tuple(str(cell) for cell in each) for each in values}  # type: ignore[attr-defined]


def shares() -> list[tuple[int, int, int]]:
    choose = random.Random(5)
    found = {}
    for y in range(60):
        left = 100
        while left > 10:
            part = min(left, choose.choice((8, 15, 22, 30, 55)))
            found[choose.randrange(60), y] = part
            left -= part
    return sorted((x, y, s) for (x, y), s in found.items())


def control() -> tuple[set[tuple[int, int]], dict[tuple[int, int], int]]:
    controls: set[tuple[int, int]] = set()
    while True:
        held: dict[tuple[int, int], int] = defaultdict(int)
        for x in range(60):
            mine = {x} | {z for a, z in controls if a == x}
            for z, y, s in shares():
                if z in mine:
                    held[x, y] += s
        more = {pair for pair, s in held.items() if s > 50}
        if more == controls:
            return controls, held
        controls = more


def party() -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    choose = random.Random(8)
    knows = sorted({(choose.randrange(40), choose.randrange(40)) for _ in range(130)})
    return knows, [(x, choose.choice((0, 1, 2, 3, 7, 8))) for x in range(40)]


def guests() -> set[int]:
    knows, needs = party()
    comes: set[int] = set()
    while True:
        more = {x for x, k in needs if k <= sum(1 for a, y in knows if a == x and y in comes)}
        more |= {x for x, k in needs if k == 7 and len(comes) > 10}
        more |= {x for x, k in needs if k == 8 and len(comes) >= 14}
        if more <= comes:
            return comes
        comes |= more


def arcs() -> list[tuple[int, int]]:
    choose = random.Random(2)
    return sorted({(x, min(69, x + choose.randrange(1, 7))) for x in range(69) for _ in range(6)})


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sums")
    knows, needs = party()
    for name, table in (
        ("owns", shares()),
        ("knows", knows),
        ("needs", needs),
        ("edge", arcs()),
    ):
        text = "".join("\t".join(str(cell) for cell in row) + "\n" for row in table)
        (folder / f"{name}.facts").write_text(text)
    for name, text in (("control", CONTROL), ("party", PARTY), ("paths", PATHS)):
        (folder / f"{name}.dl").write_text(text)
    return folder


def runs() -> list[tuple[tuple[object, ...], int | None]]:
    return [
        *((("-j", ranks), None) for ranks in RANK_COUNTS),
        *(((), ranks) for ranks in RANK_COUNTS[1:]),
    ]


def test_who_controls_whom(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    controls, held = control()
    assert len(controls) > len({(x, y) for x, y, s in shares() if s > 50})
    expected = {(x, y): 0 for x, _, _ in shares() for _, y, _ in shares()}
    expected |= held
    for arguments, ranks in runs():
        out = tmp_path / f"out{arguments}{ranks}"
        stratalog("run", inputs / "control.dl", "-F", inputs, "-D", out, *arguments, ranks=ranks)
        assert rows(out / "controls.csv") == texts(controls), (arguments, ranks)
        owners = {x for x, _, _ in shares()}
        assert rows(out / "held.csv") == texts(
            (x, y, s) for (x, y), s in expected.items() if x in owners
        )


def test_who_comes(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    comes = guests()
    assert 14 < len(comes) < 40
    for arguments, ranks in runs():
        out = tmp_path / f"out{arguments}{ranks}"
        stratalog("run", inputs / "party.dl", "-F", inputs, "-D", out, *arguments, ranks=ranks)
        assert rows(out / "comes.csv") == texts((x,) for x in comes), (arguments, ranks)
        assert rows(out / "guests.csv") == {(str(len(comes)),)}
        assert (out / "crowded.csv").read_text() == "()\n"


def test_values_of_values(stratalog: Stratalog, inputs: Path, tmp_path: Path) -> None:
    nodes = sorted({x for arc in arcs() for x in arc}, reverse=True)
    after = {x: [y for a, y in arcs() if a == x] for x in nodes}
    paths: dict[int, int] = {}
    height: dict[int, int] = {}
    depth: dict[int, int] = {}
    for x in nodes:
        paths[x] = sum(paths[y] for y in after[x]) if after[x] else 1
        height[x] = max((height[y] + 1 for y in after[x]), default=0)
        depth[x] = min((depth[y] + 1 for y in after[x]), default=0)
    assert max(paths.values()) > 2**20
    for arguments, ranks in runs():
        out = tmp_path / f"out{arguments}{ranks}"
        stratalog("run", inputs / "paths.dl", "-F", inputs, "-D", out, *arguments, ranks=ranks)
        for name, expected in (("paths", paths), ("height", height), ("depth", depth)):
            assert rows(out / f"{name}.csv") == texts(expected.items()), (name, arguments, ranks)
        weights = {int(x): float(w) for x, w in rows(out / "weight.csv")}
        assert weights == pytest.approx({x: n / 2 for x, n in paths.items()}, rel=1e-5)


@pytest.mark.parametrize(("before", "after"), ((None, 3), (3, None)))
def test_a_resumed_run_goes_on(
    before: int | None, after: int | None, stratalog: Stratalog, inputs: Path, tmp_path: Path
) -> None:
    for name, relation in (("control", "held"), ("paths", "weight")):
        folder = tmp_path / name
        folder.mkdir()
        check_resumed_generations(
            *(stratalog, (inputs / f"{name}.dl", "-F", inputs), folder),
            before=before,
            after=after,
            more_than=3,
            stride=12,
            exported=relation,
        )


@pytest.mark.parametrize("ranks", (None, 3))
@pytest.mark.parametrize(
    ("term", "kind", "what"),
    (
        ("-3", "number", "one of its terms is -3"),
        ("-0.5", "float", "one of its terms is -0.5"),
        ("9223372036854775807", "number", "it leaves its 64 bits"),
    ),
)
def test_sums_that_would_not_grow(
    term: str, kind: str, what: str, ranks: int | None, stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "p.dl"
    one = "1.0" if kind == "float" else "1"
    program.write_text(
        f".decl e(x: number, v: {kind})\ne(1, {one}). e(2, {term}).\n"
        ".decl r(x: number)\nr(1).\n"
        f"r(x + 1) :- r(x), x < 9, sum v : {{ e(y, v), r(y) }} >= {one}.\n.output r\n"
    )
    failed = stratalog("run", program, "-D", "-", expect=1, ranks=ranks)
    assert "p.dl:5:26: a sum in a recursion must grow with each of its terms" in failed.err
    assert what in failed.err


def test_a_plan_names_them(stratalog: Stratalog, inputs: Path) -> None:
    plan = stratalog("explain", inputs / "control.dl", "-F", inputs).out
    assert "sums the values of controls#terms1 for each (x, y) as they come" in plan


def test_proofs_state_sums(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        ".decl owns(x: number, y: number, share: number)\n"
        "owns(1, 2, 60). owns(2, 3, 30). owns(1, 3, 21). owns(2, 4, 50).\n"
        ".decl holds(x: number, by: number, y: number, share: number)\n"
        ".decl controls(x: number, y: number)\n"
        "holds(x, x, y, s) :- owns(x, y, s).\n"
        "holds(x, z, y, s) :- controls(x, z), owns(z, y, s).\n"
        "controls(x, y) :- holds(x, _, y, _), 50 < sum s : { holds(x, _, y, s) }.\n"
        ".output controls\n"
    )
    store = tmp_path / "checkpoints"
    stratalog("run", program, "-D", tmp_path, "--checkpoint", store, "--every", "1it")
    assert rows(tmp_path / "controls.csv") == {("1", "2"), ("1", "3")}
    proof = stratalog("why", store, "controls(1, 3)").out
    assert "51 = sum s : { holds(1, _, 3, s) }" in proof
    missing = stratalog("why-not", store, "controls(2, 4)").out
    assert "holds  50 = sum s : { holds(2, _, 4, s) }" in missing
    assert "fails  50 < 50" in missing


# A head may make something of an aggregate that goes the way of the lattice.
@pytest.mark.parametrize("ranks", (None, 3))
@pytest.mark.parametrize(
    ("kept", "value", "expected"),
    (
        ("max", "2 * n + 4", {(1, 8), (2, 6), (3, 5)}),
        ("min", "100 - n", {(1, 98), (2, 99), (3, 5)}),
        ("max", "n / 2 - x", {(1, 0), (2, -2), (3, 5)}),
    ),
)
def test_values_of_heads(
    kept: str,
    value: str,
    expected: set[tuple[int, int]],
    ranks: int | None,
    stratalog: Stratalog,
    tmp_path: Path,
) -> None:
    program = tmp_path / "p.dl"
    other = "min" if kept == "max" else "max"
    bottom = -99 if kept == "max" else 999
    program.write_text(
        f".type T <: number\n.lattice T<> {{ Bottom -> {bottom}, Lub -> {kept}(_, _), "
        f"Glb -> {other}(_, _) }}\n"
        ".decl e(x: number, y: number)\ne(1, 2). e(1, 3). e(2, 3).\n"
        ".decl r(x: number, v: T<>)\nr(3, 5).\n"
        f"r(x, as({value}, T)) :- e(x, _), n = count : {{ e(x, y), r(y, _) }}.\n.output r\n"
    )
    stratalog("run", program, "-D", tmp_path, ranks=ranks)
    assert rows(tmp_path / "r.csv") == texts(expected)


# Here `x` stands in a test of the aggregate only.
@pytest.mark.parametrize("ranks", (None, 3))
def test_keys_out_of_other_atoms(ranks: int | None, stratalog: Stratalog, tmp_path: Path) -> None:
    choose = random.Random(5)
    arcs = sorted({(choose.randrange(30), choose.randrange(30)) for _ in range(60)})
    p = {0, 1, 2}
    while True:
        more = {y for x, y in arcs if x in p and sum(1 for z in p if z <= x) >= 3} | p
        if more == p:
            break
        p = more
    assert 3 < len(p) < 30
    program = tmp_path / "p.dl"
    program.write_text(
        ".decl e(x: number, y: number)\n.input e\n.decl p(x: number)\n"
        "p(0). p(1). p(2).\n"
        "p(y) :- e(x, y), p(x), count : { p(z), z <= x } >= 3.\n.output p\n"
    )
    (tmp_path / "e.facts").write_text("".join(f"{x}\t{y}\n" for x, y in arcs))
    stratalog("run", program, "-F", tmp_path, "-D", tmp_path, ranks=ranks)
    assert rows(tmp_path / "p.csv") == texts((x,) for x in p)
