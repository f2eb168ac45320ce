# SPDX-License-Identifier: Apache-2.0
"""Values that go into the library and come out of it, one kind after another."""

from __future__ import annotations

import copy
import pickle
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stratalog as package
from stratalog import Record, Term
from stratalog.incoming import Columns

COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(
        lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ),
]


@pytest.mark.parametrize("copied", COPIES)
def test_copies_of_structured_values_are_equal(copied: Callable[[Any], Any]) -> None:
    for value in (Term("Pair", (1, Term("Red"))), Record(("a", Record((2.5, None))))):
        again = copied(value)
        assert type(again) is type(value)
        assert again == value
        assert str(again) == str(value)


def test_numpy_makes_of_a_table_what_to_numpy_does() -> None:
    program = package.Program(".decl m(a: number, b: unsigned)\n.decl s(a: number, b: symbol)\n")
    program.insert("m", [(2**53 + 1, 3), (1, 2**64 - 1)])
    program.insert("s", [(2, "ax")])
    program.run()
    for made in (np.asarray(program["m"]), np.array(program["m"])):
        assert made.dtype == program["m"].to_numpy().dtype
        assert sorted(map(tuple, made.tolist())) == [(1, 2**64 - 1), (2**53 + 1, 3)]
    assert np.array(program["s"]).tolist() == [[2, "ax"]]
    assert np.asarray(program["m"], dtype=float).dtype == float
    with pytest.raises(ValueError, match="made anew"):
        program["m"].__array__(copy=False)


NUMBERS = """
.decl number(x: number)
.decl unsigned(x: unsigned)
.decl float(x: float)
.decl symbol(x: symbol)
"""


@pytest.mark.parametrize(
    "data",
    [
        [(np.int64(-1),)],
        {"x": [1, np.int8(-1)]},
        np.array([[np.int64(-1)]], dtype=object),
        [(-1,)],
        np.array([-1]),
    ],
)
def test_negative_numbers_are_not_unsigned(data: Any) -> None:
    program = package.Program(NUMBERS)
    with pytest.raises(OverflowError, match=r"^unsigned\.x: type unsigned"):
        program.insert("unsigned", data)
    with pytest.raises(OverflowError, match=r"^number\.x: type number"):
        program.insert("number", [(np.uint64(2**63),)])
    assert program.insert("number", data) > 0
    assert program.insert("unsigned", [(np.uint64(2**64 - 1),)]) == 1


def test_negative_numbers_of_frames_are_not_unsigned() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": pandas.Series([np.int64(-5)], dtype=object)})
    with pytest.raises(OverflowError, match=r"^unsigned\.x"):
        package.Program(NUMBERS).insert("unsigned", frame)


KINDS = """
.type Link = [name: symbol, size: number, age: unsigned, weight: float, next: Link]
.type Tree = Leaf {} | Node {left: Tree, note: symbol}
.decl link(l: Link)
.decl tree(t: Tree)
"""


def linked(*fields: Any) -> Record:
    """A record whose second link has these fields first."""
    usual = ("a", 1, 1, 1.0, None)
    return Record((*usual[:4], Record((*fields, *usual[len(fields) :]))))


@pytest.mark.parametrize(
    "value",
    [
        linked(1),
        linked(None),
        linked("a", 1.0),
        linked("a", True),
        linked("a", "1"),
        linked("a", np.timedelta64(1, "s")),
        linked("a", 1, np.bool_(True)),
        linked("a", 1, 1, "x"),
        linked("a", 1, 1, True),
        linked("a", 1, 1, 1, "[nil]"),
        linked("a", 1, 1, 1, ("a", 1, 1, 1, None)),
    ],
)
def test_fields_take_what_columns_take(value: Record) -> None:
    program = package.Program(KINDS)
    with pytest.raises(TypeError, match=r"^link\.l, field \w+: type \w+ takes"):
        program.insert("link", [(value,)])
    with pytest.raises(TypeError, match=r"^tree\.t, field note: type symbol takes str or bytes"):
        program.insert("tree", [(Term("Node", (Term("Leaf"), 3)),)])
    program.run()
    assert program.count("link") == 0


