# SPDX-License-Identifier: Apache-2.0
"""A program of the library as a mapping to tables, and what becomes of its memory."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import stratalog as package
from stratalog import Record, Term

LISTS = """
.type List = [head: symbol, tail: List]
.decl list(l: List)
.decl size(n: number)
size(count : { list(_) }).
"""


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_memory_is_given_back_without_a_collection() -> None:
    program = package.Program(LISTS)
    program.insert("list", [(Record(("a", None)),)])
    program.run()
    table = program["list"]
    assert list(table) == [(Record(("a", None)),)]
    handle = weakref.ref(program._handle)
    del program
    assert handle() is not None
    assert len(table.to_numpy()) == 1, "a table keeps what it reads"
    del table
    assert handle() is None


def test_records_end_with_the_next_run() -> None:
    program = package.Program(LISTS)
    program.run()
    table = program["list"]
    program.run()
    with pytest.raises(package.RunError, match="run again"):
        table._checkpoint._values_of_cells.records  # noqa: B018


def test_symbols_are_read_when_something_asks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    program = package.Program(LISTS)
    read: list[str] = []
    section = program._handle.section

    def asked(name: str) -> bytes:
        read.append(name)
        return section(name)

    monkeypatch.setattr(program._handle, "section", asked)
    program.insert("list", [(Record(("a", None)),)])
    program.run()
    assert program["size"].to_numpy().tolist() == [[1]]
    assert len(program["list"]) == 1
    assert read == []
    table = program["list"]
    assert list(table) == list(table) == [(Record(("a", None)),)]
    assert read == ["records", "dictionary"]
    program.run()
    unread = program["list"]
    program.run()
    for ended in (table, unread):
        with pytest.raises(package.RunError, match="run again"):
            list(ended)


def test_names_are_known_before_a_run() -> None:
    program, other = package.Program(LISTS), package.Program(LISTS)
    assert "list" in program and "lists" not in program and 3 not in program
    assert program.get("list") is None
    assert program.get("lists", 7) == 7
    assert program == program and program != other
    assert len({program, other, program}) == 2
    with pytest.raises(package.RunError, match="has not been run"):
        program["list"]
    program.run()
    assert list(program.get("size")) == [(0,)]
    assert program.get("sizes") is None
    assert program == program and program != other
    with pytest.raises(KeyError, match="no relation 'sizes'"):
        program["sizes"]


def test_relations_without_columns_hold_a_tuple_or_none() -> None:
    program = package.Program(".decl yes()\n.decl no()\nyes().\nno() :- !yes().")
    program.run()
    assert () in program["yes"]
    assert () not in program["no"]
    with pytest.raises(ValueError, match="tuples of 0 values"):
        assert (1,) in program["yes"]


def test_relations_that_the_compiler_makes_are_not_listed() -> None:
    program = package.Program("""
        .decl odd(x: number)
        .decl owns(x: number, y: number)
        owns(1, 2).
        odd(x) :- owns(x, _), owns(u, v), owns(v, u).
        .decl id(n: number, x: number)
        id(autoinc(), x) :- owns(x, _).
    """)
    assert list(program) == ["odd", "owns", "id"]
    assert len(program) == 3
    program.run()
    assert list(program["id"]) == [(0, 1)]
    for name in ("odd#6", "id#7"):
        assert name not in program
        with pytest.raises(KeyError):
            program[name]


def test_rows_are_looked_for_as_tuples_lists_or_arrays() -> None:
    program = package.Program("""
        .type Pair = [a: number, b: number]
        .type Colour = Red {} | Green {}
        .decl two(x: number, y: symbol)
        .decl one(x: number)
        .decl pair(p: Pair)
        .decl colour(c: Colour)
        two(1, "a"). one(1). pair([1, 2]). colour($Red()).
    """)
    program.run()
    for row in ((1, "a"), [1, "a"], np.array([1, "a"], dtype=object)):
        assert row in program["two"]
    assert [2, "a"] not in program["two"]
    for one in (1, (1,), [1], np.array([1]), np.int64(1), np.array(1)):
        assert one in program["one"]
    assert Term("Red") in program["colour"] and (Term("Green"),) not in program["colour"]
    with pytest.raises(TypeError, match="no keys"):
        assert Record((1, 2)) in program["pair"]
    for name, row in (
        ("two", 1),
        ("two", [1]),
        ("two", np.array([1])),
        ("two", np.array([[1, "a"]])),
        ("two", ([1, 2], "a")),
        ("one", [1, 2]),
        ("one", slice(1, 2)),
        ("one", range(3)),
        ("one", {1}),
    ):
        with pytest.raises(ValueError, match=rf"^{name} has tuples of \d values; found "):
            assert row in program[name]


def test_tables_and_programs_have_no_copies_and_no_end(tmp_path: Path) -> None:
    program = package.Program(".decl one(x: number)\none(1).")
    program.run(checkpoint=tmp_path)
    checkpoint = package.open(tmp_path)
    for thing in (program, program["one"], checkpoint, checkpoint["one"]):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=r"stratalog\.\w+ .*no copies or pickles"):
                copied(thing)
        with pytest.raises(TypeError):
            reversed(thing)
