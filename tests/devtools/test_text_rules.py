# SPDX-License-Identifier: Apache-2.0
"""Size, head, name, words and paths: each rule finds what breaks it, and nothing in a good file."""

from __future__ import annotations

import pytest
from checks import text_rules
from checks.source_tree import Check, code_only
from conftest import MakeTree

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// Role: a test.\n"
RULES: list[Check] = [
    text_rules.file_size,
    text_rules.file_head,
    text_rules.file_name,
    text_rules.machine_paths,
    text_rules.banned_words,
]


def messages(make_tree: MakeTree, files: dict[str, str]) -> list[str]:
    tree, exceptions = make_tree(files)
    found = [str(f) for rule in RULES for f in rule(tree, exceptions)]
    return found + [str(f) for f in exceptions.stale({"file_size", "banned_words"})]


def test_a_good_file_passes(make_tree: MakeTree) -> None:
    files = {
        "src/base/status.h": HEAD + "#pragma once\n",
        "src/base/status.cc": "// SPDX-License-Identifier: Apache-2.0\n#include <x>\n",
        "devtools/check": "#!/usr/bin/env bash\n# SPDX-License-Identifier: Apache-2.0\n",
        "docs/install.md": "Set `HOME/work/x`, or ~/root/y, or $PREFIX/work/z.\n",
    }
    assert messages(make_tree, files) == []


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("src/a/x.cc", "int x;\n", "does not begin with"),
        ("devtools/x.py", '"""No licence."""\n', "does not begin with"),
        ("src/a/x.cc", "// SPDX-License-Identifier: Apache-2.0\n\nint x;\n", "no head comment"),
        ("src/a/x.h", HEAD + "int x;\n", "#pragma once"),
        ("src/a/string_utils.cc", HEAD, "empty name"),
        ("src/a/MyFile.cc", HEAD, "not snake_case"),
        ("src/a/x.cc", HEAD + "int f() { throw 1; }\n", "throws"),
        ("src/a/x.cc", HEAD + "std::cout << 1;\n", "prints"),
        ("src/a/x.cc", HEAD + "using namespace std;\n", "namespace std"),
        ("src/a/x.cc", HEAD + "// TODO later\n", "without an issue number"),
        ("docs/a.md", "see /" + "root/x\n", "one machine"),
        ("docs/a.md", "see `/" + "home/someone/x`\n", "one machine"),
        ("src/a/x.cc", HEAD + "//\n" * 800, "has 802 lines; the limit is 800"),
        ("tests/unit/x_test.cc", HEAD + "//\n" * 999, "has 1001 lines; the limit is 1000"),
    ],
)
def test_a_broken_rule_is_found(make_tree: MakeTree, path: str, text: str, said: str) -> None:
    found = messages(make_tree, {path: text})
    assert len(found) == 1, found
    assert said in found[0]


def test_the_limits_themselves_are_allowed(make_tree: MakeTree) -> None:
    files = {
        "src/a/x.cc": HEAD + "//\n" * 798,
        "tests/unit/x_test.cc": HEAD + "//\n" * 998,
        "src/a/y.cc": HEAD + "// TODO(#12) throw std::cout\n" + 'auto s = "throw";\n',
        "src/cli/main.cc": HEAD + "std::cout << 1;\n",
    }
    assert messages(make_tree, files) == []


def test_an_exception_needs_a_reason_and_a_need(make_tree: MakeTree) -> None:
    toml = '[file_size]\n"src/a/x.cc" = "one big table"\n"src/a/y.cc" = "why"\n'
    files = {"src/a/x.cc": HEAD + "//\n" * 900, "devtools/exceptions.toml": toml}
    found = messages(make_tree, files)
    assert len(found) == 2
    assert "'src/a/y.cc' has no reason" in found[0]
    assert "'src/a/y.cc' is not needed any more" in found[1]


def test_code_only_blanks_comments_and_strings() -> None:
    text = 'a /* throw\n */ b // throw\n"throw\\"" \'x\' 1\'000 R"(throw)" c'
    code = code_only(text)
    assert "throw" not in code
    assert code.count("\n") == text.count("\n")
    assert all(letter in code for letter in ("a", "b", "c", "1'000"))
