# SPDX-License-Identifier: Apache-2.0
"""`-j N`: ranks that are threads give what processes give, and refuse what needs MPI."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from stratalog_runner import EXPECTED, PROGRAMS, Stratalog, chain, committed, outputs

Unpack = Callable[[str], Path]

# Recursion by rounds with made values, negation and an aggregate above it.
ROUNDS = """
.decl edge(a: number, b: number)
.input edge
.decl same(a: number, b: number)
same(x, y) :- edge(p, x), edge(p, y), x != y.
same(x, y) :- edge(a, x), same(a, b), edge(b, y).
.decl word(w: symbol, n: number)
word(cat("n", to_string(x)), c) :- edge(x, _), c = count : { same(x, _) }.
word(cat(w, "x"), n - 30) :- word(w, n), n > 0.
.decl lonely(a: number)
lonely(x) :- edge(x, _), !same(x, _).
.output same, word, lonely
"""


def outputs_of(stratalog: Stratalog, folder: Path, out: Path, *options: object) -> dict[str, bytes]:
    stratalog("run", folder / "case.dl", "-F", folder, "-D", out, *options)
    return outputs(out)


@pytest.fixture()
def case(tmp_path: Path) -> Path:
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "case.dl").write_text(ROUNDS)
    pairs = sorted({(i * i % 61, (i * 37 + i // 7) % 89) for i in range(400)})
    (folder / "edge.facts").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    return folder


@pytest.mark.parametrize("threads", (2, 3, 7))
@pytest.mark.parametrize("dealt", (False, True))
def test_threads_give_the_same_bytes_as_one_rank(
    case: Path, tmp_path: Path, stratalog: Stratalog, threads: int, dealt: bool
) -> None:
    one = outputs_of(stratalog, case, tmp_path / "one")
    options = ("--mirror-limit", 0, "--replicate-limit", 0) if dealt else ()
    assert outputs_of(stratalog, case, tmp_path / "many", "-j", threads, *options) == one
    assert one["same.csv"]
    assert one["word.csv"].count(b"x") > 3


@pytest.mark.parametrize("threads", (2, 4))
def test_closures_are_exact_and_the_profile_knows_the_ranks(
    stratalog: Stratalog, graph: Unpack, tmp_path: Path, threads: int
) -> None:
    profile = tmp_path / "profile.json"
    finished = stratalog(
        "run",
        PROGRAMS / "closure.dl",
        "-F",
        graph("jazz"),
        "-D",
        tmp_path,
        "--jobs",
        threads,
        "--profile",
        profile,
    )
    assert finished.sizes() == {"path": EXPECTED["graphs"]["jazz"]["closure"]}
    assert json.loads(profile.read_text())["ranks"] == threads


@pytest.mark.parametrize("mode", ("fpp", "shared", "auto"))
def test_checkpoints_of_threads_go_on_as_threads_or_alone(
    case: Path, tmp_path: Path, stratalog: Stratalog, mode: str
) -> None:
    one = outputs_of(stratalog, case, tmp_path / "one")
    keep = ("--checkpoint", tmp_path / "ck", "--every", "1it", "--keep", "100", "--mode", mode)
    assert outputs_of(stratalog, case, tmp_path / "first", "-j", 3, *keep) == one
    generations = committed(tmp_path / "ck")
    assert len(generations) > 3
    middle = sorted(generations)[len(generations) // 2]
    for number, threads in enumerate((2, 1, 5)):
        out = tmp_path / f"again{number}"
        stratalog("resume", tmp_path / "ck", middle, "-D", out, "-j", threads, "--keep", "100")
        assert outputs(out) == one


def test_functions_of_libraries_need_not_be_ready_for_threads(
    tmp_path: Path, stratalog: Stratalog
) -> None:
    (tmp_path / "f.c").write_text(
        "#include <stdio.h>\n#include <stdint.h>\nstatic char text[64];\n"
        "const char* name(int64_t n) "
        '{ snprintf(text, sizeof text, "%lld-%lld", (long long)n, (long long)n); return text; }\n'
    )
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "libfunctors.so", tmp_path / "f.c"], check=True
    )
    program = tmp_path / "names.dl"
    program.write_text(
        ".functor name(number): symbol\n.decl n(x: number)\nn(x) :- x = range(0, 3000).\n"
        ".decl named(s: symbol)\nnamed(@name(x)) :- n(x).\n.output named\n"
    )
    tried = stratalog("run", program, "-L", tmp_path, "-D", tmp_path, "-j", 4, expect=None)
    if "libffi was not there" in tried.err:
        pytest.skip("this build has no libffi: user-defined functors are refused")
    assert tried.code == 0, tried.err
    names = set((tmp_path / "named.csv").read_text().split())
    assert names == {f"{i}-{i}" for i in range(3000)}


def test_what_needs_mpi_is_refused_by_name(tmp_path: Path, stratalog: Stratalog) -> None:
    run = ("run", PROGRAMS / "closure.dl", "-F", chain(10, tmp_path), "-D", tmp_path)
    for mode in ("hdf5", "hdf5-direct"):
        keep = ("--checkpoint", tmp_path / "ck", "--mode", mode)
        refused = stratalog(*run, "-j", 2, *keep, expect=1)
        assert f"mode {mode}" in refused.err
        assert "--ranks 2" in refused.err
    assert "exclude each other" in stratalog(*run, "-j", 2, "--ranks", 2, expect=1).err
    assert "leave it away under mpiexec" in stratalog(*run, "-j", 2, ranks=2, expect=1).err


def test_errors_are_told_once(tmp_path: Path, stratalog: Stratalog) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n3\tfour\n")
    run = ("run", PROGRAMS / "closure.dl", "-F", tmp_path, "-D", tmp_path)
    refused = stratalog(*run, "-j", 3, expect=2)
    assert refused.err.count('"four"') == 1
    assert "edge.facts:2" in refused.err
