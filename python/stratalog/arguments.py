# SPDX-License-Identifier: Apache-2.0
"""Arguments of Program as what the library takes. Others are refused by their names.

The library's texts end at a NUL, so it would see only the beginning of one that has some.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from numbers import Real
from os import PathLike
from typing import Any


def text(argument: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{argument} is a str, not {value!r}")
    if "\0" in value:
        raise ValueError(f"{argument} holds a NUL: {value!r}")
    return value


def path(argument: str, value: Any) -> str:
    found = value.__fspath__() if isinstance(value, PathLike) else value
    if not isinstance(found, str):
        raise TypeError(f"{argument} is a path, a str or os.PathLike[str], not {value!r}")
    return text(argument, found)


def paths(argument: str, value: Any) -> list[str]:
    """Of one path or several."""
    is_one = isinstance(value, (str, bytes)) or not isinstance(value, Iterable)
    return [path(argument, each) for each in ([value] if is_one else value)]


def macros(argument: str, value: Any) -> list[str]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"{argument} is a list of NAME or NAME=VALUE, not {value!r}")
    return [text(argument, each) for each in value]


def whole_number(argument: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{argument} is a whole number, not {value!r}") from None


def amount(argument: str, value: Any, meaning: str) -> int:
    found = whole_number(argument, value)
    if found < 0:
        raise ValueError(f"{argument} is {meaning}, not {value!r}")
    return found


def seconds(argument: str, value: Any) -> float:
    if isinstance(value, Real) and 0 <= float(value) < float("inf"):
        return float(value)
    raise ValueError(f"{argument} is a number of seconds, not {value!r}")
