# SPDX-License-Identifier: Apache-2.0
"""The package `stratalog` (python/): tables against what `stratalog export` writes."""

from __future__ import annotations

import itertools
import math
import os
import shutil
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stratalog as package
from stratalog.keys import CellSet
from stratalog.values import to_text
from stratalog_formats import read_checkpoint
from stratalog_runner import PROGRAMS, Stratalog

PROJECT = Path(__file__).resolve().parents[2]
GOLDEN = PROJECT / "tests" / "golden" / "checkpoint_v1"

PROGRAM = """
.type Id <: number
.type Colour = Red {} | Green {} | Blue {}
.type List = [head: number, tail: List]
.type Shape = Circle {r: float} | Box {w: number, c: Colour, note: symbol}
            | Both {a: Shape, b: Shape}
.type Pair = [left: symbol, right: Shape]

.decl edge(from: Id, to: Id)
.input edge
.decl path(from: Id, to: Id)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).

.decl numbers(n: number, u: unsigned, f: float)
numbers(0, 0, 0.0). numbers(-1, 1, -0.0). numbers(-16777216, 2, 1.5). numbers(-16777217, 3, -2.25).
numbers(2130706431, 4294967296, 1000000.5). numbers(2130706432, 18446744073709551615, -0.000001).
numbers(9223372036854775807, 18446744073692774399, 0.1). numbers(-9223372036854775807, 7, 3.0).
.decl names(s: symbol, n: Id)
names("", 1). names("a b", 2). names("é", 3). names("zebra", -4). names("Zoo", 5).
.decl colours(c: Colour, s: symbol)
colours($Red(), "r"). colours($Blue(), "b").
.decl shapes(p: Pair, s: Shape)
shapes(["x", $Circle(2.5)], $Box(3, $Green(), "box")).
shapes(nil, $Both($Circle(0.1), $Both($Box(-1, $Red(), ""), $Circle(1000000.0)))).
.decl lists(l: List, n: number)
lists(nil, 0).
lists([n, l], n + 1) :- lists(l, n), n < 40.
.decl wide(a: number, b: number, c: symbol, d: number, e: number)
wide(x, x * x, cat("n", to_string(x)), x - 3, y) :- edge(x, y).
.decl same(x: Id, y: Id) eqrel
same(x, x + 10) :- edge(x, _), x < 30.
same(x, y) :- same(y, x), x > 3.
.decl alike(s: symbol, t: symbol) eqrel
alike(s, t) :- names(s, _), names(t, _), strlen(s) > 1, strlen(t) > 1.
.decl yes()
yes() :- edge(1, 2).
.decl no()
no() :- edge(-1, -1).
.output path
"""
NODES = 60
VERSIONS = ("total", "delta")

LAYOUTS = [
    *[("fpp", "--encoding", e) for e in ("compact", "streams", "auto", "rows_u64")],
    ("shared", "--encoding", "auto"),
    ("shared-opt", "--encoding", "streams", "--files", "2"),
    ("hdf5",),
    ("hdf5-opt", "--relations-per-file", "1"),
    ("hdf5-direct", "--align", "4K"),
    ("hdf5-streams",),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("types")
    (folder / "types.dl").write_text(PROGRAM)
    (folder / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(NODES)))
    return folder


def run(stratalog: Stratalog, program: Path, out: Path, *options: str, ranks: int | None) -> Path:
    checkpoints = out / "checkpoints"
    stratalog(
        *("run", program / "types.dl", "-F", program, "-D", out / "out", "--no-pivot"),
        *("--checkpoint", checkpoints, "--every", "15it", "--durability", "none", "--keep", "9"),
        *options,
        ranks=ranks,
    )
    return checkpoints


