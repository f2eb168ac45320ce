# SPDX-License-Identifier: Apache-2.0
"""`.plan`: `explain` shows the program's join order, and answers are those without it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROGRAM = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
.output p
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), p(y, w), e(w, z). .plan 0:(3,2,1), 1:(1,3,2)
"""


@pytest.fixture(name="folder")
def folder_of_facts(tmp_path: Path) -> Path:
    numbers = random.Random(7)
    pairs = {(numbers.randrange(60), numbers.randrange(60)) for _ in range(110)}
    (tmp_path / "e.facts").write_text("".join(f"{x}\t{y}\n" for x, y in sorted(pairs)))
    (tmp_path / "planned.dl").write_text(PROGRAM)
    (tmp_path / "sized.dl").write_text(PROGRAM.split(".plan", maxsplit=1)[0] + "\n")
    return tmp_path


def test_explain_shows_the_order_of_the_program(stratalog: Stratalog, folder: Path) -> None:
    assert stratalog("check", folder / "planned.dl").err == ""
    text = stratalog("explain", folder / "planned.dl", "-F", folder).out
    assert "scan e -> search p by (y) -> new tuples of p by (y)" in text
    assert "scan p -> scan e -> new tuples of p by (y, x)" in text
    assert text.count("in the order of `.plan`") == 2
    plan = stratalog("explain", folder / "planned.dl", "-F", folder, "--json").json()
    orders = [
        (rule["delta_literal"], rule["literal_order"], rule["follows_plan"])
        for stratum in plan["strata"]
        for rule in stratum["recursive"]
    ]
    assert orders == [(0, [2, 1, 0], True), (1, [0, 2, 1], True)]
    sized = stratalog("explain", folder / "sized.dl", "-F", folder, "--json").json()
    assert all(
        rule["literal_order"][0] == rule["delta_literal"] and not rule["follows_plan"]
        for stratum in sized["strata"]
        for rule in stratum["recursive"]
    )


@pytest.mark.parametrize("ranks", (None, 2, 3))
def test_answers_are_those_without_it(
    ranks: int | None, stratalog: Stratalog, folder: Path
) -> None:
    outputs = set()
    for name in ("planned", "sized"):
        for mirror in ("0", "65536"):
            out = folder / f"{name}-{mirror}"
            stratalog(
                *("run", folder / f"{name}.dl", "-F", folder, "-D", out),
                *("--mirror-limit", mirror),
                ranks=ranks,
            )
            outputs.add((out / "p.csv").read_bytes())
    assert len(outputs) == 1
    assert len(next(iter(outputs)).splitlines()) > 1000


@pytest.mark.parametrize("ranks", (None, 2))
def test_facts_are_added_and_proofs_found(
    ranks: int | None, stratalog: Stratalog, folder: Path
) -> None:
    lines = (folder / "e.facts").read_text().splitlines(keepends=True)
    outputs = set()
    for name in ("planned", "sized"):
        case = folder / name
        for part, kept in (("first", lines[::2]), ("more", lines[1::2])):
            (case / part).mkdir(parents=True)
            (case / part / "e.facts").write_text("".join(kept))
        store = case / "ck"
        run = ("run", folder / f"{name}.dl", "-F", case / "first", "-D", case / "out")
        stratalog(*run, "--checkpoint", store, ranks=ranks)
        stratalog("resume", store, "--add-facts", case / "more", ranks=ranks)
        text = (case / "out" / "p.csv").read_text()
        outputs.add(text)
        last = text.splitlines()[-1].split("\t")
        assert "fact" in stratalog("why", store, f"p({last[0]}, {last[1]})").out
        assert "fails" in stratalog("why-not", store, "p(1000, 1)").out
    assert len(outputs) == 1


GUARDED = """
.decl word(s: symbol)
.input word
.decl numeral(s: symbol)
.input numeral
.decl value(n: number)
.output value
value(n) :- numeral(s), word(s), n = to_number(s).
"""


@pytest.mark.parametrize(("words", "numerals"), ((2, 40), (40, 2)))
def test_an_atom_guards_what_can_fail_whatever_the_sizes(
    words: int, numerals: int, stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "guarded.dl"
    program.write_text(GUARDED)
    (tmp_path / "word.facts").write_text("12\n" + "".join(f"w{i}\n" for i in range(words)))
    (tmp_path / "numeral.facts").write_text("".join(f"{12 + i}\n" for i in range(numerals)))
    stratalog("run", program, "-F", tmp_path, "-D", tmp_path)
    assert (tmp_path / "value.csv").read_text() == "12\n"


FAILS_ALWAYS = """
.decl b(x: number)
.input b
.decl c(x: number)
.input c
.decl a(x: number)
.output a
a(x) :- b(x), c(x), {}.
"""


@pytest.mark.parametrize(
    "condition",
    (
        'x = to_number("twelve")',
        "x = 1 / 0",
        "x + 1 / 0 > 3",
        "x / (1 % 0) > 3",
        "!b(1 / 0)",
        "b(1 / 0)",
        "x = range(0, 1 / 0)",
    ),
)
def test_what_always_fails_does_so_only_where_the_rule_has_bindings(
    condition: str, stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "fails.dl"
    program.write_text(FAILS_ALWAYS.format(condition))
    (tmp_path / "b.facts").write_text("1\n2\n")
    (tmp_path / "c.facts").write_text("3\n")
    stratalog("run", program, "-F", tmp_path, "-D", tmp_path)
    assert (tmp_path / "a.csv").read_text() == ""
    (tmp_path / "c.facts").write_text("2\n3\n")
    failed = stratalog("run", program, "-F", tmp_path, "-D", tmp_path, expect=1)
    assert "fails.dl:8:" in failed.err


def test_a_part_that_can_fail_is_not_evaluated_by_itself(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "fails.dl"
    program.write_text(FAILS_ALWAYS.replace("c(x), {}", "c(y), 10 / y > 3"))
    (tmp_path / "b.facts").write_text("")
    (tmp_path / "c.facts").write_text("0\n")
    stratalog("run", program, "-F", tmp_path, "-D", tmp_path)
    (tmp_path / "b.facts").write_text("1\n")
    failed = stratalog("run", program, "-F", tmp_path, "-D", tmp_path, expect=1)
    assert "division by zero" in failed.err
