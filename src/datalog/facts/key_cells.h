// SPDX-License-Identifier: Apache-2.0
// cells_of_key: what a user asks of a column ("7", "3:10", a symbol's text) as the set of cells
// that stand for it, so that stored tuples can be chosen without translating them. Pure; local.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "datalog/program.h"
#include "model/tuple_filter.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

// `text` is a value as fact files have it; of number, unsigned and float columns also LOW:HIGH, LOW
// included, HIGH excluded, either of which may be left out (NaN is in no range). Symbols and
// branches of enumerations are taken as they are. A value that the dictionary does not know gives
// an empty set. InvalidArgument names the attribute and what was expected; NotSupported: records
// and algebraic types with fields.
Result<CellSet> cells_of_key(const Attribute& attribute, const std::vector<Structure>& structures,
                             const ValueDictionary& dictionary, std::string_view text);

}  // namespace stratalog::datalog
