// SPDX-License-Identifier: Apache-2.0
#include "encode/block_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "encode/byte_order.h"

namespace stratalog {
namespace {

constexpr std::uint32_t kBlockMagic = 0x4B4C4253;  // "SBLK"
constexpr std::uint64_t kShardMagic = 0x445241485342'4C53;  // "SLBSHARD"
constexpr std::uint64_t kTrailerMagic = 0x444E4542'53424C53;  // "SLBSBEND"
constexpr std::size_t kNameAt = 96;
constexpr std::size_t kNameBytes = 128;

}  // namespace

BlockEntry seal_block(std::span<std::byte> block, const BlockHeader& header, const Nonce& nonce) {
  std::byte* at = block.data();
  std::memset(at, 0, kBlockHeaderBytes);
  const std::size_t end = kBlockHeaderBytes + header.payload_bytes;
  std::memset(at + end, 0, block.size() - end);
  store_le<std::uint32_t>(at + 8, kBlockMagic);
  store_le<std::uint32_t>(at + 12, static_cast<std::uint32_t>(header.encoding));
  store_le<std::uint64_t>(at + 16, header.file_id);
  store_le<std::uint32_t>(at + 24, header.number);
  store_le<std::uint32_t>(at + 28, header.payload_bytes);
  store_le<std::uint32_t>(at + 32, header.groups);
  store_le<std::uint32_t>(at + 36, header.prefix_cells);
  store_le<std::uint64_t>(at + 40, header.rows);
  const std::uint64_t checksum =
      seeded_hash64(block.subspan(8), block_seed(nonce, header.file_id, header.number));
  store_le<std::uint64_t>(at, checksum);
  return {.bytes = static_cast<std::uint32_t>(block.size()),
          .groups = header.groups,
          .rows = header.rows,
          .checksum = checksum};
}

Result<BlockHeader> open_block(std::span<const std::byte> block, const BlockEntry& entry,
                               std::uint64_t file_id, std::uint32_t number, const Nonce& nonce,
                               CheckBlocks check) {
  if (block.size() < kMinBlockBytes) return Status::corruption("the block is too short");
  const std::byte* at = block.data();
  if (check == CheckBlocks::kYes) {
    const auto stored = load_le<std::uint64_t>(at);
    const std::uint64_t found = seeded_hash64(block.subspan(8), block_seed(nonce, file_id, number));
    if (stored != entry.checksum || found != entry.checksum)
      return Status::corruption(
          fmt::format("block {}: checksum {:016x} expected, {:016x} stored, {:016x} computed",
                      number, entry.checksum, stored, found));
  }
  BlockHeader header;
  header.encoding = static_cast<ShardEncoding>(load_le<std::uint32_t>(at + 12));
  header.file_id = load_le<std::uint64_t>(at + 16);
  header.number = load_le<std::uint32_t>(at + 24);
  header.payload_bytes = load_le<std::uint32_t>(at + 28);
  header.groups = load_le<std::uint32_t>(at + 32);
  header.prefix_cells = load_le<std::uint32_t>(at + 36);
  header.rows = load_le<std::uint64_t>(at + 40);
  if (load_le<std::uint32_t>(at + 8) != kBlockMagic || header.file_id != file_id ||
      header.number != number || header.payload_bytes > kMaxPayloadBytes ||
      block_bytes_for(header.payload_bytes) != block.size() || header.rows != entry.rows ||
      header.groups != entry.groups)
    return Status::corruption(
        fmt::format("block {}: its header does not belong to this place", number));
  return header;
}

std::vector<std::byte> make_shard_header(const ShardHeader& header) {
  std::vector<std::byte> bytes(kShardHeaderBytes);
  std::byte* at = bytes.data();
  store_le<std::uint64_t>(at, kShardMagic);
  store_le<std::uint32_t>(at + 8, kFormatVersion);
  store_le<std::uint32_t>(at + 12, static_cast<std::uint32_t>(header.encoding));
  store_le<std::uint64_t>(at + 16, header.nonce.low);
  store_le<std::uint64_t>(at + 24, header.nonce.high);
  store_le<std::uint64_t>(at + 32, header.store.low);
  store_le<std::uint64_t>(at + 40, header.store.high);
  store_le<std::uint64_t>(at + 48, header.file_id);
  store_le<std::uint32_t>(at + 56, header.arity);
  std::memcpy(at + kNameAt, header.name.data(), std::min(header.name.size(), kNameBytes));
  return bytes;
}

std::vector<std::byte> make_shard_footer(const ShardFooter& footer, std::uint64_t file_id) {
  std::vector<std::byte> bytes(footer_bytes_for(footer.blocks.size()));
  std::byte* at = bytes.data();
  for (const BlockEntry& entry : footer.blocks) {
    store_le(at, entry.bytes);
    store_le(at + 4, entry.groups);
    store_le(at + 8, entry.rows);
    store_le(at + 16, entry.checksum);
    at += kBlockEntryBytes;
  }
  store_le<std::uint64_t>(at, kTrailerMagic);
  store_le<std::uint64_t>(at + 8, file_id);
  store_le<std::uint64_t>(at + 16, footer.blocks.size());
  store_le<std::uint64_t>(at + 24, footer.rows);
  store_le<std::uint64_t>(at + 32, footer.groups);
  return bytes;
}

Result<ShardFooter> parse_shard_footer(std::span<const std::byte> bytes, std::uint64_t shard_bytes,
                                       std::uint64_t file_id) {
  if (bytes.size() < kTrailerBytes || (bytes.size() - kTrailerBytes) % kBlockEntryBytes != 0)
    return Status::corruption(fmt::format("a footer of {} bytes cannot be", bytes.size()));
  const std::uint64_t count = (bytes.size() - kTrailerBytes) / kBlockEntryBytes;
  const std::byte* trailer = bytes.data() + (count * kBlockEntryBytes);
  if (load_le<std::uint64_t>(trailer) != kTrailerMagic ||
      load_le<std::uint64_t>(trailer + 8) != file_id ||
      load_le<std::uint64_t>(trailer + 16) != count)
    return Status::corruption("the footer does not belong to this shard");
  ShardFooter footer;
  footer.rows = load_le<std::uint64_t>(trailer + 24);
  footer.groups = load_le<std::uint64_t>(trailer + 32);
  footer.blocks.reserve(count);
  std::uint64_t sum = kShardHeaderBytes + bytes.size();
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::byte* at = bytes.data() + (i * kBlockEntryBytes);
    const BlockEntry entry{.bytes = load_le<std::uint32_t>(at),
                           .groups = load_le<std::uint32_t>(at + 4),
                           .rows = load_le<std::uint64_t>(at + 8),
                           .checksum = load_le<std::uint64_t>(at + 16)};
    if (entry.bytes < kMinBlockBytes || entry.bytes > block_bytes_for(kMaxPayloadBytes))
      return Status::corruption(fmt::format("footer: block {} of {} bytes", i, entry.bytes));
    sum += entry.bytes;
    rows += entry.rows;
    groups += entry.groups;
    footer.blocks.push_back(entry);
  }
  if (sum != shard_bytes || rows != footer.rows || groups != footer.groups)
    return Status::corruption(
        fmt::format("footer: {} bytes and {} rows in blocks, {} and {} expected", sum, rows,
                    shard_bytes, footer.rows));
  return footer;
}

Hash128 hash_shard(std::span<const std::byte> header, std::span<const std::byte> footer) {
  std::vector<std::byte> both(header.begin(), header.end());
  both.insert(both.end(), footer.begin(), footer.end());
  return hash128(both);
}

}  // namespace stratalog
