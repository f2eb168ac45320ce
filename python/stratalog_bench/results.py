# SPDX-License-Identifier: Apache-2.0
"""The results of a run as they grow: every event, saved again and again, so that a run that is
interrupted keeps what it has."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stratalog_bench.processes import BenchError, Event

FORMAT, VERSION = "stratalog-bench-checkpoint", 1


def rounded(value: Any) -> Any:
    """Seconds to the microsecond: what a clock over several ranks can tell."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


@dataclass
class Results:
    """Content of results.json."""

    machine: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    command: list[str] = field(default_factory=list)
    started: str = ""
    seconds: float = 0
    complete: bool = False
    left_out: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def save(self, file: Path) -> None:
        """Old content or new, never half of it."""
        content = {"format": FORMAT, "version": VERSION, **self.__dict__}
        events = ",\n  ".join(json.dumps(event) for event in content.pop("events"))
        text = json.dumps(content, indent=1)[:-2] + f',\n "events": [\n  {events}\n ]\n}}'
        beside = file.with_suffix(".new")
        beside.write_text(text + "\n")
        os.replace(beside, file)  # noqa: PTH105

    @staticmethod
    def load(file: Path) -> Results:
        try:
            content = json.loads(file.read_text())
        except (OSError, ValueError) as problem:
            raise BenchError(f"cannot read {file}: {problem}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise BenchError(f"{file} holds no results of bench checkpoint")
        if content.get("version") != VERSION:
            raise BenchError(f"{file} has version {content.get('version')}; this reads {VERSION}")
        known = {name: content[name] for name in Results().__dict__ if name in content}
        return Results(**known)

    def of(self, event: str, section: str) -> Iterable[Event]:
        """Events of one kind and section, in order."""
        return (e for e in self.events if e["event"] == event and e.get("section") == section)
