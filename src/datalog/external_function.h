// SPDX-License-Identifier: Apache-2.0
// ExternalFunction: what stands behind a `.functor`: values in, a value out. Must give the same
// for the same, on every rank, as often as it is called. Ranks that are threads call it at once.
// Local.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"

namespace stratalog::datalog {

struct ExternalValue {
  std::uint64_t bits = 0;  // of a number, unsigned or float
  std::string text;  // of a symbol
};

using ExternalFunction = std::function<Result<ExternalValue>(std::span<const ExternalValue>)>;

}  // namespace stratalog::datalog
