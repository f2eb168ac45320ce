# SPDX-License-Identifier: Apache-2.0
"""Facts added to a finished run: the answer of a run from nothing, killed on the way or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from stopping_runs import StoppingRuns
from stratalog_runner import Finished, Stratalog, committed

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl name(x: number, s: symbol)
.input name(filename="names.csv", delimiter=",")
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl ends(x: symbol, y: symbol)
.output ends
ends(a, b) :- path(x, y), name(x, a), name(y, b).
.decl apart(x: symbol, y: symbol)
.output apart
apart(a, b) :- name(x, a), name(y, b), !path(x, y).
"""


def folder(path: Path, edges: str, names: str | None = None) -> Path:
    path.mkdir()
    (path / "edge.facts").write_text(edges)
    if names is not None:
        (path / "names.csv").write_text(names)
    return path


def chain(first: int, last: int) -> str:
    return "".join(f"{i}\t{i + 1}\n" for i in range(first, last))


class Case:
    """A finished run on the first facts, and what all facts together give."""

    def __init__(self, stratalog: Stratalog, root: Path, ranks: int | None, links: int) -> None:
        self.stratalog, self.root = stratalog, root
        self.program = root / "p.dl"
        self.program.write_text(PROGRAM)
        self.checkpoints = root / "ck"
        self.first = folder(root / "first", chain(1, links), "1,one\n4,four\n")
        self.run("-F", self.first, "--checkpoint", self.checkpoints, ranks=ranks)

    def run(self, *arguments: object, ranks: int | None = None, expect: int = 0) -> Finished:
        places = ("-D", self.root / "out", "-q")
        return self.stratalog("run", self.program, *places, *arguments, ranks=ranks, expect=expect)

    def resume(self, *arguments: object, ranks: int | None = None, expect: int = 0) -> Finished:
        return self.stratalog("resume", self.checkpoints, *arguments, ranks=ranks, expect=expect)

    def outputs(self, of: str = "out") -> dict[str, str]:
        return {path.name: path.read_text() for path in (self.root / of).iterdir()}

    def expect_all_of(self, *folders: Path) -> None:
        """The outputs are those of a run from nothing on the facts of all folders."""
        together = self.root / "together"
        together.mkdir(exist_ok=True)
        for name in ("edge.facts", "names.csv"):
            parts = [f / name for f in folders if (f / name).exists()]
            (together / name).write_text("".join(part.read_text() for part in parts))
        self.stratalog("run", self.program, "-F", together, "-D", self.root / "expected", "-q")
        assert self.outputs() == self.outputs("expected")


@pytest.mark.parametrize(("before", "after"), ((None, None), (2, 2), (2, 3), (3, None)))
def test_adding_twice(
    before: int | None, after: int | None, stratalog: Stratalog, tmp_path: Path
) -> None:
    case = Case(stratalog, tmp_path, before, 30)
    second = folder(tmp_path / "second", "30\t31\n31\t7\n1\t2\n", "31,thirty one\n")
    third = folder(tmp_path / "third", "99\t1\n", "99,late\n")
    added = case.resume("--add-facts", second, ranks=after)
    assert "going on: edge, name, path, ends" in added.err
    assert "starting over: apart (`path` is negated at" in added.err
    case.expect_all_of(case.first, second)
    case.resume("--add-facts", third, "-q", ranks=before)
    case.expect_all_of(case.first, second, third)
    # A restart has nothing left to do, and knows what was added.
    (tmp_path / "out" / "path.csv").unlink()
    case.resume("-q", ranks=after)
    case.expect_all_of(case.first, second, third)
    told = stratalog("inspect", case.checkpoints).out
    assert told.count("facts were added to gen-") == 2
    assert "edge 3, name 1" in told
    stratalog("verify", case.checkpoints, "--deep")
    stratalog("why", case.checkpoints, "path(99, 31)")


def test_lines_name_what_the_program_names(stratalog: Stratalog, tmp_path: Path) -> None:
    """Places in the program's file, and no relations that were made for others."""
    program = tmp_path / "p.dl"
    numbered = ".decl id(x: number, n: number)\nid(x, autoinc()) :- path(x, _).\n"
    counted = ".decl many(n: number)\n.output many\nmany(c) :- c = count : { id(_, _) }.\n"
    program.write_text(PROGRAM + numbered + counted)
    first = folder(tmp_path / "first", chain(1, 9), "1,one\n")
    run = ("run", program, "-F", first, "-D", tmp_path / "out", "--checkpoint", tmp_path / "ck")
    stratalog(*run, "-q")
    second = folder(tmp_path / "second", "9\t10\n")
    added = stratalog("resume", tmp_path / "ck", "--add-facts", second).err
    assert f"starting over: apart (`path` is negated at {program}:15)" in added
    assert "starting over: id (" in added
    assert f"starting over: many (`id`, which starts over, is read at {program}:" in added or (
        f"starting over: many (`id` is aggregated at {program}:" in added
    )
    assert "#" not in added and "program of gen-" not in added


