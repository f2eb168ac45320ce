# SPDX-License-Identifier: Apache-2.0
"""--profile, the page made of it, and progress as lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stratalog_runner import PROGRAMS, Stratalog

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.printsize path
.decl twice(x: number, y: number)
.printsize twice
.decl tag(x: number, s: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z), x < z.
twice(x, z) :- edge(x, y), edge(y, z).
tag(x, cat("</script><b>", to_string(x))) :- twice(x, _).
.printsize tag
"""


def chain(length: int, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{i}\t{i + 1}\n" for i in range(length))
    (folder / "edge.facts").write_text(text)
    return folder


@pytest.mark.parametrize("ranks", [None, 3])
def test_profile_tells_rules_rounds_and_balance(
    stratalog: Stratalog, tmp_path: Path, ranks: int | None
) -> None:
    program = tmp_path / "p.dl"
    program.write_text(PROGRAM)
    folder = chain(40, tmp_path / "facts")
    file = tmp_path / "profile.json"
    run = ("run", program, "-F", folder, "-D", tmp_path, "--profile", file)
    assert stratalog(*run, ranks=ranks).sizes()["path"] == 820
    profile = json.loads(file.read_text())
    count = ranks or 1
    assert profile["ranks"] == len(profile["by_rank"]) == count
    rules = {(rule["text"].split(" :-")[0], rule["line"], rule["delta"]): rule
             for rule in profile["rules"]}  # fmt: skip
    base = rules["path(x, y)", 9, ""]
    assert base["derivations"] == base["new_tuples"] == 40, "alone in its pass"
    recursive = [rule for rule in profile["rules"] if rule["delta"] == "path"]
    assert len(recursive) == 2, "one form for each recursive atom"
    if count == 1:
        assert sum(rule["new_tuples"] for rule in recursive) == 820 - 40
    else:
        assert all(rule["new_tuples"] is None for rule in recursive), "tuples travelled"
        assert sum(rank["sent_bytes"] for rank in profile["by_rank"]) > 0
    twice = rules["twice(x, z)", 11, ""]
    assert twice["derivations"] == twice["new_tuples"] == 39
    path = next(r for r in profile["relations"] if r["name"] == "path")
    assert path["rows"] == 820
    assert 820 / count <= path["largest_rows"] <= 820
    stratum = next(i for i, s in enumerate(profile["strata"]) if s["relations"] == "path")
    rounds = [point for point in profile["rounds"] if point[0] == stratum]
    assert sum(point[3] for point in rounds) == 820
    assert [point[1] for point in rounds] == list(range(1, len(rounds) + 1))
    assert profile["strata"][stratum]["derivations"] >= 820
    assert profile["samples"]
    page = tmp_path / "page.html"
    stratalog("profile", file, "-o", page)
    html = page.read_text()
    assert html.count("<svg") == html.count("</svg>") >= 3
    assert html.count("<script>") == 1, "what the program says is escaped"
    assert "&lt;/script&gt;&lt;b&gt;" in html


def test_profile_of_sweeps(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(50, tmp_path / "facts")
    file = tmp_path / "profile.json"
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path, "--profile", file)
    stratalog(*run, ranks=2)
    profile = json.loads(file.read_text())
    (sweep,) = [rule for rule in profile["rules"] if rule["work"] == "sweep"]
    assert sweep["new_tuples"] == 1275 - 50, "all but the seeds"
    rounds = [point for point in profile["rounds"] if point[0] == sweep["stratum"]]
    assert sum(point[3] for point in rounds) == 1275
    assert all(point[5] is None for point in rounds)


@pytest.mark.parametrize("ranks", (None, 2))
def test_profile_of_an_equivalence_relation(
    stratalog: Stratalog, tmp_path: Path, ranks: int | None
) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        ".decl edge(x: number, y: number)\n.input edge\n"
        ".decl same(x: number, y: number) eqrel\n.printsize same\n"
        "same(x, y) :- edge(x, y), x < 9.\nsame(x, y) :- edge(x, y), x > 4.\n"
        "same(x, 100) :- same(x, 3).\n"
    )
    folder = chain(10, tmp_path / "facts")
    file = tmp_path / "profile.json"
    run = ("run", program, "-F", folder, "-D", tmp_path, "--profile", file)
    assert stratalog(*run, ranks=ranks).sizes()["same"] == 12**2
    found = {rule["line"]: rule["new_tuples"] for rule in json.loads(file.read_text())["rules"]}
    assert found == {5: None, 6: None, 7: 12**2 - 11**2}


def test_a_page_is_made_of_profiles_only(stratalog: Stratalog, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    page = tmp_path / "p.html"
    assert "cannot read" in stratalog("profile", file, "-o", page, expect=4).err
    file.write_text("{}")
    assert "profile.format" in stratalog("profile", file, "-o", page, expect=4).err
    assert not page.exists()


def events(err: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in err.splitlines()]


def test_progress_as_lines_of_json(stratalog: Stratalog, tmp_path: Path) -> None:
    folder = chain(30, tmp_path / "facts")
    run = ("run", PROGRAMS / "closure.dl", "-F", folder, "-D", tmp_path, "--progress=json")
    for ranks in (None, 2):
        told = events(stratalog(*run, ranks=ranks).err)
        assert told[0] == {"event": "phase", "phase": "load", **{
            key: told[0][key] for key in ("elapsed_seconds",)}}  # fmt: skip
        assert all(event.get("phase") != "restore" for event in told)
        strata = [event for event in told if event["event"] == "stratum"]
        assert strata[-1]["relations"] == "path"
        assert (strata[-1]["tuples"], strata[-1]["is_estimate"]) == (465, False)
        assert told[-1]["event"] == "end"
        assert told[-1]["rows"] == {"edge": 30, "path": 465}
    saving = (*run, "--checkpoint", tmp_path / "ck")
    assert events(stratalog(*saving).err)[0]["phase"] == "load"
    resumed = events(stratalog("resume", tmp_path / "ck", "--progress=json").err)
    assert resumed[0]["phase"] == "restore"
    assert "--progress=xml" in stratalog(*run[:-1], "--progress=xml", expect=1).err
