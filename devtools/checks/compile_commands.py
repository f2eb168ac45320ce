# SPDX-License-Identifier: Apache-2.0
"""Reads CMake's compile_commands.json: how each file is compiled, in the build's own words."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

from checks.source_tree import SourceTree

LAUNCHERS = ("ccache", "sccache")


def build_folder(tree: SourceTree) -> Path:
    return Path(os.environ.get("STRATALOG_BUILD") or tree.root / "build")


def compile_commands(tree: SourceTree) -> dict[str, list[str]]:
    """Arguments by path (relative to the clone); empty where nothing is configured."""
    file = build_folder(tree) / "compile_commands.json"
    if not file.exists():
        return {}
    commands = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        compiled = Path(entry["directory"], entry["file"]).resolve()
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        for source in sources_of(compiled):
            if source.is_relative_to(tree.root.resolve()):
                path = source.relative_to(tree.root.resolve()).as_posix()
                alone = [str(source) if a == str(compiled) else a for a in arguments]
                commands[path] = without_precompiled(without_launcher(alone))
    return commands


def sources_of(compiled: Path) -> list[Path]:
    """The files that CMake put together in one (a unity build), or the file itself."""
    if compiled.parent.name != "Unity" or not compiled.exists():
        return [compiled]
    return [Path(p) for p in re.findall(r'#include "(.+)"', compiled.read_text(encoding="utf-8"))]


def without_launcher(arguments: list[str]) -> list[str]:
    return arguments[1:] if Path(arguments[0]).name in LAUNCHERS else arguments


def without_precompiled(arguments: list[str]) -> list[str]:
    """As if every file were compiled alone: an include that it forgot is seen to be missing."""
    kept: list[str] = []
    for argument in arguments:
        if argument.endswith(("cmake_pch.hxx", "cmake_pch.hxx.pch")):
            while kept and kept[-1] in ("-include", "-include-pch", "-Xclang"):
                kept.pop()
        elif argument not in ("-Winvalid-pch", "-fpch-instantiate-templates"):
            kept.append(argument)
    return kept


def flags_only(arguments: list[str]) -> list[str]:
    """The compiler and its flags, without input, output and dependency files."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-o", "-c", "-MF", "-MT", "-MQ"):
            skip = True
        elif argument not in ("-MD", "-MMD"):
            kept.append(argument)
    return kept
