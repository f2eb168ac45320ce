# SPDX-License-Identifier: Apache-2.0
"""From measured numbers to rows of the table: met, missed by how much, or not run and why. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MET = "met"
NO_DURABILITY = "-"  # nothing is written


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    point: str  # "1a"
    goal: str
    measured: str
    durability: str
    verdict: str
    numbers: dict[str, float] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """Of the point: 2 of "2.1a"."""
        return int(re.match(r"\d+", self.point)[0])  # type: ignore[index]

    @property
    def is_met(self) -> bool:
        return self.verdict == MET

    @property
    def is_missed(self) -> bool:
        return self.verdict.startswith("missed")


def _visible(amount: float, digits: int) -> str:
    """With as many digits more as it takes not to be nothing: what is missed is missed."""
    text = f"{amount:,.{digits}f}"
    while float(text.replace(",", "")) == 0 and digits < 9:
        digits += 1
        text = f"{amount:,.{digits}f}"
    return text


@dataclass(frozen=True)
class Bound:
    """What a number has to be; `unit` stands behind it in the table."""

    limit: float
    is_least: bool  # or else the most
    unit: str = ""
    digits: int = 2

    def text(self, value: float) -> str:
        if self.unit == "%":
            return f"{value:.1%}"
        return f"{value:,.{self.digits}f}{self.unit}"

    @property
    def sign(self) -> str:
        return "≥" if self.is_least else "≤"

    def worst(self, numbers: Mapping[str, float]) -> str:
        """The name of the number that is furthest from the goal."""
        pick = min if self.is_least else max
        return pick(numbers, key=lambda name: numbers[name])

    def verdict(self, value: float) -> str:
        if value != value:  # no number is no proof
            return "missed: no number"
        if value >= self.limit if self.is_least else value <= self.limit:
            return MET
        if self.unit == "%":
            return f"missed by {_visible(abs(value - self.limit) * 100, 1)} points"
        if self.limit == 0:
            return f"missed by {_visible(abs(value), self.digits)}{self.unit}"
        return f"missed by {_visible(abs(value / self.limit - 1) * 100, 0)}%"


def least(limit: float, unit: str = "", digits: int = 2) -> Bound:
    return Bound(limit, True, unit, digits)


def most(limit: float, unit: str = "", digits: int = 2) -> Bound:
    return Bound(limit, False, unit, digits)


def judge(
    point: str,
    what: str,
    bound: Bound,
    numbers: Mapping[str, float],
    durability: str = NO_DURABILITY,
    note: str = "",
) -> Row:
    """The goal holds for every number, so the worst one decides. None at all: not run."""
    goal = f"{what} {bound.sign} {bound.text(bound.limit)}"
    if not numbers:
        return not_run(point, goal, note or "nothing was measured", durability)
    measured = ", ".join(f"{name} {bound.text(value)}" for name, value in numbers.items())
    worst = bound.worst(numbers)
    verdict = bound.verdict(numbers[worst])
    if verdict != MET and len(numbers) > 1:
        verdict += f" ({worst})"
    measured += f"; {note}" if note else ""
    return Row(point, goal, measured, durability, verdict, dict(numbers))


def not_run(point: str, goal: str, why: str, durability: str = NO_DURABILITY) -> Row:
    return Row(point, goal, "", durability, f"not run: {why}")


def counted(rows: list[Row]) -> str:
    """How many of which, in words."""
    met = sum(row.is_met for row in rows)
    missed = sum(row.is_missed for row in rows)
    return f"{met} met, {missed} missed, {len(rows) - met - missed} not run"


def table(rows: list[Row]) -> list[str]:
    writes = any(row.durability != NO_DURABILITY for row in rows)
    heads = ["point", "goal", "measured", *(["durability"] if writes else []), "verdict"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        verdict = row.verdict if row.is_met else f"**{row.verdict}**"
        durability = [row.durability] if writes else []
        cells = (row.point, row.goal, row.measured, *durability, verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
