# SPDX-License-Identifier: Apache-2.0
"""stratalog bench checkpoint: every strategy on small relations, results, figures, refusals; and
the pure parts of its Python front."""

from __future__ import annotations

import importlib.util
import json
import lzma
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import Stratalog, wait_until

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "python"))

from stratalog_bench import closure, report, summary  # noqa: E402
from stratalog_bench.model import Cost, fit  # noqa: E402
from stratalog_bench.modelled import machines, price_all, price_with  # noqa: E402
from stratalog_bench.modelled_claims import numbers  # noqa: E402
from stratalog_bench.options import SECTIONS, parse_options  # noqa: E402
from stratalog_bench.plan import GROWTH, SHARES, make_plan, worker_spec  # noqa: E402
from stratalog_bench.quantities import parse_seconds, parse_size, size_text  # noqa: E402
from stratalog_bench.results import Results  # noqa: E402
from stratalog_bench.sequences import best_rival, sequences  # noqa: E402
from stratalog_bench.strategies import (  # noqa: E402
    BY_NAME,
    CHAINS,
    LADDER,
    LEARNED,
    RUN_WAYS,
    SERIAL,
    STRATEGIES,
)

RAN_TO_THE_END, STOPPED = 0, 6


def events(folder: Path, event: str, section: str) -> list[dict[str, Any]]:
    return list(Results.load(folder / "results.json").of(event, section))


