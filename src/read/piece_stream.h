// SPDX-License-Identifier: Apache-2.0
// PieceStream: a shard whose tuples are rows in an HDF5 file, piece by piece: where a piece lies,
// and its rows, inflated where they are deflated, and verified. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "commit/manifest.h"
#include "encode/block_decoder.h"
#include "encode/zlib_buffer.h"
#include "read/extent_stream.h"
#include "read/read_ahead.h"
#include "write/store.h"

namespace stratalog {

class PieceStream {
 public:
  // Both outlive it.
  static Result<PieceStream> open(Store& store, const Manifest& manifest,
                                  const ManifestShard& shard);

  struct Piece {
    std::uint64_t number = 0;
    std::uint64_t offset = 0;  // in the shard's rows
    std::uint64_t bytes = 0;
  };
  // `number` below shard.blocks.
  Piece piece(std::uint64_t number) const;
  // What is to be read for it, with ReadAhead::kRoom behind.
  ReadAhead::Part part(const Piece& piece) const;
  // The rows of what was read. Corruption with file and offset.
  Result<std::span<std::byte>> rows(const Piece& piece, std::span<std::byte> read,
                                    CheckBlocks check);

  ExtentStream& stream() { return stream_; }
  // For messages.
  std::string place(const Piece& piece) const { return stream_.place(part(piece).offset); }

 private:
  PieceStream(const Manifest& manifest, const ManifestShard& shard, ExtentStream stream)
      : manifest_(&manifest), shard_(&shard), stream_(std::move(stream)) {}

  std::uint64_t row_bytes() const { return 8ULL * manifest_->relations[shard_->relation].arity; }
  Result<std::span<std::byte>> inflated(const Piece& piece, std::span<std::byte> read);

  const Manifest* manifest_;
  const ManifestShard* shard_;
  ExtentStream stream_;
  ZlibInflater inflater_;
  std::vector<std::byte> chunk_;  // of rows
};

}  // namespace stratalog
