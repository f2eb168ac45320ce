// SPDX-License-Identifier: Apache-2.0
// The steps of a pipeline that read a relation where its sweep left it (swept_rows.h).
#include <algorithm>
#include <numeric>
#include <utility>

#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/evaluate/swept_rows.h"

namespace stratalog::datalog {

Status Pipeline::scan_swept(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  std::vector<Cell> prefix(source.key_places.size());
  std::optional<CellSet> wanted;
  if (stage.pivot_interval) {
    std::vector<CellRange> ranges = stage.pivot_interval->cells();
    ranges.push_back({.lowest = kWideBase, .highest = ~Cell{0}});  // may be any numbers
    wanted = CellSet(std::move(ranges));
  }
  Status status;
  for (std::uint32_t r = 0; r < in.rows && status.is_ok(); ++r)
    status = source.swept->for_each_row(
        [&](std::span<const Cell> key) {
          for (std::size_t i = 0; i < key.size(); ++i) prefix[source.key_places[i]] = key[i];
          return admits_key(s, in, r, prefix);
        },
        wanted ? &*wanted : nullptr,
        [&](IntSet& pivots) -> Status {
          STRATALOG_ASSIGN_OR_RETURN(const IntSet* const set, kept_set(s, pivots));
          return visit_row(s, in, r, 0, prefix, *set);
        });
  return status.is_ok() ? evaluator_.status() : status;
}

Result<const IntSet*> Pipeline::kept_set(std::size_t s, IntSet& set) {
  Stage& stage = *stages_[s];
  if (stage.step->columns.back().role != ColumnRole::kCarry) return &set;
  if (stage.made_sets.size() >= kMadeSets) STRATALOG_RETURN_IF_ERROR(settle_made_sets(s));
  return &stage.made_sets.emplace_back(std::move(set));
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
    const IntSet* pivots =
        source.swept->find(stage.keys.data(), source.key_places, stage.found_set);
    if (pivots != nullptr)
      STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, length, stage.keys, *pivots));
  }
  return {};
}

// Each look at pivots walks over blocks of the sweep, whether for one or for many.
Status Pipeline::wait_for_more(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  Batch& waiting = stage.waiting;
  waiting.columns.resize(in.columns.size());
  for (const VariableId v : stage.arriving)
    waiting.columns[v].insert(waiting.columns[v].end(), in.columns[v].begin(),
                              in.columns[v].begin() + in.rows);
  if (definition_.tagged)
    waiting.tags.insert(waiting.tags.end(), in.tags.begin(), in.tags.begin() + in.rows);
  if (stage.passes_sets)
    waiting.sets.insert(waiting.sets.end(), in.sets.begin(), in.sets.begin() + in.rows);
  waiting.rows += in.rows;
  return stage.passes_sets || waiting.rows >= kGatheredBindings ? pass_waiting(s) : Status();
}

Status Pipeline::pass_waiting(std::size_t s) {
  Batch& waiting = stages_[s]->waiting;
  if (waiting.rows == 0) return {};
  const Status status = stages_[s]->step->kind == StepKind::kAggregate ? fold_body(s, waiting)
                                                                       : look_up_pivots(s, waiting);
  for (std::vector<Cell>& column : waiting.columns) column.clear();
  waiting.tags.clear();
  waiting.sets.clear();
  waiting.rows = 0;
  return status;
}

Status Pipeline::look_up_pivots(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  const ColumnUse& asked = stage.step->columns[source.pivot_place];
  std::vector<std::uint32_t> rows(in.rows);
  std::iota(rows.begin(), rows.end(), 0U);
  const auto pivot_of = [&](std::uint32_t r) { return expected(asked, in, r); };
  std::ranges::sort(rows, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(pivot_of(a), a) < std::pair(pivot_of(b), b);
  });
  std::vector<Cell> pivots;
  std::vector<std::size_t> begins;  // of each pivot's rows
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && pivot_of(rows[i]) == pivots.back()) continue;
    pivots.push_back(pivot_of(rows[i]));
    begins.push_back(i);
  }
  begins.push_back(rows.size());
  const auto alike = [&](std::size_t which) {
    return std::span(rows).subspan(begins[which], begins[which + 1] - begins[which]);
  };
  if (stage.step->columns.size() == 2)
    return source.swept->for_each_pivot_set(pivots, [&](std::size_t which, IntSet& keys) {
      return visit_keys(s, in, alike(which), pivots[which], keys);
    });
  return source.swept->for_each_pivot(pivots, [&](std::size_t which, std::span<const Cell> keys) {
    return visit_long_keys(s, in, alike(which), pivots[which], keys);
  });
}

// Keys of one column: the pivot is the row, and they are its set.
Status Pipeline::visit_keys(std::size_t s, const Batch& in, std::span<const std::uint32_t> rows,
                            Cell pivot, IntSet& keys) {
  if (only_counts(s)) {
    for (const std::uint32_t r : rows)
      definition_.count_many(in.tags[r], keys.size() * elements_of(in, r));
    return {};
  }
  STRATALOG_ASSIGN_OR_RETURN(const IntSet* const cells, kept_set(s, keys));
  for (const std::uint32_t r : rows)
    STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, 1, {&pivot, 1}, *cells));
  return {};
}

// Of more columns: whole rows are put in the order of the step's columns, so that those that a
// binding asks for follow each other.
Status Pipeline::visit_long_keys(std::size_t s, const Batch& in,
                                 std::span<const std::uint32_t> rows, Cell pivot,
                                 std::span<const Cell> keys) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  const std::size_t width = source.key_places.size();
  using Row = std::array<Cell, kMaxArity>;  // unused columns are all alike
  std::vector<Row> found(keys.size() / width);
  for (std::size_t k = 0; k < found.size(); ++k) {
    found[k] = {};
    found[k][source.pivot_place] = pivot;
    for (std::size_t i = 0; i < width; ++i) found[k][source.key_places[i]] = keys[(k * width) + i];
  }
  std::ranges::sort(found);
  const std::uint32_t length = stage.step->prefix_length;
  const auto prefix_of = [](const Row& row, std::size_t cells) {
    return std::span(row).first(cells);
  };
  for (const std::uint32_t r : rows) {
    Row asked{};
    for (std::uint32_t i = 0; i < length; ++i) asked[i] = expected(stage.step->columns[i], in, r);
    auto begin = std::ranges::lower_bound(found, asked);
    while (begin != found.end() &&
           std::ranges::equal(prefix_of(*begin, length), prefix_of(asked, length))) {
      const auto prefix = prefix_of(*begin, width);
      const auto end = std::find_if(begin, found.end(), [&](const Row& row) {
        return !std::ranges::equal(prefix_of(row, width), prefix);
      });
      stage.cells.clear();
      for (auto row = begin; row != end; ++row) stage.cells.push_back((*row)[width]);
      IntSet set;
      set.assign_sorted(stage.cells);
      STRATALOG_ASSIGN_OR_RETURN(const IntSet* const cells, kept_set(s, set));
      STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, length, prefix, *cells));
      begin = end;
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
    const bool there = source.swept->contains(stage.keys.data(), source.key_places, pivot);
    if (there != (step.kind == StepKind::kExists)) continue;
    append(stage, in, r);
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return {};
}

}  // namespace stratalog::datalog
