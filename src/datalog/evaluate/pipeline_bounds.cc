// SPDX-License-Identifier: Apache-2.0
// Bounds that comparisons set to the column behind the prefix of a scan or search: rows are read in
// the order of that column, between the bounds. See pipeline.h.
#include <algorithm>

#include "datalog/evaluate/bounded_rows.h"
#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog {

// If the filter compares that column with what is known before the step.
void Pipeline::note_row_filter(Stage& stage, const Literal& literal) {
  const auto& columns = stage.step->columns;
  const ColumnUse& next = columns[stage.step->prefix_length];
  if (next.role != ColumnRole::kBind || stage.source.index == nullptr) return;
  // A carried variable is a whole set.
  if (definition_.carries && mentions(literal, definition_.carried)) return;
  const auto compared = bound_of_values(literal, next.variable);
  if (!compared) return;
  const bool is_known = std::ranges::none_of(columns, [&](const ColumnUse& use) {
    return use.role == ColumnRole::kBind && mentions(*compared->other, use.variable);
  });
  if (is_known) stage.row_filters.push_back(known_comparison(stage, *compared));
}

// Where the filters let the column's cells lie: what is small, and all numbers that are not, which
// are looked at again there.
void Pipeline::find_row_ranges(Stage& stage, const Batch& in, std::uint32_t in_row) {
  const auto is_computed = [](const KnownComparison& filter) { return !filter.other; };
  if (std::ranges::any_of(stage.row_filters, is_computed)) fill_one(stage, in, in_row, stage.bound);
  NumberInterval interval(stage.row_filters.front().compared.kind);
  for (const KnownComparison& filter : stage.row_filters)
    if (const auto bound = small_bound(stage, filter, in, in_row))
      interval.keep(filter.compared.comparison, *bound);
  stage.row_ranges = interval.cells();
  stage.row_ranges.push_back({.lowest = kWideBase, .highest = ~Cell{0}});
}

void Pipeline::order_late_rows(Stage& stage) const {
  if (!stage.late_rows.empty()) return;
  if (stage.source.joint.empty()) {
    stage.late_rows.push_back(late_rows_in_order(*stage.source.index));
    return;
  }
  for (const Index* index : stage.source.joint)
    stage.late_rows.push_back(late_rows_in_order(*index));
}

// Of a finished relation: the rows for one binding, those of each index by themselves.
template <typename Visit>
Status Pipeline::for_each_between(Stage& stage, const Batch& in, std::uint32_t in_row,
                                  const Visit& visit) {
  const StepSource& source = stage.source;
  order_late_rows(stage);
  find_row_ranges(stage, in, in_row);
  for (std::size_t i = 0; i < stage.late_rows.size(); ++i) {
    const Index& index = source.joint.empty() ? *source.index : *source.joint[i];
    stage.rows.clear();
    append_between(index, FoundRows(0, index.ordered_rows()), 0, stage.row_ranges, stage.rows);
    append_between(index, stage.late_rows[i], 0, stage.row_ranges, stage.rows);
    STRATALOG_RETURN_IF_ERROR(visit(index));
  }
  return {};
}

void Pipeline::find_between(Stage& stage, const Batch& in, std::uint32_t in_row, const Index& index,
                            const Cell* key) {
  const std::uint32_t length = stage.step->prefix_length;
  find_row_ranges(stage, in, in_row);
  stage.rows.clear();
  append_between(index, index.rows_under(length, key), length, stage.row_ranges, stage.rows);
}

Status Pipeline::scan_between(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  for (std::uint32_t r = 0; r < in.rows; ++r)
    STRATALOG_RETURN_IF_ERROR(for_each_between(
        stage, in, r, [&](const Index& index) { return visit_found(s, in, r, r + 1, index); }));
  return evaluator_.status();
}

// Rows without tuples may be there on some ranks only.
Pipeline::Found Pipeline::count_between(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const std::uint32_t length = stage.step->prefix_length;
  Found found;
  const auto count = [&](const Index& index) -> Status {
    for (const RowId row : stage.rows) {
      found.tuples += index.total(row).size();
      found.rows += index.total(row).empty() ? 0 : 1;
    }
    return {};
  };
  if (length > 0) {
    gather_keys(stage, in, length);
    find_indices(stage, in, length);
  }
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    if (length == 0) {
      (void)for_each_between(stage, in, r, count);
      continue;
    }
    const Index& index = *stage.indices[r];
    find_between(stage, in, r, index, stage.keys.data() + (std::size_t{r} * length));
    (void)count(index);
  }
  return found;
}

}  // namespace stratalog::datalog
