# SPDX-License-Identifier: Apache-2.0
"""What the goals are measured with and on."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class CannotRunError(Exception):
    """Why something cannot be measured here."""


@dataclass
class Setting:
    """Programs, places and sizes of one run of all goals."""

    build: Path
    stratalog: str
    mpiexec: str
    shared: Path  # the data sets
    scratch: Path
    out: Path  # of the page and the JSON
    is_quick: bool
    commands: list[str] = field(default_factory=list)  # as they were run
    options: dict[str, Any] = field(default_factory=dict)  # of the command line

    def neutral(self, text: str) -> str:
        """Without the folders of this machine."""
        for here, there in (
            (f"{self.scratch}/", ""),
            (str(self.scratch), "scratch"),
            (f"{self.out.parent}/", ""),
            (f"{self.build}/", "build/"),
            (f"{ROOT}/", ""),
            (str(self.shared), "../shared"),
            (sys.executable, "python3"),
            (self.mpiexec, "mpiexec"),
            *((self.options.get(peer) or peer, peer) for peer in ("souffle", "datatoad", "cargo")),
        ):
            text = text.replace(here, there)
        return text

    def run(self, words: list[object], seconds: float, **environment: str) -> str:
        """Standard output; CannotRunError with the last words where it fails or takes too long."""
        command = [str(word) for word in words]
        set_first = [f"{name}={value}" for name, value in environment.items()]
        self.commands.append(self.neutral(" ".join([*set_first, *command])))
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=seconds,
                env={**os.environ, **environment},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise CannotRunError(self.neutral(str(problem))) from None
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
            raise CannotRunError(
                self.neutral(f"{Path(command[0]).name} ended with {done.returncode}: {said}")
            )
        return done.stdout

    def built(self, name: str) -> Path:
        program = self.build / name
        if not program.exists():
            raise CannotRunError(f"{name} is not built (ninja -C build {name})")
        return program
