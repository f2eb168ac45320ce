# SPDX-License-Identifier: Apache-2.0
"""Reads Stratalog checkpoints without Stratalog, as docs/formats/checkpoint.md describes them.

Verifies everything on the way: the store's and the manifest's hash, file sizes, every shard's
header and footer, every block's checksum, row counts and the relations' multiset hashes.

    python -m stratalog_formats.read_checkpoint DIR              what the newest generation holds
    python -m stratalog_formats.read_checkpoint DIR path.total   its tuples as TSV (cells)
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog_formats.xxh3 import xxh3_64, xxh3_128

Rows = npt.NDArray[np.uint64]
_MASK = 0xFFFFFFFFFFFFFFFF


class DamagedError(Exception):
    """The checkpoint is not what the format demands."""


def _demand(condition: bool, what: str) -> None:
    if not condition:
        raise DamagedError(what)


def splitmix64(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _MASK
    return x ^ (x >> 31)


def _splitmix64_array(x: Rows) -> Rows:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def multiset_hash(rows: Rows) -> str:
    """The relation's hash as the manifest has it; `rows` in declared column order."""
    low = np.ones(len(rows), dtype=np.uint64)
    high = np.ones(len(rows), dtype=np.uint64)
    for column in range(rows.shape[1]):
        seed = rows[:, column] | np.uint64(column << 32)
        low = low * (_splitmix64_array(seed) | np.uint64(1))
        high = high * (_splitmix64_array(seed ^ np.uint64(0xD6E8FEB86659FD93)) | np.uint64(1))
    return f"{int(high.sum(dtype=np.uint64)):016x}{int(low.sum(dtype=np.uint64)):016x}"


class _Reader:
    """Takes numbers from the front of a payload."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        _demand(self.at + count <= len(self.data), "a payload ends early")
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def signed(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)


def _words_to_elements(words: list[int], base: int) -> list[int]:
    return [base + 64 * i + b for i, w in enumerate(words) for b in range(64) if w >> b & 1]


def _read_set(reader: _Reader, kind: int, base: int, size: int) -> list[int]:
    if kind == 0:
        return [base]
    elements = [base]
    if kind in (1, 2):
        for _ in range(size - 1):
            gap = reader.take(1)[0] if kind == 1 else reader.varint()
            elements.append(elements[-1] + gap + 1)
        return elements
    if kind == 3:
        at = base
        elements = []
        for i in range(size):
            at += reader.varint() + 1 if i else 0
            length = reader.varint() + 1
            elements.extend(range(at, at + length))
            at += length
        return elements
    if kind == 4:
        return _words_to_elements(
            [int.from_bytes(reader.take(8), "little") for _ in range(size)], base
        )
    _demand(kind == 5, f"no such kind of fragment: {kind}")
    words = []
    for mask in reader.take(size):
        word = sum(reader.take(1)[0] << 8 * i for i in range(8) if mask >> i & 1)
        words.append(word)
    return _words_to_elements(words, base)


def decode_compact(
    payload: bytes, groups: int, prefix_cells: int
) -> Iterator[tuple[list[int], list[int]]]:
    """(prefix, elements) of every fragment of a block."""
    reader = _Reader(payload)
    prefix = [0] * prefix_cells
    base = size = 0
    for _ in range(groups):
        tag = reader.take(1)[0]
        kind, mode = tag & 7, tag >> 4 & 3
        if mode == 1:
            prefix[-1] += 1
        elif mode == 2:
            prefix[-1] += reader.varint()
        elif mode == 3:
            changed = reader.varint()
            prefix[changed] += reader.signed()
            for i in range(changed + 1, prefix_cells):
                prefix[i] = reader.varint()
        if not tag & 0x08:
            base += reader.signed()
        if kind and not tag & 0x40:
            size = reader.varint()
        yield list(prefix), _read_set(reader, kind, base, size)
    _demand(reader.at == len(payload), "bytes after the last fragment")


def _file_id(shard: dict[str, Any]) -> int:
    """The number that seeds a shard's checksums: of the relation where the shard was written."""
    return int(shard.get("image", shard["shard"]) + 1) << 32 | int(shard["rank"])


