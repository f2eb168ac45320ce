// SPDX-License-Identifier: Apache-2.0
#include "encode/shard_encoding.h"

namespace stratalog {

std::string_view encoding_name(ShardEncoding encoding) {
  switch (encoding) {
    case ShardEncoding::kCompact:
      return "compact";
    case ShardEncoding::kRowsU64:
      return "rows_u64";
    case ShardEncoding::kRaw:
      return "raw";
    case ShardEncoding::kStreams:
      return "streams";
    case ShardEncoding::kAuto:
      return "auto";
    case ShardEncoding::kPool:
      return "pool";
    case ShardEncoding::kRunPool:
      return "run_pool";
  }
  return "unknown";
}

// Of shards.
std::optional<ShardEncoding> parse_encoding(std::string_view name) {
  for (const ShardEncoding e : {ShardEncoding::kCompact, ShardEncoding::kRowsU64,
                                ShardEncoding::kRaw, ShardEncoding::kStreams, ShardEncoding::kAuto})
    if (encoding_name(e) == name) return e;
  return std::nullopt;
}

}  // namespace stratalog
