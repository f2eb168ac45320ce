# SPDX-License-Identifier: Apache-2.0
"""IO=sqlite through the command: tables and views in, Soufflé's tables out, all or nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from stratalog_runner import Stratalog

PROGRAM = """
.type Pair = [n: number, s: symbol]
.decl p(n: number, s: symbol, f: float, u: unsigned)
.input p(IO=sqlite, filename="in.db")
.decl q(n: number, s: symbol, f: float, u: unsigned)
q(n + 1, cat(s, "!"), f, u) :- p(n, s, f, u).
.output q(IO=sqlite, dbname="out.db")
.decl pairs(p: Pair)
pairs([n, s]) :- p(n, s, _, _), n < 3.
.output pairs(IO=sqlite, filename="out.db")
"""
ROWS = [(n, f'é"{n % 7}', n / 4, 2 * n) for n in range(-3, 400)]


@pytest.fixture(autouse=True)
def needs_sqlite(tmp_path: Path, stratalog: Stratalog) -> None:
    (tmp_path / "try.dl").write_text(".decl a(n: number)\n.output a(IO=sqlite)\n")
    tried = stratalog("run", tmp_path / "try.dl", "-D", tmp_path / "try", expect=None)
    if "this build has no SQLite" in tried.err:
        pytest.skip("the build has no SQLite")


@contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as connection:
        yield connection
        connection.commit()


def facts(path: Path) -> None:
    with database(path) as db:
        db.execute("CREATE TABLE p (n INTEGER, s TEXT, f REAL, u)")
        db.executemany(
            "INSERT INTO p VALUES (?, ?, ?, ?)", [(n, s, f, abs(u)) for n, s, f, u in ROWS]
        )


@pytest.mark.parametrize("ranks", [None, 2, 3])
def test_facts_and_outputs(tmp_path: Path, stratalog: Stratalog, ranks: int | None) -> None:
    facts(tmp_path / "in.db")
    (tmp_path / "case.dl").write_text(PROGRAM)
    out = tmp_path / "o"
    out.mkdir()
    with database(out / "out.db") as db:  # what others keep there stays
        db.execute("CREATE TABLE mine (x)")
        db.execute("INSERT INTO mine VALUES ('kept')")
    for _ in range(2):  # the second run replaces what the first one wrote
        stratalog("run", tmp_path / "case.dl", "-F", tmp_path, "-D", out, ranks=ranks)
    with database(out / "out.db") as db:
        expected = sorted((n + 1, s + "!", f, abs(u)) for n, s, f, u in ROWS)
        assert sorted(db.execute("SELECT n, s, f, u FROM q")) == expected
        assert db.execute("SELECT count(*) FROM _q").fetchone() == (len(ROWS),)
        assert db.execute("SELECT x FROM mine").fetchall() == [("kept",)]
        assert ('[2, "é\\"2"]',) in db.execute("SELECT p FROM pairs").fetchall()
        symbols = [s for (s,) in db.execute("SELECT symbol FROM __SymbolTable")]
        assert len(symbols) == len(set(symbols)) == 7 + 6
    files = {p.name: p.read_bytes() for p in out.iterdir()}
    assert list(files) == ["out.db"]


def test_an_empty_symbol_is_an_empty_text(tmp_path: Path, stratalog: Stratalog) -> None:
    (tmp_path / "a.dl").write_text(
        '.decl t(s: symbol)\nt("").\nt(substr("abc", 3, 1)).\nt("x").\n.output t(IO=sqlite)\n'
    )
    stratalog("run", tmp_path / "a.dl", "-D", tmp_path)
    with database(tmp_path / "t.sqlite") as db:
        assert sorted(db.execute("SELECT s FROM t")) == [("",), ("x",)]


def test_outputs_are_facts_again(tmp_path: Path, stratalog: Stratalog) -> None:
    types = ".type Tree = Leaf {} | Node {l: Tree, v: symbol}\n.decl t(t: Tree, u: unsigned)\n"
    (tmp_path / "a.dl").write_text(
        types
        + 't($Leaf(), 18446744073709551615).\nt($Node($Node($Leaf(), "a, \\"b]"), "c"), 1).\n'
        + ".output t(IO=sqlite)\n.output t\n"
    )
    (tmp_path / "b.dl").write_text(types + ".input t(IO=sqlite)\n.output t\n")
    stratalog("run", tmp_path / "a.dl", "-D", tmp_path)
    stratalog("run", tmp_path / "b.dl", "-F", tmp_path, "-D", tmp_path / "again")
    assert (tmp_path / "again" / "t.csv").read_text() == (tmp_path / "t.csv").read_text()


def test_all_floats_come_back(tmp_path: Path, stratalog: Stratalog) -> None:
    declared = ".decl f(x: float)\n.output f\n"
    (tmp_path / "a.dl").write_text(
        declared + "f(-0.0). f(0.0). f(1.5). f(2.0). f(1.0 / 0.0). f(-1.0 / 0.0).\n"
        'f(to_float("nan")). f(to_float("-nan")).\n.output f(IO=sqlite)\n'
    )
    (tmp_path / "b.dl").write_text(declared + ".input f(IO=sqlite)\n")
    stratalog("run", tmp_path / "a.dl", "-D", tmp_path)
    stratalog("run", tmp_path / "b.dl", "-F", tmp_path, "-D", tmp_path / "again")
    written = (tmp_path / "again" / "f.csv").read_text()
    assert written == (tmp_path / "f.csv").read_text()
    assert written == "-nan\n-inf\n-0\n0\n1.5\n2\ninf\nnan\n"
    with database(tmp_path / "f.sqlite") as db:
        assert db.execute("SELECT count(*) FROM f WHERE x BETWEEN -1 AND 2").fetchone() == (4,)
        assert {x for (x,) in db.execute("SELECT x FROM f") if isinstance(x, str)} == {
            "nan",
            "-nan",
        }


def test_a_view_chooses_columns(tmp_path: Path, stratalog: Stratalog) -> None:
    with database(tmp_path / "e.db") as db:
        db.execute('CREATE TABLE "wide ""one" (a, b, c)')
        db.execute('INSERT INTO "wide ""one" VALUES (1, 2, 3), (4, 5, 6)')
        db.execute('CREATE VIEW chosen AS SELECT c, a FROM "wide ""one"')
    (tmp_path / "case.dl").write_text(
        ".decl e(x: number, y: number)\n"
        '.input e(IO=sqlite, filename="e.db", name="chosen")\n.output e(IO=stdout)\n'
    )
    ran = stratalog("run", tmp_path / "case.dl", "-F", tmp_path)
    assert "3\t1\n6\t4\n" in ran.out


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("CREATE TABLE other (n)", 'e.db: the database has no table or view "e"'),
        ("CREATE TABLE e (a, b)", '"e" has 2 columns, relation e has 1 attributes'),
        ("CREATE TABLE e AS SELECT 1 AS n UNION ALL SELECT NULL", "expected a number, found NULL"),
        ("CREATE TABLE e AS SELECT 'x' AS n", "e.db:1: field 1 (attribute `n`, type number)"),
        ("CREATE TABLE e AS SELECT 1.5 AS n", "e.db:1: field 1 (attribute `n`, type number)"),
    ],
)
@pytest.mark.parametrize("ranks", [None, 2])
def test_what_is_wrong_is_said(
    tmp_path: Path, stratalog: Stratalog, table: str, message: str, ranks: int | None
) -> None:
    with database(tmp_path / "e.db") as db:
        db.execute(table)
    (tmp_path / "case.dl").write_text(
        '.decl e(n: number)\n.input e(IO=sqlite, filename="e.db")\n.output e\n'
    )
    ran = stratalog("run", tmp_path / "case.dl", "-F", tmp_path, ranks=ranks, expect=2)
    assert message in ran.err


def test_no_database_and_taken_names(tmp_path: Path, stratalog: Stratalog) -> None:
    (tmp_path / "e.db").write_text("this is no database, and long enough to be looked at\n" * 30)
    (tmp_path / "case.dl").write_text(
        '.decl e(n: number)\ne(1).\n.output e(IO=sqlite, filename="e.db")\n'
    )
    ran = stratalog("run", tmp_path / "case.dl", "-D", tmp_path, expect=4)
    assert "e.db: SQLite: file is not a database" in ran.err
    assert (tmp_path / "e.db").read_text().startswith("this is no database")
    (tmp_path / "e.db").unlink()
    with database(tmp_path / "e.db") as db:
        db.execute("CREATE TABLE e (precious)")
    before = (tmp_path / "e.db").read_bytes()
    ran = stratalog("run", tmp_path / "case.dl", "-D", tmp_path, expect=4)
    assert "use DROP TABLE to delete table e" in ran.err
    assert (tmp_path / "e.db").read_bytes() == before


def test_relations_without_attributes_are_refused(tmp_path: Path, stratalog: Stratalog) -> None:
    (tmp_path / "case.dl").write_text(".decl e()\ne().\n.output e(IO=sqlite)\n")
    ran = stratalog("run", tmp_path / "case.dl", "-D", tmp_path, expect=1)
    assert "IO=sqlite cannot hold a relation without attributes" in ran.err
