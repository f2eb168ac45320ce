# SPDX-License-Identifier: Apache-2.0
"""Names that clash in a unity build are found in every form; what may be shared is left alone."""

from __future__ import annotations

import pytest
from checks import unity_names
from conftest import MakeTree

CMAKE = """
stratalog_room(base)
stratalog_room(comm NEEDS base)
stratalog_room(facts DIR datalog/facts NEEDS base)
"""


def messages(make_tree: MakeTree, files: dict[str, str]) -> list[str]:
    tree, exceptions = make_tree({"CMakeLists.txt": CMAKE, **files})
    return [str(f) for f in unity_names.check(tree, exceptions)]


def names(text: str) -> set[str]:
    return {definition.name for _, definition in unity_names.definitions(text)}


def local(code: str, scope: str = "stratalog") -> str:
    return f"namespace {scope} {{\nnamespace {{\n{code}\n}}\n}}  // namespace {scope}\n"


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("bool f(int x) { return x > 0; }", "bool f(int y) { return y < 0; }", "f"),
        ("bool f(int x) { return x > 0; }", "int f(const A& a, B b = {1}) { return 2; }", "f"),
        ("constexpr int kMost = 3;", "constexpr std::size_t kMost{4};", "kMost"),
        ("constexpr char kText[] = {'a'};", "const char* kText = nullptr;", "kText"),
        ("struct Place { int at; };", "enum class Place : char { kHere };", "Place"),
        ("class [[nodiscard]] A final : public B<C> {};", "using A = int;", "A"),
        ("using Names = std::set<int>;", "using Names = std::map<int, int>;", "Names"),
        ("template <typename T, int N = (1 > 0)>\nT g(T t) { return t; }", "int g = 1;", "g"),
        ("bool operator<(A a, A b) { return a.x < b.x; }", "bool operator<(A, A);", "operator<"),
        ("auto h() -> int { return 1; }", "std::map<int, std::set<int>> h = {{1, {}}};", "h"),
        ("TEST(Suite, Test) { EXPECT_TRUE(x); }", "TEST_F(Suite, Test) {}", "Suite.Test"),
    ],
)
def test_two_files_with_one_name_are_found(
    make_tree: MakeTree, first: str, second: str, name: str
) -> None:
    files = {"src/comm/a.cc": local(first), "src/comm/b.cc": "\n" + local(second)}
    found = messages(make_tree, files)
    assert len(found) == 1, found
    assert found[0].startswith("src/comm/b.cc:4: ")
    assert f"'{name}' is defined in src/comm/a.cc:" in found[0]
    assert messages(make_tree, {"src/comm/b.cc": local("int other;")}) == []


def test_static_names_and_those_of_no_anonymous_namespace_count(make_tree: MakeTree) -> None:
    files = {
        "src/comm/a.cc": "namespace stratalog {\nstatic int f() { return 1; }\nstruct S {};\n}",
        "src/comm/b.cc": "namespace stratalog {\nint f() { return 2; }\nstruct S { int x; };\n}",
    }
    assert len(messages(make_tree, files)) == 2


def test_every_later_file_is_told(make_tree: MakeTree) -> None:
    files = {f"src/comm/{name}.cc": local("int f() { return 1; }") for name in "abc"}
    assert [m.split(":")[0] for m in messages(make_tree, files)] == [
        "src/comm/b.cc",
        "src/comm/c.cc",
    ]


def test_names_of_headers_that_a_room_may_include(make_tree: MakeTree) -> None:
    header = "namespace stratalog {\nconstexpr int kKiB = 1024;\nvoid tell(int x);\n}\n"
    files = {
        "src/base/units.h": header,
        "src/base/units.cc": "namespace stratalog {\nvoid tell(int x) {}\n}\n",
        "src/comm/a.cc": local("constexpr int kKiB = 1024;"),
        "tests/unit/comm/a_test.cc": local("void tell() {}"),
        "src/datalog/facts/a.cc": local("void tell() {}", "stratalog::datalog"),
    }
    found = messages(make_tree, files)
    assert [m.split(" is ")[0] for m in found] == [
        "src/comm/a.cc:3: 'kKiB'",
        "tests/unit/comm/a_test.cc:3: 'tell'",
    ]
    assert all("src/base/units.h" in message for message in found)


def test_what_may_be_shared(make_tree: MakeTree) -> None:
    shared = "using nlohmann::json;\nusing Bits = int;\nclass Forward;\nstatic_assert(1 < 2);"
    members = "int S::f() { return g; }\nS::S(int x) : x_{x}, y_(x) { h(); }\ntemplate <>\n"
    files = {
        "src/comm/a.cc": local(shared) + members + "struct std::hash<S> { int x; };",
        "src/comm/b.cc": local(shared) + members + "struct std::hash<S> { int x; };",
        # Overloads that headers declare; other rooms; other namespaces; programs of their own.
        "src/base/a.cc": "namespace stratalog {\nint f(int x) { return x; }\n}",
        "src/base/b.cc": "namespace stratalog {\nint f(char x) { return x; }\n}",
        "src/base/c.cc": local("int g() { return 1; }"),
        "src/datalog/facts/c.cc": local("int g() { return 1; }"),
        "src/datalog/facts/d.cc": local("int g() { return 1; }", "stratalog::datalog"),
        "tests/fault/a_test.cc": local("int g() { return 1; }"),
        "tests/fault/b_test.cc": local("int g() { return 1; }"),
    }
    assert messages(make_tree, files) == []


def test_files_that_see_mpi_are_one_library(make_tree: MakeTree) -> None:
    files = {
        "src/comm/mpi_a.cc": local("int f() { return 1; }"),
        "src/datalog/facts/hdf5_b.cc": local("int f() { return 1; }"),
        "src/datalog/facts/c.cc": local("int f() { return 1; }"),
    }
    found = messages(make_tree, files)
    assert len(found) == 1
    assert found[0].startswith("src/datalog/facts/hdf5_b.cc")


def test_what_follows_a_body_is_read() -> None:
    text = """
#define SOME(x) \\
  struct Macro { x }
extern "C" {
int from_c(void) { return 0; }
}
namespace {
Foo::Foo() : a_{1}, b_(2) { run(); }
constexpr auto kSquare = [](int x) { return x * x; };
const std::map<int, int> kTable = {{1, 2}, {3, 4}};
[[nodiscard]] bool is_odd(int x) noexcept { return (x & 1) != 0; }
alignas(64) std::array<int, 4> table{};
enum class Kind : std::uint8_t { kOne, kTwo };
int last = 1;
}  // namespace
namespace other { int inner(); }
typedef struct handle handle;
"""
    assert names(text) == {
        *("from_c", "kSquare", "kTable", "is_odd", "table", "Kind", "last", "inner"),
    }


def test_an_exception_lets_a_name_pass(make_tree: MakeTree) -> None:
    toml = '[unity_names]\n"src/comm/b.cc: f" = "compiled alone, see CMakeLists.txt"\n'
    files = {
        "src/comm/a.cc": local("int f() { return 1; }"),
        "src/comm/b.cc": local("int f() { return 1; }"),
        "devtools/exceptions.toml": toml,
    }
    assert messages(make_tree, files) == []