@dataclass
class Generation:
    """One checkpoint: its manifest, line by line."""

    directory: Path
    head: dict[str, Any]
    relations: list[dict[str, Any]] = field(default_factory=list)
    sections: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    shards: list[dict[str, Any]] = field(default_factory=list)

    def find(self, relation: str, version: str = "total") -> int:
        for i, r in enumerate(self.relations):
            if (r["relation"], r["version"]) == (relation, version):
                return i
        raise KeyError(f"{relation}.{version}")

    def origin(self, line: dict[str, Any]) -> dict[str, Any]:
        """What wrote a shard, section or file: this generation, or an older one behind a link."""
        return self.links[line["link"]] if "link" in line else self.head

    def path(self, line: dict[str, Any], file: str) -> Path:
        name: str = self.origin(line).get("link", self.directory.name)
        return self.directory.parent / name / file

    @staticmethod
    def _seed(nonce_text: str, file_id: int, block: int) -> int:
        nonce = int(nonce_text, 16)
        seed = splitmix64(splitmix64(nonce & _MASK) ^ (nonce >> 64))
        return splitmix64(splitmix64(seed ^ file_id) ^ block)

    def _stream(self, shard: dict[str, Any]) -> bytes:
        with self.path(shard, shard["file"]).open("rb") as stream:
            parts = []
            for offset, length in shard["extents"]:
                stream.seek(offset)
                parts.append(stream.read(length))
                _demand(len(parts[-1]) == length, f"{shard['file']} ends early")
        return b"".join(parts)

    def _blocks(
        self, data: bytes, file_id: int, line: dict[str, Any]
    ) -> Iterator[tuple[dict[str, int], bytes]]:
        """Verified blocks of the shard or section of a manifest's line: header and payload."""
        count, hash128, what = line["blocks"], line["hash"], line["file"]
        nonce = self.origin(line)["nonce"]
        footer_bytes = 24 * count + 64
        footer = data[-footer_bytes:]
        _demand(data[:8] == b"SLBSHARD", f"{what}: no shard")
        _demand(xxh3_128(data[:256] + footer) == hash128, f"{what}: header or footer")
        at = 256
        for number in range(count):
            length, groups = (int(v) for v in np.frombuffer(footer, "<u4", 2, 24 * number))
            rows, checksum = (int(v) for v in np.frombuffer(footer, "<u8", 2, 24 * number + 8))
            block = data[at : at + length]
            _demand(block[:8] == checksum.to_bytes(8, "little"), f"{what}: block {number}")
            found = xxh3_64(memoryview(block)[8:], self._seed(nonce, file_id, number))
            _demand(found == checksum, f"{what}: checksum of block {number}")
            _demand(block[8:12] == b"SBLK", f"{what}: magic of block {number}")
            words = [int(v) for v in np.frombuffer(block, "<u4", 7, 12)]
            header = {
                "encoding": words[0],
                "groups": groups,
                "prefix_cells": words[6],
                "rows": rows,
            }
            yield header, block[64 : 64 + words[4]]
            at += length
        _demand(at + footer_bytes == len(data), f"{what}: blocks do not fill the shard")

    def _inflated(self, shard: dict[str, Any], row_bytes: int) -> bytes:
        """The rows of a shard that lies in deflated chunks."""
        chunks = []
        for extent in shard["extents"]:
            chunks.append(zlib.decompress(self._stream({**shard, "extents": [extent]})))
            _demand(len(chunks[-1]) == shard["chunk_rows"] * row_bytes, "size of a chunk")
        begin = shard["first_row"] % shard["chunk_rows"] * row_bytes
        return b"".join(chunks)[begin : begin + shard["rows"] * row_bytes]

    def _hdf5_rows(self, shard: dict[str, Any], arity: int) -> Rows:
        before = 0
        if "chunk_rows" in shard:
            data = self._inflated(shard, arity * 8)
            before = shard["first_row"] % shard["chunk_rows"] * arity * 8
        else:
            data = self._stream(shard)
        file_id = _file_id(shard)
        nonce = self.origin(shard)["nonce"]
        step = shard["piece_rows"] * arity * 8
        for number, expected in enumerate(shard["pieces"]):
            piece = data[max(0, number * step - before) : (number + 1) * step - before]
            padded = piece + bytes(-len(piece) % 256)
            found = xxh3_64(padded, self._seed(nonce, file_id, number))
            _demand(f"{found:016x}" == expected, f"{shard['file']}: piece {number}")
        return np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, arity)

    def _shard_rows(self, shard: dict[str, Any], relation: dict[str, Any]) -> Rows:
        arity, order = relation["arity"], relation["columns"]
        if self.origin(shard)["mode"] == "hdf5":
            return self._hdf5_rows(shard, arity)
        data = self._stream(shard)
        parts = [np.empty((0, arity), dtype=np.uint64)]
        for header, payload in self._blocks(data, _file_id(shard), shard):
            if header["encoding"] == 1:
                parts.append(np.frombuffer(payload, "<u8").astype(np.uint64).reshape(-1, arity))
                continue
            for prefix, elements in decode_compact(
                payload, header["groups"], header["prefix_cells"]
            ):
                part = np.empty((len(elements), arity), dtype=np.uint64)
                part[:, order[:-1]] = prefix
                part[:, order[-1]] = elements
                parts.append(part)
        rows = np.concatenate(parts)
        _demand(len(rows) == shard["rows"], f"{shard['file']}: number of rows")
        return rows

    def rows(self, index: int) -> Rows:
        """All tuples of a relation as cells, shape (rows, arity), declared column order."""
        relation = self.relations[index]
        if relation["arity"] == 0:
            return np.empty((relation["rows"], 0), dtype=np.uint64)
        shards = [s for s in self.shards if s["shard"] == index]
        empty = np.empty((0, relation["arity"]), dtype=np.uint64)
        rows = np.concatenate([empty, *(self._shard_rows(s, relation) for s in shards)])
        _demand(len(rows) == relation["rows"], f"{relation['relation']}: number of rows")
        _demand(multiset_hash(rows) == relation["hash"], f"{relation['relation']}: multiset hash")
        return rows

    def section(self, name: str) -> bytes:
        index = [s["section"] for s in self.sections].index(name)
        entry = self.sections[index]
        data = self.path(entry, entry["file"]).read_bytes()
        file_id = 0xFFFFFFFF << 32 | entry.get("image", index)
        blocks = self._blocks(data, file_id, entry)
        content = b"".join(payload for _, payload in blocks)
        _demand(len(content) == entry["bytes"], f"section {name}: length")
        return content


