# SPDX-License-Identifier: Apache-2.0
"""Keys and ranges of values as sets of cells, by which blocks and tuples are chosen.

Cells of numbers ascend with their values in two stretches (from 0 on, and the small negative
numbers); wide numbers and symbols are numbered as they came, so they are looked up.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from stratalog_formats.dictionary import NEGATIVE_BASE, WIDE_BASE

from stratalog.schema import Attribute
from stratalog.values import Term, Values

U32 = npt.NDArray[np.uint32]
_MASK = (1 << 64) - 1


class CellSet:
    """A set of cells: stretches, both ends included, and single ones."""

    def __init__(self, stretches: Iterable[tuple[int, int]] = (), single: Iterable[int] = ()):
        self._stretches = [(low, high) for low, high in stretches if low <= high]
        self._single: U32 = np.unique(np.array(list(single), dtype=np.uint32))

    def __or__(self, other: CellSet) -> CellSet:
        return CellSet(
            self._stretches + other._stretches, [*self._single.tolist(), *other._single.tolist()]
        )

    def may_meet(self, low: int, high: int) -> bool:
        """Whether a cell of [low, high] is in the set."""
        if any(first <= high and low <= last for first, last in self._stretches):
            return True
        at = int(np.searchsorted(self._single, low))
        return at < len(self._single) and int(self._single[at]) <= high

    def mask(self, cells: U32) -> npt.NDArray[np.bool_]:
        chosen = np.zeros(len(cells), dtype=bool)
        for low, high in self._stretches:
            chosen |= (cells >= np.uint32(low)) & (cells <= np.uint32(high))
        if len(self._single) == 1:
            chosen |= cells == self._single[0]
        elif len(self._single):
            chosen |= np.isin(cells, self._single)
        return chosen


def cells_of(values: Values, attribute: Attribute, wanted: Any) -> CellSet:
    """The cells of a value, of a slice (first included, last excluded) or of a list of values."""
    if isinstance(wanted, slice):
        if wanted.step is not None:
            raise ValueError("slices of keys have no step")
        return _range(values, attribute, wanted.start, wanted.stop)
    if isinstance(wanted, np.ndarray):
        wanted = wanted.tolist()
    if isinstance(wanted, range):
        if wanted.step == 1:
            return _range(values, attribute, wanted.start, wanted.stop)
        wanted = list(wanted)
    if isinstance(wanted, (list, set, frozenset)):
        sets = [_one(values, attribute, value) for value in wanted]
        return CellSet(
            [s for each in sets for s in each._stretches],
            [c for each in sets for c in each._single.tolist()],
        )
    return _one(values, attribute, wanted)


def _wrong(attribute: Attribute, wanted: Any) -> TypeError:
    return TypeError(f"column {attribute.name} has type {attribute.type}; no key: {wanted!r}")


def _symbol(attribute: Attribute, wanted: Any) -> bytes:
    if isinstance(wanted, bytes):
        return wanted
    if isinstance(wanted, str):
        return wanted.encode("utf-8", "surrogateescape")
    raise _wrong(attribute, wanted)


def _number(attribute: Attribute, wanted: Any) -> Any:
    if isinstance(wanted, np.generic):
        wanted = wanted.item()
    allowed = (int, float) if attribute.kind == "float" else (int,)
    if isinstance(wanted, bool) or not isinstance(wanted, allowed):
        raise _wrong(attribute, wanted)
    return wanted


def _float_bits(value: float) -> int:
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits


def _structured(values: Values, attribute: Attribute, wanted: Any) -> CellSet:
    structure = values.structures[attribute.structure or 0]
    if structure.form != "enumeration":
        raise TypeError(
            f"column {attribute.name} holds values of {structure.name}, which are no keys; read "
            "the table and choose among its tuples"
        )
    name = wanted.branch if isinstance(wanted, Term) else wanted
    if not isinstance(name, str):
        raise _wrong(attribute, wanted)
    names = [branch.name for branch in structure.branches]
    name = name.removeprefix("$")
    if name not in names:
        raise TypeError(f"{_wrong(attribute, wanted)}; its branches are {', '.join(names)}")
    return CellSet(single=[names.index(name)])


def _one(values: Values, attribute: Attribute, wanted: Any) -> CellSet:
    if attribute.structure is not None:
        return _structured(values, attribute, wanted)
    dictionary = values.dictionary
    if attribute.kind == "symbol":
        cell = dictionary.symbol_cell(_symbol(attribute, wanted))
        return CellSet(single=[] if cell is None else [cell])
    number = _number(attribute, wanted)
    if attribute.kind == "float":
        patterns = [_float_bits(number)]
        if number == 0:
            patterns = [0, 1 << 63]
    elif attribute.kind == "number":
        patterns = [number & _MASK] if -(1 << 63) <= number < 1 << 63 else []
    else:
        patterns = [number] if 0 <= number <= _MASK else []
    found = [dictionary.number_cell(bits) for bits in patterns]
    return CellSet(single=[cell for cell in found if cell is not None])


def _symbol_range(values: Values, attribute: Attribute, start: Any, stop: Any) -> CellSet:
    low = None if start is None else _symbol(attribute, start)
    high = None if stop is None else _symbol(attribute, stop)
    single = []
    for cell in range(values.dictionary.symbol_count):
        text = values.dictionary.symbol(cell)
        if (low is None or text >= low) and (high is None or text < high):
            single.append(cell)
    return CellSet(single=single)


def _wides_between(values: Values, dtype: Any, low: Any, high: Any) -> list[int]:
    wides = values.dictionary.wides.view(dtype)
    chosen = np.ones(len(wides), dtype=bool)
    # Compared as Python's numbers where a bound does not fit the type.
    limits = np.iinfo(dtype) if dtype is not np.float64 else None
    if low is not None:
        if limits is not None and low > limits.max:
            return []
        chosen &= wides >= low if limits is None or low >= limits.min else True
    if high is not None:
        if limits is not None and high < limits.min:
            return []
        chosen &= wides < high if limits is None or high <= limits.max else True
    return [WIDE_BASE + number for number in np.flatnonzero(chosen).tolist()]


def _range(values: Values, attribute: Attribute, start: Any, stop: Any) -> CellSet:
    if start is None and stop is None:
        return CellSet([(0, (1 << 32) - 1)])
    if attribute.structure is not None:
        raise TypeError(f"column {attribute.name} has no ranges: {attribute.type}")
    if attribute.kind == "symbol":
        return _symbol_range(values, attribute, start, stop)
    low = None if start is None else _number(attribute, start)
    high = None if stop is None else _number(attribute, stop)
    if attribute.kind == "float":
        if any(bound is not None and math.isnan(bound) for bound in (low, high)):
            return CellSet()
        # Cells below NEGATIVE_BASE are the patterns of 0 and of the smallest positive floats.
        first = _float_bits(low) if low is not None and low > 0 else 0
        last = NEGATIVE_BASE - 1
        if high is not None:
            last = min(last, _float_bits(high) - 1 if high > 0 else -1)
        return CellSet([(first, last)], _wides_between(values, np.float64, low, high))
    dtype = np.int64 if attribute.kind == "number" else np.uint64
    low_or = -(1 << 63) if low is None else low
    last_or = _MASK if high is None else high - 1
    # The small negative numbers, or (unsigned) the largest ones, which have the same patterns.
    shift = 0 if attribute.kind == "number" else 1 << 64
    negatives = (
        max(low_or, shift - (1 << 24)) - shift + WIDE_BASE,
        min(last_or, shift - 1) - shift + WIDE_BASE,
    )
    stretches = [(max(low_or, 0), min(last_or, NEGATIVE_BASE - 1)), negatives]
    return CellSet(stretches, _wides_between(values, dtype, low, high))
