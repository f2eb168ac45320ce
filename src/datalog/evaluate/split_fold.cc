// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/split_fold.h"

#include <algorithm>
#include <array>
#include <limits>

#include "datalog/facts/cell_class.h"

namespace stratalog::datalog {
namespace {

constexpr unsigned kCellBits = 32;

const Literal& aggregated(const SplitFold::Definition& definition) {
  return definition.rule->body[definition.step->literal];
}

}  // namespace

SplitFold::SplitFold(Definition definition, ExpressionEvaluator& evaluator)
    : definition_(std::move(definition)),
      aggregate_(*aggregated(definition_).aggregate),
      evaluator_(evaluator),
      part_(aggregate_, evaluator),
      whole_(aggregate_, evaluator),
      body_(Pipeline::of_aggregate(*definition_.rule, aggregated(definition_), *definition_.step,
                                   std::move(definition_.sources), definition_.constants, evaluator,
                                   part_)),
      held_(definition_.rule->variables.size()) {}

bool SplitFold::can_unite(const Aggregate& aggregate) {
  const ValueKind kind = aggregate.target.value_kind;
  return aggregate.function == AggregateFunction::kCount ||
         (aggregate.function != AggregateFunction::kFold &&
          (kind == ValueKind::kNumber || kind == ValueKind::kUnsigned ||
           kind == ValueKind::kFloat));
}

Status SplitFold::hold(const Batch& bindings) {
  if (bindings.rows > std::numeric_limits<std::uint32_t>::max() - held_rows_)
    return Status::not_supported(
        "more than four billion bindings before an aggregate on one rank; use more ranks");
  for (const VariableId v : definition_.arriving)
    held_[v].insert(held_[v].end(), bindings.columns[v].begin(),
                    bindings.columns[v].begin() + bindings.rows);
  held_rows_ += bindings.rows;
  return {};
}

void SplitFold::ask(const CellRemapping& remapping, int self, int ranks, const Send& send) {
  for (const VariableId v : definition_.arriving)
    for (std::uint32_t r = asked_rows_; r < held_rows_; ++r)
      held_[v][r] = remapping.of(cell_class(definition_.rule->variables[v].kind), held_[v][r]);
  std::vector<Cell> question(question_width());
  question[0] = static_cast<Cell>(self);
  for (; asked_rows_ < held_rows_; ++asked_rows_) {
    question[1] = asked_rows_;
    for (std::size_t i = 0; i < aggregate_.outer.size(); ++i)
      question[2 + i] = held_[aggregate_.outer[i]][asked_rows_];
    for (int rank = 0; rank < ranks; ++rank) send(rank, question);
  }
}

void SplitFold::take(std::span<const Cell> questions) {
  questions_.insert(questions_.end(), questions.begin(), questions.end());
}

Status SplitFold::answer(const Send& send) {
  const std::size_t width = question_width();
  const std::uint64_t asked = questions_.size() / width;
  Batch chunk;
  chunk.columns.resize(held_.size());
  for (std::uint64_t begin = 0; begin < asked; begin += chunk.rows) {
    chunk.rows = static_cast<std::uint32_t>(std::min(kGatheredBindings, asked - begin));
    const Cell* const questions = questions_.data() + (begin * width);
    for (std::size_t i = 0; i < aggregate_.outer.size(); ++i) {
      std::vector<Cell>& column = chunk.columns[aggregate_.outer[i]];
      column.resize(chunk.rows);
      for (std::uint32_t r = 0; r < chunk.rows; ++r) column[r] = questions[(r * width) + 2 + i];
    }
    STRATALOG_RETURN_IF_ERROR(body_->fold_rows(chunk, part_));
    for (std::uint32_t r = 0; r < chunk.rows; ++r) {
      const Cell* const question = questions + (r * width);
      part_.for_each_piece(r, [&](const AggregateFold::Piece& piece) {
        const std::array<Cell, kAnswerWidth> cells = {
            question[1],
            static_cast<Cell>(piece.count),
            static_cast<Cell>(piece.count >> kCellBits),
            static_cast<Cell>(piece.value.bits),
            static_cast<Cell>(piece.value.bits >> kCellBits),
            piece.value.place};
        send(static_cast<int>(question[0]), cells);
      });
    }
  }
  questions_ = {};
  return {};
}

void SplitFold::unite(std::span<const Cell> answers) {
  whole_.extend(held_rows_);
  for (std::size_t at = 0; at < answers.size(); at += kAnswerWidth) {
    const auto word = [&](std::size_t i) {
      return answers[at + i] | (std::uint64_t{answers[at + i + 1]} << kCellBits);
    };
    whole_.add_piece(answers[at],
                     {.count = word(1), .value = {.place = answers[at + 5], .bits = word(3)}});
  }
}

Status SplitFold::pass(const BatchSink& sink) {
  const std::vector<VariableId>& live = definition_.step->live_after;
  whole_.extend(held_rows_);
  Batch out;
  out.columns.resize(held_.size());
  for (const VariableId v : live) out.allocate(v);
  const VariableId target = definition_.step->target;
  out.allocate(target);
  const auto flush = [&]() -> Status {
    const Status status = out.rows > 0 ? sink(out) : Status();
    out.rows = 0;
    return status;
  };
  for (std::uint32_t r = 0; r < held_rows_; ++r) {
    if (!whole_.has_result(r)) continue;
    for (const VariableId v : live)
      if (v != target) out.columns[v][out.rows] = held_[v][r];
    out.columns[target][out.rows] = whole_.value(r);
    if (++out.rows == kBatchRows) STRATALOG_RETURN_IF_ERROR(flush());
  }
  STRATALOG_RETURN_IF_ERROR(flush());
  forget();
  return evaluator_.status();
}

void SplitFold::forget() {
  for (std::vector<Cell>& column : held_) column = {};
  whole_.forget();
  questions_ = {};
  held_rows_ = 0;
  asked_rows_ = 0;
}

}  // namespace stratalog::datalog
