// SPDX-License-Identifier: Apache-2.0
// The containers of checkpoint data, byte by byte: a shard is a header, blocks and a footer; a
// block carries its own checksum, seeded by generation, file and number, so that any rank can read
// and verify it alone and a block from elsewhere fails. Numbers are little-endian. Layout:
// docs/formats/checkpoint.md. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "encode/checksum.h"
#include "encode/shard_encoding.h"

namespace stratalog {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kShardHeaderBytes = 256;
inline constexpr std::size_t kBlockHeaderBytes = 64;
inline constexpr std::size_t kBlockEntryBytes = 24;
inline constexpr std::size_t kTrailerBytes = 64;
inline constexpr std::size_t kBlockAlignment = 64;  // blocks are multiples of this long
inline constexpr std::size_t kMinBlockBytes = 256;  // header, payload and padding together
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{2} << 20;

// What stands in a block's header.
struct BlockHeader {
  ShardEncoding encoding = ShardEncoding::kCompact;
  std::uint64_t file_id = 0;
  std::uint32_t number = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t groups = 0;
  std::uint32_t prefix_cells = 0;
  std::uint64_t rows = 0;
};

// A block as the footer lists it.
struct BlockEntry {
  std::uint32_t bytes = 0;  // with header and padding
  std::uint32_t groups = 0;
  std::uint64_t rows = 0;
  std::uint64_t checksum = 0;
};

// Whole block length for a payload.
constexpr std::size_t block_bytes_for(std::size_t payload_bytes) {
  const std::size_t bytes =
      (kBlockHeaderBytes + payload_bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  return bytes < kMinBlockBytes ? kMinBlockBytes : bytes;
}

// `block` is block_bytes_for(header.payload_bytes) long with the payload behind the header's place.
// Fills in header, padding and checksum.
BlockEntry seal_block(std::span<std::byte> block, const BlockHeader& header, const Nonce& nonce);

enum class CheckBlocks : std::uint8_t { kYes, kNo };  // kNo: tests only

// The header of `block`, if checksum, identity and lengths are as expected; Corruption says what is
// wrong.
Result<BlockHeader> open_block(std::span<const std::byte> block, const BlockEntry& entry,
                               std::uint64_t file_id, std::uint32_t number, const Nonce& nonce,
                               CheckBlocks check);

// What stands in a shard's header: enough to know a lost file when one sees it.
struct ShardHeader {
  ShardEncoding encoding = ShardEncoding::kCompact;
  std::uint64_t file_id = 0;
  Nonce nonce;
  Hash128 store;  // the store's id
  std::uint32_t arity = 0;
  std::string name;  // "path.total", cut to 128 bytes
};

std::vector<std::byte> make_shard_header(const ShardHeader& header);

struct ShardFooter {
  std::vector<BlockEntry> blocks;
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;
};

constexpr std::uint64_t footer_bytes_for(std::uint64_t blocks) {
  return (blocks * kBlockEntryBytes) + kTrailerBytes;
}

std::vector<std::byte> make_shard_footer(const ShardFooter& footer, std::uint64_t file_id);

// Parses footer bytes (table and trailer) that belong to a shard of `shard_bytes`; checks that the
// table adds up to the shard exactly. The caller has verified the bytes by hash.
Result<ShardFooter> parse_shard_footer(std::span<const std::byte> bytes, std::uint64_t shard_bytes,
                                       std::uint64_t file_id);

// The hash by which the manifest vouches for a shard: over header and footer, which holds the
// blocks' checksums.
Hash128 hash_shard(std::span<const std::byte> header, std::span<const std::byte> footer);

}  // namespace stratalog
