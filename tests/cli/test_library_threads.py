# SPDX-License-Identifier: Apache-2.0
"""One program in several threads and after a fork: calls wait for each other, and are refused
during a run; whoever closes it ends the run first."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import stratalog as package

PAIRS = ".decl n(a: number, b: number)\n.decl m(a: number, b: number)\nm(x, y) :- n(x, y)."
ENDLESS = ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x)."


class Watched:
    """The library, which says how many calls were in it at once, and makes them last."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._count = threading.Lock()
        self.inside = self.most = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with self._count:
                self.inside += 1
                self.most = max(self.most, self.inside)
            time.sleep(0.002)
            try:
                return getattr(self._library, name)(*arguments)
            finally:
                with self._count:
                    self.inside -= 1

        return call


def at_once(*works: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_calls_wait_for_each_other() -> None:
    program = package.Program(PAIRS)
    watched = program._handle.library = Watched(program._handle.library)
    errors: list[str] = []

    def insert(first: int) -> None:
        for i in range(first, first + 10):
            try:
                program.insert("n", [(i, i)])
            except package.RunError as error:  # the run was quicker
                errors.append(str(error))

    at_once(lambda: insert(0), lambda: insert(10), lambda: insert(20), program.run)
    assert watched.most == 1
    assert set(errors) <= {"a run of the program has not ended"}
    program.run()
    found: list[int] = []
    at_once(*[lambda: found.append(len(set(program["m"])))] * 4)
    assert found == [30 - len(errors)] * 4
    assert watched.most == 1


def test_a_run_has_its_settings_and_its_results_for_itself(tmp_path: Any) -> None:
    program = package.Program(PAIRS)
    program._handle.library = Watched(program._handle.library)
    told: list[Any] = []

    def run(folder: Any) -> None:
        try:
            told.append(program.run(checkpoint=folder).is_saved)
        except package.RunError as error:
            told.append(str(error))

    at_once(lambda: run(tmp_path / "a"), lambda: run(tmp_path / "b"))
    assert sorted(map(str, told)) == ["True", "a run of the program has not ended"]
    assert len(list(tmp_path.iterdir())) == 1


@contextmanager
def running(program: package.Program) -> Iterator[list[Any]]:
    """In another thread; what that raises."""
    raised: list[Any] = []

    def work() -> None:
        try:
            program.run()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    yield raised
    thread.join()


def test_whoever_closes_ends_the_run() -> None:
    for delay in (0, 0, 0.001, 0.01, 0.05):
        program = package.Program(ENDLESS)
        freed: list[int] = []
        library = program._handle.library
        watched = program._handle.library = Watched(library)
        with running(program) as raised:
            time.sleep(delay)
            at_once(program.close, program.close)
            freed.append(watched.inside)
        assert freed == [0], "nothing may be in what is free"
        assert program._handle.pointer is None
        (error,) = raised
        assert isinstance(error, ValueError) or error.code == "Cancelled"


def test_a_handler_of_signals_may_use_the_program() -> None:
    program = package.Program(ENDLESS)
    told: list[Any] = []

    def handler(*_: Any) -> None:
        with pytest.raises(package.RunError, match="a run of the program has not ended") as refused:
            program.insert("n", [(5,)])
        told.append(refused)
        program.close()

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(package.RunError) as stopped:
            program.run()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert stopped.value.code == "Cancelled"
    assert len(told) == 1


def test_in_the_middle_of_a_call_its_own_thread_is_refused() -> None:
    program = package.Program(PAIRS)
    handle = program._handle

    def in_the_middle(_: Any) -> None:
        for call in (handle.close, lambda: program.clear("n"), program.run):
            with pytest.raises(package.RunError, match=r"has not ended"):
                call()

    handle._call(in_the_middle)
    program.run()
    assert len(program["n"]) == 0


def in_a_fork(work: Callable[[], None]) -> None:
    """`work` in a child of this process; it has to end well, and soon."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_fork_goes_on_with_a_program_that_was_idle() -> None:
    program = package.Program(PAIRS)
    program.insert("n", np.array([[1, 2]]))
    program.run()

    def work() -> None:
        assert list(program["m"]) == [(1, 2)]
        program.insert("n", [(3, 4)])
        program.run()
        assert sorted(program["m"]) == [(1, 2), (3, 4)]
        program.close()

    in_a_fork(work)
    assert list(program["m"]) == [(1, 2)]


def test_a_fork_in_a_run_waits_for_nobody() -> None:
    program = package.Program(ENDLESS)

    def work() -> None:
        for call in (program.run, lambda: program.insert("n", [(1,)])):
            with pytest.raises(package.RunError, match="when this process was forked"):
                call()
        program.close()
        package.Program(PAIRS).run()

    with running(program) as raised:
        while program._handle._run is None:
            time.sleep(0.01)
        in_a_fork(work)
        assert raised == []
        program.close()
    assert raised[0].code == "Cancelled"


def test_a_fork_in_a_call_waits_for_nobody() -> None:
    program = package.Program(PAIRS)
    begun, may_end = threading.Event(), threading.Event()

    def long(_: Any) -> None:
        begun.set()
        may_end.wait()

    def work() -> None:
        with pytest.raises(package.RunError, match="when this process was forked"):
            program.clear("n")
        program.close()

    thread = threading.Thread(target=lambda: program._handle._call(long))
    thread.start()
    begun.wait()
    in_a_fork(work)
    may_end.set()
    thread.join()
    program.clear("n")