@pytest.fixture(scope="module")
def checkpoints(
    stratalog: Stratalog, program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("run")
    return run(stratalog, program, out, "--encoding", "auto", ranks=2)


def lines_of(table: package.Table) -> list[str]:
    return sorted("\t".join(map(to_text, row)) for row in table)


def exported(stratalog: Stratalog, store: Path, out: Path, name: str, *more: str) -> list[str]:
    target = out / "exported.tsv"
    generation, options = (more[:1], more[1:]) if more else ((), ())
    stratalog("export", store, *generation, target, "--relation", name, *options)
    lines = target.read_text().split("\n")[:-1]
    target.unlink()
    return sorted(lines)


@pytest.mark.parametrize("layout", LAYOUTS, ids=" ".join)
def test_tables_are_what_export_writes(
    stratalog: Stratalog, program: Path, tmp_path: Path, layout: tuple[str, ...]
) -> None:
    store = run(stratalog, program, tmp_path, "--mode", *layout, ranks=3)
    newest = package.open(store)
    assert newest.is_finished
    assert newest.ranks == 3
    assert set(newest) >= {"edge", "path", "wide", "same", "alike", "shapes", "yes", "no"}
    newest.verify()
    for name, table in newest.items():
        assert len(lines_of(table)) == len(table)
        if table.attributes:
            assert lines_of(table) == exported(stratalog, store, tmp_path, name), name
            columns = [table.column(column).tolist() for column in table.columns]
            assert not columns or list(zip(*columns, strict=True)) == list(table)
    assert (len(newest["yes"]), list(newest["yes"])) == (1, [()])
    assert (len(newest["no"]), list(newest["no"])) == (0, [])
    # Generations of the middle: a running stratum, its delta, parts in older generations.
    seen = set()
    for listed in package.generations(store)[1:]:
        middle = package.open(store, listed.name)
        assert not middle.is_finished
        for name, version in (
            ("edge", "total"),
            *((d, v) for d in middle.deltas for v in VERSIONS),
        ):
            lines = lines_of(middle[name, version])
            more = (middle.generation, "--version", version)
            assert lines == exported(stratalog, store, tmp_path, name, *more), (name, version)
            seen |= {(name, version)} if lines else set()
    assert seen >= set(itertools.product(("path", "lists"), VERSIONS))


def test_deflated_chunks(stratalog: Stratalog, tmp_path: Path) -> None:
    """Large enough for hdf5-opt to deflate; ranks meet inside of a chunk."""
    nodes = 1500
    (tmp_path / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(nodes)))
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", tmp_path, "-D", tmp_path, "--every", "9999it"),
        *("--checkpoint", tmp_path / "ck", "--durability", "none", "--mode", "hdf5-opt"),
        *("--deflate", "1"),
        ranks=2,
    )
    checkpoint = package.open(tmp_path / "ck")
    assert "deflated-chunks" in checkpoint._generation.head["critical"]
    path = checkpoint["path"]
    array = path.to_numpy()
    assert len(array) == nodes * (nodes + 1) // 2 == len(np.unique(array, axis=0))
    assert bool((array[:, 0] < array[:, 1]).all())
    assert len(path[7]) == nodes - 7
    path.verify()
    file = next((tmp_path / "ck").rglob("*.h5"))
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(whole)
    with pytest.raises(package.DamagedError, match=file.name):
        package.open(tmp_path / "ck")["path"].to_numpy()


