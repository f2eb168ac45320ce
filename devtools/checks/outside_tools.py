# SPDX-License-Identifier: Apache-2.0
"""Tools that others wrote: clang-format, clang-tidy, ruff, mypy, codespell, bash -n.

Their versions are pinned in devtools/requirements-dev.txt, their settings lie in the tree's root.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from checks.clean_cache import CleanCache
from checks.compile_commands import compile_commands, flags_only
from checks.source_tree import Exceptions, Finding, SourceTree

STRICT_PYTHON = r"(devtools|python)/.*\.py"


def _run(tree: SourceTree, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)


def _findings(output: str, pattern: str = r"([^\s:]+):(\d+)(?::\d+)?:? (.*)") -> list[Finding]:
    matches = (re.match(pattern, line) for line in output.splitlines())
    return [Finding(m.group(1), int(m.group(2)), m.group(3)) for m in matches if m]


def _or_whole(found: list[Finding], result: subprocess.CompletedProcess[str]) -> list[Finding]:
    """A tool that fails without naming a line is a finding, too."""
    if result.returncode != 0 and not found:
        tail = (result.stdout + result.stderr).strip().splitlines()[-8:]
        return [Finding(str(result.args[0]), 0, " | ".join(tail) or "failed")]
    return found


def clang_format(tree: SourceTree, *, fix: bool = False) -> list[Finding]:
    paths = tree.cpp()
    if not paths:
        return []
    if fix:
        result = _run(tree, "clang-format", "-i", *paths)
        return _or_whole([], result)
    result = _run(tree, "clang-format", "--dry-run", "--Werror", *paths)
    by_file: dict[str, Finding] = {}
    for finding in _findings(result.stderr):
        by_file.setdefault(finding.path, finding)
    return _or_whole(
        [Finding(f.path, f.line, "not formatted (make fix repairs it)") for f in by_file.values()],
        result,
    )


def ruff(tree: SourceTree, *, fix: bool = False) -> list[Finding]:
    paths = tree.scripts("python")
    if not paths:
        return []
    found: list[Finding] = []
    lint = ["ruff", "check", "--quiet", "--output-format=concise", *(["--fix"] if fix else [])]
    result = _run(tree, *lint, *paths)
    found += _or_whole(_findings(result.stdout), result)
    result = _run(tree, "ruff", "format", "--quiet", *([] if fix else ["--check"]), *paths)
    if result.returncode != 0:
        layout = sorted(set(re.findall(r"^ *--> ([^:]+):\d+", result.stdout, re.MULTILINE)))
        wrong = [Finding(path, 0, "not formatted (make fix repairs it)") for path in layout]
        found += _or_whole(wrong, result)
    return found


def mypy(tree: SourceTree, _: Exceptions) -> list[Finding]:
    paths = tree.select(STRICT_PYTHON)
    if not paths:
        return []
    result = _run(tree, sys.executable, "-m", "mypy", "--no-error-summary", "--strict", *paths)
    return _or_whole(_findings(result.stdout), result)


def codespell(tree: SourceTree, *, fix: bool = False) -> list[Finding]:
    paths = tree.select(r".*\.(h|cc|py|sh|md|txt|cmake|toml|json|dl)|Makefile")
    result = _run(tree, "codespell", *(["-w"] if fix else []), *paths)
    return _or_whole(_findings(result.stdout), result)


def bash_syntax(tree: SourceTree, _: Exceptions) -> list[Finding]:
    found = []
    for path in tree.scripts("bash"):
        result = _run(tree, "bash", "-n", path)
        if result.returncode != 0:
            found.append(Finding(path, 0, result.stderr.strip().splitlines()[0]))
    return found


@dataclass
class TidyReport:
    """What clang-tidy got to see: the time is limited, so a run must say what it covered."""

    findings: list[Finding]
    looked_at: int = 0
    known_clean: int = 0
    left_out: int = 0


def changed_files(tree: SourceTree) -> set[str]:
    """Files that differ from origin/main (or the commit before, where that is the same)."""
    base = ""
    for name in ("origin/main", "HEAD~1"):
        result = _run(tree, "git", "merge-base", name, "HEAD")
        head = _run(tree, "git", "rev-parse", "HEAD").stdout.strip()
        if result.returncode == 0 and result.stdout.strip() != head:
            base = result.stdout.strip()
            break
    changed = set(_run(tree, "git", "diff", "--name-only", base or "HEAD").stdout.split())
    return changed | set(_run(tree, "git", "ls-files", "-o", "--exclude-standard").stdout.split())


def clang_tidy(tree: SourceTree, budget_seconds: float) -> TidyReport:
    """Changed files first, then all others in an order that the commit picks, until time is up."""
    commands = compile_commands(tree)
    cache = CleanCache(tree, "clang-tidy", tree.text(".clang-tidy"))
    sources = [path for path in tree.select(r"src/.*\.cc") if path in commands]
    todo = [path for path in sources if not cache.is_clean(path)]
    report = TidyReport([], known_clean=len(sources) - len(todo))
    changed = changed_files(tree)
    head = _run(tree, "git", "rev-parse", "HEAD").stdout

    def order(path: str) -> tuple[bool, str]:
        return (path not in changed, hashlib.sha256((head + path).encode()).hexdigest())

    deadline = time.monotonic() + budget_seconds

    def look(path: str) -> subprocess.CompletedProcess[str] | None:
        if time.monotonic() > deadline:
            return None
        flags = flags_only(commands[path])[1:]
        return _run(
            tree, "clang-tidy", "--quiet", path, "--", *flags, "-Wno-unknown-warning-option"
        )

    todo.sort(key=order)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, result in zip(todo, pool.map(look, todo), strict=True):
            if result is None:
                report.left_out += 1
                continue
            report.looked_at += 1
            pattern = r"([^\s:]+):(\d+):\d+: (?:warning|error): (.*)"
            found = _findings(result.stdout.replace(f"{tree.root}/", ""), pattern)
            if found or result.returncode != 0:
                report.findings += _or_whole(found, result)
            else:
                cache.remember(path)
    report.findings = sorted(set(report.findings))
    return report
