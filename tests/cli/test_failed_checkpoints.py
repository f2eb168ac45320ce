# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that cannot be written: the run goes on, and whoever started it is told.

A limit of file sizes stands for a full disk: writes beyond it fail as writes to a full disk do.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stopping_runs import StoppedRun, StoppingRuns
from stratalog_runner import EDGE_CLOSURE, Finished, Stratalog, chain, committed

NODES = 300
PAIRS = NODES * (NODES - 1) // 2
# Rows of 16 bytes: the pairs of the first 20 rounds fit below 128 KiB, those of all 300 do not.
ROWS = ("--no-pivot", "--full-every", "1", "--encoding", "rows_u64")


def job(tmp_path: Path, nodes: int) -> tuple[str, ...]:
    program = tmp_path / "closure.dl"
    program.write_text(EDGE_CLOSURE)
    facts = chain(nodes, tmp_path / "chain")
    return ("run", str(program), "-F", str(facts), "--checkpoint", str(tmp_path / "ck"))


def is_finished(stratalog: Stratalog, tmp_path: Path) -> bool:
    return "2 of 2 strata finished" in stratalog("inspect", tmp_path / "ck").out


def run_with_small_files(
    stratalog: Stratalog, tmp_path: Path, *options: str, kib: int = 128, ranks: int | None = None
) -> Finished:
    limited = ["sh", "-c", f'ulimit -f {2 * kib}; exec "$0" "$@"', stratalog.program]
    launcher = [] if ranks is None else [stratalog.mpiexec, "-n", str(ranks)]
    command = job(tmp_path, NODES if ranks is None else 1500)
    rows = ROWS[:-2] if any(option.startswith("hdf5") for option in options) else ROWS
    return stratalog.run_command([*launcher, *limited, *command, *rows, *options], timeout=120)


# One process that writes HDF5 has MPI, whose own shared memory does not fit below the limit.
@pytest.mark.parametrize(
    ("threads", "mode", "overlap"),
    (
        *((threads, "fpp", way) for threads in ("1", "3") for way in ("none", "write", "pack")),
        *(("3", "hdf5-direct", way) for way in ("none", "write", "pack")),
    ),
)
def test_a_lost_answer_is_an_error_after_all_results(
    stratalog: Stratalog, tmp_path: Path, threads: str, mode: str, overlap: str
) -> None:
    report = tmp_path / "report.json"
    options = ("-q", "--every", "20it", "--report", str(report), "-j", threads, "--mode", mode)
    limit = 128 // int(threads) if mode == "fpp" else 128  # or all ranks' rows are in one file
    done = run_with_small_files(stratalog, tmp_path, *options, "--overlap", overlap, kib=limit)
    assert done.code == 4, done
    assert done.sizes()["path"] == PAIRS
    told = done.err.splitlines()
    assert all(line.startswith("stratalog: ") for line in told), "errors only"
    assert "checkpoint at iteration" in told[0] and "run goes on" in told[0]
    assert "File too large" in told[0] and "ulimit -f" in told[0]
    assert "the checkpoint at the end failed" in told[-2]
    newest = committed(tmp_path / "ck")[-1]
    assert told[-1] == (
        "stratalog: all results were written, but not the checkpoint of the answer; "
        f"the newest one in {tmp_path / 'ck'} is {newest}"
    )
    said = json.loads(report.read_text())
    failed = said["failed_checkpoints"]
    assert len(said["checkpoints"]) >= 1 and len(failed) >= 2
    assert [entry["at_end"] for entry in failed] == [False] * (len(failed) - 1) + [True]
    assert all("File too large" in entry["error"] for entry in failed)
    # What is there can be gone on from.
    stratalog("resume", tmp_path / "ck", "-q")
    assert is_finished(stratalog, tmp_path)