def read_store_id(directory: Path) -> str:
    text = (directory / "STORE").read_text()
    body, _, tail = text.rpartition("xxh3_128 ")
    _demand(text.startswith("stratalog checkpoint store\n"), "STORE: magic")
    _demand(tail == xxh3_128(body.encode()) + "\n", "STORE: hash")
    found = re.search(r"^version (\d+)\nid ([0-9a-f]{32})$", body, re.MULTILINE)
    _demand(found is not None and int(found[1]) == 1, "STORE: version or id")
    assert found is not None
    return found[2]


def read_generation(directory: Path, store_id: str) -> Generation:
    """Reads and verifies a manifest and the sizes of its files."""
    text = (directory / "MANIFEST").read_bytes()
    _demand(text.endswith(b"\n"), "MANIFEST: its end")
    body, _, tail = text[:-1].rpartition(b"\n")
    body += b"\n"
    _demand(json.loads(tail) == {"xxh3_128": xxh3_128(body)}, "MANIFEST: hash")
    lines = [json.loads(line) for line in body.splitlines()]
    head = lines[0]
    _demand(head["stratalog"] == "manifest" and head["version"] == 1, "MANIFEST: version")
    unknown = set(head["critical"]) - {"links", "deflated-chunks"}
    _demand(not unknown, "MANIFEST: a feature this reader does not know")
    _demand(head["store"] == store_id, "MANIFEST: of another store")
    name = f"gen-{head['epoch']:08x}-{head['sequence']:010d}"
    _demand(directory.name == name, "MANIFEST: of another generation")
    generation = Generation(directory, head)
    at = 1
    for part in ("relations", "sections", "links", "files", "shards"):
        count = head.get(part, 0)
        getattr(generation, part).extend(lines[at : at + count])
        at += count
    _demand(at == len(lines), "MANIFEST: number of lines")
    for link in generation.links:
        _demand(link["link"][:13] == name[:13] and link["link"] < name, "MANIFEST: a strange link")
    for file in generation.files:
        size = generation.path(file, file["data"]).stat().st_size
        _demand(size == file["bytes"], f"{file['data']}: size")
    return generation


def newest_generation(store: Path) -> Generation:
    """The newest generation whose manifest and sizes are good; by number, never by time."""
    store_id = read_store_id(store)
    names = [p.name for p in store.iterdir() if re.fullmatch(r"gen-[0-9a-f]{8}-\d{10}", p.name)]
    for name in sorted(names, key=lambda n: (int(n[4:12], 16), int(n[13:])), reverse=True):
        if not (store / name / "MANIFEST").exists():
            continue
        try:
            return read_generation(store / name, store_id)
        except (DamagedError, OSError, ValueError, KeyError) as reason:
            print(f"{name}: {reason}", file=sys.stderr)
    raise DamagedError(f"no valid generation in {store}")


def main(arguments: list[str]) -> int:
    generation = newest_generation(Path(arguments[0]))
    if len(arguments) > 1:
        relation, _, version = arguments[1].rpartition(".")
        for row in generation.rows(generation.find(relation, version)):
            print(*row, sep="\t")
        return 0
    head = generation.head
    print(f"{generation.directory.name}: mode {head['mode']}, {head['ranks']} ranks")
    for link in generation.links:
        print(f"  builds on {link['link']}")
    for i, entry in enumerate(generation.relations):
        rows = generation.rows(i)
        print(f"  {entry['relation']}.{entry['version']}: {len(rows)} rows, verified")
    for entry in generation.sections:
        content = generation.section(entry["section"])
        print(f"  section {entry['section']}: {len(content)} bytes, verified")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
