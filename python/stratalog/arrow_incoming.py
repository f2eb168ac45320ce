# SPDX-License-Identifier: Apache-2.0
"""Arrow's arrays as columns for the library: by their own buffers, where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Which text each row has (None: its own), where texts begin and end, and their bytes.
Texts = tuple[npt.NDArray[np.int32] | None, npt.NDArray[np.int64], npt.NDArray[np.uint8]]


def is_table(data: Any) -> bool:
    """Or a record batch."""
    return hasattr(data, "column_names") and hasattr(data, "column")


def is_reader(data: Any) -> bool:
    """Of record batches, which come once."""
    return hasattr(data, "read_next_batch") and hasattr(data, "read_all")


def is_array(values: Any) -> bool:
    return hasattr(values, "type") and hasattr(values, "null_count")


def in_one_piece(values: Any) -> Any:
    """The same values; copied only if there are several pieces."""
    if not hasattr(values, "num_chunks"):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.unify_dictionaries().combine_chunks()


def null_count(array: Any) -> int:
    """Also of those that a dictionary holds, which Arrow does not count."""
    nulls = int(array.null_count)
    if hasattr(array, "dictionary") and array.dictionary.null_count:
        nulls += array.dictionary.is_null().take(array.indices).true_count
    return nulls


def numbers(array: Any) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


def texts(what: str, array: Any) -> Texts:
    import pyarrow

    if not hasattr(array, "dictionary"):
        return _large_texts(pyarrow, what, array)
    indices = array.indices.cast(pyarrow.int32()).to_numpy(zero_copy_only=False)
    _, offsets, text = _large_texts(pyarrow, what, array.dictionary)
    return indices, offsets, text


def _large_texts(pyarrow: Any, what: str, values: Any) -> Texts:
    try:
        array = values.cast(pyarrow.large_binary())
    except pyarrow.ArrowNotImplementedError:
        raise TypeError(f"{what}: takes Arrow's strings, not its {values.type}") from None
    offsets, text = array.buffers()[1:]
    whole = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    if len(whole) == 0:
        whole = np.zeros(1, dtype=np.int64)
    data = b"\0" if text is None or text.size == 0 else text
    return None, whole, np.frombuffer(data, dtype=np.uint8)
