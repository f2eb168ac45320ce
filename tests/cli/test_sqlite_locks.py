# SPDX-License-Identifier: Apache-2.0
"""IO=sqlite beside other programs that use the database: locks, and what they left unfinished."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from stratalog_runner import Stratalog
from test_sqlite import database, needs_sqlite

__all__ = ["needs_sqlite"]  # for all tests here

# Division by zero would end the run, if it began.
READS = ".decl zero(n: number)\nzero(0).\n" + (
    '.decl e(n: number)\n.input e(IO=sqlite, filename="e.db")\n.output e\n'
)
WRITES = '.decl w(n: number)\nw(1).\nw(2).\n.output w(IO=sqlite, filename="e.db")\n'
ENDS = ".decl zero(n: number)\nzero(0).\n.decl ends(n: number)\nends(1 / n) :- zero(n).\n"


def make(folder: Path, journal: str = "delete") -> Path:
    with database(folder / "e.db") as db:
        db.execute(f"PRAGMA journal_mode={journal}")
        db.execute("CREATE TABLE e (n INTEGER)")
        db.executemany("INSERT INTO e VALUES (?)", [(n,) for n in range(5000)])
    return folder / "e.db"


def programs(folder: Path) -> None:
    (folder / "reads.dl").write_text(READS)
    (folder / "writes.dl").write_text(WRITES)
    (folder / "ends.dl").write_text(WRITES + ENDS)


@contextmanager
def transaction(path: Path, begin: str) -> Iterator[sqlite3.Connection]:
    """Another program in the middle of its work."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with closing(other):
        other.execute(begin)
        yield other


def cut_off(folder: Path) -> None:
    """Leaves e.db as a program leaves it that is killed while it writes."""
    aside = folder / "aside"
    aside.mkdir()
    with closing(sqlite3.connect(make(aside), isolation_level=None)) as other:
        other.execute("PRAGMA cache_size=2")
        other.execute("BEGIN")
        other.execute("UPDATE e SET n = -1")
        for name in ("e.db", "e.db-journal"):
            shutil.copy(aside / name, folder / name)
        other.execute("ROLLBACK")
    shutil.rmtree(aside)
    assert (folder / "e.db-journal").read_bytes()[0] != 0


@pytest.mark.parametrize("ranks", (None, 2))
def test_a_transaction_that_was_cut_off(
    tmp_path: Path, stratalog: Stratalog, ranks: int | None
) -> None:
    programs(tmp_path)
    cut_off(tmp_path)
    before = (tmp_path / "e.db").read_bytes()
    told = "e.db-journal beside it is of a transaction that was cut off in the middle"
    refused = stratalog("run", "reads.dl", cwd=tmp_path, ranks=ranks, expect=2)
    assert told in refused.err and "reads.dl:4:8: .input e: cannot read e.db" in refused.err
    refused = stratalog("run", "ends.dl", cwd=tmp_path, ranks=ranks, expect=4)
    assert told in refused.err and "ends.dl:4:9: .output w: cannot write e.db" in refused.err
    assert (tmp_path / "e.db").read_bytes() == before
    # Its database may be gone: what is new would get what the journal holds.
    (tmp_path / "e.db").rename(tmp_path / "aside.db")
    assert told in stratalog("run", "ends.dl", cwd=tmp_path, ranks=ranks, expect=4).err
    assert not (tmp_path / "e.db").exists()
    (tmp_path / "aside.db").rename(tmp_path / "e.db")
    with database(tmp_path / "e.db") as db:  # as the message says
        assert db.execute("SELECT min(n) FROM e").fetchone() == (0,)
    stratalog("run", "writes.dl", cwd=tmp_path, ranks=ranks)
    stratalog("run", "reads.dl", cwd=tmp_path, ranks=ranks)
    assert len((tmp_path / "e.csv").read_text().splitlines()) == 5000