def test_arrays_have_types_and_values(checkpoints: Path) -> None:
    checkpoint = package.open(checkpoints)
    path = checkpoint["path"]
    assert path.columns == ("from", "to")
    assert path.types == {"from": "Id", "to": "Id"}
    array = path.to_numpy()
    assert array.dtype == np.int64
    assert array.shape == path.shape == (NODES * (NODES + 1) // 2, 2)
    expected = {(x, y) for x in range(NODES) for y in range(x + 1, NODES + 1)}
    assert set(map(tuple, array.tolist())) == expected == set(path)
    columns = checkpoint["numbers"].to_columns()
    assert {name: str(column.dtype) for name, column in columns.items()} == {
        "n": "int64",
        "u": "uint64",
        "f": "float64",
    }
    rows = {n: (u, f) for n, u, f in checkpoint["numbers"]}
    assert rows[0] == (0, 0.0)
    assert rows[-1][0] == 1 and math.copysign(1, rows[-1][1]) == -1
    assert rows[2130706432] == (18446744073709551615, -0.000001)
    assert rows[9223372036854775807] == (18446744073692774399, 0.1)
    assert set(checkpoint["names"].column("s")) == {"", "a b", "é", "zebra", "Zoo"}
    mixed = checkpoint["names"].to_numpy()
    assert mixed.dtype == object
    assert sorted(mixed[:, 1]) == [-4, 1, 2, 3, 5]
    assert checkpoint.program.count(".decl") == PROGRAM.count(".decl")
    assert "path(from: Id, to: Id), 1,830 rows" in repr(path)
    assert "finished" in repr(checkpoint)


def test_records_and_algebraic_types(checkpoints: Path) -> None:
    checkpoint = package.open(checkpoints)
    lists = {n: value for value, n in checkpoint["lists"]}
    assert lists[0] is None
    assert lists[2] == (1, (0, None))
    assert str(lists[2]) == "[1, [0, nil]]"
    assert isinstance(lists[1], package.Record)
    by_pair = {to_text(pair): shape for pair, shape in checkpoint["shapes"]}
    box = by_pair["[x, $Circle(2.5)]"]
    assert (box.branch, box) == ("Box", package.Term("Box", (3, package.Term("Green"), "box")))
    assert str(box) == "$Box(3, $Green, box)"
    assert box != package.Term("Bag", tuple(box))
    both = by_pair["nil"]
    assert both[1][0].branch == "Box"
    assert {str(c) for c in checkpoint["colours"].column("c")} == {"$Red", "$Blue"}
    assert list(checkpoint["colours"].where(c="Blue")) == [(package.Term("Blue"), "b")]


def test_deep_values_need_no_deep_stack() -> None:
    value: Any = None
    for i in range(100_000):
        value = package.Record((i, value))
    text = to_text(value)
    assert text.startswith("[99999, [99998, ")
    assert text.endswith("nil" + "]" * 100_000)


def test_equivalence_relations(checkpoints: Path) -> None:
    same = package.open(checkpoints)["same"]
    assert same.is_equivalence
    classes = list(same.classes())
    assert sorted(map(len, classes)) == [4] * 10
    assert len(same) == 160 == len(list(same))
    members = next(c for c in classes if 13 in c)
    assert sorted(members) == [3, 13, 23, 33]
    assert sorted(same[13]) == [(13, x) for x in sorted(members)]
    assert sorted(same.where(y=13)) == [(x, 13) for x in sorted(members)]
    assert len(same[13, 23]) == 1 and (13, 23) in same and (13, 24) not in same
    assert len(list(same[0:5])) == len(same[0:5]) == 20
    with pytest.raises(package.CheckpointError, match="no equivalence"):
        package.open(checkpoints)["path"].classes()  # told at once, not when it is walked


KEYS: list[tuple[str, str, Any, Any]] = [
    ("path", "from", 7, lambda v: v == 7),
    ("path", "to", slice(10, 13), lambda v: 10 <= v < 13),
    ("path", "to", slice(None, 4), lambda v: v < 4),
    ("path", "from", [1, 5, 99], lambda v: v in (1, 5, 99)),
    ("path", "from", range(50, 55), lambda v: 50 <= v < 55),
    ("path", "from", np.array([2, 3]), lambda v: v in (2, 3)),
    ("path", "from", 10**30, lambda v: False),
    ("wide", "d", slice(-3, 2), lambda v: -3 <= v < 2),
    ("wide", "c", "n17", lambda v: v == "n17"),
    ("wide", "c", slice("n2", "n3"), lambda v: "n2" <= v < "n3"),
    ("names", "s", "", lambda v: v == ""),
    ("names", "s", slice("Z", "b"), lambda v: "Z" <= v < "b"),
    ("names", "s", "nobody", lambda v: False),
    ("names", "n", slice(None, 0), lambda v: v < 0),
    *[
        ("numbers", column, slice(low, high), None)
        for column, bounds in {
            "n": (-(2**63), -(2**24) - 1, -(2**24), -1, 0, 2**31 - 2**24, 2**62, 2**63, 2**70),
            "u": (-5, 0, 3, 2**32, 2**64 - 2**24 - 1, 2**64 - 1, 2**64),
            "f": (-math.inf, -2.25, -0.000001, 0.0, 0.1, 1.5, 1000000.5, math.inf),
        }.items()
        for low, high in itertools.combinations((None, *bounds), 2)
    ],
    *[("numbers", "n", slice(low, None), None) for low in (-(2**63), 0, 1, 2**40)],
    *[("numbers", "n", v, lambda x, v=v: x == v) for v in (-1, -(2**24) - 1, 2**63 - 1, -3)],
    *[("numbers", "u", v, lambda x, v=v: x == v) for v in (2**64 - 1, 2**32, -1, 2**64)],
    *[("numbers", "f", v, lambda x, v=v: x == v) for v in (0.0, 3, 0.1, math.nan, 77.0)],
]


@pytest.mark.parametrize(("relation", "column", "key", "holds"), KEYS)
def test_keys_choose_the_tuples_that_have_them(
    checkpoints: Path, relation: str, column: str, key: Any, holds: Any
) -> None:
    if holds is None:

        def holds(value: Any) -> bool:
            return (key.start is None or value >= key.start) and (
                key.stop is None or value < key.stop
            )

    table = package.open(checkpoints)[relation]
    at = table.columns.index(column)
    expected = sorted(repr(row) for row in table if holds(row[at]))
    chosen = table.where({column: key})
    assert sorted(map(repr, chosen)) == expected
    assert len(chosen) == len(expected)
    assert len(chosen.to_numpy()) == len(expected)
    assert bool(chosen) == bool(expected)


def test_keys_by_position_and_one_after_another(checkpoints: Path) -> None:
    path = package.open(checkpoints)["path"]
    assert list(path[3, 4]) == [(3, 4)]
    assert (3, 4) in path and (4, 3) not in path
    assert sorted(path[3:5].where({"to": slice(6, 8)})) == [(3, 6), (3, 7), (4, 6), (4, 7)]
    wide = package.open(checkpoints)["wide"]
    assert list(wide[4]) == list(wide.where(a=4, c="n4")) == [(4, 16, "n4", 1, 5)]
    assert list(wide.where({"a": 4}, a=[3, 4])) == list(wide[4]), "both hold"
    assert not wide.where({"a": 4}, a=3)
    with pytest.raises(TypeError, match=r"where\(\{'from': value\}\); found 3"):
        path.where(3)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match=r"no column 'form' \(did you mean 'from'\?\); it has"):
        path.where(form=3)
    with pytest.raises(KeyError, match="no column 'nowhere'; it has from, to"):
        path.where(nowhere=3)
    with pytest.raises(KeyError, match="2 columns, not 3"):
        path[1, 2, 3]
    with pytest.raises(TypeError, match="column from has type Id; no key: 'x'"):
        path["x"]
    with pytest.raises(TypeError, match=r"no key: 1\.5"):
        path[1.5:2]
    with pytest.raises(TypeError, match="holds values of List, which are no keys"):
        package.open(checkpoints)["lists"][(1, None)]
    with pytest.raises(ValueError, match="no step"):
        path[1:5:2]


