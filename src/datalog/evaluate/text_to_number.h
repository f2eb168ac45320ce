// SPDX-License-Identifier: Apache-2.0
// What to_number, to_unsigned and to_float make of a text. As in Soufflé, which calls std::stoll,
// std::stoull and std::stod: white space is skipped, and the longest number that follows counts,
// whatever stands behind it. Fact files have stricter rules (datalog/facts/field_parser.h). Pure,
// and no locale changes it. Local.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// The 64-bit pattern of the number that `text` begins with; `kind` is one of the three numeric
// kinds. An error if there is none, or if it does not fit the kind.
Result<std::uint64_t> text_to_number(std::string_view text, ValueKind kind);

}  // namespace stratalog::datalog
