# SPDX-License-Identifier: Apache-2.0
"""Mode hdf5-streams: small files that h5py and numpy read by themselves, written and read back on
any number of ranks, of tuples of one to eight columns, dense, sparse and random."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from stratalog_runner import Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

import stratalog as package  # noqa: E402
from stratalog_formats.damage import DamagedError  # noqa: E402
from stratalog_formats.read_checkpoint import Generation, newest_generation  # noqa: E402

h5py = pytest.importorskip("h5py")

# `reach` is dense and more than two blocks, `scattered` does not compress, `some` has one chunk.
PROGRAM = """
.decl scattered(a: number, b: number, c: number)
.input scattered
.decl edge(a: number, b: number)
edge(x, x + 1) :- x = range(0, 700).
.decl reach(a: number, b: number)
reach(a, b) :- edge(a, b).
reach(a, c) :- reach(a, b), edge(b, c).
.decl single(a: number)
single(a) :- scattered(a, _, _).
.decl wide(a: number, b: number, c: number, d: number, e: number, f: number, g: number, h: symbol)
wide(a, b, c, a, b, c, b, cat("s", to_string(a % 7))) :- scattered(a, b, c), a % 64 = 0.
.decl some(a: symbol, b: unsigned)
some("one", 18446744073709551615). some("two", 2).
.decl nothing(a: number)
nothing(a) :- edge(a, a).
.decl yes()
yes() :- edge(_, _).
.output reach, single, wide, some, nothing, yes, scattered
"""
RELATIONS = ("scattered", "edge", "reach", "single", "wide", "some", "nothing")
ROWS = 60_000
RANKS = (1, 2, 3, 4, 7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "p.dl").write_text(PROGRAM)
    numbers = np.random.default_rng(1).integers(0, 2_000_000_000, (ROWS, 3))
    np.savetxt(folder / "scattered.facts", numbers, fmt="%d", delimiter="\t")
    return folder


def run(
    stratalog: Stratalog,
    folder: Path,
    name: str,
    *options: str,
    ranks: int | None = None,
    mode: str = "",
) -> Path:
    checkpoints = folder / name
    stratalog(
        *("run", folder / "p.dl", "-F", folder, "-D", folder / f"{name}-out"),
        *("--checkpoint", checkpoints, "--mode", mode or "hdf5-streams", "--every", "300it"),
        *("--durability", "none", *options),
        ranks=ranks,
    )
    return checkpoints


def cells(generation: Generation) -> dict[str, npt.NDArray[np.uint64]]:
    """Tuples of each relation in one order; symbols and wide numbers as their ids."""
    found = {}
    for relation in RELATIONS:
        rows = generation.rows(generation.find(relation))
        found[relation] = rows[np.lexsort(rows.T[::-1])]
    return found


@pytest.fixture(scope="module")
def whole(stratalog: Stratalog, folder: Path) -> dict[int, Path]:
    """A store for each number of ranks, all generations whole."""
    return {n: run(stratalog, folder, f"r{n}", "--full-every", "1", ranks=n) for n in RANKS}


@pytest.fixture(scope="module")
def answers(stratalog: Stratalog, folder: Path) -> dict[str, set[str]]:
    run(stratalog, folder, "fpp", mode="fpp")
    return outputs(folder / "fpp-out")


def outputs(out: Path) -> dict[str, set[str]]:
    return {file.name: set(file.read_text().splitlines()) for file in out.glob("*.csv")}


@pytest.mark.parametrize("ranks", RANKS)
def test_written_verified_and_resumed_on_other_ranks(
    stratalog: Stratalog,
    folder: Path,
    whole: dict[int, Path],
    answers: dict[str, set[str]],
    ranks: int,
) -> None:
    report = stratalog("verify", whole[ranks], "--deep").out
    assert "all is well" in report
    assert stratalog("inspect", whole[ranks], "--json").json()["mode"] == "hdf5-streams"
    cells(newest_generation(whole[ranks]))  # hashes of all relations are checked
    newest_generation(whole[ranks]).check_frames()
    for other in (1, 2, 3, 7):
        out = folder / f"resumed-{ranks}-{other}"
        copy = shutil.copytree(whole[ranks], folder / f"copy-{ranks}-{other}")
        # The generation before the last one, which goes on.
        shutil.rmtree(newest_generation(copy).directory)
        stratalog("resume", copy, "-D", out, ranks=other)
        assert outputs(out) == answers


def decoded(group: Any) -> npt.NDArray[np.uint32]:
    """What docs/formats/checkpoint.md shows, for any number of columns; in the streams' order."""
    columns = [np.cumsum(group["key"][:], dtype="u4")]
    for level in range(1, len(group.attrs["columns"])):
        names = (f"{s}{level if level > 1 else ''}" for s in ("count", "first", "gap"))
        count, first, gap = (group[name][:] for name in names)
        begin = np.cumsum(count, dtype="i8") - count
        y = np.cumsum(np.insert(gap + 1, begin - np.arange(len(begin)), 0), dtype="u4")
        y += np.repeat(first - y[begin], count)
        columns = [np.repeat(column, count) for column in columns] + [y]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("ranks", RANKS)
