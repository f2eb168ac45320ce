# SPDX-License-Identifier: Apache-2.0
"""Generations that build on older ones, as a user sees them: smaller, named, and restartable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stopping_runs import StoppingRuns
from stratalog_runner import PROGRAMS, Stratalog, chain, committed, outputs

NODES = 300
PAIRS = NODES * (NODES - 1) // 2


def run(stratalog: Stratalog, tmp_path: Path, name: str, *options: str) -> dict[str, Any]:
    """Runs the closure of a chain with ten checkpoints; its report."""
    facts = chain(NODES, tmp_path / "facts")
    report = tmp_path / f"{name}.json"
    done = stratalog(
        *("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / f"out-{name}"),
        *("--checkpoint", tmp_path / name, "--every", "30it", "--durability", "none"),
        *("--report", report, *options),
        ranks=2,
    )
    assert done.sizes() == {"path": PAIRS}
    parsed: dict[str, Any] = json.loads(report.read_text())
    return parsed


def written(report: dict[str, Any]) -> int:
    """Rows: bytes of checkpoints as small as these are mostly headers."""
    return sum(saved["rows"] for saved in report["checkpoints"])


@pytest.mark.parametrize("engine", ((), ("--no-pivot",)))
def test_growth_is_written_once(
    engine: tuple[str, ...], stratalog: Stratalog, tmp_path: Path
) -> None:
    chained = run(stratalog, tmp_path, "chained", *engine)
    whole = run(stratalog, tmp_path, "whole", "--full-every", "1", *engine)
    assert len(chained["checkpoints"]) == len(whole["checkpoints"]) >= 9
    assert written(chained) < written(whole) / 2
    state = stratalog("inspect", tmp_path / "chained", "--json").json()
    path = next(r for r in state["relations"] if (r["name"], r["version"]) == ("path", "total"))
    assert path["rows"] == PAIRS
    assert path["choice"]["part"] in ("whole", "growth")
    assert path["choice"]["reason"]
    assert state["builds_on"]
    assert not stratalog("inspect", tmp_path / "whole", "--json").json()["builds_on"]
    for name in ("chained", "whole"):
        assert stratalog("verify", tmp_path / name, "--deep").out.count("all is well") == 2


@pytest.mark.parametrize(
    ("ranks", "mode"),
    ((1, "fpp"), (3, "fpp"), (2, "shared"), (2, "hdf5-direct"), (2, "hdf5-streams"), (1, "auto")),
)
def test_chains_are_folded_beside_the_evaluation(
    ranks: int, mode: str, stratalog: Stratalog, tmp_path: Path
) -> None:
    # What has more bytes, or takes longer, is folded only where checkpoints are far apart.
    nodes = 150 if mode in ("hdf5-direct", "hdf5-streams") else 1500
    facts = chain(nodes, tmp_path / "facts")
    folder = tmp_path / "ck"
    folder.mkdir()
    sums = {}
    for compaction in ("auto", "none"):
        report = tmp_path / f"{compaction}.json"
        done = stratalog(
            *("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / compaction),
            *("--checkpoint", folder / compaction, "--every", f"{nodes // 30}it"),
            *("--durability", "none", "--compaction", compaction, "--keep", "100"),
            *("--no-pivot", "--overlap", "pack"),
            *("--full-every", "2", "--report", report, "-j", ranks, "--mode", mode),
        )
        assert done.sizes() == {"path": nodes * (nodes - 1) // 2}
        saves = json.loads(report.read_text())["checkpoints"]
        sums[compaction] = sum(save["folded_relations"] for save in saves)
        told = "chains of growth were written as one in" in done.err
        assert told == (compaction == "auto")
        options = json.loads((folder / compaction / "options.json").read_text())
        assert options["compaction"] == compaction
    assert sums["auto"] >= 2 and sums["none"] == 0
    # A folded generation says so, is sound, and can be gone on from, on another number of ranks.
    store = folder / "auto"
    folded = [
        generation
        for generation in committed(store)
        if '"folded"' in (store / generation / "MANIFEST").read_text()
    ]
    assert len(folded) == sums["auto"]
    why = stratalog("inspect", store, folded[-1], "--why").out
    assert "read back and written as one beside the evaluation" in why
    assert stratalog("verify", store, "--deep").out.count("all is well") >= len(folded)
    stratalog("resume", store, folded[-1], "-D", tmp_path / "again", "-j", 2)
    assert outputs(tmp_path / "again") == outputs(tmp_path / "none")


def test_killed_while_chains_are_folded(
    stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path
) -> None:
    nodes = 1200
    facts = chain(nodes, tmp_path / "facts")
    folder = tmp_path / "ck"
    often = ("--every", "2it", "--durability", "none", "--full-every", "2", "--overlap", "pack")
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path / "out", "--no-pivot")
    stopping(*run, "--checkpoint", folder, *often, STOP_AT_WRITE=50).kill()
    resumed = ("resume", folder, "-D", tmp_path / "out", "--no-pivot", "--overlap", "pack")
    for kill in range(1, 6):
        before = committed(folder)[-1]
        stopping(*resumed, "-j", 1 + kill % 3, STOP_AT_WRITE=50 + 13 * kill).kill()
        assert committed(folder)[-1] > before
    last = stratalog(*resumed)
    assert last.sizes() == {"path": nodes * (nodes - 1) // 2}
    assert "chains of growth were written as one in" in last.err
    assert "all is well" in stratalog("verify", folder, "--deep").out


def test_a_damaged_base_is_found_and_left(
    stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path
) -> None:
    """The next checkpoint stands by itself, soon after."""
    facts = chain(2500, tmp_path / "facts")
    folder = tmp_path / "ck"
    run = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path, "--no-pivot")
    often = ("--every", "100it", "--durability", "none", "--overlap", "pack", "--full-every", "4")
    # The fourth one folds these three.
    stopped = stopping(*run, "--checkpoint", folder, *often, STOP_AT_COMMIT=3)
    assert len(committed(folder)) == 3
    damaged = 0
    for file in folder.glob("gen-*/*-path.total.*"):
        data = bytearray(file.read_bytes())
        assert data
        data[len(data) // 2] ^= 8
        file.write_bytes(data)
        damaged += 1
    assert damaged == 3
    out, err = stopped.end()
    assert stopped.process.returncode == 0, err
    assert f"path\t{2500 * 2499 // 2}" in out
    assert "failed, the run goes on with the older ones" in err and "to be folded" in err
    newest = committed(folder)[-1]
    assert "all is well" in stratalog("verify", folder, newest, "--deep").out


def test_a_lost_base_is_named(stratalog: Stratalog, tmp_path: Path) -> None:
    run(stratalog, tmp_path, "chained")
    state = stratalog("inspect", tmp_path / "chained", "--json").json()
    base = tmp_path / "chained" / state["builds_on"][0]
    for file in base.iterdir():
        file.unlink()
    listed = stratalog("ls", tmp_path / "chained", "--why", expect=3)
    assert f"on which {state['generation']} builds" in listed.out


def test_the_interval_follows_from_cost_and_failures(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = chain(50, tmp_path / "facts")
    report = tmp_path / "report.json"
    arguments = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path, "--report", report)
    folder = ("--checkpoint", tmp_path / "checkpoints")
    stratalog(*arguments, *folder, "--every", "auto", expect=1)
    stratalog(*arguments, *folder, "--mtbf", "24h", expect=1)
    done = stratalog(*arguments, *folder, "--every", "auto", "--mtbf", "24h")
    assert "checkpoint interval" in done.err
    interval = json.loads(report.read_text())["interval"]
    cost = interval["cost_seconds"]
    assert interval["seconds"] == pytest.approx((2 * cost * 86400) ** 0.5, rel=0.05)


def test_the_interval_follows_from_a_part_of_the_run(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = chain(50, tmp_path / "facts")
    report = tmp_path / "report.json"
    folder = ("--checkpoint", tmp_path / "checkpoints")
    arguments = ("run", PROGRAMS / "closure.dl", "-F", facts, "-D", tmp_path, "--report", report)
    stratalog(*arguments, *folder, "--every", "2%", "--mtbf", "24h", expect=1)
    done = stratalog(*arguments, *folder, "--every", "2%")
    assert "checkpoint interval" in done.err
    interval = json.loads(report.read_text())["interval"]
    assert interval["seconds"] == pytest.approx(50 * interval["cost_seconds"])
    # What resumes the run goes on with it.
    options = json.loads((tmp_path / "checkpoints" / "options.json").read_text())
    assert options["most_share"] == 0.02
    assert options["every_seconds"] == 0


def test_every_nth_generation_builds_on_nothing(stratalog: Stratalog, tmp_path: Path) -> None:
    """Also where one relation was written whole by itself in between, as it had grown so much."""
    program = tmp_path / "two.dl"
    program.write_text(
        ".decl slow(x: number)\nslow(0).\nslow(x + 1) :- slow(x), x < 60.\n.printsize slow\n"
        ".decl fast(x: number, y: number)\nfast(0, 0).\n"
        "fast(x + 1, y) :- fast(x, _), slow(x), x < 17, y = range(0, 1 bshl x).\n.printsize fast\n"
        "slow(x) :- fast(x, 1), x < 2.\n"
    )
    checkpoints = tmp_path / "ck"
    stratalog(
        *("run", program, "--checkpoint", checkpoints, "--every", "3it", "--keep", "100"),
        *("--full-every", "4", "-D", tmp_path / "out", "--overlap", "none"),
    )
    generations = sorted(committed(checkpoints))
    assert len(generations) > 16
    states = [stratalog("inspect", checkpoints, g, "--json").json() for g in generations]
    stand_alone = [not state["builds_on"] for state in states]
    assert stand_alone == [i % 4 == 0 for i in range(len(states))]
    reasons = {r["choice"]["reason"] for s in states for r in s["relations"] if "choice" in r}
    assert any("percent" in reason for reason in reasons), "none was whole for another reason"


def test_what_has_finished_is_not_written_again(stratalog: Stratalog, tmp_path: Path) -> None:
    """Not even classes and relations that keep the best, of which nobody tells what is new."""
    program = tmp_path / "kept.dl"
    program.write_text(
        ".decl same(x: number, y: number) eqrel\nsame(x, x + 1) :- x = range(0, 400).\n"
        "same(x, y) :- same(y, x).\n"
        ".decl least(x: number, y: number)\nleast(x, x % 7) :- same(x, _).\n"
        "least(x + 1, y) :- least(x, y), x < 400.\n"
        "least(x, a) <= least(x, b) :- b <= a.\n"
        ".decl late(x: number)\nlate(0) :- same(3, 4), least(3, _).\n"
        "late(x + 1) :- late(x), x < 90.\n.printsize same\n.printsize least\n.printsize late\n"
    )
    checkpoints = tmp_path / "ck"
    run = stratalog(
        *("run", program, "--checkpoint", checkpoints, "--every", "10it", "--keep", "100"),
        *("-D", tmp_path / "out", "-j", "2"),
    )
    newest = max(committed(checkpoints))
    state = stratalog("inspect", checkpoints, newest, "--json").json()
    reasons = {r["name"]: r["choice"]["reason"] for r in state["relations"] if "choice" in r}
    assert reasons["same"] == reasons["least"] == "unchanged"
    assert state["builds_on"]
    for ranks in (1, 2, 3):
        resumed = stratalog("resume", checkpoints, newest, "-D", tmp_path / "again", "-j", ranks)
        assert resumed.sizes() == run.sizes()
    assert "all is well" in stratalog("verify", checkpoints, newest, "--deep").out
