// SPDX-License-Identifier: Apache-2.0
// value_key: 64-bit patterns as keys whose unsigned comparison is the comparison of the values.
// Pure.
#pragma once

#include <cstdint>

#include "datalog/program.h"

namespace stratalog::datalog {

inline constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

// Floats in IEEE total order.
constexpr std::uint64_t value_key(ValueKind kind, std::uint64_t bits) {
  if (kind == ValueKind::kNumber) return bits ^ kSignBit;
  if (kind == ValueKind::kFloat) return (bits & kSignBit) != 0 ? ~bits : bits ^ kSignBit;
  return bits;
}

}  // namespace stratalog::datalog
