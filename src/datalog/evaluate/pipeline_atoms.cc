// SPDX-License-Identifier: Apache-2.0
// The steps of a Pipeline that read relations: scans, searches and membership tests in indices,
// in classes of equivalence relations, and in rows that a sweep has left. See pipeline.h.
#include <algorithm>

#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/evaluate/swept_rows.h"
#include "relation/set_algebra.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {
namespace {

// Of an index: what tells them from each other is more than a core's caches hold.
constexpr RowId kManyRows = RowId{1} << 17;

// New tuples up to so many rows are looked at before a rule begins with them.
constexpr std::size_t kFewNewRows = 8;

void copy_rows(const FoundRows& from, std::vector<RowId>& to) {
  to.clear();
  for (const RowId row : from) to.push_back(row);
}

// Not std::equal, which calls memcmp for a key of one or two cells.
bool is_same_key(const Cell* a, const Cell* b, std::uint32_t length) {
  for (std::uint32_t i = 0; i < length; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

bool has_parts(const SetView& view) {
  return view.kind == SetKind::kArray ? !view.values.empty()
                                      : view.kind == SetKind::kBitmap && !view.words.empty();
}

}  // namespace

Cell Pipeline::expected(const ColumnUse& use, const Batch& in, std::uint32_t in_row) const {
  return use.role == ColumnRole::kMatchConstant ? definition_.constants[use.constant]
                                                : in.columns[use.variable][in_row];
}

const Index& Pipeline::index_of(const Stage& stage, const Batch& in, std::uint32_t in_row) const {
  return stage.source.index_for(
      [&](std::uint32_t place) { return expected(stage.step->columns[place], in, in_row); });
}

Status Pipeline::visit_row(std::size_t s, const Batch& in, std::uint32_t in_row,
                           std::uint32_t first, std::span<const Cell> prefix, const IntSet& cells) {
  if (cells.empty()) return {};
  Stage& stage = *stages_[s];
  const auto& columns = stage.step->columns;
  const std::uint32_t last = static_cast<std::uint32_t>(columns.size()) - 1;

  // The column of this atom that bound the variable of a kMatchEarlier.
  const auto earlier = [&](VariableId v) {
    for (std::uint32_t i = 0;; ++i)
      if (columns[i].role == ColumnRole::kBind && columns[i].variable == v) return stage.bound[i];
  };
  for (std::uint32_t i = first; i < last; ++i) {
    const ColumnUse& use = columns[i];
    switch (use.role) {
      case ColumnRole::kBind:
        stage.bound[i] = prefix[i];
        break;
      case ColumnRole::kMatchEarlier:
        if (earlier(use.variable) != prefix[i]) return {};
        break;
      case ColumnRole::kMatchVariable:
      case ColumnRole::kMatchConstant:
        if (expected(use, in, in_row) != prefix[i]) return {};
        break;
      case ColumnRole::kIgnore:
      case ColumnRole::kCarry:
        break;
    }
  }
  const bool guarded = is_guarding(stage);
  const bool asks_each = guarded && stage.guard->asks_last;
  if (guarded && !asks_each && !is_admitted(stage, in, in_row)) return {};
  const auto emit_one = [&]() -> Status {
    const std::uint32_t to = append(stage, in, in_row);
    bind_prefix(stage, first, 1);
    if (columns[last].role == ColumnRole::kCarry) stage.out.sets[to] = &cells;
    return ++stage.out.rows == kBatchRows ? flush(s) : Status();
  };
  const ColumnUse& use = columns[last];
  if (first > last) return emit_one();
  switch (use.role) {
    case ColumnRole::kCarry:
      return emit_one();
    case ColumnRole::kMatchVariable:
    case ColumnRole::kMatchConstant:
      return cells.contains(expected(use, in, in_row)) ? emit_one() : Status();
    case ColumnRole::kMatchEarlier:
      return cells.contains(earlier(use.variable)) ? emit_one() : Status();
    case ColumnRole::kIgnore:
      // Nobody reads the column: one binding stands for all, except where combinations are counted.
      if (!definition_.counts) return emit_one();
      if (only_counts(s)) {
        definition_.count_many(in.tags[in_row], cells.size() * elements_of(in, in_row));
        return {};
      }
      for (std::uint64_t i = 0; i < cells.size(); ++i) STRATALOG_RETURN_IF_ERROR(emit_one());
      return {};
    case ColumnRole::kBind:
      break;
  }
  if (cells.size() == 1) {
    stage.bound[last] = first_of(cells.view());
    if (asks_each && !is_admitted(stage, in, in_row)) return {};
    stage.out.columns[use.variable][stage.out.rows] = stage.bound[last];
    return emit_one();
  }
  if (asks_each) {
    Status status;
    cells.walk([&](Cell cell) {
      stage.bound[last] = cell;
      if (!status.is_ok() || !is_admitted(stage, in, in_row)) return;
      stage.out.columns[use.variable][stage.out.rows] = cell;
      status = emit_one();
    });
    return status;
  }
  if (const auto cell = only_extreme(s, cells.view())) {
    stage.bound[last] = *cell;
    stage.out.columns[use.variable][stage.out.rows] = *cell;
    return emit_one();
  }
  return stage.last_filters.empty() ? bind_each(s, in, in_row, first, cells.view())
                                    : bind_compared(s, in, in_row, first, cells);
}

bool Pipeline::only_counts(std::size_t s) const {
  return definition_.count_many && s + 1 == stages_.size() &&
         stages_[s]->step->columns.back().role == ColumnRole::kIgnore;
}

// To `count` rows from the next output row on.
void Pipeline::bind_prefix(Stage& stage, std::uint32_t first, std::uint32_t count) const {
  const auto& columns = stage.step->columns;
  for (std::uint32_t i = first; i + 1 < columns.size(); ++i)
    if (columns[i].role == ColumnRole::kBind)
      std::fill_n(stage.out.columns[columns[i].variable].data() + stage.out.rows, count,
                  stage.bound[i]);
}

// As many bindings as the set has elements: column by column, because a loop over all columns for
// each element takes several times as long.
Status Pipeline::bind_each(std::size_t s, const Batch& in, std::uint32_t in_row,
                           std::uint32_t first, const SetView& view) {
  Stage& stage = *stages_[s];
  if (witnessed_ == s && !stage.is_looking && has_parts(view) &&
      stops_early(s, view.count, in, in_row))
    return bind_until_found(s, in, in_row, first, view);
  if (takes_image(s)) return bind_image(s, in, in_row, first, view);
  Batch& out = stage.out;
  Cell* const into = out.columns[stage.step->columns.back().variable].data();
  // The elements are there; what comes along with them is the same for all.
  const auto complete = [&](std::uint32_t count) -> Status {
    append_alike(stage, in, in_row, count);
    bind_prefix(stage, first, count);
    out.rows += count;
    return out.rows == kBatchRows ? flush(s) : Status();
  };
  if (view.kind == SetKind::kArray) {
    for (std::size_t at = 0; at < view.values.size();) {
      const std::size_t count =
          std::min<std::size_t>(kBatchRows - out.rows, view.values.size() - at);
      std::copy_n(view.values.data() + at, count, into + out.rows);
      STRATALOG_RETURN_IF_ERROR(complete(static_cast<std::uint32_t>(count)));
      at += count;
    }
    return {};
  }
  Status status;
  std::uint32_t count = 0;
  walk_set(view, [&](Cell cell) {
    if (!status.is_ok()) return;
    into[out.rows + count] = cell;
    if (out.rows + ++count < kBatchRows) return;
    status = complete(count);
    count = 0;
  });
  return count > 0 && status.is_ok() ? complete(count) : status;
}

Status Pipeline::scan(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const StepSource& source = stage.source;
  if (stage.step->columns.empty()) {  // the truth of a nullary relation, or of its delta
    for (std::uint32_t r = 0; r < in.rows && *source.nullary; ++r) {
      append(stage, in, r);
      if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
    }
    return {};
  }
  if (stage.step->kind == StepKind::kScanDelta && stage.step->prefix_length > 0)
    return search_delta(s, in);
  if (source.equivalence != nullptr) return scan_equivalence(s, in);
  if (source.swept != nullptr) return scan_swept(s, in);
  if (stage.ranks_rows || stage.ranks_cells) return fold_ranked(s, in);
  if (!stage.row_filters.empty()) return scan_between(s, in);
  if (!source.joint.empty()) return scan_joint(s, in);
  const Index& index = *source.index;
  const bool parts = parts_by_rows(s);
  const auto mine = [&](RowId row) { return !parts || is_own_row(index, row); };
  GatheredRows gathered(index);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    if (stage.step->kind == StepKind::kScanDelta) {
      for (const DeltaRow& row : index.delta())
        if (mine(row.row))
          STRATALOG_RETURN_IF_ERROR(take_row(s, in, r, row.row, row.cells, gathered));
      STRATALOG_RETURN_IF_ERROR(bind_rows(s, in, r, gathered));
      continue;
    }
    // Rows that this very rule adds meanwhile hold nothing before the round ends.
    const RowId rows = index.row_count();
    if (stops_early(s, rows, in, r)) {
      STRATALOG_RETURN_IF_ERROR(visit_rows_until_found(s, rows, [&](std::uint64_t at) {
        const auto row = static_cast<RowId>(at);
        return visit_row(s, in, r, 0, index.prefix(row), index.total(row));
      }));
      continue;
    }
    for (RowId row = 0; row < rows; ++row)
      if (mine(row)) STRATALOG_RETURN_IF_ERROR(take_row(s, in, r, row, index.total(row), gathered));
    STRATALOG_RETURN_IF_ERROR(bind_rows(s, in, r, gathered));
  }
  return evaluator_.status();
}

Status Pipeline::search_delta(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  if (stage.source.equivalence != nullptr) {
    for (std::uint32_t r = 0; r < in.rows; ++r) {
      const Cell key = expected(stage.step->columns[0], in, r);
      for (const Equivalence::DeltaBlock& block : equivalence_for(stage.source, key).delta())
        if (block.left.contains(key))
          STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, 1, std::span(&key, 1), *block.right));
    }
    return {};
  }
  const std::uint32_t length =
      std::min(stage.step->prefix_length, stage.source.index->prefix_width());
  gather_keys(stage, in, length);
  find_indices(stage, in, length);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const Index& index = *stage.indices[r];
    const Cell* key = stage.keys.data() + (std::size_t{r} * length);
    const auto visit = [&](RowId row, const IntSet& cells) {
      return visit_row(s, in, r, length, index.prefix(row), cells);
    };
    if (length == index.prefix_width()) {
      const RowId row = index.find_row(key);
      const IntSet* found = row == Index::kNoRow ? nullptr : index.find_delta(row);
      if (found != nullptr) STRATALOG_RETURN_IF_ERROR(visit(row, *found));
      continue;
    }
    // The shorter of the two: the rows under the prefix, or those with new tuples.
    const FoundRows under = index.rows_under(length, key);
    if (under.size() < index.delta().size()) {
      // A copy, because the rule may add rows to this very index while it walks them.
      copy_rows(under, stage.rows);
      for (const RowId row : stage.rows)
        if (const IntSet* found = index.find_delta(row); found != nullptr)
          STRATALOG_RETURN_IF_ERROR(visit(row, *found));
      continue;
    }
    for (const DeltaRow& row : index.delta())
      if (is_same_key(index.prefix(row.row).data(), key, length))
        STRATALOG_RETURN_IF_ERROR(visit(row.row, row.cells));
  }
  return evaluator_.status();
}

