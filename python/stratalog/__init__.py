# SPDX-License-Identifier: Apache-2.0
"""Stratalog in Python: programs that run in this process, and checkpoints of other runs.

import stratalog

program = stratalog.Program(text)          # compiles it (libstratalog, docs/library.md)
program.insert("edge", array)              # shape (rows, columns)
program.run()
program["path"].to_numpy()

Checkpoints need no library, no MPI, numpy only:


checkpoint = stratalog.open("ck")          # the newest valid generation
path = checkpoint["path"]                  # nothing is read yet
path.to_numpy()                            # shape (rows, columns)
path[3].to_numpy()                         # tuples whose first column is 3
path.where({"to": slice(10, 20)})          # reads only blocks that can hold such tuples
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError as _PackageNotFoundError
from importlib.metadata import version as _version

from stratalog.checkpoint import Checkpoint, StoredGeneration, generations
from stratalog.checkpoint import open_checkpoint as open
from stratalog.errors import (
    CheckpointError,
    DamagedError,
    NoCheckpointError,
    NotInstalledError,
    ProgramError,
    RunError,
)
from stratalog.program import Program, RunSummary
from stratalog.schema import Attribute
from stratalog.table import Table
from stratalog.values import Record, Term

__all__ = [
    "Attribute",
    "Checkpoint",
    "CheckpointError",
    "DamagedError",
    "NoCheckpointError",
    "NotInstalledError",
    "Program",
    "ProgramError",
    "Record",
    "RunError",
    "RunSummary",
    "StoredGeneration",
    "Table",
    "Term",
    "generations",
    "open",
]


def _own_version() -> str:
    try:
        return _version("stratalog")
    except _PackageNotFoundError:  # in a clone, not installed: what the library says
        from stratalog.library import load

        try:
            return str(load().stratalog_version().decode())
        except NotInstalledError:
            return "unknown"


def __getattr__(name: str) -> str:
    if name == "__version__":
        return _own_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
