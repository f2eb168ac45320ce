# SPDX-License-Identifier: Apache-2.0
"""What every check looks at: the files of the clone, and the findings it reports.

Knows nothing about any rule. Files are those git tracks or would track; build folders and ignored
files do not exist for the checks.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, order=True)
class Finding:
    """One broken rule; line 0 means the whole file."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


@dataclass(frozen=True)
class SourceTree:
    """The clone at `root`. `paths` are relative to it, with forward slashes, sorted."""

    root: Path
    paths: tuple[str, ...] = field(default=())

    @staticmethod
    def of(root: Path) -> SourceTree:
        """Lists a git work tree; where git does not know the folder, all files below it."""
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"],
            capture_output=True,
            check=False,
        )
        if listed.returncode == 0:
            names = listed.stdout.decode().split("\0")
        else:
            names = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
        alive = (n for n in names if n and (root / n).is_file() and not (root / n).is_symlink())
        return SourceTree(root, tuple(sorted(set(alive))))

    def below(self, folder: str) -> SourceTree:
        """The same clone, but only the files whose path begins with `folder`."""
        return SourceTree(self.root, tuple(p for p in self.paths if p.startswith(folder)))

    def text(self, path: str) -> str:
        """The content; bytes that are no UTF-8 are replaced."""
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def select(self, pattern: str) -> tuple[str, ...]:
        """Paths that match the regular expression as a whole."""
        whole = re.compile(pattern)
        return tuple(p for p in self.paths if whole.fullmatch(p))

    def cpp(self) -> tuple[str, ...]:
        return self.select(r"(src|include|tests|bench|examples|python|tools)/.*\.(h|cc)")

    def scripts(self, shell: str) -> tuple[str, ...]:
        """Files that are run by `shell` ("python" or "bash"), by ending or by their first line."""
        ending = {"python": ".py", "bash": ".sh"}[shell]
        return tuple(p for p in self.paths if p.endswith(ending) or self._starts_with(p, shell))

    def _starts_with(self, path: str, shell: str) -> bool:
        if "." in path.rsplit("/", 1)[-1]:
            return False
        with (self.root / path).open("rb") as file:
            first = file.readline(200)
        return first.startswith(b"#!") and shell.encode() in first


def includes(text: str) -> Iterator[tuple[int, str]]:
    """(line number, file) of every #include with quotes."""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := re.match(r'\s*#\s*include\s+"([^"]+)"', line):
            yield number, match.group(1)


def code_only(text: str) -> str:
    """C++ text with comments, strings and character literals blanked out, line numbers kept."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",
        re.DOTALL,
    )
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


class Exceptions:
    """devtools/exceptions.toml: who may break which rule, and why. Unused entries are findings."""

    path = "devtools/exceptions.toml"

    def __init__(self, tree: SourceTree) -> None:
        file = tree.root / self.path
        self._rules: dict[str, dict[str, str]] = (
            tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        )
        self._used: set[tuple[str, str]] = set()

    def allows(self, rule: str, key: str) -> bool:
        """Whether `key` (a path, or what the rule says) may break `rule`."""
        if key not in self._rules.get(rule, {}):
            return False
        self._used.add((rule, key))
        return True

    def stale(self, ran: set[str]) -> list[Finding]:
        """Entries nobody needed, of the rules that ran, and entries without a reason."""
        found = []
        for rule, entries in self._rules.items():
            for key, reason in entries.items():
                if len(str(reason).split()) < 3:
                    found.append(Finding(self.path, 0, f"[{rule}] '{key}' has no reason"))
                if rule in ran and (rule, key) not in self._used:
                    message = f"[{rule}] '{key}' is not needed any more; remove it"
                    found.append(Finding(self.path, 0, message))
        return found


Check = Callable[[SourceTree, Exceptions], list[Finding]]
