# SPDX-License-Identifier: Apache-2.0
"""Generations that build on older ones, as a user sees them: smaller, named, and restartable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import PROGRAMS, Stratalog, chain

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
