// SPDX-License-Identifier: Apache-2.0
// How many random programs a test runs and from which seed on: what it says itself, unless
// STRATALOG_PROPERTY_CASES and STRATALOG_PROPERTY_SEED say otherwise. Local.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace stratalog::datalog {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

inline std::uint64_t property_cases(std::uint64_t otherwise) {
  return from_environment("STRATALOG_PROPERTY_CASES", otherwise);
}

}  // namespace stratalog::datalog
