# SPDX-License-Identifier: Apache-2.0
"""Stateful functors, which are handed tables of symbols and records: every form of a value there
and back, on ranks and after restarts, and libraries that ask for or give what there is not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from stratalog_runner import RANK_COUNTS, Stratalog, check_resumed_generations

HEADERS = Path(__file__).resolve().parents[2] / "include/functors"

LIBRARY = r"""
#include "souffle/SouffleFunctor.h"
#include <set>
#include <stdexcept>
#include <string>
#include <vector>
using souffle::RamDomain;
using souffle::RecordTable;
using souffle::SymbolTable;
namespace {
// Branches by name: Box(name, w, h), Circle(r), Group(a, b), Point.
enum Shape { kBox, kCircle, kGroup, kPoint };
RamDomain branch(RecordTable* records, RamDomain number, RamDomain value) {
  return records->pack({number, value});
}
}  // namespace
extern "C" {
RamDomain twice(SymbolTable* symbols, RecordTable*, RamDomain text) {
  return symbols->encode(symbols->decode(text) + symbols->decode(text));
}
RamDomain push(SymbolTable*, RecordTable* records, RamDomain x, RamDomain list) {
  return records->pack({x, list});
}
RamDomain reverse(SymbolTable*, RecordTable* records, RamDomain list) {
  RamDomain result = 0;
  for (; list != 0; list = records->unpack(list, 2)[1])
    result = records->pack({records->unpack(list, 2)[0], result});
  return result;
}
RamDomain count_to(SymbolTable*, RecordTable* records, RamDomain n) {
  RamDomain list = 0;
  for (; n > 0; --n) list = records->pack({n, list});
  return list;
}
RamDomain total(SymbolTable*, RecordTable* records, RamDomain list) {
  RamDomain sum = 0;
  for (; list != 0; list = records->unpack(list, 2)[1]) sum += records->unpack(list, 2)[0];
  return sum;
}
RamDomain scale(SymbolTable* symbols, RecordTable* records, RamDomain shape, RamDomain by) {
  const RamDomain* const pair = records->unpack(shape, 2);
  switch (pair[0]) {
    case kBox: {
      const RamDomain* const box = records->unpack(pair[1], 3);
      const std::string name = symbols->decode(box[0]) + "'";
      return branch(records, kBox,
                    records->pack({symbols->encode(name), box[1] * by, box[2] * by}));
    }
    case kCircle:
      return branch(records, kCircle,
                    souffle::ramBitCast(souffle::ramBitCast<double>(pair[1]) * double(by)));
    case kGroup: {
      const RamDomain* const parts = records->unpack(pair[1], 2);
      const RamDomain a = scale(symbols, records, parts[0], by);
      return branch(records, kGroup, records->pack({a, scale(symbols, records, parts[1], by)}));
    }
    default:
      return branch(records, kPoint, 77);  // what stands behind a branch without fields is nothing
  }
}
RamDomain turn(SymbolTable*, RecordTable*, RamDomain colour) { return (colour + 1) % 3; }
RamDomain half(SymbolTable*, RecordTable*, RamDomain x) {
  return souffle::ramBitCast(souffle::ramBitCast<double>(x) / 2);
}
RamDomain halve(SymbolTable*, RecordTable*, RamDomain x) {
  return souffle::ramBitCast(souffle::ramBitCast<std::uint64_t>(x) / 2);
}
// Sets of numbers as ascending lists.
RamDomain unite(SymbolTable*, RecordTable* records, RamDomain a, RamDomain b) {
  std::set<RamDomain> all;
  for (const RamDomain list : {a, b})
    for (RamDomain at = list; at != 0; at = records->unpack(at, 2)[1])
      all.insert(records->unpack(at, 2)[0]);
  RamDomain result = 0;
  for (auto x = all.rbegin(); x != all.rend(); ++x) result = records->pack({*x, result});
  return result;
}
// How many symbols and records the tables tell of, and that they agree with themselves.
RamDomain look_around(SymbolTable* symbols, RecordTable* records, RamDomain text) {
  const auto [number, is_new] = symbols->findOrInsert("look_around");
  bool is_right = symbols->weakContains("look_around") && !symbols->weakContains("nowhere at all");
  bool found = false;
  for (auto at = symbols->begin(); at != symbols->end(); ++at) {
    is_right = is_right && symbols->encode(at->first) == RamDomain(at->second);
    found = found || RamDomain(at->second) == text;
  }
  const RamDomain pair = records->pack({text, number});
  bool has_pair = false;
  records->enumerate([&](const RamDomain* words, std::size_t arity, RamDomain reference) {
    has_pair = has_pair || (reference == pair && arity == 2 && words[0] == text);
  });
  return is_right && found && has_pair ? 1 : 0;
}
RamDomain no_symbol(SymbolTable* symbols, RecordTable*) { return symbols->encode("x") + 12345; }
RamDomain asks_symbol(SymbolTable* symbols, RecordTable*) {
  return RamDomain(symbols->decode(-7).size());
}
RamDomain asks_record(SymbolTable*, RecordTable* records) { return records->unpack(4242, 3)[2]; }
RamDomain asks_nil(SymbolTable*, RecordTable* records, RamDomain list) {
  return records->unpack(list, 2)[0];
}
RamDomain no_record(SymbolTable*, RecordTable*) { return 987654; }
RamDomain huge_record(SymbolTable*, RecordTable* records) {
  return records->pack({1, 0}) + (RamDomain(1) << 32);
}
RamDomain too_wide(SymbolTable*, RecordTable* records) { return records->pack({1, 2, 3}); }
RamDomain circle(SymbolTable*, RecordTable* records) {
  RamDomain list = records->pack({1, 0});
  for (int i = 0; i < 3; ++i) list = records->pack({i, list + 1});
  return list;
}
RamDomain no_shape(SymbolTable*, RecordTable*) { return 0; }
RamDomain no_branch(SymbolTable*, RecordTable* records) { return records->pack({9, 0}); }
RamDomain no_colour(SymbolTable*, RecordTable*) { return 3; }
RamDomain throws(SymbolTable*, RecordTable*) { throw std::runtime_error("not today"); }
}
"""

TYPES = """
.type List = [head: number, tail: List]
.type Shape = Point {} | Circle { r: float } | Box { name: symbol, w: number, h: number }
  | Group { a: Shape, b: Shape }
