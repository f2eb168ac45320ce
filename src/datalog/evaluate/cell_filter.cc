// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/cell_filter.h"

#include <algorithm>

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

// Without a branch for each row.
template <typename Holds>
void keep_rows(std::uint32_t rows, std::vector<std::uint32_t>& kept, const Holds& holds) {
  kept.resize(rows);
  std::uint32_t size = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    kept[size] = r;
    size += holds(r) ? 1U : 0U;
  }
  kept.resize(size);
}

}  // namespace

std::optional<CellFilter> CellFilter::of(const Literal& comparison,
                                         ExpressionEvaluator& evaluator) {
  const Expression& left = comparison.left;
  const Expression& right = comparison.right;
  if (!is_plain(left) || !is_plain(right) || left.value_kind != right.value_kind) return {};
  CellFilter filter;
  filter.comparison_ = comparison.comparison;
  const bool is_identity =
      comparison.comparison == Comparison::kEqual || comparison.comparison == Comparison::kNotEqual;
  switch (left.value_kind) {
    case ValueKind::kNumber:
      // Small negative ones stand above the others.
      filter.shift_ = kWideBase - kNegativeBase;
      filter.has_order_ = !is_identity;
      break;
    case ValueKind::kUnsigned:
      filter.has_order_ = !is_identity;
      break;
    case ValueKind::kSymbol:
    case ValueKind::kRecord:
      if (!is_identity) return {};
      break;
    default:
      return {};
  }
  filter.left_ = side_of(left, evaluator);
  filter.right_ = side_of(right, evaluator);
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
  if (!has_order_) {
    const bool wanted = comparison_ == Comparison::kEqual;
    keep_rows(in.rows, rows, [&](std::uint32_t r) { return (left[r] == right[r]) == wanted; });
    return true;
  }
  if (!is_small(left, in.rows) || !is_small(right, in.rows)) return false;
  const auto a = [&](std::uint32_t r) { return (left[r] + shift_) & ~kWideBase; };
  const auto b = [&](std::uint32_t r) { return (right[r] + shift_) & ~kWideBase; };
  switch (comparison_) {
    case Comparison::kLess:
      keep_rows(in.rows, rows, [&](std::uint32_t r) { return a(r) < b(r); });
      return true;
    case Comparison::kLessEqual:
      keep_rows(in.rows, rows, [&](std::uint32_t r) { return a(r) <= b(r); });
      return true;
    case Comparison::kGreater:
      keep_rows(in.rows, rows, [&](std::uint32_t r) { return a(r) > b(r); });
      return true;
    case Comparison::kGreaterEqual:
      keep_rows(in.rows, rows, [&](std::uint32_t r) { return a(r) >= b(r); });
      return true;
    default:
      return false;
  }
}

}  // namespace stratalog::datalog
