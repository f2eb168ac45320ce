# SPDX-License-Identifier: Apache-2.0
"""Facts from HDF5 files: what IO=hdf5 writes is read back; files that do not fit are refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from stratalog_runner import Stratalog

COLUMNS = "n: number, s: symbol, f: float, u: unsigned, t: symbol"
WRITER = f"""
.decl a({COLUMNS})
a(x, cat("s", to_string(x % 97)), to_float(x) / 8, to_unsigned(x) * 1000000007, "täxt") :-
  x = range(-5, 4000).
a(9223372036854775807, "", 0.1, 18446744073709551615, "s1").
.output a(IO=hdf5)
.output a
.decl empty(x: number, s: symbol)
.output empty(IO=hdf5)
.decl yes()
yes().
.output yes(IO=hdf5)
"""
READER = f"""
.decl a({COLUMNS})
.input a(IO=hdf5)
.output a
.decl empty(x: number, s: symbol)
.input empty(IO=hdf5)
.decl yes()
.input yes(IO=hdf5)
.printsize empty, yes
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hdf5")
    (folder / "writer.dl").write_text(WRITER)
    Stratalog()("run", folder / "writer.dl", "-D", folder / "facts")
    return folder / "facts"


@pytest.mark.parametrize("how", ((), ("--ranks", 1), ("--ranks", 3), ("-j", 3)), ids=str)
def test_what_was_written_is_read(
    how: tuple[object, ...], stratalog: Stratalog, written: Path, tmp_path: Path
) -> None:
    program = tmp_path / "reader.dl"
    program.write_text(READER)
    finished = stratalog("run", program, "-F", written, "-D", tmp_path, *how)
    assert (tmp_path / "a.csv").read_bytes() == (written / "a.csv").read_bytes()
    assert finished.sizes() == {"empty": 0, "yes": 1}


def test_another_relation_and_fewer_columns(
    stratalog: Stratalog, written: Path, tmp_path: Path
) -> None:
    program = tmp_path / "other.dl"
    program.write_text(
        '.decl b(s: symbol, n: number)\n.input b(IO=hdf5, filename="a.h5", name="a")\n'
        ".printsize b\n"
    )
    assert stratalog("run", program, "-F", written).sizes() == {"b": 4006}


def test_facts_are_added_from_hdf5(stratalog: Stratalog, written: Path, tmp_path: Path) -> None:
    program = tmp_path / "reader.dl"
    program.write_text(READER)
    stratalog("run", program, "-F", written, "-D", tmp_path, "--checkpoint", tmp_path / "ck")
    more = tmp_path / "more"
    more.mkdir()
    with h5py.File(more / "empty.h5", "w") as file:
        file["empty/x"] = np.array([7, 8], dtype="i4")
        file["empty/s"] = np.array([1, 0], dtype="u1")
        file.create_dataset("empty/symbols:", data=["zero", "one"], dtype=h5py.string_dtype())
    finished = stratalog("resume", tmp_path / "ck", "--add-facts", more)
    assert finished.sizes() == {"empty": 2, "yes": 1}


def refusal(stratalog: Stratalog, folder: Path, declared: str, ranks: int | None = None) -> str:
    program = folder / "refused.dl"
    program.write_text(f".decl r({declared})\n.input r(IO=hdf5)\n.printsize r\n")
    refused = stratalog("run", program, "-F", folder, ranks=ranks, expect=None)
    assert refused.code == 2, refused
    return refused.err


@pytest.mark.parametrize("ranks", (None, 2))
def test_files_that_do_not_fit(ranks: int | None, stratalog: Stratalog, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "r.h5", "w") as file:
        file["r/x"] = np.arange(3000, dtype="u8")
        file["r/y"] = np.full(3000, 2, dtype="u4")
        file["r/short"] = np.arange(2999)
        file["r/f"] = np.arange(3000, dtype="f8")
        file["r/flat"] = np.zeros((3, 1000), dtype="i8")
        file.create_dataset("r/symbols:", data=["a", "b"], dtype=h5py.string_dtype())
    for declared, expected in (
        ("x: number", "attribute `x` (type number) does not hold signed integers"),
        ("f: unsigned", "attribute `f` (type unsigned) does not hold unsigned integers"),
        ("x: float", "attribute `x` (type float) does not hold floats"),
        ("f: symbol", "attribute `f` (type symbol) does not hold unsigned integers"),
        ("x: unsigned, short: number", "attribute `short` is not a column as long as"),
        ("flat: number", "attribute `flat` is not a column"),
        ("z: number", "it has no dataset for attribute `z`"),
        ("y: symbol", "r.h5:1: attribute `y`: position 2 in a dataset of 2 symbols"),
    ):
        assert expected in refusal(stratalog, tmp_path, declared, ranks)


def test_files_that_are_no_hdf5(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "r.h5").write_bytes(b"no HDF5")
    program = tmp_path / "refused.dl"
    program.write_text(".decl r(x: number)\n.input r(IO=hdf5)\n.printsize r\n")
    refused = stratalog("run", program, "-F", tmp_path, expect=None)
    assert refused.code != 0
    assert "r.h5: HDF5 cannot open the file" in refused.err
    with h5py.File(tmp_path / "r.h5", "w") as file:
        file["other/x"] = np.arange(3)
    assert 'the file has no relation "r"' in refusal(stratalog, tmp_path, "x: number")


def test_parameters_of_text_are_refused(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "refused.dl"
    program.write_text(".decl r(x: number)\n.input r(IO=hdf5, headers=true)\n.printsize r\n")
    refused = stratalog("run", program, "-F", tmp_path, expect=None)
    assert "parameter `headers` has no meaning for HDF5" in refused.err
