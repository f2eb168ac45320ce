# SPDX-License-Identifier: Apache-2.0
"""Markdown tables and the numbers in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table; all columns but the first are right-aligned."""
    return [
        "| " + " | ".join(head) + " |",
        "|---|" + "--:|" * (len(head) - 1),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def seconds_text(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"
