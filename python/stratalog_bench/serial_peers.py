# SPDX-License-Identifier: Apache-2.0
"""What one Python process does with the same number of bytes: numpy and h5py, with fsync."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from stratalog_bench.processes import Event


def _rows(size: int, columns: int) -> np.ndarray:
    """A closure-like table of about `size` bytes: blocks of rows with neighbouring last columns."""
    count = max(1, size // (8 * columns))
    table = np.empty((count, columns), dtype=np.uint64)
    number = np.arange(count, dtype=np.uint64)
    table[:, :-1] = (number // np.uint64(320))[:, None]
    table[:, -1] = number % np.uint64(320) * np.uint64(2)
    return table


def _write_numpy(table: np.ndarray, file: Path) -> None:
    with file.open("wb") as out:
        table.tofile(out)
        out.flush()
        os.fsync(out.fileno())


def _write_h5py(table: np.ndarray, file: Path) -> None:
    import h5py

    with h5py.File(file, "w") as out:
        out.create_dataset("path", data=table)
    with file.open("rb") as written:
        os.fsync(written.fileno())


WRITERS = {"numpy": _write_numpy, "h5py": _write_h5py}


def measure(
    names: Sequence[str], size: int, columns: int, repeats: int, folder: Path
) -> Iterator[Event]:
    """Events as those of the worker. A writer whose library is missing gives an event "failed"."""
    table = _rows(size, columns)
    for repeat in range(repeats):
        for name in names:
            write = WRITERS[name]
            file = folder / f"serial-{name}"
            event: Event = {"case": name, "repeat": repeat, "ranks": 1, "row_bytes": table.nbytes}
            try:
                start = time.perf_counter()
                write(table, file)
                seconds = time.perf_counter() - start
                event |= {
                    "event": "save",
                    "seconds": {"total": seconds},
                    "bytes": file.stat().st_size,
                    "files": 1,
                    "durability": "data",  # the file is synchronised, its folder is not
                }
            except (ImportError, OSError) as problem:
                event |= {"event": "failed", "message": str(problem)}
            finally:
                file.unlink(missing_ok=True)
            yield event