@pytest.mark.parametrize("kind", ["fpp", "shared", "rows", "streams", "auto"])
def test_only_blocks_that_can_hold_the_key_are_read(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = package.open(GOLDEN / kind)
    index = checkpoint._generation.find("path")
    everything = checkpoint["path"].cells()
    read = []
    decode = read_checkpoint.decode_block

    def counted(*arguments: Any) -> Any:
        read.append(1)
        return decode(*arguments)

    monkeypatch.setattr(read_checkpoint, "decode_block", counted)
    checkpoint["path"].cells()
    all_blocks = len(read)
    with_zones = all("zones" in s for s in checkpoint._generation.shards if s["shard"] == index)
    assert with_zones == (kind in ("streams", "auto"))  # the others are older than zones
    for key in np.unique(everything[:, 0])[::5]:
        read.clear()
        table = package.Table(checkpoint, index, ((0, CellSet(single=[int(key)])),))
        found = table.cells()
        expected = everything[everything[:, 0] == key]
        assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, expected.tolist()))
        if with_zones and all_blocks > 3:
            assert len(read) < all_blocks


READERS: list[tuple[str, Callable[[package.Table], Any]]] = [
    ("to_numpy", lambda table: table.to_numpy()),
    ("cells", lambda table: table.cells()),
    ("to_columns", lambda table: table.to_columns()),
    ("column", lambda table: table.column(table.columns[0])),
    ("to_pandas", lambda table: table.to_pandas()),
    ("to_arrow", lambda table: table.to_arrow()),
]


