# SPDX-License-Identifier: Apache-2.0
"""Which of Python's values a column takes, and a field of a record: the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from stratalog.schema import Attribute, Structure
from stratalog.values import Record, Term

_TAKEN: dict[str, tuple[type, ...]] = {
    "number": (int, np.integer),
    "unsigned": (int, np.integer),
    "float": (int, float, np.integer, np.floating),
    "symbol": (str, bytes),
}
_NO_NUMBERS = (bool, np.timedelta64)  # though they are integers to Python and numpy
_STRUCTURED = (Record, Term, type(None))
_WORDS = {
    "number": "integers",
    "unsigned": "integers",
    "float": "floats and integers",
    "symbol": "str or bytes",
}


def _is_taken(attribute: Attribute, value: Any) -> bool:
    taken = _TAKEN[attribute.kind] if attribute.structure is None else _STRUCTURED
    return isinstance(value, taken) and not isinstance(value, _NO_NUMBERS)


def _refusal(place: str, attribute: Attribute, value: Any) -> TypeError:
    words = "stratalog.Record, stratalog.Term or None"
    if attribute.structure is None:
        words = _WORDS[attribute.kind]
    return TypeError(f"{place}: type {attribute.type} takes {words}, not {value!r}")


def demand_taken(what: str, attribute: Attribute, value: Any) -> None:
    """TypeError for a value of another type."""
    if not _is_taken(attribute, value):
        raise _refusal(what, attribute, value)


def demand_all_taken(
    what: str, attribute: Attribute, value: Any, structures: tuple[Structure, ...]
) -> None:
    """The same also for all fields within a record or a term.

    OverflowError for fields out of range. The library sees whether branches and numbers of fields
    are right.
    """
    demand_taken(what, attribute, value)
    todo = [(attribute, value)]
    while todo:
        outer, item = todo.pop()
        if outer.structure is None or item is None:
            continue
        for field, inner in zip(_fields(structures[outer.structure], item), item, strict=False):
            if not _is_taken(field, inner):
                raise _refusal(f"{what}, field {field.name}", field, inner)
            _demand_in_range(f"{what}, field {field.name}", field, inner)
            todo.append((field, inner))


_RANGES = {"number": (-(1 << 63), (1 << 63) - 1), "unsigned": (0, (1 << 64) - 1)}


def _demand_in_range(place: str, attribute: Attribute, value: Any) -> None:
    if attribute.structure is not None or attribute.kind not in _RANGES:
        return
    lowest, highest = _RANGES[attribute.kind]
    if not lowest <= int(value) <= highest:
        raise OverflowError(f"{place}: type {attribute.type} does not hold {value}")


def _fields(structure: Structure, value: Record | Term) -> tuple[Attribute, ...]:
    name = value.branch if isinstance(value, Term) else ""
    for branch in structure.branches:
        if branch.name == name:
            return branch.fields
    return ()
