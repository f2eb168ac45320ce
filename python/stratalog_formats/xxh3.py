# SPDX-License-Identifier: Apache-2.0
"""XXH3 of more than 240 bytes, with numpy: all that the checkpoint format needs.

Written from the algorithm's description. For inputs of 240 bytes and less XXH3 has four other
algorithms; the format pads or words everything so that they never apply.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK = 0xFFFFFFFFFFFFFFFF
_PRIME32_1, _PRIME32_2, _PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME64_1, _PRIME64_2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
_PRIME64_3, _PRIME64_4 = 0x165667B19E3779F9, 0x85EBCA77C2B2AE63
_PRIME64_5 = 0x27D4EB2F165667C5
_START = (
    *(_PRIME32_3, _PRIME64_1, _PRIME64_2, _PRIME64_3),
    *(_PRIME64_4, _PRIME32_2, _PRIME64_5, _PRIME32_1),
)
_STRIPE, _BLOCK = 64, 1024
LONGEST_SHORT = 240  # bytes of inputs that have other algorithms
_SWAPPED = [1, 0, 3, 2, 5, 4, 7, 6]


def _words(data: Any) -> U64:
    return np.frombuffer(data, dtype="<u8").astype(np.uint64)


def _secret_for(seed: int) -> bytes:
    if seed == 0:
        return _SECRET
    words = [int(w) for w in _words(_SECRET)]
    for i in range(0, len(words), 2):
        words[i] = (words[i] + seed) & _MASK
        words[i + 1] = (words[i + 1] - seed) & _MASK
    return np.array(words, dtype="<u8").tobytes()


def _stripes(words: U64, keys: U64) -> U64:
    """What stripes (rows of 8 words) add to the accumulators, one row each."""
    mixed = words ^ keys
    product = (mixed & np.uint64(0xFFFFFFFF)) * (mixed >> np.uint64(32))
    added: U64 = product + words[..., _SWAPPED]
    return added


def _accumulate(data: memoryview, secret: bytes) -> U64:
    keys = _words(secret)
    key_rows = np.stack([keys[i : i + 8] for i in range(16)])
    scramble = _words(secret[128:192])
    acc: U64 = np.array(_START, dtype=np.uint64)
    blocks = (len(data) - 1) // _BLOCK
    if blocks:
        stripes = _words(data[: blocks * _BLOCK]).reshape(blocks, 16, 8)
        for row in _stripes(stripes, key_rows).sum(axis=1, dtype=np.uint64):
            acc = acc + row
            acc = (acc ^ (acc >> np.uint64(47)) ^ scramble) * np.uint64(_PRIME32_1)
    rest = (len(data) - 1 - blocks * _BLOCK) // _STRIPE
    if rest:
        begin = blocks * _BLOCK
        words = _words(data[begin : begin + rest * _STRIPE]).reshape(rest, 8)
        acc = acc + _stripes(words, key_rows[:rest]).sum(axis=0, dtype=np.uint64)
    last = _words(data[len(data) - _STRIPE :])
    return acc + _stripes(last, _words(secret[121:185]))


def _merge(acc: U64, secret: bytes, start: int) -> int:
    lanes = [int(a) for a in acc]
    keys = [int(w) for w in _words(secret)]
    result = start
    for i in range(0, 8, 2):
        product = (lanes[i] ^ keys[i]) * (lanes[i + 1] ^ keys[i + 1])
        result += (product & _MASK) ^ (product >> 64)
    result &= _MASK
    result ^= result >> 37
    result = result * 0x165667919E3779F9 & _MASK
    return result ^ (result >> 32)


def xxh3_64(data: bytes | memoryview, seed: int = 0) -> int:
    """64-bit XXH3 of more than 240 bytes."""
    if len(data) <= LONGEST_SHORT:
        raise ValueError("only inputs of more than 240 bytes")
    secret = _secret_for(seed)
    acc = _accumulate(memoryview(data), secret)
    return _merge(acc, secret[11:75], len(data) * _PRIME64_1 & _MASK)


def xxh3_128(data: bytes | memoryview) -> str:
    """128-bit XXH3 of more than 240 bytes, as `xxhsum -H2` prints it."""
    if len(data) <= LONGEST_SHORT:
        raise ValueError("only inputs of more than 240 bytes")
    acc = _accumulate(memoryview(data), _SECRET)
    low = _merge(acc, _SECRET[11:75], len(data) * _PRIME64_1 & _MASK)
    high = _merge(acc, _SECRET[117:181], ~(len(data) * _PRIME64_2) & _MASK)
    return f"{high:016x}{low:016x}"
