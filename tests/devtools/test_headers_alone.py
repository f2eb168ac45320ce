# SPDX-License-Identifier: Apache-2.0
"""A header that leans on what another file included before it is found; a complete one is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from checks import headers_alone
from conftest import MakeTree


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATALOG_DEPS", str(tmp_path / "deps"))
    monkeypatch.setenv("STRATALOG_BUILD", str(tmp_path / "build"))


def messages(make_tree: MakeTree, tmp_path: Path, files: dict[str, str]) -> list[str]:
    entry = {
        "directory": str(tmp_path),
        "file": str(tmp_path / "src/a/x.cc"),
        "command": f"ccache g++ -I{tmp_path}/src -MD -MF x.d -o x.o -c {tmp_path}/src/a/x.cc",
    }
    commands = {"build/compile_commands.json": json.dumps([entry])}
    tree, exceptions = make_tree({"src/a/x.cc": "", **commands, **files})
    return [str(f) for f in headers_alone.check(tree, exceptions)]


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_an_incomplete_header_is_found_every_time(make_tree: MakeTree, tmp_path: Path) -> None:
    files = {
        "src/a/bad.h": "std::string f();\n",
        "src/a/good.h": "#include <string>\nstd::string f();\n",
    }
    for _ in range(2):  # the second time, good.h is remembered and bad.h is not
        found = messages(make_tree, tmp_path, files)
        assert len(found) == 1
        assert found[0].startswith("src/a/bad.h: does not compile alone")


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_a_header_is_looked_at_again_when_what_it_includes_changes(
    make_tree: MakeTree, tmp_path: Path
) -> None:
    files = {
        "src/a/outer.h": '#include "a/inner.h"\nInt f();\n',
        "src/a/inner.h": "using Int = int;\n",
    }
    assert messages(make_tree, tmp_path, files) == []
    files["src/a/inner.h"] = "using Long = long;\n"
    assert len(messages(make_tree, tmp_path, files)) == 1


def test_the_own_header_comes_first(make_tree: MakeTree, tmp_path: Path) -> None:
    files = {
        "src/a/y.h": "",
        "src/a/y.cc": '#include <vector>\n#include "a/z.h"\n#include "a/y.h"\n',
        "src/a/z.h": "",
    }
    found = messages(make_tree, tmp_path, files)
    assert found == ['src/a/y.cc:2: its first include must be "a/y.h"']
