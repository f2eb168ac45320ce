# SPDX-License-Identifier: Apache-2.0
"""What the columns of relations mean, as a checkpoint's engine state tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stratalog_formats.damage import demand

KINDS = ("number", "unsigned", "float", "symbol", "record")
FORMS = ("record", "algebraic", "enumeration")


@dataclass(frozen=True)
class Attribute:
    """A column of a relation or a field of a record."""

    name: str
    type: str  # as declared, perhaps a subtype
    kind: str  # one of KINDS, or "unknown": only cells can be had
    structure: int | None = None  # of a record or an algebraic type: its place in the schema


@dataclass(frozen=True)
class StoredBranch:
    name: str
    fields: tuple[Attribute, ...]
    shape: int | None


@dataclass(frozen=True)
class Structure:
    """A record type (one branch without a name) or an algebraic data type."""

    name: str
    form: str  # one of FORMS
    branches: tuple[StoredBranch, ...]


@dataclass(frozen=True)
class Relation:
    name: str
    attributes: tuple[Attribute, ...]
    is_equivalence: bool = False


@dataclass(frozen=True)
class Schema:
    relations: dict[str, Relation]
    structures: tuple[Structure, ...]


def _attributes(items: Any, structures: int) -> tuple[Attribute, ...]:
    found = []
    for item in items:
        attribute = Attribute(item["name"], item["type"], item["kind"], item.get("structure"))
        demand(attribute.kind in KINDS, f"schema: no kind of values: {attribute.kind}")
        known = attribute.structure is None or 0 <= attribute.structure < structures
        demand(known and (attribute.kind != "record" or attribute.structure is not None), "schema")
        found.append(attribute)
    return tuple(found)


def parse_schema(state: Any) -> Schema | None:
    """The schema in an engine state; None if it has none. DamagedError if it cannot be one."""
    if not isinstance(state, dict) or "schema" not in state:
        return None
    try:
        schema = state["schema"]
        count = len(schema["structures"])
        structures = []
        for item in schema["structures"]:
            demand(item["form"] in FORMS, f"schema: no form of types: {item['form']}")
            branches = tuple(
                StoredBranch(b["name"], _attributes(b["fields"], count), b.get("shape"))
                for b in item["branches"]
            )
            structures.append(Structure(item["name"], item["form"], branches))
        relations = {
            item["name"]: Relation(
                item["name"],
                _attributes(item["attributes"], count),
                bool(item.get("equivalence", False)),
            )
            for item in schema["relations"]
        }
    except (KeyError, TypeError) as error:
        demand(False, f"the engine state's schema: {error!r}")
        raise
    return Schema(relations, tuple(structures))