def test_journals_that_have_done_their_work(tmp_path: Path, stratalog: Stratalog) -> None:
    programs(tmp_path)
    make(tmp_path, "persist")
    assert (tmp_path / "e.db-journal").stat().st_size > 0
    stratalog("run", "writes.dl", cwd=tmp_path)
    stratalog("run", "reads.dl", cwd=tmp_path)
    (tmp_path / "e.db-journal").write_bytes(b"")
    stratalog("run", "reads.dl", cwd=tmp_path)


def test_changes_that_wait_in_a_log(tmp_path: Path, stratalog: Stratalog) -> None:
    programs(tmp_path)
    with closing(sqlite3.connect(tmp_path / "e.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=wal")
        db.execute("CREATE TABLE e (n INTEGER)")
        for program, code in (("reads.dl", 2), ("ends.dl", 4)):
            refused = stratalog("run", program, cwd=tmp_path, expect=code)
            assert "e.db-wal beside it holds changes that are not in the database" in refused.err
        db.execute("PRAGMA journal_mode=delete")
    stratalog("run", "writes.dl", cwd=tmp_path)
    stratalog("run", "reads.dl", cwd=tmp_path)


@pytest.mark.parametrize("ranks", (None, 2))
def test_who_writes_is_waited_for(tmp_path: Path, stratalog: Stratalog, ranks: int | None) -> None:
    programs(tmp_path)
    make(tmp_path)
    for begin, program in (("BEGIN IMMEDIATE", "writes.dl"), ("BEGIN EXCLUSIVE", "reads.dl")):
        with transaction(tmp_path / "e.db", begin) as other:
            other.execute("INSERT INTO e VALUES (7777777)")
            run = threading.Thread(
                target=stratalog, args=("run", program), kwargs={"cwd": tmp_path, "ranks": ranks}
            )
            run.start()
            time.sleep(1)
            assert run.is_alive()
            other.execute("COMMIT")
            run.join()
        with database(tmp_path / "e.db") as db:
            assert db.execute("SELECT count(*) FROM w").fetchone() == (2,)
            assert db.execute("SELECT max(n) FROM e").fetchone() == (7777777,)
    assert "7777777" in (tmp_path / "e.csv").read_text()
    # Who has begun, but changes nothing in the file yet, is no matter to who reads.
    with transaction(tmp_path / "e.db", "BEGIN IMMEDIATE") as other:
        other.execute("INSERT INTO e VALUES (8888888)")
        stratalog("run", "reads.dl", cwd=tmp_path, ranks=ranks)
        assert "8888888" not in (tmp_path / "e.csv").read_text()


def test_who_writes_and_does_not_end(tmp_path: Path, stratalog: Stratalog) -> None:
    programs(tmp_path)
    make(tmp_path)
    told = "e.db: the database is locked by another process that writes it; try again"
    with transaction(tmp_path / "e.db", "BEGIN IMMEDIATE"):
        assert told in stratalog("run", "writes.dl", cwd=tmp_path, expect=4).err
    with database(tmp_path / "e.db") as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("e",)]
    assert sorted(path.name for path in tmp_path.glob("*e.db*")) == ["e.db"]


@pytest.mark.parametrize("exists", (True, False))
def test_runs_that_write_one_database(tmp_path: Path, stratalog: Stratalog, exists: bool) -> None:
    if exists:
        make(tmp_path)
    names = [f"t{i}" for i in range(6)]
    for name in names:
        (tmp_path / f"{name}.dl").write_text(
            f".decl {name}(n: number)\n{name}(n) :- n = range(0, 20000).\n"
            f'.output {name}(IO=sqlite, filename="e.db")\n'
        )
    runs = [
        threading.Thread(target=stratalog, args=("run", f"{name}.dl"), kwargs={"cwd": tmp_path})
        for name in names
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    with database(tmp_path / "e.db") as db:
        for name in names:
            assert db.execute(f"SELECT count(*) FROM {name}").fetchone() == (20000,)
    assert sorted(path.name for path in tmp_path.glob("*e.db*")) == ["e.db"]
    assert (tmp_path / "e.db").stat().st_mode & 0o077 != 0, "as the umask says"
