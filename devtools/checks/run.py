# SPDX-License-Identifier: Apache-2.0
"""Runs the checks, prints one line each and every finding; the exit code is 1 if there is one.

devtools/check                   everything except clang-tidy
devtools/check --fix             repairs formatting and spelling first
devtools/check --tidy 240        also clang-tidy, for that many seconds; changed files first
devtools/check --under src/read  shows (and repairs) only what is in this folder
devtools/check layering ...      only these
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from checks import (
    banned_symbols,
    compile_commands,
    headers_alone,
    layering,
    outside_tools,
    text_rules,
    unity_names,
)
from checks.source_tree import Check, Exceptions, Finding, SourceTree

# Fast ones first, so that a broken rule shows early.
CHECKS: dict[str, Check] = {
    "layering": layering.check,
    "file_size": text_rules.file_size,
    "file_head": text_rules.file_head,
    "file_name": text_rules.file_name,
    "banned_words": text_rules.banned_words,
    "unity_names": unity_names.check,
    "machine_paths": text_rules.machine_paths,
    "bash": outside_tools.bash_syntax,
    "clang_format": lambda tree, _: outside_tools.clang_format(tree),
    "ruff": lambda tree, _: outside_tools.ruff(tree),
    "codespell": lambda tree, _: outside_tools.codespell(tree),
    "mypy": outside_tools.mypy,
    "headers_alone": headers_alone.check,
    "banned_symbols": banned_symbols.check,
}
NEED_BUILD = {"headers_alone", "banned_symbols"}
REPAIRS: tuple[Callable[..., list[Finding]], ...] = (
    outside_tools.clang_format,
    outside_tools.ruff,
    outside_tools.codespell,
)


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="devtools/check", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    parser.add_argument("--fix", action="store_true", help="repair what can be repaired first")
    parser.add_argument(
        "--tidy", type=float, metavar="SECONDS", default=0, help="run clang-tidy for so long"
    )
    parser.add_argument("--under", default="", metavar="PATH", help="only this file or folder")
    parser.add_argument(
        "--require-build", action="store_true", help="fail where a check finds nothing built"
    )
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.checks) - set(CHECKS):
        parser.error(f"no such check: {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    return arguments


def _report(name: str, found: list[Finding], seconds: float, note: str = "") -> None:
    verdict = f"{len(found)} findings" if found else "ok"
    print(f"{name:16} {verdict:14} {seconds:6.1f} s  {note}".rstrip(), flush=True)
    for finding in sorted(found):
        print(f"    {finding}", flush=True)


def main(argv: list[str]) -> int:
    arguments = _arguments(argv)
    root = Path.cwd()
    tree = SourceTree.of(root)
    if arguments.fix:
        for repair in REPAIRS:
            repair(tree.below(arguments.under), fix=True)
    exceptions = Exceptions(tree)
    names = arguments.checks or list(CHECKS)
    under = arguments.under.rstrip("/")
    total, skipped, ran = 0, [], set()
    built = bool(banned_symbols.libraries(tree))
    for name in names:
        if name in NEED_BUILD and not built:
            skipped.append(name)
            continue
        begin = time.monotonic()
        found = [f for f in CHECKS[name](tree, exceptions) if f.path.startswith(under)]
        _report(name, found, time.monotonic() - begin)
        total += len(found)
        ran.add(name)
    if not under and (stale := exceptions.stale(ran)):
        _report("exceptions", stale, 0)
        total += len(stale)
    if arguments.tidy and built:
        total += _tidy(tree, arguments.tidy)
    for path, lines in text_rules.sizes(tree).items():
        if lines > text_rules.WARN:
            print(f"warning: {path} has {lines} lines; aim at 300")
    for name in skipped:
        print(f"{name:16} SKIPPED: nothing is built in {compile_commands.build_folder(tree)}")
    if skipped and arguments.require_build:
        total += len(skipped)
    print(f"devtools/check: {f'{total} findings' if total else 'all good'}")
    return 1 if total else 0


def _tidy(tree: SourceTree, seconds: float) -> int:
    begin = time.monotonic()
    report = outside_tools.clang_tidy(tree, seconds)
    note = (
        f"{report.looked_at} files looked at, {report.known_clean} known to be clean, "
        f"{report.left_out} left out for time"
    )
    _report("clang_tidy", report.findings, time.monotonic() - begin, note)
    return len(report.findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
