// SPDX-License-Identifier: Apache-2.0
#include "encode/shard_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pack/row_packer.h"

namespace stratalog {
namespace {

constexpr std::size_t kMaxRowFragmentBytes = std::size_t{128} << 10;
constexpr std::size_t kBlockCapacity =
    kBlockHeaderBytes + (std::size_t{1} << 20) +
    std::max(kMaxCompactFragmentBytes, kMaxRowFragmentBytes + (kMaxArity * 8 * 64)) +
    kMinBlockBytes;
static_assert(kBlockCapacity < kMaxPayloadBytes);

FragmentLimits limits_for(ShardEncoding encoding, std::size_t arity) {
  if (encoding == ShardEncoding::kCompact) return kCompactLimits;
  const std::size_t rows = std::max<std::size_t>(64, kMaxRowFragmentBytes / (arity * 8));
  return {.elements = rows, .words = std::max<std::size_t>(1, rows / 64)};
}

}  // namespace

ShardEncoder::ShardEncoder(const ShardHeader& header, std::span<const std::uint32_t> column_order,
                           std::uint64_t block_bytes, ByteSink sink)
    : header_(header),
      column_order_(column_order.begin(), column_order.end()),
      block_bytes_(std::min<std::uint64_t>(block_bytes, 1 << 20)),
      sink_(std::move(sink)),
      limits_(limits_for(header.encoding, std::max<std::size_t>(1, column_order.size()))),
      compact_(column_order.empty() ? 0 : column_order.size() - 1),
      block_(std::make_unique_for_overwrite<std::byte[]>(kBlockCapacity)) {}

Status ShardEncoder::give(std::span<const std::byte> bytes) {
  bytes_ += bytes.size();
  return sink_(bytes);
}

Status ShardEncoder::begin() {
  if (!header_bytes_.empty()) return Status::ok();
  header_bytes_ = make_shard_header(header_);
  return give(header_bytes_);
}

Status ShardEncoder::add(const TupleGroup& group) {
  if (group.prefix.size() + 1 != column_order_.size())
    return Status::internal(fmt::format("a group with {} prefix cells in a relation of arity {}",
                                        group.prefix.size(), column_order_.size()));
  return for_each_fragment(group.set, limits_, [&](const SetView& fragment) {
    return header_.encoding == ShardEncoding::kCompact ? add_compact(group.prefix, fragment)
                                                       : add_rows(group.prefix, fragment);
  });
}

Status ShardEncoder::add_compact(std::span<const Cell> prefix, const SetView& fragment) {
  if (payload_bytes_ == 0) compact_.begin_block();
  std::byte* const payload = block_.get() + kBlockHeaderBytes;
  const std::byte* const end = compact_.encode(prefix, fragment, payload + payload_bytes_);
  payload_bytes_ = static_cast<std::size_t>(end - payload);
  ++block_groups_;
  block_rows_ += fragment.count;
  return payload_bytes_ >= block_bytes_ ? close_block() : Status::ok();
}

Status ShardEncoder::add_rows(std::span<const Cell> prefix, const SetView& fragment) {
  // Block, header and rows are multiples of 8 bytes, and operator new aligns to 16.
  auto* const payload = reinterpret_cast<std::uint64_t*>(block_.get() + kBlockHeaderBytes);
  const std::uint64_t* const end =
      put_rows(prefix, fragment, column_order_, payload + (payload_bytes_ / 8));
  payload_bytes_ = static_cast<std::size_t>(end - payload) * 8;
  ++block_groups_;
  block_rows_ += fragment.count;
  return payload_bytes_ >= block_bytes_ ? close_block() : Status::ok();
}

Status ShardEncoder::add_raw(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t piece = std::min<std::size_t>(bytes.size(), block_bytes_ - payload_bytes_);
    std::memcpy(block_.get() + kBlockHeaderBytes + payload_bytes_, bytes.data(), piece);
    payload_bytes_ += piece;
    block_rows_ += piece;
    bytes = bytes.subspan(piece);
    if (payload_bytes_ >= block_bytes_) STRATALOG_RETURN_IF_ERROR(close_block());
  }
  return Status::ok();
}

Status ShardEncoder::close_block() {
  STRATALOG_RETURN_IF_ERROR(begin());
  if (footer_.blocks.size() >= 0xFFFFFFFFULL)
    return Status::not_supported("a shard of more than 2^32 blocks; use larger blocks");
  const std::span block(block_.get(), block_bytes_for(payload_bytes_));
  const BlockHeader header{.encoding = header_.encoding,
                           .file_id = header_.file_id,
                           .number = static_cast<std::uint32_t>(footer_.blocks.size()),
                           .payload_bytes = static_cast<std::uint32_t>(payload_bytes_),
                           .groups = block_groups_,
                           .prefix_cells = static_cast<std::uint32_t>(
                               column_order_.empty() ? 0 : column_order_.size() - 1),
                           .rows = block_rows_};
  footer_.blocks.push_back(seal_block(block, header, header_.nonce));
  footer_.rows += block_rows_;
  footer_.groups += block_groups_;
  payload_bytes_ = 0;
  block_groups_ = 0;
  block_rows_ = 0;
  return give(block);
}

Result<ShardSummary> ShardEncoder::finish() {
  if (payload_bytes_ != 0) STRATALOG_RETURN_IF_ERROR(close_block());
  STRATALOG_RETURN_IF_ERROR(begin());
  const std::vector<std::byte> footer = make_shard_footer(footer_, header_.file_id);
  STRATALOG_RETURN_IF_ERROR(give(footer));
  return ShardSummary{.bytes = bytes_,
                      .rows = footer_.rows,
                      .groups = footer_.groups,
                      .blocks = footer_.blocks.size(),
                      .hash = hash_shard(header_bytes_, footer)};
}

}  // namespace stratalog
