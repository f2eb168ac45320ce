// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/pipeline.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>

#include "datalog/evaluate/aggregate_fold.h"
#include "datalog/plan/literal_order.h"
#include "relation/set_algebra.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {
namespace {

// So many sets that a step has made wait for the end of the rule.
constexpr std::size_t kMadeSets = 4 * kBatchRows;

}  // namespace

struct Pipeline::Stage {
  const Step* step = nullptr;
  StepSource source;
  Batch out;
  std::vector<VariableId> copied;  // variables that pass through this step
  bool passes_sets = false;  // the carried set was there before this step
  std::array<Cell, kMaxArity> bound{};  // by index column: what the current index row binds
  std::vector<RowId> rows;  // scratch: rows under a prefix
  std::vector<Cell> keys;  // scratch: search prefixes of a batch
  std::vector<RowId> found;  // scratch: rows of a batch
  std::deque<IntSet> made_sets;  // in batches further on, until those are passed on
  std::vector<Cell> cells;  // scratch: a set in the making
  std::unique_ptr<Pipeline> inner;  // aggregates
  std::unique_ptr<AggregateFold> fold;
  Batch inner_in;
};

Pipeline::Pipeline(Definition definition, ExpressionEvaluator& evaluator, BatchSink sink)
    : definition_(std::move(definition)), evaluator_(evaluator), sink_(std::move(sink)) {
  for (std::size_t s = 0; s < definition_.steps.size(); ++s) prepare_stage(s);
}

Pipeline::~Pipeline() = default;

void Pipeline::prepare_stage(std::size_t s) {
  auto stage = std::make_unique<Stage>();
  const Step& step = definition_.steps[s];
  stage->step = &step;
  stage->source = definition_.sources[s];
  stage->out.columns.resize(definition_.rule->variables.size());
  const std::vector<VariableId>& before =
      s == 0 ? definition_.bound_before : definition_.steps[s - 1].live_after;
  for (const VariableId v : step.live_after) {
    stage->out.allocate(v);
    if (std::find(before.begin(), before.end(), v) != before.end()) stage->copied.push_back(v);
  }
  for (const ColumnUse& use : step.columns)
    if (use.role == ColumnRole::kBind) stage->out.allocate(use.variable);
  if (step.kind == StepKind::kAssign || step.kind == StepKind::kRange ||
      step.kind == StepKind::kAggregate)
    stage->out.allocate(step.target);
  if (definition_.carries) stage->out.sets.resize(kBatchRows, nullptr);
  if (definition_.tagged) stage->out.tags.resize(kBatchRows, 0);
  const bool carried_here =
      std::any_of(step.columns.begin(), step.columns.end(),
                  [](const ColumnUse& u) { return u.role == ColumnRole::kCarry; });
  stage->passes_sets = definition_.carries && !carried_here;
  const bool restricts =
      carried_here && (step.kind == StepKind::kExists || step.kind == StepKind::kAbsent);
  stage->out.has_brief_sets = restricts || (s > 0 && stages_[s - 1]->out.has_brief_sets);

  if (step.kind == StepKind::kAggregate) {
    const Aggregate& aggregate = *(*definition_.body)[step.literal].aggregate;
    stage->fold = std::make_unique<AggregateFold>(aggregate, evaluator_);
    AggregateFold* fold = stage->fold.get();
    stage->inner = std::make_unique<Pipeline>(
        Definition{.rule = definition_.rule,
                   .body = &aggregate.body,
                   .steps = step.aggregate_steps,
                   .sources = definition_.sources[s].inner,
                   .bound_before = aggregate.outer,
                   .constants = definition_.constants,
                   .carries = false,
                   .tagged = true,
                   .counts = true},
        evaluator_, [fold](const Batch& batch) { return fold->add(batch); });
    stage->inner_in.columns.resize(definition_.rule->variables.size());
    for (const VariableId v : aggregate.outer) stage->inner_in.allocate(v);
    stage->inner_in.tags.resize(kBatchRows, 0);
  }
  stages_.push_back(std::move(stage));
}

Status Pipeline::feed(const Batch& batch) { return process(0, batch); }

Status Pipeline::start() {
  Batch one;
  one.rows = 1;
  one.columns.resize(definition_.rule->variables.size());
  if (definition_.carries) one.sets.resize(1, nullptr);
  if (definition_.tagged) one.tags.resize(1, 0);
  return process(0, one);
}

Status Pipeline::finish() {
  for (std::size_t s = 0; s < stages_.size(); ++s) STRATALOG_RETURN_IF_ERROR(flush(s));
  for (const auto& stage : stages_) stage->made_sets.clear();
  return evaluator_.status();
}

Status Pipeline::pass_on(std::size_t s, const Batch& out) {
  return s + 1 == stages_.size() ? sink_(out) : process(s + 1, out);
}

