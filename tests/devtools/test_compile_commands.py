# SPDX-License-Identifier: Apache-2.0
"""Files are checked as if each were compiled alone, without the build's precompiled header."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checks.compile_commands import (
    compile_commands,
    flags_only,
    without_launcher,
    without_precompiled,
)
from conftest import MakeTree

PLAIN = ["c++", "-std=c++20", "-I", "src", "-o", "x.o", "-c", "x.cc"]


def test_gcc_includes_a_header_of_the_build() -> None:
    arguments = [*PLAIN[:4], "-Winvalid-pch", "-include", "/b/cmake_pch.hxx", *PLAIN[4:]]
    assert without_precompiled(arguments) == PLAIN


def test_clang_names_a_file_and_a_header() -> None:
    pch = ["-Xclang", "-include-pch", "-Xclang", "/b/cmake_pch.hxx.pch"]
    header = ["-Xclang", "-include", "-Xclang", "/b/cmake_pch.hxx"]
    extra = ["-Winvalid-pch", "-fpch-instantiate-templates"]
    assert without_precompiled([*PLAIN[:4], *extra, *pch, *header, *PLAIN[4:]]) == PLAIN


def test_other_includes_stay() -> None:
    arguments = ["c++", "-include", "config.h", "-Xclang", "-verify", "x.cc"]
    assert without_precompiled(arguments) == arguments


def test_flags_are_what_is_no_file() -> None:
    arguments = without_launcher(["ccache", *PLAIN, "-MD", "-MF", "x.d"])
    assert flags_only(arguments) == PLAIN[:4]


def test_files_compiled_together_have_their_own_commands(
    make_tree: MakeTree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tree, _ = make_tree({"src/a/x.cc": "int x;\n", "src/a/y.cc": "int y;\n"})
    unity = tmp_path / "Unity" / "unity_0_cxx.cxx"
    unity.parent.mkdir()
    unity.write_text("".join(f'#include "{tree.root}/src/a/{n}.cc"\n' for n in "xy"))
    command = f"c++ -O2 -o a.o -c {unity}"
    entry = {"directory": str(tmp_path), "file": str(unity), "command": command}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    monkeypatch.setenv("STRATALOG_BUILD", str(tmp_path))
    assert compile_commands(tree) == {
        f"src/a/{n}.cc": ["c++", "-O2", "-o", "a.o", "-c", f"{tree.root}/src/a/{n}.cc"]
        for n in "xy"
    }