@pytest.mark.parametrize(
    "value",
    [
        linked("a", 2**63),
        linked("a", -(2**63) - 1),
        linked("a", np.uint64(2**63)),
        linked("a", 1, -1),
        linked("a", 1, 2**64),
        linked("a", 1, np.int8(-1)),
    ],
)
def test_fields_are_within_range(value: Record) -> None:
    program = package.Program(KINDS)
    with pytest.raises(
        OverflowError, match=r"^link\.l, field (size|age): type \w+ does not hold -?\d"
    ):
        program.insert("link", [(value,)])
    ends = [linked("a", -(2**63), 0), linked("a", 2**63 - 1, 2**64 - 1)]
    program.insert("link", [(end,) for end in ends])
    program.run()
    assert set(program["link"]) == {(end,) for end in ends}


def test_what_only_the_library_sees_is_its_error() -> None:
    program = package.Program(KINDS)
    for relation, value in (
        ("link", Record(("a",))),
        ("link", Term("Leaf")),
        ("tree", Term("Nothing", (1,))),
        ("tree", Record((1,))),
    ):
        with pytest.raises(package.RunError, match=rf"^relation `{relation}`"):
            program.insert(relation, [(value,)])


def test_fields_are_bytes_or_numbers_of_numpy() -> None:
    program = package.Program(KINDS)
    given = linked(b'\xff"', np.int8(-3), np.uint64(7), np.float32(0.1))
    program.insert("link", [(given,)])
    program.run()
    assert list(program["link"]) == [(linked('\udcff"', -3, 7, float(np.float32(0.1))),)]


def test_a_masked_entry_is_an_error() -> None:
    program = package.Program(NUMBERS)
    for values in ([1, 2], [1.0, 2.0], ["a", "b"]):
        kind = {int: "number", float: "float", str: "symbol"}[type(values[0])]
        masked = np.ma.masked_array(values, mask=[False, True])
        for data in (masked, masked.reshape(2, 1), {"x": masked}):
            with pytest.raises(ValueError, match=rf"^{kind}\.x: 1 values are null"):
                program.insert(kind, data)
        assert program.insert(kind, np.ma.masked_array(values)) == 2


def test_nulls_of_pandas_are_errors() -> None:
    pandas = pytest.importorskip("pandas")
    program = package.Program(NUMBERS)
    for kind, dtype, value in (("number", "Int64", 1), ("float", "Float64", 1.5)):
        frame = pandas.DataFrame({"x": pandas.array([value, None], dtype=dtype)})
        with pytest.raises(ValueError, match=rf"^{kind}\.x: 1 values are null"):
            program.insert(kind, frame)
        assert program.insert(kind, frame[:1]) == 1


def test_nulls_among_objects_are_errors() -> None:
    pandas = pytest.importorskip("pandas")
    program = package.Program(NUMBERS + KINDS)
    for kind, values in (
        ("number", [1, None]),
        ("number", [1, float("nan")]),
        ("unsigned", [pandas.NA, 1]),
        ("symbol", ["x", None]),
        ("symbol", ["x", float("nan")]),
        ("symbol", ["x", pandas.NaT]),
        ("float", [1.5, None]),
    ):
        series = pandas.Series(values, dtype=object)
        for data in (pandas.DataFrame({"x": series}), series, {"x": np.array(values, object)}):
            with pytest.raises(ValueError, match=rf"^{kind}\.x: 1 values are null"):
                program.insert(kind, data)
    assert program.insert("link", pandas.DataFrame({"l": [None, linked("a")]}, dtype=object)) == 2


def test_nan_is_a_null_but_to_floats() -> None:
    pandas = pytest.importorskip("pandas")
    program = package.Program(NUMBERS)
    frame = pandas.DataFrame({"x": [1, None]})
    for data in (frame, frame["x"], frame.to_numpy(), frame["x"].to_numpy()):
        for kind in ("number", "unsigned"):
            with pytest.raises(ValueError, match=rf"^{kind}\.x: 1 values are null \(NaN\)"):
                program.insert(kind, data)
        assert program.insert("float", data) == 2
    assert program.insert("float", frame.astype(object).fillna(float("nan"))) == 2
    with pytest.raises(TypeError, match=r"^number\.x: type number takes no values of float64"):
        program.insert("number", frame[:1])


