# SPDX-License-Identifier: Apache-2.0
"""Reads Stratalog checkpoints without Stratalog, as docs/formats/checkpoint.md describes them.

Verifies everything on the way: the store's and the manifest's hash, file sizes, every shard's
header and footer, every block's checksum, row counts and the relations' multiset hashes; what
lies between the tuples (the frames of HDF5 files, zeros of others) where it is asked to.

    python -m stratalog_formats.read_checkpoint DIR              what the newest generation holds
    python -m stratalog_formats.read_checkpoint DIR path.total   its tuples as TSV (cells)

Blocks are read one at a time, and only those that a caller wants; the package `stratalog` builds
tables of values on this.
"""

from __future__ import annotations

import json
import re
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from stratalog_formats.compact import decode_compact
from stratalog_formats.damage import CheckpointError, DamagedError, demand
from stratalog_formats.file_streams import ShardStreams
from stratalog_formats.pool import decode_pool, decode_run_pool
from stratalog_formats.streams import decode_streams
from stratalog_formats.xxh3 import LONGEST_SHORT, xxh3_64, xxh3_128

Rows = npt.NDArray[np.uint64]
U32 = npt.NDArray[np.uint32]
Zone = npt.NDArray[np.uint32]  # shape (arity, 2): lowest and highest cell of each declared column
_MASK = 0xFFFFFFFFFFFFFFFF
_FEATURES = {
    "links",
    "deflated-chunks",
    "streams",
    "copies",
    "pools",
    "run-pools",
    "section-pieces",
}
# From byte 8 of a block: magic, encoding, file id, number, payload, groups, prefix cells, rows.
_BLOCK_HEADER = struct.Struct("<4sIQIIIIQ")


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


def _file_id(shard: dict[str, Any]) -> int:
    """The number that seeds a shard's checksums: of the relation where the shard was written."""
    return int(shard.get("image", shard["shard"]) + 1) << 32 | int(shard["rank"])


def _seed(nonce_text: str, file_id: int, block: int) -> int:
    nonce = int(nonce_text, 16)
    seed = splitmix64(splitmix64(nonce & _MASK) ^ (nonce >> 64))
    return splitmix64(splitmix64(seed ^ file_id) ^ block)


@dataclass
class BlockHeader:
    encoding: int
    groups: int
    prefix_cells: int
    rows: int


def _to_cells(stored: Rows) -> list[U32]:
    rows = stored.astype(np.uint64)
    demand(not bool((rows >> np.uint64(32)).any()), "a row with more than 32 bits in a cell")
    return list(np.ascontiguousarray(rows.T).astype(np.uint32))


def decode_block(header: BlockHeader, payload: bytes, order: list[int]) -> list[U32]:
    """The columns of a block, as declared; `order` is the relation's group column order."""
    arity = len(order)
    demand(header.prefix_cells == arity - 1, "a block of another arity")
    if header.encoding == 1:
        demand(len(payload) == header.rows * arity * 8, "another number of rows")
        return _to_cells(np.frombuffer(payload, "<u8").reshape(-1, arity))
    if header.encoding == 3:
        grouped = decode_streams(payload, arity, header.rows)
    elif header.encoding == 5:
        grouped = decode_pool(payload, header.groups, arity, header.rows)
    elif header.encoding == 6:
        grouped = decode_run_pool(payload, header.groups, arity, header.rows)
    else:
        demand(header.encoding == 0, f"no tuples in encoding {header.encoding}")
        grouped = decode_compact(payload, header.groups, arity, header.rows)
    return _as_declared(grouped, order)


def _as_declared(grouped: list[U32], order: list[int]) -> list[U32]:
    columns = list(grouped)
    for column, cells in zip(order, grouped, strict=True):
        columns[column] = cells
    return columns


class _Stream:
    """The bytes of a shard or section, one extent after another."""

    def __init__(self, file: BinaryIO, extents: list[list[int]]) -> None:
        self._file = file
        self._extents = extents
        self.size = sum(length for _, length in extents)

    def read(self, offset: int, length: int) -> bytes:
        parts = []
        for begin, extent in self._extents:
            if offset < extent and length > 0:
                self._file.seek(begin + offset)
                parts.append(self._file.read(min(length, extent - offset)))
                demand(len(parts[-1]) == min(length, extent - offset), "the file ends early")
                length -= len(parts[-1])
            offset = max(0, offset - extent)
        demand(length == 0, "its end is missing")
        return b"".join(parts)


