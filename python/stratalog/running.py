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

from stratalog.handle import ASK_AGAIN_SECONDS, Handle


def run(handle: Handle) -> None:
    """As handle.run(), and ends early where a handler of signals raises something."""
    if threading.current_thread() is threading.main_thread():
        _run_apart(handle)
    else:
        handle.run()


def _run_apart(handle: Handle) -> None:
    turn = threading.Lock()  # for the thread, to run, or for its caller, so that it never does
    ended = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        if turn.acquire(blocking=False):
            try:
                handle.run()
            except BaseException as error:
                errors.append(error)
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
    if errors:
        raise errors.pop()  # held by nothing else, so that its frames go with it


def _stop(handle: Handle, ended: threading.Event) -> None:
    """Returns when the run has ended, whatever more signals come."""
    while not ended.is_set():
        with suppress(BaseException):
            handle.stop()
            ended.wait(ASK_AGAIN_SECONDS)
