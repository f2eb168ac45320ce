// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/expected_bindings.h"

#include <algorithm>

namespace stratalog::datalog {
namespace {

// Tuples under a prefix of a step, by the column that tells most of them apart.
double tuples_under(const EngineState& state, const Step& step) {
  const auto rows = static_cast<double>(state.relations[step.relation].global_rows);
  if (state.statistics == nullptr || step.relation >= state.statistics->size()) return rows;
  const std::vector<std::uint64_t>& distinct = (*state.statistics)[step.relation].distinct;
  const auto& order = state.plan.relations[step.relation].indices[step.index].order;
  std::uint64_t parts = 1;
  for (std::uint32_t i = 0; i < step.prefix_length; ++i)
    if (order[i] < distinct.size()) parts = std::max(parts, distinct[order[i]]);
  return rows / static_cast<double>(parts);
}

}  // namespace

std::optional<double> expected_bindings(const EngineState& state, std::span<const Step> before) {
  double bindings = 1;
  for (const Step& step : before) {
    switch (step.kind) {
      case StepKind::kScan:
      case StepKind::kSearch:
        if (!step.columns.empty()) bindings *= std::max(1.0, tuples_under(state, step));
        break;
      case StepKind::kExists:
      case StepKind::kAbsent:
      case StepKind::kFilter:
      case StepKind::kAssign:
        break;
      default:
        return std::nullopt;
    }
  }
  return bindings;
}

}  // namespace stratalog::datalog
