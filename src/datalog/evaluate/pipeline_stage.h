// SPDX-License-Identifier: Apache-2.0
// Pipeline::Stage: one step of a pipeline with what it reads, its output batch and its scratch
// space. For pipeline.cc (how batches flow, and steps that compute), pipeline_atoms.cc (steps that
// read relations), pipeline_compare.cc (comparisons of many values), pipeline_rows.cc (many
// rows for one binding), pipeline_alike.cc (bindings that are alike), pipeline_image.cc (sets under
// all elements of a set), pipeline_witness.cc (bindings of which one is enough) and
// pipeline_share.cc (ranks that share the work). Local.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datalog/evaluate/aggregate_fold.h"
#include "datalog/evaluate/bounded_rows.h"
#include "datalog/evaluate/cell_filter.h"
#include "datalog/evaluate/group_memo.h"
#include "datalog/evaluate/number_columns.h"
#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/pipeline.h"
#include "datalog/evaluate/ranked_lists.h"
#include "datalog/evaluate/repeat_filter.h"
#include "datalog/plan/set_comparison.h"

namespace stratalog::datalog {

// So many sets that a step has made wait for the end of the rule.
inline constexpr std::size_t kMadeSets = 4 * kBatchRows;

// A cell that a step knows: a constant, or of a variable that arrives, or of a column of the row at
// hand.
struct KnownCell {
  enum class From : std::uint8_t { kConstant, kArriving, kBound };
  From from = From::kConstant;
  std::uint32_t at = 0;  // the constant's cell, or which variable or column
};

// Where one witness is enough: rows, or elements, to a look.
inline constexpr std::uint64_t kRowsOfAPart = 32;

// How values are compared with another one, which is computed where no cell is known.
struct KnownComparison {
  SetComparison compared;
  std::optional<KnownCell> other;
};

struct Pipeline::Guard {
  const Stage* next = nullptr;
  std::vector<KnownCell> parts;
  bool asks_bound = false;  // anything that this step binds: else it would be asked too late
  bool asks_last = false;  // the row's set
  std::uint32_t answers = 0;  // since it was judged
  std::uint32_t refused = 0;
  std::uint32_t unguarded = 0;  // bindings to go without it
};

struct Pipeline::Stage {
  const Step* step = nullptr;
  StepSource source;
  bool is_common = false;  // all ranks make the same of the same bindings
  bool has_room = false;  // columns of its own, and what else it needs for bindings
  Batch out;
  std::vector<VariableId> arriving;
  std::vector<VariableId> copied;  // variables that pass through this step
  bool passes_sets = false;  // the carried set was there before this step
  bool makes_all_sets = false;  // it binds the carried set to some that last briefly
  bool only_binds = false;  // what it reads of a row, and asks for nothing
  bool binds_sets = false;  // a search that knows all but the column of the carried set
  std::array<Cell, kMaxArity> bound{};  // by index column: what the current index row binds
  std::optional<Guard> guard;
  std::vector<RowId> rows;  // scratch: rows under a prefix
  std::vector<Cell> keys;  // scratch: search prefixes of a batch
  std::vector<const Index*> indices;  // scratch: where each row of a batch searches
  std::vector<RowId> found;  // scratch: rows of a batch
  std::deque<IntSet> made_sets;  // in batches further on, until those are passed on
  std::optional<IntSet> whole;  // of a relation of one column: what all ranks have of it
  bool meets_alike = false;  // bindings may arrive that are alike
  std::deque<IntSet> united_sets;  // borrowed until they are released or forgotten
  std::uint64_t united_bytes = 0;
  const IntSet* united = nullptr;  // goes instead of what the row at hand carries
  // Of the next step's key, which finds a set under each element that this step binds for it alone.
  std::optional<std::uint32_t> image_place;
  std::vector<const IntSet*> images;  // scratch: sets under elements of the step before
  std::vector<Cell> cells;  // scratch: a set in the making
  std::optional<CellFilter> cell_filter;
  std::optional<NumberFilter> number_filter;
  std::optional<NumberColumns> assigned;  // whole numbers
  std::optional<KnownComparison> set_filter;  // of carried sets
  std::vector<SetComparison> row_filters;  // soon after, of the column behind the prefix
  std::vector<CellRange> row_ranges;  // scratch: where they let its cells lie; all ascend
  PlaceRanges row_places;  // scratch: and its values
  // Soon after, of another column of the rows, of whole numbers.
  struct RowTest {
    std::uint32_t place = 0;
    SetComparison compared;
    PlaceRanges places;  // of the binding at hand: where it lets values lie
    std::vector<CellRange> ranges;  // and cells, in any order
  };
  std::vector<RowTest> row_tests;
  // With row filters, of each index that a scan reads: rows that are not found by their cells.
  struct OrderedRows {
    RowId made_in_order = 0;  // of the index, when these were looked for
    ValuedRuns runs;
  };
  std::vector<OrderedRows> valued_rows;
  bool are_rows_ordered = false;  // as far as the relation has grown in this round
  FoundSpans between;  // scratch
  std::vector<CellRange> last_ranges;  // scratch
  std::vector<KnownComparison> last_filters;  // soon after, of the last column; of one kind
  // Of aggregates that ask for one value, what lies between bounds need not all be bound.
  bool takes_extreme_row = false;
  bool takes_extreme_cell = false;
  // Of aggregates that count or sum what lies between bounds, nothing need be bound.
  bool ranks_rows = false;
  bool ranks_cells = false;
  std::optional<std::uint32_t> summed_place;  // in the columns; none: counts, or what arrives
  std::unique_ptr<RankedLists> ranked;  // of such a stage; the others are looked at more often
  // Swept rows: filters soon after that read keys only, and what those let through that compare
  // pivots with constants, of small numbers.
  std::vector<const Literal*> key_filters;
  std::optional<NumberInterval> pivot_interval;
  IntSet found_set;  // swept rows of all ranks: the row at hand
  Batch waiting;  // swept rows: bindings that ask for pivots
  Batch one;  // scratch: a row that is compared by itself
  std::vector<std::uint32_t> selected;  // scratch: rows of a batch
  std::optional<RepeatFilter> repeats;  // where its output may hold bindings more than once
  bool sees_one_by_one = false;  // the elements of carried sets, where one witness is enough
  bool is_looking = false;  // for a witness, for the binding at hand
  std::uint64_t stride_of = 0;  // so many parts
  std::uint64_t stride = 1;
  std::unique_ptr<Pipeline> inner;  // aggregates
  std::unique_ptr<AggregateFold> fold;
  std::optional<GroupMemo> groups;  // what it has folded
};

// Rows of one index, with a value or the set of the last column each.
struct Pipeline::GatheredRows {
  static constexpr std::size_t kMany = 64;
  explicit GatheredRows(const Index& of) : index(&of) {}

