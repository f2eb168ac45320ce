// SPDX-License-Identifier: Apache-2.0
// Whole numbers computed for a batch at once are those that are computed one by one.
#include "datalog/evaluate/number_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "datalog/evaluate/expression.h"

namespace stratalog::datalog {
namespace {

constexpr VariableId kVariables = 3;

Expression constant(ValueKind kind, std::int64_t number) {
  Expression e;
  e.value_kind = kind;
  e.bits = static_cast<std::uint64_t>(number);
  return e;
}

Expression functor(Functor functor, std::vector<Expression> arguments) {
  Expression e;
  e.kind = ExpressionKind::kFunctor;
  e.value_kind = arguments[0].value_kind;
  e.functor = functor;
  e.arguments = std::move(arguments);
  return e;
}

class NumberColumnsOfABatch : public testing::Test {
 protected:
  NumberColumnsOfABatch() {
    batch_.columns.resize(kVariables);
    for (VariableId v = 0; v < kVariables; ++v) batch_.allocate(v);
  }

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  std::int64_t small_number() {
    constexpr std::int64_t kLeast = -(std::int64_t{1} << 24);
    constexpr std::int64_t kMost = (std::int64_t{1} << 31) - (std::int64_t{1} << 24) - 1;
    static const std::array kEdges{kLeast, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1},
                                   kMost};
    return below(3) == 0 ? kEdges.at(below(kEdges.size()))
                         : static_cast<std::int64_t>(below(50)) - 25;
  }

  void fill(std::uint32_t rows) {
    batch_.rows = rows;
    for (std::vector<Cell>& column : batch_.columns)
      for (std::uint32_t r = 0; r < rows; ++r)
        column[r] = values_.number(static_cast<std::uint64_t>(small_number()));
  }

  Expression any(ValueKind kind, int depth) {
    if (depth == 0 || below(5) == 0) {
      if (below(3) == 0) return constant(kind, small_number());
      return variable_expression(static_cast<VariableId>(below(kVariables)), kind);
    }
    static const std::vector<Functor> kMany{
        Functor::kAdd,   Functor::kSubtract, Functor::kMultiply, Functor::kBitAnd,
        Functor::kBitOr, Functor::kBitXor,   Functor::kMin,      Functor::kMax};
    switch (below(5)) {
      case 0:
        return functor(below(2) == 0 ? Functor::kNegate : Functor::kBitNot, {any(kind, depth - 1)});
      case 1:
        return functor(below(2) == 0 ? Functor::kDivide : Functor::kModulo,
                       {any(kind, depth - 1), constant(kind, below(2) == 0 ? 7 : -5)});
      case 2:
        return functor(kMany[below(kMany.size())],
                       {any(kind, depth - 1), any(kind, depth - 1), any(kind, depth - 1)});
      default:
        return functor(kMany[below(kMany.size())], {any(kind, depth - 1), any(kind, depth - 1)});
    }
  }

  std::mt19937_64 random_{11};
  ValueDictionary dictionary_;
  NewValues values_{dictionary_};
  ExpressionEvaluator evaluator_{values_};
  Batch batch_;
};

TEST_F(NumberColumnsOfABatch, AreThoseOfEachRow) {
  for (int i = 0; i < 3000; ++i) {
    const Expression e = any(i % 2 == 0 ? ValueKind::kNumber : ValueKind::kUnsigned, i % 4);
    auto columns = NumberColumns::of(e);
    ASSERT_TRUE(columns);
    for (const std::uint32_t rows : {1U, 40U, 7U}) {
      fill(rows);
      const auto found = columns->compute(batch_);
      ASSERT_EQ(found.size(), rows);
      for (std::uint32_t r = 0; r < rows; ++r) ASSERT_EQ(found[r], evaluator_.bits(e, batch_, r));
    }
  }
}

TEST_F(NumberColumnsOfABatch, AreComparedAsTheirKindIs) {
  for (int i = 0; i < 3000; ++i) {
    const ValueKind kind = i % 2 == 0 ? ValueKind::kNumber : ValueKind::kUnsigned;
    Literal literal;
    literal.kind = LiteralKind::kComparison;
    literal.comparison = static_cast<Comparison>(below(6));
    literal.left = any(kind, 2);
    literal.right = any(kind, 1);
    auto filter = NumberFilter::of(literal);
    ASSERT_TRUE(filter);
    fill(30);
    std::vector<std::uint32_t> rows;
    ASSERT_TRUE(filter->select(batch_, rows));
    std::vector<std::uint32_t> expected;
    for (std::uint32_t r = 0; r < batch_.rows; ++r)
      if (evaluator_.compare(literal.comparison, literal.left, literal.right, batch_, r))
        expected.push_back(r);
    ASSERT_EQ(rows, expected);
  }
}

TEST_F(NumberColumnsOfABatch, AreNotThereWhereOneIsLarge) {
  fill(9);
  batch_.columns[1][5] = values_.number(std::uint64_t{1} << 40U);
  const auto sum = [](VariableId a, VariableId b) {
    return functor(Functor::kAdd, {variable_expression(a, ValueKind::kNumber),
                                   variable_expression(b, ValueKind::kNumber)});
  };
  EXPECT_TRUE(NumberColumns::of(sum(0, 1))->compute(batch_).empty());
  EXPECT_EQ(NumberColumns::of(sum(0, 2))->compute(batch_).size(), 9);
  Literal literal;
  literal.kind = LiteralKind::kComparison;
  literal.left = sum(0, 2);
  literal.right = sum(0, 1);
  std::vector<std::uint32_t> rows;
  EXPECT_FALSE(NumberFilter::of(literal)->select(batch_, rows));
}

TEST_F(NumberColumnsOfABatch, DoNotStandForWhatMayFailOrIsNoNumber) {
  const Expression x = variable_expression(0, ValueKind::kNumber);
  for (const Functor divide : {Functor::kDivide, Functor::kModulo}) {
    EXPECT_FALSE(NumberColumns::of(functor(divide, {x, x})));
    EXPECT_FALSE(NumberColumns::of(functor(divide, {x, constant(ValueKind::kNumber, 0)})));
    EXPECT_FALSE(NumberColumns::of(functor(divide, {x, constant(ValueKind::kNumber, -1)})));
  }
  EXPECT_FALSE(NumberColumns::of(variable_expression(0, ValueKind::kSymbol)));
  EXPECT_FALSE(NumberColumns::of(variable_expression(0, ValueKind::kFloat)));
  EXPECT_FALSE(NumberColumns::of(functor(Functor::kShiftLeft, {x, x})));
  Expression length = functor(Functor::kStrlen, {variable_expression(0, ValueKind::kSymbol)});
  length.value_kind = ValueKind::kNumber;
  EXPECT_FALSE(NumberColumns::of(length));
}

}  // namespace
}  // namespace stratalog::datalog
