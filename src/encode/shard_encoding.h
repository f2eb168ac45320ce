// SPDX-License-Identifier: Apache-2.0
// How the tuples of a shard become bytes: the names of the encodings, and the rule by which one of
// them is chosen. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stratalog {

// The numbers are part of the file format.
enum class ShardEncoding : std::uint8_t {
  kCompact = 0,  // "compact": prefix deltas, sets as gaps, runs or bitmaps, whichever is smallest
  kRowsU64 = 1,  // "rows_u64": the reference: rows of little-endian uint64 in declared column order
  kRaw = 2,  // "raw": bytes of a named section; not for tuples
  kStreams = 3,  // "streams": the trie of the tuples as bit-packed streams, level by level
  kAuto = 4,  // "auto": of shards only; each block is compact or streams, whichever is smaller
  kPool = 5,  // "pool": of blocks only, of compact and auto shards; sets that come again, once
              // each; of older versions
  kRunPool = 6,  // "run_pool": the same with runs of groups, and sets by what has changed
};

std::string_view encoding_name(ShardEncoding encoding);
std::optional<ShardEncoding> parse_encoding(std::string_view name);

// The rule of kAuto, from the payload bytes of the same tuples: compact, which is quicker to write
// and to read for dense sets, unless streams save an eighth.
constexpr ShardEncoding choose_encoding(std::uint64_t compact_bytes, std::uint64_t streams_bytes) {
  return streams_bytes <= compact_bytes - (compact_bytes / 8) ? ShardEncoding::kStreams
                                                              : ShardEncoding::kCompact;
}

}  // namespace stratalog
