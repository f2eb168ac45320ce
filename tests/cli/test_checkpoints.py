# SPDX-License-Identifier: Apache-2.0
"""Checkpoint, die, resume on another number of ranks: the answer stays what it would have been."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from stopping_runs import StoppedRun, StoppingRuns
from stratalog_runner import PROGRAMS, Stratalog, chain, committed

MODES = ("fpp", "shared", "hdf5")


def closure_of_chain(nodes: int) -> str:
    return "".join(f"{i}\t{j}\n" for i in range(1, nodes) for j in range(i + 1, nodes + 1))


def sorted_pairs(path: Path) -> str:
    return path.read_text()


NODES = 1600
PAIRS = NODES * (NODES - 1) // 2


def stop_at_second_checkpoint(
    stopping: StoppingRuns, tmp_path: Path, ranks: int | None, *options: str
) -> StoppedRun:
    """The closure of a chain, with most of its rounds before it."""
    folder = chain(NODES, tmp_path / "chain")
    arguments = ("-F", folder, "-D", tmp_path / "out", "--checkpoint", tmp_path / "checkpoints")
    quick = ("--every", "20it", "--durability", "none")  # kills lose no written pages
    run = ("run", PROGRAMS / "closure.dl", *arguments, *quick, *options)
    return stopping(*run, ranks=ranks, STOP_AT_COMMIT=2)


@pytest.mark.parametrize(
    ("before", "after"), ((None, 3), (2, None), (2, 3), (3, 2), (4, 7), (3, 3))
)
def test_killed_and_resumed_on_other_ranks(
    before: int | None,
    after: int | None,
    stratalog: Stratalog,
    stopping: StoppingRuns,
    tmp_path: Path,
) -> None:
    stop_at_second_checkpoint(stopping, tmp_path, before).kill()
    assert not (tmp_path / "out" / "path.csv").exists()
    finished = stratalog("resume", tmp_path / "checkpoints", ranks=after)
    assert finished.sizes() == {"path": PAIRS}
    assert sorted_pairs(tmp_path / "out" / "path.csv") == closure_of_chain(NODES)
    assert "resumed from gen-" in finished.err


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str, stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path) -> None:
    stop_at_second_checkpoint(stopping, tmp_path, 2, "--mode", mode).kill()
    checkpoints = tmp_path / "checkpoints"
    listed = stratalog("ls", checkpoints, "--json").json()["generations"]
    assert {entry["mode"] for entry in listed if entry["condition"] == "valid"} == {mode}
    assert stratalog("verify", checkpoints, "--deep").out.count("all is well") >= 1
    finished = stratalog("resume", checkpoints, ranks=3)
    assert finished.sizes() == {"path": PAIRS}
    # The run went on in the mode that it had.
    listed = stratalog("ls", checkpoints, "--json").json()["generations"]
    assert {entry["mode"] for entry in listed if entry["condition"] == "valid"} == {mode}


@pytest.mark.parametrize(
    ("mode", "way"),
    (
        *((mode, way) for mode in ("shared", "hdf5-direct") for way in ("write", "pack")),
        ("hdf5-streams", "write"),
    ),
)
@pytest.mark.parametrize("ranks", (None, 3), ids=("threads", "processes"))
def test_killed_while_all_ranks_write_beside_the_evaluation(
    mode: str,
    way: str,
    ranks: int | None,
    stratalog: Stratalog,
    stopping: StoppingRuns,
    tmp_path: Path,
) -> None:
    options = ("--no-pivot", "--mode", mode, "--overlap", way, *(() if ranks else ("-j", "3")))
    stop_at_second_checkpoint(stopping, tmp_path, ranks, *options).kill()
    checkpoints = tmp_path / "checkpoints"
    assert stratalog("verify", checkpoints, "--deep").out.count("all is well") >= 1
    why = stratalog("inspect", checkpoints, "--why").out
    assert f"overlap: {way}: " in why
    assert stratalog("resume", checkpoints, ranks=2).sizes() == {"path": PAIRS}
    assert sorted_pairs(tmp_path / "out" / "path.csv") == closure_of_chain(NODES)


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGINT))
@pytest.mark.parametrize("ranks", (None, 2))
def test_stop_signals_checkpoint_and_end(
    ranks: int | None,
    number: signal.Signals,
    stratalog: Stratalog,
    stopping: StoppingRuns,
    tmp_path: Path,
) -> None:
    stopped = stop_at_second_checkpoint(stopping, tmp_path, ranks)
    stopped.send_and_go_on(number)
    out, err = stopped.process.communicate(timeout=300)
    assert stopped.process.returncode in (0, 6)  # mpiexec has codes of its own
    assert f"stopped on signal {int(number)} after checkpoint gen-" in err
    assert "stratalog resume" in err
    assert "path\t" not in out, "half an answer is no answer"
    finished = stratalog("resume", tmp_path / "checkpoints", ranks=2)
    assert finished.sizes() == {"path": PAIRS}


def test_the_same_request_once_more_does_not_cut_the_checkpoint_off(
    stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path
) -> None:
    stopped = stop_at_second_checkpoint(stopping, tmp_path, None)
    stopped.send_and_go_on(signal.SIGINT, signal.SIGTERM)
    _, err = stopped.process.communicate(timeout=300)
    assert stopped.process.returncode == 6
    assert "after checkpoint gen-" in err
    assert stratalog("resume", tmp_path / "checkpoints").sizes() == {"path": PAIRS}


@pytest.mark.parametrize("ranks", (None, 2))
def test_a_run_that_does_not_save_its_answer_is_finished_once_more(
    ranks: int | None, stratalog: Stratalog, tmp_path: Path
) -> None:
    nodes = 300
    checkpoints = tmp_path / "checkpoints"
    folders = ("-F", chain(nodes, tmp_path / "chain"), "-D", tmp_path, "--checkpoint", checkpoints)
    run = ("run", PROGRAMS / "closure.dl", *folders, "--every", "50it", "--at-end", "skip")
    first = stratalog(*run, ranks=ranks)
    assert first.sizes() == {"path": nodes * (nodes - 1) // 2}
    newest = stratalog("inspect", checkpoints, "--json").json()
    assert newest["iteration"] == 250, "the last one before the end, after 299 rounds"
    (tmp_path / "path.csv").unlink()
    again = stratalog("resume", checkpoints, ranks=3)
    assert again.sizes() == first.sizes()
    assert sorted_pairs(tmp_path / "path.csv") == closure_of_chain(nodes)
    assert stratalog("inspect", checkpoints, "--json").json()["iteration"] == nodes - 1


def test_at_end_needs_a_folder(stratalog: Stratalog, tmp_path: Path) -> None:
    refused = stratalog("run", PROGRAMS / "closure.dl", "--at-end", "skip", expect=1)
    assert "--at-end needs --checkpoint DIR" in refused.err


def test_sigusr1_checkpoints_and_goes_on(
    stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path
) -> None:
    folder = chain(NODES, tmp_path / "chain")
    checkpoints = tmp_path / "checkpoints"
    arguments = ("-F", folder, "-D", tmp_path, "--checkpoint", checkpoints, "--keep", "100")
    seldom = ("--every", f"{NODES - 600}it", "--no-pivot")
    stopped = stopping("run", PROGRAMS / "closure.dl", *arguments, *seldom, STOP_AT_COMMIT=1)
    stopped.send_and_go_on(signal.SIGUSR1)
    out, err = stopped.process.communicate(timeout=300)
    assert stopped.process.returncode == 0, err
    assert out == f"path\t{PAIRS}\n"
    assert len(committed(checkpoints)) == 3, "one by rounds, one asked for, one at the end"


def test_policies_for_a_folder_with_checkpoints(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(50, tmp_path / "chain")
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path)
    keep = ("--checkpoint", tmp_path / "checkpoints", "--every", "10it")
    assert "there is no checkpoint" in stratalog("resume", tmp_path / "chain", expect=7).err
    stratalog(*run, *keep)
    refused = stratalog(*run, *keep, expect=7)
    assert "--resume" in refused.err
    assert "--restart-fresh" in refused.err
    assert stratalog(*run, *keep, "--resume").sizes() == {"path": 1225}
    assert stratalog(*run, *keep, "--restart-fresh", ranks=2).sizes() == {"path": 1225}
    fresh = ("--checkpoint", tmp_path / "new", "--resume")
    assert stratalog(*run, *fresh).sizes() == {"path": 1225}


def newest_data_files(checkpoints: Path) -> list[Path]:
    newest = checkpoints / committed(checkpoints)[-1]
    return sorted(path for path in newest.rglob("*") if path.is_file() and path.stat().st_size > 0)


def test_a_damaged_newest_generation_is_passed_over(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(200, tmp_path / "chain")
    checkpoints = tmp_path / "checkpoints"
    arguments = ("-F", folder, "-D", tmp_path, "--checkpoint", checkpoints, "--every", "50it")
    stratalog("run", PROGRAMS / "closure.dl", *arguments, ranks=2)
    data = max(newest_data_files(checkpoints), key=lambda path: path.stat().st_size)
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 0x10
    data.chmod(0o600)
    data.write_bytes(content)
    deep = stratalog("verify", checkpoints, "--deep", expect=3)
    assert data.name in deep.out
    finished = stratalog("resume", checkpoints, ranks=3)
    assert finished.sizes() == {"path": 19900}
    assert "passed over gen-" in finished.err


def test_only_damaged_generations_end_with_code_3(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(60, tmp_path / "chain")
    checkpoints = tmp_path / "checkpoints"
    arguments = ("-F", folder, "-D", tmp_path, "--checkpoint", checkpoints, "--every", "20it")
    run = ("run", PROGRAMS / "closure.dl", *arguments)
    stratalog(*run)
    for manifest in checkpoints.glob("gen-*/MANIFEST"):
        manifest.write_bytes(manifest.read_bytes()[:-20])
    (tmp_path / "path.csv").unlink()
    for ranks in (None, 2):
        for command in (("resume", checkpoints), (*run, "--resume")):
            refused = stratalog(*command, ranks=ranks, expect=3)
            assert "none is valid" in refused.err
            assert refused.out == ""
            assert refused.err.count("none is valid") == 1, "said once, not by every rank"
    assert not (tmp_path / "path.csv").exists(), "never a silent fresh start"
    assert stratalog("ls", checkpoints, "--why", expect=3).out.count("damaged") >= 1


def test_verify_beside_a_running_job(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = chain(NODES, tmp_path / "chain")
    checkpoints = tmp_path / "checkpoints"
    # Each commit removes a generation, which may be the one that is looked at.
    quick = ("--every", "1it", "--keep", "2", "--durability", "none")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", *quick)
    job = stratalog.start(*run, "--checkpoint", checkpoints)
    while job.poll() is None and not committed(checkpoints):
        time.sleep(0.01)
    looks = 0
    while job.poll() is None:
        stratalog("verify", checkpoints, "--deep")
        looks += 1
    assert job.wait() == 0, job.communicate()
    assert looks > 0
    assert "all is well" in stratalog("verify", checkpoints, "--deep").out
