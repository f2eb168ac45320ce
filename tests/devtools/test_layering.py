# SPDX-License-Identifier: Apache-2.0
"""The include check finds every way around the layering, and lets the allowed ways pass."""

from __future__ import annotations

import pytest
from checks import layering
from conftest import MakeTree

CMAKE = """
stratalog_room(base)
stratalog_room(comm NEEDS base)
stratalog_room(language DIR datalog/language NEEDS base)
"""


def messages(make_tree: MakeTree, files: dict[str, str]) -> list[str]:
    tree, exceptions = make_tree({"CMakeLists.txt": CMAKE, "src/base/status.h": "", **files})
    return [str(f) for f in layering.check(tree, exceptions)]


def test_rooms_are_read_from_cmake() -> None:
    rooms = layering.read_rooms(CMAKE)
    assert rooms["language"].folder == "datalog/language"
    assert rooms["comm"].needs == {"base"}
    assert layering.room_of("datalog/language/parser.h", rooms) == rooms["language"]


def test_a_needed_room_and_the_own_room_may_be_included(make_tree: MakeTree) -> None:
    text = '#include "comm/comm.h"\n#include "base/status.h"\n#include <vector>\n'
    assert messages(make_tree, {"src/comm/comm.cc": text}) == []


@pytest.mark.parametrize(
    ("path", "line", "said"),
    [
        ("src/base/a.cc", '#include "comm/comm.h"', "does not list under NEEDS"),
        ("src/base/a.cc", '#  include "comm/comm.h"', "does not list under NEEDS"),
        ("src/base/a.cc", "#include <mpi.h>", "includes mpi.h"),
        ("src/comm/a.h", '#include "mpi.h"', "includes mpi.h"),
        ("src/base/a.cc", "#include <hdf5.h>", "includes hdf5.h"),
        ("src/comm/a.cc", '#include "comm/mpi_comm.h"', "sees MPI or HDF5"),
        ("src/base/a.cc", '#include "status.h"', "write the path from src/"),
        ("src/base/a.cc", '#include "cli/main.h"', "includes the command line"),
        ("src/base/a.cc", '#include "nowhere/x.h"', "is in no room"),
        ("src/nowhere/a.cc", "", "is in no room"),
        ("src/comm/mpi_comm.cc", "Comm c(MPI_COMM_WORLD);", "COMM_WORLD"),
        ("src/cli/main.cc", "#include <mpi.h>", "includes mpi.h"),
        ("src/cli/main.cc", '#include "comm/mpi_comm.h"', "sees MPI or HDF5"),
    ],
)
def test_a_forbidden_include_is_found(make_tree: MakeTree, path: str, line: str, said: str) -> None:
    found = messages(make_tree, {path: f"// x\n{line}\n"})
    assert len(found) == 1
    assert said in found[0]
    assert found[0].startswith(path)


def test_parallel_files_and_the_module_of_the_command_may_see_mpi(make_tree: MakeTree) -> None:
    files = {
        "src/comm/mpi_comm.cc": '#include <mpi.h>\n#include "comm/mpi_comm.h"\n',
        "src/cli/mpi_module.cc": '#include <mpi.h>\n#include "comm/mpi_comm.h"\nMPI_COMM_WORLD',
    }
    assert messages(make_tree, files) == []


def test_a_room_may_not_need_a_later_one(make_tree: MakeTree) -> None:
    tree, exceptions = make_tree(
        {"CMakeLists.txt": "stratalog_room(base NEEDS comm)\nstratalog_room(comm)\n"}
    )
    assert "not listed before it" in str(layering.check(tree, exceptions)[0])


def test_an_empty_table_is_no_pass(make_tree: MakeTree) -> None:
    tree, exceptions = make_tree({"CMakeLists.txt": "project(x)"})
    assert "unchecked" in str(layering.check(tree, exceptions)[0])


def test_an_exception_with_a_reason_lets_one_include_pass(make_tree: MakeTree) -> None:
    files = {
        "src/base/a.cc": '#include "comm/comm.h"\n',
        "devtools/exceptions.toml": '[layering]\n"src/base/a.cc -> comm/comm.h" = "until it moves"',
    }
    assert messages(make_tree, files) == []
