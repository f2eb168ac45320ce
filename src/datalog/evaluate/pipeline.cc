// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/pipeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "datalog/evaluate/pipeline_stage.h"
#include "datalog/plan/literal_order.h"

namespace stratalog::datalog {
Pipeline::Pipeline(Definition definition, ExpressionEvaluator& evaluator, BatchSink sink)
    : definition_(std::move(definition)), evaluator_(evaluator), sink_(std::move(sink)) {
  for (std::size_t s = 0; s < definition_.steps.size(); ++s) prepare_stage(s);
  for (std::size_t s = 0; s < stages_.size(); ++s) prepare_image(s);
  prepare_witness();
  prepare_extreme();
  prepare_ranked();
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
  stage->arriving = before;
  for (const VariableId v : step.live_after)
    if (std::find(before.begin(), before.end(), v) != before.end()) stage->copied.push_back(v);
  const bool carried_here =
      std::any_of(step.columns.begin(), step.columns.end(),
                  [](const ColumnUse& u) { return u.role == ColumnRole::kCarry; });
  stage->passes_sets = definition_.carries && !carried_here;
  stage->meets_alike = !definition_.counts && !definition_.tagged && loses_variable(s);
  stage->binds_sets = carried_here && step.kind == StepKind::kSearch &&
                      std::size_t{step.prefix_length} + 1 == step.columns.size();
  stage->makes_all_sets = stage->source.swept != nullptr &&
                          (step.kind == StepKind::kScan || knows_pivot(step, stage->source));
  stage->out.has_brief_sets = stage->makes_all_sets;

  if (step.kind == StepKind::kAggregate) prepare_aggregate(*stage);
  if (s > 0 && (step.kind == StepKind::kExists || step.kind == StepKind::kAbsent))
    prepare_guard(*stages_[s - 1], *stage);
  if (step.kind == StepKind::kFilter) prepare_filter(*stage);
  stages_.push_back(std::move(stage));
  if (step.kind == StepKind::kFilter) prepare_early_filters(s);
  if (is_worth_filtering(s)) stages_.back()->repeats.emplace(step.live_after);
}

// Before the first bindings come: most steps of large programs never see any, and columns of rules
// that do nothing would take longer than the rules.
void Pipeline::make_room(Stage& stage) {
  const Step& step = *stage.step;
  stage.has_room = true;
  stage.only_binds = only_binds(stage);
  for (const VariableId v : step.live_after) stage.out.allocate(v);
  for (const ColumnUse& use : step.columns)
    if (use.role == ColumnRole::kBind) stage.out.allocate(use.variable);
  if (step.kind == StepKind::kAssign || step.kind == StepKind::kRange ||
      step.kind == StepKind::kAggregate)
    stage.out.allocate(step.target);
  if (definition_.carries) stage.out.sets.resize(kBatchRows, nullptr);
  if (definition_.tagged) stage.out.tags.resize(kBatchRows, 0);
  if (step.kind == StepKind::kFilter && !step.filters_carried) prepare_selection(stage);
  if (step.kind == StepKind::kAssign)
    stage.assigned = NumberColumns::of(assigned_by(step, (*definition_.body)[step.literal]));
}

// What tells of a whole batch at once which rows pass a filter.
void Pipeline::prepare_selection(Stage& stage) {
  const Literal& literal = (*definition_.body)[stage.step->literal];
  stage.cell_filter = CellFilter::of(literal, evaluator_);
  if (!stage.cell_filter) stage.number_filter = NumberFilter::of(literal);
}

std::unique_ptr<Pipeline> Pipeline::of_aggregate(const Rule& rule, const Literal& literal,
                                                 const Step& step, std::vector<StepSource> sources,
                                                 std::span<const Cell> constants,
                                                 ExpressionEvaluator& evaluator,
                                                 AggregateFold& fold) {
  const Aggregate& aggregate = *literal.aggregate;
  Definition body{.rule = &rule,
                  .body = &aggregate.body,
                  .steps = step.aggregate_steps,
                  .sources = std::move(sources),
                  .bound_before = aggregate.outer,
                  .constants = constants,
                  .carries = step.counted.has_value(),
                  .carried = step.counted.value_or(0),
                  .tagged = true,
                  .counts = true,
                  .count_many = {}};
  if (aggregate.function == AggregateFunction::kCount)
    body.count_many = [&fold](std::uint32_t tag, std::uint64_t bindings) {
      fold.add_count(tag, bindings);
    };
  if (aggregate.function == AggregateFunction::kCount ||
      (aggregate.function == AggregateFunction::kSum && fold.folds_cells()))
    body.add_part = [&fold](std::uint32_t tag, const FoldedPart& part) {
      fold.add_part(tag, part);
    };
  if (fold.folds_cells() && aggregate.function == AggregateFunction::kSum)
    body.summed = aggregate.target.variable;
  if (fold.folds_cells() && aggregate.function != AggregateFunction::kSum)
    body.extreme = {.variable = aggregate.target.variable,
                    .is_least = aggregate.function == AggregateFunction::kMin};
  return std::make_unique<Pipeline>(
      std::move(body), evaluator, [&evaluator, &fold, place = &literal.place](const Batch& batch) {
        evaluator.set_place(place);
        return fold.add(batch);
      });
}

void Pipeline::prepare_aggregate(Stage& stage) {
  const Literal& literal = (*definition_.body)[stage.step->literal];
  stage.fold = std::make_unique<AggregateFold>(*literal.aggregate, evaluator_);
  if (stage.source.global_rows != nullptr) return;  // counts a relation without reading it
  stage.inner = of_aggregate(*definition_.rule, literal, *stage.step, std::move(stage.source.inner),
                             definition_.constants, evaluator_, *stage.fold);
  const Aggregate& aggregate = *literal.aggregate;
  if (aggregate.function != AggregateFunction::kFold && !aggregate.outer.empty())
    stage.groups.emplace(aggregate.outer);
}

void Pipeline::prepare_filter(Stage& stage) {
  if (!stage.step->filters_carried) return;
  const Literal& literal = (*definition_.body)[stage.step->literal];
  stage.set_filter = known_comparison(stage, *set_comparison(literal, definition_.carried));
}

Status Pipeline::feed(const Batch& batch) {
  has_run_ = true;
  return process(0, batch);
}

Status Pipeline::start() {
  has_run_ = true;
  begin_share();
  // Kept, as rules of many small rounds start millions of times.
  Batch& one = given_;
  one.rows = 1;
  one.columns.resize(definition_.rule->variables.size());
  if (definition_.carries) one.sets.resize(1, nullptr);
  if (definition_.tagged) one.tags.resize(1, 0);
  if (share_.by == ShareBy::kUndecided) decide_share(0, one);
  if (share_.by == ShareBy::kBindings) keep_own_bindings(one, {});
  return process(0, one);
}

// What did not run has nothing to let go of, as most rules of many small rounds.
void Pipeline::begin_round() {
  if (!std::exchange(has_run_, false)) return;
  for (const auto& stage : stages_) {
    stage->united_sets.clear();
    stage->united_bytes = 0;
    stage->are_rows_ordered = false;
    if (stage->ranked) stage->ranked->forget();
    if (stage->inner) stage->inner->begin_round();
  }
}

Status Pipeline::finish() {
  if (has_made_nothing()) return evaluator_.status();
  has_passed_on_ = false;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    STRATALOG_RETURN_IF_ERROR(pass_waiting(s));
    STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  for (const auto& stage : stages_) {
    stage->made_sets.clear();
    if (stage->repeats) stage->repeats->forget();
    if (stage->groups) stage->groups->forget();
  }
  return evaluator_.status();
}

void Pipeline::give_back_room() {
  given_.give_back();
  for (const auto& stage : stages_) {
    stage->has_room = false;
    if (stage->ranked) stage->ranked->forget();
    for (Batch* batch : {&stage->out, &stage->waiting, &stage->one}) batch->give_back();
    if (stage->inner) stage->inner->give_back_room();
  }
}

// As most rules do in most of many small rounds.
bool Pipeline::has_made_nothing() const {
  if (has_passed_on_ || stages_.empty()) return false;
  const Stage& first = *stages_.front();
  return first.out.rows == 0 && first.waiting.rows == 0 && first.made_sets.empty() && !first.groups;
}

Status Pipeline::pass_on(std::size_t s, const Batch& out) {
  has_passed_on_ = true;
  is_found_ |= s + 1 == stages_.size();
  return s + 1 == stages_.size() ? sink_(out) : process(s + 1, out);
}

Status Pipeline::flush(std::size_t s) {
  Stage& stage = *stages_[s];
  if (stage.out.rows == 0) return {};
  if (share_.by == ShareBy::kUndecided && share_.at == s + 1) decide_share(s + 1, stage.out);
  const bool parts_here = share_.by == ShareBy::kBindings && share_.at == s + 1;
  if (parts_here) keep_own_bindings(stage.out, stage.step->live_after);
  // Images are united as they are made.
  const bool are_images = s > 0 && takes_image(s - 1);
  if (stage.repeats && !are_images && (parts_here || !stage.is_common))
    stage.repeats->filter(stage.out);
  if (stage.out.rows == 0) return {};
  if (wants_one(s)) stage.out.rows = 1;
  STRATALOG_RETURN_IF_ERROR(evaluator_.go_on());
  const Status status = pass_on(s, stage.out);
  stage.out.rows = 0;
  return status;
}

Status Pipeline::process(std::size_t s, const Batch& in) {
  if (in.rows == 0) return {};
  if (s == stages_.size()) return sink_(in);
  if (!stages_[s]->has_room) make_room(*stages_[s]);
  Batch& out = stages_[s]->out;
  out.has_brief_sets =
      in.has_brief_sets || stages_[s]->makes_all_sets || (out.rows > 0 && out.has_brief_sets);
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

Status Pipeline::filter(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  if (stage.set_filter) return filter_sets(s, in);
  if (stage.cell_filter && stage.cell_filter->select(in, stage.selected))
    return append_selected(s, in);
  if (stage.number_filter && stage.number_filter->select(in, stage.selected))
    return append_selected(s, in);
  const Literal& literal = (*definition_.body)[stage.step->literal];
  evaluator_.set_place(&literal.place);
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    if (!evaluator_.compare(literal.comparison, literal.left, literal.right, in, r)) continue;
    append(stage, in, r);
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return evaluator_.status();
}

// Whether a batch of which all rows pass goes on as it is. Small ones are gathered.
bool Pipeline::passes_as_it_is(std::size_t s, const Batch& in) const {
  const bool may_part_here =
      share_.by == ShareBy::kUndecided || (share_.by == ShareBy::kBindings && share_.at == s + 1);
  return stages_[s]->selected.size() == in.rows && in.rows >= kBatchRows / 2 &&
         !stages_[s]->repeats && !may_part_here && !wants_one(s);
}

Status Pipeline::append_selected(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  if (passes_as_it_is(s, in)) {
    STRATALOG_RETURN_IF_ERROR(flush(s));
    STRATALOG_RETURN_IF_ERROR(pass_on(s, in));
    return evaluator_.status();
  }
  std::span<const std::uint32_t> rows = stage.selected;
  while (!rows.empty()) {
    const std::size_t count = std::min<std::size_t>(rows.size(), kBatchRows - stage.out.rows);
    append_rows(stage, in, rows.first(count));
    stage.out.rows += static_cast<std::uint32_t>(count);
    rows = rows.subspan(count);
    if (stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return evaluator_.status();
}

Status Pipeline::assign(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Literal& literal = (*definition_.body)[stage.step->literal];
  const Expression& value = assigned_by(*stage.step, literal);
  evaluator_.set_place(&literal.place);
  if (literal.record_use != RecordUse::kValue) return look_up_records(s, in);
  if (stage.step->pairs_zeros) return assign_equal_floats(s, in);
  const auto numbers = stage.assigned ? stage.assigned->compute(in) : std::span<std::uint64_t>();
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const Cell cell =
        numbers.empty() ? evaluator_.evaluate(value, in, r) : evaluator_.number(numbers[r]);
    const std::uint32_t to = append(stage, in, r);
    stage.out.columns[stage.step->target][to] = cell;
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return evaluator_.status();
}

// Atoms are searched by the bits of a value, an equation compares floats.
Status Pipeline::assign_equal_floats(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Literal& literal = (*definition_.body)[stage.step->literal];
  const Expression& value = stage.step->assign_from_left ? literal.left : literal.right;
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const EqualFloats equal = evaluator_.equal_floats(evaluator_.evaluate(value, in, r));
    for (std::size_t i = 0; i < equal.count; ++i) {
      const std::uint32_t to = append(stage, in, r);
      stage.out.columns[stage.step->target][to] = equal.cells[i];
      if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
    }
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

// Bodies that begin with a look at pivots are asked for many bindings at once.
Status Pipeline::aggregate(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  if (stage.source.global_rows != nullptr) {
    stage.fold->begin(in.rows);
    for (std::uint32_t r = 0; r < in.rows; ++r) stage.fold->add_count(r, *stage.source.global_rows);
    return pass_folded(s, in);
  }
  const auto& body = stage.inner->stages_;
  const bool asks_pivots = !body.empty() && knows_pivot(*body.front()->step, body.front()->source);
  return asks_pivots ? wait_for_more(s, in) : fold_body(s, in);
}

Status Pipeline::fold_body(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  if (stage.groups && stage.groups->find(in)) return fold_groups(s, in);
  STRATALOG_RETURN_IF_ERROR(stage.inner->fold_rows(in, *stage.fold));
  return pass_folded(s, in);
}

// Of the rows that have one.
template <typename ResultOf>
Status Pipeline::pass_results(std::size_t s, const Batch& in, const ResultOf& result_of) {
  Stage& stage = *stages_[s];
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const std::optional<Cell> result = result_of(r);
    if (!result) continue;
    const std::uint32_t to = append(stage, in, r);
    stage.out.columns[stage.step->target][to] = *result;
    if (++stage.out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  }
  return {};
}

// Each group once, however many rows ask for it.
Status Pipeline::fold_groups(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const Batch& fresh = stage.groups->fresh();
  if (fresh.rows > 0) STRATALOG_RETURN_IF_ERROR(stage.inner->fold_rows(fresh, *stage.fold));
  for (std::uint32_t r = 0; r < fresh.rows; ++r) stage.groups->learn(folded(stage, r, fresh));
  return pass_results(s, in, [&](std::uint32_t r) { return stage.groups->result(r); });
}

Status Pipeline::fold_rows(const Batch& in, AggregateFold& fold) {
  Batch& given = given_;
  given.columns.resize(definition_.rule->variables.size());
  for (const VariableId v : definition_.bound_before) given.allocate(v);
  given.tags.resize(kBatchRows, 0);
  if (definition_.carries) given.sets.resize(kBatchRows, nullptr);
  fold.begin(in.rows);
  for (std::uint32_t from = 0; from < in.rows; from += given.rows) {
    given.rows = std::min(kBatchRows, in.rows - from);
    for (const VariableId v : definition_.bound_before)
      std::copy_n(in.columns[v].begin() + from, given.rows, given.columns[v].begin());
    std::iota(given.tags.begin(), given.tags.begin() + given.rows, from);
    STRATALOG_RETURN_IF_ERROR(feed(given));
  }
  return finish();
}

Status Pipeline::pass_folded(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  return pass_results(s, in, [&](std::uint32_t r) { return folded(stage, r, in); });
}

// Nothing where there is no such value.
std::optional<Cell> Pipeline::folded(Stage& stage, std::uint32_t row, const Batch& outer) {
  return stage.fold->has_result(row) ? std::optional(stage.fold->result(row, outer)) : std::nullopt;
}

}  // namespace stratalog::datalog
