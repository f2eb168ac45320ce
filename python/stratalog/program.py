# SPDX-License-Identifier: Apache-2.0
"""Program: the engine in this process. Tuples in, a run, relations out as tables.

One rank unless a communicator is given; no MPI is needed. The work is libstratalog's (handle.py).
"""

from __future__ import annotations

import ctypes
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from stratalog_formats.dictionary import Dictionary, Records

from stratalog import arguments
from stratalog.communicator import Bridge, collectives_of
from stratalog.errors import ProgramError, RunError
from stratalog.handle import Handle, T
from stratalog.incoming import Columns
from stratalog.library import U64, ColumnOut
from stratalog.names import nearest
from stratalog.running import run
from stratalog.schema import Relation, parse_schema
from stratalog.table import Table
from stratalog.values import Column, Values

U32 = npt.NDArray[np.uint32]
_ROWS_AT_ONCE = 1 << 22  # of a relation that is read in pieces
_PIECES = 16  # at most, because the library walks from the start for each


@dataclass(frozen=True)
class RunSummary:
    """What a run says about itself."""

    seconds: float
    peak_memory_bytes: int  # of relations, all ranks together
    checkpoints: int
    failed_checkpoints: tuple[str, ...]  # why each one failed; the run went on without it
    is_saved: bool  # whether the folder of checkpoints, if one was named, holds the answer
    is_resumed: bool
    console: str  # of .printsize and, with an output folder, of .output with IO=stdout


class _Lease:
    """The program as long as its results last. Shared by these and what they read records with,
    which so need not know each other: a cycle would keep the memory until it is looked for."""

    def __init__(self, handle: Handle) -> None:
        self._handle: Handle | None = handle

    def live(self) -> Handle:
        if self._handle is None:
            raise RunError("the program has been run again or closed: ask it for the table again")
        return self._handle

    def ask(self, question: Callable[[Handle], T]) -> T:
        """Answered while the results are there, or not at all."""
        return self.live().together(lambda: question(self.live()))

    def end(self) -> None:
        self._handle = None