@pytest.mark.parametrize("read", [r[1] for r in READERS], ids=[r[0] for r in READERS])
def test_nothing_is_read_twice(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[package.Table], Any]
) -> None:
    checkpoint = package.open(checkpoints)
    blocks = []
    decode = read_checkpoint.decode_block

    def counted(*arguments: Any) -> Any:
        blocks.append(1)
        return decode(*arguments)

    monkeypatch.setattr(read_checkpoint, "decode_block", counted)
    path, same = checkpoint["path"], checkpoint["same"]
    for table in (path, path.where(to=7), path.where(to=[3, 50]), same, same.where(y=13)):
        blocks.clear()
        expected = sum(1 for _ in table)
        once = len(blocks)
        for _ in range(2):  # the second time its rows have been counted
            blocks.clear()
            found = read(table)
            assert len(blocks) == once > 0
            if isinstance(found, dict):
                found = found["x" if table.name == "same" else "from"]
            assert len(found) == expected == len(table)


def test_memory_is_that_of_the_result_and_a_block(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, count = 1 << 16, 100

    def blocks(*_: Any) -> Iterator[list[Any]]:
        for number in range(count):
            cells = np.arange(number * rows, (number + 1) * rows, dtype=np.uint32)
            yield [cells, cells & np.uint32(1)]

    monkeypatch.setattr(read_checkpoint.Generation, "blocks", blocks)
    path = package.open(checkpoints)["path"].where(to=1)
    tracemalloc.start()
    try:
        array = path.to_numpy()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert array.shape == (rows * count // 2, 2)
    assert array[:, 0].tolist() == list(range(1, rows * count, 2))
    assert peak < 1.25 * array.nbytes + 40 * rows


def flipped(path: Path, step: int) -> Iterator[int]:
    """Flips bits, one at a time; tells where."""
    whole = path.read_bytes()
    for at in range(0, len(whole), step):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :])
        yield at
    path.write_bytes(whole)


