# SPDX-License-Identifier: Apache-2.0
"""End-to-end runs in words. Pure."""

from __future__ import annotations

from stratalog_bench.processes import Event


def closure_text(event: Event) -> str:
    """Which closure it was, and how much of it."""
    name = str(event.get("closure", "closure"))
    divisor = event.get("divisor", 1)
    return name if divisor == 1 else f"{name}, 1 of {divisor} sources"
