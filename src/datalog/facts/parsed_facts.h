// SPDX-License-Identifier: Apache-2.0
// ParsedFacts: what a file that is read as a whole (JSON, SQLite) gave.
#pragma once

#include <optional>

#include "datalog/facts/fact_problem.h"
#include "datalog/facts/tuple_columns.h"

namespace stratalog::datalog {

struct ParsedFacts {
  TupleColumns tuples;
  // The first one; where there is one, tuples do not count. Its line is a row where there are no
  // lines.
  std::optional<FactProblem> problem;
};

}  // namespace stratalog::datalog
