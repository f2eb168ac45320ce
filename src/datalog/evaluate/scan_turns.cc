// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/scan_turns.h"

#include <algorithm>

namespace stratalog::datalog {
namespace {

// Whether the order of tuples shows: in sums of floats, and perhaps in what a library does.
bool depends_on_order(const std::vector<Literal>& body) {
  return std::ranges::any_of(body, [](const Literal& literal) {
    if (literal.aggregate == nullptr) return false;
    const Aggregate& aggregate = *literal.aggregate;
    const bool adds = aggregate.function == AggregateFunction::kSum ||
                      aggregate.function == AggregateFunction::kMean;
    return (adds && aggregate.result_kind == ValueKind::kFloat) ||
           aggregate.function == AggregateFunction::kFold || depends_on_order(aggregate.body);
  });
}

}  // namespace

bool allows_any_order(const Program& program) {
  return std::ranges::none_of(program.rules,
                              [](const Rule& rule) { return depends_on_order(rule.body); });
}

}  // namespace stratalog::datalog
