# SPDX-License-Identifier: Apache-2.0
"""A tool that finds something, and a tool that breaks, both lead to findings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from checks import outside_tools, run
from conftest import MakeTree


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(tool), reason=f"needs {tool}")


@needs("clang-format")
def test_clang_format_finds_and_repairs(make_tree: MakeTree) -> None:
    tree, _ = make_tree({".clang-format": "BasedOnStyle: Google\n", "src/a/x.cc": "int  x ;\n"})
    assert [f.path for f in outside_tools.clang_format(tree)] == ["src/a/x.cc"]
    assert outside_tools.clang_format(tree, fix=True) == []
    assert outside_tools.clang_format(tree) == []
    assert tree.text("src/a/x.cc") == "int x;\n"


@needs("clang-format")
def test_a_tool_that_breaks_is_a_finding(make_tree: MakeTree) -> None:
    tree, _ = make_tree({".clang-format": "NoSuchOption: 1\n", "src/a/x.cc": "int x;\n"})
    assert outside_tools.clang_format(tree) != []


@needs("ruff")
def test_ruff_finds_lint_and_layout(make_tree: MakeTree) -> None:
    tree, _ = make_tree({"a.py": "import os\n", "run": "#!/usr/bin/env python3\nx  = 1\n"})
    found = [str(f) for f in outside_tools.ruff(tree)]
    assert any("a.py:1" in f and "F401" in f for f in found)
    assert any(f.startswith("run: not formatted") for f in found)


@needs("codespell")
def test_codespell_finds(make_tree: MakeTree) -> None:
    wrong = "rec" + "ieve"
    tree, _ = make_tree({"docs/a.md": f"good\n{wrong}\n"})
    assert [(f.path, f.line) for f in outside_tools.codespell(tree)] == [("docs/a.md", 2)]


def test_bash_syntax(make_tree: MakeTree) -> None:
    tree, exceptions = make_tree({"x.sh": "if true; then\n", "y": "#!/bin/bash\necho\n"})
    assert [f.path for f in outside_tools.bash_syntax(tree, exceptions)] == ["x.sh"]


@needs("clang-tidy")
def test_clang_tidy_finds_remembers_and_says_what_it_left_out(
    make_tree: MakeTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRATALOG_DEPS", str(tmp_path / "deps"))
    monkeypatch.setenv("STRATALOG_BUILD", str(tmp_path / "build"))
    entries = [
        {"directory": str(tmp_path), "file": f"src/a/{n}.cc", "command": f"g++ -c src/a/{n}.cc"}
        for n in ("bad", "good")
    ]
    rules = "Checks: '-*,readability-identifier-naming'\nWarningsAsErrors: '*'\n"
    options = "CheckOptions:\n  readability-identifier-naming.FunctionCase: lower_case\n"
    tree, _ = make_tree(
        {
            "build/compile_commands.json": json.dumps(entries),
            ".clang-tidy": rules + options,
            "src/a/bad.cc": "int BadName() { return 1; }\n",
            "src/a/good.cc": "int good_name() { return 1; }\n",
        }
    )
    for known in (0, 1):
        report = outside_tools.clang_tidy(tree, 60)
        assert [(f.path, f.line) for f in report.findings] == [("src/a/bad.cc", 1)]
        assert (report.known_clean, report.looked_at) == (known, 2 - known)
    report = outside_tools.clang_tidy(tree, -1)
    assert (report.left_out, report.looked_at) == (1, 0)


def test_the_command_fails_with_findings_and_where_nothing_is_built(
    make_tree: MakeTree,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_tree({"CMakeLists.txt": "stratalog_room(base)\n", "src/base/x.cc": "throw 1;\n"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STRATALOG_BUILD", raising=False)
    assert run.main(["banned_words"]) == 1
    assert "src/base/x.cc:1: throws" in capsys.readouterr().out
    assert run.main(["banned_words", "--under", "src/other"]) == 0
    assert run.main(["banned_symbols"]) == 0
    assert "SKIPPED" in capsys.readouterr().out
    assert run.main(["banned_symbols", "--require-build"]) == 1
    with pytest.raises(SystemExit):
        run.main(["no_such_check"])
