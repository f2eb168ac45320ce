# SPDX-License-Identifier: Apache-2.0
"""Names that clash where several files are compiled as one.

CMake puts eight files of a room into one unit (a unity build), and which eight shifts whenever a
file is added. What two files of a room define under one name is then a redefinition, on the day on
which they meet; functions become overloads of each other, and a call may take the other one. So a
name at namespace scope belongs to one file among those that may meet, and to no header that they
may include. Functions that headers declare may be overloaded across files.

The text is scanned, not compiled: only what stands at namespace scope counts, and that has few
forms.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.layering import PARALLEL_FILE, Room, read_rooms
from checks.source_tree import Exceptions, Finding, SourceTree, code_only

# What is compiled together: a room, the unit tests of a room. The other tests are one program each.
TOGETHER = r"(src/.*|tests/unit/[^/]+)/[^/]+\.cc"
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\[\[|\]\]|->|<<|\d[\w.']*|[^\s\w]")
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TYPES = {"struct", "class", "union", "enum"}
# These have brackets of their own before the name that is declared.
BRACKETED = {"alignas", "decltype", "__attribute__"}
TEST_MACRO = re.compile(r"(TYPED_)?TEST(_[FP])?|INSTANTIATE_TEST_SUITE_P")
# A typedef only gives a type of C its name a second time.
PASSED_OVER = {"static_assert", "extern", "friend", "typedef", "{}", ","}
BODY = "{}"
ANONYMOUS = "{anonymous}"

Token = tuple[str, int]  # text, position


@dataclass(frozen=True)
class Definition:
    """A name at namespace scope, and what it is as far as that matters for a clash."""

    scope: str  # without anonymous namespaces
    name: str
    is_shared_function: bool = False  # not local to the file
    target: str | None = None  # of an alias

    def clashes_with(self, other: Definition) -> bool:
        """Whether one unit should not hold both. The same alias may be written twice."""
        if self.is_shared_function and other.is_shared_function:
            return False
        return self.target is None or self.target != other.target


def definitions(text: str) -> list[tuple[int, Definition]]:
    """(line, definition) of what a file defines or declares at namespace scope, each once."""
    code = PREPROCESSOR.sub(lambda m: "\n" * m.group(0).count("\n"), code_only(text))
    found: dict[Definition, int] = {}
    for scopes, statement in _statements(code):
        for position, definition in _defined(scopes, statement):
            found.setdefault(definition, code.count("\n", 0, position) + 1)
    return [(line, definition) for definition, line in found.items()]


def _statements(code: str) -> Iterator[tuple[list[str], list[Token]]]:
    """What stands at namespace scope, with the namespaces around it; braces are one token."""
    scopes: list[str] = []
    statement: list[Token] = []
    depth = 0  # of braces that are no namespace
    for match in TOKEN.finditer(code):
        token = match.group(0)
        if depth:
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth == 0 and _is_function(statement):
                yield scopes, statement
                statement = []
        elif token == "{" and (name := _namespace(statement)) is not None:
            scopes.append(name)
            statement = []
        elif token == "{":
            depth = 1
            statement.append((BODY, match.start()))
        elif token == "}":
            scopes.pop()
            statement = []
        elif token == ";":
            yield scopes, statement
            statement = []
        else:
            statement.append((token, match.start()))


def _namespace(statement: list[Token]) -> str | None:
    """The name of the namespace that begins here; None: something else begins."""
    words = [token for token, _ in statement]
    if words == ["extern"]:  # "C": the string is blanked out
        return ""
    if "namespace" not in words[:2]:
        return None
    name = "".join(word for word in words if word not in ("namespace", "inline"))
    return name or ANONYMOUS


def _is_function(statement: list[Token]) -> bool:
    """Whether the braces that have just closed are its body, so that no semicolon follows."""
    words = [token for token, _ in _without_template(statement)]
    if words[0] in TYPES or words[0] == BODY:
        return words[0] == BODY
    head = words[: words.index(BODY)]
    return "(" in head and "=" not in _without_operator(head)


def _without_operator(words: list[str]) -> list[str]:
    """Without the signs behind `operator`, and without default arguments."""
    kept: list[str] = []
    depth = 0
    for word in words:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0 and not (kept and kept[-1] == "operator" and not word.isidentifier()):
            kept.append(word)
    return kept


def _without_template(statement: list[Token]) -> list[Token]:
    while statement and statement[0][0] == "template":
        statement = statement[_behind(statement, 1, "<", ">") :]
    return statement


def _behind(statement: list[Token], at: int, opening: str, closing: str) -> int:
    """The place behind the bracket that `at` opens; `at` itself if it opens none."""
    depth = 0
    for place in range(at, len(statement)):
        depth += {opening: 1, closing: -1}.get(statement[place][0], 0)
        if depth == 0:
            return place + 1 if place > at else at
    return len(statement)


def _defined(scopes: list[str], statement: list[Token]) -> Iterator[tuple[int, Definition]]:
    scope = "::".join(name for name in scopes if name not in ("", ANONYMOUS))
    statement = _without_attributes(_without_template(statement))
    if not statement:
        return
    first, begin = statement[0]
    words = [token for token, _ in statement]
    if first == "using":
        if words[1] != "namespace":
            name = words[1] if "=" in words else words[-1]
            target = words[words.index("=") + 1 :] if "=" in words else words[1:]
            yield begin, Definition(scope, name, target=" ".join(target))
        return
    if first in TYPES:
        if BODY in words:
            named = [w for w in words[: words.index(BODY)] if w not in TYPES and w != "final"]
            if named and named[0].isidentifier() and named[1:2] not in (["::"], ["<"]):
                yield begin, Definition(scope, named[0])
        return
    if first in PASSED_OVER:
        return
    if TEST_MACRO.fullmatch(first):
        yield begin, Definition(scope, f"{words[2]}.{words[4]}")
        return
    if (place := _declarator(statement)) is None:
        return
    name, position = statement[place]
    if name == "operator":
        name = "".join(words[place : words.index("(", place)])
    is_function = (
        _is_function(statement) if BODY in words else words[place + 1 : place + 2] == ["("]
    )
    is_local = ANONYMOUS in scopes or "static" in words[:place]
    yield position, Definition(scope, name, is_shared_function=is_function and not is_local)


def _without_attributes(statement: list[Token]) -> list[Token]:
    kept: list[Token] = []
    at = 0
    while at < len(statement):
        if statement[at][0] == "[[":
            at = _behind(statement, at, "[[", "]]")
        elif statement[at][0] in BRACKETED:
            at = _behind(statement, at + 1, "(", ")")
        else:
            kept.append(statement[at])
            at += 1
    return kept


def _declarator(statement: list[Token]) -> int | None:
    """Where the declared name stands; None for a macro, and for a member, which is qualified."""
    depth = 0
    last = None
    for place, (token, _) in enumerate(statement):
        if token == "operator":
            last = place
            break
        if token == "<" and last == place - 1:
            depth += 1
        elif token == ">" and depth:
            depth -= 1
        elif depth == 0 and token in ("(", "[", "=", BODY):
            break
        elif depth == 0 and token.isidentifier():
            last = place
    if not last or statement[last - 1][0] in ("::", "~"):
        return None
    return last


def units(tree: SourceTree, rooms: dict[str, Room]) -> dict[str, tuple[list[str], list[str]]]:
    """Files that may be compiled as one, and the headers that they may include, by folder."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    headers: dict[str, list[str]] = {}
    for path in tree.select(r"src/.*\.h"):
        headers.setdefault(_folder(path).removeprefix("src/"), []).append(path)
    everything = [path for paths in headers.values() for path in paths]
    by_folder = {room.folder: room for room in rooms.values()}
    for path in tree.select(TOGETHER):
        folder = _folder(path)
        if path.startswith("src/"):
            room = by_folder.get(folder.removeprefix("src/"))
        else:
            room = rooms.get(folder.removeprefix("tests/unit/"))
        seen = everything
        if PARALLEL_FILE.fullmatch(path):  # one library, whichever room they lie in
            folder = "stratalog_parallel"
        elif room is not None:
            folders = [room.folder, *(rooms[name].folder for name in sorted(room.needs))]
            seen = [header for near in folders for header in headers.get(near, [])]
        found.setdefault(folder, ([], seen))[0].append(path)
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def check(tree: SourceTree, exceptions: Exceptions) -> list[Finding]:
    read = functools.cache(lambda path: definitions(tree.text(path)))
    found = []
    for sources, headers in units(tree, read_rooms(tree.text("CMakeLists.txt"))).values():
        known: dict[tuple[str, str], list[tuple[str, int, Definition]]] = {}
        for path in (*headers, *sources):
            for line, definition in read(path):
                places = known.setdefault((definition.scope, definition.name), [])
                first = next((p for p in places if definition.clashes_with(p[2])), None)
                places.append((path, line, definition))
                own = {path, path.removesuffix("cc") + "h"}
                if first is None or first[0] in own or path in headers:
                    continue
                if not exceptions.allows("unity_names", f"{path}: {definition.name}"):
                    message = f"'{definition.name}' is defined in {first[0]}:{first[1]} as well"
                    found.append(Finding(path, line, message))
    return found