@pytest.mark.parametrize("kind", ["shared", "streams"])
def test_any_damage_is_a_clear_error(kind: str, tmp_path: Path) -> None:
    store = tmp_path / kind
    shutil.copytree(GOLDEN / kind, store)
    package.open(store).verify()
    generation = next(store.glob("gen-*"))
    for path in (store / "STORE", *sorted(generation.iterdir())):
        for at in flipped(path, 131):
            try:
                package.open(store).verify()
                pytest.fail(f"{path.name}, offset {at}")
            except package.DamagedError as error:
                assert path.name in str(error), error
    for path in generation.iterdir():
        whole = path.read_bytes()
        for length in (0, 100, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            with pytest.raises(package.DamagedError, match="none is valid"):
                package.open(store)
        path.unlink()
        expected = package.NoCheckpointError if path.name == "MANIFEST" else package.DamagedError
        with pytest.raises(expected):
            package.open(store)
        path.write_bytes(whole)


@pytest.mark.parametrize(
    "mode",
    [
        ("hdf5",),
        ("hdf5-opt", "--deflate", "1"),
        ("hdf5-direct", "--align", "4K"),
        ("hdf5-streams",),
    ],
    ids=" ".join,
)
def test_every_byte_of_hdf5_files_counts(
    stratalog: Stratalog, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    """Those of HDF5's own, too: nothing else finds a reader's damaged headers."""
    (tmp_path / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(60)))
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", tmp_path, "-D", tmp_path, "--every", "15it"),
        *("--checkpoint", tmp_path / "ck", "--durability", "none", "--mode", *mode),
        ranks=2,
    )
    checkpoint = package.open(tmp_path / "ck")
    checkpoint.verify()
    generation = checkpoint._generation
    frames = {generation.path(file, file["data"]): file for file in generation.files}
    frames = {path: file for path, file in frames.items() if "frame" in file}
    assert frames
    unseen = 0
    for path, file in frames.items():
        others = [range(begin, begin + size) for begin, size in file.get("others", ())]
        for at in flipped(path, 263):
            if any(at in other for other in others):
                continue  # tuples of another generation only
            try:
                for table in checkpoint.values():
                    table.to_numpy()
                unseen += 1
            except package.DamagedError:
                pass
            with pytest.raises(package.DamagedError, match=path.name):
                package.open(tmp_path / "ck").verify()
                pytest.fail(f"{path.name}, offset {at}")
        path.write_bytes(b"x" + path.read_bytes()[1:])  # in the frame
        owners = {shard["shard"] for shard in generation.shards if shard["file"] == path.name}
        for index in owners:
            name, version = (generation.relations[index][key] for key in ("relation", "version"))
            with pytest.raises(package.DamagedError, match="all but its rows"):
                checkpoint[name, version].verify()
    assert unseen > 0