Status Pipeline::flush(std::size_t s) {
  Stage& stage = *stages_[s];
  if (stage.out.rows == 0) return {};
  const Status status = pass_on(s, stage.out);
  stage.out.rows = 0;
  return status;
}

Status Pipeline::process(std::size_t s, const Batch& in) {
  if (in.rows == 0) return {};
  if (s == stages_.size()) return sink_(in);
  switch (stages_[s]->step->kind) {
    case StepKind::kScanDelta:
    case StepKind::kScan:
      return scan(s, in);
    case StepKind::kSearch:
      return search(s, in);
    case StepKind::kExists:
    case StepKind::kAbsent:
      return membership(s, in);
    case StepKind::kFilter:
      return filter(s, in);
    case StepKind::kAssign:
      return assign(s, in);
    case StepKind::kUnpack:
      return unpack(s, in);
    case StepKind::kRange:
      return range(s, in);
    case StepKind::kAggregate:
      return aggregate(s, in);
  }
  return Status::internal("unknown step kind");
}

// Copies what passes through from input row to the next output row and returns that row; does not
// count it yet.
std::uint32_t Pipeline::append(Stage& stage, const Batch& in, std::uint32_t row) {
  const std::uint32_t to = stage.out.rows;
  for (const VariableId v : stage.copied) stage.out.columns[v][to] = in.columns[v][row];
  if (stage.passes_sets) stage.out.sets[to] = in.sets[row];
  if (definition_.tagged) stage.out.tags[to] = in.tags[row];
  return to;
}

Cell Pipeline::expected(const ColumnUse& use, const Batch& in, std::uint32_t in_row) const {
  return use.role == ColumnRole::kMatchConstant ? definition_.constants[use.constant]
                                                : in.columns[use.variable][in_row];
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
  const auto bind_prefix = [&](std::uint32_t to) {
    for (std::uint32_t i = first; i < last; ++i)
      if (columns[i].role == ColumnRole::kBind)
        stage.out.columns[columns[i].variable][to] = stage.bound[i];
  };
  const auto emit_one = [&]() -> Status {
    const std::uint32_t to = append(stage, in, in_row);
    bind_prefix(to);
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
      for (std::uint64_t i = 0; i < cells.size(); ++i) STRATALOG_RETURN_IF_ERROR(emit_one());
      return {};
    case ColumnRole::kBind:
      break;
  }
  Status status;
  std::vector<Cell>* into = &stage.out.columns[use.variable];
  cells.walk([&](Cell cell) {
    if (!status.is_ok()) return;
    const std::uint32_t to = append(stage, in, in_row);
    bind_prefix(to);
    (*into)[to] = cell;
    if (++stage.out.rows == kBatchRows) status = flush(s);
  });
  return status;
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
  if (source.equivalence != nullptr) return scan_equivalence(s, in);
  const Index& index = *source.index;
  const auto mine = [&](RowId row) {
    return source.parts <= 1 ||
           scale_hash(hash_cells(index.prefix(row)), source.parts) == source.part;
  };
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    if (stage.step->kind == StepKind::kScanDelta) {
      for (const DeltaRow& row : index.delta())
        if (mine(row.row))
          STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, 0, index.prefix(row.row), row.cells));
      continue;
    }
    // Rows that this very rule adds meanwhile hold nothing before the round ends.
    const RowId rows = index.row_count();
    for (RowId row = 0; row < rows; ++row)
      if (mine(row))
        STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, 0, index.prefix(row), index.total(row)));
  }
  return evaluator_.status();
}

// Every element of a class is the prefix of a row that holds the class.
Status Pipeline::scan_equivalence(std::size_t s, const Batch& in) {
  const StepSource& source = stages_[s]->source;
  Status status;
  const auto visit = [&](std::uint32_t r, const IntSet& left, const IntSet& right) {
    left.walk([&](Cell cell) {
      const std::span<const Cell> prefix(&cell, 1);
      if (status.is_ok() &&
          (source.parts <= 1 || scale_hash(hash_cells(prefix), source.parts) == source.part))
        status = visit_row(s, in, r, 0, prefix, right);
    });
  };
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    if (stages_[s]->step->kind == StepKind::kScanDelta)
      for (const Equivalence::DeltaBlock& block : source.equivalence->delta())
        visit(r, block.left, *block.right);
    else
      source.equivalence->for_each_class(
          [&](const IntSet& members) { visit(r, members, members); });
  }
  return status.is_ok() ? evaluator_.status() : status;
}

