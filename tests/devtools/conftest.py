# SPDX-License-Identifier: Apache-2.0
"""A throw-away clone for tests of the checks: files go in, a SourceTree comes out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from checks.source_tree import Exceptions, SourceTree

MakeTree = Callable[[dict[str, str]], tuple[SourceTree, Exceptions]]


@pytest.fixture
def make_tree(tmp_path: Path) -> MakeTree:
    def make(files: dict[str, str]) -> tuple[SourceTree, Exceptions]:
        for path, text in files.items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        tree = SourceTree.of(tmp_path)
        return tree, Exceptions(tree)

    return make