def test_older_generations_and_what_is_passed_over(checkpoints: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(checkpoints, store)
    listed = package.generations(store)
    assert len(listed) >= 3 and all(g.is_valid for g in listed)
    names = [g.name for g in listed]
    assert names == sorted(names, reverse=True)
    assert package.open(store).generation == names[0]
    assert package.open(store, -2).generation == names[1]
    assert package.open(store, names[2]).iteration == listed[2].iteration
    assert package.open(store, names[1])["path"].to_numpy().shape[0] > 0
    with pytest.raises(package.NoCheckpointError, match="fewer valid generations than 99"):
        package.open(store, -99)
    with pytest.raises(package.NoCheckpointError, match="no generation gen-nowhere; it has gen-"):
        package.open(store, "gen-nowhere")
    with pytest.raises(ValueError, match="newest"):
        package.open(store, 0)
    manifest = store / names[0] / "MANIFEST"
    manifest.write_bytes(manifest.read_bytes()[:-1])
    passed = package.open(store)
    assert passed.generation == names[1]
    assert list(passed.skipped) == [names[0]]
    assert not package.generations(store)[0].is_valid
    (store / f"rejected-{names[1]}").write_text("why")
    assert package.open(store).generation == names[2]


def test_with_as_files_have_it(checkpoints: Path) -> None:
    with package.open(checkpoints) as checkpoint:
        rows = len(checkpoint["path"])
        files = len(list(Path("/proc/self/fd").iterdir()))
        checkpoint["path"].to_numpy()
        assert len(list(Path("/proc/self/fd").iterdir())) == files
    # Tables outlive it: there is nothing to close.
    assert len(checkpoint["path"].to_numpy()) == rows > 0


def test_a_store_that_is_cut(checkpoints: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(checkpoints, store)
    whole = (store / "STORE").read_bytes()
    for length in range(0, len(whole), 7):
        (store / "STORE").write_bytes(whole[:length])
        for read in (package.open, package.generations):
            with pytest.raises(package.DamagedError, match=r"STORE is damaged: .*expected") as told:
                read(store)
            assert "240" not in str(told.value).replace("found 240", "")
            assert "restore STORE from a copy" in str(told.value)
    (store / "STORE").write_bytes(whole + b"x")
    with pytest.raises(package.DamagedError, match=f"found {len(whole) + 1} bytes"):
        package.open(store)


def test_what_is_no_checkpoint(tmp_path: Path, checkpoints: Path) -> None:
    found = package.open(os.fsencode(checkpoints))
    with pytest.raises(KeyError, match=r"relation 'Pth' \(did you mean 'path'\?\); it holds"):
        found["Pth"]
    one = checkpoints / found.generation
    with pytest.raises(package.NoCheckpointError, match=f"open .* with generation='{one.name}'"):
        package.open(one)
    with pytest.raises(package.NoCheckpointError, match="is no folder"):
        package.open(tmp_path / "nowhere")
    with pytest.raises(package.NoCheckpointError, match="no file STORE"):
        package.open(tmp_path)
    shutil.copy(checkpoints / "STORE", tmp_path)
    with pytest.raises(package.NoCheckpointError, match="no generation was finished"):
        package.open(tmp_path)
    (tmp_path / "gen-00000001-0000000001").mkdir()
    with pytest.raises(package.NoCheckpointError, match="no generation was finished"):
        package.open(tmp_path)
    with pytest.raises(KeyError, match=r"no total of a relation 'paths' .*; it holds edge"):
        package.open(checkpoints)["paths"]


def test_a_generation_that_goes_while_it_is_read(checkpoints: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(checkpoints, store)
    checkpoint = package.open(store)
    path = checkpoint["path"]
    shutil.rmtree(store / checkpoint.generation)
    with pytest.raises(package.CheckpointError, match="taken away while it was read"):
        path.to_numpy()


def test_checkpoints_without_a_schema_have_cells(tmp_path: Path) -> None:
    checkpoint = package.open(GOLDEN / "fpp")
    assert checkpoint["triple"].cells().shape == (20, 3)
    with pytest.raises(package.CheckpointError, match="bare cells"):
        checkpoint["triple"].to_numpy()
    with pytest.raises(package.CheckpointError, match="bare cells"):
        checkpoint["triple"][3]


@pytest.mark.parametrize(("library", "method"), [("pandas", "to_pandas"), ("pyarrow", "to_arrow")])
def test_what_is_not_installed_is_said(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch, library: str, method: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    table = package.open(checkpoints)["path"]
    with pytest.raises(package.NotInstalledError, match=f"pip install {library}"):
        getattr(table, method)()


def test_pandas(checkpoints: Path) -> None:
    pytest.importorskip("pandas")
    checkpoint = package.open(checkpoints)
    frame = checkpoint["path"].to_pandas()
    assert list(frame.columns) == ["from", "to"]
    assert frame["to"].sum() == checkpoint["path"].to_numpy()[:, 1].sum()
    shapes = checkpoint["shapes"].to_pandas()
    assert "$Box(3, $Green, box)" in set(shapes["s"])


def test_relations_without_columns_have_a_row_or_none(checkpoints: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for name, rows in (("yes", 1), ("no", 0)):
        table = package.open(checkpoints)[name]
        assert len(table) == rows
        assert list(table) == [()] * rows
        assert (() in table) == (rows == 1)
        shapes = {table.shape, table.to_numpy().shape, table.cells().shape}
        shapes |= {table.to_pandas().shape, table.to_arrow().shape}
        assert shapes == {(rows, 0)}
        assert table.to_columns() == {}


def test_arrow(checkpoints: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    checkpoint = package.open(checkpoints)
    for name, table in checkpoint.items():
        arrow = table.to_arrow()
        arrow.validate(full=True)
        assert arrow.num_rows == len(table), name
        if not table.attributes:
            continue
        rows = zip(*(column.to_pylist() for column in arrow.columns), strict=True)
        assert sorted("\t".join(map(to_text, row)) for row in rows) == lines_of(table), name
    schema = checkpoint["names"].to_arrow().schema
    assert pyarrow.types.is_dictionary(schema.field("s").type)
    assert schema.field("n").metadata == {b"stratalog type": b"Id"}
    assert checkpoint["path"][-5].to_arrow().num_rows == 0
