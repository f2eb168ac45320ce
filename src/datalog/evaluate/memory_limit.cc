// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/memory_limit.h"

#include <fmt/format.h>

#include "base/readable_size.h"

namespace stratalog::datalog {

Status over_memory_limit(std::uint64_t used_bytes, std::string_view of, std::uint64_t limit_bytes) {
  return Status::no_space(fmt::format(
      "memory limit: {} {}, {} allowed per rank; raise it (--memory-limit, `memory_limit` of the "
      "library), use more ranks, or continue from the last checkpoint where there is more memory",
      readable_size(used_bytes), of, readable_size(limit_bytes)));
}

}  // namespace stratalog::datalog
