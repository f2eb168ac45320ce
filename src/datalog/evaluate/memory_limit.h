// SPDX-License-Identifier: Apache-2.0
// The error of a rank that holds more than --memory-limit. Local.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace stratalog::datalog {

// `of`: what takes the memory, and where.
Status over_memory_limit(std::uint64_t used_bytes, std::string_view of, std::uint64_t limit_bytes);

}  // namespace stratalog::datalog
