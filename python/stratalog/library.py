# SPDX-License-Identifier: Apache-2.0
"""libstratalog, loaded once: the C interface (src/api/stratalog.h) as ctypes sees it.

It lies in this package where `pip install .` has compiled it. STRATALOG_LIBRARY names another one.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from pathlib import Path
from typing import Any

from stratalog.errors import NotInstalledError, RunError, error_of

SIZE, U64, I64 = ctypes.c_size_t, ctypes.c_uint64, ctypes.c_int64
POINTER, TEXT, CODE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int

ASK_AGAIN_SECONDS = 0.05


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


class Handle:
    """A program of the library. Its calls raise what their verdict says."""

    def __init__(self) -> None:
        self.library = load()
        self.pointer = self.library.stratalog_new()
        if not self.pointer:
            raise MemoryError("no memory for a program")
        self._idle = threading.Event()  # not while a run is in progress
        self._idle.set()

    def close(self) -> None:
        self.stop()  # it would go on in memory that is free
        if self.pointer:
            self.library.stratalog_free(self.pointer)
        self.pointer = None

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.close()

    def _open(self) -> Any:
        if not self.pointer:
            raise ValueError("the program was closed")
        if not self._idle.is_set():
            raise RunError("a run of the program, begun by another thread, has not ended")
        return self.pointer

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.library, f"stratalog_{name}")(self._open(), *arguments)
        self.check(code)

    def check(self, code: int) -> None:
        if code != 0:
            raise error_of(code, self.text("message").rstrip("\n"))

    def run(self) -> int:
        """The verdict. Until there is one, other calls are refused."""
        pointer = self._open()
        self._idle.clear()
        try:
            return int(self.library.stratalog_run(pointer))
        finally:
            self._idle.set()

    def stop(self) -> None:
        """Ends a run in progress, from another thread, and returns when it has ended."""
        while not self._idle.is_set():
            self.library.stratalog_stop(self.pointer)
            self._idle.wait(ASK_AGAIN_SECONDS)  # a run that just begins forgets it

    def text(self, name: str, *arguments: Any) -> str:
        found: bytes = getattr(self.library, f"stratalog_{name}")(self._open(), *arguments)
        return found.decode("utf-8", "surrogateescape")

    def console(self) -> str:
        """May hold zeros, as symbols may."""
        size = SIZE()
        data = self.library.stratalog_console_bytes(self._open(), ctypes.byref(size))
        return ctypes.string_at(data, size.value).decode("utf-8", "surrogateescape")

    def number(self, name: str, kind: Any, *arguments: Any) -> Any:
        value = kind()
        self.call(name, *arguments, ctypes.byref(value))
        return value.value

    def section(self, name: str) -> bytes:
        data, size = POINTER(), SIZE()
        self.call("section", name.encode(), ctypes.byref(data), ctypes.byref(size))
        return ctypes.string_at(data, size.value) if size.value else b""
