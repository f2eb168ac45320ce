# SPDX-License-Identifier: Apache-2.0
"""What scripts and people do to checkpoint folders and command lines by accident: empty variables,
lost and damaged files beside the generations, generations that are none. Nothing is passed over."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from stratalog_runner import PROGRAMS, Stratalog, chain, committed

NODES = 40


@pytest.fixture
def folder(stratalog: Stratalog, tmp_path: Path) -> Path:
    """Checkpoints of a chain by rounds: the first generation is retired and built upon."""
    facts = chain(NODES, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", "--no-pivot", "-q")
    keep = ("--keep", 4, "--durability", "data", "--encoding", "streams")
    stratalog(*run, "--checkpoint", tmp_path / "ck", "--every", "5it", *keep)
    return tmp_path / "ck"


def test_generations_that_are_none_cannot_be_verified(folder: Path, stratalog: Stratalog) -> None:
    assert "all is well" in stratalog("verify", folder).out
    last = committed(folder)[-1]
    torn = folder / "gen-00000001-0000000099"
    torn.mkdir()
    said = stratalog("verify", folder, torn.name, expect=3)
    assert f"{torn.name} cannot be verified" in said.err and "never committed" in said.err
    assert not said.out
    stratalog("compact", folder, "--keep", 2)
    (folder / last / "MANIFEST").unlink()  # as if it were retired
    assert "cannot be verified" in stratalog("verify", folder, last, "--deep", expect=3).err


@pytest.mark.parametrize("option", ["--checkpoint", "--stage", "--report", "-F", "-D", "-L"])
def test_empty_values_are_refused(tmp_path: Path, stratalog: Stratalog, option: str) -> None:
    program = tmp_path / "case.dl"
    program.write_text(".decl a(x: number)\na(1).\n.printsize a\n")
    assert "has an empty value" in stratalog("run", program, option, "", expect=1).err
    stratalog("run", program, "-M", "")  # an empty list of macros is one


def test_adding_facts_from_nowhere_is_refused(folder: Path, stratalog: Stratalog) -> None:
    said = stratalog("resume", folder, "--add-facts", "", expect=1).err
    assert "--add-facts has an empty value" in said


def test_damaged_options_end_a_resume(folder: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    shutil.rmtree(tmp_path / "out")
    options = folder / "options.json"
    whole = options.read_text()
    options.write_text("{")
    said = stratalog("resume", folder, cwd=tmp_path, expect=3).err
    assert "options.json is damaged" in said and "remove it" in said
    assert not list(tmp_path.glob("*.csv"))
    # Whoever only looks can do without.
    for command in ("ls", "inspect"):
        stratalog(command, folder)
    # And whoever looks whether all is well hears of it, besides.
    verified = stratalog("verify", folder, expect=3).out
    assert "all is well" in verified and "options.json is damaged" in verified
    options.unlink()
    said = stratalog("resume", folder, "-D", tmp_path / "out", cwd=tmp_path).err
    assert "options.json is missing" in said
    options.write_text(whole)
    assert "options.json" not in stratalog("resume", folder, cwd=tmp_path).err


def test_a_lost_store_file_is_damage(folder: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    (folder / "STORE").unlink()
    run = ("run", PROGRAMS / "closure.dl", "-F", tmp_path / "facts", "-D", tmp_path)
    for command in (
        ("ls", folder),
        ("inspect", folder),
        ("verify", folder),
        ("resume", folder),
        (*run, "--checkpoint", folder, "--resume"),
        (*run, "--checkpoint", folder, "--restart-fresh"),
    ):
        said = stratalog(*command, expect=3).err
        assert "has generations but no STORE file; restore it from a copy" in said


def test_folders_that_cannot_be_made_are_errors_of_output(
    tmp_path: Path, stratalog: Stratalog
) -> None:
    facts = chain(3, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path)
    deep = tmp_path / "a" / "b"
    for options in (("--checkpoint", deep), ("--checkpoint", tmp_path / "ck", "--stage", deep)):
        said = stratalog(*run, *options, expect=4).err
        assert f"cannot make directory {deep}: what it lies in does not exist" in said


def test_compact_keeps_what_the_run_had(folder: Path, stratalog: Stratalog) -> None:
    before = stratalog("ls", folder, "--json").json()["generations"]
    stratalog("compact", folder)
    after = stratalog("ls", folder, "--json").json()["generations"]
    assert len([g for g in after if g["condition"] == "valid"]) == 4 > 2
    assert len(before) >= 4
    assert after[0]["durability"] == "data"
    stratalog("compact", folder, "--durability", "none", "--keep", 2)
    after = stratalog("ls", folder, "--json").json()["generations"]
    assert len([g for g in after if g["condition"] == "valid"]) == 2
    assert after[0]["durability"] == "none"


def test_a_damaged_generation_that_is_asked_for(folder: Path, stratalog: Stratalog) -> None:
    last = committed(folder)[-1]
    shard = max((folder / last).iterdir(), key=lambda file: file.stat().st_size)
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(bytes(content))
    said = stratalog("resume", folder, last, expect=3).err
    assert "cannot be used" in said and last in said and "none is valid" not in said
    stratalog("resume", folder, "-q")


@pytest.mark.parametrize("number", ["-1", "99999999999999999999", "x", "1Ti", "17179869184Gi"])
@pytest.mark.parametrize("option", ["--mirror-limit", "--replicate-limit", "--eqrel-limit"])
def test_numbers_that_are_none(
    tmp_path: Path, stratalog: Stratalog, option: str, number: str
) -> None:
    run = ("run", PROGRAMS / "closure.dl", "-F", chain(3, tmp_path / "facts"), "-D", tmp_path)
    assert "expected a whole number" in stratalog(*run, option, number, expect=1).err
    stratalog(*run, option, "16Mi")


def test_exports_say_what_there_is_not(folder: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    export = ("export", folder, "--relation", "path")
    said = stratalog(*export, tmp_path / "d.tsv", "--version", "delta", expect=1).err
    assert "holds no delta of any relation" in said
    assert "exclude each other" in stratalog(*export, "-", "--json", expect=1).err


def test_a_preprocessor_whose_end_nobody_is_told(tmp_path: Path, stratalog: Stratalog) -> None:
    program = tmp_path / "case.dl"
    command = f"trap '' CHLD; exec {stratalog.program} run {program}"
    program.write_text("#define X 3\n.decl a(x: number)\na(X).\n.printsize a\n")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "a\t1\n"
    program.write_text('#include "nowhere.h"\n.decl a(x: number)\na(1).\n')
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nowhere.h" in done.stderr


def test_folders_of_any_bytes_are_remembered(tmp_path: Path, stratalog: Stratalog) -> None:
    program = tmp_path / "case.dl"
    program.write_text(".decl a(x: number)\n.output a\na(x) :- x = range(0, 9).\n")
    odd = os.fsencode(tmp_path) + b"/out\xff"
    stratalog("run", program, "-D", os.fsdecode(odd), "--checkpoint", tmp_path / "ck", "-q")
    shutil.rmtree(odd)
    stratalog("resume", tmp_path / "ck", "-q", ranks=3)
    assert (Path(os.fsdecode(odd)) / "a.csv").read_text().count("\n") == 9
    other = os.fsdecode(os.fsencode(tmp_path) + b"/out\xfe")
    stratalog("resume", tmp_path / "ck", "-q", "-D", other, ranks=2)
    assert (Path(other) / "a.csv").exists()
    names = {os.fsencode(path.name) for path in tmp_path.iterdir()}
    found = {name for name in names if name.startswith(b"out")}
    assert found == {b"out\xff", b"out\xfe"}


def test_a_job_that_was_killed_before_its_first_checkpoint_left_nothing(
    tmp_path: Path, stratalog: Stratalog
) -> None:
    program = tmp_path / "case.dl"
    program.write_text(".decl a(x: number)\na(1).\n.printsize a\n")
    stratalog("run", program, "--checkpoint", tmp_path / "ck", "-q")
    (tmp_path / "ck" / committed(tmp_path / "ck")[-1] / "MANIFEST").unlink()
    stratalog("run", program, "--checkpoint", tmp_path / "ck", "-q")
    assert len(committed(tmp_path / "ck")) == 1
    stratalog("run", program, "--checkpoint", tmp_path / "ck", "-q", expect=7)
