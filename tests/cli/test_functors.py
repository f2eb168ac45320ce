# SPDX-License-Identifier: Apache-2.0
"""User-defined functors out of shared libraries: every kind of value, ranks, restarts, what is
missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from stratalog_runner import Stratalog, committed, outputs

LIBRARY = r"""
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static char text[256];
int64_t half(int64_t x) { return x / 2; }
uint64_t widen(uint64_t x) { return x + (UINT64_C(1) << 40); }
double scale(double x, int64_t by, double plus) { return x * (double)by + plus; }
const char* shout(const char* word, int64_t times) {
  text[0] = 0;
  for (int64_t i = 0; i < times; ++i) strcat(text, word);
  return strcat(text, "!");
}
int64_t length(const char* word) { return (int64_t)strlen(word); }
const char* mixed(int64_t n, const char* s, uint64_t u, double f, int64_t a, int64_t b, int64_t c,
                  int64_t d, const char* e) {
  snprintf(text, sizeof text, "%" PRId64 " %s %" PRIu64 " %.2f %" PRId64 " %s", n, s, u, f,
           a + b + c + d, e);
  return text;
}
int64_t seven(void) { return 7; }
const char* nothing(void) { return NULL; }
"""

PROGRAM = """
.type Id <: number
.functor half(x: Id): Id
.functor widen(unsigned): unsigned
.functor scale(x: float, by: number, plus: float): float
.functor shout(word: symbol, times: number): symbol
.functor length(symbol): number
.functor mixed(number, symbol, unsigned, float, number, number, number, number, symbol): symbol
.functor seven(): number
.functor never_called(number): number

.decl start(n: number)
.input start
.decl down(n: Id)
down(as(n, Id)) :- start(n).
down(@half(n)) :- down(n), n > 0.
.decl values(n: number, u: unsigned, f: float, s: symbol, m: symbol)
values(@length(@shout(s, 2)), @widen(u), @scale(f, 3, 0.25), @shout(s, n), t) :-
  n = @seven() - 5, s = "ab", u = 2, f = 1.5,
  t = @mixed(-1, "x", 18446744073709551615, 2.5, 1, 2, 3, 4, "end").
.decl words(w: symbol, n: number)
words(@shout("w", n), c) :- start(n), n < 20, c = count : { down(m), @half(m) = n }.
.output down, values, words
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, stratalog: Stratalog) -> Path:
    folder = tmp_path_factory.mktemp("functors")
    (folder / "functors.c").write_text(LIBRARY)
    command = ["cc", "-shared", "-fPIC", "-o", folder / "libfunctors.so", folder / "functors.c"]
    subprocess.run(command, check=True)
    (folder / "case.dl").write_text(PROGRAM)
    (folder / "start.facts").write_text("".join(f"{n}\n" for n in (1, 12, 13, 1000, 999_999)))
    tried = stratalog("run", folder / "case.dl", "-F", folder, "-L", folder, "-D", "-", expect=None)
    if "libffi was not there" in tried.err:
        pytest.skip("this build has no libffi: user-defined functors are refused")
    return folder


def down() -> list[int]:
    found = set()
    for n in (1, 12, 13, 1000, 999_999):
        while n > 0:
            found.add(n)
            n //= 2
    return sorted(found | {0})


