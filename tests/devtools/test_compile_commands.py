# SPDX-License-Identifier: Apache-2.0
"""Files are checked as if each were compiled alone, without the build's precompiled header."""

from __future__ import annotations

from checks.compile_commands import flags_only, without_launcher, without_precompiled

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
