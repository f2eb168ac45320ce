# SPDX-License-Identifier: Apache-2.0
"""Whose error it is decides the exit code: 1 the program's, 2 the facts', others the machine's.

Not how far the run had come, not how many ranks there are, not whether it writes checkpoints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from stratalog_runner import Stratalog


@dataclass(frozen=True)
class Case:
    name: str
    code: int
    told: str
    rules: str
    facts: dict[str, str] = field(default_factory=lambda: {"e.facts": "3\n0\n"})
    options: tuple[str, ...] = ()


NUMBERS = ".decl e(x: number)\n.input e\n.decl a(x: number)\n.output a\n"
TEXTS = ".decl e(x: symbol)\n.input e\n"
# 300 rounds, then the error.
LATE = "a(x) :- e(x), x > 0.\na(x + 1) :- a(x), x < 300.\n"
LARGE = {"e.facts": "".join(f"{i * 7919}\n" for i in range(200_000))}

PROGRAM_ERRORS = (
    Case("fact", 1, ":5:1: division by zero", NUMBERS + "a(1 / 0)."),
    Case("no_facts", 1, "division by zero", ".decl a(x: number)\n.output a\na(1 / x) :- x = 0."),
    Case("once", 1, ":5:1: division by zero", NUMBERS + "a(1 / x) :- e(x)."),
    Case("test", 1, ":5:15: division by zero", NUMBERS + "a(x) :- e(x), 1 / x > 3."),
    Case("late", 1, ":7:1: division by zero", NUMBERS + LATE + "a(1 / (250 - x)) :- a(x)."),
    Case("remainder", 1, "remainder of a division by zero", NUMBERS + "a(7 % x) :- e(x)."),
    Case("aggregate", 1, ":5:13: division by zero", NUMBERS + "a(n) :- n = sum 1 / x : { e(x) }."),
    Case("negated", 1, "division by zero", NUMBERS + "a(x) :- e(x), !e(1 / x)."),
    Case("range", 1, "division by zero", NUMBERS + "a(y) :- e(x), y = range(0, 1 / x)."),
    Case(
        "subsumption",
        1,
        ":6:17: division by zero",
        NUMBERS + "a(x) :- e(x).\na(x) <= a(y) :- x / y > 0, x != y.",
    ),
    Case(
        "number",
        1,
        'cannot convert the text "a" to a number',
        TEXTS + ".decl a(x: number)\n.output a\na(to_number(x)) :- e(x).",
        {"e.facts": "a\n"},
    ),
    Case(
        "number_fits",
        1,
        "the value does not fit",
        TEXTS + ".decl a(x: unsigned)\n.output a\na(to_unsigned(x)) :- e(x).",
        {"e.facts": "99999999999999999999\n"},
    ),
    Case(
        "float",
        1,
        'cannot convert the text "a" to a float',
        TEXTS + ".decl a(x: float)\n.output a\na(to_float(x)) :- e(x).",
        {"e.facts": "a\n"},
    ),
    Case(
        "no_symbol",
        1,
        "there is no symbol number 12345",
        NUMBERS + ".decl s(x: symbol)\n.output s\ns(as(x + 12345, symbol)) :- e(x), x = 0.",
    ),
    Case(
        "no_record",
        1,
        "there is no record number 12345",
        ".type R = [a: number]\n" + NUMBERS + "a(y) :- e(x), x = 0, as(x + 12345, R) = [y].",
    ),
    Case(
        "sum",
        1,
        "a sum in a recursion must grow with each of its terms",
        NUMBERS + ".decl w(x: number, v: number)\nw(1, 1). w(2, -3). a(1).\n"
        "a(x + 1) :- a(x), x < 9, sum v : { w(y, v), a(y) } >= 1.",
    ),
    Case("columns", 1, "parameter `columns`", NUMBERS.replace("input e", 'input e(columns="0:7")')),
    Case(
        "stdin",
        1,
        "standard input is read as plain text",
        NUMBERS.replace("input e", "input e(IO=stdin, compress=true)"),
    ),
    Case(
        "json",
        1,
        "cannot hold attribute `x` of type T",
        ".type T = A { x: number } | B {}\n.decl e(x: T)\n.input e(IO=jsonfile)\n",
    ),
)

OTHER_ERRORS = (
    Case("missing", 2, "there is no fact file", NUMBERS + "a(x) :- e(x).", {}),
    Case("malformed", 2, "expected a whole number", NUMBERS + "a(x) :- e(x).", {"e.facts": "x\n"}),
    Case("fields", 2, "expected 1 field", NUMBERS + "a(x) :- e(x).", {"e.facts": "1\t2\n"}),
    Case(
        "json_text",
        2,
        "syntax error",
        NUMBERS.replace("input e", 'input e(IO=jsonfile, filename="e.facts")') + "a(x) :- e(x).",
        {"e.facts": "[[\n"},
    ),
    Case(
        "folder",
        4,
        "cannot write",
        NUMBERS.replace("output a", 'output a(filename="nowhere/a.csv")') + "a(x) :- e(x).",
    ),
    Case(
        "memory",
        5,
        "memory limit",
        NUMBERS + "a(x) :- e(x).\na(x + 1) :- a(x), x < 100.",
        LARGE,
        ("--memory-limit", "512K"),
    ),
    Case(  # would take 10 GB before the rule ends
        "memory_of_a_rule",
        5,
        "memory limit",
        NUMBERS + ".decl p(x: number, y: number)\n.printsize p\n"
        "p(x + 1, x) :- e(_), x = range(0, 500000000).",
        {"e.facts": "3\n"},
        ("--memory-limit", "20M"),
    ),
    Case(
        "memory_of_a_sweep",
        5,
        "memory limit",
        NUMBERS + ".decl p(x: number, y: number)\np(x, x + 1) :- e(x).\n"
        ".decl q(x: number, y: number)\n.printsize q\nq(x, y) :- p(x, y).\n"
        "q(x, z) :- q(x, y), p(y, z).",
        LARGE,
        ("--memory-limit", "1M"),
    ),
)


def files_of(case: Case, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "p.dl").write_text(case.rules + "\n")
    for name, text in case.facts.items():
        (folder / name).write_text(text)
    return folder / "p.dl"


@pytest.mark.parametrize("case", PROGRAM_ERRORS + OTHER_ERRORS, ids=lambda case: case.name)
def test_the_code_says_whose_error_it_is(stratalog: Stratalog, tmp_path: Path, case: Case) -> None:
    program = files_of(case, tmp_path)
    run = ("run", program, "-F", tmp_path, "-D", tmp_path / "out", *case.options)
    saved = ("--checkpoint", tmp_path / "ck", "--every", "100it", "--restart-fresh")
    for more, ranks in (((), None), (("-j", 2), None), ((), 2), (saved, None), (saved, 2)):
        ended = stratalog(*run, *more, ranks=ranks, expect=None)
        assert ended.code == case.code, (more, ranks, ended)
        assert case.told in ended.err, (more, ranks, ended)


def test_memory_that_ends_after_a_checkpoint_and_while_one_is_read(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    case = Case(
        "growing",
        5,
        "memory limit",
        ".decl a(x: number, y: number)\n.printsize a\na(0, 0).\n"
        "a(x, y + z) :- a(x, y), z = range(1, 1000), y < 100000.\n",
        {},
    )
    program = files_of(case, tmp_path)
    saved = ("--checkpoint", tmp_path / "ck", "--every", "1it", "--restart-fresh", "--no-pivot")
    ended = stratalog("run", program, *saved, "--memory-limit", "200K", expect=5)
    assert "memory limit" in ended.err
    assert stratalog("ls", tmp_path / "ck").out.strip()
    again = stratalog("resume", tmp_path / "ck", "--memory-limit", "1K", expect=5)
    assert "memory limit" in again.err


def test_what_check_refuses_does_not_run(stratalog: Stratalog, tmp_path: Path) -> None:
    for case in PROGRAM_ERRORS:
        if case.name not in ("columns", "stdin", "json"):
            continue
        program = files_of(case, tmp_path)
        for command in ("check", "run", "explain"):
            refused = stratalog(command, program, expect=1)
            assert case.told in refused.err
            assert f"{program}:" in refused.err