bool Pipeline::begins_in_vain() const {
  if (stages_.empty()) return false;
  const Step& step = *stages_.front()->step;
  const StepSource& source = stages_.front()->source;
  if (step.kind != StepKind::kScanDelta || step.prefix_length > 0 || source.index == nullptr ||
      !source.joint.empty())
    return false;
  const DeltaRows rows = source.index->delta();
  if (rows.size() > kFewNewRows) return false;
  const std::size_t last = step.columns.size() - 1;
  const auto fits = [&](const DeltaRow& row) {
    const std::span<const Cell> prefix = source.index->prefix(row.row);
    for (std::size_t i = 0; i <= last; ++i) {
      const ColumnUse& use = step.columns[i];
      if (use.role != ColumnRole::kMatchConstant) continue;
      const Cell wanted = definition_.constants[use.constant];
      if (i < last ? prefix[i] != wanted : !row.cells.contains(wanted)) return false;
    }
    return true;
  };
  for (const DeltaRow& row : rows)
    if (fits(row)) return false;
  return true;
}

// All ranks' rows, one rank's after the other's; where they are shared, this rank's turns.
Status Pipeline::scan_joint(std::size_t s, const Batch& in) {
  const StepSource& source = stages_[s]->source;
  const bool delta = stages_[s]->step->kind == StepKind::kScanDelta;
  const auto rows_of = [&](const Index& index) -> std::uint64_t {
    return delta ? index.delta().size() : index.row_count();
  };
  std::uint64_t rows = 0;
  for (const Index* index : source.joint) rows += rows_of(*index);
  const auto row_at = [&](const Index& index, std::uint64_t number) -> DeltaRow {
    const auto row = static_cast<RowId>(number);
    return delta ? index.delta()[row] : DeltaRow{.row = row, .cells = index.total(row)};
  };
  const bool parts = parts_by_rows(s);
  const bool takes_turns = parts && share_.is_ordered;
  GatheredRows gathered(*source.joint.front());
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    std::size_t which = 0;
    std::uint64_t begin = 0;  // of its rows
    const auto visit = [&](std::uint64_t at, std::uint64_t end) -> Status {
      for (; at < end; ++at) {
        while (at - begin >= rows_of(*source.joint[which]))
          begin += rows_of(*source.joint[which++]);
        const Index& index = *source.joint[which];
        if (gathered.index != &index) {
          STRATALOG_RETURN_IF_ERROR(bind_rows(s, in, r, gathered));
          gathered.index = &index;
        }
        const DeltaRow found = row_at(index, at - begin);
        if (parts && !takes_turns && !is_own_row(index, found.row)) continue;
        STRATALOG_RETURN_IF_ERROR(take_row(s, in, r, found.row, found.cells, gathered));
      }
      STRATALOG_RETURN_IF_ERROR(bind_rows(s, in, r, gathered));
      return takes_turns ? flush_well_filled(s) : Status();
    };
    const auto visit_anywhere = [&](std::uint64_t at) -> Status {
      std::size_t of = 0;
      while (at >= rows_of(*source.joint[of])) at -= rows_of(*source.joint[of++]);
      const DeltaRow found = row_at(*source.joint[of], at);
      return visit_row(s, in, r, 0, source.joint[of]->prefix(found.row), found.cells);
    };
    STRATALOG_RETURN_IF_ERROR(takes_turns ? turns_.take(rows, visit)
                              : stops_early(s, rows, in, r)
                                  ? visit_rows_until_found(s, rows, visit_anywhere)
                                  : visit(0, rows));
  }
  return evaluator_.status();
}

