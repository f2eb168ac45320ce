// SPDX-License-Identifier: Apache-2.0
// parse_structured: a structured value as Soufflé writes it in fact files (structured_text.h) to a
// cell. Blanks may stand between tokens; symbols are in double quotes with backslashes before
// special characters, or reach to the next comma or bracket. Malformed text ends as a problem with
// its place, never as a crash; works without recursion. Local.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "datalog/facts/field_parser.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

struct ParsedStructure {
  bool is_ok = false;
  Cell cell = 0;
  std::size_t at = 0;  // where in the text the problem is
  std::string expected;  // what should have stood there
};

// The whole of `text` as a value of structure `id`. New values stay provisional in `values`.
ParsedStructure parse_structured(const std::vector<Structure>& structures, StructureId id,
                                 std::string_view text, NewValues& values);

}  // namespace stratalog::datalog