Status Pipeline::search(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  if (stage.source.equivalence != nullptr) {
    for (std::uint32_t r = 0; r < in.rows; ++r) {
      const Cell key = expected(stage.step->columns[0], in, r);
      const IntSet* members = stage.source.equivalence->class_of(key);
      if (members != nullptr)
        STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, 1, std::span(&key, 1), *members));
    }
    return {};
  }
  const Index& index = *stage.source.index;
  const std::uint32_t length = stage.step->prefix_length;
  stage.keys.resize(std::size_t{in.rows} * length);
  for (std::uint32_t r = 0; r < in.rows; ++r)
    for (std::uint32_t i = 0; i < length; ++i)
      stage.keys[(std::size_t{r} * length) + i] = expected(stage.step->columns[i], in, r);

  if (length == index.prefix_width()) {
    // One row each: look all of them up first, so that their cache misses overlap.
    stage.found.resize(in.rows);
    for (std::uint32_t r = 0; r < in.rows; ++r)
      index.prefetch_row(stage.keys.data() + (std::size_t{r} * length));
    for (std::uint32_t r = 0; r < in.rows; ++r) {
      const Cell* key = stage.keys.data() + (std::size_t{r} * length);
      // Bindings with the same key often come in a row.
      if (r > 0 && std::equal(key, key + length, key - length)) {
        stage.found[r] = stage.found[r - 1];
        continue;
      }
      stage.found[r] = index.find_row(key);
      if (stage.found[r] != Index::kNoRow) index.prefetch_total(stage.found[r]);
    }
    for (std::uint32_t r = 0; r < in.rows; ++r)
      if (stage.found[r] != Index::kNoRow)
        STRATALOG_RETURN_IF_ERROR(
            visit_row(s, in, r, length, index.prefix(stage.found[r]), index.total(stage.found[r])));
    return {};
  }
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    // A copy, because the rule may add rows to this very index while it walks them.
    const auto under = index.rows_under(length, stage.keys.data() + (std::size_t{r} * length));
    stage.rows.assign(under.begin(), under.end());
    for (const RowId row : stage.rows)
      STRATALOG_RETURN_IF_ERROR(visit_row(s, in, r, length, index.prefix(row), index.total(row)));
  }
  return {};
}

bool Pipeline::exists_under(const Stage& stage, const Batch& in, std::uint32_t in_row,
                            const Cell* key) const {
  const Step& step = *stage.step;
  if (step.columns.empty()) return *stage.source.nullary;
  const std::uint32_t length = step.prefix_length;
  if (stage.source.equivalence != nullptr) {
    if (length == 0) return *stage.source.global_rows > 0;
    if (length == 1) return stage.source.equivalence->class_of(*key) != nullptr;
    return stage.source.equivalence->contains(*key, expected(step.columns[1], in, in_row));
  }
  const Index& index = *stage.source.index;
  if (length == 0) return index.tuples() > 0 || *stage.source.global_rows > 0;
  if (length >= index.prefix_width()) {
    const RowId row = index.find_row(key);
    if (row == Index::kNoRow || index.total(row).empty()) return false;
    if (length == index.prefix_width()) return true;
    return index.total(row).contains(expected(step.columns.back(), in, in_row));
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
  const bool is_indexed = stage.source.index != nullptr;
  const std::uint32_t width =
      step.columns.empty()
          ? 0
          : std::min(step.prefix_length, is_indexed ? stage.source.index->prefix_width() : 1U);
  stage.keys.resize(std::size_t{in.rows} * width);
  for (std::uint32_t r = 0; r < in.rows; ++r)
    for (std::uint32_t i = 0; i < width; ++i)
      stage.keys[(std::size_t{r} * width) + i] = expected(step.columns[i], in, r);
  if (is_indexed && width > 0 && width == stage.source.index->prefix_width())
    for (std::uint32_t r = 0; r < in.rows; ++r)
      stage.source.index->prefetch_row(stage.keys.data() + (std::size_t{r} * width));
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
  const Index* const index = stage.source.index;
  const std::uint32_t width = step.prefix_length;
  stage.keys.resize(std::size_t{in.rows} * width);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    Cell* const key = stage.keys.data() + (std::size_t{r} * width);
    for (std::uint32_t i = 0; i < width; ++i) key[i] = expected(step.columns[i], in, r);
    if (index != nullptr) index->prefetch_row(key);
  }
  const auto set_of = [&](const Cell* key) -> const IntSet* {
    if (index == nullptr) return stage.source.equivalence->class_of(*key);
    const RowId row = index->find_row(key);
    return row == Index::kNoRow ? nullptr : &index->total(row);
  };
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const IntSet* set = in.sets[r];
    const IntSet* other = set_of(stage.keys.data() + (std::size_t{r} * width));
    const bool meets = other != nullptr && !other->empty();
    if (!meets && step.kind == StepKind::kExists) continue;
    if (meets) {
      stage.cells.clear();
      if (step.kind == StepKind::kExists)
        intersect_sets(*set, *other, stage.cells);
      else
        subtract_sets(*set, *other, stage.cells);
      if (stage.cells.empty()) continue;
      if (stage.cells.size() < set->size()) {
        stage.made_sets.emplace_back().assign_sorted(stage.cells);
        set = &stage.made_sets.back();
      }
    }
    const std::uint32_t to = append(stage, in, r);
    stage.out.sets[to] = set;
    if (++stage.out.rows < kBatchRows) continue;
    STRATALOG_RETURN_IF_ERROR(flush(s));
    if (stage.made_sets.size() < kMadeSets) continue;
    for (std::size_t t = s + 1; t < stages_.size(); ++t) STRATALOG_RETURN_IF_ERROR(flush(t));
    stage.made_sets.clear();
  }
  return {};
}

