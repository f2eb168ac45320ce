// SPDX-License-Identifier: Apache-2.0
#include "read/piece_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "encode/piece_checksum.h"

namespace stratalog {

Result<PieceStream> PieceStream::open(Store& store, const Manifest& manifest,
                                      const ManifestShard& shard) {
  STRATALOG_ASSIGN_OR_RETURN(
      ExtentStream stream,
      ExtentStream::open(store, manifest.path(shard.link, shard.file), shard.extents));
  return PieceStream(manifest, shard, std::move(stream));
}

PieceStream::Piece PieceStream::piece(std::uint64_t number) const {
  const std::uint64_t before = shard_->is_deflated() ? shard_->first_row % shard_->chunk_rows : 0;
  const std::uint64_t first = number == 0 ? 0 : (number * shard_->piece_rows) - before;
  const std::uint64_t end = std::min(shard_->rows, ((number + 1) * shard_->piece_rows) - before);
  return {.number = number, .offset = first * row_bytes(), .bytes = (end - first) * row_bytes()};
}

ReadAhead::Part PieceStream::part(const Piece& piece) const {
  if (!shard_->is_deflated()) return {.offset = piece.offset, .bytes = piece.bytes};
  return {.offset = stream_.begin_of(piece.number), .bytes = shard_->extents[piece.number].bytes};
}

// With room for the padding of checksums behind.
Result<std::span<std::byte>> PieceStream::inflated(const Piece& piece, std::span<std::byte> read) {
  if (!shard_->is_deflated()) return read;
  const std::uint64_t chunk_bytes = shard_->chunk_rows * row_bytes();
  chunk_.resize(chunk_bytes + kPiecePadding);
  if (const Status status = inflater_.inflate(read.first(shard_->extents[piece.number].bytes),
                                              std::span(chunk_).first(chunk_bytes));
      !status.is_ok())
    return status.with_context(place(piece));
  const std::uint64_t row = shard_->first_row + (piece.offset / row_bytes());
  return std::span(chunk_).subspan((row % shard_->chunk_rows) * row_bytes());
}

Result<std::span<std::byte>> PieceStream::rows(const Piece& piece, std::span<std::byte> read,
                                               CheckBlocks check) {
  static_assert(ReadAhead::kRoom >= kPiecePadding);
  STRATALOG_ASSIGN_OR_RETURN(const std::span<std::byte> rows, inflated(piece, read));
  const std::uint64_t found = piece_checksum(rows, piece.bytes, manifest_->nonce_of(shard_->link),
                                             shard_->file_id(), piece.number);
  if (found != shard_->pieces[piece.number] && check == CheckBlocks::kYes)
    return Status::corruption(fmt::format("{}: rows with checksum {:016x} expected, {:016x} found",
                                          place(piece), shard_->pieces[piece.number], found));
  return rows.first(piece.bytes);
}

}  // namespace stratalog
