// SPDX-License-Identifier: Apache-2.0
#include "encode/shard_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "pack/row_packer.h"

namespace stratalog {
namespace {

constexpr std::size_t kMaxRowFragmentBytes = std::size_t{128} << 10;
constexpr std::size_t kBlockCapacity =
    kBlockHeaderBytes + (std::size_t{1} << 20) +
    std::max({kMaxCompactFragmentBytes, kMaxRowFragmentBytes + (kMaxArity * 8 * 64),
              streams_slack_bytes(kMaxArity), pool_slack_bytes(kMaxArity)}) +
    kMinBlockBytes;
static_assert(kBlockCapacity < kMaxPayloadBytes);
// kAuto writes every so many-th block both ways, the first one among them.
constexpr std::uint64_t kTrialEvery = 16;

FragmentLimits limits_for(ShardEncoding encoding, std::size_t arity) {
  static_assert(kCompactLimits.elements == kStreamsLimits.elements);
  static_assert(kCompactLimits.words == kStreamsLimits.words);
  if (encoding != ShardEncoding::kRowsU64) return kCompactLimits;
  const std::size_t rows = std::max<std::size_t>(64, kMaxRowFragmentBytes / (arity * 8));
  return {.elements = rows, .words = std::max<std::size_t>(1, rows / 64)};
}

std::unique_ptr<std::byte[]> new_block() {
  return std::make_unique_for_overwrite<std::byte[]>(kBlockCapacity);
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
      zones_(column_order),
      block_(new_block()) {
  if (header.encoding == ShardEncoding::kStreams || header.encoding == ShardEncoding::kAuto)
    streams_ = std::make_unique<StreamsEncoder>(column_order_.size());
}

Status ShardEncoder::give(std::span<const std::byte> bytes) {
  bytes_ += bytes.size();
  return sink_(bytes);
}

Status ShardEncoder::begin() {
  if (!header_bytes_.empty()) return Status::ok();
  header_bytes_ = make_shard_header(header_);
  return give(header_bytes_);
}

Status ShardEncoder::add(const TupleGroup& group) { return add_group(group, 0); }

Status ShardEncoder::add(const GroupBatch& batch) {
  if (batch.prefix_cells + 1 != column_order_.size())
    return Status::internal(fmt::format("a batch with {} prefix cells in a relation of arity {}",
                                        batch.prefix_cells, column_order_.size()));
  const bool has_pools =
      header_.encoding == ShardEncoding::kCompact || header_.encoding == ShardEncoding::kAuto;
  if (pool_ == nullptr && has_pools && column_order_.size() > 1)
    pool_ = std::make_unique<PoolEncoder>(column_order_.size() - 1);
  for (BatchPlace place; place.run < batch.runs();) {
    if (block_rows_ != 0 && way_ == Way::kPool) {
      const std::size_t before = place.group;
      STRATALOG_RETURN_IF_ERROR(add_pooled(batch, place));
      if (place.group != before) continue;
    }
    STRATALOG_RETURN_IF_ERROR(
        add_group({.prefix = batch.prefix(place.group), .set = batch.sets.set(place.run)},
                  batch.contents[place.run]));
    ++place.group;
    if (++place.in_run < batch.lengths[place.run]) continue;
    ++place.run;
    place.in_run = 0;
  }
  return Status::ok();
}

// Groups from `place` on, as far as the block takes them at once. None: one that needs a closer
// look. Prefixes enter the block's zone together.
Status ShardEncoder::add_pooled(const GroupBatch& batch, BatchPlace& place) {
  const std::size_t cells = batch.prefix_cells;
  const std::size_t first = place.group;
  std::byte* const sets = block_.get() + kBlockHeaderBytes + payload_bytes_;
  const PoolEncoder::Added added =
      pool_->add(batch, place,
                 {.groups = kMostPoolGroups - pool_->groups(),
                  .rows = kMostPoolRows - block_rows_,
                  .bytes = block_bytes_ - std::min(block_bytes_, payload_bytes_)},
                 zones_, sets);
  payload_bytes_ += static_cast<std::size_t>(added.end - sets);
  block_groups_ += static_cast<std::uint32_t>(added.groups);
  block_rows_ += added.rows;
  zones_.add_prefixes(batch.prefixes.subspan(first * cells, added.groups * cells));
  return is_full() ? close_block() : Status::ok();
}

bool ShardEncoder::is_one_fragment(const SetView& set) const {
  if (set.kind == SetKind::kBitmap) return set.words.size() <= limits_.words;
  return set.count <= limits_.elements;
}

Status ShardEncoder::add_group(const TupleGroup& group, std::uint64_t content) {
  if (group.prefix.size() + 1 != column_order_.size())
    return Status::internal(fmt::format("a group with {} prefix cells in a relation of arity {}",
                                        group.prefix.size(), column_order_.size()));
  if (content != 0 && group.set.count != 0 && is_one_fragment(group.set))
    return add_fragment(group.prefix, group.set, content);
  return for_each_fragment(group.set, limits_, [&](const SetView& fragment) {
    return add_fragment(group.prefix, fragment, 0);
  });
}

// Chooses how the block is written.
void ShardEncoder::begin_block() {
  switch (header_.encoding) {
    case ShardEncoding::kCompact:
    case ShardEncoding::kPool:  // of blocks only
    case ShardEncoding::kRunPool:
      way_ = Way::kCompact;
      break;
    case ShardEncoding::kRowsU64:
      way_ = Way::kRows;
      break;
    case ShardEncoding::kRaw:
      way_ = Way::kRaw;
      break;
    case ShardEncoding::kStreams:
      way_ = Way::kStreams;
      break;
    case ShardEncoding::kAuto:
      way_ = footer_.blocks.size() % kTrialEvery == 0 ? Way::kTrial : chosen_;
      break;
  }
  zones_.begin_block();
  in_pool_ = pool_ != nullptr && (way_ == Way::kCompact || way_ == Way::kTrial);
  if (in_pool_) {
    if (way_ == Way::kCompact) way_ = Way::kPool;
    pool_->begin_block();
    payload_bytes_ = pool_head_bytes(column_order_.size() - 1);
  } else if (way_ == Way::kCompact || way_ == Way::kTrial) {
    compact_.begin_block();
  }
}

bool ShardEncoder::is_full() const {
  if (payload_bytes_ >= block_bytes_) return true;
  if (in_pool_ && way_ != Way::kStreams &&
      (payload_bytes_ + pool_->stream_bytes() >= block_bytes_ || block_rows_ >= kMostPoolRows ||
       pool_->groups() >= kMostPoolGroups))
    return true;
  return (way_ == Way::kStreams || way_ == Way::kTrial) && streams_->bytes() >= block_bytes_;
}

Status ShardEncoder::add_fragment(std::span<const Cell> prefix, const SetView& fragment,
                                  std::uint64_t content) {
  if (way_ == Way::kTrial && in_pool_ && block_rows_ != 0 && streams_->needs_new_block(fragment))
    judge_pool();
  const bool has_streams = way_ == Way::kStreams || way_ == Way::kTrial;
  if (block_rows_ != 0 && has_streams && streams_->needs_new_block(fragment))
    STRATALOG_RETURN_IF_ERROR(close_block());
  if (block_rows_ == 0) begin_block();
  zones_.add(prefix, fragment);
  block_rows_ += fragment.count;
  if (way_ == Way::kStreams || way_ == Way::kTrial) streams_->add(prefix, fragment);
  if (way_ == Way::kRows) add_rows(prefix, fragment);
  if (way_ == Way::kCompact || way_ == Way::kPool || way_ == Way::kTrial) {
    std::byte* const at = block_.get() + kBlockHeaderBytes + payload_bytes_;
    const std::byte* const end = in_pool_ ? pool_->add(prefix, fragment, content, at)
                                          : compact_.encode(prefix, fragment, at);
    payload_bytes_ += static_cast<std::size_t>(end - at);
    ++block_groups_;
  }
  if (way_ == Way::kTrial && in_pool_ && streams_->bytes() >= block_bytes_) judge_pool();
  return is_full() ? close_block() : Status::ok();
}

// The streams of a trial are full long before a pool of sets that come again and again is. Where
// the pool is the better one so far, the block goes on as such.
void ShardEncoder::judge_pool() {
  if (choose_encoding(payload_bytes_ + pool_->stream_bytes(), streams_->bytes()) ==
      ShardEncoding::kStreams)
    return;
  if (other_block_ == nullptr) other_block_ = new_block();
  streams_->finish(other_block_.get() + kBlockHeaderBytes);  // and forget them
  way_ = Way::kPool;
  chosen_ = Way::kCompact;
}

void ShardEncoder::add_rows(std::span<const Cell> prefix, const SetView& fragment) {
  // Block, header and rows are multiples of 8 bytes, and operator new aligns to 16.
  auto* const payload = reinterpret_cast<std::uint64_t*>(block_.get() + kBlockHeaderBytes);
  const std::uint64_t* const end =
      put_rows(prefix, fragment, column_order_, payload + (payload_bytes_ / 8));
  payload_bytes_ = static_cast<std::size_t>(end - payload) * 8;
  ++block_groups_;
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

// Completes the payload in block_.
void ShardEncoder::finish_pool() {
  std::byte* const payload = block_.get() + kBlockHeaderBytes;
  payload_bytes_ =
      static_cast<std::size_t>(pool_->finish(payload, payload + payload_bytes_) - payload);
}

// Both payloads of a trial block are there: the better one stays in block_.
void ShardEncoder::choose_after_trial() {
  if (in_pool_) finish_pool();
  if (other_block_ == nullptr) other_block_ = new_block();
  const std::uint32_t groups = streams_->groups();
  std::byte* const payload = other_block_.get() + kBlockHeaderBytes;
  const auto bytes = static_cast<std::size_t>(streams_->finish(payload) - payload);
  chosen_ = choose_encoding(payload_bytes_, bytes) == ShardEncoding::kStreams ? Way::kStreams
                                                                              : Way::kCompact;
  way_ = chosen_;
  if (chosen_ == Way::kCompact) return;
  std::swap(block_, other_block_);
  payload_bytes_ = bytes;
  block_groups_ = groups;
}

Status ShardEncoder::close_block() {
  STRATALOG_RETURN_IF_ERROR(begin());
  if (footer_.blocks.size() >= 0xFFFFFFFFULL)
    return Status::not_supported("a shard of more than 2^32 blocks; use larger blocks");
  if (way_ == Way::kTrial) {
    choose_after_trial();
  } else if (way_ == Way::kStreams) {
    block_groups_ = streams_->groups();
    std::byte* const payload = block_.get() + kBlockHeaderBytes;
    payload_bytes_ = static_cast<std::size_t>(streams_->finish(payload) - payload);
  } else if (way_ == Way::kPool) {
    finish_pool();
  }
  ShardEncoding encoding = header_.encoding;
  if (encoding == ShardEncoding::kAuto)
    encoding = way_ == Way::kStreams ? ShardEncoding::kStreams : ShardEncoding::kCompact;
  if (encoding == ShardEncoding::kStreams) {
    ++streams_blocks_;
  } else if (in_pool_) {
    encoding = ShardEncoding::kRunPool;
    ++run_pools_;
  }
  const std::span block(block_.get(), block_bytes_for(payload_bytes_));
  const BlockHeader header{.encoding = encoding,
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
  if (block_rows_ != 0) STRATALOG_RETURN_IF_ERROR(close_block());
  STRATALOG_RETURN_IF_ERROR(begin());
  const std::vector<std::byte> footer = make_shard_footer(footer_, header_.file_id);
  STRATALOG_RETURN_IF_ERROR(give(footer));
  return ShardSummary{.bytes = bytes_,
                      .rows = footer_.rows,
                      .groups = footer_.groups,
                      .blocks = footer_.blocks.size(),
                      .streams_blocks = streams_blocks_,
                      .run_pools = run_pools_,
                      .hash = hash_shard(header_bytes_, footer),
                      .zones = zones_.zones()};
}

}  // namespace stratalog