Status Pipeline::filter(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Literal& literal = (*definition_.body)[stage.step->literal];
  evaluator_.set_place(&literal.place);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    if (!evaluator_.compare(literal.comparison, literal.left, literal.right, in, r)) continue;
    append(stage, in, r);
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return evaluator_.status();
}

Status Pipeline::assign(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Literal& literal = (*definition_.body)[stage.step->literal];
  const Expression& value = stage.step->assign_from_left ? literal.left : literal.right;
  evaluator_.set_place(&literal.place);
  if (literal.record_use != RecordUse::kValue) return look_up_records(s, in);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const Cell cell = evaluator_.evaluate(value, in, r);
    const std::uint32_t to = append(stage, in, r);
    stage.out.columns[stage.step->target][to] = cell;
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return evaluator_.status();
}

// The pattern of an atom's argument: no record is made only to find that no relation holds it.
Status Pipeline::look_up_records(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Literal& literal = (*definition_.body)[stage.step->literal];
  const Expression& record = stage.step->assign_from_left ? literal.left : literal.right;
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const Cell cell = evaluator_.find_record(record, in, r);
    if (cell == kNoRecordCell && literal.record_use == RecordUse::kFound) continue;
    const std::uint32_t to = append(stage, in, r);
    stage.out.columns[stage.step->target][to] = cell;
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return evaluator_.status();
}

Status Pipeline::unpack(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const auto& columns = stage.step->columns;
  const RecordEquation equation = *record_equation((*definition_.body)[stage.step->literal]);
  const auto earlier = [&](VariableId v, std::span<const Cell> fields) {
    for (std::uint32_t i = 0;; ++i)
      if (columns[i].role == ColumnRole::kBind && columns[i].variable == v) return fields[i];
  };
  const auto fits = [&](std::span<const Cell> fields, std::uint32_t row) {
    for (std::uint32_t i = 0; i < columns.size(); ++i) {
      const ColumnUse& use = columns[i];
      const bool is_matched =
          use.role == ColumnRole::kMatchVariable || use.role == ColumnRole::kMatchConstant;
      if (is_matched && expected(use, in, row) != fields[i]) return false;
      if (use.role == ColumnRole::kMatchEarlier && earlier(use.variable, fields) != fields[i])
        return false;
    }
    return true;
  };
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const auto fields = evaluator_.fields(equation.record->shape, in.columns[equation.variable][r]);
    if (!fields || !fits(*fields, r)) continue;
    const std::uint32_t to = append(stage, in, r);
    for (std::uint32_t i = 0; i < columns.size(); ++i)
      if (columns[i].role == ColumnRole::kBind)
        stage.out.columns[columns[i].variable][to] = (*fields)[i];
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return {};
}

Status Pipeline::range(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Literal& literal = (*definition_.body)[stage.step->literal];
  evaluator_.set_place(&literal.place);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    RangeWalk walk(*literal.range, evaluator_, in, r);
    STRATALOG_RETURN_IF_ERROR(evaluator_.status());
    for (; !walk.done(); walk.advance()) {
      const std::uint32_t to = append(stage, in, r);
      stage.out.columns[stage.step->target][to] = walk.cell(evaluator_);
      if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
    }
  }
  return evaluator_.status();
}

Status Pipeline::aggregate(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Literal& literal = (*definition_.body)[stage.step->literal];
  for (const VariableId v : literal.aggregate->outer)
    std::copy_n(in.columns[v].begin(), in.rows, stage.inner_in.columns[v].begin());
  for (std::uint32_t r = 0; r < in.rows; ++r) stage.inner_in.tags[r] = r;
  stage.inner_in.rows = in.rows;
  stage.fold->begin(in.rows);
  STRATALOG_RETURN_IF_ERROR(stage.inner->feed(stage.inner_in));
  STRATALOG_RETURN_IF_ERROR(stage.inner->finish());
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    if (!stage.fold->has_result(r)) continue;
    const std::uint32_t to = append(stage, in, r);
    stage.out.columns[stage.step->target][to] = stage.fold->result(r);
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return {};
}

}  // namespace stratalog::datalog
