# SPDX-License-Identifier: Apache-2.0
"""The errors of this package: of checkpoints, two of which come from the readers of files, and of
programs."""

from __future__ import annotations

from stratalog_formats.damage import CheckpointError, DamagedError

__all__ = [
    "CheckpointError",
    "DamagedError",
    "NoCheckpointError",
    "NotInstalledError",
    "ProgramError",
    "RunError",
    "error_of",
]


class NoCheckpointError(CheckpointError):
    """The folder holds no checkpoint, or not the one that was named."""


class NotInstalledError(CheckpointError, ImportError):
    """A package that is needed for this, and only for this, is not installed."""


class RunError(Exception):
    """What the engine refused or could not do. `code` is its verdict, such as NotFound."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class ProgramError(RunError):
    """The program has errors: each with file, line, column and the line with a caret below."""


_CODES = (
    "OK",
    "Cancelled",
    "NotFound",
    "AlreadyExists",
    "InvalidArgument",
    "NotSupported",
    "NoSpace",
    "IoError",
    "Corruption",
    "RanksDisagree",
    "Internal",
)


def error_of(code: int, message: str) -> RunError:
    """The error for a verdict of the library."""
    name = _CODES[code] if 0 <= code < len(_CODES) else f"code {code}"
    return RunError(message or name, name)