@pytest.mark.parametrize("ranks", (None, 2))
def test_killed_on_the_way(
    ranks: int | None, stratalog: Stratalog, stopping: StoppingRuns, tmp_path: Path
) -> None:
    case = Case(stratalog, tmp_path, ranks, 40)
    old = committed(case.checkpoints)
    more = folder(tmp_path / "more", chain(40, 400), "44,x\n")
    arguments = ("--add-facts", more, "--every", "9it", "--durability", "none", "--keep", "999")
    stopping("resume", case.checkpoints, *arguments, ranks=ranks, STOP_AT_COMMIT=1).kill()
    assert len(committed(case.checkpoints)) == len(old) + 1
    told = stratalog("inspect", case.checkpoints).out
    assert "facts are being added to" in told
    again = case.resume("--add-facts", more, expect=7)
    assert "were being added" in again.err
    case.resume("-q", "--every", "60s", "--keep", "999", ranks=3)
    case.expect_all_of(case.first, more)
    # The old finished run is still there, and can take the facts once more.
    case.resume(old[0], "--add-facts", more, "-q")
    case.expect_all_of(case.first, more)


def test_what_is_refused(stratalog: Stratalog, tmp_path: Path) -> None:
    case = Case(stratalog, tmp_path, None, 5)
    more = folder(tmp_path / "more", "5\t6\n")
    case.run("-F", case.first, "--add-facts", more, expect=1)
    assert "nowhere" in case.resume("--add-facts", tmp_path / "nowhere", expect=2).err
    empty = tmp_path / "empty"
    empty.mkdir()
    nothing = case.resume("--add-facts", empty, expect=2)
    assert "expected some of: edge.facts, names.csv" in nothing.err
    wrong = case.resume("--add-facts", folder(tmp_path / "wrong", "5\tsix\n"), expect=2)
    assert "edge.facts:1: field 2" in wrong.err
    assert len(committed(case.checkpoints)) == 1


def test_inputs_that_would_start_over_are_refused(stratalog: Stratalog, tmp_path: Path) -> None:
    program = tmp_path / "choice.dl"
    program.write_text(
        ".decl edge(x: number, y: number) choice-domain x\n.input edge\n.output edge\n"
    )
    facts = folder(tmp_path / "facts", "1\t2\n")
    stratalog("run", program, "-F", facts, "-D", tmp_path, "--checkpoint", tmp_path / "ck")
    more = folder(tmp_path / "more", "1\t3\n")
    refused = stratalog("resume", tmp_path / "ck", "--add-facts", more, expect=1)
    assert "`edge` has a choice-domain" in refused.err


LATTICES = """
.type Length <: number
.lattice Length<> { Bottom -> 1000, Lub -> min(_, _), Glb -> max(_, _) }
.decl road(x: number, y: number, w: number)
.input road
.decl far(x: number, y: number, d: Length<>)
.input far
.output far
far(x, y, as(w, Length)) :- road(x, y, w).
far(x, z, d + w) :- far(x, y, d), road(y, z, w).
.decl near(x: number)
.output near
near(y) :- far(1, y, 6).
.decl even(x: number)
.output even
even(y) :- far(1, y, d), d % 2 = 0.
"""


@pytest.mark.parametrize("ranks", (None, 2, 3))
def test_lattices_go_on(ranks: int | None, stratalog: Stratalog, tmp_path: Path) -> None:
    """A shorter way takes the place of a longer one; only what it takes back starts over."""
    program = tmp_path / "p.dl"
    program.write_text(LATTICES)
    first, more = tmp_path / "first", tmp_path / "more"
    portions = ((first, "1\t2\t9\n2\t3\t1\n", "3\t4\t8\n"), (more, "1\t2\t5\n", ""))
    for facts, roads, known in portions:
        facts.mkdir()
        (facts / "road.facts").write_text(roads)
        (facts / "far.facts").write_text(known)
    (tmp_path / "out").mkdir()
    run = ("run", program, "-F", first, "-D", tmp_path / "out", "--checkpoint", tmp_path / "ck")
    stratalog(*run, "-q", ranks=ranks)
    assert (tmp_path / "out" / "even.csv").read_text() == "3\n"
    added = stratalog("resume", tmp_path / "ck", "--add-facts", more, ranks=ranks)
    assert "going on: road, far, near" in added.err
    taken_back = f"a better value in `far` may take back what follows from it at {program}:16"
    assert f"starting over: even ({taken_back})" in added.err
    wanted = {"far": "1\t2\t5\n1\t3\t6\n2\t3\t1\n3\t4\t8\n", "near": "2\n3\n", "even": "3\n"}
    assert {p.stem: p.read_text() for p in (tmp_path / "out").iterdir()} == wanted


def test_what_a_better_value_takes_back_is_refused_where_it_is_read(
    stratalog: Stratalog, tmp_path: Path
) -> None:
    program = tmp_path / "p.dl"
    program.write_text(LATTICES + ".input even\n")
    facts = tmp_path / "facts"
    facts.mkdir()
    for name in ("road", "far", "even"):
        (facts / f"{name}.facts").write_text("")
    where = ("-F", facts, "-D", tmp_path, "--checkpoint", tmp_path / "ck", "-q")
    stratalog("run", program, *where)
    refused = stratalog("resume", tmp_path / "ck", "--add-facts", facts, expect=1).err
    assert "`even` would have to start over (a better value in `far` may take back" in refused
    assert "subsumed" not in refused
