# SPDX-License-Identifier: Apache-2.0
"""Handle: a program of the library, which threads may share.

The library wants one call at a time, and the interpreter gives way to other threads within each. So
calls wait for each other, but not for runs, during which they are refused. Handlers of signals can
come between any two instructions of the main thread, and a fork in the middle of all of it.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from stratalog.errors import RunError, error_of
from stratalog.library import POINTER, SIZE, load

ASK_AGAIN_SECONDS = 0.05
T = TypeVar("T")


class _Run:
    """One in progress."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.ended = threading.Event()


class Handle:
    """Its calls raise what their verdict says."""

    def __init__(self) -> None:
        self.library = load()
        self.pointer = self.library.stratalog_new()
        if not self.pointer:
            raise MemoryError("no memory for a program")
        # Handlers of signals would wait for their own thread if it could not be taken twice.
        self._lock = threading.RLock()
        self._is_in_call = False
        self._is_closed = False
        self._is_inherited = False  # by a fork
        self._is_lost = False  # in use when it was inherited: nobody here knows how far it came
        self._run: _Run | None = None
        self._claim: object = None
        _handles.add(self)

    # -- closing ------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Ends a run that another thread is in, and gives the memory back."""
        with self._lock:
            if self._is_in_call:
                raise RunError("a call of the program, in this thread, has not ended")
            if self._run is not None and self._run.thread == threading.get_ident():
                raise RunError("a run of the program, in this thread, has not ended")
            self._is_closed = True  # nothing begins from here on
        self.stop()
        with self._lock:
            pointer, self.pointer = self.pointer, None
        if pointer and not self._is_inherited:  # what the parent process has is the parent's
            self.library.stratalog_free(pointer)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.close()

    def after_fork(self) -> None:
        """In the child, which has no thread but the one that forked."""
        self._is_inherited = True
        if self._run is None and self._claim is None and self._lock.acquire(blocking=False):
            self._lock.release()
            return
        self._is_lost = True
        self._lock = threading.RLock()
        self._run, self._is_in_call = None, False  # so that nobody waits for them

    # -- calls --------------------------------------------------------------------------------

    def _open(self) -> Any:
        if self._is_closed:
            raise ValueError("the program was closed")
        if self._is_lost:
            raise RunError("the program was in use by another thread when this process was forked")
        if self._run is not None:
            raise RunError("a run of the program has not ended")
        return self.pointer

    def together(self, work: Callable[[], T]) -> T:
        """Calls of this thread, and none of another one between them."""
        with self._lock:
            return work()

    def _call(self, work: Callable[[Any], T]) -> T:
        """What `work` makes of the pointer. One call at a time, and none within a run."""
        with self._lock:
            if self._is_in_call:  # a handler of signals came in the middle of it
                raise RunError("a call of the program, in this thread, has not ended")
            pointer = self._open()
            try:
                self._is_in_call = True
                return work(pointer)
            finally:
                self._is_in_call = False

    def _check(self, pointer: Any, code: int) -> None:
        if code != 0:
            message: bytes = self.library.stratalog_message(pointer)
            raise error_of(code, message.decode("utf-8", "surrogateescape").rstrip("\n"))

    def call(self, name: str, *arguments: Any) -> None:
        function = getattr(self.library, f"stratalog_{name}")
        self._call(lambda pointer: self._check(pointer, function(pointer, *arguments)))

    def text(self, name: str, *arguments: Any) -> str:
        function = getattr(self.library, f"stratalog_{name}")
        found: bytes = self._call(lambda pointer: function(pointer, *arguments))
        return found.decode("utf-8", "surrogateescape")

    def console(self) -> str:
        """May hold zeros, as symbols may."""
        size = SIZE()

        def copied(pointer: Any) -> bytes:
            data = self.library.stratalog_console_bytes(pointer, ctypes.byref(size))
            return ctypes.string_at(data, size.value)

        return self._call(copied).decode("utf-8", "surrogateescape")

    def number(self, name: str, kind: Any, *arguments: Any) -> Any:
        value = kind()
        self.call(name, *arguments, ctypes.byref(value))
        return value.value

    def section(self, name: str) -> bytes:
        data, size = POINTER(), SIZE()
        asked = (name.encode(), ctypes.byref(data), ctypes.byref(size))

        def copied(pointer: Any) -> bytes:
            self._check(pointer, self.library.stratalog_section(pointer, *asked))
            return ctypes.string_at(data, size.value) if size.value else b""

        return self._call(copied)

    # -- runs ---------------------------------------------------------------------------------

    def claim(self, claim: object) -> None:
        """For a run with all that belongs to it, its settings and the reading of its results."""
        with self._lock:
            self._open()
            if self._claim is not None:
                raise RunError("a run of the program has not ended")
            self._claim = claim

    def release(self, claim: object) -> None:
        """If it was given."""
        if self._claim is claim:
            self._claim = None

    def run(self) -> None:
        """Until it has ended, other calls are refused."""
        mine = _Run()
        try:  # from the beginning, as handlers of signals may raise in every line
            with self._lock:
                pointer = self._open()
                self._run = mine
            self._check(pointer, self.library.stratalog_run(pointer))
        finally:
            if self._run is mine:
                self._run = None
            mine.ended.set()

    def stop(self) -> None:
        """Ends a run in progress and returns when it has ended; within the run's own thread, as its
        end would wait for it, before."""
        run = self._run
        while run is not None and self._run is run:
            with self._lock:  # so that the pointer is not given back meanwhile
                if self._run is run:
                    self.library.stratalog_stop(self.pointer)
            if run.thread == threading.get_ident():
                return
            run.ended.wait(ASK_AGAIN_SECONDS)  # a run that just begins forgets it


_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


def _after_fork() -> None:
    for handle in list(_handles):
        handle.after_fork()


os.register_at_fork(after_in_child=_after_fork)