// Every element of a class is the prefix of a row that holds the class. Where it is dealt, several
// ranks have a class, each for its own elements.
Status Pipeline::scan_equivalence(std::size_t s, const Batch& in) {
  const StepSource& source = stages_[s]->source;
  Status status;
  const auto scan_part = [&](const Equivalence& equivalence, std::uint32_t part,
                             std::uint32_t parts) {
    const auto visit = [&](std::uint32_t r, const IntSet& left, const IntSet& right) {
      left.walk([&](Cell cell) {
        const std::span<const Cell> prefix(&cell, 1);
        if (status.is_ok() && (parts <= 1 || scale_hash(hash_cells(prefix), parts) == part))
          status = visit_row(s, in, r, 0, prefix, right);
      });
    };
    for (std::uint32_t r = 0; r < in.rows; ++r) {
      if (stages_[s]->step->kind == StepKind::kScanDelta)
        for (const Equivalence::DeltaBlock& block : equivalence.delta())
          visit(r, block.left, *block.right);
      else
        equivalence.for_each_class([&](const IntSet& members) { visit(r, members, members); });
    }
  };
  if (source.parts <= 1 && !source.joint_equivalence.empty()) {
    const auto ranks = static_cast<std::uint32_t>(source.joint_equivalence.size());
    for (std::uint32_t part = 0; part < ranks; ++part)
      scan_part(*source.joint_equivalence[part], part, ranks);
  } else {
    scan_part(*source.equivalence, source.part, source.parts);
  }
  return status.is_ok() ? evaluator_.status() : status;
}