def _read_blocks(
    stream: _Stream,
    file_id: int,
    nonce: str,
    line: dict[str, Any],
    wanted: Callable[[int], bool],
) -> Iterator[tuple[int, BlockHeader, bytes]]:
    """Number, header and payload of the wanted blocks, verified, of a manifest's line."""
    count = line["blocks"]
    footer_bytes = 24 * count + 64
    demand(stream.size >= 256 + footer_bytes, "too short for its blocks")
    head = stream.read(0, 256)
    footer = stream.read(stream.size - footer_bytes, footer_bytes)
    demand(head[:8] == b"SLBSHARD", "no shard")
    demand(xxh3_128(head + footer) == line["hash"], "header or footer: hash")
    entries = np.frombuffer(footer, np.dtype("<u4,<u4,<u8,<u8"), count)
    at = 256
    for number, (length, groups, rows, checksum) in enumerate(entries.tolist()):
        if wanted(number):
            block = stream.read(at, length)
            demand(len(block) >= 256, f"block {number}: too short")
            demand(block[:8] == checksum.to_bytes(8, "little"), f"block {number}: checksum")
            found = xxh3_64(memoryview(block)[8:], _seed(nonce, file_id, number))
            demand(found == checksum, f"block {number}: checksum")
            magic, encoding, owner, place, size, *rest = _BLOCK_HEADER.unpack_from(block, 8)
            demand(magic == b"SBLK" and owner == file_id and place == number, f"block {number}")
            demand(64 + size <= length and rest[0] == groups and rest[2] == rows, "a block's sizes")
            yield number, BlockHeader(encoding, groups, rest[1], rows), block[64 : 64 + size]
        at += length
    demand(at + footer_bytes == stream.size, "blocks do not fill it")


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

    def _pieces(
        self,
        stream: _Stream,
        shard: dict[str, Any],
        arity: int,
        wanted: Callable[[int], bool],
    ) -> Iterator[tuple[int, list[U32]]]:
        """Plain rows, as HDF5 files have them: a checksum for every piece."""
        row_bytes = arity * 8
        deflated = "chunk_rows" in shard
        before = shard["first_row"] % shard["chunk_rows"] if deflated else 0
        nonce, file_id = self.origin(shard)["nonce"], _file_id(shard)
        step = shard["piece_rows"]
        at = 0
        for number, expected in enumerate(shard["pieces"]):
            first = max(0, number * step - before)
            rows = min(shard["rows"], (number + 1) * step - before) - first
            demand(rows > 0, "pieces without rows")
            length = shard["extents"][number][1] if deflated else 0
            at += length
            if not wanted(number):
                continue
            if deflated:
                chunk = zlib.decompress(stream.read(at - length, length))
                demand(len(chunk) == step * row_bytes, "a chunk's size")
                begin = (first + before) % step * row_bytes
                piece = chunk[begin : begin + rows * row_bytes]
            else:
                piece = stream.read(first * row_bytes, rows * row_bytes)
            found = xxh3_64(piece + bytes(-len(piece) % 256), _seed(nonce, file_id, number))
            demand(f"{found:016x}" == expected, f"piece {number}: checksum")
            yield number, _to_cells(np.frombuffer(piece, "<u8").reshape(-1, arity))

    def _streams(self, stream: _Stream, shard: dict[str, Any], arity: int) -> ShardStreams:
        image = int(shard.get("image", shard["shard"]))
        nonce = self.origin(shard)["nonce"]

        def seed(number: int, chunk: int) -> int:
            return _seed(nonce, (image + 1) << 32 | 1 << 31 | number, chunk)

        return ShardStreams(stream.read, shard, arity, seed)

    def column(self, index: int, column: int) -> Iterator[U32]:
        """One declared column of a relation, block by block. In mode hdf5-streams only the streams
        that it needs are read, elsewhere all of each block."""
        relation = self.relations[index]
        level = relation["columns"].index(column)
        for shard in self.shards:
            if shard["shard"] != index:
                continue
            if self.origin(shard)["mode"] != "hdf5-streams":
                for columns in self._shard_blocks(shard, relation, None):
                    yield columns[column]
                continue
            path = self.path(shard, shard["file"])
            with path.open("rb") as file, _at(path):
                stream = _Stream(file, shard["extents"])
                streams = self._streams(stream, shard, relation["arity"])
                rows = 0
                for number in range(shard["blocks"]):
                    cells = streams.column(number, level)
                    rows += len(cells)
                    yield cells
                demand(rows == shard["rows"], "number of rows")

    def _shard_blocks(
        self, shard: dict[str, Any], relation: dict[str, Any], wanted: Callable[[Zone], bool] | None
    ) -> Iterator[list[U32]]:
        arity, order = relation["arity"], relation["columns"]
        path = self.path(shard, shard["file"])
        zones = None
        if "zones" in shard:
            zones = np.array(shard["zones"], dtype=np.uint32).reshape(-1, arity, 2)
            demand(len(zones) == shard["blocks"], f"{path}: number of zones")
        rows = 0
        is_wanted = (
            (lambda _: True) if wanted is None or zones is None else (lambda n: wanted(zones[n]))
        )
        with path.open("rb") as file, _at(path):
            stream = _Stream(file, shard["extents"])
            found: Iterator[tuple[int, list[U32]]]
            mode = self.origin(shard)["mode"]
            if mode == "hdf5":
                found = self._pieces(stream, shard, arity, is_wanted)
            elif mode == "hdf5-streams":
                streams = self._streams(stream, shard, arity)
                numbers = filter(is_wanted, range(shard["blocks"]))
                found = ((n, _as_declared(streams.columns(n), order)) for n in numbers)
            else:
                nonce = self.origin(shard)["nonce"]
                blocks = _read_blocks(stream, _file_id(shard), nonce, shard, is_wanted)
                found = ((n, decode_block(header, payload, order)) for n, header, payload in blocks)
            for number, columns in found:
                if zones is not None:
                    ends = np.array([[c.min(), c.max()] for c in columns])
                    demand(bool((ends == zones[number]).all()), f"zone of block {number}")
                rows += len(columns[0])
                yield columns
            demand(wanted is not None or rows == shard["rows"], "number of rows")

    def blocks(
        self, index: int, wanted: Callable[[Zone], bool] | None = None
    ) -> Iterator[list[U32]]:
        """The tuples of a relation (arity > 0) block by block: columns of cells, as declared.

        `wanted` looks at a block's zone and says whether to read it; blocks without zones are read.
        """
        relation = self.relations[index]
        for shard in self.shards:
            if shard["shard"] == index:
                yield from self._shard_blocks(shard, relation, wanted)

    def rows(self, index: int) -> Rows:
        """All tuples of a relation as cells, shape (rows, arity), declared column order."""
        relation = self.relations[index]
        if relation["arity"] == 0:
            return np.empty((relation["rows"], 0), dtype=np.uint64)
        parts = [np.stack(columns, axis=1).astype(np.uint64) for columns in self.blocks(index)]
        rows = np.concatenate([np.empty((0, relation["arity"]), dtype=np.uint64), *parts])
        demand(len(rows) == relation["rows"], f"{relation['relation']}: number of rows")
        demand(multiset_hash(rows) == relation["hash"], f"{relation['relation']}: multiset hash")
        return rows

    def check_frames(self, index: int | None = None) -> None:
        """Verifies what lies between the tuples, in all files or in those of one relation: the
        hash of an HDF5 file's own bytes; zeros in files that ranks or relations share."""
        for file in self.files:
            own = (file["data"], file.get("link"))
            shards = [s for s in self.shards if (s["file"], s.get("link")) == own]
            if not shards or (index is not None and all(s["shard"] != index for s in shards)):
                continue
            path = self.path(file, file["data"])
            extents = [*file.get("others", []), *(e for s in shards for e in s["extents"])]
            with path.open("rb") as opened, _at(path):
                if self.origin(file)["mode"] not in ("hdf5", "hdf5-streams"):
                    for at, gap in _between(opened, extents):
                        demand(not any(gap), f"padding near offset {at} is not zero")
                elif "frame" in file:
                    extents.append([file["bytes"], 0])
                    frame = b"".join(gap for _, gap in _between(opened, extents))
                    demand(xxh3_128(frame) == file["frame"], "hash of all but its rows")

    def section_names(self) -> list[str]:
        return [s["section"] for s in self.sections if "piece" not in s]

    def section(self, name: str) -> bytes:
        """The bytes of a section, all pieces of it; KeyError if there is none of that name."""
        pieces = [self._piece(i) for i, s in enumerate(self.sections) if s["section"] == name]
        if not pieces:
            raise KeyError(name)
        return b"".join(pieces)

    def _piece(self, index: int) -> bytes:
        entry = self.sections[index]
        path = self.path(entry, entry["file"])
        file_id = 0xFFFFFFFF << 32 | entry.get("image", index)
        nonce = self.origin(entry)["nonce"]
        with path.open("rb") as file, _at(path):
            stream = _Stream(file, [[0, path.stat().st_size]])
            blocks = _read_blocks(stream, file_id, nonce, entry, lambda _: True)
            content = b"".join(payload for _, _, payload in blocks)
            demand(len(content) == entry["bytes"], f"section {entry['section']}: length")
        return content


