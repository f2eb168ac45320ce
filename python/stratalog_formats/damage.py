# SPDX-License-Identifier: Apache-2.0
"""The errors of checkpoints, and the one that readers of files raise for bytes that cannot be."""

from __future__ import annotations


class CheckpointError(Exception):
    """What was asked for cannot be had from this checkpoint; the text says why."""


class DamagedError(CheckpointError):
    """The checkpoint is not what the format demands; the text says where and how."""


def demand(condition: bool, what: str) -> None:
    """Raises DamagedError(what) unless `condition` holds."""
    if not condition:
        raise DamagedError(what)
