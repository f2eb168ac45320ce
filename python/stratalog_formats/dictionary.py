# SPDX-License-Identifier: Apache-2.0
"""What cells stand for: the sections `dictionary` and `records` of a checkpoint.

Follows docs/formats/facts.md, section 4. Numbers are decoded by numpy, symbols and records one at a
time and only when asked for.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from stratalog_formats.damage import demand
from stratalog_formats.xxh3 import LONGEST_SHORT, xxh3_64

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

WIDE_BASE = 1 << 31
NEGATIVE_BASE = WIDE_BASE - (1 << 24)  # cells from here to WIDE_BASE are -2^24 .. -1
_IMAGE = struct.Struct("<8s6Q")
_RECORDS = struct.Struct("<8s4Q")


def _check_payload(payload: bytes, expected: int, what: str) -> None:
    if len(payload) > LONGEST_SHORT:  # the section's own blocks have checksums anyway
        demand(xxh3_64(payload) == expected, f"{what}: checksum")


class Dictionary:
    """Symbols and wide numbers by their numbers."""

    def __init__(self, data: bytes) -> None:
        """`data`: one image or several that continue each other. DamagedError if it cannot be."""
        texts = []
        lengths = [np.zeros(1, dtype=np.int64)]
        wides = []
        symbols = wide_count = at = 0
        while at < len(data):
            demand(at + _IMAGE.size <= len(data), "dictionary: its header is cut")
            magic, first, count, text, first_wide, more, checksum = _IMAGE.unpack_from(data, at)
            demand(magic == b"SLDICT01", "dictionary: magic bytes")
            demand(first == symbols and first_wide == wide_count, "dictionary: a gap")
            begin = at + _IMAGE.size
            size = 4 * count + text + 8 * more
            demand(size <= len(data) - begin, "dictionary: it ends early")
            _check_payload(data[begin : begin + size], checksum, "dictionary")
            lengths.append(np.frombuffer(data, "<u4", count, begin).astype(np.int64))
            demand(int(lengths[-1].sum()) == text, "dictionary: lengths of symbols")
            begin += 4 * count
            texts.append(data[begin : begin + text])
            wides.append(np.frombuffer(data, "<u8", more, begin + text).astype(np.uint64))
            symbols += count
            wide_count += more
            at = begin + text + 8 * more
        self._text = b"".join(texts)
        self._ends = np.cumsum(np.concatenate(lengths))
        self._wides: U64 = np.concatenate([np.empty(0, dtype=np.uint64), *wides])
        self._numbers: dict[bytes, int] | None = None

    @property
    def symbol_count(self) -> int:
        return len(self._ends) - 1

    @property
    def wides(self) -> U64:
        """The 64-bit patterns of wide numbers; number i has the cell WIDE_BASE + i."""
        return self._wides

    def symbol(self, cell: int) -> bytes:
        demand(0 <= cell < self.symbol_count, f"there is no symbol {cell}")
        return self._text[int(self._ends[cell]) : int(self._ends[cell + 1])]

    def symbol_cell(self, text: bytes) -> int | None:
        """The cell of a symbol, None if no relation can hold it."""
        if self._numbers is None:
            self._numbers = {self.symbol(i): i for i in range(self.symbol_count)}
        return self._numbers.get(text)

    def bits(self, cells: U32) -> U64:
        """The 64-bit patterns of cells of number, unsigned or float columns."""
        wide = cells >= np.uint32(WIDE_BASE)
        negative = (cells >= np.uint32(NEGATIVE_BASE)) & ~wide
        bits = cells.astype(np.uint64)
        bits[negative] -= np.uint64(WIDE_BASE)  # modulo 2^64
        if wide.any():
            numbers = cells[wide] - np.uint32(WIDE_BASE)
            demand(int(numbers.max()) < len(self._wides), "a number that is not in the dictionary")
            bits[wide] = self._wides[numbers]
        return bits

    def number_cell(self, bits: int) -> int | None:
        """The cell of a 64-bit pattern, None if no relation can hold it."""
        if bits < NEGATIVE_BASE:
            return bits
        if bits >= (1 << 64) - (1 << 24):
            return bits + WIDE_BASE - (1 << 64)
        found = np.flatnonzero(self._wides == np.uint64(bits))
        return WIDE_BASE + int(found[0]) if len(found) else None


class Records:
    """Records by their cells: number + 1; 0 is nil."""

    def __init__(self, data: bytes) -> None:
        """`data`: one image or several that continue each other. DamagedError if it cannot be."""
        self._sizes: list[int] = []  # of shapes
        self._words: list[int] = []
        self._starts: list[int] = []  # of records, among the words
        at = self._add_image(data, 0)
        while at < len(data):
            at = self._add_image(data, at)

    def _add_image(self, data: bytes, at: int) -> int:
        """Adds the image at `at`; returns where it ends."""
        demand(len(data) - at >= _RECORDS.size, "records: the header is cut")
        magic, shape_words, count, words, checksum = _RECORDS.unpack_from(data, at)
        demand(magic == b"SLRECS01", "records: magic bytes")
        begin = at + _RECORDS.size
        end = begin + 4 * (shape_words + words)
        demand(end <= len(data), "records: length")
        payload = data[begin:end]
        _check_payload(payload, checksum, "records")
        everything = np.frombuffer(payload, "<u4").tolist()
        shape_at = 0
        while shape_at < shape_words:
            self._sizes.append(everything[shape_at])
            shape_at += 1 + self._sizes[-1]
        demand(shape_at == shape_words, "records: shapes")
        word_at = len(self._words)
        self._words += everything[shape_words:]
        for _ in range(count):
            known = word_at < len(self._words) and self._words[word_at] < len(self._sizes)
            demand(known, "records: a shape")
            self._starts.append(word_at)
            word_at += 1 + self._sizes[self._words[word_at]]
        demand(word_at == len(self._words), "records: words that belong to no record")
        return int(end)

    def __len__(self) -> int:
        return len(self._starts)

    def shape(self, cell: int) -> int:
        """The number of a record's shape. Requires a cell that is not nil."""
        demand(0 < cell <= len(self._starts), f"there is no record {cell}")
        shape: int = self._words[self._starts[cell - 1]]
        return shape

    def cells(self, cell: int) -> list[int]:
        """The cells of a record's fields. Requires a cell that is not nil."""
        size = self._sizes[self.shape(cell)]
        at = self._starts[cell - 1] + 1
        cells: list[int] = self._words[at : at + size]
        return cells