.type Colour = Red {} | Green {} | Blue {}
"""

PROGRAM = (
    TYPES
    + """
.functor twice(text: symbol): symbol stateful
.functor push(number, List): List stateful
.functor reverse(List): List stateful
.functor count_to(n: number): List stateful
.functor total(List): number stateful
.functor scale(Shape, by: number): Shape stateful
.functor turn(Colour): Colour stateful
.functor half(float): float stateful
.functor halve(unsigned): unsigned stateful
.functor look_around(symbol): number stateful

.decl step(n: number)
.input step
.decl list(n: number, l: List)
list(0, nil).
list(n + 1, @push(n * 1000000000000, l)) :- list(n, l), step(n).
.decl turned(n: number, l: List, all: number)
turned(n, @reverse(l), @total(l)) :- list(n, l).
.decl long(all: number, end: number)
long(@total(@reverse(l)), e) :- l = @count_to(100000), [e, _] = @reverse(l).
.decl shape(s: Shape)
shape($Point()).
shape($Circle(1.25)).
shape($Box("b", 2, -3)).
shape($Group($Box("in", 1, 1), $Group($Point(), $Circle(0.5)))).
shape(@scale(s, 2)) :- shape($Circle(r)), r < 9.0, s = $Circle(r).
.decl scaled(s: Shape, t: Shape)
scaled(s, @scale(s, 3)) :- shape(s).
.decl colours(a: Colour, b: Colour)
colours(a, @turn(a)) :- (a = $Red(); a = $Green(); a = $Blue()).
.decl words(w: symbol)
words("ab").
words(@twice(w)) :- words(w), strlen(w) < 20.
.decl rest(f: float, u: unsigned, seen: number)
rest(@half(2.5), @halve(18446744073709551615), @look_around("seen here")).
.output list, turned, long, shape, scaled, colours, words, rest
"""
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, stratalog: Stratalog) -> Path:
    folder = tmp_path_factory.mktemp("stateful")
    (folder / "functors.cc").write_text(LIBRARY)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{HEADERS}"]
    command = ["c++", *flags, "-o", folder / "libfunctors.so", folder / "functors.cc"]
    subprocess.run(command, check=True)
    (folder / "case.dl").write_text(PROGRAM)
    (folder / "step.facts").write_text("".join(f"{n}\n" for n in range(12)))
    assert not stratalog("check", folder / "case.dl").err
    tried = stratalog("run", folder / "case.dl", "-F", folder, "-L", folder, "-D", "-", expect=None)
    if "libffi was not there" in tried.err:
        pytest.skip("this build has no libffi: user-defined functors are refused")
    return folder


def text_of(numbers: list[int]) -> str:
    text = "nil"
    for n in reversed(numbers):
        text = f"[{n}, {text}]"
    return text


def lines(folder: Path, name: str) -> list[str]:
    return sorted((folder / f"{name}.csv").read_text().splitlines())


def check(folder: Path) -> None:
    lists = [[k * 10**12 for k in reversed(range(n))] for n in range(13)]
    assert lines(folder, "list") == sorted(f"{n}\t{text_of(x)}" for n, x in enumerate(lists))
    assert lines(folder, "turned") == sorted(
        f"{n}\t{text_of(x[::-1])}\t{sum(x)}" for n, x in enumerate(lists)
    )
    assert lines(folder, "long") == ["5000050000\t100000"]
    circles = [f"$Circle({r:g})" for r in (1.25, 2.5, 5, 10)]
    group = "$Group($Box(in, 1, 1), $Group($Point, $Circle(0.5)))"
    assert lines(folder, "shape") == sorted(["$Point", "$Box(b, 2, -3)", group, *circles])
    bigger = {c: f"$Circle({3 * r:g})" for c, r in zip(circles, (1.25, 2.5, 5, 10), strict=True)}
    bigger |= {"$Point": "$Point", "$Box(b, 2, -3)": "$Box(b', 6, -9)"}
    bigger[group] = "$Group($Box(in', 3, 3), $Group($Point, $Circle(1.5)))"
    assert lines(folder, "scaled") == sorted("\t".join(pair) for pair in bigger.items())
    # By name: Blue, Green, Red.
    assert lines(folder, "colours") == ["$Blue\t$Green", "$Green\t$Red", "$Red\t$Blue"]
    assert lines(folder, "words") == ["ab" * (1 << k) for k in range(5)]
    assert lines(folder, "rest") == ["1.25\t9223372036854775807\t1"]


@pytest.mark.parametrize("ranks", [None, *RANK_COUNTS[1:]])
def test_every_form_of_a_value(
    library: Path, tmp_path: Path, stratalog: Stratalog, ranks: int | None
) -> None:
    where = ("-F", library, "-L", library, "-D", tmp_path)
    stratalog("run", library / "case.dl", *where, ranks=ranks)
    check(tmp_path)


def test_threads_share_the_tables(library: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    stratalog("run", library / "case.dl", "-j", 3, "-F", library, "-L", library, "-D", tmp_path)
    check(tmp_path)


def test_restarts(library: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    run = (library / "case.dl", "-F", library, "-L", library)
    check_resumed_generations(
        stratalog,
        run,
        tmp_path,
        before=3,
        after=2,
        more_than=15,
        stride=7,
        exported="scaled",
    )


SETS = (
    TYPES
    + """