def test_h5py_and_numpy_alone(whole: dict[int, Path], ranks: int) -> None:
    generation = newest_generation(whole[ranks])
    with h5py.File(generation.directory / "relations.h5") as file:
        assert bytes(file.attrs["format"]) == b"stratalog checkpoint streams"
        assert bytes(file.attrs["generation"]).decode() == generation.directory.name
        assert bytes(file.attrs["file"]) == b"1 of 1"
        assert "nothing.total" not in file
        for relation, expected in cells(generation).items():
            if relation == "nothing":
                continue
            group = file[f"{relation}.total"]
            assert bytes(group.attrs["part"]) == b"whole"
            found = np.empty((len(expected), expected.shape[1]), dtype=np.uint64)
            order = np.atleast_1d(group.attrs["column_order"]).tolist()
            found[:, order] = decoded(group)
            assert (found[np.lexsort(found.T[::-1])] == expected).all()
            assert int(group.attrs["rows"]) == len(expected)


def test_one_range_of_keys_by_h5py(whole: dict[int, Path]) -> None:
    generation = newest_generation(whole[4])
    with h5py.File(generation.directory / "relations.h5") as file:
        group = file["reach.total"]
        blocks = group["blocks"][:].astype("i8")
        ends = np.vstack([blocks[1:, 1:], [group[s].shape[0] for s in streams_of(group)]])
        assert len(blocks) >= 4
        everything = decoded(group)
        at = 0
        for block, end in zip(blocks, ends, strict=True):
            parts = [
                group[s][b:e] for s, b, e in zip(streams_of(group), block[1:], end, strict=True)
            ]
            key, count, first, gap = parts
            key[0] = block[0]
            begin = np.cumsum(count, dtype="i8") - count
            y = np.cumsum(np.insert(gap + 1, begin - np.arange(len(begin)), 0), dtype="u4")
            y += np.repeat(first - y[begin], count)
            x = np.repeat(np.cumsum(key, dtype="u4"), count)
            assert (everything[at : at + len(x)] == np.stack([x, y], axis=1)).all()
            at += len(x)
        assert at == len(everything)


def streams_of(group: Any) -> list[str]:
    columns = len(group.attrs["columns"])
    levels = ["", *(str(level) for level in range(2, columns))]
    return ["key"] + [
        f"{s}{level}" for level in levels[: columns - 1] for s in ("count", "first", "gap")
    ]


def test_small(stratalog: Stratalog, folder: Path, whole: dict[int, Path]) -> None:
    """Dense relations take a hundredth of their rows; random ones no more than their streams."""
    with h5py.File(newest_generation(whole[1]).directory / "relations.h5") as file:
        sizes = {
            name: sum(group[s].id.get_storage_size() for s in streams_of(group))
            for name, group in file.items()
        }
        assert sizes["reach.total"] * 100 < 16 * int(file["reach.total"].attrs["rows"])
        # A chunk is filled up with zeros.
        chunks = sum(
            file["scattered.total"][s].chunks[0] * 4 for s in streams_of(file["scattered.total"])
        )
        assert sizes["scattered.total"] < 12 * ROWS + chunks


@pytest.mark.parametrize(
    "options",
    [
        ("--files", "2"),
        ("--relations-per-file", "1"),
        ("--deflate", "0"),
        ("--deflate", "9", "--align", "64K"),
        ("--stage", "{stage}"),
        ("--encoding", "streams"),
    ],
    ids=lambda options: " ".join(options),
)
def test_options(
    stratalog: Stratalog,
    folder: Path,
    answers: dict[str, set[str]],
    tmp_path: Path,
    options: tuple[str, ...],
) -> None:
    given = [option.format(stage=tmp_path / "stage") for option in options]
    checkpoints = run(stratalog, folder, "o" + "".join(options).replace("/", ""), *given, ranks=3)
    stratalog("verify", checkpoints, "--deep")
    generation = newest_generation(checkpoints)
    cells(generation)
    files = sorted(generation.directory.glob("*.h5"))
    for number, path in enumerate(files):
        with h5py.File(path) as file:
            assert bytes(file.attrs["file"]).decode() == f"{number + 1} of {len(files)}"
            for group in file.values():
                decoded(group)
                if options == ("--deflate", "0"):
                    assert group["key"].id.get_chunk_info(0).filter_mask == 3
    stratalog("resume", checkpoints, "-D", tmp_path / "out", ranks=2)
    assert outputs(tmp_path / "out") == answers


