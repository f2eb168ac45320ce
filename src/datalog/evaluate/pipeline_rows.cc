// SPDX-License-Identifier: Apache-2.0
// Many rows of an index for one binding, of which a step takes values and asks nothing: they are
// bound column by column, which takes a fraction of what visit_row() takes for each. See
// pipeline.h.
#include <algorithm>
#include <array>

#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {
namespace {

constexpr std::size_t kGatheredRows = 64;

}  // namespace

// Whether all columns behind the prefix are bound, or read by nobody.
bool Pipeline::only_binds(const Stage& stage) const {
  const std::vector<ColumnUse>& columns = stage.step->columns;
  const auto is_plain = [](const ColumnUse& use) {
    return use.role == ColumnRole::kBind || use.role == ColumnRole::kIgnore;
  };
  return stage.step->prefix_length < columns.size() && !stage.guard && stage.last_filters.empty() &&
         std::all_of(columns.begin() + stage.step->prefix_length, columns.end(), is_plain) &&
         (columns.back().role == ColumnRole::kBind || !definition_.counts);
}

Status Pipeline::visit_rows(std::size_t s, const Batch& in, std::uint32_t in_row,
                            const Index& index, std::span<const RowId> found) {
  Stage& stage = *stages_[s];
  const std::uint32_t first = stage.step->prefix_length;
  if (!stage.only_binds || found.size() == 1) {
    for (const RowId row : found)
      STRATALOG_RETURN_IF_ERROR(
          visit_row(s, in, in_row, first, index.prefix(row), index.total(row)));
    return {};
  }
  const bool binds_last = stage.step->columns.back().role == ColumnRole::kBind;
  std::array<RowId, kGatheredRows> rows;
  std::array<Cell, kGatheredRows> lasts;
  std::size_t count = 0;
  const auto take = [&](RowId row, Cell last) -> Status {
    rows[count] = row;
    lasts[count] = last;
    if (++count < kGatheredRows) return {};
    count = 0;
    return bind_rows(s, in, in_row, index, rows, lasts);
  };
  for (const RowId row : found) {
    const IntSet& cells = index.total(row);
    if (cells.empty()) continue;
    if (!binds_last) {
      STRATALOG_RETURN_IF_ERROR(take(row, 0));
    } else if (cells.form() == IntSet::Form::kInline) {
      for (const Cell last : cells.array()) STRATALOG_RETURN_IF_ERROR(take(row, last));
    } else {
      STRATALOG_RETURN_IF_ERROR(visit_row(s, in, in_row, first, index.prefix(row), cells));
    }
  }
  return bind_rows(s, in, in_row, index, std::span(rows).first(count), lasts);
}

// `lasts` has the values of the last column, if that is bound.
Status Pipeline::bind_rows(std::size_t s, const Batch& in, std::uint32_t in_row, const Index& index,
                           std::span<const RowId> rows, std::span<const Cell> lasts) {
  Stage& stage = *stages_[s];
  const std::vector<ColumnUse>& columns = stage.step->columns;
  const std::size_t last = columns.size() - 1;
  for (std::size_t at = 0; at < rows.size();) {
    Batch& out = stage.out;
    const auto count = std::min<std::uint32_t>(kBatchRows - out.rows,
                                               static_cast<std::uint32_t>(rows.size() - at));
    append_alike(stage, in, in_row, count);
    for (std::size_t c = stage.step->prefix_length; c < last; ++c) {
      if (columns[c].role != ColumnRole::kBind) continue;
      Cell* const to = out.columns[columns[c].variable].data() + out.rows;
      for (std::uint32_t i = 0; i < count; ++i) to[i] = index.prefix(rows[at + i])[c];
    }
    if (columns[last].role == ColumnRole::kBind)
      std::copy_n(lasts.begin() + static_cast<std::ptrdiff_t>(at), count,
                  out.columns[columns[last].variable].data() + out.rows);
    out.rows += count;
    at += count;
    if (out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return {};
}

}  // namespace stratalog::datalog
