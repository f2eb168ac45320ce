# SPDX-License-Identifier: Apache-2.0
"""Program analyses and queries over symbols: exact sizes, equal output at any rank count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stratalog_runner import EXPECTED, PROGRAMS, RANK_COUNTS, Stratalog

Unpack = Callable[[str], Path]


@pytest.mark.parametrize("ranks", (None, 1, 2, 3, 4, 7))
@pytest.mark.parametrize("name", tuple(EXPECTED["borrow_check"]))
def test_borrow_check(
    name: str, ranks: int | None, stratalog: Stratalog, facts: Unpack, tmp_path: Path
) -> None:
    if ranks not in (None, 2) and name != "vec-push-ref_foo1":
        pytest.skip("all functions at two rank counts, one function at all")
    folder = facts("polonius_small") / name
    finished = stratalog(
        "run", PROGRAMS / "borrow_check.dl", "-F", folder, "-D", tmp_path, ranks=ranks
    )
    assert finished.sizes() == EXPECTED["borrow_check"][name]
    rows = (tmp_path / "subset.csv").read_text().splitlines()
    assert len(rows) == EXPECTED["borrow_check"][name]["subset"]
    assert rows == sorted(rows)


@pytest.mark.parametrize("ranks", (None, 2, 3))
@pytest.mark.parametrize("name", tuple(EXPECTED["programs"]))
def test_programs_on_symbols(
    name: str, ranks: int | None, stratalog: Stratalog, facts: Unpack, tmp_path: Path
) -> None:
    expected = EXPECTED["programs"][name]
    folder = facts(expected["facts"])
    finished = stratalog("run", PROGRAMS / f"{name}.dl", "-F", folder, "-D", tmp_path, ranks=ranks)
    assert finished.sizes() == expected["sizes"]


def test_output_has_the_same_bytes_at_any_number_of_ranks(
    stratalog: Stratalog, facts: Unpack, tmp_path: Path
) -> None:
    outputs = set()
    for ranks in (None, *RANK_COUNTS):
        out = tmp_path / str(ranks)
        folder = facts("lubm")
        stratalog("run", PROGRAMS / "university.dl", "-F", folder, "-D", out, ranks=ranks)
        outputs.add((out / "triangle.csv").read_bytes())
    assert len(outputs) == 1
