# SPDX-License-Identifier: Apache-2.0
"""libstratalog, loaded once: the C interface (src/api/stratalog.h) as ctypes sees it.

It lies in this package where `pip install .` has compiled it. STRATALOG_LIBRARY names another one.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

from stratalog.errors import NotInstalledError

SIZE, U64, I64 = ctypes.c_size_t, ctypes.c_uint64, ctypes.c_int64
POINTER, TEXT, CODE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int


class ColumnIn(ctypes.Structure):
    _fields_ = (
        ("values", POINTER),
        ("stride", I64),
        ("text", POINTER),
        ("offsets", POINTER),
        ("texts", I64),
    )


class ColumnOut(ctypes.Structure):
    _fields_ = (("values", POINTER), ("stride", I64))


ALLREDUCE = ctypes.CFUNCTYPE(CODE, POINTER, POINTER, U64, CODE)
BROADCAST = ctypes.CFUNCTYPE(CODE, POINTER, POINTER, U64, CODE)
ALLGATHER = ctypes.CFUNCTYPE(CODE, POINTER, POINTER, U64, POINTER, POINTER)
ALLTOALL = ctypes.CFUNCTYPE(CODE, POINTER, POINTER, POINTER, POINTER, POINTER)


class CollectiveCalls(ctypes.Structure):
    _fields_ = (
        ("context", POINTER),
        ("rank", CODE),
        ("size", CODE),
        ("allreduce", ALLREDUCE),
        ("broadcast", BROADCAST),
        ("allgather", ALLGATHER),
        ("alltoall", ALLTOALL),
    )


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "new": (POINTER, ()),
    "free": (None, (POINTER,)),
    "message": (TEXT, (POINTER,)),
    "notes": (TEXT, (POINTER,)),
    "version": (TEXT, ()),
    "set": (CODE, (POINTER, TEXT, TEXT)),
    "compile": (CODE, (POINTER, TEXT, SIZE)),
    "relation_count": (SIZE, (POINTER,)),
    "relation_name": (TEXT, (POINTER, SIZE)),
    "find_relation": (CODE, (POINTER, TEXT, ctypes.POINTER(SIZE))),
    "insert": (CODE, (POINTER, SIZE, U64, POINTER)),
    "clear": (CODE, (POINTER, SIZE)),
    "run": (CODE, (POINTER,)),
    "stop": (None, (POINTER,)),
    "console_bytes": (POINTER, (POINTER, ctypes.POINTER(SIZE))),
    "failed_checkpoint": (TEXT, (POINTER, SIZE)),
    "measure": (CODE, (POINTER, TEXT, ctypes.POINTER(ctypes.c_double))),
    "count": (CODE, (POINTER, SIZE, ctypes.POINTER(U64))),
    "count_here": (CODE, (POINTER, SIZE, ctypes.POINTER(U64))),
    "read": (CODE, (POINTER, SIZE, U64, U64, POINTER)),
    "read_cells": (CODE, (POINTER, SIZE, U64, U64, POINTER)),
    "section": (CODE, (POINTER, TEXT, ctypes.POINTER(POINTER), ctypes.POINTER(SIZE))),
    "set_collectives": (CODE, (POINTER, ctypes.POINTER(CollectiveCalls))),
}


def _file() -> Path:
    named = os.environ.get("STRATALOG_LIBRARY")
    return Path(named) if named else Path(__file__).with_name("libstratalog.so")


@cache
def load() -> Any:
    """The library. NotInstalledError if this installation has none."""
    file = _file()
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        raise NotInstalledError(
            f"running programs needs the compiled library, and {file} cannot be loaded: {error}. "
            "`pip install .` in a clone compiles it; STRATALOG_LIBRARY names one that is elsewhere"
        ) from error
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, f"stratalog_{name}")
        function.restype = result
        function.argtypes = arguments
    return library
