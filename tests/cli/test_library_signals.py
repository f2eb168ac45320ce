# SPDX-License-Identifier: Apache-2.0
"""What handlers of signals raise while a program runs in this process: the run ends first."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stratalog as package
from stratalog import running

ENDLESS = ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x)."
SIGNALS = [(signal.SIGINT, KeyboardInterrupt), (signal.SIGALRM, TimeoutError)]


@pytest.fixture(autouse=True)
def alarms_raise() -> Iterator[None]:
    def too_late(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, too_late)
    yield
    signal.signal(signal.SIGALRM, before)


def send_soon(number: signal.Signals) -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), number)).start()


@pytest.mark.parametrize(("number", "error"), SIGNALS)
def test_a_run_ends_with_a_checkpoint_before_a_signal_is_told(
    number: signal.Signals, error: type[BaseException], tmp_path: Path
) -> None:
    program = package.Program(ENDLESS)
    send_soon(number)
    with pytest.raises(error):
        program.run(checkpoint=tmp_path)
    assert [g.is_valid for g in package.generations(tmp_path)] == [True]
    program.clear("n")  # would be refused during a run
    program.close()


@pytest.mark.parametrize(
    "rule",
    [
        "c(x) :- e(x), e(y), e(z), e(w), x * y * z * w = -1.",
        "c(n) :- n = sum y : { y = range(0, 4000000000000), y % 7 = 3 }.",
        "p(x, y) :- e(x), e(y).\nc(n) :- n = count : { p(x, y), p(y, z), p(z, w), p(w, x) }.",
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_rule_ends_in_the_midst(rule: str, threads: int) -> None:
    program = package.Program(
        ".decl e(x: number)\n.decl p(x: number, y: number)\n.decl c(x: number)\n" + rule
    )
    program.insert("e", range(3000))
    send_soon(signal.SIGINT)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        program.run(threads=threads)
    assert time.monotonic() - begun < 60  # of hours
    program.clear("e")


def test_more_signals_do_not_leave_the_run_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    program = package.Program(ENDLESS)
    stop = program._handle.stop
    more = iter([KeyboardInterrupt, TimeoutError, SystemExit])

    def interrupted() -> None:
        for error in more:
            raise error
        stop()

    monkeypatch.setattr(program._handle, "stop", interrupted)
    send_soon(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        program.run()
    assert next(more, None) is None
    program.clear("n")


def test_a_signal_before_the_run_has_begun_keeps_it_from_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = []

    def interrupted(work: Any, _: Any) -> None:
        begun.append(work)
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "start_new_thread", interrupted)
    program = package.Program(ENDLESS)
    with pytest.raises(KeyboardInterrupt):
        program.run()
    (work,) = begun
    work()  # the thread comes too late


def test_a_run_that_was_left_alone_is_not_disturbed_and_ends_before_its_memory_goes() -> None:
    program = package.Program(ENDLESS)
    errors: list[package.RunError] = []

    def endless() -> None:
        with pytest.raises(package.RunError) as stopped:
            program._handle.run()
        errors.append(stopped.value)

    thread = threading.Thread(target=endless)
    thread.start()
    while program._handle._run is None:
        time.sleep(0.01)
    with pytest.raises(package.RunError, match="has not ended"):
        program.clear("n")
    program.close()
    thread.join()
    assert [error.code for error in errors] == ["Cancelled"]
