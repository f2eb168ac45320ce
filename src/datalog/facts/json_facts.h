// SPDX-License-Identifier: Apache-2.0
// parse_json_facts: a JSON document to columns of cells, as Soufflé's IO=jsonfile has it: a list of
// tuples, each a list of values or an object with the names of attributes; records are lists or
// objects likewise, nil is null. Reads nothing; works without recursion. Malformed input of any
// kind ends as a problem with its line, never as a crash. Local.
#pragma once

#include <string_view>

#include "datalog/facts/parsed_facts.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

// `text` is the whole document. The relation has no values of algebraic types. New values stay
// provisional in `values`.
ParsedFacts parse_json_facts(const Relation& relation, std::string_view text, NewValues& values);

}  // namespace stratalog::datalog
