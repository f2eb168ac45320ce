# SPDX-License-Identifier: Apache-2.0
"""Arguments of the library's Program: what is taken, and that others are refused by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stratalog as package

FACTS = ".decl n(x: number)\nn(1)."
NUL = "before\0after"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": 3}, TypeError),
        ({"name": NUL}, ValueError),
        ({"include": 3}, TypeError),
        ({"include": b"folder"}, TypeError),
        ({"include": [3]}, TypeError),
        ({"include": [NUL]}, ValueError),
        ({"define": "NAME"}, TypeError),
        ({"define": {"NAME": "3"}}, TypeError),
        ({"define": 3}, TypeError),
        ({"define": [3]}, TypeError),
        ({"define": [NUL]}, ValueError),
        ({"libraries": [NUL]}, ValueError),
        ({"libraries": 3}, TypeError),
        ({"comm": 3}, TypeError),
    ],
)
def test_a_program_refuses_by_name(arguments: dict[str, Any], error: type[Exception]) -> None:
    (name,) = arguments
    with pytest.raises(error, match=f"^{name} "):
        package.Program(FACTS, **arguments)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        *(({name: NUL}, ValueError) for name in ("facts", "output", "checkpoint")),
        *(({name: b"folder"}, TypeError) for name in ("facts", "output", "checkpoint")),
        ({"facts": 3}, TypeError),
        ({"threads": 1.9}, TypeError),
        ({"threads": "2"}, TypeError),
        ({"memory_limit": 0.5}, TypeError),
        ({"memory_limit": "1G"}, TypeError),
        ({"memory_limit": None}, TypeError),
        ({"memory_limit": -1}, ValueError),
    ],
)
def test_a_run_refuses_by_name(
    arguments: dict[str, Any], error: type[Exception], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    program = package.Program(FACTS)
    program.run()
    table = program["n"]
    (name,) = arguments
    with pytest.raises(error, match=f"^{name} "):
        program.run(**arguments)
    assert list(table) == [(1,)], "nothing has been run again"
    assert list(tmp_path.iterdir()) == []


def test_one_folder_or_several(tmp_path: Path) -> None:
    (tmp_path / "facts.dl").write_text(FACTS)
    text = '.include "facts.dl"'
    for include in (str(tmp_path), tmp_path, [tmp_path], ("nowhere", str(tmp_path))):
        assert "n" in package.Program(text, include=include)


@pytest.mark.parametrize(
    ("rank", "size", "error", "words"),
    [
        (0, 0, ValueError, r"^comm: .* found rank 0 of 0$"),
        (5, 1, ValueError, r"^comm: .* found rank 5 of 1$"),
        (-1, 1, ValueError, r"^comm: .* found rank -1 of 1$"),
        ("0", 1, TypeError, r"^comm\.rank is a whole number, not '0'$"),
        (0, 1.0, TypeError, r"^comm\.size is a whole number, not 1\.0$"),
    ],
)
def test_a_group_has_its_rank(rank: Any, size: Any, error: type[Exception], words: str) -> None:
    methods = ("allreduce", "broadcast", "allgather", "alltoall")
    group = type("Group", (), {"rank": rank, "size": size, **dict.fromkeys(methods, print)})
    with pytest.raises(error, match=words):
        package.Program(FACTS, comm=group())
