# SPDX-License-Identifier: Apache-2.0
"""Point 8: other people's readers, and our package without MPI, get the values that were written.
Values are compared one by one; a reader that is not there is said to be not there."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from goals.setting import ROOT, CannotRunError, Setting
from goals.verdicts import Row, judge, most, not_run

Pairs = set[tuple[int, int]]
PROGRAM = """\
.decl path(a: number, b: number)
path(a, a + 1) :- a = range(0, 400).
path(a, c) :- path(a, b), path(b, c), c < 300.
"""
PAIRS: Pairs = {(a, b) for b in range(300) for a in range(b)} | {(a, a + 1) for a in range(400)}
DATASET = "path.total"
RANKS = 2


@dataclass(frozen=True)
class Reader:
    name: str
    modules: tuple[str, ...]
    read: Callable[[Path, Path], Pairs]  # (checkpoint folder, its HDF5 file)


def pairs_of(rows: Iterable[Iterable[int]]) -> Pairs:
    pairs = set()
    for row in rows:
        a, b = (int(value) for value in row)
        pairs.add((a, b))
    return pairs


def _h5dump(_: Path, file: Path) -> Pairs:
    program = os.environ.get("H5DUMP") or shutil.which("h5dump")
    if not program:
        raise CannotRunError("no h5dump on the PATH")
    dump = subprocess.run(
        [program, "-d", f"/{DATASET}", "-w", "0", "-A", "0", str(file)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    data = re.sub(r"\([\d,]+\):", "", dump[dump.index("DATA {") :])
    cells = [int(cell) for cell in re.findall(r"\d+", data)]
    return pairs_of(zip(cells[::2], cells[1::2], strict=True))


def _h5py(_: Path, file: Path) -> Pairs:
    import h5py

    with h5py.File(file) as data:
        return pairs_of(data[DATASET][:].tolist())


def _xarray(_: Path, file: Path) -> Pairs:
    import xarray

    with xarray.open_dataset(file, engine="netcdf4") as data:
        return pairs_of(data[DATASET].values.tolist())


def _pandas(_: Path, file: Path) -> Pairs:
    """The rows in a frame; pandas has no reader of its own for HDF5 files that it did not write."""
    import h5py
    import pandas

    with h5py.File(file) as data:
        frame = pandas.DataFrame(data[DATASET][:], columns=["a", "b"])
    return pairs_of(frame.itertuples(index=False))


def _package(folder: Path, _: Path) -> Pairs:
    """Lazy tables of the package: everything, and a slice by key."""
    import stratalog

    path = stratalog.open(folder)["path"]
    some = pairs_of(path[3:10].to_numpy().tolist())
    expected = {(a, b) for a, b in PAIRS if 3 <= a < 10}
    if some != expected:
        return some
    if any(name.startswith("mpi4py") for name in sys.modules):
        raise CannotRunError("mpi4py was loaded")
    return pairs_of(path.to_numpy().tolist())


def _package_arrow(folder: Path, _: Path) -> Pairs:
    import stratalog

    table = stratalog.open(folder)["path"].to_arrow()
    return pairs_of(zip(*(table[name].to_pylist() for name in ("a", "b")), strict=True))


def _package_pandas(folder: Path, _: Path) -> Pairs:
    import stratalog

    return pairs_of(stratalog.open(folder)["path"].to_pandas().itertuples(index=False))


READERS = (
    Reader("h5dump", (), _h5dump),
    Reader("h5py", ("h5py",), _h5py),
    Reader("xarray", ("xarray", "netCDF4"), _xarray),
    Reader("pandas, from h5py", ("h5py", "pandas"), _pandas),
    Reader("stratalog.open, numpy and a slice by key", ("numpy",), _package),
    Reader("stratalog.open, Arrow", ("pyarrow",), _package_arrow),
    Reader("stratalog.open, pandas", ("pandas",), _package_pandas),
)
MODES = ("hdf5-direct", "hdf5-opt")


def write_checkpoint(setting: Setting, mode: str) -> tuple[Path, Path]:
    folder = setting.scratch / "readers"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "pairs.dl"
    program.write_text(PROGRAM)
    checkpoint = folder / mode
    shutil.rmtree(checkpoint, ignore_errors=True)
    setting.run(
        [
            *(setting.mpiexec, "-n", RANKS, setting.stratalog, "run", program, "-q"),
            *("--checkpoint", checkpoint, "--mode", mode, "--full-every", "1"),
        ],
        120,
    )
    newest = max(one for one in checkpoint.glob("gen-*") if (one / "MANIFEST").exists())
    return checkpoint, newest / "relations.h5"


def differences(read: Pairs, expected: Pairs = PAIRS) -> float:
    """Pairs that are too many or missing."""
    return float(len(read ^ expected))


def judge_reader(point: str, reader: Reader, folder: Path, file: Path, mode: str) -> Row:
    goal = f"{reader.name} reads {mode}: pairs that differ"
    for module in reader.modules:
        try:
            importlib.import_module(module)
        except ImportError:
            return not_run(point, f"{goal} ≤ 0", f"there is no {module}", "full")
    try:
        found = differences(reader.read(folder, file))
    except CannotRunError as why:
        return not_run(point, f"{goal} ≤ 0", str(why), "full")
    except Exception as problem:  # whatever a reader finds wrong with the file
        text = f"{type(problem).__name__}: {problem}".splitlines()[0]
        return Row(point, f"{goal} ≤ 0", text, "full", "missed: it cannot read it")
    return judge(point, goal, most(0, "", 0), {f"of {len(PAIRS):,} pairs": found}, "full")


def all_rows(setting: Setting) -> list[Row]:
    package = str(ROOT / "python")
    if package not in sys.path:
        sys.path.insert(0, package)
    rows = []
    for number, mode in enumerate(MODES, 1):
        try:
            folder, file = write_checkpoint(setting, mode)
        except CannotRunError as why:
            rows.append(not_run(f"8.{number}", f"readers of {mode}", str(why)))
            continue
        rows += [
            judge_reader(f"8.{number}{letter}", reader, folder, file, mode)
            for letter, reader in zip("abcdefg", READERS, strict=True)
        ]
    return rows
