# SPDX-License-Identifier: Apache-2.0
"""A run that hears signals.

Python calls the handlers of signals in its main thread, between two of its own instructions. So the
library runs in another thread, and the main one waits: what a handler raises (KeyboardInterrupt of
Ctrl-C, or anything else) stops the run, and goes on to the caller when the run has ended.
"""

from __future__ import annotations

import threading
from _thread import start_new_thread
from contextlib import suppress

from stratalog.library import ASK_AGAIN_SECONDS, Handle


def run(handle: Handle) -> None:
    """As handle.run(), and ends early where a handler of signals raises something."""
    if threading.current_thread() is threading.main_thread():
        handle.check(_run_apart(handle))
    else:
        handle.check(handle.run())


def _run_apart(handle: Handle) -> int:
    turn = threading.Lock()  # for the thread, to run, or for its caller, so that it never does
    ended = threading.Event()
    codes: list[int] = []

    def work() -> None:
        if turn.acquire(blocking=False):
            try:
                codes.append(handle.run())
            finally:
                ended.set()

    # threading.Thread is not made for exceptions in the middle of start() and join().
    try:
        start_new_thread(work, ())
        ended.wait()
    except BaseException:
        if not turn.acquire(blocking=False):
            _stop(handle, ended)
        raise
    return codes[0]


def _stop(handle: Handle, ended: threading.Event) -> None:
    """Returns when the run has ended, whatever more signals come."""
    while not ended.is_set():
        with suppress(BaseException):
            handle.stop()
            ended.wait(ASK_AGAIN_SECONDS)