def _between(file: BinaryIO, extents: list[list[int]]) -> Iterator[tuple[int, bytes]]:
    """The bytes before and between extents, in order, 1 MiB at most at a time, and where."""
    at = 0
    for offset, length in sorted({(offset, length) for offset, length in extents}):
        demand(at <= offset, f"tuples at offset {offset} overlap others")
        while at < offset:
            file.seek(at)
            gap = file.read(min(1 << 20, offset - at))
            demand(gap != b"", "the file ends early")
            yield at, gap
            at += len(gap)
        at = offset + length


@contextmanager
def _at(path: Path) -> Iterator[None]:
    """Errors about bytes name the file, whatever noticed them."""
    try:
        yield
    except DamagedError as error:
        raise DamagedError(f"{path}: {error}") from error
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, zlib.error) as error:
        raise DamagedError(f"{path}: {type(error).__name__}: {error}") from error


_STORE_BEGINS = b"stratalog checkpoint store\n"
_STORE = re.compile(rb"((?:.*\n)*version (\d+)\nid ([0-9a-f]{32})\n)xxh3_128 ([0-9a-f]{32})\n")


def read_store_id(directory: Path) -> str:
    data = (directory / "STORE").read_bytes()
    begins = data[: len(_STORE_BEGINS)]
    demand(begins == _STORE_BEGINS, f"STORE: expected {_STORE_BEGINS!r}, found {begins!r}")
    found = _STORE.fullmatch(data)
    if found is None or len(found[1]) <= LONGEST_SHORT:
        raise DamagedError(
            "STORE: expected its version, its id and the hash of both at its end, found "
            f"{len(data)} bytes that end with {data[-40:]!r}"
        )
    stored, computed = found[4].decode(), xxh3_128(found[1])
    demand(stored == computed, f"STORE: expected hash {stored}, found {computed}")
    demand(int(found[2]) == 1, f"STORE: expected version 1, found {int(found[2])}")
    return found[3].decode()


