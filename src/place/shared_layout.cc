// SPDX-License-Identifier: Apache-2.0
#include "place/shared_layout.h"

#include <fmt/format.h>

namespace stratalog {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 63;

}  // namespace

Result<RoundPlan> plan_round(std::uint64_t begin, std::span<const std::uint64_t> bytes,
                             std::uint64_t alignment) {
  RoundPlan plan;
  plan.offsets.reserve(bytes.size());
  std::uint64_t at = begin;
  std::uint64_t end = begin;
  for (const std::uint64_t size : bytes) {
    if (size != 0) {
      at = (end + alignment - 1) / alignment * alignment;
      if (end >= kMaxFileBytes - alignment || size > kMaxFileBytes - at)
        return Status::invalid_argument(
            fmt::format("a shared file of more than 2^63 bytes: {} bytes at offset {}", size, at));
      end = at + size;
    }
    plan.offsets.push_back(size != 0 ? at : end);
  }
  plan.end = end;
  return plan;
}

Result<std::vector<std::uint64_t>> plan_rows(std::span<const std::uint64_t> rows) {
  std::vector<std::uint64_t> first = {0};
  first.reserve(rows.size() + 1);
  for (const std::uint64_t count : rows) {
    if (count > kMaxFileBytes - first.back())
      return Status::invalid_argument("more than 2^63 rows in one relation");
    first.push_back(first.back() + count);
  }
  return first;
}

}  // namespace stratalog
