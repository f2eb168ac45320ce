// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/scan_turns.h"

#include <algorithm>

namespace stratalog::datalog {
namespace {

// Whether the order of tuples may show: in what a library does.
bool depends_on_order(const std::vector<Literal>& body) {
  return std::ranges::any_of(body, [](const Literal& literal) {
    return literal.aggregate != nullptr &&
           (literal.aggregate->function == AggregateFunction::kFold ||
            depends_on_order(literal.aggregate->body));
  });
}

}  // namespace

bool allows_any_order(const Program& program) {
  return std::ranges::none_of(program.rules,
                              [](const Rule& rule) { return depends_on_order(rule.body); });
}

}  // namespace stratalog::datalog
