# SPDX-License-Identifier: Apache-2.0
"""Reads Stratalog's checkpoints: no MPI, no Stratalog, numpy only.

import stratalog

checkpoint = stratalog.open("ck")          # the newest valid generation
path = checkpoint["path"]                  # nothing is read yet
path.to_numpy()                            # shape (rows, columns)
path[3].to_numpy()                         # tuples whose first column is 3
path.where({"to": slice(10, 20)})          # reads only blocks that can hold such tuples
"""

from __future__ import annotations

from stratalog.checkpoint import Checkpoint, StoredGeneration, generations
from stratalog.checkpoint import open_checkpoint as open
from stratalog.errors import CheckpointError, DamagedError, NoCheckpointError, NotInstalledError
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
    "Record",
    "StoredGeneration",
    "Table",
    "Term",
    "generations",
    "open",
]
