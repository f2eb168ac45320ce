# SPDX-License-Identifier: Apache-2.0
"""One line on a terminal that says what is measured; nothing in a pipe."""

from __future__ import annotations

import shutil
import sys
import time

from stratalog_bench.processes import Event
from stratalog_bench.quantities import duration_text, size_text


class Progress:
    """Writes to standard error only, and only if that is a terminal and nobody asked for quiet."""

    def __init__(self, budget: float, is_quiet: bool) -> None:
        self._budget = budget
        self._start = time.monotonic()
        self._is_shown = sys.stderr.isatty() and not is_quiet
        self._section = ""

    def section(self, text: str) -> None:
        self._section = text
        self._show("")

    def event(self, event: Event) -> None:
        if event["event"] == "save":
            took = f"{event['seconds']['total']:.3f} s"
            self._show(f"{event['case']} {size_text(event['row_bytes'])} {took}")
        elif event["event"] == "run":
            self._show(f"{event['case']} {event['seconds']['total']:.2f} s")
        elif event["event"] == "restart":
            self._show(f"{event['case']} restart {event['seconds']['total']:.3f} s")

    def close(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _show(self, text: str) -> None:
        if not self._is_shown:
            return
        passed = duration_text(time.monotonic() - self._start)
        line = f"{passed} of {duration_text(self._budget)}  {self._section}  {text}"
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{line[:width]}")
        sys.stderr.flush()