.functor unite(List, List): List stateful
.lattice List<> { Lub -> @unite(_, _) }
.decl edge(x: number, y: number)
.input edge
.decl above(x: number, all: List<>)
above(x, [x, nil]) :- edge(x, _).
above(y, l) :- above(x, l), edge(x, y).
above(y, [y, nil]) :- edge(_, y).
.output above
"""
)


@pytest.mark.parametrize("ranks", [None, 2, 3])
def test_lattices_of_records(
    library: Path, tmp_path: Path, stratalog: Stratalog, ranks: int | None
) -> None:
    edges = [(x, (x * 7 + k) % 40) for x in range(25) for k in (1, 3)]
    (tmp_path / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in edges))
    (tmp_path / "sets.dl").write_text(SETS)
    above = {v: {v} for edge in edges for v in edge}
    for _ in above:
        for x, y in edges:
            above[y] |= above[x]
    run = ("run", tmp_path / "sets.dl", "-F", tmp_path, "-L", library, "-D", tmp_path)
    stratalog(*run, ranks=ranks)
    expected = sorted(f"{x}\t{text_of(sorted(s))}" for x, s in above.items())
    assert lines(tmp_path, "above") == expected


WRONG = {
    "no_symbol(): symbol": "gave 12345 as the number of a symbol, which its table does not have",
    "asks_symbol(): number": "it asked for symbol number -7, and the table has 0 symbols",
    "asks_record(): number": "it unpacked reference 4242, and the table has 0 records",
    "asks_nil(List): number": "it unpacked nil, as 2 fields",
    "no_record(): List": "gave 987654, which is no value of the type `List`: it does not refer to",
    "huge_record(): List": "gave 4294967297, which is no value of the type `List`: there is no",
    "too_wide(): List": "which is no value of the type `List`: it does not refer to a record of 2",
    "circle(): List": "its field `tail` refers to 4, which was not there before",
    "no_shape(): Shape": "gave 0, which is no value of the type `Shape`: it does not refer to a",
    "no_branch(): Shape": "there is no branch number 9",
    "no_colour(): Colour": "gave 3, which is no value of the type `Colour`: there is no branch of",
    "throws(): number": "threw an exception: not today",
}


@pytest.mark.parametrize("declared", WRONG)
def test_what_is_wrong_is_said(
    library: Path, tmp_path: Path, stratalog: Stratalog, declared: str
) -> None:
    name, result = declared.split("(")[0], declared.split(": ")[1]
    given = "nil" if "List)" in declared else ""
    (tmp_path / "bad.dl").write_text(
        f"{TYPES}.functor {declared} stateful\n.decl a(x: {result})\n"
        f"a(@{name}({given})).\n.output a\n"
    )
    said = stratalog("run", tmp_path / "bad.dl", "-L", library, "-D", "-", expect=1).err
    assert f"`@{name}`" in said and WRONG[declared] in said and "bad.dl:8:1" in said


def test_numbers_cast_to_records_are_no_arguments(
    library: Path, tmp_path: Path, stratalog: Stratalog
) -> None:
    (tmp_path / "cast.dl").write_text(
        f"{TYPES}.functor total(List): number stateful\n.decl s(x: Shape)\ns($Circle(1.0)).\n"
        ".decl a(x: number)\na(@total(as(x, List))) :- s(x).\n.output a\n"
    )
    said = stratalog("run", tmp_path / "cast.dl", "-L", library, "-D", "-", expect=1).err
    assert "the functor `@total` is given 1, which is no value of the type `List`" in said


def test_questions_call_stateful_functors(
    library: Path, tmp_path: Path, stratalog: Stratalog
) -> None:
    run = ("run", library / "case.dl", "-F", library, "-L", library, "-D", tmp_path / "out")
    stratalog(*run, "--checkpoint", tmp_path / "ck")
    told = stratalog("why", tmp_path / "ck", "list(2, [1000000000000, [0, nil]])").out
    assert "list(1, [0, nil])" in told and "step(1)" in told
    told = stratalog("why-not", tmp_path / "ck", "turned(2, nil, 0)").out
    assert "@reverse" in told


def test_only_stateful_functors_take_records(tmp_path: Path, stratalog: Stratalog) -> None:
    (tmp_path / "plain.dl").write_text(f"{TYPES}.functor f(List): number\n.decl a(x: number)\n")
    said = stratalog("check", tmp_path / "plain.dl", expect=1).err
    assert "only `stateful` functors take and give values of type `List`" in said
