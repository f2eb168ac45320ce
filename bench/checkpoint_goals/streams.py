# SPDX-License-Identifier: Apache-2.0
"""Point 2: sorted streams, in HDF5 files (bench/streams/hdf5_streams.py) and in the own container
(bench_codec), on the papers' closures and on a generated power-law graph."""

from __future__ import annotations

import json
import lzma
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from goals.setting import ROOT, CannotRunError, Setting
from goals.verdicts import Row, judge, least, not_run

# Of sources, how many are followed: one of so many, in full and in quick mode.
GRAPHS = {"fe_ocean": (200, 2000), "usroads": (100, 1000), "clap-cfg": (200, 2000)}
POWER_LAW = ("power-law", "rmat scale=12 ef=4 seed=1", "rmat scale=11 ef=4 seed=1")
QUICK_TUPLES = 20_000_000
FORMATS = ("hdf5-streams", "hdf5-streams-blosc")
OWN = "own container"
CODEC_LINE = re.compile(
    r"^streams (encode|decode) .* ([\d.]+) GB/s raw +([\d.]+) B/tuple +([\d.]+)x"
)
LIMITS = (
    ("smaller", "smaller than (rows, 2) uint64", least(8.0, "×", 1)),
    ("encode", "packing + encoding, raw bytes a core", least(1.0, " GB/s")),
    ("decode", "decoding", least(2.0, " GB/s")),
)


def edges_of(setting: Setting) -> dict[str, Path]:
    """Edge lists that are there; the generated one where the generator is."""
    found: dict[str, Path] = {}
    folder = setting.scratch / "edges"
    folder.mkdir(parents=True, exist_ok=True)
    for name in GRAPHS:
        packed = setting.shared / "data" / "graphs" / f"{name}.tsv.xz"
        if packed.exists():
            found[name] = folder / name
            with lzma.open(packed) as source, found[name].open("wb") as target:
                shutil.copyfileobj(source, target)
    generator = setting.shared / "data" / "tools" / "gen.py"
    if generator.exists():
        name, full, quick = POWER_LAW
        found[name] = folder / name
        words = (quick if setting.is_quick else full).split()
        found[name].write_text(setting.run([sys.executable, generator, *words], 120))
    return found


def divisor_of(name: str, is_quick: bool) -> int:
    return GRAPHS[name][1 if is_quick else 0] if name in GRAPHS else 1


def run_hdf5(setting: Setting, edges: dict[str, Path]) -> list[dict[str, Any]]:
    out = setting.scratch / "streams.json"
    words = [f"{n}={path}:{divisor_of(n, setting.is_quick)}" for n, path in edges.items()]
    setting.run(
        [sys.executable, ROOT / "bench" / "streams" / "hdf5_streams.py", "--out", out, *words],
        1800,
        STRATALOG=setting.stratalog,
        KEY_STREAMS=str(setting.built("bench_key_streams")),
    )
    found: list[dict[str, Any]] = json.loads(out.read_text())
    return found


def codec_numbers(printed: str) -> dict[str, float]:
    """What bench_codec says of streams: rates in GB/s, and how much smaller they are."""
    numbers: dict[str, float] = {}
    for line in printed.splitlines():
        if found := CODEC_LINE.match(line):
            numbers[found[1]] = float(found[2])
            numbers["smaller"] = float(found[4])
    return numbers


def run_codec(setting: Setting, edges: dict[str, Path]) -> dict[str, dict[str, float]]:
    """On whole closures (in quick mode their first tuples), CPU seconds of one core."""
    program = setting.built("bench_codec")
    numbers = {}
    for name, file in edges.items():
        folder = setting.scratch / "codec"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copyfile(file, folder / "edge.facts")
        (folder / "closure.dl").write_text(
            ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n"
            "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n"
        )
        run = [setting.stratalog, "run", folder / "closure.dl", "-F", folder, "-q"]
        setting.run([*run, "--checkpoint", folder / "ck"], 600)
        few = ("--tuples", QUICK_TUPLES) if setting.is_quick else ()
        numbers[name] = codec_numbers(setting.run([program, folder / "ck", "path", *few], 600))
        shutil.rmtree(folder, ignore_errors=True)
    return numbers


def by_format(measured: list[dict[str, Any]], form: str) -> dict[str, dict[str, float]]:
    """Of each closure: how much smaller, and the two rates in GB/s."""
    numbers: dict[str, dict[str, float]] = {"smaller": {}, "encode": {}, "decode": {}}
    for one in measured:
        for row in one["rows"]:
            if row["format"] != form:
                continue
            name, raw = one["closure"], one["raw_bytes"] / 1e9
            numbers["smaller"][name] = row["smaller"]
            numbers["encode"][name] = raw / row["pack_and_encode_seconds"]
            numbers["decode"][name] = raw / row["decode_seconds"]
    return numbers


def against_others(measured: list[dict[str, Any]], form: str) -> dict[str, float]:
    """Bytes of the smallest of zlib 1 and Parquet over ours, of each closure."""
    ratios = {}
    for one in measured:
        own = [row["bytes"] for row in one["rows"] if row["format"] == form]
        others = [
            row["bytes"]
            for row in one["rows"]
            if row["format"] == "zlib 1" or row["format"].startswith("Parquet")
        ]
        if own and others:
            ratios[one["closure"]] = min(others) / own[0]
    return ratios


def judge_streams(measured: list[dict[str, Any]], note: str = "") -> list[Row]:
    rows = []
    for number, form in enumerate(FORMATS, 1):
        numbers = by_format(measured, form)
        if measured and not numbers["smaller"]:
            rows.append(not_run(f"2.{number}", form, "its filter is not there (hdf5plugin)"))
            continue
        for letter, (key, text, bound) in zip("abc", LIMITS, strict=True):
            rows.append(
                judge(f"2.{number}{letter}", f"{form}: {text}", bound, numbers[key], note=note)
            )
        rows.append(
            judge(
                f"2.{number}d",
                f"{form}: the smaller of zlib 1 and Parquet, over it",
                least(1.0, "×", 1),
                against_others(measured, form),
                note=note,
            )
        )
    return rows


def judge_codec(measured: dict[str, dict[str, float]], note: str = "") -> list[Row]:
    return [
        judge(
            f"2.3{letter}",
            f"{OWN}: {text}",
            bound,
            {name: numbers[key] for name, numbers in measured.items() if key in numbers},
            note=note,
        )
        for letter, (key, text, bound) in zip("abc", LIMITS, strict=True)
    ]


def all_rows(setting: Setting) -> list[Row]:
    edges = edges_of(setting)
    if not edges:
        raise CannotRunError(f"there are no data sets at {setting.neutral(str(setting.shared))}")
    missing = [name for name in (*GRAPHS, POWER_LAW[0]) if name not in edges]
    note = f"without {', '.join(missing)}" if missing else ""
    sources = ", ".join(
        f"{name} every {divisor_of(name, setting.is_quick)}th source"
        for name in edges
        if name in GRAPHS
    )
    rows: list[Row] = []
    try:
        rows += judge_streams(run_hdf5(setting, edges), "; ".join(filter(None, (sources, note))))
    except CannotRunError as why:
        rows.append(not_run("2", "sorted streams in HDF5", str(why)))
    try:
        first = (
            f"the first {QUICK_TUPLES:,} pairs" if setting.is_quick else "up to 200,000,000 pairs"
        )
        told = "; ".join(filter(None, (f"{first} of whole closures", note)))
        rows += judge_codec(run_codec(setting, edges), told)
    except CannotRunError as why:
        rows.append(not_run("2.3", f"sorted streams, {OWN}", str(why)))
    return rows
