// SPDX-License-Identifier: Apache-2.0
// What the 64 bits of a value mean by its kind.
#pragma once

#include <bit>
#include <cstdint>

namespace stratalog::datalog {

inline double as_float(std::uint64_t bits) { return std::bit_cast<double>(bits); }
inline std::int64_t as_signed(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }

}  // namespace stratalog::datalog
