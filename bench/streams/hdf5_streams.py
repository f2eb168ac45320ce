#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sorted streams in HDF5 against (rows, 2) uint64, zlib 1 and Parquet, on closures of real graphs.

    bench/streams/hdf5_streams.py --out RESULT.json NAME=EDGES[:DIVISOR] ...

STRATALOG names the command and KEY_STREAMS what the target bench_key_streams builds; EDGES are two
numbers a line, and of graphs whose closure is large only sources that DIVISOR divides are followed.
Needs h5py; hdf5plugin and pyarrow where they are. All times are CPU seconds of one core, the best
of three where they are short.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from stratalog_formats.hdf5_streams import read_pairs

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y), x % {divisor} = 0.
path(x, z) :- path(x, y), edge(y, z).
.printsize path
"""


def best(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    seconds, result = float("inf"), None
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        seconds = min(seconds, time.process_time() - start)
    return seconds, result


def run(*words: object) -> float:
    """CPU seconds of a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [str(word) for word in words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def closure(edges: Path, divisor: int, folder: Path) -> None:
    (folder / "edge.facts").write_text(edges.read_text())
    (folder / "closure.dl").write_text(PROGRAM.format(divisor=divisor))
    run(
        os.environ["STRATALOG"],
        "run",
        folder / "closure.dl",
        "-F",
        folder,
        "-D",
        folder,
        "--checkpoint",
        folder / "ck",
        "--durability",
        "none",
    )


def streams_row(folder: Path, to: str, raw: int) -> dict[str, Any]:
    """Export, then the filter alone, both ways, and the seven-line reader."""
    file = folder / f"{to}.h5"
    exported = run(
        os.environ["STRATALOG"], "export", folder / "ck", file, "--relation", "path", "--to", to
    )
    with h5py.File(file) as source:
        names = ("key", "count", "first", "gap")
        group = source["path"]
        streams = {name: group[name][:] for name in names}
        stored = sum(group[name].id.get_storage_size() for name in names)
        properties = group["gap"].id.get_create_plist()

    def encode() -> None:
        with h5py.File("x", "w", driver="core", backing_store=False) as target:
            for name, numbers in streams.items():
                space = h5py.h5s.create_simple(numbers.shape, (h5py.h5s.UNLIMITED,))
                dataset = h5py.h5d.create(
                    target.id, name.encode(), h5py.h5t.STD_U32LE, space, properties
                )
                dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, numbers)

    def decode() -> None:
        with h5py.File(file) as source:
            for name in names:
                source["path"][name][:]

    encode_seconds, _ = best(encode)
    decode_seconds, _ = best(decode)
    read_seconds, _ = best(lambda: read_pairs(file, "path"))
    return {
        "format": to,
        "bytes": stored,
        "file_bytes": file.stat().st_size,
        "encode_seconds": encode_seconds,
        "decode_seconds": decode_seconds,
        "export_seconds": exported,
        "to_columns_seconds": read_seconds,
        "smaller": raw / stored,
    }


def peers(x: Any, y: Any, folder: Path, raw: int) -> list[dict[str, Any]]:
    rows = np.stack([x, y], axis=1).astype(np.uint64)
    found: list[dict[str, Any]] = [{"format": "(rows, 2) uint64", "bytes": raw, "smaller": 1.0}]
    data = rows.tobytes()
    encode, packed = best(lambda: zlib.compress(data, 1), 1)
    decode, _ = best(lambda: zlib.decompress(packed), 1)
    found.append(
        {
            "format": "zlib 1",
            "bytes": len(packed),
            "encode_seconds": encode,
            "decode_seconds": decode,
            "smaller": raw / len(packed),
        }
    )
    if importlib.util.find_spec("pyarrow"):
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
        for codec in ("snappy", "zstd"):
            file = folder / f"{codec}.parquet"

            def write(file: Path = file, codec: str = codec) -> None:
                parquet.write_table(table, file, compression=codec)

            def read(file: Path = file) -> None:
                parquet.read_table(file, use_threads=False)

            encode, _ = best(write, 1)
            decode, _ = best(read, 1)
            size = file.stat().st_size
            found.append(
                {
                    "format": f"Parquet, {codec}",
                    "bytes": size,
                    "encode_seconds": encode,
                    "decode_seconds": decode,
                    "smaller": raw / size,
                }
            )
    return found


def measure(name: str, edges: Path, divisor: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        closure(edges, divisor, folder)
        formats = ["hdf5-streams"]
        if importlib.util.find_spec("hdf5plugin"):
            import hdf5plugin

            os.environ["HDF5_PLUGIN_PATH"] = hdf5plugin.PLUGIN_PATH
            formats.append("hdf5-streams-blosc")
        run(
            os.environ["STRATALOG"],
            "export",
            folder / "ck",
            folder / "first.h5",
            "--relation",
            "path",
            "--to",
            "hdf5-streams",
        )
        x, y = read_pairs(folder / "first.h5", "path")
        raw = 16 * len(x)
        streams = [streams_row(folder, to, raw) for to in formats]
        np.stack([x, y], axis=1).astype("<u4").tofile(folder / "pairs")
        packed = subprocess.run(
            [os.environ["KEY_STREAMS"], str(folder / "pairs")],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        pack = json.loads(packed)
        for row in streams:
            # Exports deflate by themselves; encode_seconds is HDF5's own filter.
            row["pack_and_encode_seconds"] = (
                pack["pack_and_encode_seconds"]
                if row["format"] == "hdf5-streams"
                else pack["pack_seconds"] + row["encode_seconds"]
            )
        return {
            "closure": name,
            "divisor": divisor,
            "tuples": len(x),
            "raw_bytes": raw,
            "pack": pack,
            "rows": [*streams, *peers(x, y, folder, raw)],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="+", metavar="NAME=EDGES[:DIVISOR]")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    results = []
    for graph in options.graphs:
        name, _, place = graph.partition("=")
        path, _, divisor = place.partition(":")
        results.append(measure(name, Path(path), int(divisor or 1)))
        one = results[-1]
        print(
            f"\n{name}, sources divisible by {one['divisor']}: {one['tuples']:,} tuples; packing "
            f"{one['raw_bytes'] / one['pack']['pack_seconds'] / 1e9:.2f} GB/s"
        )
        print(
            "| format | bytes/tuple | smaller | pack + encode GB/s "
            "| encode by HDF5's filter or the peer GB/s | decode GB/s |"
        )
        print("|---|--:|--:|--:|--:|--:|")
        for row in one["rows"]:
            rates = [
                f"{one['raw_bytes'] / row[key] / 1e9:.2f}" if row.get(key) else ""
                for key in ("pack_and_encode_seconds", "encode_seconds", "decode_seconds")
            ]
            print(
                f"| {row['format']} | {row['bytes'] / one['tuples']:.3f} | {row['smaller']:.1f} "
                f"| {' | '.join(rates)} |",
                flush=True,
            )
        options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