bool Pipeline::leads_on(std::size_t s, const Batch& in, std::uint32_t in_row) const {
  if (s + 1 == stages_.size()) return true;
  const StepSource& source = stages_[s + 1]->source;
  const Step& next = *stages_[s + 1]->step;
  if (next.kind != StepKind::kExists || next.columns.empty() || source.index == nullptr ||
      next.columns.back().role != ColumnRole::kCarry || next.prefix_length == 0)
    return true;
  std::array<Cell, kMaxArity> key;
  for (std::uint32_t i = 0; i < next.prefix_length; ++i)
    key[i] = expected(next.columns[i], in, in_row);
  return index_of(*stages_[s + 1], in, in_row).has_row(key.data());
}

// For all rows of a batch, whose first `width` cells each are in the stage's keys.
void Pipeline::find_indices(Stage& stage, const Batch& in, std::uint32_t width) const {
  const StepSource& source = stage.source;
  stage.indices.resize(kBatchRows);
  if (source.joint.empty()) {
    if (stage.indices[0] == nullptr) std::ranges::fill(stage.indices, source.index);
    return;
  }
  const auto ranks = static_cast<std::uint32_t>(source.joint.size());
  const std::span<const std::uint32_t> places = source.owner_places;
  if (places.empty() || std::ranges::any_of(places, [&](std::uint32_t p) { return p >= width; })) {
    for (std::uint32_t r = 0; r < in.rows; ++r) stage.indices[r] = &index_of(stage, in, r);
    return;
  }
  const Cell* key = stage.keys.data();
  for (std::uint32_t r = 0; r < in.rows; ++r, key += width)
    stage.indices[r] = r > 0 && is_same_key(key, key - width, width)
                           ? stage.indices[r - 1]
                           : source.joint[scale_hash(hash_columns({key, width}, places), ranks)];
}

