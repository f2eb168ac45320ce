# SPDX-License-Identifier: Apache-2.0
"""The library from Python, as it is installed, and the examples of docs/library.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stratalog as package
from stratalog import Record, Term
from stratalog_runner import Stratalog

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["STRATALOG"]).resolve().parent

CLOSURE = """
.decl edge(a: number, b: number)
.input edge
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.output path
.printsize path
"""
KINDS = """
.type List = [head: symbol, tail: List]
.type Shape = Circle {r: float} | Box {note: symbol, l: List}
.type Colour = Red {} | Green {}
.decl given(n: number, u: unsigned, f: float, s: symbol, l: List, p: Shape, c: Colour)
.decl taken(n: number, u: unsigned, f: float, s: symbol, l: List, p: Shape, c: Colour)
taken(n, u, f, s, l, p, c) :- given(n, u, f, s, l, p, c).
"""


def examples(language: str) -> list[str]:
    text = (PROJECT / "docs" / "library.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("prefix")
    command = ["cmake", "--install", BUILD, "--prefix", prefix, "--component", "library"]
    subprocess.run(command, check=True, capture_output=True)
    return prefix


def test_python_examples_of_the_page() -> None:
    assert len(examples("python")) == 3
    space: dict[str, Any] = {}
    for text in examples("python"):
        exec(compile(text, "library.md", "exec"), space)


@pytest.mark.parametrize(
    ("language", "compiler"),
    [("c", ["cc", "-std=c11", "-pedantic"]), ("cpp", ["c++", "-std=c++20"])],
)
def test_compiled_examples_of_the_page(
    installed: Path, tmp_path: Path, language: str, compiler: list[str]
) -> None:
    (text,) = examples(language)
    source = tmp_path / f"example.{language}"
    source.write_text(text)
    flags = [*pkg_config(installed, "--cflags", "--libs")]
    (folder,) = pkg_config(installed, "--variable=libdir")
    flags.append(f"-Wl,-rpath,{folder}")
    program = tmp_path / "example"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run([*compiler, *warnings, source, "-o", program, *flags], check=True)
    assert_closure_is_printed(program)


def pkg_config(installed: Path, *options: str) -> list[str]:
    return subprocess.run(
        ["pkg-config", *options, "stratalog"],
        env={**os.environ, "PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig")},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()


def assert_closure_is_printed(program: Path) -> None:
    ran = subprocess.run([program], check=True, capture_output=True, text=True)
    assert sorted(ran.stdout.split("\n")) == ["", "1 2", "1 3", "2 3"]


def test_older_dialects_are_told_what_is_missing(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "old.cc").write_text("#include <stratalog/program.h>\n")
    flags = pkg_config(installed, "--cflags")
    command = ["c++", "-std=c++17", "-c", tmp_path / "old.cc", "-o", tmp_path / "old.o", *flags]
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "stratalog/program.h needs C++20" in refused.stderr


def test_the_cmake_example_of_the_page(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(*examples("cmake"))
    (tmp_path / "main.cc").write_text(*examples("cpp"))
    build = tmp_path / "build"
    prefix = f"-DCMAKE_PREFIX_PATH={installed}"
    for command in (["-S", tmp_path, "-B", build, prefix], ["--build", build]):
        subprocess.run(["cmake", *command], check=True, capture_output=True)
    assert_closure_is_printed(build / "closure")
    assert (installed / "include" / "stratalog" / "program.h").exists()


def test_only_the_interface_is_exported() -> None:
    listing = subprocess.run(
        ["nm", "-D", "-C", "--defined-only", BUILD / "libstratalog.so"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = [line.split(" ", 2)[2] for line in listing.splitlines()]
    assert names
    allowed = re.compile(
        r"stratalog_\w+|stratalog::(Program|Status)::.*|stratalog::status_code_name.*"
    )
    assert [name for name in names if not allowed.fullmatch(name)] == []


ROWS = [
    (-5, 2**64 - 1, -0.5, "a,b", None, Term("Circle", (2.5,)), Term("Red")),
    (2**63 - 1, 0, 1e300, 'é"\\', Record(("x", Record(("[", None)))), Term("Box", ("]", None)),
     Term("Green")),
]  # fmt: skip


def test_every_kind_of_value_comes_back() -> None:
    program = package.Program(KINDS)
    assert program.insert("given", ROWS) == 2
    program.run()
    assert sorted(program["taken"]) == ROWS
    again = package.Program(KINDS)
    again.insert("given", program["taken"])  # a table goes in as it is
    again.run()
    assert sorted(again["taken"]) == ROWS


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16, np.int64, np.uint64])
def test_integers_of_any_width_and_stride(dtype: Any) -> None:
    wide = np.arange(40, dtype=dtype).reshape(10, 4)
    program = package.Program(CLOSURE)
    program.insert("edge", wide[::2, 1:3])
    program.run()
    found = program["edge"].to_numpy()
    assert np.array_equal(np.sort(found, axis=0), wide[::2, 1:3].astype(np.int64))


def test_forms_of_tuples() -> None:
    pairs = [(1, 2), (3, 4)]
    named = np.array(pairs, dtype=[("a", "i8"), ("b", "i4")])
    forms: list[Any] = [pairs, np.array(pairs), named, {"b": [2, 4], "a": np.array([1, 3])}]
    for form in forms:
        program = package.Program(CLOSURE)
        program.insert("edge", form)
        program.run()
        assert sorted(program["edge"]) == pairs
    flag = package.Program(".decl yes()\n.decl also()\nalso() :- yes().")
    flag.insert("yes", [()])
    flag.run()
    assert list(flag["also"]) == [()]


@pytest.mark.parametrize(
    ("relation", "data", "error"),
    [
        ("edge", [(1, "x")], TypeError),
        ("edge", [(1, True)], TypeError),
        ("edge", np.array([[1.0, 2.0]]), TypeError),
        ("edge", [(1, 2**63)], OverflowError),
        ("edge", np.array([[1, 2**63]], dtype=np.uint64), OverflowError),
        ("edge", np.zeros((2, 3), dtype=int), ValueError),
        ("edge", {"a": [1], "c": [2]}, ValueError),
        ("edge", {"a": [1], "b": [2, 3]}, ValueError),
        ("edge", [(1, 2), 3], ValueError),
        ("edges", [(1, 2)], KeyError),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_added(
    relation: str, data: Any, error: type[Exception]
) -> None:
    program = package.Program(CLOSURE)
    with pytest.raises(error, match="edge"):
        program.insert(relation, data)
    program.run()
    assert len(program["path"]) == 0


def test_structured_text_that_is_none_is_refused() -> None:
    program = package.Program(KINDS)
    broken = (*ROWS[0][:4], "[x", *ROWS[0][5:])
    with pytest.raises(package.RunError, match=r"column `l` .*byte 2") as refused:
        program.insert("given", [broken])
    assert refused.value.code == "InvalidArgument"


def test_errors_of_a_program_show_the_line() -> None:
    with pytest.raises(package.ProgramError) as refused:
        package.Program("\n.decl p(x: number)\np(x) :- q(x).", name="case.dl")
    assert "case.dl:3:9: error: undeclared relation `q`" in str(refused.value)
    assert "\n      |         ^" in str(refused.value)


def test_tables_end_with_the_next_run() -> None:
    program = package.Program(CLOSURE)
    program.insert("edge", [(1, 2)])
    with pytest.raises(package.RunError, match="has not been run"):
        program["path"]
    program.run()
    table = program["path"]
    program.insert("edge", [(2, 3)])
    program.run()
    assert len(program["path"]) == 3
    with pytest.raises(package.RunError, match="run again"):
        table.to_numpy()
    program.close()
    with pytest.raises(ValueError, match="closed"):
        program.run()
    with pytest.raises(package.RunError, match="path: the program was closed"):
        program["path"]


def test_files_and_checkpoints(tmp_path: Path, stratalog: Stratalog) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    program = package.Program(CLOSURE)
    program.insert("edge", [(3, 4)])
    folders = {"facts": tmp_path, "output": tmp_path / "out", "checkpoint": tmp_path / "ck"}
    summary = program.run(**folders)
    assert summary.console == "path\t6\n"
    assert summary.checkpoints == 1
    expected = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    assert (tmp_path / "out" / "path.csv").read_text().split() == [
        str(value) for pair in expected for value in pair
    ]
    assert sorted(package.open(tmp_path / "ck")["path"]) == expected
    stratalog("export", tmp_path / "ck", tmp_path / "path.csv", "--relation", "path")
    assert (tmp_path / "path.csv").read_bytes() == (tmp_path / "out" / "path.csv").read_bytes()
    with pytest.raises(package.RunError) as refused:
        program.run(**folders)
    assert refused.value.code == "AlreadyExists"
    assert "on_checkpoints says which: resume or overwrite" in str(refused.value)
    assert "--" not in str(refused.value), "no words of the command line"
    assert program.run(**folders, on_checkpoints="resume").is_resumed
    with pytest.raises(package.RunError, match="nowhere"):
        program.run(facts=tmp_path / "nowhere")


def test_arguments_that_make_no_sense_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"not PosixPath; Program\.from_file"):
        package.Program(tmp_path / "closure.dl")  # type: ignore[arg-type]
    with pytest.raises(package.ProgramError, match=r"Program\.from_file"):
        package.Program("closure.dl")
    program = package.Program(CLOSURE)
    program.insert("edge", [(1, 2)])
    program.run()
    table = program["path"]
    for arguments, words in (
        ({"checkpoint": tmp_path / "ck", "checkpoint_every": "60s"}, "a number of seconds"),
        ({"checkpoint": tmp_path / "ck", "checkpoint_every": float("nan")}, "a number of seconds"),
        ({"checkpoint_every": 60}, "checkpoint_every needs checkpoint="),
        ({"on_checkpoints": "resume"}, "on_checkpoints needs checkpoint="),
        ({"checkpoint": tmp_path / "ck", "on_checkpoints": "replace"}, "'overwrite', not"),
        ({"threads": -1}, "threads"),
    ):
        with pytest.raises(ValueError, match=words):
            program.run(**arguments)  # type: ignore[arg-type]
    assert list(table) == [(1, 2)], "nothing has been run again"
    assert not (tmp_path / "ck").exists()


def test_symbols_that_are_no_text_in_pandas() -> None:
    pytest.importorskip("pandas")
    program = package.Program(".decl s(x: symbol, n: number)")
    program.insert("s", [(b"\xff", 1), ("a", 2)])
    program.run()
    frame = program["s"].to_pandas()
    assert frame["x"].dtype == object
    assert sorted(frame["x"]) == ["a", "\udcff"]
    assert frame["n"].dtype == np.int64


def test_mistakes_are_answered_with_what_was_meant() -> None:
    with pytest.raises(TypeError, match=r"not Term\('X', 3\)") as refused:
        Term("X", 3)  # type: ignore[arg-type]
    assert "Term('X', (3,))" in str(refused.value)
    with pytest.raises(TypeError, match="are a tuple"):
        Term("X", "text")  # type: ignore[arg-type]
    assert Term("X", (3,)) == Term("X", [3])  # type: ignore[arg-type]
    program = package.Program(
        '.decl t(a: number, b: number)\nt(1, 2).\n.decl s(a: symbol, b: symbol)\ns("b", "c").'
    )
    program.run()
    with pytest.raises(TypeError, match=r"\.column\('b'\) is the column of that name"):
        program["t"]["b"]
    assert program["t"].column("b").tolist() == [2]
    assert len(program["s"]["b"]) == 1, "a key of the first column"


def test_the_version_is_known(stratalog: Stratalog) -> None:
    assert stratalog("--version").out.split()[-1] == package.__version__
    with pytest.raises(AttributeError, match="__author__"):
        _ = package.__author__


def test_a_run_can_be_stopped() -> None:
    endless = package.Program(".decl n(x: number)\nn(0).\nn(x + 1) :- n(x).")
    stop = threading.Timer(
        0.3, lambda: endless._handle.library.stratalog_stop(endless._handle.pointer)
    )
    stop.start()
    with pytest.raises(package.RunError) as stopped:
        endless.run()
    assert stopped.value.code == "Cancelled"


def test_arrow_in_and_out() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    text = ".decl p(s: symbol, n: number)\n.decl q(s: symbol, n: number)\nq(s, n) :- p(s, n)."
    symbols = ["é", "", "b", "é"]
    for kind in (pyarrow.string(), pyarrow.large_string(), "dictionary"):
        column = pyarrow.array(symbols, pyarrow.string() if kind == "dictionary" else kind)
        if kind == "dictionary":
            column = column.dictionary_encode()
        table = pyarrow.table({"n": pyarrow.array([1, 2, 3, 4], pyarrow.int32()), "s": column})
        program = package.Program(text)
        program.insert("p", table.slice(1))
        program.run()
        assert sorted(program["q"]) == [("", 2), ("b", 3), ("é", 4)]
        assert program["q"].to_arrow().num_rows == 3


class Meeting:
    """Ranks as threads: what one lays down, all see."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=300)
        self.given: list[Any] = [None] * size

    def meet(self, rank: int, mine: Any) -> list[Any]:
        self.given[rank] = mine
        self.barrier.wait()
        everything = list(self.given)
        self.barrier.wait()
        return everything


