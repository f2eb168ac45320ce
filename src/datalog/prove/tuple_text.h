// SPDX-License-Identifier: Apache-2.0
// Tuples and literals as a user would write them, with the values of variables put in where they
// are known. Pure; local.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

std::string value_text(const NewValues& values, ValueKind kind, Cell cell);
// "path(3, 17)"
std::string tuple_text(const NewValues& values, const Relation& relation,
                       std::span<const Cell> tuple);

// By variable.
using Bindings = std::vector<std::optional<Cell>>;

// "!path(3, _)", "x + 1 = 4"; variables without a value keep their names.
std::string literal_text(const NewValues& values, const Program& program, const Rule& rule,
                         const Literal& literal, const Bindings& bindings);

}  // namespace stratalog::datalog
