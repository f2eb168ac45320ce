# SPDX-License-Identifier: Apache-2.0
"""Values that go into the library and come out of it, one kind after another."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from stratalog import Record, Term

COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(
        lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ),
]


@pytest.mark.parametrize("copied", COPIES)
def test_copies_of_structured_values_are_equal(copied: Callable[[Any], Any]) -> None:
    for value in (Term("Pair", (1, Term("Red"))), Record(("a", Record((2.5, None))))):
        again = copied(value)
        assert type(again) is type(value)
        assert again == value
        assert str(again) == str(value)
