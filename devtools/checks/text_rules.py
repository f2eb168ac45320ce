# SPDX-License-Identifier: Apache-2.0
"""Rules that one file's text decides: size, first lines, name, words it must not contain."""

from __future__ import annotations

import re

from checks.source_tree import Exceptions, Finding, SourceTree, code_only

SPDX = "SPDX-License-Identifier: Apache-2.0"
LIMIT, TEST_LIMIT, WARN = 800, 1000, 500
TEXT = r".*\.(h|cc|py|sh|md|txt|cmake|toml|json|dl|yml|in)|Makefile|(.*/)?(check|run|setup|fuzz)"
# Folders of one machine. Written so that the pattern does not match its own text.
MACHINE_PATH = re.compile(r"(?<![\w.~$}/])/(?:root|work|home/[a-z]\w*)/")
EMPTY_NAMES = {"util", "utils", "helper", "helpers", "common", "manager", "misc"}
BANNED_WORDS = {
    r"\bthrow\b": "throws; return a Status",
    r"\bstd::(cout|cerr|clog)\b": "prints; return a value and let src/cli print it",
    r"\busing namespace std\b": "imports namespace std",
    r"\bTODO\b(?!\(#\d+\))": "TODO without an issue number, as in TODO(#12)",
}


def file_size(tree: SourceTree, exceptions: Exceptions) -> list[Finding]:
    """More than 800 lines (tests 1000) fails. The warning at 500 is printed by run.py."""
    found = []
    for path, lines in sizes(tree).items():
        limit = TEST_LIMIT if path.startswith("tests/") else LIMIT
        if lines > limit and not exceptions.allows("file_size", path):
            found.append(Finding(path, 0, f"has {lines} lines; the limit is {limit}: split it"))
    return found


def sizes(tree: SourceTree) -> dict[str, int]:
    """Lines of every file that people write."""
    written = set(tree.cpp()) | set(tree.scripts("python")) | set(tree.scripts("bash"))
    written |= set(tree.select(r"(.*/)?(CMakeLists\.txt|Makefile)|.*\.cmake"))
    return {p: tree.text(p).count("\n") for p in sorted(written)}


def file_head(tree: SourceTree, _: Exceptions) -> list[Finding]:
    """The SPDX line first (after `#!`); then, in C++, a comment on the file's role; #pragma once.

    x.cc beside x.h may leave the comment to the header.
    """
    known = set(tree.paths)
    found = []
    for path in sizes(tree):
        text = tree.text(path)
        if not text.strip():
            continue
        lines = text.splitlines()
        at = 1 if lines[0].startswith("#!") else 0
        if at >= len(lines) or SPDX not in lines[at]:
            found.append(Finding(path, at + 1, f"does not begin with '{SPDX}'"))
            continue
        if path.endswith((".h", ".cc")):
            after = next((line for line in lines[at + 1 :] if line.strip()), "")
            told = path.endswith(".cc") and path.removesuffix("cc") + "h" in known
            if not after.startswith("//") and not told:
                found.append(Finding(path, at + 2, "has no head comment on its role"))
        if path.endswith(".h") and "#pragma once" not in lines:
            found.append(Finding(path, 0, "has no #pragma once"))
    return found


def file_name(tree: SourceTree, exceptions: Exceptions) -> list[Finding]:
    """Files are snake_case and named after what they define; nothing is left over."""
    found = [Finding(path, 0, "a left-over; remove it") for path in tree.select(r".*~")]
    for path in (*tree.cpp(), *tree.scripts("python")):
        stem = path.rsplit("/", 1)[-1].split(".")[0]
        is_good = re.fullmatch(r"[a-z0-9_-]+", stem)
        if not is_good and not exceptions.allows("file_name", path):
            found.append(Finding(path, 0, "the file name is not snake_case"))
        if EMPTY_NAMES & set(stem.split("_")):
            found.append(Finding(path, 0, "an empty name; name it after what it defines"))
    return found


def machine_paths(tree: SourceTree, _: Exceptions) -> list[Finding]:
    """No folders of one machine in any text file."""
    return [
        Finding(path, number, "names a folder of one machine")
        for path in tree.select(TEXT)
        for number, line in enumerate(tree.text(path).splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]


def banned_words(tree: SourceTree, exceptions: Exceptions) -> list[Finding]:
    """What library code does not say. src/cli may print; TODO is looked for in comments as well."""
    found = []
    for path in tree.select(r"(src|include)/.*\.(h|cc)"):
        text = tree.text(path)
        code = code_only(text)
        for pattern, message in BANNED_WORDS.items():
            if path.startswith("src/cli/") and "prints" in message:
                continue
            where = text if "TODO" in pattern else code
            for match in re.finditer(pattern, where):
                if not exceptions.allows("banned_words", path):
                    line = where.count("\n", 0, match.start()) + 1
                    found.append(Finding(path, line, message))
    return found
