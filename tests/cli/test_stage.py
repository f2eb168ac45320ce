# SPDX-License-Identifier: Apache-2.0
"""--stage: checkpoints are written to a staging directory and drained to where they belong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from stopping_runs import StoppingRuns
from stratalog_runner import PROGRAMS, Stratalog, chain, committed

NODES = 150
PAIRS = NODES * (NODES - 1) // 2


def run_staged(stratalog: Stratalog, tmp_path: Path, *options: str, ranks: int = 2) -> str:
    facts = chain(NODES, tmp_path / "facts")
    done = stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out"),
        *("--checkpoint", tmp_path / "ck", "--stage", tmp_path / "fast", "--every", "30it"),
        *options,
        ranks=ranks,
    )
    assert done.sizes() == {"path": PAIRS}
    return done.err


@pytest.mark.parametrize(
    "mode",
    [
        "fpp",
        "shared",
        "shared-opt",
        "hdf5",
        "hdf5-opt",
        "hdf5-direct",
        "hdf5-streams",
        "hdf5-auto",
        "auto",
    ],
)
def test_all_is_drained_at_the_end(mode: str, stratalog: Stratalog, tmp_path: Path) -> None:
    said = run_staged(stratalog, tmp_path, "--mode", mode)
    assert "drained to" in said
    generations = stratalog("ls", tmp_path / "ck", "--json").json()["generations"]
    assert {g["place"] for g in generations} <= {"drained", "drained and staged"}
    assert stratalog("inspect", tmp_path / "ck", "--json").json()["place"] == "drained and staged"
    # What has arrived needs no stage.
    shutil.rmtree(tmp_path / "fast")
    assert "all is well" in stratalog("verify", tmp_path / "ck", "--deep").out
    resumed = stratalog("resume", tmp_path / "ck", "-D", tmp_path / "again", ranks=3)
    assert resumed.sizes() == {"path": PAIRS}
    assert (tmp_path / "fast").is_dir()


def test_what_waits_in_the_stage_is_found(stratalog: Stratalog, tmp_path: Path) -> None:
    run_staged(stratalog, tmp_path)
    # As if the job had died before draining the newest.
    newest = stratalog("inspect", tmp_path / "ck", "--json").json()["generation"]
    (tmp_path / "ck" / newest / "MANIFEST").unlink()
    listed = stratalog("ls", tmp_path / "ck").out
    assert "staged, not drained" in listed.splitlines()[1]
    assert stratalog("ls", tmp_path / "ck", "--json").json()["generations"][0]["place"] == "staged"
    assert "not yet drained" in stratalog("inspect", tmp_path / "ck").out
    assert "not yet drained" in stratalog("verify", tmp_path / "ck", "--deep").out
    refused = stratalog("compact", tmp_path / "ck", expect=1)
    assert "waits in the staging directory" in refused.err
    stratalog("resume", tmp_path / "ck", "-D", tmp_path / "again")
    assert (tmp_path / "ck" / newest / "MANIFEST").exists()
    assert "all is well" in stratalog("verify", tmp_path / "ck", newest, "--deep").out


def test_what_compaction_retires_waits_no_longer(stratalog: Stratalog, tmp_path: Path) -> None:
    run_staged(stratalog, tmp_path, "--mode", "hdf5-direct")
    staged = list((tmp_path / "fast").glob("*/gen-*"))
    assert len(staged) == 1
    # The second one takes the generation out of the folder whose copy is still in the stage.
    stratalog("compact", tmp_path / "ck")
    stratalog("compact", tmp_path / "ck")
    assert staged[0].name not in committed(tmp_path / "ck")
    assert "staged" not in stratalog("ls", tmp_path / "ck").out
    assert stratalog("verify", tmp_path / "ck", "--deep").out.count("all is well") == 2
    stratalog("compact", tmp_path / "ck")
    again = stratalog("resume", tmp_path / "ck", "-D", tmp_path / "again")
    assert "was not drained" not in again.err
    assert again.sizes() == {"path": PAIRS}
    # The next job that stages a checkpoint frees the stage.
    facts = tmp_path / "more"
    facts.mkdir()
    (facts / "edge.facts").write_text("0\t7000\n")
    stratalog(
        *("resume", tmp_path / "ck", "--add-facts", facts, "-D", tmp_path / "more-out"),
        *("--stage", tmp_path / "fast"),
    )
    assert not staged[0].exists()


def test_what_a_killed_job_left_of_draining_is_no_damage(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    run_staged(stratalog, tmp_path)
    newest = stratalog("inspect", tmp_path / "ck", "--json").json()["generation"]
    shutil.rmtree(tmp_path / "fast")
    for name in (".state-0001.0-00000001", "MANIFEST.tmp", "MANIFEST.removed"):
        (tmp_path / "ck" / newest / name).write_bytes(b"half of it")
    assert "all is well" in stratalog("verify", tmp_path / "ck", newest, "--deep").out
    (tmp_path / "ck" / newest / "notes.txt").write_text("what is this?")
    damaged = stratalog("verify", tmp_path / "ck", newest, "--deep", expect=3)
    assert "notes.txt does not belong there" in damaged.out


@pytest.mark.parametrize("stage", ["fast", "./fast-{node}", "there/../fast"])
def test_a_relative_stage_is_found_from_elsewhere(
    stage: str, stratalog: Stratalog, tmp_path: Path
) -> None:
    for name in ("here", "here/there", "elsewhere"):
        (tmp_path / name).mkdir()
    facts = chain(NODES, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "--every", "30it", "--no-pivot", "-j", 4)
    how = ("--checkpoint", "ck", "--stage", stage, "--ranks-per-node", 2 if "{" in stage else 4)
    stratalog(*run, *how, cwd=tmp_path / "here")
    said = json.loads((tmp_path / "here" / "ck" / "options.json").read_text())["stage"]
    assert Path(said).is_absolute()
    assert ("{node}" in said) == ("{node}" in stage)
    # As if the job had died before draining the newest.
    last = newest(stratalog, tmp_path / "here" / "ck")
    as_if_killed_before_draining(tmp_path / "here" / "ck", last)
    again = ("resume", "../here/ck", "-j", 4, "--ranks-per-node", 2 if "{" in stage else 4)
    resumed = stratalog(*again, cwd=tmp_path / "elsewhere")
    assert f"resumed from {last}" in resumed.err
    assert newest(stratalog, tmp_path / "here" / "ck") >= last
    assert not [path for path in (tmp_path / "elsewhere").iterdir() if "fast" in path.name]


def test_a_copy_takes_nothing_from_the_stage_of_its_original(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    run_staged(stratalog, tmp_path)
    shutil.copytree(tmp_path / "ck", tmp_path / "copy")
    copied = newest(stratalog, tmp_path / "copy")
    facts = tmp_path / "more"
    facts.mkdir()
    (facts / "edge.facts").write_text(f"{NODES}\t{NODES + 7}\n")
    longer = stratalog("resume", tmp_path / "ck", "--add-facts", facts, "-q").sizes()["path"]
    assert longer > PAIRS
    # Also where it has waited there alone, and where the original has gone.
    last = newest(stratalog, tmp_path / "ck")
    as_if_killed_before_draining(tmp_path / "ck", last)
    assert newest(stratalog, tmp_path / "ck") == last
    for has_original in (True, False):
        if not has_original:
            (tmp_path / "ck").rename(tmp_path / "moved")
        assert newest(stratalog, tmp_path / "copy") == copied
        same = stratalog("resume", tmp_path / "copy", "-q", "-D", tmp_path / "again")
        assert same.sizes() == {"path": PAIRS}
    # What was moved keeps what waits for it, and a copy that writes has a folder of its own.
    assert newest(stratalog, tmp_path / "moved") == last
    stratalog("resume", tmp_path / "copy", "--add-facts", facts, "-q")
    assert len(list((tmp_path / "fast").iterdir())) == 2
    done = stratalog("resume", tmp_path / "moved", "-q", "-D", tmp_path / "again")
    assert done.sizes() == {"path": longer}
    assert last in committed(tmp_path / "moved")


def test_a_folder_of_the_stage_that_may_be_anybodys_is_left_alone(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    run_staged(stratalog, tmp_path)
    (home,) = (tmp_path / "fast").glob("*/HOME")
    home.unlink()
    home.mkdir()  # as if it could not be read
    facts = tmp_path / "more"
    facts.mkdir()
    (facts / "edge.facts").write_text(f"{NODES}\t{NODES + 7}\n")
    stratalog("resume", tmp_path / "ck", "--add-facts", facts, "-q")
    assert len(list((tmp_path / "fast").iterdir())) == 2


def test_what_waits_in_another_stage_is_not_passed_over(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    run_staged(stratalog, tmp_path)
    last = newest(stratalog, tmp_path / "ck")
    as_if_killed_before_draining(tmp_path / "ck", last)
    said = f"{last} waits in {tmp_path}/fast, the staging directory of the job before"
    plain = ("run", PROGRAMS / "closure.dl", "-F", tmp_path / "facts", "-D", tmp_path / "out")
    folder = ("--checkpoint", tmp_path / "ck")
    other = ("--stage", tmp_path / "other")
    for command in (
        ("resume", tmp_path / "ck", *other),
        (*plain, *folder, *other, "--resume"),
        (*plain, *folder, "--resume"),
        (*plain, *folder),
    ):
        assert said in stratalog(*command, expect=7).err
    (tmp_path / "there").mkdir()
    stratalog("resume", tmp_path / "ck", "--stage", tmp_path / "there" / ".." / "fast", "-q")
    assert last in committed(tmp_path / "ck")
    stratalog("resume", tmp_path / "ck", *other, "-q")


def test_the_folder_itself_is_no_stage(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = chain(NODES, tmp_path / "facts")
    (tmp_path / "ck").mkdir()
    (tmp_path / "link").symlink_to("ck")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "--checkpoint", tmp_path / "ck")
    for ranks in (1, 3):
        said = stratalog(*run, "--stage", tmp_path / "link", ranks=ranks, expect=1).err
        assert f"--stage: {tmp_path / 'link'} is the checkpoint folder itself" in said


def nodes(tmp_path: Path, *options: str) -> tuple[str, ...]:
    """Two ranks on each declared node, each node with a stage and with tuples of its own."""
    stage = str(tmp_path / "fast-{node}")
    return ("--stage", stage, "--ranks-per-node", "2", "--no-pivot", *options)


def newest(stratalog: Stratalog, checkpoints: Path) -> str:
    return str(stratalog("inspect", checkpoints, "--json").json()["generation"])


def as_if_killed_before_draining(checkpoints: Path, generation: str) -> None:
    """Nothing of it is at home; the stages keep the newest."""
    shutil.rmtree(checkpoints / generation)


@pytest.mark.parametrize("launcher", ["mpi", "threads"])
def test_each_node_drains_its_own_stage(
    launcher: str, stratalog: Stratalog, tmp_path: Path
) -> None:
    ranks = 4 if launcher == "mpi" else None
    options = nodes(tmp_path) if launcher == "mpi" else nodes(tmp_path, "-j", "4")
    facts = chain(NODES, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", "--every", "20it")
    done = stratalog(*run, "--checkpoint", tmp_path / "ck", *options, ranks=ranks)
    assert done.sizes() == {"path": PAIRS}
    assert "drained to" in done.err
    for node in (0, 1):
        of_ranks = {p.name[-1] for p in (tmp_path / f"fast-{node}").glob("*/gen-*/*total.*")}
        assert of_ranks == ({"0", "1"} if node == 0 else {"2", "3"})
    assert "all is well" in stratalog("verify", tmp_path / "ck", "--deep").out
    shutil.rmtree(tmp_path / "fast-0")
    shutil.rmtree(tmp_path / "fast-1")
    resumed = stratalog("resume", tmp_path / "ck", "-D", tmp_path / "again", ranks=3)
    assert resumed.sizes() == {"path": PAIRS}


def test_stages_of_nodes_are_found_again_or_given_up(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = chain(NODES, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", "--every", "20it")
    stratalog(*run, "--checkpoint", tmp_path / "ck", *nodes(tmp_path), ranks=4)
    last = newest(stratalog, tmp_path / "ck")
    for name in ("ck", "fast-0", "fast-1"):
        shutil.copytree(tmp_path / name, tmp_path / "kept" / name)
    as_if_killed_before_draining(tmp_path / "ck", last)
    listed = stratalog("ls", tmp_path / "ck").out.splitlines()
    assert last in listed[1]
    assert "staged, the rest on other nodes or lost" in listed[1]
    # The same nodes, more of them, and other ranks on them.
    found = ("resume", tmp_path / "ck", "-D", tmp_path / "again", "--verbose")
    done = stratalog(*found, "--ranks-per-node", "1", ranks=3)
    assert done.sizes() == {"path": PAIRS}
    assert f"resumed from {last}" in done.err
    assert (tmp_path / "ck" / last / "MANIFEST").exists()
    # One node's stage is gone: the newest that was drained.
    for name in ("ck", "fast-0", "fast-1"):
        shutil.rmtree(tmp_path / name)
        shutil.copytree(tmp_path / "kept" / name, tmp_path / name)
    as_if_killed_before_draining(tmp_path / "ck", last)
    shutil.rmtree(tmp_path / "fast-1")
    done = stratalog(*found, "--ranks-per-node", "2", ranks=4)
    assert done.sizes() == {"path": PAIRS}
    assert f"{last} was not drained" in done.err
    assert "in the stage of no node of this job" in done.err
    assert "resumed from gen-" in done.err
    assert f"resumed from {last}" not in done.err
    assert "all is well" in stratalog("verify", tmp_path / "ck", "--deep").out


def test_a_killed_job_goes_on_from_the_stages_of_its_nodes(
    stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path
) -> None:
    facts = chain(900, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", "--every", "5it")
    options = ("--checkpoint", tmp_path / "ck", *nodes(tmp_path))
    stopping(*run, *options, ranks=4, STOP_AT_COMMIT=1).kill()
    assert len(list((tmp_path / "fast-0").glob("*/gen-*/MANIFEST"))) == 1
    assert not committed(tmp_path / "ck"), "nothing was drained"
    done = stratalog("resume", tmp_path / "ck", "--ranks-per-node", "2", ranks=4)
    assert done.sizes() == {"path": 900 * 899 // 2}
    assert "all is well" in stratalog("verify", tmp_path / "ck", "--deep").out


@pytest.mark.parametrize(
    "mode", ["shared", "shared-opt", "hdf5", "hdf5-opt", "hdf5-direct", "hdf5-streams"]
)
def test_ranks_of_a_node_share_a_file(mode: str, stratalog: Stratalog, tmp_path: Path) -> None:
    facts = chain(NODES, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", "--every", "50it")
    options = ("--checkpoint", tmp_path / "ck", "--mode", mode, *nodes(tmp_path))
    assert stratalog(*run, *options, ranks=4).sizes() == {"path": PAIRS}
    shutil.rmtree(tmp_path / "fast-0")
    shutil.rmtree(tmp_path / "fast-1")
    assert "all is well" in stratalog("verify", tmp_path / "ck", "--deep").out
    resumed = stratalog("resume", tmp_path / "ck", "-D", tmp_path / "again", ranks=3)
    assert resumed.sizes() == {"path": PAIRS}
    # Nobody has asked for so many files.
    assert (
        json.loads(json.loads((tmp_path / "ck/options.json").read_text())["layout"])["files"] == 0
    )


def test_other_nodes_share_other_files(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = chain(NODES, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", "--every", "50it")
    stage = ("--mode", "hdf5-direct", "--stage", tmp_path / "fast-{node}", "--ranks-per-node", "1")
    stratalog(*run, "--checkpoint", tmp_path / "ck", *stage, "-j", "2")
    more = tmp_path / "more"
    more.mkdir()
    (more / "edge.facts").write_text(f"{NODES}\t{NODES + 1}\n")
    add = ("resume", tmp_path / "ck", "--add-facts", more, "-D", tmp_path / "again")
    grown = stratalog(*add, "-j", "3", "--ranks-per-node", "1")
    assert grown.sizes() == {"path": PAIRS + NODES}
    assert "all is well" in stratalog("verify", tmp_path / "ck", "--deep").out


@pytest.mark.parametrize("options", [("--mode", "auto"), ("--mode", "shared", "--files", "1")])
def test_one_file_of_several_nodes_is_refused(
    options: tuple[str, ...], stratalog: Stratalog, tmp_path: Path
) -> None:
    facts = chain(10, tmp_path / "facts")
    refused = stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out"),
        *("--checkpoint", tmp_path / "ck", *options, *nodes(tmp_path)),
        ranks=4,
        expect=None,
    )
    assert refused.code != 0
    assert f"mode {options[1]}" in refused.err
    assert "several nodes" in refused.err or "2 nodes" in refused.err


def test_one_stage_for_several_nodes_is_refused(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = chain(NODES, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", "--every", "20it")
    stage = ("--checkpoint", tmp_path / "ck", "--stage", tmp_path / "fast", "-j", "4")
    refused = stratalog(*run, *stage, "--ranks-per-node", "2", expect=None)
    assert refused.code != 0
    assert "is the same on several nodes; put {node} into its path" in refused.err
    assert "was not drained" not in refused.err
    # What may stand there is nothing but the folder that an earlier attempt has opened.
    stratalog(*run, *stage, "--ranks-per-node", "4")
