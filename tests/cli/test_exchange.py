# SPDX-License-Identifier: Apache-2.0
"""`--exchange`: processes that send tuples beside the rules that derive them find the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import Stratalog

# Bindings hop, sets are carried, two shards of `path` are searched, `far` has computed values.
PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
.decl far(x: number, n: number)
.output far
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
path(z, x) :- path(x, y), path(z, y), edge(z, x).
far(x, y * 70000 + z) :- path(x, y), path(y, z), !edge(x, z), x < 20.
"""
NODES = 503


def graph(folder: Path) -> Path:
    """Two edges from each node; its closure has 70,000 pairs, far apart."""
    folder.mkdir()
    edges = [(i, (i * 7 + 3) % NODES) for i in range(NODES)]
    edges += [(i, (i * i + 1) % NODES) for i in range(NODES)]
    text = "".join(f"{x * 1009}\t{y * 1009}\n" for x, y in edges)
    (folder / "edge.facts").write_text(text)
    (folder / "program.dl").write_text(PROGRAM)
    return folder


def run(
    stratalog: Stratalog, folder: Path, ranks: int, *options: str
) -> tuple[dict[str, bytes], Any]:
    out = folder / "-".join(("out", str(ranks), *options))
    report = folder / "report.json"
    limits = ("--mirror-limit", "0", "--replicate-limit", "0", "--no-pivot")
    stratalog(
        *("run", folder / "program.dl", "-F", folder, "-D", out, "--report", report),
        *(*limits, *options),
        ranks=ranks,
    )
    return {file.name: file.read_bytes() for file in out.iterdir()}, json.loads(report.read_text())


@pytest.mark.parametrize("ranks", (2, 3, 7))
def test_the_same_beside_and_after(ranks: int, stratalog: Stratalog, tmp_path: Path) -> None:
    folder = graph(tmp_path / "graph")
    expected, alone = run(stratalog, folder, 1)
    assert alone["exchange"] == "after"
    assert len(expected["path.csv"].splitlines()) > 60_000
    for when in ("beside", "after"):
        found, report = run(stratalog, folder, ranks, "--exchange", when)
        assert report["exchange"] == when
        assert found == expected


def test_auto_goes_by_nodes(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = graph(tmp_path / "graph")
    assert run(stratalog, folder, 2)[1]["exchange"] == "after"
    assert run(stratalog, folder, 2, "--ranks-per-node", "1")[1]["exchange"] == "beside"


def test_other_words_are_refused(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = graph(tmp_path / "graph")
    refused = stratalog("run", folder / "program.dl", "--exchange", "before", expect=1)
    assert "--exchange" in refused.err and "beside" in refused.err
