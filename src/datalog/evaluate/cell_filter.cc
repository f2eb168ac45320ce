// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/cell_filter.h"

#include <algorithm>

#include "datalog/evaluate/kept_rows.h"
#include "datalog/evaluate/number_ranges.h"

namespace stratalog::datalog {
namespace {

bool is_plain(const Expression& e) {
  return e.kind == ExpressionKind::kVariable || e.kind == ExpressionKind::kConstant;
}

bool is_small(const Cell* cells, std::uint32_t rows) {
  Cell any = 0;
  for (std::uint32_t r = 0; r < rows; ++r) any |= cells[r];
  return !is_wide_cell(any);
}

}  // namespace

std::optional<CellFilter> CellFilter::of(const Literal& comparison,
                                         ExpressionEvaluator& evaluator) {
  const Expression& left = comparison.left;
  const Expression& right = comparison.right;
  if (!is_plain(left) || !is_plain(right) || left.value_kind != right.value_kind) return {};
  const bool is_number =
      left.value_kind == ValueKind::kNumber || left.value_kind == ValueKind::kUnsigned;
  if (!is_number && left.value_kind != ValueKind::kSymbol && left.value_kind != ValueKind::kRecord)
    return {};
  CellFilter filter;
  bool is_turned = false;  // a > b is b < a
  switch (comparison.comparison) {
    case Comparison::kEqual:
      filter.keeps_ = Keeps::kSame;
      break;
    case Comparison::kNotEqual:
      filter.keeps_ = Keeps::kOther;
      break;
    case Comparison::kLess:
    case Comparison::kGreater:
      filter.keeps_ = Keeps::kLess;
      is_turned = comparison.comparison == Comparison::kGreater;
      break;
    case Comparison::kLessEqual:
    case Comparison::kGreaterEqual:
      filter.keeps_ = Keeps::kUpTo;
      is_turned = comparison.comparison == Comparison::kGreaterEqual;
      break;
    default:
      return {};
  }
  if (filter.has_order() && !is_number) return {};
  filter.shift_ = place_shift(left.value_kind);
  filter.left_ = side_of(is_turned ? right : left, evaluator);
  filter.right_ = side_of(is_turned ? left : right, evaluator);
  return filter;
}

CellFilter::Side CellFilter::side_of(const Expression& expression, ExpressionEvaluator& evaluator) {
  if (expression.kind == ExpressionKind::kVariable)
    return {.variable = expression.variable, .same = {}};
  static const Batch kNoBindings;
  return {.variable = {},
          .same = std::vector<Cell>(kBatchRows, evaluator.evaluate(expression, kNoBindings, 0))};
}

bool CellFilter::select(const Batch& in, std::vector<std::uint32_t>& rows) const {
  const Cell* const left = left_.of(in);
  const Cell* const right = right_.of(in);
  if (has_order() && !(is_small(left, in.rows) && is_small(right, in.rows))) return false;
  const auto number = [&](Cell cell) { return place_of_number(cell, shift_); };
  switch (keeps_) {
    case Keeps::kSame:
      keep_rows(in.rows, rows, [&](std::uint32_t r) { return left[r] == right[r]; });
      break;
    case Keeps::kOther:
      keep_rows(in.rows, rows, [&](std::uint32_t r) { return left[r] != right[r]; });
      break;
    case Keeps::kLess:
      keep_rows(in.rows, rows, [&](std::uint32_t r) { return number(left[r]) < number(right[r]); });
      break;
    case Keeps::kUpTo:
      keep_rows(in.rows, rows,
                [&](std::uint32_t r) { return number(left[r]) <= number(right[r]); });
      break;
  }
  return true;
}

}  // namespace stratalog::datalog
