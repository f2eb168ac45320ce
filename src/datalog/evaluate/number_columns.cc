// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/number_columns.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "datalog/evaluate/kept_rows.h"
#include "model/cell.h"

namespace stratalog::datalog {
namespace {

bool is_whole(ValueKind kind) { return kind == ValueKind::kNumber || kind == ValueKind::kUnsigned; }

// What is the same for both kinds, and what compares or divides, which is not.
bool is_computable(Functor functor, std::size_t arguments) {
  switch (functor) {
    case Functor::kNegate:
    case Functor::kBitNot:
      return arguments == 1;
    case Functor::kAdd:
    case Functor::kSubtract:
    case Functor::kMultiply:
    case Functor::kBitAnd:
    case Functor::kBitOr:
    case Functor::kBitXor:
    case Functor::kMin:
    case Functor::kMax:
    case Functor::kDivide:
    case Functor::kModulo:
      return arguments >= 2;
    default:
      return false;
  }
}

bool divides(Functor functor) { return functor == Functor::kDivide || functor == Functor::kModulo; }

// By a divisor that is neither 0 nor -1, of which one is an error and the other may overflow.
std::uint64_t divided(Functor functor, bool is_signed, std::uint64_t a, std::uint64_t b) {
  const bool divide = functor == Functor::kDivide;
  if (!is_signed) return divide ? a / b : a % b;
  const std::int64_t value = as_signed(a);
  const std::int64_t by = as_signed(b);
  return static_cast<std::uint64_t>(divide ? value / by : value % by);
}

bool comes_before(bool is_signed, std::uint64_t a, std::uint64_t b) {
  return is_signed ? as_signed(a) < as_signed(b) : a < b;
}

}  // namespace

std::optional<NumberColumns> NumberColumns::of(const Expression& expression) {
  NumberColumns columns;
  if (!columns.add(expression)) return {};
  return columns;
}

bool NumberColumns::add(const Expression& expression) {
  if (!is_whole(expression.value_kind)) return false;
  if (expression.kind == ExpressionKind::kFunctor) return add_functor(expression);
  Part& part = parts_.emplace_back();
  part.kind = expression.kind;
  part.variable = expression.variable;
  part.constant = expression.bits;
  return true;
}

// `a + b + c` is one functor.
bool NumberColumns::add_functor(const Expression& expression) {
  const std::vector<Expression>& arguments = expression.arguments;
  if (!is_computable(expression.functor, arguments.size()) || !add(arguments[0])) return false;
  std::uint32_t left = static_cast<std::uint32_t>(parts_.size()) - 1;
  for (std::size_t i = 1; i < std::max<std::size_t>(arguments.size(), 2); ++i) {
    std::uint64_t divisor = 0;
    if (divides(expression.functor)) {
      divisor = arguments[i].bits;
      if (arguments[i].kind != ExpressionKind::kConstant || divisor + 1 <= 1) return false;
    }
    if (i < arguments.size() && !add(arguments[i])) return false;
    const auto right = static_cast<std::uint32_t>(parts_.size()) - 1;
    Part& part = parts_.emplace_back();
    part.kind = ExpressionKind::kFunctor;
    part.functor = expression.functor;
    part.is_signed = expression.value_kind == ValueKind::kNumber;
    part.left = left;
    part.right = right;
    part.constant = divisor;
    left = right + 1;
  }
  return true;
}

std::span<const std::uint64_t> NumberColumns::compute(const Batch& in) {
  for (Part& part : parts_) {
    // Many rules never see more than a few rows.
    if (part.values.size() < in.rows) part.values.resize(in.rows, part.constant);
    if (part.kind == ExpressionKind::kFunctor) {
      apply(part, in.rows);
    } else if (part.kind == ExpressionKind::kVariable) {
      const Cell* const cells = in.columns[part.variable].data();
      Cell any = 0;
      for (std::uint32_t r = 0; r < in.rows; ++r) {
        any |= cells[r];
        part.values[r] = narrow_bits(cells[r]);
      }
      if (is_wide_cell(any)) return {};
    }
  }
  return std::span(parts_.back().values).first(in.rows);
}

void NumberColumns::apply(Part& part, std::uint32_t rows) {
  const std::uint64_t* const a = parts_[part.left].values.data();
  const std::uint64_t* const b = parts_[part.right].values.data();
  std::uint64_t* const to = part.values.data();
  const auto each = [&](const auto& value) {
    for (std::uint32_t r = 0; r < rows; ++r) to[r] = value(a[r], b[r]);
  };
  const bool is_signed = part.is_signed;
  switch (part.functor) {
    case Functor::kNegate:
      return each([](std::uint64_t x, std::uint64_t) { return ~x + 1; });
    case Functor::kBitNot:
      return each([](std::uint64_t x, std::uint64_t) { return ~x; });
    case Functor::kAdd:
      return each(std::plus<>());
    case Functor::kSubtract:
      return each(std::minus<>());
    case Functor::kMultiply:
      return each(std::multiplies<>());
    case Functor::kBitAnd:
      return each(std::bit_and<>());
    case Functor::kBitOr:
      return each(std::bit_or<>());
    case Functor::kBitXor:
      return each(std::bit_xor<>());
    case Functor::kMin:
      return each(
          [&](std::uint64_t x, std::uint64_t y) { return comes_before(is_signed, y, x) ? y : x; });
    case Functor::kMax:
      return each(
          [&](std::uint64_t x, std::uint64_t y) { return comes_before(is_signed, x, y) ? y : x; });
    default:
      return each([&, by = part.constant](std::uint64_t x, std::uint64_t) {
        return divided(part.functor, is_signed, x, by);
      });
  }
}

std::optional<NumberFilter> NumberFilter::of(const Literal& comparison) {
  if (searches_text(comparison.comparison)) return {};
  auto left = NumberColumns::of(comparison.left);
  auto right = NumberColumns::of(comparison.right);
  if (!left || !right) return {};
  return NumberFilter(comparison.comparison, comparison.left.value_kind == ValueKind::kNumber,
                      *std::move(left), *std::move(right));
}

bool NumberFilter::select(const Batch& in, std::vector<std::uint32_t>& rows) {
  const std::span<const std::uint64_t> a = left_.compute(in);
  const std::span<const std::uint64_t> b = right_.compute(in);
  if (in.rows > 0 && (a.empty() || b.empty())) return false;
  // Signed numbers are in the order of unsigned ones once the top bit is turned.
  const std::uint64_t turned = is_signed_ ? std::uint64_t{1} << 63U : 0;
  const auto keep = [&](const auto& holds) {
    keep_rows(in.rows, rows, [&](std::uint32_t r) { return holds(a[r] ^ turned, b[r] ^ turned); });
  };
  switch (comparison_) {
    case Comparison::kEqual:
      keep(std::equal_to<>());
      break;
    case Comparison::kNotEqual:
      keep(std::not_equal_to<>());
      break;
    case Comparison::kLess:
      keep(std::less<>());
      break;
    case Comparison::kLessEqual:
      keep(std::less_equal<>());
      break;
    case Comparison::kGreater:
      keep(std::greater<>());
      break;
    default:
      keep(std::greater_equal<>());
      break;
  }
  return true;
}

}  // namespace stratalog::datalog
