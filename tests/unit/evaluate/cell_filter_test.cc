// SPDX-License-Identifier: Apache-2.0
// Comparisons decided by cells keep the rows for which the values compare so, or say that they
// cannot tell.
#include "datalog/evaluate/cell_filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace stratalog::datalog {
namespace {

constexpr Comparison kOrders[] = {Comparison::kEqual,   Comparison::kNotEqual,
                                  Comparison::kLess,    Comparison::kLessEqual,
                                  Comparison::kGreater, Comparison::kGreaterEqual};
constexpr VariableId kLeft = 0;
constexpr VariableId kRight = 1;

Expression constant_of(ValueKind kind, std::uint64_t number, std::string word = {}) {
  Expression e;
  e.value_kind = kind;
  e.bits = number;
  e.text = std::move(word);
  return e;
}

class CellFilters : public testing::Test {
 protected:
  CellFilters() {
    batch_.columns.resize(2);
    batch_.allocate(kLeft);
    batch_.allocate(kRight);
  }

  void add(Cell left, Cell right) {
    batch_.columns[kLeft][batch_.rows] = left;
    batch_.columns[kRight][batch_.rows++] = right;
  }

  std::vector<std::uint32_t> rows_that_hold(const Literal& literal) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t r = 0; r < batch_.rows; ++r)
      if (evaluator_.compare(literal.comparison, literal.left, literal.right, batch_, r))
        rows.push_back(r);
    return rows;
  }

  // Whether it could tell.
  bool expect_same_rows(const Literal& literal) {
    const auto filter = CellFilter::of(literal, evaluator_);
    EXPECT_TRUE(filter);
    std::vector<std::uint32_t> rows{7, 7, 7};
    if (!filter || !filter->select(batch_, rows)) return false;
    EXPECT_EQ(rows, rows_that_hold(literal));
    return true;
  }

  void expect_same_rows_of_all(ValueKind kind, const Expression& constant) {
    for (const Comparison comparison : kOrders) {
      Literal literal;
      literal.kind = LiteralKind::kComparison;
      literal.comparison = comparison;
      for (const auto& [left, right] :
           {std::pair(variable_expression(kLeft, kind), variable_expression(kRight, kind)),
            std::pair(variable_expression(kLeft, kind), constant),
            std::pair(constant, variable_expression(kRight, kind))}) {
        literal.left = left;
        literal.right = right;
        EXPECT_TRUE(expect_same_rows(literal)) << fmt::format("comparison {}", int(comparison));
      }
    }
  }

  ValueDictionary dictionary_;
  NewValues values_{dictionary_};
  ExpressionEvaluator evaluator_{values_};
  Batch batch_;
};

TEST_F(CellFilters, OrderSmallNumbers) {
  std::mt19937_64 random(5);
  const std::int64_t least = -(std::int64_t{1} << 24);
  const std::int64_t most = (std::int64_t{1} << 31) - (std::int64_t{1} << 24) - 1;
  const std::int64_t edges[] = {least, least + 1, -2, -1, 0, 1, 2, most - 1, most};
  const auto cell = [&](std::int64_t n) { return values_.number(static_cast<std::uint64_t>(n)); };
  for (const std::int64_t a : edges)
    for (const std::int64_t b : edges) add(cell(a), cell(b));
  while (batch_.rows < kBatchRows)
    add(cell(static_cast<std::int64_t>(random() % 40) - 20),
        cell(static_cast<std::int64_t>(random() % 40) - 20));
  for (const std::int64_t constant : edges)
    for (const ValueKind kind : {ValueKind::kNumber, ValueKind::kUnsigned})
      expect_same_rows_of_all(kind, constant_of(kind, static_cast<std::uint64_t>(constant)));
}

TEST_F(CellFilters, LargeNumbersAreEqualOrNotButHaveNoOrder) {
  const auto large = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  add(values_.number(3), values_.number(large));
  add(values_.number(large), values_.number(large));
  add(values_.number(large - 1), values_.number(4));
  Literal literal;
  literal.kind = LiteralKind::kComparison;
  literal.left = variable_expression(kLeft, ValueKind::kNumber);
  literal.right = variable_expression(kRight, ValueKind::kNumber);
  for (const Comparison comparison : kOrders) {
    literal.comparison = comparison;
    const bool is_identity =
        comparison == Comparison::kEqual || comparison == Comparison::kNotEqual;
    EXPECT_EQ(expect_same_rows(literal), is_identity);
  }
  batch_.rows = 0;
  add(values_.number(3), values_.number(4));
  literal.right = constant_of(ValueKind::kNumber, large);
  EXPECT_FALSE(expect_same_rows(literal)) << "a large constant";
}

TEST_F(CellFilters, TextsAreEqualOrNot) {
  const Cell a = dictionary_.encode_symbol("a");
  const Cell b = dictionary_.encode_symbol("b");
  const Cell fresh = values_.symbol("made here");
  for (const Cell left : {a, b, fresh})
    for (const Cell right : {a, b, fresh}) add(left, right);
  Literal literal;
  literal.kind = LiteralKind::kComparison;
  literal.left = variable_expression(kLeft, ValueKind::kSymbol);
  for (const Expression& right :
       {variable_expression(kRight, ValueKind::kSymbol), constant_of(ValueKind::kSymbol, 0, "b")}) {
    literal.right = right;
    literal.comparison = Comparison::kEqual;
    EXPECT_TRUE(expect_same_rows(literal));
    literal.comparison = Comparison::kNotEqual;
    EXPECT_TRUE(expect_same_rows(literal));
    for (const Comparison other : {Comparison::kLess, Comparison::kMatch, Comparison::kContains}) {
      literal.comparison = other;
      EXPECT_FALSE(CellFilter::of(literal, evaluator_));
    }
  }
}

TEST_F(CellFilters, LeaveTheRestToTheEvaluator) {
  Literal literal;
  literal.kind = LiteralKind::kComparison;
  literal.comparison = Comparison::kEqual;
  literal.left = variable_expression(kLeft, ValueKind::kFloat);
  literal.right = variable_expression(kRight, ValueKind::kFloat);
  EXPECT_FALSE(CellFilter::of(literal, evaluator_));
  literal.left = literal.right = variable_expression(kLeft, ValueKind::kNumber);
  literal.left.kind = ExpressionKind::kFunctor;
  EXPECT_FALSE(CellFilter::of(literal, evaluator_));
}

}  // namespace
}  // namespace stratalog::datalog