void Pipeline::gather_keys(Stage& stage, const Batch& in, std::uint32_t width) const {
  stage.keys.resize(std::size_t{in.rows} * width);
  for (std::uint32_t i = 0; i < width; ++i) {
    const ColumnUse& use = stage.step->columns[i];
    Cell* to = stage.keys.data() + i;
    if (use.role == ColumnRole::kMatchConstant) {
      for (std::uint32_t r = 0; r < in.rows; ++r, to += width)
        *to = definition_.constants[use.constant];
      continue;
    }
    const Cell* from = in.columns[use.variable].data();
    for (std::uint32_t r = 0; r < in.rows; ++r, to += width) *to = from[r];
  }
}

// What is small is near already.
bool Pipeline::is_far(const Index& index) { return index.row_count() >= kManyRows; }

// What the gathered keys find lies anywhere: all of it is asked for before the first look.
void Pipeline::prefetch_keys(const Stage& stage, const Batch& in, std::uint32_t length) const {
  if (!is_far(*stage.source.index)) return;
  const Cell* key = stage.keys.data();
  for (std::uint32_t r = 0; r < in.rows; ++r, key += length)
    stage.indices[r]->prefetch_under(length, key);
  // What that tells where to look has come by now.
  key = stage.keys.data();
  for (std::uint32_t r = 0; r < in.rows; ++r, key += length)
    stage.indices[r]->prefetch_found_under(length, key);
}

