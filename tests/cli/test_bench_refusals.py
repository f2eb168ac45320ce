# SPDX-License-Identifier: Apache-2.0
"""stratalog bench checkpoint where nothing, or not everything, can be measured: what it says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

from stratalog_bench.options import DEFAULT_STRATEGIES, SECTIONS, parse_options  # noqa: E402
from stratalog_bench.plan import SECTION_STRATEGIES, unmeasurable  # noqa: E402
from stratalog_bench.results import Results  # noqa: E402

QUICK = ("bench", "checkpoint", "--quick", "--budget", "6s")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "ended with exit code 3 and said nothing"),
        ("echo no hosts >&2; exit 3", "ended with exit code 3: no hosts"),
        ("echo ready", "started no rank of"),
    ],
)
def test_a_launcher_that_starts_nothing_is_named_with_what_it_said(
    stratalog: Stratalog, tmp_path: Path, script: str, said: str
) -> None:
    launcher = tmp_path / "launch"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    out = tmp_path / "out"
    refused = stratalog(*QUICK, "--only", "sizes", "-o", out, expect=1, MPIEXEC=str(launcher))
    for text in (refused.err, (out / "report.md").read_text()):
        assert f"{launcher} -n 1 {said}" in text
        assert "Traceback" not in text
    # Nothing is in the way of the next try.
    assert [path.name for path in out.iterdir()] == ["report.md"]


def test_a_launcher_that_is_no_program(stratalog: Stratalog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "'/nosuch'" in stratalog(*QUICK, "-o", out, expect=1, MPIEXEC="/nosuch").err
    assert not out.exists()
    text = tmp_path / "launch"
    text.write_text("#!/nosuch/shell\n")
    text.chmod(0o755)
    assert f"cannot start {text}" in stratalog(*QUICK, "-o", out, expect=1, MPIEXEC=str(text)).err
    # Pricing plans starts no ranks.
    stratalog("bench", "checkpoint", "--modelled", "-o", tmp_path / "m", MPIEXEC="/nosuch")


def test_a_bench_without_numbers_ends_with_code_1(stratalog: Stratalog, tmp_path: Path) -> None:
    only = ("--only", "end-to-end", "--closures", "usroads", "--data-sets", tmp_path)
    refused = stratalog(*QUICK, *only, "-o", tmp_path / "out", expect=1)
    assert "there is no data/graphs/usroads.tsv.xz" in refused.err
    assert "Nothing was measured." in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--only skew --ranks 1", "skew: takes 2 ranks or more"),
        ("--only restart --ranks 1", "restart: takes 2 ranks or more"),
        ("--only sizes --strategies auto", "sizes: measures none of the strategies"),
        ("--only growth --strategies hdf5", "it has raw-fpp, fpp-rows"),
        ("--only restart --strategies raw-fpp", "restart: measures none of the strategies"),
        ("--only sizes --strategies numpy --ranks 2", "numpy and h5py beside 1 rank"),
        ("--only closure", "add end-to-end to --only"),
        ("--only closure,skew --ranks 1", "end-to-end to --only"),
    ],
)
def test_choices_that_leave_nothing_are_refused(
    stratalog: Stratalog, tmp_path: Path, words: str, why: str
) -> None:
    out = tmp_path / "out"
    assert why in stratalog(*QUICK, *words.split(), "-o", out, expect=1).err
    assert not out.exists()


def test_what_choices_leave_out_stands_in_the_report_and_on_the_terminal(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    small = ("--sizes", "64K", "--ranks", "1", "--only", "sizes,skew,growth,closure")
    ran = stratalog(*QUICK, *small, "--strategies", "fpp-streams,numpy", "-o", out)
    report = (out / "report.md").read_text()
    for section in ("skew", "growth", "closure"):
        assert f"not measured: {section}: " in ran.err
        assert f"- {section}: " in report
    assert {event["case"] for event in Results.load(out / "results.json").of("save", "sizes")} == {
        "fpp-streams",
        "numpy",
    }


def test_every_strategy_belongs_to_a_section_and_all_sections_measure_by_default() -> None:
    assert unmeasurable(parse_options([])) == {}
    assert set(SECTION_STRATEGIES) == set(SECTIONS) - {"ladder", "end-to-end"}
    measured = {name for names in SECTION_STRATEGIES.values() for name in names}
    assert measured | {"numpy", "h5py"} == set(DEFAULT_STRATEGIES)
