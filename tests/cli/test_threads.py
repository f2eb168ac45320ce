# SPDX-License-Identifier: Apache-2.0
"""-j N: ranks that are threads of one process give what ranks of MPI give."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from stopping_runs import StoppingRuns
from stratalog_runner import (
    PROGRAMS,
    RANK_COUNTS,
    Stratalog,
    chain,
    committed,
    outputs,
)

# Thin rounds that make symbols, large numbers and records, of which two rules make some alike.
MAKERS = """
.type Pair = [name: symbol, big: number]
.decl step(n: number, name: symbol, big: number, pair: Pair)
step(0, "a", 5000000000, nil).
step(n + 1, cat(name, to_string(n % 7)), big * 3 + n, [name, big]) :-
    step(n, name, big, _), n < 150.
step(n + 1, cat(name, "x"), big + 4294967296, pair) :-
    step(n, name, big, pair), n % 50 = 0, n < 150.
.decl far(a: number, b: number)
far(a, b) :- step(a, _, b, _), a > 140.
.output step, far
"""

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


def closure_size(nodes: int) -> int:
    return nodes * (nodes - 1) // 2


@pytest.mark.parametrize("threads", RANK_COUNTS)
@pytest.mark.parametrize("how", ((), ("--no-pivot",), ("--no-pivot", "--no-sets")))
def test_threads_are_ranks(
    threads: int, how: tuple[str, ...], stratalog: Stratalog, tmp_path: Path
) -> None:
    folder = chain(200, tmp_path / "chain")
    report = tmp_path / "report.json"
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "--report", report, *how)
    finished = stratalog(*run, "-D", tmp_path / "threads", "-j", threads)
    assert finished.sizes() == {"path": closure_size(200)}
    assert json.loads(report.read_text())["ranks"] == threads
    stratalog(*run, "-D", tmp_path / "one")
    assert outputs(tmp_path / "threads") == outputs(tmp_path / "one")


@pytest.mark.parametrize("how", ((), ("--mirror-limit", 0), ("--mirror-limit", 400)))
def test_values_made_alike_by_all_ranks(
    how: tuple[object, ...], stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "makers.dl"
    program.write_text(MAKERS)
    stratalog("run", program, "-D", tmp_path / "1")
    expected = outputs(tmp_path / "1")
    assert expected["step.csv"].count(b"\n") > 400
    for threads in (2, 3, 7):
        keep = ("--checkpoint", tmp_path / f"ck{threads}", "--every", "40it")
        stratalog("run", program, "-D", tmp_path / f"{threads}", "-j", threads, *how, *keep)
        assert outputs(tmp_path / f"{threads}") == expected
        middle = committed(tmp_path / f"ck{threads}")[0]
        again = ("-D", tmp_path / f"again{threads}", "-j", 2)
        stratalog("resume", tmp_path / f"ck{threads}", middle, *again)
        assert outputs(tmp_path / f"again{threads}") == expected


def test_one_for_each_core(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(50, tmp_path / "chain")
    report = tmp_path / "report.json"
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path, "--report", report)
    assert stratalog(*run, "--jobs=auto").sizes() == {"path": closure_size(50)}
    allowed = os.sched_getaffinity(0)
    # Fewer where the tests run in a control group that is granted less time.
    assert 1 <= json.loads(report.read_text())["ranks"] <= len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert stratalog(*run, "--jobs=auto").sizes() == {"path": closure_size(50)}
    finally:
        os.sched_setaffinity(0, allowed)
    assert json.loads(report.read_text())["ranks"] == 1


@pytest.mark.parametrize(
    "mode", ("fpp", "shared", "shared-opt", "hdf5-direct", "hdf5-streams", "hdf5-auto", "auto")
)
def test_checkpoints_of_threads_are_those_of_ranks(
    mode: str, stratalog: Stratalog, tmp_path: Path
) -> None:
    folder = chain(300, tmp_path / "chain")
    checkpoints = tmp_path / "checkpoints"
    where = ("-F", folder, "-D", tmp_path, "--checkpoint", checkpoints)
    how = ("--every", "50it", "--mode", mode, "--no-pivot", "--keep", "9")
    stratalog("run", PROGRAMS / "closure.dl", *where, *how, "-j", 3)
    assert "all is well" in stratalog("verify", checkpoints, "--deep").out
    middle = committed(checkpoints)[2]
    for ranks, jobs in ((2, ()), (None, ()), (None, ("-j", 4))):
        copy = tmp_path / f"copy-{ranks}-{len(jobs)}"
        shutil.copytree(checkpoints, copy)
        resumed = stratalog("resume", copy, middle, *jobs, ranks=ranks)
        assert resumed.sizes() == {"path": closure_size(300)}
        assert f"resumed from {middle}" in resumed.err


def test_auto_spreads_threads_over_files(stratalog: Stratalog, tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    where = ("-F", chain(300, tmp_path / "chain"), "-D", tmp_path, "--checkpoint", checkpoints)
    stratalog("run", PROGRAMS / "closure.dl", *where, "--mode", "auto", "--files", 2, "-j", 4)
    listed = stratalog("ls", checkpoints, "--json").json()["generations"]
    assert listed[-1]["mode"] == "shared-opt"


def test_threads_stop_together(
    stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path
) -> None:
    nodes = 1600
    checkpoints = tmp_path / "checkpoints"
    where = ("-F", chain(nodes, tmp_path / "chain"), "-D", tmp_path, "--checkpoint", checkpoints)
    how = ("--every", "20it", "--durability", "none", "--no-pivot", "-j", 3)
    stopped = stopping("run", PROGRAMS / "closure.dl", *where, *how, STOP_AT_COMMIT=2)
    stopped.send_and_go_on(signal.SIGTERM)
    _, err = stopped.process.communicate(timeout=300)
    assert stopped.process.returncode == 6, err
    assert "stopped on signal 15 after checkpoint gen-" in err
    finished = stratalog("resume", checkpoints, "-j", 2)
    assert finished.sizes() == {"path": closure_size(nodes)}


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


def test_hdf5_output_of_threads(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "named.dl"
    program.write_text(
        ".decl edge(a: number, b: number)\n.input edge\n"
        ".decl path(a: number, b: number)\n"
        "path(a, b) :- edge(a, b).\npath(a, c) :- path(a, b), edge(b, c).\n"
        ".decl named(a: symbol, b: number)\nnamed(to_string(a), b) :- path(a, b), a < 7.\n"
        ".output path(IO=hdf5)\n.output named(IO=hdf5)\n"
    )
    folder = chain(60, tmp_path / "chain")
    for threads in (1, 2, 5):
        stratalog("run", program, "-F", folder, "-D", tmp_path / str(threads), "-j", threads)
    for name in ("path.h5", "named.h5"):
        whole = (tmp_path / "1" / name).read_bytes()
        assert (tmp_path / "2" / name).read_bytes() == whole
        assert (tmp_path / "5" / name).read_bytes() == whole


@pytest.mark.parametrize("mode", ("hdf5", "hdf5-opt"))
def test_modes_that_need_mpi_are_refused(mode: str, stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(5, tmp_path / "chain")
    where = ("-F", folder, "-D", tmp_path, "--checkpoint", tmp_path / "checkpoints")
    run = ("run", PROGRAMS / "closure.dl", *where, "--mode", mode)
    refused = stratalog(*run, "-j", 2, expect=1)
    assert f"mode {mode} writes through MPI" in refused.err
    assert "--ranks 2" in refused.err
    stratalog(*run, "-j", 1)


def test_errors_are_told_once(stratalog: Stratalog, tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n3\n")
    finished = stratalog(
        "run", PROGRAMS / "closure.dl", "-F", tmp_path, "-D", tmp_path, "-j", 4, expect=2
    )
    assert finished.err.count("edge.facts:2") == 1


@pytest.mark.parametrize("jobs", ("0", "-3", "many", "2.5", "1025", ""))
def test_bad_numbers_of_threads(jobs: str, stratalog: Stratalog, tmp_path: Path) -> None:
    refused = stratalog("run", PROGRAMS / "closure.dl", "-F", tmp_path, f"--jobs={jobs}", expect=1)
    assert "--jobs" in refused.err


def test_threads_beside_processes_are_refused(stratalog: Stratalog, tmp_path: Path) -> None:
    run = ("run", PROGRAMS / "closure.dl", "-F", tmp_path)
    assert "exclude each other" in stratalog(*run, "-j", 2, "--ranks", 2, expect=1).err
    refused = stratalog(*run, "-j", 2, ranks=2, expect=1)
    assert refused.err.count("-j makes ranks of threads") == 1