@pytest.mark.parametrize("ranks", [None, 2, 3])
def test_every_kind_of_value(
    library: Path, tmp_path: Path, stratalog: Stratalog, ranks: int | None
) -> None:
    where = ("-F", library, "-D", tmp_path, "-L", library)
    stratalog("run", library / "case.dl", *where, ranks=ranks)
    assert [int(n) for n in (tmp_path / "down.csv").read_text().split()] == down()
    assert (tmp_path / "values.csv").read_text().rstrip("\n").split("\t") == [
        "5",
        str((1 << 40) + 2),
        "4.75",
        "abab!",
        "-1 x 18446744073709551615 2.50 10 end",
    ]
    halves = [n // 2 for n in down()]
    expected = sorted(f"{'w' * n}!\t{halves.count(n)}" for n in (1, 12, 13))
    assert sorted((tmp_path / "words.csv").read_text().splitlines()) == expected


def test_resume_knows_the_libraries(library: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    run = ("run", library / "case.dl", "-F", library, "-L", library, "-l", "functors")
    stratalog(*run, "-D", tmp_path / "whole")
    keep = ("--checkpoint", tmp_path / "ck", "--every", "1it", "--keep", "100")
    stratalog(*run, "-D", tmp_path / "first", *keep, ranks=2)
    generations = committed(tmp_path / "ck")
    assert len(generations) > 5
    for generation in generations[2::8]:
        copy = tmp_path / f"copy-{generation}"
        shutil.copytree(tmp_path / "ck", copy)
        stratalog("resume", copy, generation, "-D", tmp_path / generation)
        assert outputs(tmp_path / generation) == outputs(tmp_path / "whole")


def test_resume_from_another_folder(library: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    shutil.copytree(library, there / "code")
    for name in ("libfunctors.so", "start.facts", "case.dl"):
        shutil.copy(library / name, there)
    elsewhere.mkdir()
    ways: dict[str, tuple[object, ...]] = {
        "plain": (),  # ./libfunctors.so, facts and outputs in the current folder
        "folders": ("-F", "code", "-D", "out", "-L", "code", "-l", "functors"),
        "file": ("-F", "code", "-D", "out2", "-l", "./code/libfunctors.so"),
    }
    for name, options in ways.items():
        keep = ("--checkpoint", f"ck-{name}", "--every", "1it", "--keep", "100", "-q")
        stratalog("run", "case.dl", *options, *keep, cwd=there)
        out = there / str(options[3]) if options else there
        expected = outputs(out)
        for path in out.glob("*.csv"):
            path.unlink()
        checkpoints = there / f"ck-{name}"
        middle = committed(checkpoints)[len(committed(checkpoints)) // 2]
        stratalog("resume", Path("..") / "there" / checkpoints.name, middle, "-q", cwd=elsewhere)
        assert outputs(out) == expected and not list(elsewhere.iterdir())
    # Moved: options say where things are now.
    moved = tmp_path / "moved"
    there.rename(moved)
    found = ("-L", moved / "code", "-D", elsewhere, "-q")
    stratalog("resume", moved / "ck-folders", middle, *found, cwd=tmp_path)
    assert outputs(elsewhere) == expected
    assert not there.exists()


def complaint(stratalog: Stratalog, folder: Path, text: str, *options: object) -> str:
    (folder / "bad.dl").write_text(text)
    return stratalog("run", folder / "bad.dl", *options, "-D", "-", expect=1).err


def test_what_is_missing_is_named(library: Path, tmp_path: Path, stratalog: Stratalog) -> None:
    text = ".functor lost(number): number\n.decl a(x: number)\na(@lost(1)).\n.output a\n"
    found = complaint(stratalog, tmp_path, text, "-L", library)
    assert "bad.dl:1:10: .functor lost: there is no function `lost` in the library" in found
    found = complaint(stratalog, tmp_path, text, "-l", "nowhere")
    assert "bad.dl:1:10: .functor lost: the shared library `nowhere` cannot be loaded" in found
    assert "libnowhere.so" in found
    null = ".functor nothing(): symbol\n.decl a(x: symbol)\na(@nothing()).\n.output a\n"
    (tmp_path / "bad.dl").write_text(null)
    found = stratalog("run", tmp_path / "bad.dl", "-L", library, "-D", "-", expect=None)
    assert found.code != 0
    assert "the functor `@nothing` gave a null pointer" in found.err


def test_a_library_by_its_file_and_functors_that_nobody_calls(
    library: Path, tmp_path: Path, stratalog: Stratalog
) -> None:
    program = tmp_path / "case.dl"
    program.write_text(PROGRAM)
    shutil.copy(library / "libfunctors.so", tmp_path / "mine.so")
    options = ("-F", library, "-D", tmp_path, "-l", tmp_path / "mine.so")
    stratalog("run", program, *options)
    assert (tmp_path / "values.csv").exists()
    program.write_text(".functor f(number): number\n.decl a(x: number)\na(1).\n.printsize a\n")
    assert stratalog("run", program).sizes() == {"a": 1}


QUESTIONS = """
.functor half(x: number): number
.functor length(symbol): number
.decl start(n: number)
.input start
.decl down(n: number)
down(n) :- start(n).
down(@half(n)) :- down(n), n > 0.
.decl named(n: number)
named(n) :- down(n), @length("abc") = n.
.output down, named
"""


@pytest.mark.parametrize("question", ["why", "why-not"])
def test_questions_call_functions(
    library: Path, tmp_path: Path, stratalog: Stratalog, question: str
) -> None:
    (tmp_path / "q.dl").write_text(QUESTIONS)
    run = ("run", tmp_path / "q.dl", "-F", library, "-D", tmp_path, "-L", library)
    stratalog(*run, "--checkpoint", tmp_path / "ck")
    goal = "down(@half(12))" if question == "why" else "down(4)"
    told = stratalog(question, tmp_path / "ck", goal)
    if question == "why":
        assert "down(6)" in told.out and "start(12)" in told.out
        assert '@length("abc") = 3  holds' in stratalog("why", tmp_path / "ck", "named(3)").out
    else:
        assert "fails  4 = @half(1)" in told.out

    # Elsewhere, the libraries are named on the command line; what calls none needs none.
    (tmp_path / "ck" / "options.json").unlink()
    refused = stratalog(question, tmp_path / "ck", goal, cwd=tmp_path, expect=1)
    assert "the shared library `functors` cannot be loaded" in refused.err
    again = stratalog(question, tmp_path / "ck", goal, "-L", library, cwd=tmp_path)
    assert len(again.out.splitlines()) == len(told.out.splitlines())
    other = "start(12)" if question == "why" else "start(13000)"
    stratalog(question, tmp_path / "ck", other, cwd=tmp_path)