def test_nulls_of_dictionaries_are_errors() -> None:
    arrow = pytest.importorskip("pyarrow")
    program = package.Program(NUMBERS)
    for kind, values in (("symbol", ["a", None]), ("float", [1.5, None])):
        for rows, nulls in (([0, 1, 1], 2), ([0, 0], 0)):
            array = arrow.DictionaryArray.from_arrays(arrow.array(rows), arrow.array(values))
            for data in (arrow.table({"x": array}), {"x": array}):
                if nulls == 0:
                    assert program.insert(kind, data) == 2, "nobody has it"
                    continue
                with pytest.raises(ValueError, match=rf"^{kind}\.x: 2 values are null"):
                    program.insert(kind, data)


def test_arrow_reads_no_numbers_as_symbols_and_takes_record_batches() -> None:
    arrow = pytest.importorskip("pyarrow")
    program = package.Program(NUMBERS)
    for data in (arrow.table({"x": [1, 2]}), {"x": arrow.array([True])}):
        with pytest.raises(TypeError, match=r"^symbol\.x"):
            program.insert("symbol", data)
    assert program.insert("symbol", arrow.RecordBatch.from_pydict({"x": ["a", "b"]})) == 2
    assert program.insert("number", arrow.RecordBatch.from_pydict({"x": [1, 2]})) == 2


@pytest.mark.parametrize("chunks", [1, 2])
def test_what_arrow_has_in_one_piece_is_read_where_it_lies(chunks: int) -> None:
    arrow = pytest.importorskip("pyarrow")
    program = package.Program(NUMBERS)
    texts = arrow.array(["a", "bc"], arrow.large_string())
    numbers = arrow.array([1, 2])
    for kind, array, place in (
        ("symbol", texts, lambda column: column.text),
        ("number", numbers, lambda column: column.values),
    ):
        table = arrow.table({"x": arrow.chunked_array([array] * chunks)})
        columns = Columns(program._relations[kind], (), table)
        is_there = place(columns.columns[0]) == array.buffers()[-1].address
        assert is_there == (chunks == 1)
        assert columns.rows == 2 * chunks


def test_a_relation_of_one_column_takes_columns() -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    program = package.Program(NUMBERS + KINDS)
    numbers = [1, 2]
    for column in (
        *(numbers, range(1, 3), iter(numbers), {1, 2}, deque(numbers)),
        *(pandas.Series(numbers), pandas.Index(numbers), pandas.Series(numbers, dtype=object)),
        *(arrow.array(numbers), arrow.chunked_array([[1], [2]])),
    ):
        program.clear("number")
        assert program.insert("number", column) == 2
        program.run()
        assert sorted(program["number"]) == [(1,), (2,)]
    for texts in (["a", b"b"], pandas.Series(["a", "b"]), arrow.array(["a", "b"])):
        assert program.insert("symbol", texts) == 2
    links = [None, linked("a"), linked("b")]
    assert program.insert("link", links) == program.insert("link", pandas.Series(links)) == 3
    assert program.insert("link", [(link,) for link in links]) == 3
    assert program.insert("tree", [Term("Leaf"), "$Leaf"]) == 2
    assert program.insert("number", pandas.Series([(1,), (2,)])) == 2, "tuples all the same"
    with pytest.raises(ValueError, match=r"^number, row 1: expected a tuple of 1 values, found 2"):
        program.insert("number", [(1,), 2])
    with pytest.raises(ValueError, match=r"^pair, row 0: expected a tuple of 2 values, found 1"):
        package.Program(".decl pair(x: number, y: number)").insert("pair", [1, 2])


