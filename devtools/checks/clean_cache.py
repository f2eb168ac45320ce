# SPDX-License-Identifier: Apache-2.0
"""Remembers which C++ files a slow tool found clean, so that it only sees what changed.

The key covers the file, every header of ours it reaches, and the tool's settings; headers of the
system are not looked at. A finding is never remembered. Stored beside the cached dependencies,
outside the tree.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from checks.source_tree import SourceTree, includes


class CleanCache:
    def __init__(self, tree: SourceTree, tool: str, settings: str) -> None:
        base = os.environ.get("STRATALOG_DEPS") or Path.home() / ".cache" / "stratalog"
        self._folder = Path(base) / "clean" / tool
        self._settings = settings
        self._tree = tree
        self._known = frozenset(tree.paths)
        self._digest = cache(self._compute_digest)

    def is_clean(self, path: str) -> bool:
        return (self._folder / self._key(path)).exists()

    def remember(self, path: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / self._key(path)).touch()

    def _key(self, path: str) -> str:
        parts = [self._settings, path, *(self._digest(p) for p in sorted(self._reached(path)))]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _compute_digest(self, path: str) -> str:
        return hashlib.sha256(self._tree.text(path).encode()).hexdigest()

    def _reached(self, path: str) -> set[str]:
        reached, todo = {path}, [path]
        while todo:
            for _, target in includes(self._tree.text(todo.pop())):
                for candidate in (f"src/{target}", f"include/{target}", f"tests/{target}"):
                    if candidate in self._known and candidate not in reached:
                        reached.add(candidate)
                        todo.append(candidate)
        return reached
