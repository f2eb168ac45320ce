# SPDX-License-Identifier: Apache-2.0
"""Values that are missing, as numpy, pandas and Arrow have them. Relations have none.

NaN is a value to columns of floats, and to others what pandas and numpy have for want of a null;
None is nil to columns of structured values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stratalog import arrow_incoming
from stratalog.schema import Attribute


def demand_no_nulls(what: str, attribute: Attribute, values: Any) -> None:
    """ValueError if a column that is no mere list of Python's has some."""
    nulls = _null_count(attribute, values)
    if nulls:
        dtype = getattr(values, "dtype", None)
        is_nan = isinstance(dtype, np.dtype) and dtype.kind == "f" and not np.ma.isMA(values)
        words = "null (NaN)" if is_nan else "null"
        raise ValueError(f"{what}: {nulls} values are {words}; relations have none")


def _null_count(attribute: Attribute, values: Any) -> int:
    if arrow_incoming.is_array(values):
        return arrow_incoming.null_count(values)
    if isinstance(values, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(values).sum())
    dtype = getattr(values, "dtype", None)
    if callable(getattr(values, "null_count", None)):  # of polars
        return int(values.null_count())
    if hasattr(dtype, "na_value"):  # pandas' own types, not numpy's
        return int(values.isna().sum())
    if attribute.structure is not None or not isinstance(dtype, np.dtype):
        return 0
    array = np.asarray(values)
    if dtype.kind == "O":
        return sum(_is_missing(value, attribute) for value in array.flat)
    return int(np.isnan(array).sum()) if dtype.kind == "f" and attribute.kind != "float" else 0


def _is_missing(value: Any, attribute: Attribute) -> bool:
    if isinstance(value, (float, np.floating)):
        return attribute.kind != "float" and math.isnan(value)
    return value is None or type(value).__name__ in _MISSING


_MISSING = ("NAType", "NaTType")  # of pandas, which need not be there