Status Pipeline::search(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  if (stage.source.equivalence != nullptr) {
    for (std::uint32_t r = 0; r < in.rows; ++r) {
      const Cell key = expected(stage.step->columns[0], in, r);
      const IntSet* members = equivalence_for(stage.source, key).class_of(key);
      if (members != nullptr)
        STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, 1, std::span(&key, 1), *members));
    }
    return {};
  }
  if (stage.source.swept != nullptr)
    return knows_pivot(*stage.step, stage.source) ? wait_for_more(s, in) : search_swept(s, in);
  if (stage.ranks_rows || stage.ranks_cells) return fold_ranked(s, in);
  const std::uint32_t length = stage.step->prefix_length;
  gather_keys(stage, in, length);
  find_indices(stage, in, length);

  if (length == stage.source.index->prefix_width()) {
    // One row each: look all of them up first, so that their cache misses overlap.
    stage.found.resize(in.rows);
    prefetch_keys(stage, in, length);
    for (std::uint32_t r = 0; r < in.rows; ++r) {
      const Index& index = *stage.indices[r];
      const Cell* key = stage.keys.data() + (std::size_t{r} * length);
      // Bindings with the same key often come in a row.
      if (r > 0 && is_same_key(key, key - length, length)) {
        stage.found[r] = stage.found[r - 1];
        continue;
      }
      stage.found[r] = index.find_row(key);
      if (stage.found[r] != Index::kNoRow) index.prefetch_total(stage.found[r]);
    }
    for (std::uint32_t r = 0, end = 0; r < in.rows; r = end) {
      end = stage.meets_alike && !stage.is_common ? end_of_alike(stage, in, r) : r + 1;
      const RowId row = stage.found[r];
      if (row == Index::kNoRow) continue;
      const Index& index = *stage.indices[r];
      if (stage.binds_sets) {  // what visit_row() does, without its questions
        const IntSet& cells = index.total(row);
        if (cells.empty()) continue;
        stage.out.sets[append(stage, in, r)] = &cells;
        if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
        continue;
      }
      STRATALOG_RETURN_IF_ERROR(
          end == r + 1 ? visit_row(s, in, r, length, index.prefix(row), index.total(row))
                       : visit_alike(s, in, r, end, index, {&stage.found[r], 1}));
    }
    return {};
  }
  prefetch_keys(stage, in, length);
  // What is under a key stays listed for the bindings with the same one that follow, as all have
  // that come from one row's set, unless more than the key tells what is listed.
  const bool may_stay = stage.row_filters.empty() && stage.row_tests.empty();
  for (std::uint32_t r = 0, end = 0; r < in.rows; r = end) {
    end = stage.meets_alike && !stage.is_common ? end_of_alike(stage, in, r) : r + 1;
    const Index& index = *stage.indices[r];
    const Cell* key = stage.keys.data() + (std::size_t{r} * length);
    if (!may_stay || r == 0 || stage.indices[r - 1] != &index ||
        !is_same_key(key, key - length, length))
      find_under(stage, in, r, index, key);
    STRATALOG_RETURN_IF_ERROR(visit_found(s, in, r, end, index));
  }
  return {};
}

// The rows that are in the stage's list, or what is this rank's of them.
Status Pipeline::visit_found(std::size_t s, const Batch& in, std::uint32_t row, std::uint32_t end,
                             const Index& index) {
  Stage& stage = *stages_[s];
  const bool is_alone = end - row == 1 || !stage.passes_sets;
  if (is_alone && stops_early(s, stage.rows.size(), in, row))
    return visit_rows_until_found(s, stage.rows.size(), [&](std::uint64_t at) {
      const RowId found = stage.rows[at];
      return visit_row(s, in, row, stage.step->prefix_length, index.prefix(found),
                       index.total(found));
    });
  if (!parts_by_rows(s)) return visit_alike(s, in, row, end, index, stage.rows);
  if (!share_.is_ordered) {
    std::erase_if(stage.rows, [&](RowId found) { return !is_own_row(index, found); });
    return visit_alike(s, in, row, end, index, stage.rows);
  }
  return turns_.take(stage.rows.size(), [&](std::uint64_t from, std::uint64_t to) -> Status {
    const auto mine = std::span(stage.rows).subspan(from, to - from);
    STRATALOG_RETURN_IF_ERROR(visit_alike(s, in, row, end, index, mine));
    return flush_well_filled(s);
  });
}

bool Pipeline::exists_under(const Stage& stage, const Batch& in, std::uint32_t in_row,
                            const Cell* key) const {
  const Step& step = *stage.step;
  if (step.columns.empty()) return *stage.source.nullary;
  const std::uint32_t length = step.prefix_length;
  if (stage.source.equivalence != nullptr) {
    if (length == 0) return *stage.source.global_rows > 0;
    const Equivalence& part = equivalence_for(stage.source, *key);
    if (length == 1) return part.class_of(*key) != nullptr;
    return part.contains(*key, expected(step.columns[1], in, in_row));
  }
  const Index& index = *stage.indices[in_row];
  if (length == 0) return index.tuples() > 0 || *stage.source.global_rows > 0;
  if (length >= index.prefix_width()) {
    if (length == index.prefix_width()) return index.has_row(key);
    const RowId row = index.find_row(key);
    return row != Index::kNoRow &&
           index.total(row).contains(expected(step.columns.back(), in, in_row));
  }
  for (const RowId row : index.rows_under(length, key))
    if (!index.total(row).empty()) return true;
  return false;
}