def test_columns_of_one_name_are_named() -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    program = package.Program(".decl pair(x: number, y: number)")
    twice = [arrow.array([1]), arrow.array([2])]
    for data in (
        arrow.table(twice, names=["x", "x"]),
        arrow.RecordBatch.from_arrays(twice, names=["x", "x"]),
        pandas.DataFrame([[1, 2]], columns=["x", "x"]),
    ):
        with pytest.raises(ValueError, match=r"^pair: several of the columns have the name 'x'$"):
            program.insert("pair", data)


def test_batches_are_read_from_their_reader() -> None:
    arrow = pytest.importorskip("pyarrow")
    program = package.Program(".decl pair(x: number, y: number)")
    table = arrow.concat_tables([arrow.table({"y": [i], "x": [i + 1]}) for i in range(3)])
    assert program.insert("pair", table.to_reader()) == 3
    program.run()
    assert sorted(program["pair"]) == [(1, 0), (2, 1), (3, 2)]


def test_half_of_a_pair_of_surrogates_is_no_text() -> None:
    program = package.Program(NUMBERS + KINDS)
    with pytest.raises(ValueError, match=r"^symbol\.x: '\\ud800' is no text"):
        program.insert("symbol", [("a",), ("\ud800",)])
    with pytest.raises(ValueError, match=r"^tree\.t: "):
        program.insert("tree", [(Term("Node", (Term("Leaf"), "\ud800")),)])


@pytest.mark.parametrize("data", ["abc", b"abc", 5])
def test_a_text_is_no_column(data: Any) -> None:
    program = package.Program(NUMBERS)
    for kind in ("symbol", "number"):
        with pytest.raises(TypeError, match=rf"^{kind}\.x: expected a column of values"):
            program.insert(kind, {"x": data})
        with pytest.raises(TypeError, match=rf"^{kind}: expected tuples"):
            program.insert(kind, data)


def test_tuples_without_columns() -> None:
    program = package.Program(".decl yes()")
    for data in ("abc", b"", 5, None):
        with pytest.raises(TypeError, match=r"^yes: expected tuples"):
            program.insert("yes", data)
    for data in ([(1,)], ["a"], {"a": [1]}, np.zeros((2, 1))):
        with pytest.raises(ValueError, match=r"^yes"):
            program.insert("yes", data)
    for data, rows in ((True, 1), (False, 0), ([(), ()], 2), ([], 0), (np.empty((3, 0)), 3)):
        assert program.insert("yes", data) == rows
    program.run()
    assert program.insert("yes", program["yes"]) == 1


def test_texts_that_are_no_utf8_are_binary_in_arrow() -> None:
    arrow = pytest.importorskip("pyarrow")
    program = package.Program(
        KINDS + ".type Pair = [a: number, b: number]\n.decl pair(p: Pair, s: symbol)\n"
    )
    program.insert("tree", [(Term("Node", (Term("Leaf"), "\udcff")),)])
    program.insert("pair", [(Record((1, 2)), "é")])
    program.run()
    tree = program["tree"].to_arrow().column("t")
    assert tree.type == arrow.binary()
    assert tree.to_pylist() == [b"$Node($Leaf, \xff)"]
    pair = program["pair"].to_arrow()
    assert pair.column("p").type == arrow.string(), "can hold no symbols"
    assert pair.column("p").to_pylist() == ["[1, 2]"]
    assert pair.column("s").to_pylist() == ["é".encode()]
    again = package.Program(KINDS)
    again.insert("tree", [(Term("Node", (Term("Leaf"), "é")),)])
    again.run()
    assert again["tree"].to_arrow().column("t").to_pylist() == ["$Node($Leaf, é)"]


ODD = [
    "x, y",
    "y]",
    "y)",
    "[1",
    '"q"',
    '"',
    " x",
    "\ty ",
    "\rz",
    "a\\",
    "\\",
    "",
    "nil",
    "$Leaf",
    "\udcff",
    "a\nb",
]
PLAIN = {"[1", "a\\", "\\", "", "nil", "$Leaf", "\udcff", "a\nb"}  # to every reader


