// SPDX-License-Identifier: Apache-2.0
// CellFilter: a comparison of variables and constants, decided for a whole batch by looking at
// cells alone: whether two are the same, and, where numbers are small, which of them is less.
// Local.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/expression.h"

namespace stratalog::datalog {

class CellFilter {
 public:
  // Nothing where cells do not tell: texts that are put in order or searched, floats, and what has
  // to be computed first. The constants of `comparison` are known to all ranks.
  static std::optional<CellFilter> of(const Literal& comparison, ExpressionEvaluator& evaluator);

  // The rows of `in` for which it holds, in ascending order. False where numbers among them are not
  // small; `rows` is then meaningless.
  bool select(const Batch& in, std::vector<std::uint32_t>& rows) const;

 private:
  struct Side {
    std::optional<VariableId> variable;
    std::vector<Cell> same;  // else kBatchRows times the constant
    const Cell* of(const Batch& in) const {
      return variable ? in.columns[*variable].data() : same.data();
    }
  };

  // Rows whose left side is so, seen from the right one; the latter two of numbers.
  enum class Keeps : std::uint8_t { kSame, kOther, kLess, kUpTo };

  bool has_order() const { return keeps_ == Keeps::kLess || keeps_ == Keeps::kUpTo; }
  static Side side_of(const Expression& expression, ExpressionEvaluator& evaluator);

  Keeps keeps_ = Keeps::kSame;
  Cell shift_ = 0;  // orders cells as their numbers once it is added, without the top bit
  Side left_;
  Side right_;
};

}  // namespace stratalog::datalog