class ThreadRank:
    """stratalog.communicator.Collectives among threads."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.meeting, self.rank, self.size = meeting, rank, len(meeting.given)

    def allreduce(self, values: Any, operation: str) -> None:
        apply = {"sum": np.sum, "min": np.min, "max": np.max, "bit_or": np.bitwise_or.reduce}
        all_values = self.meeting.meet(self.rank, values.copy())
        values[:] = apply[operation](np.stack(all_values), axis=0)

    def broadcast(self, data: Any, root: int) -> None:
        data[:] = self.meeting.meet(self.rank, data.copy())[root]

    def allgather(self, mine: Any, everything: Any, counts: Any) -> None:
        parts = self.meeting.meet(self.rank, mine.copy())
        assert [len(part) for part in parts] == counts.tolist()
        everything[:] = np.concatenate(parts)

    def alltoall(self, data: Any, counts: Any, received: Any, received_counts: Any) -> None:
        mine = np.split(data.copy(), np.cumsum(counts)[:-1].astype(int))
        parts = [given[self.rank] for given in self.meeting.meet(self.rank, mine)]
        assert [len(part) for part in parts] == received_counts.tolist()
        received[:] = np.concatenate(parts)


def on_ranks(size: int, work: Callable[[ThreadRank], Any]) -> list[Any]:
    meeting = Meeting(size)
    results: list[Any] = [None] * size

    def one(rank: int) -> None:
        try:
            results[rank] = work(ThreadRank(meeting, rank))
        except Exception as error:
            results[rank] = error
            meeting.barrier.abort()

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


SAME = """
.decl same(a: number, b: number) eqrel
.decl alike(a: symbol, b: symbol) eqrel
alike("x", "y"). alike("z", "y"). alike("other", "other").
.decl path(a: number, b: number)
"""


def classes_of(table: package.Table) -> list[list[Any]]:
    return sorted(sorted(members) for members in table.classes())


@pytest.mark.parametrize("threads", [1, 3])
def test_equivalence_relations_yield_their_classes(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratalog.program._ROWS_AT_ONCE", 7)  # classes cross blocks
    program = package.Program(SAME)
    program.insert("same", [(0, 5), (5, 10), (1, 1), (2**40, 3), (-7, 10), (20, 21)])
    program.run(threads=threads, checkpoint=tmp_path)
    same = program["same"]
    assert same.is_equivalence
    assert not program["path"].is_equivalence
    assert classes_of(same) == [[-7, 0, 5, 10], [1], [3, 2**40], [20, 21]]
    assert classes_of(program["alike"]) == [["other"], ["x", "y", "z"]]
    assert len(same) == len(same.to_numpy()) == len(set(same)) == 16 + 1 + 4 + 4
    assert sorted(same[5]) == [(5, b) for b in (-7, 0, 5, 10)]
    assert "25 rows" in repr(same)
    assert classes_of(package.open(tmp_path)["same"]) == classes_of(same)
    with pytest.raises(package.CheckpointError, match="whole relation"):
        list(same[5].classes())
    with pytest.raises(package.CheckpointError, match="no equivalence relation"):
        list(program["path"].classes())
    assert package.Program(SAME).insert("same", same) == 25


def test_each_class_is_with_one_rank() -> None:
    def work(rank: ThreadRank) -> Any:
        program = package.Program(SAME, comm=rank)
        if rank.rank == 0:
            program.insert("same", [(n, n % 10) for n in range(200)])
        program.run()
        return list(program["same"].classes())

    together = sorted(sorted(members) for part in on_ranks(3, work) for members in part)
    assert together == [list(range(n, 200, 10)) for n in range(10)]


def test_ranks_share_the_work() -> None:
    edges = np.stack([np.arange(50), np.arange(1, 51)], axis=1)

    def work(rank: ThreadRank) -> Any:
        program = package.Program(CLOSURE, comm=rank)
        program.insert("edge", edges[rank.rank :: rank.size])
        program.run()
        return program.count("path"), sorted(program["path"])

    results = on_ranks(3, work)
    assert [total for total, _ in results] == [1275] * 3
    together = sorted(pair for _, part in results for pair in part)
    assert together == [(a, b) for a in range(50) for b in range(a + 1, 51)]


def test_ranks_that_were_given_different_things_all_hear_of_it() -> None:
    def work(rank: ThreadRank) -> Any:
        macros = ["A=1"] if rank.rank == 2 else []
        with pytest.raises(package.RunError) as told:
            package.Program(CLOSURE, define=macros, comm=rank)
        return told.value

    for told in on_ranks(3, work):
        assert isinstance(told, package.RunError)
        assert not isinstance(told, package.ProgramError)
        assert told.code == "RanksDisagree"
        assert "rank 2 gave another list of macros than rank 0" in str(told)


def test_what_is_wrong_on_one_rank_is_told_to_those_that_are_in_the_call() -> None:
    def work(rank: ThreadRank) -> list[Exception]:
        is_odd = rank.rank == 1
        told: list[Exception] = []

        def hear(call: Callable[[], Any]) -> None:
            try:
                call()
            except (package.RunError, TypeError, ValueError, OverflowError) as error:
                told.append(error)

        hear(lambda: package.Program(None if is_odd else CLOSURE, comm=rank))
        hear(lambda: package.Program(CLOSURE, define=[1] if is_odd else [], comm=rank))
        program = package.Program(CLOSURE, comm=rank)
        hear(lambda: program.run(threads=-1 if is_odd else 1))
        hear(lambda: program.run(on_checkpoints="often" if is_odd else "refuse"))
        if is_odd:
            hear(lambda: program.insert("edge", [(1, 2**70)]))
            program.refuse("my facts are wrong")
        else:
            hear(program.run)
        program.insert("edge", [(1, 2)] if is_odd else [(2, 3)])
        program.run()
        assert program.count("path") == 3
        return told

    results = on_ranks(3, work)
    for told in results:
        assert isinstance(told, list), told
    own = [TypeError, TypeError, ValueError, ValueError, OverflowError]
    assert [type(error) for error in results[1]] == own
    for told in (results[0], results[2]):
        assert all(isinstance(error, package.RunError) for error in told), told
        assert [error.code for error in told] == 5 * ["InvalidArgument"]
        assert "rank 1: TypeError: a program is its text" in str(told[0])
        assert "'refuse', 'resume' or 'overwrite', not 'often'" in str(told[3])
        assert "my facts are wrong" in str(told[4])


def test_symbols_with_zeros_reach_the_console(tmp_path: Path) -> None:
    program = package.Program(".decl s(x: symbol)\n.output s(IO=stdout)")
    program.insert("s", [("a\0b",)])
    assert "a\0b\n" in program.run(output=tmp_path).console


def test_outputs_are_shared_and_checkpoints_are_not(tmp_path: Path) -> None:
    program = package.Program(".decl s(x: number)\ns(1).\n.output s")
    umask = os.umask(0o022)
    try:
        program.run(output=tmp_path / "out", checkpoint=tmp_path / "ck")
        modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("out", "out/s.csv", "ck")]
        assert modes == [0o755, 0o644, 0o700]
        (tmp_path / "out" / "s.csv").chmod(0o640)
        program.run(output=tmp_path / "out")
        assert (tmp_path / "out" / "s.csv").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(umask)


def test_relations_that_are_inserted_into_are_not_warned_of() -> None:
    program = package.Program(".decl edge(a: number)\n.decl copy(a: number)\ncopy(x) :- edge(x).")
    assert program.warnings == ""
    program.insert("edge", [(1,)])
    program.run()
    assert program.notes == ""


def test_what_a_communicator_raises_is_told() -> None:
    class Broken(ThreadRank):
        def allreduce(self, values: Any, operation: str) -> None:
            raise RuntimeError("the cable is out")

    program = package.Program(CLOSURE, comm=Broken(Meeting(1), 0))
    with pytest.raises(package.RunError, match="allreduce") as failed:
        program.run()
    assert str(failed.value.__cause__) == "the cable is out"
    with pytest.raises(package.RunError, match="allreduce") as failed:
        package.Program(CLOSURE, comm=Broken(Meeting(2), 0))
    assert str(failed.value.__cause__) == "the cable is out"


def test_without_the_library_checkpoints_can_still_be_read() -> None:
    text = (
        "import stratalog\ntry: stratalog.Program('')\n"
        "except stratalog.NotInstalledError as error: print(error)"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(PROJECT / "python"),
        "STRATALOG_LIBRARY": "no.so",
    }
    command = [sys.executable, "-c", text]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "pip install ." in ran.stdout
