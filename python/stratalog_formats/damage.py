# SPDX-License-Identifier: Apache-2.0
"""The error that all readers of files raise for bytes that are not what the format demands."""

from __future__ import annotations


class DamagedError(Exception):
    """The checkpoint is not what the format demands; the text says where and how."""


def demand(condition: bool, what: str) -> None:
    """Raises DamagedError(what) unless `condition` holds."""
    if not condition:
        raise DamagedError(what)
