// SPDX-License-Identifier: Apache-2.0
// Structured values as text, the way Soufflé prints them: nil, [1, [2, nil]], $Branch(1, a), and
// $Branch without fields. Works without recursion: lists may be a million long. Local.
#pragma once

#include <string>
#include <vector>

#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

enum class SymbolQuotes : std::uint8_t {
  kNone,  // symbols stand as they are
  kDouble,  // in double quotes, with a backslash before double quotes inside
  kLiteral,  // as in a program, with its escapes
};

// Appends the value that `cell` is in a column of structure `id`. With a dictionary, requires final
// cells. A number cast to the type that stands for none of its values is printed with a question
// mark.
void append_structured(const std::vector<Structure>& structures, StructureId id,
                       const ValueDictionary& dictionary, Cell cell, SymbolQuotes quotes,
                       std::string& text);
void append_structured(const std::vector<Structure>& structures, StructureId id,
                       const NewValues& values, Cell cell, SymbolQuotes quotes, std::string& text);

}  // namespace stratalog::datalog
