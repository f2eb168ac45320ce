# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random system calls of real runs on 1 to 4 ranks, again and again.

Each time the run goes on with another number of ranks from what the killed one left. Never a wrong
answer, never a hang, never less than what was committed before.

STRATALOG_KILLS sets the number of kills (120 by default), STRATALOG_SEED the random choices.
"""

from __future__ import annotations

import os
import random
import shlex
import shutil
from pathlib import Path

import pytest
from stratalog_runner import PROGRAMS, Stratalog, committed, unpack_graph

# The calls through which a checkpoint reaches the disk. A run makes up to a hundred of them.
CALLS = "pwrite64,fsync,renameat,renameat2,rename,unlinkat,mkdirat"
MODES = ("fpp", "fpp", "shared", "hdf5")
PAIRS = 39204  # of the closure of `jazz`


def killed_run(
    stratalog: Stratalog, arguments: list[str], ranks: int, victim: int, call: int
) -> list[str]:
    """The command that runs on `ranks` ranks and kills rank `victim` at its call number `call`."""
    program = shlex.join([stratalog.program, *arguments])
    inject = f"-e trace={CALLS} -e inject={CALLS}:signal=KILL:when={call}"
    strace = f"strace -f -qq -o /dev/null {inject}"
    chosen = f'[ "${{PMI_RANK:-0}}" = {victim} ]'
    script = f"if {chosen}; then exec {strace} {program}; else exec {program}; fi"
    return [stratalog.mpiexec, "-n", str(ranks), "bash", "-c", script]


def works(strace: str, tmp_path: Path) -> bool:
    return (
        os.system(f"{strace} -qq -o {shlex.quote(str(tmp_path / 'probe'))} true 2>/dev/null") == 0
    )


def test_kills_at_random_calls(stratalog: Stratalog, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None or not works(strace, tmp_path):
        pytest.skip("strace is not there or may not trace here")
    kills = int(os.environ.get("STRATALOG_KILLS", "120"))
    seed = int(os.environ.get("STRATALOG_SEED", "20261121"))
    choose = random.Random(seed)
    facts = unpack_graph("jazz", tmp_path / "jazz")
    done = chains = resumed = 0
    while done < kills:
        chains += 1
        checkpoints = tmp_path / f"checkpoints-{chains}"
        mode = choose.choice(MODES)
        durability = choose.choice(("full", "full", "none"))
        newest: list[str] = []
        arguments = ["run", str(PROGRAMS / "closure.dl"), "-F", str(facts), "-q", "--resume"]
        arguments += ["-D", str(tmp_path / "out")]
        arguments += ["--checkpoint", str(checkpoints), "--every", "1it", "--mode", mode]
        arguments += ["--durability", durability]
        for _ in range(choose.randint(2, 6)):
            ranks = choose.randint(1, 4)
            call = choose.randint(1, 90)
            command = killed_run(stratalog, arguments, ranks, choose.randrange(ranks), call)
            where = f"seed {seed}, chain {chains}, kill {done}: {shlex.join(command)}"
            ended = stratalog.run_command(command, timeout=600)
            done += 1
            after = committed(checkpoints)
            # Retention may remove older generations, but the newest committed one is never lost.
            assert not newest or (after and after[-1] >= newest[-1]), where
            newest = after
            if ended.code == 0:
                assert ended.sizes() == {"path": PAIRS}, where
                break
        ranks = choose.randint(1, 4)
        finished = stratalog(*arguments, ranks=ranks, timeout=600)
        where = f"seed {seed}, chain {chains}, after {done} kills, {ranks} ranks"
        assert finished.sizes() == {"path": PAIRS}, where
        assert "path" in finished.out
        resumed += bool(newest)
        assert stratalog("verify", checkpoints, "--deep").code == 0, where
        shutil.rmtree(checkpoints)
    # A campaign in which nothing was ever resumed would prove nothing.
    assert resumed >= chains // 4
    print(f"{done} kills in {chains} chains, {resumed} of them resumed from a checkpoint")
