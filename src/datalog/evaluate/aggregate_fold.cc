// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/aggregate_fold.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "datalog/evaluate/number_ranges.h"
#include "datalog/evaluate/value_bits.h"

namespace stratalog::datalog {
namespace {

double to_double(ValueKind kind, std::uint64_t bits) {
  switch (kind) {
    case ValueKind::kFloat:
      return as_float(bits);
    case ValueKind::kUnsigned:
      return static_cast<double>(bits);
    default:
      return static_cast<double>(as_signed(bits));
  }
}

bool less(ValueKind kind, std::uint64_t a, std::uint64_t b) {
  switch (kind) {
    case ValueKind::kFloat:
      return as_float(a) < as_float(b);
    case ValueKind::kUnsigned:
      return a < b;
    default:
      return as_signed(a) < as_signed(b);
  }
}

// Whether `a` is before `b` among floats of which the least or greatest is looked for, whose order
// of arrival must not matter: -0 comes before 0.
bool is_before(double a, double b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}

// Whether `bits` takes the place of the least or greatest value so far. As in Soufflé, NaN counts
// only where there is nothing else.
bool takes_place(AggregateFunction function, ValueKind kind, std::uint64_t bits,
                 std::uint64_t best) {
  const bool is_least = function == AggregateFunction::kMin;
  if (kind != ValueKind::kFloat) return is_least ? less(kind, bits, best) : less(kind, best, bits);
  const double value = as_float(bits);
  const double known = as_float(best);
  if (std::isnan(value) || std::isnan(known))
    return std::isnan(known) && (!std::isnan(value) || bits < best);
  return is_least ? is_before(value, known) : is_before(known, value);
}

bool sums_exactly(const Aggregate& aggregate) {
  return aggregate.function == AggregateFunction::kMean ||
         (aggregate.function == AggregateFunction::kSum &&
          aggregate.target.value_kind == ValueKind::kFloat);
}

// An expression that stands for a value already computed.
Expression constant(ValueKind kind, std::uint64_t bits) {
  Expression e;
  e.kind = ExpressionKind::kConstant;
  e.value_kind = kind;
  e.bits = bits;
  return e;
}

}  // namespace

AggregateFold::AggregateFold(const Aggregate& aggregate, ExpressionEvaluator& evaluator)
    : aggregate_(aggregate), evaluator_(evaluator), is_exact_(sums_exactly(aggregate)) {
  if (aggregate.function != AggregateFunction::kFold) return;
  functor_ = aggregate.target;
  operands_.rows = 1;
  operands_.columns.assign(functor_.arguments.size(), std::vector<Cell>(1));
  for (VariableId i = 0; i < functor_.arguments.size(); ++i) {
    Expression& operand = functor_.arguments[i];
    const ValueKind kind = operand.value_kind;
    operand = Expression();
    operand.kind = ExpressionKind::kVariable;
    operand.value_kind = kind;
    operand.variable = i;
  }
}

void AggregateFold::begin(std::uint32_t rows) {
  states_.clear();
  sums_.clear();
  extend(rows);
}

void AggregateFold::extend(std::uint32_t rows) {
  states_.resize(rows);
  if (is_exact_) sums_.resize(rows);
}

void AggregateFold::forget() {
  std::vector<State>().swap(states_);
  std::vector<ExactSum>().swap(sums_);
}

void AggregateFold::fold(FoldedPart& part, std::uint64_t bits) const {
  const ValueKind kind = aggregate_.target.value_kind;
  const bool first = part.count == 0;
  switch (aggregate_.function) {
    case AggregateFunction::kCount:
      break;
    case AggregateFunction::kSum:
      part.bits += bits;
      break;
    case AggregateFunction::kMin:
    case AggregateFunction::kMax:
      if (first || takes_place(aggregate_.function, kind, bits, part.bits)) part.bits = bits;
      break;
    case AggregateFunction::kMean:
      break;  // add_exactly()
    case AggregateFunction::kFold:
      break;  // call()
  }
  ++part.count;
}

bool AggregateFold::folds_cells() const {
  const Expression& target = aggregate_.target;
  return (aggregate_.function == AggregateFunction::kSum ||
          aggregate_.function == AggregateFunction::kMin ||
          aggregate_.function == AggregateFunction::kMax) &&
         target.kind == ExpressionKind::kVariable &&
         (target.value_kind == ValueKind::kNumber || target.value_kind == ValueKind::kUnsigned);
}

// Without a question about each of them. Bindings of one row mostly follow each other.
void AggregateFold::fold_cells(const Batch& batch) {
  const Cell* const cells = batch.columns[aggregate_.target.variable].data();
  for (std::uint32_t r = 0, end = 0; r < batch.rows; r = end) {
    const std::uint32_t tag = batch.tags[r];
    Cell any = 0;
    for (end = r; end < batch.rows && batch.tags[end] == tag; ++end) any |= cells[end];
    State& state = states_[tag];
    if (is_wide_cell(any)) {
      for (std::uint32_t i = r; i < end; ++i)
        fold(state, evaluator_.bits(aggregate_.target, batch, i));
      continue;
    }
    if (aggregate_.function == AggregateFunction::kSum) {
      for (std::uint32_t i = r; i < end; ++i) state.bits += narrow_bits(cells[i]);
      state.count += end - r;
      continue;
    }
    const Cell shift = place_shift(aggregate_.target.value_kind);
    const auto is_before = [&](Cell a, Cell b) {
      return place_of_number(a, shift) < place_of_number(b, shift);
    };
    const auto [least, greatest] = std::minmax_element(cells + r, cells + end, is_before);
    fold(state, narrow_bits(aggregate_.function == AggregateFunction::kMin ? *least : *greatest));
    state.count += end - r - 1;
  }
}

void AggregateFold::call(State& state, const Batch& batch, std::uint32_t row) {
  const auto& given = aggregate_.target.arguments;
  operands_.columns[0][0] =
      state.count == 0 ? evaluator_.evaluate(given[0], batch, row) : state.cell;
  operands_.columns[1][0] = evaluator_.evaluate(given[1], batch, row);
  state.cell = evaluator_.evaluate(functor_, operands_, 0);
  ++state.count;
}

// Bindings of one row mostly follow each other.
void AggregateFold::add_exactly(const Batch& batch) {
  const ValueKind kind = aggregate_.target.value_kind;
  for (std::uint32_t r = 0; r < batch.rows;) {
    const std::uint32_t tag = batch.tags[r];
    terms_.clear();
    for (; r < batch.rows && batch.tags[r] == tag; ++r)
      terms_.push_back(to_double(kind, evaluator_.bits(aggregate_.target, batch, r)));
    sums_[tag].add(terms_);
    states_[tag].count += terms_.size();
  }
}

Status AggregateFold::add(const Batch& batch) {
  if (is_exact_) {
    add_exactly(batch);
    return evaluator_.status();
  }
  if (aggregate_.function == AggregateFunction::kFold) {
    for (std::uint32_t r = 0; r < batch.rows && evaluator_.status().is_ok(); ++r)
      call(states_[batch.tags[r]], batch, r);
    return evaluator_.status();
  }
  if (folds_cells()) {
    fold_cells(batch);
    return evaluator_.status();
  }
  if (aggregate_.function == AggregateFunction::kCount) {
    for (std::uint32_t r = 0; r < batch.rows; ++r) add_count(batch.tags[r], elements_of(batch, r));
    return {};
  }
  for (std::uint32_t r = 0; r < batch.rows; ++r)
    fold(states_[batch.tags[r]], evaluator_.bits(aggregate_.target, batch, r));
  return evaluator_.status();
}

bool AggregateFold::has_value(const FoldedPart& whole) const {
  return aggregate_.function == AggregateFunction::kCount ||
         aggregate_.function == AggregateFunction::kSum ||
         aggregate_.function == AggregateFunction::kFold || whole.count > 0;
}

Cell AggregateFold::result(std::uint32_t row, const Batch& outer) {
  const State& state = states_[row];
  if (aggregate_.function == AggregateFunction::kFold)
    return state.count == 0 ? evaluator_.evaluate(aggregate_.target.arguments[0], outer, row)
                            : state.cell;
  return value(row);
}

void AggregateFold::add_piece(std::uint32_t row, const Piece& piece) {
  FoldedPart& whole = states_[row];
  const std::uint64_t count = whole.count + piece.count;
  if (is_exact_)
    sums_[row].add_piece(piece.value);
  else
    fold(whole, piece.value.bits);
  whole.count = count;
}

Cell AggregateFold::value(std::uint32_t row) {
  static const Batch kNoBatch;
  const FoldedPart& whole = states_[row];
  std::uint64_t bits = whole.bits;
  if (aggregate_.function == AggregateFunction::kCount) bits = whole.count;
  if (is_exact_) {
    const double sum = sums_[row].rounded();
    bits = std::bit_cast<std::uint64_t>(aggregate_.function == AggregateFunction::kMean
                                            ? sum / static_cast<double>(whole.count)
                                            : sum);
  }
  return evaluator_.evaluate(constant(aggregate_.result_kind, bits), kNoBatch, 0);
}

RangeWalk::RangeWalk(const Range& range, ExpressionEvaluator& evaluator, const Batch& batch,
                     std::uint32_t row)
    : kind_(range.value_kind),
      current_(evaluator.bits(range.from, batch, row)),
      to_(evaluator.bits(range.to, batch, row)) {
  upwards_ = !less(kind_, to_, current_);
  if (range.has_step) {
    step_ = evaluator.bits(range.step, batch, row);
    const bool zero = kind_ == ValueKind::kFloat ? as_float(step_) == 0 : step_ == 0;
    const bool negative = kind_ == ValueKind::kFloat    ? as_float(step_) < 0
                          : kind_ == ValueKind::kNumber ? as_signed(step_) < 0
                                                        : false;
    // A step of zero yields the start once (if it is not the end), as in Soufflé; a step away from
    // the end nothing.
    if (zero) {
      done_ = current_ == to_;
      to_ = current_;
      return;
    }
    upwards_ = !negative;
  } else if (kind_ == ValueKind::kFloat) {
    step_ = std::bit_cast<std::uint64_t>(upwards_ ? 1.0 : -1.0);
  } else {
    step_ = upwards_ ? 1 : ~std::uint64_t{0};
  }
  done_ = at_end();
}

bool RangeWalk::at_end() const {
  return upwards_ ? !less(kind_, current_, to_) : !less(kind_, to_, current_);
}

void RangeWalk::advance() {
  const std::uint64_t before = current_;
  if (kind_ == ValueKind::kFloat)
    current_ = std::bit_cast<std::uint64_t>(as_float(current_) + as_float(step_));
  else
    current_ += step_;
  // Also stops where the next value wraps around or no longer changes.
  const bool moved = upwards_ ? less(kind_, before, current_) : less(kind_, current_, before);
  done_ = !moved || at_end();
}

Cell RangeWalk::cell(ExpressionEvaluator& evaluator) const {
  static const Batch kNoBatch;
  return evaluator.evaluate(constant(kind_, current_), kNoBatch, 0);
}

}  // namespace stratalog::datalog