def test_the_newest_counts_also_where_the_answer_is_not_saved(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    skip = ("-q", "--every", "20it", "--at-end", "skip")
    done = run_with_small_files(stratalog, tmp_path, *skip)
    assert done.code == 4, done
    assert done.sizes()["path"] == PAIRS
    newest = committed(tmp_path / "ck")[-1]
    assert done.err.splitlines()[-1] == (
        "stratalog: all results were written, but not the last checkpoint; "
        f"the newest one in {tmp_path / 'ck'} is {newest}"
    )
    # Where there was none to be written, nothing is missing.
    shutil.rmtree(tmp_path / "ck")
    done = run_with_small_files(stratalog, tmp_path, "-q", "--every", "1h", "--at-end", "skip")
    assert done.code == 0, done


@pytest.mark.parametrize(
    "mode",
    (
        ("fpp",),
        ("shared",),
        ("shared-opt",),
        ("hdf5",),
        ("hdf5-opt", "--hdf5-opt", "O2,O3,O4,O5"),
        ("hdf5-opt", "--hdf5-opt", "O2,O3,O4,O5,printed:hints-local", "--deflate", "1"),
        ("hdf5-direct",),
    ),
    ids=" ".join,
)
def test_all_ranks_end_with_the_code(
    stratalog: Stratalog, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    """MPI's own shared memory needs 8 MiB; a rank's part of the answer is larger. Collective writes
    of HDF5 that fail on one rank only would leave the others waiting for ever."""
    options = ("-q", "--mode", *mode)
    done = run_with_small_files(stratalog, tmp_path, *options, kib=8192, ranks=2)
    assert done.code == 4, done
    assert done.sizes()["path"] == 1500 * 1499 // 2
    assert "File too large" in done.err
    assert "holds no checkpoint of this run" in done.err


def test_lines_of_json_tell_of_failures(stratalog: Stratalog, tmp_path: Path) -> None:
    done = run_with_small_files(stratalog, tmp_path, "--every", "100it", "--progress=json", kib=16)
    assert done.code == 4
    events = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    failures = [event["text"] for event in events if event["event"] == "failure"]
    assert len(failures) == events[-1]["failed_checkpoints"] > 1
    assert events[-1]["event"] == "end" and events[-1]["checkpoints"] == 0


@pytest.mark.parametrize("kind", ("hdf5", "hdf5-streams"))
def test_exports_that_do_not_fit_say_so_once(
    stratalog: Stratalog, tmp_path: Path, kind: str
) -> None:
    """HDF5 keeps files open that it cannot close, and complained when the process ended."""
    stratalog(*job(tmp_path, 300), "-q")
    limited = ["sh", "-c", 'ulimit -f 3; exec "$0" "$@"', stratalog.program]
    export = ["export", tmp_path / "ck", tmp_path / "x.h5", "--relation", "path", "--to", kind]
    done = stratalog.run_command([*limited, *export])
    assert done.code == 4
    assert "File too large" in done.err
    assert len(done.err.splitlines()) == 1
    assert not [each for each in tmp_path.iterdir() if "x.h5" in each.name]


def end_without_folder(stopped: StoppedRun, checkpoints: Path) -> str:
    """Takes the folder away from job(..., 900), which ends with all results; what it complains."""
    shutil.rmtree(checkpoints)
    out, err = stopped.end()
    assert stopped.process.returncode == 4, err
    assert f"path\t{900 * 899 // 2}" in out
    return err


def test_a_folder_that_goes_away_is_told(stopping: StoppingRuns, tmp_path: Path) -> None:
    quick = ("--every", "2it", "--durability", "none", "--no-pivot", "-q")
    stopped = stopping(*job(tmp_path, 900), *quick, STOP_AT_COMMIT=1)
    err = end_without_folder(stopped, tmp_path / "ck")
    assert "the checkpoint at the end failed" in err


@pytest.mark.parametrize("put", ("nothing", "a folder", "a copy"))
@pytest.mark.parametrize("ranks", (1, 2))
def test_a_folder_that_is_moved_away_is_told(
    stopping: StoppingRuns, stratalog: Stratalog, tmp_path: Path, put: str, ranks: int
) -> None:
    """The job holds the directory itself: it could write on, where nobody looks for it."""
    quick = ("--every", "2it", "--durability", "none", "--no-pivot", "-q")
    stopped = stopping(*job(tmp_path, 900), *quick, ranks=ranks, STOP_AT_COMMIT=2)
    checkpoints, moved = tmp_path / "ck", tmp_path / "moved"
    checkpoints.rename(moved)
    if put == "a copy":
        shutil.copytree(moved, checkpoints)
    elif put == "a folder":
        checkpoints.mkdir()
    before = committed(moved)
    out, err = stopped.end()
    assert stopped.process.returncode == 4, err
    assert f"path\t{900 * 899 // 2}" in out
    assert f"{checkpoints} is not the directory any more that this job opened" in err
    assert "all results were written, but not the checkpoint of the answer" in err
    assert len(committed(moved)) <= len(before) + 1, "the one that was under way"
    # Moved back, it can be gone on from.
    shutil.rmtree(checkpoints, ignore_errors=True)
    moved.rename(checkpoints)
    stratalog("resume", checkpoints, "-q")
    assert is_finished(stratalog, tmp_path)


def test_what_stays_in_the_stage_is_told(stopping: StoppingRuns, tmp_path: Path) -> None:
    stage = ("--stage", tmp_path / "fast", "--every", "2it", "--no-pivot", "-q")
    run = (*job(tmp_path, 900), *stage, "--durability", "none")
    err = end_without_folder(stopping(*run, STOP_AT_COMMIT=1), tmp_path / "ck")
    assert f"the newest checkpoints are in {tmp_path}/fast" in err


def test_a_folder_that_is_replaced_while_stages_drain_is_told(
    stopping: StoppingRuns, tmp_path: Path
) -> None:
    stage = ("--stage", tmp_path / "fast", "--every", "2it", "--no-pivot", "-q")
    stopped = stopping(*job(tmp_path, 900), *stage, "--durability", "none", STOP_AT_COMMIT=1)
    (tmp_path / "ck").rename(tmp_path / "moved")
    (tmp_path / "ck").mkdir()
    _, err = stopped.end()
    assert stopped.process.returncode == 4, err
    assert f"{tmp_path / 'ck'} is not the directory any more" in err
    assert f"the newest checkpoints are in {tmp_path}/fast" in err
    assert not list((tmp_path / "ck").iterdir())


def test_what_a_later_checkpoint_makes_good_is_no_error(
    stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path
) -> None:
    """The disk has room again before the run ends."""
    often = ("--every", "10it", "--durability", "none")
    run = (*job(tmp_path, 900), *ROWS, *often, "-q")
    stopped = stopping(*run, kib=8, STOP_AT_FAILED_WRITE=1)
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(stopped.pid, resource.RLIMIT_FSIZE, unlimited)
    _, err = stopped.end()
    assert "failed, the run goes on" in err
    assert stopped.process.returncode == 0, err
    assert is_finished(stratalog, tmp_path)


def test_stopped_without_a_checkpoint(stopping: StoppingRuns, tmp_path: Path) -> None:
    run = (*job(tmp_path, 3000), *ROWS, "--every", "1500it")
    stopped = stopping(*run, kib=8, STOP_AT_FAILED_WRITE=1)
    stopped.send_and_go_on(signal.SIGTERM)
    _, err = stopped.process.communicate(timeout=300)
    assert stopped.process.returncode == 4, err
    assert "stopped on signal 15 without a checkpoint" in err
    assert "holds no checkpoint of this run" in err


def test_python_is_told(tmp_path: Path) -> None:
    script = f"""
import resource, warnings
import stratalog
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
program = stratalog.Program('''
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
''')
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    program.insert("edge", [(1, 2), (2, 3)])
    small = program.run(checkpoint={str(tmp_path / "ck")!r})
    assert small.failed_checkpoints == () and small.is_saved and not caught
    assert not program.run().is_saved and not caught
    program.insert("edge", [(7 * i, 7 * i + 7) for i in range(40000)])
    program.insert("path", [(3 * i * i, i) for i in range(40000)])
    program.clear("edge")
    large = program.run(checkpoint={str(tmp_path / "ck2")!r})
assert len(large.failed_checkpoints) == 1 and large.checkpoints == 0 and not large.is_saved
assert "File too large" in large.failed_checkpoints[0], large
assert len(program["path"]) == 40000
assert [w.category for w in caught] == [RuntimeWarning] and "ck2" in str(caught[0].message)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=python_environment()
    )
    assert done.returncode == 0, done.stderr


def python_environment() -> dict[str, str]:
    project = Path(__file__).resolve().parents[2]
    return {**os.environ, "PYTHONPATH": str(project / "python")}
