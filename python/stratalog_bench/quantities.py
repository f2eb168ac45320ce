# SPDX-License-Identifier: Apache-2.0
"""Sizes and durations as people write and read them.

Sizes of outputs are decimal, as in the papers: 64M is 64,000,000 bytes; 64Mi is 64 * 2^20.
"""

from __future__ import annotations

import re

_UNITS = {
    "": 1,
    **{f"{letter}": 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}I": 1024**power for power, letter in enumerate("KMGT", 1)},
}
_SECONDS = {"": 1.0, "S": 1.0, "M": 60.0, "H": 3600.0}


def parse_size(text: str) -> int:
    """Bytes of "64M", "1.5G", "4Mi", "65536"; ValueError says what was expected."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?", text.strip().upper())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"'{text}' is no size; 64M, 1.5G and 4Mi are")
    return int(float(match[1]) * _UNITS[match[2]])


def parse_seconds(text: str) -> float:
    """Seconds of "90", "90s", "5m", "1h"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([SMH]?)", text.strip().upper())
    if match is None:
        raise ValueError(f"'{text}' is no duration; 90s, 5m and 1h are")
    return float(match[1]) * _SECONDS[match[2]]


def size_text(count: float) -> str:
    """Three digits and a decimal unit: 999 B, 1.05 MB, 64 MB."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def duration_text(seconds: float) -> str:
    """0:07, 5:07, 2:05:07."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(count: int, noun: str) -> str:
    """1 rank, 2 ranks, 1,024 ranks: of nouns that only get an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ranks_text(count: int) -> str:
    """1 rank, 2 ranks."""
    return counted(count, "rank")