def test_chains_say_what_they_build_on(
    stratalog: Stratalog, folder: Path, answers: dict[str, set[str]], tmp_path: Path
) -> None:
    checkpoints = run(stratalog, folder, "chain", ranks=2)
    generation = newest_generation(checkpoints)
    with h5py.File(generation.directory / "relations.h5") as file:
        assert bytes(file["reach.total"].attrs["part"]) == b"growth"
        assert bytes(file.attrs["builds_on"]).startswith(b"gen-")
        assert "scattered.total" not in file  # it has not changed
    cells(generation)
    stratalog("verify", checkpoints, "--deep")
    stratalog("compact", checkpoints, "--mode", "hdf5-streams")
    whole = newest_generation(checkpoints)
    assert whole.directory != generation.directory
    with h5py.File(whole.directory / "relations.h5") as file:
        assert bytes(file["reach.total"].attrs["part"]) == b"whole"
        assert "builds_on" not in file.attrs
    stratalog("resume", checkpoints, "-D", tmp_path / "out", ranks=3)
    assert outputs(tmp_path / "out") == answers


def test_threads(
    stratalog: Stratalog, folder: Path, answers: dict[str, set[str]], tmp_path: Path
) -> None:
    checkpoints = run(stratalog, folder, "threads", "-j", "3")
    stratalog("verify", checkpoints, "--deep")
    stratalog("resume", checkpoints, "-D", tmp_path / "out")
    assert outputs(tmp_path / "out") == answers


def test_in_python(whole: dict[int, Path]) -> None:
    checkpoint = package.open(whole[3])
    reach = checkpoint["reach"]
    x, y = reach.to_columns().values()
    assert len(x) == 701 * 700 // 2
    assert set(zip(x.tolist(), y.tolist(), strict=True)) == {
        (a, b) for a in range(700) for b in range(a + 1, 701)
    }
    assert sorted(reach[13].to_numpy()[:, 1].tolist()) == list(range(14, 701))
    for name in reach.columns:
        assert (reach.column(name) == reach.to_columns()[name]).all()
    assert set(checkpoint["some"]) == {("one", 2**64 - 1), ("two", 2)}
    assert len(checkpoint["yes"]) == 1
    wide = checkpoint["wide"]
    rows = wide.to_columns()
    for name in wide.columns:
        assert (wide.column(name) == rows[name]).all()
    assert (rows["a"] == rows["d"]).all()


def damage(file: Path, offset: int) -> None:
    content = bytearray(file.read_bytes())
    content[offset] ^= 4
    file.write_bytes(content)


def test_one_column_is_read_without_the_rest(whole: dict[int, Path], tmp_path: Path) -> None:
    """The last column of three needs none of the streams of those before it: they may be lost."""
    checkpoints = shutil.copytree(whole[2], tmp_path / "copy")
    generation = newest_generation(checkpoints)
    file = generation.directory / "relations.h5"
    with h5py.File(file) as data:
        group = data["scattered.total"]
        order = np.atleast_1d(group.attrs["column_order"]).tolist()
        lost = [group[name].id.get_chunk_info(0).byte_offset for name in ("key", "first", "gap")]
        expected = decoded(group)[:, 2]
    for offset in lost:
        damage(file, offset + 1)
    index = generation.find("scattered")
    found = np.concatenate(list(generation.column(index, order[2])))
    assert (np.sort(found) == np.sort(expected)).all()
    with pytest.raises(DamagedError, match="chunk 0: checksum"):
        list(generation.column(index, order[0]))
    with pytest.raises(DamagedError, match="chunk 0: checksum"):
        generation.rows(index)


def test_damage_is_found_and_an_older_generation_taken(
    stratalog: Stratalog, whole: dict[int, Path], answers: dict[str, set[str]], tmp_path: Path
) -> None:
    size = (newest_generation(whole[4]).directory / "relations.h5").stat().st_size
    generator = np.random.default_rng(2)
    for number, offset in enumerate([0, size - 1, *generator.integers(0, size, 4).tolist()]):
        checkpoints = shutil.copytree(whole[4], tmp_path / f"copy{number}")
        generation = newest_generation(checkpoints)
        damage(generation.directory / "relations.h5", offset)
        said = stratalog("verify", checkpoints, generation.directory.name, "--deep", expect=None)
        assert said.code != 0
        assert "relations.h5" in said.out + said.err
        resumed = stratalog("resume", checkpoints, "-D", tmp_path / "out", ranks=3)
        assert generation.directory.name in resumed.err + resumed.out
        assert outputs(tmp_path / "out") == answers


def test_another_encoding_is_refused(stratalog: Stratalog, folder: Path) -> None:
    refused = stratalog(
        *("run", folder / "p.dl", "-F", folder, "--checkpoint", folder / "refused"),
        *("--mode", "hdf5-streams", "--encoding", "compact"),
        expect=1,
    )
    assert "mode hdf5-streams stores streams" in refused.err
