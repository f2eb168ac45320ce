// SPDX-License-Identifier: Apache-2.0
// Bodies of aggregates that count, or sum whole numbers, and whose last atom is asked for what lies
// between bounds of one column, as in `n = count : { sale(u, t, _), t < now }`: nothing is bound,
// and where a group is asked again and again, two places in its order tell (ranked_lists.h). See
// pipeline.h.
#include <algorithm>
#include <memory>

#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline_stage.h"

namespace stratalog::datalog {

// Where nothing but the bounds is asked of what the last atom finds.
void Pipeline::prepare_ranked() {
  if (!definition_.add_part || definition_.carries) return;
  Stage* const last = last_atom();
  if (last == nullptr) return;
  Stage& stage = *last;
  const std::span<const ColumnUse> columns = stage.step->columns;
  const std::size_t found = columns.size() - stage.step->prefix_length;
  stage.ranks_rows = found > 1 && is_bounded_by_rows(stage);
  stage.ranks_cells = found == 1 && is_bounded_by_cells(stage);
  if (stage.ranks_rows || stage.ranks_cells) stage.ranked = std::make_unique<RankedLists>();
  if (!definition_.summed) return;
  const auto summed = std::find_if(
      columns.begin() + stage.step->prefix_length, columns.end(), [&](const ColumnUse& use) {
        return use.role == ColumnRole::kBind && use.variable == *definition_.summed;
      });
  if (summed != columns.end())
    stage.summed_place = static_cast<std::uint32_t>(summed - columns.begin());
}

// What a row comes to: how many tuples it holds, and the sum of what is summed of them.
FoldedPart Pipeline::part_of_row(const Stage& stage, std::span<const Cell> prefix,
                                 const IntSet& cells) const {
  FoldedPart part{.count = cells.size()};
  if (!stage.summed_place) return part;
  if (*stage.summed_place < prefix.size()) {
    part.bits = part.count * evaluator_.bits_of(prefix[*stage.summed_place]);
    return part;
  }
  cells.walk([&](Cell cell) { part.bits += evaluator_.bits_of(cell); });
  return part;
}

FoldedPart Pipeline::part_of_rows(Stage& stage, const Index& index, const FoundRows& under) {
  const std::uint32_t length = stage.step->prefix_length;
  const ValueKind kind = stage.row_filters.front().kind;
  const RankedList* const ranked =
      stage.ranked->find(index, under[0], under.size(), [&](std::vector<RankedPart>& parts) {
        for (const RowId row : under) {
          const auto prefix = index.prefix(row);
          const auto place = place_of_value(kind, evaluator_.bits_of(prefix[length]));
          if (place && !index.total(row).empty())
            parts.push_back({*place, part_of_row(stage, prefix, index.total(row))});
        }
      });
  if (ranked != nullptr) return ranked->between(stage.row_places.ranges());
  list_between(stage, index, under);
  FoldedPart found;
  for (const RowId row : stage.rows)
    found += part_of_row(stage, index.prefix(row), index.total(row));
  return found;
}

FoldedPart Pipeline::part_of_cells(Stage& stage, const Index& index, RowId row) {
  const ValueKind kind = stage.last_filters.front().compared.kind;
  const IntSet& cells = index.total(row);
  const SetView view = cells.view();
  const auto part_of_cell = [&](Cell cell) -> FoldedPart {
    return {.count = 1, .bits = stage.summed_place ? evaluator_.bits_of(cell) : 0};
  };
  FoldedPart found;
  if (cells.empty()) return found;
  // Small numbers are counted by their cells.
  if (!stage.summed_place && view.kind == SetKind::kArray && !is_wide_cell(last_of(view))) {
    for (const CellRange& range : stage.row_ranges)
      found.count += part_around(view, range).values.size();
    return found;
  }
  const RankedList* const ranked =
      stage.ranked->find(index, row, cells.size(), [&](std::vector<RankedPart>& parts) {
        cells.walk([&](Cell cell) {
          if (const auto place = place_of_value(kind, evaluator_.bits_of(cell)))
            parts.push_back({*place, part_of_cell(cell)});
        });
      });
  if (ranked != nullptr) return ranked->between(stage.row_places.ranges());
  cells.walk([&](Cell cell) {
    if (lies_within(cell, kind, stage.row_places)) found += part_of_cell(cell);
  });
  return found;
}

// Where the bounds of one binding let values lie.
void Pipeline::find_ranked_ranges(Stage& stage, const Batch& in, std::uint32_t in_row) {
  if (stage.ranks_rows) return find_row_ranges(stage, in, in_row);
  stage.row_places.reset();
  for (const KnownComparison& filter : stage.last_filters)
    keep_places(filter.compared, evaluator_.bits(*filter.compared.other, in, in_row), in, in_row,
                stage.row_places);
  stage.row_ranges.clear();
  stage.row_places.append_cells(stage.last_filters.front().compared.kind, stage.row_ranges);
}

Status Pipeline::fold_ranked(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  const std::uint32_t length = stage.step->prefix_length;
  const bool is_search = stage.step->kind == StepKind::kSearch;
  if (is_search) {
    gather_keys(stage, in, length);
    find_indices(stage, in, length);
    prefetch_keys(stage, in, length);
  }
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    find_ranked_ranges(stage, in, r);
    FoldedPart found;
    const auto look_at = [&](const Index& index, const FoundRows& under) {
      if (under.empty()) return;
      if (stage.ranks_rows)
        found += part_of_rows(stage, index, under);
      else
        for (const RowId row : under) found += part_of_cells(stage, index, row);
    };
    if (is_search) {
      const Index& index = *stage.indices[r];
      const Cell* const key = stage.keys.data() + (std::size_t{r} * length);
      const RowId row = stage.ranks_cells ? index.find_row(key) : Index::kNoRow;
      if (stage.ranks_rows)
        look_at(index, index.rows_under(length, key));
      else if (row != Index::kNoRow)
        look_at(index, FoundRows(row, 1));
    } else if (source.joint.empty()) {
      look_at(*source.index, FoundRows(0, source.index->row_count()));
    } else {
      for (const Index* index : source.joint) look_at(*index, FoundRows(0, index->row_count()));
    }
    if (found.count == 0) continue;
    if (definition_.summed && !stage.summed_place)
      found.bits = found.count * evaluator_.bits_of(in.columns[*definition_.summed][r]);
    definition_.add_part(in.tags[r], found);
  }
  return evaluator_.status();
}

}  // namespace stratalog::datalog
