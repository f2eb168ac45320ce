// SPDX-License-Identifier: Apache-2.0
// Many rows of an index for one binding, of which a step takes values and asks nothing: they are
// bound column by column, which takes a fraction of what visit_row() takes for each. See
// pipeline.h.
#include <algorithm>

#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {

// Whether all columns behind the prefix are bound, moved as sets, or read by nobody. What filters
// of the last column drop from larger sets is dropped from small ones behind this step.
bool Pipeline::only_binds(const Stage& stage) const {
  const std::vector<ColumnUse>& columns = stage.step->columns;
  const auto is_plain = [](const ColumnUse& use) {
    return use.role == ColumnRole::kBind || use.role == ColumnRole::kIgnore ||
           use.role == ColumnRole::kCarry;
  };
  return stage.step->prefix_length < columns.size() && !stage.guard &&
         std::all_of(columns.begin() + stage.step->prefix_length, columns.end(), is_plain) &&
         (columns.back().role == ColumnRole::kBind || !definition_.counts);
}

Status Pipeline::visit_rows(std::size_t s, const Batch& in, std::uint32_t in_row,
                            const Index& index, std::span<const RowId> found) {
  const std::uint32_t first = stages_[s]->step->prefix_length;
  if (found.size() == 1)
    return visit_row(s, in, in_row, first, index.prefix(found[0]), index.total(found[0]));
  GatheredRows gathered(index);
  for (const RowId row : found)
    STRATALOG_RETURN_IF_ERROR(take_row(s, in, in_row, row, index.total(row), gathered));
  return bind_rows(s, in, in_row, gathered);
}

Status Pipeline::gather_row(std::size_t s, const Batch& in, std::uint32_t in_row, RowId row,
                            const IntSet& cells, GatheredRows& gathered) {
  if (cells.empty()) return {};
  Stage& stage = *stages_[s];
  const ColumnRole last = stage.step->columns.back().role;
  const bool binds_last = last == ColumnRole::kBind;
  const bool is_set = cells.form() != IntSet::Form::kInline;
  if (binds_last && (is_set || (cells.size() > 1 && takes_image(s))))
    return visit_row(s, in, in_row, stage.step->prefix_length, gathered.index->prefix(row), cells);
  const auto take = [&](Cell cell) -> Status {
    gathered.rows[gathered.count] = row;
    gathered.lasts[gathered.count] = cell;
    gathered.sets[gathered.count] = &cells;
    return ++gathered.count < gathered.rows.size() ? Status() : bind_rows(s, in, in_row, gathered);
  };
  if (!binds_last) return take(0);
  for (const Cell cell : cells.array()) STRATALOG_RETURN_IF_ERROR(take(cell));
  return {};
}

Status Pipeline::bind_rows(std::size_t s, const Batch& in, std::uint32_t in_row,
                           GatheredRows& gathered) {
  Stage& stage = *stages_[s];
  const std::vector<ColumnUse>& columns = stage.step->columns;
  const std::size_t last = columns.size() - 1;
  for (std::size_t at = 0; at < gathered.count;) {
    Batch& out = stage.out;
    const auto count = std::min<std::uint32_t>(kBatchRows - out.rows,
                                               static_cast<std::uint32_t>(gathered.count - at));
    append_alike(stage, in, in_row, count);
    for (std::size_t c = stage.step->prefix_length; c < last; ++c) {
      if (columns[c].role != ColumnRole::kBind) continue;
      Cell* const to = out.columns[columns[c].variable].data() + out.rows;
      for (std::uint32_t i = 0; i < count; ++i)
        to[i] = gathered.index->prefix(gathered.rows[at + i])[c];
    }
    if (columns[last].role == ColumnRole::kBind)
      std::copy_n(gathered.lasts.data() + at, count,
                  out.columns[columns[last].variable].data() + out.rows);
    else if (columns[last].role == ColumnRole::kCarry)
      std::copy_n(gathered.sets.data() + at, count, out.sets.data() + out.rows);
    out.rows += count;
    at += count;
    if (out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  gathered.count = 0;
  return {};
}

}  // namespace stratalog::datalog