  const Index* index;
  std::size_t count = 0;
  std::array<RowId, kMany> rows;
  std::array<Cell, kMany> lasts;
  std::array<const IntSet*, kMany> sets;
};

inline Cell Pipeline::cell_of(const KnownCell& known, const Stage& stage, const Batch& in,
                              std::uint32_t in_row) {
  return known.from == KnownCell::From::kConstant   ? known.at
         : known.from == KnownCell::From::kArriving ? in.columns[known.at][in_row]
                                                    : stage.bound[known.at];
}

[[gnu::always_inline]] inline Status Pipeline::take_row(std::size_t s, const Batch& in,
                                                        std::uint32_t in_row, RowId row,
                                                        const IntSet& cells,
                                                        GatheredRows& gathered) {
  const Stage& stage = *stages_[s];
  return stage.only_binds ? gather_row(s, in, in_row, row, cells, gathered)
                          : visit_row(s, in, in_row, stage.step->prefix_length,
                                      gathered.index->prefix(row), cells);
}

// For one binding, so many parts of what a step finds, more each time until a witness has come of
// them. Neighbours are often alike, so that parts are taken from everywhere; where witnesses are
// likely among the first ones, so many (near < parts) of these come in between, too. What waits
// behind the step is of other bindings.
template <typename Visit>
Status Pipeline::visit_until_found(std::size_t s, std::uint64_t parts, const Visit& visit,
                                   std::uint64_t near) {
  STRATALOG_RETURN_IF_ERROR(flush_from(s));
  bool& is_found = definition_.witness ? *definition_.witness->is_found : is_found_;
  is_found = false;
  stages_[s]->is_looking = true;
  const std::uint64_t stride = stride_through(*stages_[s], parts);
  std::uint64_t seen = 0;
  std::uint64_t part = 0;
  Status status;
  for (std::uint64_t look = 1; status.is_ok() && seen < parts && !is_found; look *= 2) {
    for (const std::uint64_t end = std::min(parts, seen + look); status.is_ok() && seen < end;
         ++seen) {
      status = visit(part);
      if (status.is_ok() && seen < near) status = visit(seen + 1);
      part = (part + stride) % parts;
    }
    if (status.is_ok()) status = flush_from(s);
  }
  stages_[s]->is_looking = false;
  return status;
}

// Rows by their number.
template <typename Visit>
Status Pipeline::visit_rows_until_found(std::size_t s, std::uint64_t rows, const Visit& visit) {
  const auto visit_part = [&](std::uint64_t part) -> Status {
    const std::uint64_t end = std::min(rows, (part + 1) * kRowsOfAPart);
    for (std::uint64_t at = part * kRowsOfAPart; at < end; ++at)
      STRATALOG_RETURN_IF_ERROR(visit(at));
    return {};
  };
  return visit_until_found(s, (rows + kRowsOfAPart - 1) / kRowsOfAPart, visit_part);
}

inline std::uint32_t Pipeline::append(Stage& stage, const Batch& in, std::uint32_t row) const {
  const std::uint32_t to = stage.out.rows;
  for (const VariableId v : stage.copied) stage.out.columns[v][to] = in.columns[v][row];
  if (stage.passes_sets) stage.out.sets[to] = stage.united != nullptr ? stage.united : in.sets[row];
  if (definition_.tagged) stage.out.tags[to] = in.tags[row];
  return to;
}

// As many as the output has room for.
inline void Pipeline::append_rows(Stage& stage, const Batch& in,
                                  std::span<const std::uint32_t> rows) const {
  Batch& out = stage.out;
  for (const VariableId v : stage.copied) {
    const Cell* const from = in.columns[v].data();
    Cell* const to = out.columns[v].data() + out.rows;
    for (std::size_t i = 0; i < rows.size(); ++i) to[i] = from[rows[i]];
  }
  if (stage.passes_sets)
    for (std::size_t i = 0; i < rows.size(); ++i)
      out.sets[out.rows + i] = stage.united != nullptr ? stage.united : in.sets[rows[i]];
  if (definition_.tagged)
    for (std::size_t i = 0; i < rows.size(); ++i) out.tags[out.rows + i] = in.tags[rows[i]];
}

inline void Pipeline::append_alike(Stage& stage, const Batch& in, std::uint32_t row,
                                   std::uint32_t count) const {
  Batch& out = stage.out;
  for (const VariableId v : stage.copied)
    std::fill_n(out.columns[v].data() + out.rows, count, in.columns[v][row]);
  if (stage.passes_sets)
    std::fill_n(out.sets.data() + out.rows, count,
                stage.united != nullptr ? stage.united : in.sets[row]);
  if (definition_.tagged) std::fill_n(out.tags.data() + out.rows, count, in.tags[row]);
}

}  // namespace stratalog::datalog