@pytest.mark.parametrize("form", ["to_pandas", "to_arrow"])
def test_texts_of_structured_values_go_in_again(form: str) -> None:
    pytest.importorskip("pandas" if form == "to_pandas" else "pyarrow")
    text = """
        .type Pair = [a: symbol, b: symbol]
        .type Tree = Leaf {} | Node {a: symbol, p: Pair, b: symbol}
        .decl pair(p: Pair, t: Tree)
    """
    rows = [(Record((a, b)), Term("Node", (a, Record((b, a)), b))) for a in ODD for b in ODD]
    program, again = package.Program(text), package.Program(text)
    program.insert("pair", rows)
    program.run()
    table = getattr(program["pair"], form)()
    again.insert("pair", table)
    again.run()
    assert set(again["pair"]) == set(rows)
    for symbol in ODD:
        program.clear("pair")
        program.insert("pair", [(Record((symbol, "x")), Term("Leaf"))])
        program.run()
        (found,) = getattr(program["pair"], form)()["p"]
        found = getattr(found, "as_py", lambda found=found: found)()
        if isinstance(found, bytes):
            found = found.decode("utf-8", "surrogateescape")
        is_plain = symbol in PLAIN | {"y)"}  # which ends no record
        assert (found == f"[{symbol}, x]") == is_plain, found


def test_numbers_out_of_range_are_named() -> None:
    program = package.Program(NUMBERS)
    for data in ([(1,), (2**64,)], np.array([1, 2**63], dtype=np.uint64)):
        with pytest.raises(
            OverflowError, match=r"does not hold \d+, of row 1; .* to 9223372036854775807"
        ):
            program.insert("number", data)


def test_rows_may_be_arrays() -> None:
    program = package.Program(".decl e(a: number, b: float)")
    assert program.insert("e", list(np.arange(6).reshape(3, 2))) == 3
    program.run()
    assert set(program["e"]) == {(0, 1.0), (2, 3.0), (4, 5.0)}


def test_terms_are_keys_as_the_table_gives_them() -> None:
    program = package.Program(
        ".type C = Red {} | Green {}\n.decl k(c: C, n: number)\nk($Red(), 1). k($Green(), 2).\n"
        ".type R = [a: number, b: number]\n.decl r(x: number, y: R)\nr(1, [1, 2])."
    )
    program.run()
    table = program["k"]
    assert [len(table[row[0]]) for row in table] == [1, 1]
    assert list(table[package.Term("Green")]) == [(package.Term("Green"), 2)]
    with pytest.raises(TypeError, match="its branches are Green, Red"):
        table["Blue"]
    with pytest.raises(TypeError, match="no key"):
        program["r"][package.Record((1, 2))]


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    program = package.Program(".decl f(x: float)\n.decl n(x: number, s: symbol)")
    for relation, frame in (
        ("f", polars.DataFrame({"x": [1.0, None]})),
        ("f", polars.Series([1.0, None])),
        ("n", polars.DataFrame({"x": [1, None], "s": ["a", "b"]})),
        ("n", polars.DataFrame({"x": [1, 2], "s": ["a", None]})),
    ):
        with pytest.raises(ValueError, match="1 values are null"):
            program.insert(relation, frame)
    frame = polars.DataFrame({"x": [1, 2], "s": ["a", "b"]})
    with pytest.raises(TypeError, match="collect"):
        program.insert("n", frame.lazy())
    assert program.insert("n", frame) == 2
    program.run()
    assert sorted(polars.DataFrame(program["n"]).rows()) == [(1, "a"), (2, "b")]


def test_a_table_is_a_stream_of_arrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    program = package.Program('.decl n(x: number, s: symbol)\nn(1, "a"). n(2, "b").')
    program.run()
    assert sorted(pyarrow.table(program["n"]).column("x").to_pylist()) == [1, 2]


def test_no_memory_for_rows_is_said() -> None:
    program = package.Program(".decl e(a: number, b: number)")
    with pytest.raises(package.RunError, match=r"no memory left for 1000000000000 rows of .*`e`"):
        program.insert("e", np.broadcast_to(np.int64(5), (10**12, 2)))
    assert program.insert("e", [(1, 2)]) == 1
