// SPDX-License-Identifier: Apache-2.0
// How a term goes as one of its variables goes on: up, down, or nobody knows. Pure. Local.
#pragma once

#include <string>

#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

enum class Direction : std::uint8_t { kUp, kDown };

enum class Trend : std::uint8_t { kStays, kRises, kFalls, kUnknown };

// A variable whose value goes on while a recursion runs.
struct ChangingValue {
  std::string name;
  Direction direction = Direction::kUp;
  std::string base;  // number, unsigned or float
  bool is_never_negative = false;  // `count` and `sum`
};

// The primitive type below `type`; empty if there is none.
std::string base_type_of(const ProgramSyntax& program, std::string type);

// As `value` goes in its direction; `term` is of type `type`. Holds while values stay within their
// 64 bits.
Trend trend_of(const Term& term, const ChangingValue& value, const std::string& type,
               const ProgramSyntax& program);

}  // namespace stratalog::datalog::language
