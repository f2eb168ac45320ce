# SPDX-License-Identifier: Apache-2.0
"""Sorted streams in HDF5 files (`stratalog export --to hdf5-streams`), with h5py and numpy.

Follows docs/formats/facts.md. `read_pairs` is the seven lines that docs show, for two columns of
small numbers; `read_relation` does any file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from stratalog_formats.damage import demand

U32 = npt.NDArray[np.uint32]


def read_pairs(file: str | Path, relation: str) -> tuple[U32, U32]:
    """The two columns of a relation whose `base` is 0 and that has no tables, in key order."""
    with h5py.File(file) as f:
        key, count, first, gap = (f[relation][s][:] for s in ("key", "count", "first", "gap"))
    begin = np.cumsum(count, dtype="i8") - count
    steps = np.insert(gap + 1, begin - np.arange(len(begin)), 0)
    y = np.cumsum(steps, dtype="u4")
    y += np.repeat(first - y[begin], count)
    return np.repeat(np.cumsum(key, dtype="u4"), count), y


def _expand(count: U32, first: U32, gap: U32) -> U32:
    demand(bool((count > 0).all()), "a count of none")
    demand(
        len(count) == len(first) and int(count.sum(dtype=np.int64)) == len(first) + len(gap),
        "streams that do not fit each other",
    )
    begin = np.cumsum(count, dtype=np.int64) - count
    steps = np.insert(gap + np.uint32(1), begin - np.arange(len(begin)), 0)
    children = np.cumsum(steps, dtype=np.uint32)
    children += np.repeat(first - children[begin], count)
    return children


def _numbers(group: Any, columns: int) -> list[U32]:
    """All columns as the numbers of the streams."""
    decoded: list[U32] = [np.cumsum(group["key"][:], dtype=np.uint32)]
    for level in range(1, columns):
        suffix = "" if level == 1 else str(level)
        count, first, gap = (group[f"{name}{suffix}"][:] for name in ("count", "first", "gap"))
        demand(len(count) == len(decoded[0]), "a level that does not fit the one before")
        decoded = [np.repeat(column, count) for column in decoded]
        decoded.append(_expand(count, first, gap))
    return decoded


def read_relation(file: str | Path, relation: str | None = None) -> dict[str, npt.NDArray[Any]]:
    """Columns by name, in key order: int64, uint64, float64, or objects of str for symbols.

    DamagedError for a file that is something else or contradicts itself.
    """
    with h5py.File(file) as f:
        demand(f.attrs.get("format") == "stratalog streams", "no file of sorted streams")
        demand(int(f.attrs["format_version"]) == 1, "a format version that this does not know")
        group = f[relation or next(iter(f))]
        names = [str(name) for name in group.attrs.get("column_names", [])]
        if not names:
            return {}
        columns: dict[str, npt.NDArray[Any]] = {}
        numbers = _numbers(group, len(names))
        demand(len(numbers[0]) == int(group.attrs["rows"]), "another number of rows")
        kinds = {"number": np.int64, "unsigned": np.uint64}
        for at, (name, kind) in enumerate(zip(names, group.attrs["column_kinds"], strict=True)):
            if kind == "symbol":
                # Bytes that are no UTF-8 come back as Python's own files give them.
                symbols = group["symbols:"].asstr(errors="surrogateescape")
                columns[name] = symbols[:][numbers[at]]
            elif f"values:{name}" in group:
                columns[name] = group[f"values:{name}"][:][numbers[at]]
            else:
                base = np.int64(group.attrs["base"][at])
                columns[name] = (numbers[at].astype(np.int64) + base).astype(kinds[str(kind)])
    return columns