Status Pipeline::membership(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Step& step = *stage.step;
  if (!step.columns.empty() && step.columns.back().role == ColumnRole::kCarry)
    return restrict_sets(s, in);
  if (stage.source.swept != nullptr) return test_swept(s, in);
  const bool is_indexed = stage.source.index != nullptr;
  const std::uint32_t width =
      step.columns.empty()
          ? 0
          : std::min(step.prefix_length, is_indexed ? stage.source.index->prefix_width() : 1U);
  gather_keys(stage, in, width);
  if (is_indexed) find_indices(stage, in, width);
  if (is_indexed && width > 0) prefetch_keys(stage, in, width);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const bool there = exists_under(stage, in, r, stage.keys.data() + (std::size_t{r} * width));
    if (there != (step.kind == StepKind::kExists)) continue;
    append(stage, in, r);
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return {};
}

Status Pipeline::restrict_sets(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Step& step = *stage.step;
  const bool is_indexed = stage.source.index != nullptr;
  const std::uint32_t width = step.prefix_length;
  gather_keys(stage, in, width);
  if (is_indexed) {
    find_indices(stage, in, width);
    prefetch_keys(stage, in, width);
  }
  if (width == 0 && !stage.source.joint.empty() && !stage.whole) unite_joint(stage);
  const auto set_of = [&](std::uint32_t r) -> const IntSet* {
    if (stage.whole) return &*stage.whole;
    const Cell* key = stage.keys.data() + (std::size_t{r} * width);
    if (stage.source.swept != nullptr)
      return stage.source.swept->find(key, stage.source.key_places, stage.found_set);
    if (!is_indexed) return equivalence_for(stage.source, *key).class_of(*key);
    const Index& index = *stage.indices[r];
    const RowId row = index.find_row(key);
    return row == Index::kNoRow ? nullptr : &index.total(row);
  };
  const bool counts_here = definition_.count_many && s + 1 == stages_.size();
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const IntSet* set = in.sets[r];
    const IntSet* other = set_of(r);
    const bool meets = other != nullptr && !other->empty();
    if (!meets && step.kind == StepKind::kExists) continue;
    if (counts_here) {
      const std::uint64_t common = meets ? count_common(*set, *other) : 0;
      definition_.count_many(in.tags[r],
                             step.kind == StepKind::kExists ? common : set->size() - common);
      continue;
    }
    if (meets) {
      stage.cells.clear();
      if (step.kind == StepKind::kExists)
        intersect_sets(*set, *other, stage.cells);
      else
        subtract_sets(*set, *other, stage.cells);
      if (stage.cells.empty()) continue;
      if (stage.cells.size() < set->size()) {
        stage.made_sets.emplace_back().assign_sorted(stage.cells);
        stage.out.has_brief_sets = true;
        set = &stage.made_sets.back();
      }
    }
    STRATALOG_RETURN_IF_ERROR(pass_set(s, in, r, set));
  }
  return {};
}

// A relation of one column that is dealt by it, finished long ago.
void Pipeline::unite_joint(Stage& stage) const {
  stage.cells.clear();
  for (const Index* index : stage.source.joint) {
    const RowId row = index->find_row(nullptr);
    if (row == Index::kNoRow) continue;
    if (definition_.scratch != nullptr)
      definition_.scratch->add(index->total(row));
    else  // within an aggregate
      index->total(row).walk([&](Cell cell) { stage.cells.push_back(cell); });
  }
  if (definition_.scratch != nullptr)
    definition_.scratch->take_new(IntSet(), stage.cells);
  else
    std::ranges::sort(stage.cells);
  stage.whole.emplace().assign_sorted(stage.cells);
}

Status Pipeline::pass_set(std::size_t s, const Batch& in, std::uint32_t row, const IntSet* set) {
  Stage& stage = *stages_[s];
  const std::uint32_t to = append(stage, in, row);
  stage.out.sets[to] = set;
  return ++stage.out.rows == kBatchRows ? settle_made_sets(s) : Status();
}

Status Pipeline::settle_made_sets(std::size_t s) {
  Stage& stage = *stages_[s];
  STRATALOG_RETURN_IF_ERROR(flush(s));
  if (stage.made_sets.size() < kMadeSets) return {};
  STRATALOG_RETURN_IF_ERROR(flush_from(s + 1));
  stage.made_sets.clear();
  return {};
}

}  // namespace stratalog::datalog
