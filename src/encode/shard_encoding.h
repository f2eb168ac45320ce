// SPDX-License-Identifier: Apache-2.0
// How the tuples of a shard become bytes: the names of the encodings. One row per encoding in the
// table of encode/encodings.h. Pure; local.
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
};

std::string_view encoding_name(ShardEncoding encoding);
std::optional<ShardEncoding> parse_encoding(std::string_view name);

}  // namespace stratalog
