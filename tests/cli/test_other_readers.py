# SPDX-License-Identifier: Apache-2.0
"""h5dump, h5py, netCDF4, xarray and pandas read from our files the values that were computed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

import stratalog as package  # noqa: E402

PROGRAM = """
.decl item(n: number, name: symbol, weight: float, big: unsigned)
item(-5, "pear", 0.5, 18446744073709551615).
item(7, "fig", -2.25, 3).
item(6000000000, "pear", 1024.125, 4).
.decl path(a: number, b: number)
path(a, a + 1) :- a = range(0, 40).
path(a, c) :- path(a, b), path(b, c), c < 30.
.output item(IO=hdf5, filename="item.h5")
.output path(IO=hdf5, filename="path.h5")
"""
ITEMS = {
    (-5, "pear", 0.5, 2**64 - 1),
    (7, "fig", -2.25, 3),
    (6000000000, "pear", 1024.125, 4),
}
PATHS = {(a, b) for b in range(30) for a in range(b)} | {(a, a + 1) for a in range(40)}


# The rows in several files, and one that shows them all.
VIEWS = (
    "hdf5-direct --files 2",
    "hdf5-direct --relations-per-file 1",
    "hdf5-opt --files 2 --relations-per-file 1",
)
HDF5 = ("hdf5-direct", "hdf5-opt", *VIEWS)


@pytest.fixture(scope="module")
def written(stratalog: Stratalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    (folder / "p.dl").write_text(PROGRAM)
    for kept in ("fpp", "hdf5-direct", "hdf5-opt", *VIEWS):
        mode, *layout = kept.split()
        keep = ("--checkpoint", folder / kept, "--mode", mode, *layout, "--every", "3it")
        stratalog("run", folder / "p.dl", "-D", folder, *keep, "--full-every", "1", ranks=2)
    for relation in ("item", "path"):
        target = folder / f"{relation}_exported.h5"
        export = ("export", folder / "fpp", target, "--relation", relation, "--to", "hdf5")
        stratalog(*export)
    return folder


FILES = ("{}.h5", "{}_exported.h5")


def spelled(columns: dict[str, Any], symbols: list[str]) -> set[tuple[Any, ...]]:
    names = [symbols[int(cell)] for cell in columns["name"]]
    others = (columns[c].tolist() for c in ("n", "weight", "big"))
    return {(n, name, w, b) for name, n, w, b in zip(names, *others, strict=True)}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("engine", ("netcdf4", "h5netcdf"))
def test_xarray_and_pandas(written: Path, file: str, engine: str) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
    how = {"phony_dims": "access"} if engine == "h5netcdf" else {}
    with xarray.open_dataset(
        written / file.format("path"), group="path", engine=engine, **how
    ) as path:
        frame = path.to_dataframe()
        assert set(zip(frame["a"], frame["b"], strict=True)) == PATHS
        assert list(path.attrs["column_names"]) == ["a", "b"]
    with xarray.open_dataset(
        written / file.format("item"), group="item", engine=engine, **how
    ) as item:
        columns = {name: item[name].values for name in ("n", "name", "weight", "big")}
        assert spelled(columns, [str(text) for text in item["symbols:"].values]) == ITEMS


@pytest.mark.parametrize("file", FILES)
def test_netcdf4(written: Path, file: str) -> None:
    netcdf4 = pytest.importorskip("netCDF4")
    with netcdf4.Dataset(written / file.format("item")) as data:
        group = data["item"]
        columns = {name: group[name][:].data for name in ("n", "name", "weight", "big")}
        assert spelled(columns, [str(text) for text in group["symbols:"][:]]) == ITEMS


def newest(folder: Path) -> Path:
    return max(path for path in folder.glob("gen-*") if (path / "MANIFEST").exists())


@pytest.mark.parametrize("mode", HDF5)
def test_checkpoints_by_xarray_and_h5py(written: Path, mode: str) -> None:
    h5py = pytest.importorskip("h5py")
    file = newest(written / mode) / "relations.h5"
    with h5py.File(file) as data:
        assert data["path.total"].is_virtual == (mode in VIEWS)
        rows = data["path.total"][:].tolist()
        assert {tuple(row) for row in rows} == PATHS
        assert len(rows) == len(PATHS)
        assert [bytes(kind) for kind in data["item.total"].attrs["kinds"]] == [
            *(b"number", b"symbol", b"float", b"unsigned")
        ]
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")
    with xarray.open_dataset(file) as data:
        assert {tuple(row) for row in data["path.total"].values.tolist()} == PATHS
        assert list(data["path.total"].attrs["columns"]) == ["a", "b"]


def test_a_view_goes_where_its_folder_goes(written: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    kept = newest(written / VIEWS[0])
    files = sorted(path.name for path in kept.glob("*.h5"))
    assert files == ["relations-0000-0000.h5", "relations-0000-0001.h5", "relations.h5"]
    with h5py.File(kept / "relations.h5") as data:
        assert bytes(data.attrs["file"]) == b"a view of 2"
        parts = [Path(source.file_name).name for source in data["path.total"].virtual_sources()]
    assert parts == files[:2]
    shutil.copytree(kept, tmp_path / "elsewhere")
    with h5py.File(tmp_path / "elsewhere" / "relations.h5") as data:
        assert {tuple(row) for row in data["path.total"][:].tolist()} == PATHS


def h5dump(*arguments: str | Path) -> str:
    program = os.environ.get("H5DUMP") or shutil.which("h5dump")
    if not program:
        pytest.skip("no h5dump")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def numbers_in(dump: str) -> list[str]:
    """The elements of a dumped data set, in order."""
    data = dump[dump.index("DATA {") :]
    return re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.sub(r"\([\d,]+\):", "", data))


@pytest.mark.parametrize("file", FILES)
def test_h5dump(written: Path, file: str) -> None:
    path = written / file.format("path")
    a, b = (
        [int(n) for n in numbers_in(h5dump("-d", f"/path/{c}", "-w", "0", "-A", "0", path))]
        for c in "ab"
    )
    assert set(zip(a, b, strict=True)) == PATHS
    weights = numbers_in(
        h5dump("-d", "/item/weight", "-A", "0", "-m", "%.17g", written / file.format("item"))
    )
    assert sorted(map(float, weights)) == sorted(item[2] for item in ITEMS)


@pytest.mark.parametrize("mode", HDF5)
def test_h5dump_of_checkpoints(written: Path, mode: str) -> None:
    dump = h5dump(
        "-d", "/path.total", "-w", "0", "-A", "0", newest(written / mode) / "relations.h5"
    )
    cells = list(map(int, numbers_in(dump)))
    assert set(zip(cells[::2], cells[1::2], strict=True)) == PATHS


def test_pandas_and_arrow_by_the_package(written: Path) -> None:
    pytest.importorskip("pandas")
    frame = package.open(written / "hdf5-direct")["item"].to_pandas()
    assert {tuple(row) for row in json.loads(frame.to_json(orient="values"))} >= {
        (7, "fig", -2.25, 3)
    }
    assert set(zip(frame["n"], frame["name"], frame["weight"], frame["big"], strict=True)) == ITEMS
    pytest.importorskip("pyarrow")
    table = package.open(written / "fpp")["path"].to_arrow()
    assert {(row["a"], row["b"]) for row in table.to_pylist()} == PATHS
