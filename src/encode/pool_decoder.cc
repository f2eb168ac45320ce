// SPDX-License-Identifier: Apache-2.0
// The reading half of the pool encoding. It trusts nothing: the streams must fit the payload, every
// group must have a set that is there, and all must add up.
#include <fmt/format.h>

#include "encode/byte_order.h"
#include "encode/pool_codec.h"

namespace stratalog {

PoolDecoder::PoolDecoder(std::size_t prefix_cells)
    : prefix_(prefix_cells, 0), columns_(prefix_cells), pool_(kPoolReach) {}

Status PoolDecoder::decode(std::span<const std::byte> payload, std::uint64_t groups,
                           std::uint64_t rows, const GroupVisitor& visit) {
  const auto corrupt = [](const std::string& what) {
    return Status::corruption(fmt::format("a pool of sets: {}", what));
  };
  const std::size_t head = pool_head_bytes(prefix_.size());
  if (prefix_.empty() || payload.size() < head)
    return corrupt("no prefixes, or the payload ends within its head");
  if (groups >= kPoolGroupLimit || rows >= kPoolRowLimit)
    return corrupt(fmt::format("{} groups and {} tuples are more than a block has", groups, rows));
  const auto sets = load_le<std::uint32_t>(payload.data());
  const std::size_t set_bytes = load_le<std::uint32_t>(payload.data() + 4);
  std::span<const std::byte> rest = payload.subspan(head);
  if (set_bytes > rest.size()) return corrupt("its sets reach beyond the payload");
  ByteReader in(rest.first(set_bytes));
  rest = rest.subspan(set_bytes);
  for (std::size_t c = 0; c <= columns_.size(); ++c) {
    StreamUnpacker& stream = c < columns_.size() ? columns_[c] : refs_;
    const std::size_t bytes = load_le<std::uint32_t>(payload.data() + 8 + (c * 4));
    if (bytes > rest.size() || !stream.open(rest.first(bytes), groups))
      return corrupt(fmt::format("stream {} does not fit", c));
    rest = rest.subspan(bytes);
  }
  if (!rest.empty()) return corrupt("bytes after the last stream");
  reader_.begin_block();
  std::uint64_t pooled = 0;
  std::uint64_t seen_rows = 0;
  for (std::uint64_t g = 0; g < groups; ++g) {
    for (std::size_t c = 0; c < columns_.size(); ++c) prefix_[c] = columns_[c].next();
    const std::uint32_t back = refs_.next();
    SetView set;
    bool good = true;
    if (back == 0) {
      const unsigned tag = in.byte();
      SpelledSet what;
      good = in.is_ok() && (tag & 0x30) == 0 && reader_.read_head(in, tag, what) &&
             reader_.read_data(in, what, set);
      pool_[pooled++ % kPoolReach] = what;
    } else {
      good = back <= pooled && back <= kPoolReach;
      if (good) {
        // It was good when it was read for the first time.
        const SpelledSet& what = pool_[(pooled - back) % kPoolReach];
        ByteReader again(payload.subspan(head + what.position));
        good = reader_.read_data(again, what, set);
      }
    }
    if (!good) return corrupt(fmt::format("group {} has no set, or a bad one", g));
    seen_rows += set.count;
    STRATALOG_RETURN_IF_ERROR(visit({.prefix = prefix_, .set = set}));
  }
  if (in.remaining() != 0 || pooled != sets)
    return corrupt(fmt::format("{} sets expected, {} found", sets, pooled));
  if (seen_rows != rows)
    return corrupt(fmt::format("{} tuples expected, {} found", rows, seen_rows));
  return Status::ok();
}

}  // namespace stratalog
