# SPDX-License-Identifier: Apache-2.0
"""`export --to hdf5-streams`: values as in other exports, read by the lines that docs show and by
the reader for everything; what cannot be written is refused by name."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from stratalog_runner import Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

from stratalog_formats.damage import DamagedError  # noqa: E402
from stratalog_formats.hdf5_streams import read_pairs, read_relation  # noqa: E402

PROGRAM = """
.type List = [head: number, tail: List]
.decl pair(x: number, y: number)
.input pair
.decl wide(a: number, b: unsigned, c: float, d: symbol, e: symbol)
wide(-5, 1, 1.5, "one", "two"). wide(-5, 1, 1.5, "one", "a b"). wide(-5, 1, 2.5, "", "two").
wide(-5, 18446744073709551615, -0.5, "one", "one"). wide(7, 0, 1.5, "two", "one").
.decl far(x: number, y: number)
far(-9223372036854775808, 5000000000). far(9223372036854775807, 5000000007). far(0, 5000000000).
.decl below(x: number, y: number)
below(-3, -4000000000). below(-3, -3999999999). below(-1, -4000000000).
.decl deep(a: number, b: number, c: number, d: number)
deep(x % 7, x % 5, x, y) :- pair(x, y), x < 90.
.decl random(x: number, y: number)
.input random
.decl one(x: number)
one(x) :- pair(x, _).
.decl none(x: number, y: number)
none(x, y) :- pair(x, y), x < 0.
.decl yes()
yes() :- pair(_, _).
.decl list(l: List)
list([1, nil]).
"""


@pytest.fixture(scope="module")
def checkpoint(stratalog: Stratalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "values.dl").write_text(PROGRAM)
    # More numbers than a chunk has.
    lines = (
        f"{x}\t{(x * 7919 + y * y * 104729) % 1000003}\n" for x in range(2500) for y in range(120)
    )
    (folder / "pair.facts").write_text("".join(lines))
    # Nothing that a compressor could use.
    random = np.random.default_rng(3).integers(0, 2**31 - 2**25, size=(20_000, 2))
    np.savetxt(folder / "random.facts", random, fmt="%d", delimiter="\t")
    stratalog(
        *("run", folder / "values.dl", "-F", folder, "-D", folder),
        *("--checkpoint", folder / "ck", "--durability", "none"),
        ranks=2,
    )
    return folder / "ck"


def pairs_of(file: Path) -> Any:
    return np.array([line.split("\t") for line in file.read_text().splitlines()], dtype=np.int64)


def shown_reader() -> str:
    """The lines that docs/formats/facts.md shows."""
    text = (PROJECT / "docs/formats/facts.md").read_text()
    after = text[text.index("### Sorted streams") :]
    found = re.search(r"```python\n(.*?)```", after, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_lines_of_the_docs_read_it(
    stratalog: Stratalog, checkpoint: Path, tmp_path: Path
) -> None:
    for to, name in (("hdf5-streams", "pair.h5"), ("tsv", "pair.tsv")):
        stratalog("export", checkpoint, tmp_path / name, "--relation", "pair", "--to", to)
    pairs = pairs_of(tmp_path / "pair.tsv")
    assert len(pairs) > 1 << 18
    seen: dict[str, Any] = {
        "file": tmp_path / "pair.h5",
        "relation": "pair",
        "h5py": h5py,
        "np": np,
    }
    exec(shown_reader(), seen)
    assert len(shown_reader().splitlines()) == 7
    assert np.array_equal(np.stack([seen["x"], seen["y"]], axis=1), pairs)
    assert np.array_equal(np.stack(read_pairs(tmp_path / "pair.h5", "pair"), axis=1), pairs)
    with h5py.File(tmp_path / "pair.h5") as file:
        gap = file["pair/gap"]
        assert gap.compression == "gzip"
        assert gap.shuffle
        assert gap.dtype == np.uint32
        stored = sum(
            file["pair"][s].id.get_storage_size() for s in ("key", "count", "first", "gap")
        )
    assert stored < pairs.nbytes / 4


@pytest.mark.parametrize(
    "relation", ["pair", "wide", "far", "below", "deep", "random", "one", "none"]
)
def test_values_are_those_of_the_columns(
    stratalog: Stratalog, checkpoint: Path, tmp_path: Path, relation: str
) -> None:
    for to in ("hdf5", "hdf5-streams"):
        stratalog("export", checkpoint, tmp_path / to, "--relation", relation, "--to", to)
    columns = read_relation(tmp_path / "hdf5-streams")
    with h5py.File(tmp_path / "hdf5") as file:
        group = file[relation]
        assert list(columns) == list(group.attrs["column_names"])
        for name, values in columns.items():
            expected = group[name][:]
            if group[name].attrs["kind"] == "symbol":
                expected = group["symbols:"].asstr()[:][expected]
            else:
                assert values.dtype == expected.dtype
            assert values.tolist() == expected.tolist()


def test_small_relations_and_those_without_columns(
    stratalog: Stratalog, checkpoint: Path, tmp_path: Path
) -> None:
    words = ("--to", "hdf5-streams", "--relation")
    stratalog("export", checkpoint, tmp_path / "yes", *words, "yes")
    assert read_relation(tmp_path / "yes") == {}
    stratalog("export", checkpoint, tmp_path / "some", *words, "pair", "--where", "x=3:5")
    assert set(read_relation(tmp_path / "some")["x"].tolist()) == {3, 4}


def test_symbols_that_are_no_text_are_read(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "s.facts").write_bytes(b"\xff\xfe bad\ngood\n")
    program = tmp_path / "s.dl"
    program.write_text(".decl s(x: symbol)\n.input s\n")
    stratalog("run", program, "-F", tmp_path, "--checkpoint", tmp_path / "ck")
    words = ("export", tmp_path / "ck", tmp_path / "out", "--relation", "s", "--to")
    stratalog(*words, "hdf5-streams")
    texts = sorted(read_relation(tmp_path / "out")["x"].tolist())
    assert [text.encode(errors="surrogateescape") for text in texts] == [b"good", b"\xff\xfe bad"]
    (tmp_path / "out").unlink()
    stratalog(*words, "hdf5")
    with h5py.File(tmp_path / "out") as file:
        assert sorted(file["s/symbols:"][:].tolist()) == [b"good", b"\xff\xfe bad"]


def test_what_cannot_be_is_refused(stratalog: Stratalog, checkpoint: Path, tmp_path: Path) -> None:
    words = ("export", checkpoint, tmp_path / "out")
    ran = stratalog(*words, "--relation", "list", "--to", "hdf5-streams", expect=None)
    assert ran.code != 0
    assert "export of list: HDF5 files cannot hold attribute" in ran.err
    assert "structured value; choose --to tsv" in ran.err
    assert ".output" not in ran.err
    ran = stratalog(
        *(*words, "--relation", "pair", "--to", "hdf5-streams-blosc"),
        expect=None,
        HDF5_PLUGIN_PATH=str(tmp_path),
    )
    assert ran.code != 0
    assert "does not find the blosc filter (32001)" in ran.err
    assert not (tmp_path / "out").exists()
    ran = stratalog(
        "export", checkpoint, "-", "--relation", "pair", "--to", "hdf5-streams", expect=None
    )
    assert "cannot be written to standard output" in ran.err
    stratalog(*words, "--relation", "pair", "--to", "hdf5")
    with pytest.raises(DamagedError, match="no file of sorted streams"):
        read_relation(tmp_path / "out")


def test_blosc_where_its_plugin_is(stratalog: Stratalog, checkpoint: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("hdf5plugin") is None:
        pytest.skip("hdf5plugin is not installed")
    import hdf5plugin

    for relation in ("pair", "random"):
        columns = []
        for to in ("hdf5-streams", "hdf5-streams-blosc"):
            stratalog(
                *("export", checkpoint, tmp_path / to, "--relation", relation, "--to", to),
                HDF5_PLUGIN_PATH=hdf5plugin.PLUGIN_PATH,
            )
            columns.append(read_relation(tmp_path / to))
        assert len(columns[0]["x"]) > 10_000
        assert all(np.array_equal(columns[0][name], columns[1][name]) for name in ("x", "y"))
