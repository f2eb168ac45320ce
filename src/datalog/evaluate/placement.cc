// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/placement.h"

#include <algorithm>
#include <optional>

namespace stratalog::datalog {
namespace {

using Columns = std::vector<std::uint32_t>;

// The columns that every search in the index binds; for an index that is only scanned, all but the
// last.
Columns bound_by_all_searches(const IndexPlan& index) {
  std::size_t length = index.order.size() > 1 ? index.order.size() - 1 : 1;
  if (!index.searched_lengths.empty()) length = index.searched_lengths.front();
  Columns columns(index.order.begin(), index.order.begin() + static_cast<std::ptrdiff_t>(length));
  std::sort(columns.begin(), columns.end());
  return columns;
}

std::optional<std::uint32_t> pivot_of(const Program& program, const ProgramPlan& plan,
                                      RelationId r) {
  for (std::size_t s = 0; s < program.strata.size(); ++s) {
    const auto& members = program.strata[s].relations;
    const auto at = std::lower_bound(members.begin(), members.end(), r);
    if (at == members.end() || *at != r || !plan.strata[s].pivot) continue;
    return plan.strata[s].pivot->column[static_cast<std::size_t>(at - members.begin())];
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::vector<Columns>> plan_placements(const Program& program, const ProgramPlan& plan) {
  std::vector<std::vector<Columns>> result(program.relations.size());
  for (RelationId r = 0; r < program.relations.size(); ++r) {
    bool all_bind_pivot = true;
    const std::optional<std::uint32_t> pivot = pivot_of(program, plan, r);
    for (const IndexPlan& index : plan.relations[r].indices) {
      result[r].push_back(bound_by_all_searches(index));
      const Columns& columns = result[r].back();
      // An index that is only scanned may be dealt by any column.
      if (pivot && !index.searched_lengths.empty() &&
          !std::binary_search(columns.begin(), columns.end(), *pivot))
        all_bind_pivot = false;
    }
    if (pivot && all_bind_pivot)
      for (Columns& columns : result[r]) columns = {*pivot};
  }
  return result;
}

}  // namespace stratalog::datalog
