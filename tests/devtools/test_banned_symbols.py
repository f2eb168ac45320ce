# SPDX-License-Identifier: Apache-2.0
"""The symbol check reads what nm prints, and sees through how a call was spelt in a real object."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from checks import banned_symbols
from checks.source_tree import Exceptions, SourceTree
from conftest import MakeTree


def judged(make_tree: MakeTree, room: str, listing: str, toml: str = "") -> list[str]:
    _, exceptions = make_tree({"devtools/exceptions.toml": toml})
    symbols = banned_symbols.undefined_symbols(listing)
    return [str(f) for f in banned_symbols.judge(room, symbols, exceptions)]


def line(member: str, symbol: str) -> str:
    return f"build/libstratalog_x.a:{member}.o:                 U {symbol}\n"


@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        ("MPI_Allreduce", "calls MPI"),
        ("PMPI_Send", "calls MPI"),
        ("H5Dwrite", "calls HDF5"),
        ("printf", "prints"),
        ("std::cout", "prints"),
        ("fmt::v9::vprint(fmt::v9::basic_string_view<char>)", "prints"),
        ("stderr@GLIBC_2.2.5", "prints"),
        ("exit", "ends the process"),
        ("abort", "ends the process"),
        ("getenv", "reads the environment"),
        ("fopen64", "opens files"),
        ("open", "opens files"),
        ("gzopen64", "opens files"),
        ("std::basic_ofstream<char, std::char_traits<char> >::open(char const*)", "opens files"),
        ("std::filesystem::__cxx11::path::_M_split_cmpts()", "opens files"),
        ("popen", "starts programs"),
        ("std::random_device::_M_getval()", "unseeded"),
    ],
)
def test_a_banned_symbol_is_found(make_tree: MakeTree, symbol: str, said: str) -> None:
    found = judged(make_tree, "route", line("plan.cc", symbol))
    assert len(found) == 1
    assert said in found[0]
    assert found[0].startswith("src/route/plan.cc")


@pytest.mark.parametrize(
    ("room", "member", "symbol"),
    [
        ("write", "posix_store.cc", "open64"),
        ("read", "open.cc", "open64"),
        ("parallel", "mpi_comm.cc", "MPI_Send"),
        ("parallel", "hdf5_store.cc", "H5Dwrite"),
        ("route", "plan.cc", "__assert_fail"),
        ("route", "plan.cc", "stratalog::exit_code(int)"),
        ("route", "plan.cc", "operator new(unsigned long)"),
    ],
)
def test_what_is_allowed_passes(make_tree: MakeTree, room: str, member: str, symbol: str) -> None:
    assert judged(make_tree, room, line(member, symbol)) == []


def test_an_mpi_file_may_not_call_hdf5(make_tree: MakeTree) -> None:
    assert "calls HDF5" in judged(make_tree, "parallel", line("mpi_comm.cc", "H5Fopen"))[0]


def test_exceptions_are_by_symbol(make_tree: MakeTree) -> None:
    toml = '[banned_symbols]\n"route/plan.cc: getenv" = "read once at start"'
    listing = line("plan.cc", "getenv") + line("plan.cc", "setenv")
    found = judged(make_tree, "route", listing, toml)
    assert len(found) == 1
    assert "(setenv)" in found[0]


def test_a_real_library_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (shutil.which("g++") and shutil.which("ar")):
        pytest.skip("needs g++ and ar")
    (tmp_path / "CMakeLists.txt").write_text("stratalog_room(route)\n", encoding="utf-8")
    source = '#include <cstdlib>\nint f() { return *std::getenv("X"); }\n'
    build = tmp_path / "build"
    build.mkdir()
    subprocess.run(
        ["g++", "-c", "-x", "c++", "-", "-o", str(build / "plan.cc.o")],
        input=source.encode(),
        check=True,
    )
    archive = build / "libstratalog_route.a"
    subprocess.run(["ar", "rc", str(archive), str(build / "plan.cc.o")], check=True)
    monkeypatch.setenv("STRATALOG_BUILD", str(build))
    tree = SourceTree.of(tmp_path)
    found = banned_symbols.check(tree, Exceptions(tree))
    assert [str(f) for f in found] == ["src/route/plan.cc: reads the environment (getenv)"]
