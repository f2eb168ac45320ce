# SPDX-License-Identifier: Apache-2.0
"""Checkpoint: a generation of a checkpoint folder as a mapping from relations to tables.

Opening reads the manifest only. The folder may belong to a job that still runs: generations are
never changed once they are there, but retention may take one away while it is read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from stratalog_formats.damage import DamagedError, demand
from stratalog_formats.dictionary import Dictionary, Records
from stratalog_formats.read_checkpoint import Generation, read_generation, read_store_id

from stratalog.errors import CheckpointError, NoCheckpointError
from stratalog.names import nearest
from stratalog.schema import Attribute, Relation, Schema, parse_schema
from stratalog.table import Table
from stratalog.values import Values

_NAME = re.compile(r"gen-([0-9a-f]{8})-(\d{10})")


@dataclass(frozen=True)
class StoredGeneration:
    """A generation of a folder, as far as its manifest and the sizes of its files tell."""

    name: str
    is_valid: bool
    reason: str = ""  # why it is not valid
    iteration: int | None = None


def _candidates(folder: Path) -> list[str]:
    """Names of generations that were committed, in the order in which they are tried."""
    if not folder.is_dir():
        raise NoCheckpointError(f"{folder} is no folder")
    if _NAME.fullmatch(folder.name) and (folder.parent / "STORE").is_file():
        raise NoCheckpointError(
            f"{folder} is one generation of a checkpoint folder; open {folder.parent} with "
            f"generation={folder.name!r}"
        )
    if not (folder / "STORE").is_file():
        raise NoCheckpointError(
            f"{folder} holds no file STORE, so it is no checkpoint folder of Stratalog"
        )
    names = [p.name for p in folder.iterdir() if _NAME.fullmatch(p.name) and p.is_dir()]
    names = [name for name in names if (folder / name / "MANIFEST").is_file()]

    def newness(name: str) -> tuple[int, int]:
        epoch, sequence = name[4:12], name[13:]
        return int(epoch, 16), int(sequence)

    names.sort(key=newness, reverse=True)
    return sorted(names, key=lambda name: (folder / f"rejected-{name}").exists())


def _read(folder: Path, name: str, store_id: str) -> Generation:
    try:
        return read_generation(folder / name, store_id)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise DamagedError(f"MANIFEST: {type(error).__name__}: {error}") from error


def _store_id(folder: Path) -> str:
    try:
        return read_store_id(folder)
    except (DamagedError, ValueError) as error:
        raise DamagedError(
            f"{folder / 'STORE'} is damaged: {error}. If the generations beside it are wanted, "
            "restore STORE from a copy"
        ) from error


def generations(folder: str | bytes | os.PathLike[Any]) -> list[StoredGeneration]:
    """The generations of a checkpoint folder, in the order in which `open` tries them."""
    path = Path(os.fsdecode(folder))
    names = _candidates(path)
    store_id = _store_id(path)
    found = []
    for name in names:
        try:
            head = _read(path, name, store_id).head
            found.append(StoredGeneration(name, True, iteration=int(head["iteration"])))
        except (DamagedError, OSError) as error:
            found.append(StoredGeneration(name, False, str(error)))
    return found


def open_checkpoint(
    folder: str | bytes | os.PathLike[Any], generation: str | int = -1
) -> Checkpoint:
    """Opens a checkpoint folder: its newest valid generation, or another one.

    `generation`: a name such as gen-00000001-0000000002, or a negative number: -1 is the newest
    valid one, -2 the one before it. NoCheckpointError, DamagedError.
    """
    path = Path(os.fsdecode(folder))
    names = _candidates(path)
    if isinstance(generation, str):
        if generation not in names:
            raise NoCheckpointError(
                f"{path} has no generation {generation}; it has {', '.join(names) or 'none'}"
            )
        names = [generation]
    elif generation >= 0:
        raise ValueError("generations are counted from the newest one: -1, -2, ...")
    if not names:
        raise NoCheckpointError(f"{path} holds no checkpoint yet: no generation was finished")
    store_id = _store_id(path)
    skipped: dict[str, str] = {}
    left = 1 if isinstance(generation, str) else -generation
    for name in names:
        try:
            found = _read(path, name, store_id)
        except (DamagedError, OSError) as error:
            skipped[name] = str(error)
            continue
        left -= 1
        if left == 0:
            return Checkpoint(path, found, skipped)
    reasons = "".join(f"\n  {name}: {reason}" for name, reason in skipped.items())
    if left == (1 if isinstance(generation, str) else -generation):
        raise DamagedError(f"{path}: there are checkpoints, but none is valid:{reasons}")
    raise NoCheckpointError(f"{path} has fewer valid generations than {-int(generation)}{reasons}")


class Checkpoint(Mapping[str, Table]):
    """A generation: relation names to tables. `checkpoint["path", "delta"]` is a delta."""

    def __init__(self, folder: Path, generation: Generation, skipped: dict[str, str]) -> None:
        self.folder = folder
        self.skipped = skipped  # newer generations that were passed over, and why
        self._generation = generation
        self._values: Values | None = None
        try:
            self.state: Any = json.loads(generation.head["state"])
        except ValueError:
            self.state = generation.head["state"]
        self._schema: Schema | None = parse_schema(self.state)

    @property
    def generation(self) -> str:
        """The name of the generation, such as gen-00000001-0000000002."""
        return self._generation.directory.name

    @property
    def iteration(self) -> int:
        """The round of the running stratum at which it was taken."""
        return int(self._generation.head["iteration"])

    @property
    def ranks(self) -> int:
        """How many ranks wrote it."""
        return int(self._generation.head["ranks"])

    @property
    def is_finished(self) -> bool:
        """Whether the program had ended; otherwise relations may lack tuples."""
        state = self.state if isinstance(self.state, dict) else {}
        return "stratum" not in state and len(state.get("strata_done", ())) == state.get("strata")

    @property
    def program(self) -> str:
        """The text of the program, after the preprocessor."""
        return self._section("program").decode("utf-8", "surrogateescape")

    @property
    def deltas(self) -> list[str]:
        """Relations of the running stratum, which also have a delta."""
        return [
            r["relation"]
            for r in self._generation.relations
            if r["version"] == "delta" and "#" not in r["relation"]
        ]

    def __getitem__(self, key: str | tuple[str, str]) -> Table:
        name, version = key if isinstance(key, tuple) else (key, "total")
        try:
            return Table(self, self._generation.find(name, version))
        except KeyError:
            known = ", ".join(self) or "none"
            raise KeyError(
                f"{self.generation} holds no {version} of a relation {name!r}"
                f"{nearest(name, self)}; it holds {known}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        """Those of the program; what is made for its rules has a `#` in its name."""
        return (
            r["relation"]
            for r in self._generation.relations
            if r["version"] == "total" and "#" not in r["relation"]
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __enter__(self) -> Self:
        """For `with stratalog.open(...) as checkpoint`, as files have it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to do: files are open while something is read only."""

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(
            "a stratalog.Checkpoint has no copies or pickles; whoever needs another one opens its "
            "folder and generation"
        )

    def __repr__(self) -> str:
        state = "finished" if self.is_finished else f"at round {self.iteration}"
        return (
            f"<stratalog.Checkpoint {self.folder}, {self.generation}, {state}: {', '.join(self)}>"
        )

    @property
    def _values_of_cells(self) -> Values:
        """What cells stand for."""
        if self._values is None:
            try:
                dictionary = Dictionary(self._section("dictionary"))
            except NoCheckpointError:
                if self._schema is not None:
                    raise
                dictionary = Dictionary(b"")
            structures = () if self._schema is None else self._schema.structures
            self._values = Values(
                lambda: dictionary, lambda: Records(self._section("records")), structures
            )
        return self._values

    def verify(self) -> None:
        """Reads all bytes and checks all hashes; DamagedError says what differs."""
        with self._told_about_lost_files():
            for index in range(len(self._generation.relations)):
                self._generation.rows(index)
            self._generation.check_frames()
        for name in self._generation.section_names():
            self._section(name)

    def _verify(self, index: int) -> None:
        with self._told_about_lost_files():
            self._generation.rows(index)
            self._generation.check_frames(index)

    _stores_classes = True

    def _fill(self, index: int, columns: list[Any]) -> bool:
        return False  # it comes block by block

    def _section(self, name: str) -> bytes:
        try:
            with self._told_about_lost_files():
                return self._generation.section(name)
        except KeyError:
            raise NoCheckpointError(
                f"{self.generation} has no section {name}: no run of Stratalog wrote it"
            ) from None

    def _relation_of(self, line: dict[str, Any]) -> Relation:
        """What a manifest's relation is; without a schema only its cells are known."""
        name = line["relation"]
        relation = None if self._schema is None else self._schema.relations.get(name)
        if relation is None:
            columns = (Attribute(f"column {i}", "unknown", "unknown") for i in range(line["arity"]))
            return Relation(name, tuple(columns))
        demand(
            len(relation.attributes) == line["arity"],
            f"{self.generation}: relation {name} does not fit the schema",
        )
        return relation

    @contextmanager
    def _told_about_lost_files(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            if self._generation.directory.joinpath("MANIFEST").exists():
                raise DamagedError(f"{error.filename} is missing") from error
            raise CheckpointError(
                f"{self.generation} was taken away while it was read: a running job keeps its "
                "newest generations only. Open the folder again, or have it keep more (--keep)"
            ) from error
        except OSError as error:
            raise CheckpointError(f"{self.generation} cannot be read: {error}") from error