def read_generation(directory: Path, store_id: str) -> Generation:
    """Reads and verifies a manifest and the sizes of its files."""
    text = (directory / "MANIFEST").read_bytes()
    demand(text.endswith(b"\n"), "MANIFEST: its end")
    body, _, tail = text[:-1].rpartition(b"\n")
    body += b"\n"
    demand(len(body) > LONGEST_SHORT, "MANIFEST: it ends early")
    demand(json.loads(tail) == {"xxh3_128": xxh3_128(body)}, "MANIFEST: hash")
    lines = [json.loads(line) for line in body.splitlines()]
    head = lines[0]
    demand(head["stratalog"] == "manifest", "MANIFEST: not the head of a manifest")
    unknown = sorted(set(head["critical"]) - _FEATURES)
    if unknown or head["version"] != 1:  # sound, and not to be passed over for an older one
        needed = f"the feature {unknown[0]}" if unknown else f"format version {head['version']}"
        raise CheckpointError(
            f"{directory.name} needs {needed}, which this reader does not know: use a newer one"
        )
    demand(head["store"] == store_id, "MANIFEST: of another store")
    name = f"gen-{head['epoch']:08x}-{head['sequence']:010d}"
    demand(directory.name == name, "MANIFEST: of another generation")
    generation = Generation(directory, head)
    at = 1
    for part in ("relations", "sections", "links", "files", "shards"):
        count = head.get(part, 0)
        getattr(generation, part).extend(lines[at : at + count])
        at += count
    demand(at == len(lines), "MANIFEST: number of lines")
    for link in generation.links:
        demand(link["link"][:13] == name[:13] and link["link"] < name, "MANIFEST: a strange link")
    for file in generation.files:
        size = generation.path(file, file["data"]).stat().st_size
        demand(size == file["bytes"], f"{file['data']}: size")
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


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def main(arguments: list[str]) -> int:
    generation = newest_generation(Path(arguments[0]))
    if len(arguments) > 1:
        relation, _, version = arguments[1].rpartition(".")
        for row in generation.rows(generation.find(relation, version)):
            print(*row, sep="\t")
        return 0
    head = generation.head
    print(f"{generation.directory.name}: mode {head['mode']}, {_counted(head['ranks'], 'rank')}")
    for link in generation.links:
        print(f"  builds on {link['link']}")
    for i, entry in enumerate(generation.relations):
        rows = generation.rows(i)
        print(f"  {entry['relation']}.{entry['version']}: {_counted(len(rows), 'row')}, verified")
    generation.check_frames()
    print(f"  {_counted(len(generation.files), 'file')}: what lies between tuples verified")
    for name in generation.section_names():
        content = generation.section(name)
        print(f"  section {name}: {_counted(len(content), 'byte')}, verified")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
