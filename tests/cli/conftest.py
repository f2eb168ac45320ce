# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the command, and inputs unpacked once for all tests. The Python package is that of this
tree, its library the one that lies beside the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from stopping_runs import StoppingRuns
from stratalog_runner import DATA, Stratalog, unpack_facts, unpack_graph

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["STRATALOG"]).resolve().parent
sys.path.insert(0, str(PROJECT / "python"))
os.environ.setdefault("STRATALOG_LIBRARY", str(BUILD / "libstratalog.so"))


@pytest.fixture(scope="session")
def stratalog() -> Stratalog:
    return Stratalog()


@pytest.fixture(scope="session")
def stopping(stratalog: Stratalog, tmp_path_factory: pytest.TempPathFactory) -> StoppingRuns:
    return StoppingRuns(stratalog, tmp_path_factory.mktemp("stopping"))


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root = tmp_path_factory.mktemp("graphs")

    def unpack(name: str) -> Path:
        folder = root / name
        return folder if folder.exists() else unpack_graph(name, folder)

    return unpack


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root = tmp_path_factory.mktemp("facts")

    def unpack(name: str) -> Path:
        folder = root / name
        if not folder.exists():
            unpack_facts(DATA / "facts" / f"{name}.tar.xz", root)
        return folder

    return unpack
