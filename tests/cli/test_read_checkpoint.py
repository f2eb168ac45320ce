# SPDX-License-Identifier: Apache-2.0
"""The second reader of checkpoints (python/stratalog_formats), on golden stores and fresh ones."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from stratalog_runner import PROGRAMS, Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

from stratalog_formats import pool  # noqa: E402
from stratalog_formats.damage import CheckpointError  # noqa: E402
from stratalog_formats.read_checkpoint import (  # noqa: E402
    DamagedError,
    _file_id,
    _read_blocks,
    _Stream,
    newest_generation,
)
from stratalog_formats.xxh3 import xxh3_64, xxh3_128  # noqa: E402

GOLDEN = PROJECT / "tests" / "golden" / "checkpoint_v1"
Unpack = Callable[[str], Path]

# Length: XXH3-64, XXH3-64 with seed 0x123456789ABCDEF0, XXH3-128, by the reference implementation.
COPIES = ("copies", "pools", "run_pools")  # stores with many sets that are equal
KINDS = ("fpp", "shared", "rows", "streams", "auto", "hdf5_direct", "hdf5_streams", *COPIES)
KNOWN_HASHES = {
    241: (
        "8beadd3a8874fe17",
        "c9e3ecae5d88166d",
        "ac6c3492c3d6b45d8beadd3a8874fe17",
    ),
    256: (
        "3c38817f6d79c0da",
        "1b1029f786000b00",
        "77f21db933350c7e3c38817f6d79c0da",
    ),
    1024: (
        "9b81661c641c72b1",
        "d6d6cc059e5fc7e3",
        "18bc0eaca9a336369b81661c641c72b1",
    ),
    1025: (
        "806c2072ed713576",
        "b9d6c780419f7ba7",
        "bf447251cfa98d7c806c2072ed713576",
    ),
    1088: (
        "2f8781e01841f0da",
        "c2f8029819a77991",
        "3d034f977992699d2f8781e01841f0da",
    ),
    4097: (
        "a51ead018cadb378",
        "290aab2e8f5f124e",
        "895472d9c4a4a7d2a51ead018cadb378",
    ),
    5000: (
        "799aaddd7339581d",
        "b5c0dd7ba2464717",
        "c98ae385d09887cc799aaddd7339581d",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_golden_stores_hold_the_tuples_written_beside_them(kind: str) -> None:
    generation = newest_generation(GOLDEN / kind)
    found = set()
    for i, relation in enumerate(generation.relations):
        if relation["arity"] == 0:
            continue
        name = f"{relation['relation']}.{relation['version']}"
        found |= {"\t".join([name, *map(str, row)]) for row in generation.rows(i)}
    tuples = GOLDEN / ("copies.tsv" if kind in COPIES else "tuples.tsv")
    assert found == set(tuples.read_text().splitlines())
    for feature in COPIES:
        assert any(feature in shard for shard in generation.shards) == (kind == feature)
    assert generation.section("symbols") == b"s" * 300
    assert generation.head["state"] == '{"golden":true}'


def test_golden_stores_use_every_form_of_a_set() -> None:
    generation = newest_generation(GOLDEN / "fpp")
    kinds = set()
    for shard in generation.shards:
        with (generation.directory / shard["file"]).open("rb") as file:
            stream = _Stream(file, shard["extents"])
            nonce = generation.head["nonce"]
            for _, _, payload in _read_blocks(
                stream, _file_id(shard), nonce, shard, lambda _: True
            ):
                kinds.add(payload[0] & 7)
    assert kinds <= {0, 1, 2, 3, 4, 5}
    assert len(kinds) >= 3


def test_rows_of_bits_are_counted_before_they_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise AssertionError("unpacked")

    monkeypatch.setattr(pool, "_places_of_bits", refuse)
    generation = newest_generation(GOLDEN / "run_pools")
    nonce = generation.head["nonce"]
    counted = 0
    for shard in generation.shards:
        with (generation.directory / shard["file"]).open("rb") as file:
            stream = _Stream(file, shard["extents"])
            for _, header, payload in _read_blocks(
                stream, _file_id(shard), nonce, shard, lambda _: True
            ):
                if header.encoding != 6:
                    continue
                arity = header.prefix_cells + 1
                try:  # as few tuples as so many groups can have
                    pool.decode_run_pool(payload, header.groups, arity, header.groups)
                except DamagedError as error:
                    counted += "rows of more cells" in str(error)
                except AssertionError:
                    pass  # its rows have no more cells than there are groups
    assert counted >= 2


@pytest.mark.parametrize("kind", KINDS)
def test_any_damage_is_noticed(kind: str, tmp_path: Path) -> None:
    """A bit of every 97th byte (of large files fewer) of STORE, MANIFEST and a shard."""

    def read_all(store: Path) -> None:
        generation = newest_generation(store)
        for i in range(len(generation.relations)):
            generation.rows(i)
        generation.check_frames()
        generation.section("symbols")

    store = tmp_path / kind
    shutil.copytree(GOLDEN / kind, store)
    read_all(store)
    (shard,) = [*store.glob("gen-*/0001-path.total.*"), *store.glob("gen-*/relations.h5")][:1]
    for path in (store / "STORE", next(store.glob("gen-*/MANIFEST")), shard):
        whole = path.read_bytes()
        for at in range(0, len(whole), max(97, len(whole) // 150)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :])
            try:
                read_all(store)
                pytest.fail(f"{path.name}, offset {at}")
            except (DamagedError, ValueError, KeyError, OSError, IndexError):
                pass  # STORE and MANIFEST are text; whatever cannot be parsed is damage
        path.write_bytes(whole)


@pytest.mark.parametrize("mode", ["fpp", "shared", "hdf5"])
def test_fresh_checkpoints(stratalog: Stratalog, graph: Unpack, tmp_path: Path, mode: str) -> None:
    store = tmp_path / "checkpoints"
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", graph("karate"), "-D", tmp_path / "out"),
        *("--checkpoint", store, "--every", "1it", "--mode", mode),
        ranks=3,
    )
    generation = newest_generation(store)
    assert generation.head["mode"] == mode
    listed = stratalog("inspect", store, "--json").json()
    rows = {
        (r["relation"], r["version"]): len(generation.rows(i))
        for i, r in enumerate(generation.relations)
    }
    assert rows == {(r["name"], r["version"]): r["rows"] for r in listed["relations"]}
    assert sum(rows.values()) > 0


@pytest.mark.parametrize("mode", ["fpp", "shared"])
def test_sets_that_come_again(stratalog: Stratalog, tmp_path: Path, mode: str) -> None:
    """Chains with many sources each: the slots of a chain are reached by the same ones."""
    edges = [(1000 * c + s, 1000 * c + 50) for c in range(9) for s in range(40)]
    edges += [(1000 * c + s, 1000 * c + s + 1) for c in range(9) for s in range(50, 80)]
    (tmp_path / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in edges))
    store = tmp_path / "checkpoints"
    stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", tmp_path, "-D", tmp_path / "out"),
        *("--checkpoint", store, "--every", "9999it", "--mode", mode),
        ranks=2,
    )
    generation = newest_generation(store)
    assert generation.head["critical"] == ["run-pools"]
    path = [r["relation"] for r in generation.relations].index("path")
    stored = sorted(map(tuple, generation.rows(path).tolist()))
    text = (tmp_path / "out" / "path.csv").read_text()
    assert stored == sorted(tuple(map(int, line.split("\t"))) for line in text.splitlines())
    assert len(stored) == 9 * (40 * 31 + 31 * 30 // 2)


def test_xxh3_agrees_with_known_values() -> None:
    data = (
        (np.arange(5000, dtype=np.uint64) * np.uint64(7) + np.uint64(3)) % np.uint64(256)
    ).astype(np.uint8)
    for length, (plain, seeded, wide) in KNOWN_HASHES.items():
        piece = data[:length].tobytes()
        assert f"{xxh3_64(piece):016x}" == plain
        assert f"{xxh3_64(piece, 0x123456789ABCDEF0):016x}" == seeded
        assert xxh3_128(piece) == wide


def test_what_needs_a_newer_reader_is_not_passed_over(tmp_path: Path) -> None:
    """An older generation in its place would be another answer."""
    store = tmp_path / "store"
    shutil.copytree(GOLDEN / "fpp", store)
    manifest = newest_generation(store).directory / "MANIFEST"
    body = manifest.read_bytes().rsplit(b'{"xxh3_128"', 1)[0]
    body = body.replace(b'"critical":[', b'"critical":["leap-seconds"' + b",")
    body = body.replace(b'"leap-seconds",]', b'"leap-seconds"]')
    manifest.write_bytes(body + b'{"xxh3_128":"%s"}\n' % xxh3_128(body).encode())
    with pytest.raises(CheckpointError, match="needs the feature leap-seconds") as refused:
        newest_generation(store)
    assert not isinstance(refused.value, DamagedError)