class Results:
    """The relations of one run, as tables see them. Ends with the next run."""

    def __init__(self, handle: Handle, relations: Mapping[str, Relation], structures: Any) -> None:
        lease = _Lease(handle)
        self._lease = lease
        self._relations = relations
        names = list(relations)
        self._numbers = {name: _find(handle, name) for name in names}
        self.relations: list[dict[str, Any]] = [
            {
                "relation": name,
                "version": "total",
                "arity": len(relations[name].attributes),
                "rows": handle.number("count_here", U64, self._numbers[name]),
            }
            for name in names
        ]
        self._places = {name: at for at, name in enumerate(names)}
        self._values_of_cells = Values(
            lambda: Dictionary(lease.ask(lambda handle: handle.section("dictionary"))),
            lambda: Records(lease.ask(lambda handle: handle.section("records"))),
            structures,
        )

    # What Table asks of the place that its tuples come from.

    _stores_classes = False  # pairs are made by the library

    @property
    def _generation(self) -> Results:
        return self

    def _relation_of(self, line: dict[str, Any]) -> Relation:
        return self._relations[line["relation"]]

    def _told_about_lost_files(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _verify(self, index: int) -> None:
        raise RunError(f"{self.relations[index]['relation']}: only checkpoints can be verified")

    def blocks(self, index: int, _: Any = None) -> Iterator[list[U32]]:
        """All tuples of this rank as cells. Knows no zones, so keys look at everything."""
        line = self.relations[index]
        rows = line["rows"]
        step = max(_ROWS_AT_ONCE, -(-rows // _PIECES))
        for at in range(0, rows, step):
            columns = [
                np.empty(min(step, rows - at), dtype=np.uint32) for _ in range(line["arity"])
            ]
            self._read("read_cells", index, at, columns)
            yield columns

    def column(self, index: int, column: int) -> Iterator[U32]:
        return (cells[column] for cells in self.blocks(index))

    def _fill(self, index: int, columns: list[Column]) -> bool:
        self._read("read", index, 0, columns)
        return True

    # -----------------------------------------------------------------------------------------

    def end(self) -> None:
        self._lease.end()

    def table(self, name: str) -> Table:
        return Table(self, self._places[name])

    def _read(self, call: str, index: int, start: int, columns: list[Any]) -> None:
        targets = (ColumnOut * max(1, len(columns)))(
            *(ColumnOut(c.ctypes.data, c.strides[0]) for c in columns)
        )
        number = self._numbers[self.relations[index]["relation"]]
        rows = len(columns[0]) if columns else 0
        self._lease.ask(lambda handle: handle.call(call, number, start, rows, targets))


def _find(handle: Handle, name: str) -> int:
    number: int = handle.number("find_relation", ctypes.c_size_t, name.encode())
    return number


class Program(Mapping[str, Table]):
    """A program: relation names to tables, once it has been run."""

    def __init__(
        self,
        text: str,
        *,
        name: str = "program",
        include: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        define: Iterable[str] = (),
        libraries: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        comm: Any = None,
    ) -> None:
        """Compiles `text`; ProgramError with all that is wrong in it.

        `name` is what messages call it, and its folder is where .include looks first; `include`
        are more folders (or one), `define` macros (NAME or NAME=VALUE). `libraries` are the files
        (or one) of shared libraries with the functions of .functor. `comm` is a communicator of
        mpi4py (or a stratalog.communicator.Collectives): all of its ranks make the same calls.
        """
        self._handle = Handle()
        self._results: Results | None = None
        self._bridge = None if comm is None else Bridge(collectives_of(comm))
        if self._bridge is not None:
            self._handle.call("set_collectives", ctypes.byref(self._bridge.calls))
        with self._told_to_others(lambda: self._handle.call("compile", b"", 0)):
            if not isinstance(text, str):
                raise TypeError(
                    f"a program is its text, a str, not {type(text).__name__}; "
                    "Program.from_file(path) reads a file"
                )
            self._set("name", arguments.text("name", name))
            for folder in arguments.paths("include", include):
                self._set("include", folder)
            for macro in arguments.macros("define", define):
                self._set("define", macro)
            for library in arguments.paths("libraries", libraries):
                self._set("library", str(Path(library).absolute()))
            source = text.encode("utf-8", "surrogateescape")
        try:
            self._handle.call("compile", source, len(source))
        except RunError as error:
            if error.code != "InvalidArgument":
                self._raise(error)
            message = str(error)
            if len(text.split()) == 1 and text.strip().endswith(".dl"):
                message += f"\nif {text.strip()} is a file: Program.from_file(path) reads it"
            raise ProgramError(message, error.code) from None
        self.warnings = self._handle.text("notes")
        schema = parse_schema({"schema": json.loads(self._handle.section("schema"))})
        assert schema is not None
        self._structures = schema.structures
        # Those made for rules have a `#` in their names and no number in the library.
        self._relations = {n: r for n, r in schema.relations.items() if "#" not in n}

    @classmethod
    def from_file(cls, file: str | PathLike[str], **settings: Any) -> Program:
        """As Program, of a file."""
        path = Path(file)
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        return cls(text, name=str(path), **settings)

    def _raise(self, error: RunError) -> NoReturn:
        """An error of a collective call, caused by what the communicator raised, if it did."""
        raise error from (None if self._bridge is None else self._bridge.error)

    def _set(self, name: str, value: str) -> None:
        self._handle.call("set", name.encode(), value.encode("utf-8", "surrogateescape"))

    @contextmanager
    def _told_to_others(self, call: Callable[[], None]) -> Iterator[None]:
        """What is wrong here, before a collective call: other ranks are in it and would wait."""
        try:
            yield
        except Exception as error:
            self._refuse(f"{type(error).__name__}: {error}", call)
            raise

    def _refuse(self, why: str, call: Callable[[], None]) -> None:
        if self._bridge is None:
            return
        self._end_results()  # as on the other ranks
        self._set("refusal", why.replace("\0", "\\0") or "a rank refused")
        with suppress(RunError):  # the verdict of all, which is `why`
            call()

    def _relation(self, name: str) -> Relation:
        if name not in self._relations:
            raise KeyError(
                f"no relation {name!r}{nearest(name, self._relations)}; there are "
                f"{', '.join(self._relations)}"
            )
        return self._relations[name]

    def insert(self, relation: str, data: Any) -> int:
        """Adds tuples, which the next run starts from; how many were given.

        `data`: an array of shape (rows, columns), a structured array, tuples, {column: values}, a
        pandas.DataFrame, a pyarrow.Table, RecordBatch or RecordBatchReader, or a stratalog.Table;
        of one column also its values; without columns also True or False. Repeated tuples count
        once. On several ranks each inserts its own, and what does not fit is an error of that rank
        alone: one that does not go on should say so (refuse), as the others run.
        """
        into = self._relation(relation)
        columns = Columns(into, self._structures, data)
        self._handle.call("insert", _find(self._handle, relation), columns.rows, columns.columns)
        return columns.rows

    def clear(self, relation: str) -> None:
        """Forgets what was inserted into a relation."""
        self._relation(relation)
        self._handle.call("clear", _find(self._handle, relation))

    def refuse(self, why: str) -> None:
        """Takes the place of run() on a rank that cannot run, so that the others do not wait for
        it: their run() raises a RunError with `why`. Nothing, where there is but one rank."""
        self._refuse(str(why), self._handle.run)

    def run(
        self,
        *,
        facts: str | PathLike[str] | None = None,
        output: str | PathLike[str] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 0,
        on_checkpoints: str = "refuse",
        memory_limit: int = 0,
        threads: int = 1,
    ) -> RunSummary:
        """Computes everything anew from what was inserted and what .input names. RunError.

        `facts` and `output` are the folders of .input and .output; without them such directives do
        nothing. `checkpoint` is a folder for checkpoints: one at the end, and one every
        `checkpoint_every` seconds; if it holds some, they are refused ("refuse"), gone on from
        ("resume") or replaced ("overwrite"). `memory_limit` in bytes, for each rank. `threads`
        share the work (0: one a core), where no communicator names other ranks. Ctrl-C, or what
        another handler of signals raises, stops a run of this process and is raised when that has
        ended, with a last checkpoint. Tables of earlier runs end here. A checkpoint that fails
        does not end the run: it is in the summary, and a RuntimeWarning.
        """
        with self._told_to_others(self._handle.run):
            settings = {
                name: "" if folder is None else arguments.path(name, folder)
                for name, folder in (
                    ("facts", facts),
                    ("output", output),
                    ("checkpoint", checkpoint),
                )
            }
            every = arguments.seconds("checkpoint_every", checkpoint_every)
            if on_checkpoints not in ("refuse", "resume", "overwrite"):
                raise ValueError(
                    f"on_checkpoints is 'refuse', 'resume' or 'overwrite', not {on_checkpoints!r}"
                )
            if checkpoint is None and (every != 0 or on_checkpoints != "refuse"):
                given = "checkpoint_every" if every != 0 else "on_checkpoints"
                raise ValueError(f"{given} needs checkpoint=, the folder for checkpoints")
            bytes_or_none = "a number of bytes, or 0 for none"
            limit = arguments.amount("memory_limit", memory_limit, bytes_or_none)
            sharing = arguments.amount("threads", threads, "a number, or 0 for one a core")
            settings["checkpoint-every"] = repr(every)
            settings["on-checkpoints"] = on_checkpoints
            settings["memory-limit"] = str(limit)
            settings["threads"] = str(sharing)
        claim = object()
        try:
            self._handle.claim(claim)
            summary = self._run_with(settings)
        finally:
            self._handle.release(claim)
        failed = summary.failed_checkpoints
        if failed:
            message = f"{len(failed)} checkpoint(s) in {checkpoint} failed; the last: {failed[-1]}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        return summary

    def _run_with(self, settings: dict[str, str]) -> RunSummary:
        self._end_results()
        for name, value in settings.items():
            self._set(name, value)
        try:
            if self._bridge is None:
                run(self._handle)
            else:  # the other ranks would wait for one that stops
                self._handle.run()
        except RunError as error:
            self._raise(error)
        self._results = Results(self._handle, self._relations, self._structures)
        return RunSummary(
            seconds=self._measure("seconds"),
            peak_memory_bytes=int(self._measure("peak-memory-bytes")),
            checkpoints=int(self._measure("checkpoints")),
            failed_checkpoints=tuple(
                self._handle.text("failed_checkpoint", number)
                for number in range(int(self._measure("failed-checkpoints")))
            ),
            is_saved=self._measure("saved") != 0,
            is_resumed=self._measure("resumed") != 0,
            console=self._handle.console(),
        )

    def _measure(self, name: str) -> float:
        return float(self._handle.number("measure", ctypes.c_double, name.encode()))

    @property
    def notes(self) -> str:
        """Warnings of the compiler and notes of the last run."""
        return self._handle.text("notes")

    def count(self, relation: str) -> int:
        """Tuples on all ranks; a table has those of its own rank."""
        self._relation(relation)
        return int(self._handle.number("count", U64, _find(self._handle, relation)))

    def __getitem__(self, relation: str) -> Table:
        self._relation(relation)
        results = self._results  # of one run, whatever other threads do
        if results is None and self._handle.is_closed:
            raise RunError(f"{relation}: the program was closed; read what you need before that")
        if results is None:
            raise RunError(f"{relation}: the program has not been run, or its run did not end well")
        return results.table(relation)

    def get(self, relation: str, default: Any = None, /) -> Any:
        """`default` where there is no such table: no such relation, or no run that ended well."""
        return default if self._results is None else super().get(relation, default)

    def __contains__(self, relation: object) -> bool:
        return relation in self._relations

    def __iter__(self) -> Iterator[str]:
        return iter(self._relations)

    def __len__(self) -> int:
        return len(self._relations)

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError("a stratalog.Program lives in this process: it has no copies or pickles")

    def __eq__(self, other: object) -> bool:
        return self is other  # a Mapping would compare tables

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        state = "not run" if self._results is None else "run"
        return f"<stratalog.Program, {state}: {', '.join(self._relations)}>"

    def _end_results(self) -> None:
        results, self._results = self._results, None
        if results is not None:
            results.end()

    def close(self) -> None:
        """Gives the memory back; tables end here."""
        self._end_results()
        self._handle.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
