# SPDX-License-Identifier: Apache-2.0
"""User-defined aggregates, `@@f value : first, { body }`: functors of a library that fold what a
body yields, on ranks and after restarts, and what cannot be one."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from stratalog_runner import RANK_COUNTS, Stratalog, check_resumed_generations

HEADERS = Path(__file__).resolve().parents[2] / "include/functors"

LIBRARY = r"""
#include "souffle/SouffleFunctor.h"
#include <algorithm>
#include <string>
extern "C" {
souffle::RamDomain widen(souffle::SymbolTable*, souffle::RecordTable* records,
                         souffle::RamDomain interval, souffle::RamDomain x) {
  const souffle::RamDomain* const known = records->unpack(interval, 2);
  return records->pack({std::min(known[0], x), std::max(known[1], x)});
}
int64_t squares(int64_t sum, int64_t x) { return sum + x * x; }
const char* longest(const char* a, const char* b) {
  static std::string kept;
  const std::string x = a, y = b;
  kept = x.size() != y.size() ? (x.size() > y.size() ? x : y) : std::min(x, y);
  return kept.c_str();
}
}
"""

PROGRAM = """
.type Interval = [lb: number, ub: number]
.functor widen(i: Interval, x: number): Interval stateful
.functor squares(number, number): number
.functor longest(symbol, symbol): symbol

.decl value(k: number, x: number)
.input value
.decl interval(k: number, i: Interval)
interval(k, i) :- value(k, _), i = @@widen x : [k, k], { value(k, x) }.
.decl all(n: number)
all(n) :- n = @@squares x : 100, { value(_, x) }.
.decl none(n: number, i: Interval)
none(n, i) :- n = @@squares x : 7, { value(1000, x) }, i = @@widen x : [1, 2], { value(1000, x) }.
.decl word(w: symbol)
word(cat("w", to_string(x))) :- value(_, x).
.decl best(w: symbol)
best(w) :- w = @@longest v : "", { word(v) }.
.decl each(k: number, n: number)
each(k, n) :- value(k, _), n = @@squares x + 1 : k * 10, { value(k, x), x != 3 }.
.decl pairs(n: number)
pairs(@@squares x - y : 0, { value(1, x), value(2, y) }).
.decl step(n: number)
step(0).
step(n + 1) :- step(n), n < 10.
.decl last(n: number)
last(@@squares n : 0, { step(n) }).
.output interval, all, none, best, each, pairs, last
"""

VALUES = [(k, x) for k in range(12) for x in random.Random(7).sample(range(-500, 500), 15)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, stratalog: Stratalog) -> Path:
    folder = tmp_path_factory.mktemp("folds")
    (folder / "functors.cc").write_text(LIBRARY)
    command = ["c++", "-std=c++17", "-shared", "-fPIC", f"-I{HEADERS}", "-o"]
    subprocess.run([*command, folder / "libfunctors.so", folder / "functors.cc"], check=True)
    (folder / "case.dl").write_text(PROGRAM)
    (folder / "value.facts").write_text("".join(f"{k}\t{x}\n" for k, x in VALUES))
    tried = stratalog("run", folder / "case.dl", "-F", folder, "-L", folder, "-D", "-", expect=None)
    if "libffi was not there" in tried.err:
        pytest.skip("this build has no libffi: user-defined functors are refused")
    return folder


def lines(folder: Path, name: str) -> list[str]:
    return sorted((folder / f"{name}.csv").read_text().splitlines())


def check(folder: Path) -> None:
    of = {k: {x for key, x in VALUES if key == k} for k, _ in VALUES}
    expected = {k: f"[{min(k, *v)}, {max(k, *v)}]" for k, v in of.items()}
    assert lines(folder, "interval") == sorted(f"{k}\t{i}" for k, i in expected.items())
    assert lines(folder, "all") == [str(100 + sum(x * x for _, x in VALUES))]
    assert lines(folder, "none") == ["7\t[1, 2]"]
    words = {f"w{x}" for _, x in VALUES}
    assert lines(folder, "best") == [min(words, key=lambda word: (-len(word), word))]
    each = {k: 10 * k + sum((x + 1) ** 2 for x in v if x != 3) for k, v in of.items()}
    assert lines(folder, "each") == sorted(f"{k}\t{n}" for k, n in each.items())
    assert lines(folder, "last") == [str(sum(n * n for n in range(11)))]
    assert lines(folder, "pairs") == [str(sum((x - y) ** 2 for x in of[1] for y in of[2]))]


@pytest.mark.parametrize("ranks", [None, *RANK_COUNTS[1:]])
def test_folds(library: Path, tmp_path: Path, stratalog: Stratalog, ranks: int | None) -> None:
    where = ("-F", library, "-L", library, "-D", tmp_path)
    stratalog("run", library / "case.dl", *where, ranks=ranks)
    check(tmp_path)


def test_restarts(library: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    check_resumed_generations(
        stratalog,
        (library / "case.dl", "-F", library, "-L", library),
        tmp_path,
        before=3,
        after=2,
        more_than=3,
        stride=2,
        exported="interval",
    )


def test_explanations(library: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    plan = stratalog("explain", library / "case.dl").out
    assert "@@squares x : 100, { value(_1, x) }" in plan
    run = ("run", library / "case.dl", "-F", library, "-L", library, "-D", tmp_path)
    stratalog(*run, "--checkpoint", tmp_path / "ck")
    assert "@@squares" in stratalog("why", tmp_path / "ck", f"all({lines(tmp_path, 'all')[0]})").out


WRONG = {
    "a(@@f x : 0, { b(x) }).": "`@f` takes 1 argument, not 2",
    "a(@@h x : 0, { b(x) }).": "undeclared functor `@h`",
    "a(n) :- n = @@g x : y, { b(x), b(y) }.": "`y`",
    "a(@@g x : 0).": "expected: `,` and the body in braces",
    "a(@@g x { b(x) }).": "expected: `:` and the value to begin with",
    'a(@@g x : "s", { b(x) }).': '`"s"`',
    "a(n) :- n = @@g x : 0, { a(x) }.": "neither only grow nor only fall",
}


@pytest.mark.parametrize("rule", WRONG)
def test_what_is_no_fold(tmp_path: Path, stratalog: Stratalog, rule: str) -> None:
    (tmp_path / "bad.dl").write_text(
        ".functor f(number): number\n.functor g(number, number): number\n"
        f".decl a(x: number)\n.decl b(x: number)\nb(1).\n{rule}\n.output a\n"
    )
    assert WRONG[rule] in stratalog("check", tmp_path / "bad.dl", expect=1).err