def test_every_strategy_at_one_and_two_ranks(stratalog: Stratalog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = stratalog(
        "bench",
        "checkpoint",
        "--sizes",
        "64K,160K",
        "--ranks",
        "1,2",
        "--repeats",
        "1",
        "--budget",
        "5m",
        "--only",
        "sizes,ladder,restart",
        "-o",
        out,
    )
    assert ran.out.strip() == str(out / "report.md")
    assert ran.err == ""
    results = json.loads((out / "results.json").read_text())
    assert results["complete"]
    assert [e for e in results["events"] if e["event"] == "failed"] == []
    for ranks in (1, 2):
        of_ranks = [e for e in events(out, "save", "sizes") if e["ranks"] == ranks]
        saved = {e["case"]: e for e in of_ranks if e["data"] == "160 kB balanced"}
        expected = {one.name for one in STRATEGIES} | ({"numpy", "h5py"} if ranks == 1 else set())
        assert set(saved) == expected
        restarted = {e["case"] for e in events(out, "restart", "sizes") if e["ranks"] == ranks}
        assert restarted == {one.name for one in STRATEGIES}
        for name, event in saved.items():
            assert event["row_bytes"] == 160_000, name
            assert event["seconds"]["total"] > 0
            small = BY_NAME[name].encoding in ("compact", "streams")
            assert (event["bytes"] < event["row_bytes"] / 4) == small, name
    assert {e["case"] for e in events(out, "save", "ladder")} == {
        "hdf5-direct",
        *(one.name for one in LADDER),
    }
    elsewhere = events(out, "restart", "restart")
    assert {(e.get("writers", e["ranks"]), e["ranks"]) for e in elsewhere} == {
        (2, 2),
        (2, 1),
        (2, 3),
        (2, 7),
    }
    # The writers' own count, too, beside bare reads of the same files.
    beside = {e["ranks"] for e in elsewhere if "bare" in e["seconds"]}
    assert beside == {1, 2, 3, 7}
    for event in results["events"]:
        if event["event"] in ("save", "restart"):
            serial = event["case"] in ("numpy", "h5py")
            assert event["durability"] == ("data" if serial else "full")
    for event in elsewhere:
        assert event["verified"]
        assert event["rows"] == 10_000
        assert (event["moved_bytes"] > 0) == (
            event["ranks"] > 1 and (event["parts"] == "balanced" or event["ranks"] > 2)
        )
        assert ("bare" in event["seconds"]) == ("writers" in event)
        assert ("bare_held" in event["seconds"]) == ("writers" in event)
    report = (out / "report.md").read_text()
    assert "Rank counts: 1, 2." in report
    for name in ("phases", "sizes", "ladder", "offsets", "ratio"):
        assert f", measured](figures/{name}.png" in report
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert report.count(" (measured)\n\n![") == report.count("figures/") >= 5
    assert report.count(" | repeats | durability | seconds | ") == 3  # sizes, ladder, restart
    assert "Times are of one run each," in report
    assert " | full | " in report
    # Results of older versions say it once.
    older = json.loads((out / "results.json").read_text())
    for event in older["events"]:
        event.pop("durability", None)
    rows = summary.saves(Results(events=older["events"], options=older["options"]), "sizes")
    assert {row.durability for row in rows} == {"full"}
    assert "hdf5-direct against bare pwrite + fsync" in report
    assert not (out / "work").exists()
    # Results stay; they can be drawn again.
    again = stratalog("bench", "checkpoint", "-o", out, expect=1)
    assert "there are results" in again.err
    stratalog("bench", "checkpoint", "--redraw", out / "results.json", "-o", tmp_path / "again")
    assert (tmp_path / "again" / "report.md").read_text() == report


def test_real_closures_skew_and_growth(stratalog: Stratalog, tmp_path: Path) -> None:
    facts = tmp_path / "facts"
    closure.write_road(8, 1, facts)
    out = tmp_path / "out"
    stratalog(
        "bench",
        "checkpoint",
        "--sizes",
        "64K",
        "--ranks",
        "2",
        "--repeats",
        "1",
        "--budget",
        "5m",
        "--only",
        "skew,growth,chains,learned,end-to-end,closure",
        "--facts",
        facts,
        "-o",
        out,
        "--saves",
        "3",
        "--strategies",
        "raw-shared,fpp-rows,fpp-compact,hdf5-direct,auto,hdf5-auto,fpp-compact+growth,"
        "fpp-rows+growth,auto+growth",
        "--durability",
        "none",
    )
    results = Results.load(out / "results.json")
    assert {e["durability"] for e in results.events if e["event"] in ("save", "run")} == {"none"}
    assert results.complete
    assert [e for e in results.events if e["event"] == "failed"] == []
    runs = {e["case"]: e for e in events(out, "run", "end-to-end")}
    assert len({e["rows"] for e in runs.values()}) == 1
    assert runs["none"]["checkpoints"] == []
    assert len(runs["hdf5-opt"]["checkpoints"]) >= 2
    for run in runs.values():
        assert 0 <= run["seconds"]["checkpoints"] <= run["seconds"]["total"]
    assert set(runs) == {"none", *(way.name for way in RUN_WAYS)}
    # Chains write each pair once.
    assert sum(save["bytes"] for save in runs["fpp+growth"]["checkpoints"]) < sum(
        save["bytes"] for save in runs["fpp"]["checkpoints"]
    )
    fixed = {"raw-shared", "fpp-rows", "fpp-compact", "hdf5-direct"}
    assert {e["case"] for e in events(out, "save", "closure")} == fixed
    chains = {row.case: row for row in sequences(results, "chains")}
    chained = {"fpp-compact+growth", "fpp-rows+growth", "auto+growth"}
    assert set(chains) == {"fpp-rows", "fpp-compact", "hdf5-direct", *chained}
    assert len({row.row_bytes for row in chains.values()}) == 1
    for name, row in chains.items():
        assert len(row.seconds) == len(GROWTH)
        assert (row.whole < len(GROWTH)) == (name in chained)
        assert row.restart_seconds is not None
    assert chains["fpp-rows+growth"].bytes < chains["fpp-rows"].bytes * 2 / 3
    learned = {row.case: row for row in sequences(results, "learned")}
    assert set(learned) == {*fixed, "auto", "hdf5-auto"}
    assert {len(row.seconds) for row in learned.values()} == {3}
    assert "fpp" in learned["auto"].chosen
    assert "hdf5-direct" in learned["hdf5-auto"].chosen
    best = best_rival(learned["auto"], learned.values())
    assert best is not None and best.case == "fpp-compact"
    written = (out / "report.md").read_text()
    assert "### Sequences of a relation that grows" in written
    assert "hdf5-auto against auto: **" in written
    assert "| fpp+growth+overlap | facts | 2 |" in written
    shares = {e["skew"]: e["row_bytes_of_rank"] for e in events(out, "data", "skew")}
    assert shares["half-empty"][1] == 0
    assert shares["one-giant"][1] > 10 * shares["one-giant"][0]
    assert len({e["data"] for e in events(out, "save", "growth")}) == len(GROWTH)


def test_an_interrupted_run_keeps_what_it_has(stratalog: Stratalog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = stratalog.start(
        "bench",
        "checkpoint",
        "--sizes",
        "64K,128K,256K",
        "--ranks",
        "1,2",
        "-o",
        out,
        "--repeats",
        "50",
    )
    # The first size is over when its results are saved, or its work folder has come and gone.
    assert wait_until(lambda: (out / "work" / "cases").exists())
    assert wait_until(lambda: any((out / "work" / "cases").glob("*")))
    os.kill(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert process.returncode == STOPPED, err
    results = Results.load(out / "results.json")
    assert not results.complete
    assert any("interruption" in text for text in results.left_out)
    assert (out / "report.md").exists()
    assert not (out / "work").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--strategies", "fpp,hdf5"), "no strategy"),
        (("--skew", "wild"), "no skew"),
        (("--only", "everything"), "no section"),
        (("--ranks", "0"), "1 to 4096"),
        (("--ranks", "two"), "rank counts"),
        (("--sizes", "many"), "no size"),
        (("--budget", "soon"), "no duration"),
        (("--columns", "9"), "2 to 8"),
        (("--facts", "nowhere"), "edge.facts"),
        (("--closures", "moon"), "no closure"),
        (("--saves", "1"), "2 to 1000"),
        (("--redraw", "nowhere.json"), "no file"),
    ],
)
def test_wrong_words_are_refused_by_name(
    stratalog: Stratalog, words: tuple[str, ...], complaint: str
) -> None:
    ran = stratalog("bench", "checkpoint", *words, expect=1)
    assert complaint in ran.err


def test_bench_says_what_there_is(stratalog: Stratalog, tmp_path: Path) -> None:
    assert "bench checkpoint" in stratalog("bench", expect=1).err
    assert "no bench 'nosuch'" in stratalog("bench", "nosuch", expect=1).err
    assert "--budget" in stratalog("bench", "checkpoint", "--help").out
    assert "bench checkpoint" in stratalog("bench", "--help").out
    assert "itself" in stratalog("bench", "checkpoint", ranks=2, expect=None).err
    for part, what in (("worker", "measurements"), ("model", "a model")):
        missing = stratalog("bench", part, "nosuch.json", expect=1).err
        assert f"cannot read nosuch.json, the specification of {what}" in missing
    spec = tmp_path / "spec.json"
    spec.write_text('{"directory": "x", "cases": [{"name": "a", "strategy": "tape"}]}')
    assert "tape" in stratalog("bench", "worker", spec, ranks=2, expect=1).err


def test_a_model_of_few_points_claims_no_precision() -> None:
    sizes = [1000 << n for n in range(4)]
    few = fit([Cost(1, 1, size, size, 0.01 + size % 7 / 70) for size in sizes])
    assert few is not None and few.points == 4
    for model in (replace(few, parameters=2), replace(few, parameters=3)):
        text = "\n".join(report.model_table({"fpp": model}))
        assert f"4 ({model.parameters})" in text
        assert model.is_tested == (model.parameters == 2)
        assert ("too few points" in text) == (model.parameters == 3)
    sizes = (1000, 10**6, 10**8, 10**9)
    exact = fit([Cost(1, 1, size, size, 0.002 + size / 8e8) for size in sizes])
    assert exact is not None and exact.parameters == 2 and exact.is_tested


def test_the_model_finds_the_costs_that_made_the_times() -> None:
    def seconds(files: int, ranks: int, size: int) -> float:
        share = size / min(ranks, 2)
        return 0.002 + 0.0005 * files + 0.001 * (ranks - 1) + size / 8e8 + share / 2e9

    costs = [
        Cost(files, ranks, size, size / min(ranks, 2), seconds(files, ranks, size))
        for files in (1, 3, 9)
        for ranks in (1, 2, 4)
        for size in (10**6, 10**7, 10**8)
    ]
    model = fit(costs)
    assert model is not None
    assert model.start_seconds == pytest.approx(0.002, rel=1e-3)
    assert model.seconds_per_file == pytest.approx(0.0005, rel=1e-3)
    assert model.seconds_per_rank == pytest.approx(0.001, rel=1e-3)
    assert model.device_bandwidth == pytest.approx(8e8, rel=1e-3)
    assert model.core_bandwidth == pytest.approx(2e9, rel=1e-3)
    assert model.largest_error < 1e-3
    assert fit(costs[:2]) is None


def test_a_model_has_no_negative_costs_and_says_how_wrong_it_is() -> None:
    # More files are faster here, which no cost of a file explains.
    model = fit([Cost(f, 1, 10**6, 1e6, 1.0 / f) for f in (1, 2, 4, 8)])
    assert model is not None
    assert model.seconds_per_file == 0
    assert model.start_seconds > 0
    assert model.largest_error > 0.5
    # Half and twice are equally wrong: the geometric mean lies in the middle.
    even = fit([Cost(1, 1, 10**6, 1e6, t) for t in (0.25, 1.0, 4.0)])
    assert even is not None
    assert even.seconds(1, 1, 10**6, 10**6) == pytest.approx(1.0, rel=1e-6)


def test_quantities() -> None:
    assert parse_size("64M") == 64_000_000
    assert parse_size("1.5g") == 1_500_000_000
    assert parse_size("4Mi") == 4 << 20
    assert parse_seconds("5m") == 300
    assert [size_text(n) for n in (999, 1000, 64_000_000, 1.5e9)] == [
        "999 B",
        "1 kB",
        "64 MB",
        "1.5 GB",
    ]
    with pytest.raises(ValueError, match="no size"):
        parse_size("64X")


def test_plans_leave_out_what_does_not_fit_and_cover_every_section() -> None:
    options = parse_options(["--sizes", "1M,8M,4G", "--ranks", "1,2,4"])
    plan = make_plan(options, free_disk=10**9, free_memory=10**10)
    assert [text for text in plan.left_out if "4 GB" in text and "disk" in text]
    assert {task.section for task in plan.tasks} == set(SECTIONS) - {"end-to-end", "closure"}
    assert set(SHARES) == set(SECTIONS)
    # A first save says nothing of modes that learn, and nothing grows in it.
    fixed = [one.name for one in STRATEGIES]
    assert [name for name in options.strategies if name not in fixed] == [
        *(one.name for one in LEARNED),
        *(one.name for one in CHAINS),
        *(one.name for one in SERIAL),
    ]
    sizes = {data["bytes"] for task in plan.tasks for data in task.data}
    assert max(sizes) == 8_000_000
    spec = worker_spec(plan.tasks[0], options, 3.5)
    assert spec["seconds"] == 3.5
    assert [case["name"] for case in spec["cases"]] == fixed
    learned = next(task for task in plan.tasks if task.section == "learned")
    assert {case["saves"] for case in worker_spec(learned, options, 1)["cases"]} == {12}
    chains = next(task for task in plan.tasks if task.section == "chains")
    assert [case["parts"] for case in worker_spec(chains, options, 1)["cases"][-2:]] == [
        "growth",
        "growth",
    ]
    assert make_plan(options, free_disk=1000, free_memory=0).tasks == []


def test_graphs_are_followed_as_far_as_they_fit_and_missed_by_name(tmp_path: Path) -> None:
    assert closure.sources_divisor(1000, 16000) == 1
    assert closure.sources_divisor(1001, 16000) == 2
    options = parse_options(["--sizes", "1M", "--data-sets", str(tmp_path)])
    with pytest.raises(closure.MissingGraphError, match=r"usroads: there is no .*usroads\.tsv\.xz"):
        closure.prepare("usroads", options, tmp_path)
    packed = tmp_path / "data" / "graphs" / "usroads.tsv.xz"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(lzma.compress(b"1\t2\n"))
    one = closure.prepare("usroads", options, tmp_path)
    assert (one.facts / "edge.facts").read_text() == "1\t2\n"
    assert one.divisor == 13942
    assert "x % 13942 = 0" in one.program
    assert "%" not in closure.Closure("road", tmp_path).program


def test_medians_and_ratios() -> None:
    def save(case: str, seconds: float, repeat: int) -> dict[str, Any]:
        return {
            "event": "save",
            "section": "sizes",
            "case": case,
            "ranks": 2,
            "data": "d",
            "repeat": repeat,
            "row_bytes": 8_000_000,
            "bytes": 8_000_000,
            "files": 2,
            "seconds": {"total": seconds},
        }

    taken = [("raw-shared", 0.01), ("hdf5-direct", 0.02), ("hdf5-direct", 0.04), ("hdf5-direct", 9)]
    results = Results(events=[save(case, s, i) for i, (case, s) in enumerate(taken)])
    rows = summary.saves(results, "sizes")
    direct = summary.pick(rows, case="hdf5-direct")[0]
    assert direct.total == 0.04
    assert direct.bandwidth == 2e8
    assert summary.ratio_to_raw(direct, rows) == pytest.approx(0.25)
    assert summary.ratio_to_raw(direct, [direct]) is None
    # The faster of the two is to be reached.
    for seconds, ratio in ((0.005, 0.125), (0.5, 0.25)):
        both = Results(events=[*results.events, save("raw-fpp", seconds, 0)])
        assert summary.ratio_to_raw(direct, summary.saves(both, "sizes")) == pytest.approx(ratio)


def test_the_report_says_how_many_repeats_there_were() -> None:
    def save(repeat: int, size: int, **more: Any) -> dict[str, Any]:
        return {
            "event": "save",
            "section": "sizes",
            "case": "fpp-rows",
            "ranks": 1,
            "data": str(size),
            "repeat": repeat,
            "row_bytes": size,
            "bytes": size,
            "files": 1,
            "seconds": {"total": 0.1},
        } | more

    def text(*events: dict[str, Any]) -> str:
        return report._times_text(*summary.repeats_span(Results(events=list(events))))

    # What was asked for does not count, nor do checkpoints of a sequence.
    assert text(save(0, 1), save(0, 2)) == "of one run each,"
    assert text(*(save(n, 1) for n in range(3))) == "medians of 3 repeats,"
    assert text(*(save(n, 1) for n in range(3)), save(0, 2)).startswith("medians of 1 to 3 repeats")
    assert text(*(save(0, 1, checkpoint=n) for n in range(3))) == "of one run each,"
    rows = summary.saves(Results(events=[save(0, 1), save(1, 1), save(0, 2)]), "sizes")
    assert [row.repeats for row in rows] == [2, 1]


def test_modelled_figures_say_that_they_are(stratalog: Stratalog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = stratalog("bench", "checkpoint", "--modelled", "-o", out)
    assert ran.out.strip() == str(out / "report.md")
    report = (out / "report.md").read_text()
    assert "**Everything here is modelled; nothing was measured at these rank counts.**" in report
    lines = json.loads((out / "model.json").read_text())["modelled"]
    assert {line["ranks"] for line in lines} == {32 << power for power in range(8)}
    for line in lines:
        phases = {name: seconds for name, seconds in line["seconds"].items() if name != "total"}
        assert sum(phases.values()) == pytest.approx(line["seconds"]["total"])
        assert line["seconds"]["total"] > 0
    if importlib.util.find_spec("matplotlib"):
        assert len(list((out / "figures").glob("*.png"))) == 6
        assert report.count("(modelled)\n\n![") == 6
    again = stratalog("bench", "checkpoint", "--modelled", "-o", out, expect=1)
    assert "name another folder" in again.err


def test_the_model_meets_the_numbers_that_it_was_calibrated_on(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    modelled = price_all(str(stratalog.program))
    found = numbers(modelled)
    assert [one for one in found if one.was_used and not 0.95 < one.ratio < 1.05] == []
    theta = [one for one in found if "over" not in one.what]
    assert [one for one in theta if not 0.85 < one.ratio < 1.15] == []
    # Half the rate at which ranks write: nothing gets faster, what only they hold up takes double.
    slow = price_with(str(stratalog.program), "theta", {"rank_write_rate": 0.5})
    for name, line in slow.lines["theta"].items():
        assert line["seconds"]["total"] >= modelled.lines["theta"][name]["seconds"]["total"]
    write = modelled.seconds("theta", "save", "fpp", 256, 5, phase="write")
    assert slow.seconds("theta", "save", "fpp", 256, 5, phase="write") == pytest.approx(2 * write)


def test_every_parameter_of_the_model_says_where_it_comes_from() -> None:
    kinds = ("printed", "calibrated", "measured", "assumed")
    for about in machines().values():
        for name, pair in about.items():
            if name != "about":
                value, source = pair
                assert isinstance(value, (int, float)), name
                assert source.startswith(kinds), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"machine": {}}, "ranks_per_node is missing"),
        ({"machine": {"pack_rate": -1}}, "pack_rate is -1"),
        ({"case": {"strategy": "fpp2"}}, 'strategy "fpp2" is no layout'),
        ({"case": {"ranks": 0}}, "ranks is at least 1"),
        ({"case": {"datasets": []}}, "datasets is missing or empty"),
        ({"case": {"restart": "soon"}}, "restart is as-written or balanced"),
        ({"case": {"files": 3}}, "--files spreads ranks over shared files"),
    ],
)
def test_models_that_cannot_be_are_refused(
    stratalog: Stratalog, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    machine = {name: pair[0] for name, pair in machines()["theta"].items() if name != "about"}
    if "machine" in change:
        machine = machine | change["machine"] if change["machine"] else {}
    case = {"name": "a", "strategy": "fpp", "ranks": 4, "datasets": [{"rows": 100}]}
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"machine": machine, "cases": [case | change.get("case", {})]}))
    assert message in stratalog("bench", "model", spec, expect=1).err
