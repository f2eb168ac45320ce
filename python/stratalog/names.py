# SPDX-License-Identifier: Apache-2.0
"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: object, known: Iterable[str]) -> str:
    """ " (did you mean 'edge'?)", or nothing. Capital letters do not count."""
    if not isinstance(name, str):
        return ""
    by_small_letters = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), by_small_letters, n=1, cutoff=0.7)
    return f" (did you mean {by_small_letters[found[0]]!r}?)" if found else ""
