// SPDX-License-Identifier: Apache-2.0
// The steps of a pipeline that read a relation where its sweep left it (swept_rows.h).
#include <algorithm>

#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/evaluate/swept_rows.h"

namespace stratalog::datalog {

Status Pipeline::scan_swept(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  const bool carries = stage.step->columns.back().role == ColumnRole::kCarry;
  std::vector<Cell> prefix(source.key_places.size());
  Status status;
  for (std::uint32_t r = 0; r < in.rows && status.is_ok(); ++r)
    status = source.swept->for_each_row([&](std::span<const Cell> key, IntSet& pivots) -> Status {
      for (std::size_t i = 0; i < key.size(); ++i) prefix[source.key_places[i]] = key[i];
      if (!carries) return visit_row(s, in, r, 0, prefix, pivots);
      if (stage.made_sets.size() >= kMadeSets) STRATALOG_RETURN_IF_ERROR(settle_made_sets(s));
      return visit_row(s, in, r, 0, prefix, stage.made_sets.emplace_back(std::move(pivots)));
    });
  return status.is_ok() ? evaluator_.status() : status;
}

// All key columns are known: one row at most.
Status Pipeline::search_swept(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  const bool carries = stage.step->columns.back().role == ColumnRole::kCarry;
  const std::uint32_t length = stage.step->prefix_length;
  stage.keys.resize(length);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    if (carries && !leads_on(s, in, r)) continue;
    for (std::uint32_t i = 0; i < length; ++i)
      stage.keys[i] = expected(stage.step->columns[i], in, r);
    const IntSet* pivots = source.swept->find(stage.keys.data(), source.key_places);
    if (pivots != nullptr)
      STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, length, stage.keys, *pivots));
  }
  return {};
}

// Few bindings only: each walks over a block of the sweep. What is found is put in the order of the
// step's columns, and visited as an index would have it, a set of last cells for each prefix.
Status Pipeline::search_swept_by_pivot(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  const Step& step = *stage.step;
  const bool carries = step.columns.back().role == ColumnRole::kCarry;
  const std::size_t arity = step.columns.size();
  std::vector<Cell> row(arity);
  std::vector<std::vector<Cell>> found;
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    stage.keys.resize(step.prefix_length);
    for (std::uint32_t i = 0; i < step.prefix_length; ++i)
      stage.keys[i] = expected(step.columns[i], in, r);
    const Cell pivot = stage.keys[source.pivot_place];
    row[source.pivot_place] = pivot;
    found.clear();
    source.swept->for_each_key(pivot, [&](std::span<const Cell> key) {
      for (std::size_t i = 0; i < key.size(); ++i) row[source.key_places[i]] = key[i];
      if (std::ranges::equal(stage.keys, std::span(row).first(step.prefix_length)))
        found.push_back(row);
    });
    std::ranges::sort(found);
    for (std::size_t begin = 0, end = 0; begin < found.size(); begin = end) {
      stage.cells.clear();
      const std::span prefix = std::span(found[begin]).first(arity - 1);
      for (;
           end < found.size() && std::ranges::equal(std::span(found[end]).first(arity - 1), prefix);
           ++end)
        stage.cells.push_back(found[end].back());
      IntSet set;
      set.assign_sorted(stage.cells);
      const IntSet* cells = &set;
      if (carries) {
        if (stage.made_sets.size() >= kMadeSets) STRATALOG_RETURN_IF_ERROR(settle_made_sets(s));
        cells = &stage.made_sets.emplace_back(std::move(set));
      }
      STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, step.prefix_length, prefix, *cells));
    }
  }
  return {};
}

// Every rank has every binding; the one that has the pivot decides.
Status Pipeline::test_swept(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  const Step& step = *stage.step;
  const auto arity = static_cast<std::uint32_t>(step.columns.size());
  stage.keys.resize(arity);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    for (std::uint32_t i = 0; i < arity; ++i) stage.keys[i] = expected(step.columns[i], in, r);
    const Cell pivot = stage.keys[source.pivot_place];
    if (source.parts > 1 && source.swept->owner_of(pivot) != static_cast<int>(source.part))
      continue;
    const bool there = source.swept->contains(stage.keys.data(), source.key_places, pivot);
    if (there != (step.kind == StepKind::kExists)) continue;
    append(stage, in, r);
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return {};
}

}  // namespace stratalog::datalog
