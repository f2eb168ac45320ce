# SPDX-License-Identifier: Apache-2.0
"""The errors of this package; two of them come from the readers of files."""

from __future__ import annotations

from stratalog_formats.damage import CheckpointError, DamagedError

__all__ = ["CheckpointError", "DamagedError", "NoCheckpointError", "NotInstalledError"]


class NoCheckpointError(CheckpointError):
    """The folder holds no checkpoint, or not the one that was named."""


class NotInstalledError(CheckpointError, ImportError):
    """A package that is needed for this, and only for this, is not installed."""
