// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/expression.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "datalog/evaluate/text_to_number.h"
#include "datalog/evaluate/value_bits.h"

namespace stratalog::datalog {
namespace {

constexpr std::size_t kMostShown = 200;  // of a pattern, in a warning

std::uint64_t from_float(double value) { return std::bit_cast<std::uint64_t>(value); }

// base^exponent modulo 2^64.
std::uint64_t integer_power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1U) != 0) result *= base;
    base *= base;
  }
  return result;
}

// The nearest integer towards zero; values outside the range saturate instead of being undefined.
std::int64_t float_to_number(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return std::numeric_limits<std::int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

std::uint64_t float_to_unsigned(double value) {
  if (std::isnan(value) || value <= 0) return 0;
  if (value >= 18446744073709551616.0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(value);
}

template <typename T>
bool holds(Comparison comparison, const T& a, const T& b) {
  switch (comparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kNotEqual:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
    default:
      return false;
  }
}

}  // namespace

void ExpressionEvaluator::fail(std::string message) {
  if (!status_.is_ok()) return;
  if (place_ != nullptr && !place_->file.empty())
    message = fmt::format("{}:{}:{}: {}", place_->file, place_->line, place_->column, message);
  status_ = Status::invalid_argument(std::move(message));
}

Cell ExpressionEvaluator::evaluate(const Expression& e, const Batch& batch, std::uint32_t row) {
  if (e.kind == ExpressionKind::kVariable) return batch.columns[e.variable][row];
  if (is_stateful(e)) return call_stateful(e, batch, row);
  if (e.value_kind == ValueKind::kSymbol) return values_->symbol(text(e, batch, row));
  if (e.value_kind == ValueKind::kRecord) return record(e, batch, row);
  return values_->number(bits(e, batch, row));
}

std::vector<Cell> ExpressionEvaluator::record_cells(const Expression& e, const Batch& batch,
                                                    std::uint32_t row) {
  std::vector<Cell> cells;
  cells.reserve(e.arguments.size());
  for (const Expression& argument : e.arguments) cells.push_back(evaluate(argument, batch, row));
  return cells;
}

Cell ExpressionEvaluator::record(const Expression& e, const Batch& batch, std::uint32_t row) {
  if (e.kind == ExpressionKind::kConstant) return static_cast<Cell>(e.bits);
  if (e.functor == Functor::kPack) return values_->record(e.shape, record_cells(e, batch, row));
  // as(x, T): the number that a record has.
  const Expression& from = e.arguments[0];
  if (from.value_kind == ValueKind::kRecord || from.value_kind == ValueKind::kSymbol)
    return evaluate(from, batch, row);
  const std::uint64_t number = bits(from, batch, row);
  if (number <= values_->shared().records().size()) return static_cast<Cell>(number);
  fail(fmt::format("as(..., record): there is no record number {}", number));
  return kNilCell;
}

Cell ExpressionEvaluator::find_record(const Expression& e, const Batch& batch, std::uint32_t row) {
  return values_->known_record(e.shape, record_cells(e, batch, row));
}

EqualFloats ExpressionEvaluator::equal_floats(Cell cell) const {
  const std::uint64_t bits = values_->bits(cell);
  const double value = as_float(bits);
  if (std::isnan(value)) return {};
  EqualFloats equal{.cells = {cell}, .count = 1};
  if (value != 0) return equal;
  const std::uint64_t other = from_float(-value);
  // What no rank knows is in no relation.
  if (is_narrow(other))
    equal.cells[equal.count++] = narrow_cell(other);
  else if (const auto known = values_->shared().wides().find(other))
    equal.cells[equal.count++] = kWideBase + *known;
  return equal;
}

std::uint64_t ExpressionEvaluator::bits(const Expression& e, const Batch& batch,
                                        std::uint32_t row) {
  switch (e.kind) {
    case ExpressionKind::kVariable:
      return values_->bits(batch.columns[e.variable][row]);
    case ExpressionKind::kConstant:
      return e.bits;
    case ExpressionKind::kFunctor:
      return functor_bits(e, batch, row);
  }
  return 0;
}

std::uint64_t ExpressionEvaluator::functor_bits(const Expression& e, const Batch& batch,
                                                std::uint32_t row) {
  const auto argument = [&](std::size_t i) { return bits(e.arguments[i], batch, row); };
  switch (e.functor) {
    case Functor::kStrlen:
      return text(e.arguments[0], batch, row).size();
    case Functor::kOrd:
      return evaluate(e.arguments[0], batch, row);
    case Functor::kIteration:
      return iteration_;
    case Functor::kCounter:
      return 0;  // the language stage leaves none
    case Functor::kExternal:
      return is_stateful(e) ? values_->bits(call_stateful(e, batch, row))
                            : call(e, batch, row).bits;
    case Functor::kToNumber:
    case Functor::kToUnsigned:
    case Functor::kToFloat:
      return convert(e, batch, row);
    case Functor::kReinterpret:
      return e.arguments[0].value_kind == ValueKind::kSymbol ||
                     e.arguments[0].value_kind == ValueKind::kRecord
                 ? evaluate(e.arguments[0], batch, row)
                 : argument(0);
    default:
      break;
  }
  std::uint64_t result = argument(0);
  if (e.arguments.size() == 1)
    return e.value_kind == ValueKind::kFloat ? float_functor(e, as_float(result), 0)
                                             : integer_functor(e, result, 0);
  for (std::size_t i = 1; i < e.arguments.size(); ++i)
    result = e.value_kind == ValueKind::kFloat
                 ? float_functor(e, as_float(result), as_float(argument(i)))
                 : integer_functor(e, result, argument(i));
  return result;
}

bool ExpressionEvaluator::is_stateful(const Expression& e) const {
  return e.kind == ExpressionKind::kFunctor && e.functor == Functor::kExternal &&
         e.shape < externals_.size() && externals_[e.shape].stateful;
}

Cell ExpressionEvaluator::call_stateful(const Expression& e, const Batch& batch,
                                        std::uint32_t row) {
  const ExternalFunctor& functor = program_->external_functors[e.shape];
  const ExternalFunction& function = externals_[e.shape];
  // Arguments first: they may call functions themselves.
  const std::vector<Cell> cells = record_cells(e, batch, row);
  if (!status_.is_ok()) return kNilCell;
  const std::lock_guard lock(function.tables->in_use());
  ExternalValues::Call call(*external_values_, *function.tables);
  std::vector<std::uint64_t> words;
  words.reserve(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto word = call.word(functor.arguments[i], cells[i]);
    if (!word.is_ok()) {
      fail(fmt::format("the functor `{}` is given {}", e.text, word.status().message()));
      return kNilCell;
    }
    words.push_back(word.value());
  }
  const auto word = function.stateful(words);
  if (!word.is_ok()) {
    fail(word.status().message());
    return kNilCell;
  }
  const auto result = call.cell(functor.result, word.value());
  if (result.is_ok()) return result.value();
  fail(fmt::format("the functor `{}` gave {}", e.text, result.status().message()));
  return kNilCell;
}

ExternalValue ExpressionEvaluator::call(const Expression& e, const Batch& batch,
                                        std::uint32_t row) {
  if (e.shape >= externals_.size() || !externals_[e.shape].plain) {
    fail(fmt::format("no shared library was named for the functor `{}`", e.text));
    return {};
  }
  std::vector<ExternalValue> arguments;
  arguments.reserve(e.arguments.size());
  for (const Expression& argument : e.arguments) {
    ExternalValue& value = arguments.emplace_back();
    if (argument.value_kind == ValueKind::kSymbol)
      value.text = text(argument, batch, row);
    else
      value.bits = bits(argument, batch, row);
  }
  auto result = externals_[e.shape].plain(arguments);
  if (result.is_ok()) return std::move(result).value();
  fail(result.status().message());
  return {};
}

std::uint64_t ExpressionEvaluator::integer_functor(const Expression& e, std::uint64_t a,
                                                   std::uint64_t b) {
  const bool is_signed = e.value_kind == ValueKind::kNumber;
  const auto pick = [&](bool first) { return first ? a : b; };
  switch (e.functor) {
    case Functor::kNegate:
      return ~a + 1;
    case Functor::kAdd:
      return a + b;
    case Functor::kSubtract:
      return a - b;
    case Functor::kMultiply:
      return a * b;
    case Functor::kDivide:
    case Functor::kModulo: {
      const bool divide = e.functor == Functor::kDivide;
      if (b == 0) {
        fail(divide ? "division by zero; guard the divisor with `!= 0`"
                    : "remainder of a division by zero; guard the divisor with `!= 0`");
        return 0;
      }
      if (!is_signed) return divide ? a / b : a % b;
      if (b == ~std::uint64_t{0}) return divide ? ~a + 1 : 0;  // INT64_MIN / -1 wraps around
      return static_cast<std::uint64_t>(divide ? as_signed(a) / as_signed(b)
                                               : as_signed(a) % as_signed(b));
    }
    case Functor::kPower:
      // 1 / a^-b, rounded towards zero.
      if (is_signed && as_signed(b) < 0)
        return a == 1 ? 1 : a != ~std::uint64_t{0} ? 0 : (b & 1U) != 0 ? a : 1;
      return integer_power(a, b);
    case Functor::kMin:
      return is_signed ? pick(as_signed(a) <= as_signed(b)) : pick(a <= b);
    case Functor::kMax:
      return is_signed ? pick(as_signed(a) >= as_signed(b)) : pick(a >= b);
    case Functor::kBitNot:
      return ~a;
    case Functor::kBitAnd:
      return a & b;
    case Functor::kBitOr:
      return a | b;
    case Functor::kBitXor:
      return a ^ b;
    case Functor::kShiftLeft:
      return a << (b & 63U);
    case Functor::kShiftRight:
      return is_signed ? static_cast<std::uint64_t>(as_signed(a) >> (b & 63U)) : a >> (b & 63U);
    case Functor::kShiftRightUnsigned:
      return a >> (b & 63U);
    case Functor::kLogicalNot:
      return a == 0 ? 1 : 0;
    case Functor::kLogicalAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case Functor::kLogicalOr:
      return a != 0 || b != 0 ? 1 : 0;
    case Functor::kLogicalXor:
      return (a != 0) != (b != 0) ? 1 : 0;
    default:
      fail("this functor is not defined on integers");
      return 0;
  }
}

std::uint64_t ExpressionEvaluator::float_functor(const Expression& e, double a, double b) {
  switch (e.functor) {
    case Functor::kNegate:
      return from_float(-a);
    case Functor::kAdd:
      return from_float(a + b);
    case Functor::kSubtract:
      return from_float(a - b);
    case Functor::kMultiply:
      return from_float(a * b);
    case Functor::kDivide:
      return from_float(a / b);
    case Functor::kModulo:
      return from_float(std::fmod(a, b));
    case Functor::kPower:
      return from_float(std::pow(a, b));
    case Functor::kMin:
      return from_float(b < a ? b : a);
    case Functor::kMax:
      return from_float(b > a ? b : a);
    default:
      fail("this functor is not defined on floats");
      return 0;
  }
}

std::uint64_t ExpressionEvaluator::convert(const Expression& e, const Batch& batch,
                                           std::uint32_t row) {
  const Expression& from = e.arguments[0];
  if (from.value_kind == ValueKind::kSymbol) return parse_number(e, text(from, batch, row));
  const std::uint64_t value = bits(from, batch, row);
  if (e.value_kind == ValueKind::kFloat) {
    if (from.value_kind == ValueKind::kNumber)
      return from_float(static_cast<double>(as_signed(value)));
    if (from.value_kind == ValueKind::kUnsigned) return from_float(static_cast<double>(value));
    return value;
  }
  if (from.value_kind != ValueKind::kFloat) return value;
  return e.value_kind == ValueKind::kNumber
             ? static_cast<std::uint64_t>(float_to_number(as_float(value)))
             : float_to_unsigned(as_float(value));
}

std::uint64_t ExpressionEvaluator::parse_number(const Expression& e, const std::string& text) {
  const Result<std::uint64_t> parsed = text_to_number(text, e.value_kind);
  if (parsed.is_ok()) return parsed.value();
  fail(parsed.status().message());
  return 0;
}

std::string ExpressionEvaluator::text(const Expression& e, const Batch& batch, std::uint32_t row) {
  if (e.kind == ExpressionKind::kVariable)
    return std::string(values_->text(batch.columns[e.variable][row]));
  if (e.kind == ExpressionKind::kConstant) return e.text;
  switch (e.functor) {
    case Functor::kCat: {
      std::string result;
      for (const Expression& argument : e.arguments) result += text(argument, batch, row);
      return result;
    }
    case Functor::kSubstr: {
      const std::string whole = text(e.arguments[0], batch, row);
      const std::int64_t from = as_signed(bits(e.arguments[1], batch, row));
      const std::int64_t length = as_signed(bits(e.arguments[2], batch, row));
      // Soufflé yields the empty string where the start lies outside, and all that is left where
      // the length is negative, which is a huge one to std::string::substr.
      if (from < 0 || from > static_cast<std::int64_t>(whole.size())) return {};
      return whole.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(length));
    }
    case Functor::kToString: {
      const Expression& from = e.arguments[0];
      if (from.value_kind == ValueKind::kSymbol) return text(from, batch, row);
      const std::uint64_t value = bits(from, batch, row);
      // Six digits behind the point, as Soufflé's std::to_string has them.
      if (from.value_kind == ValueKind::kFloat) return fmt::format("{:f}", as_float(value));
      if (from.value_kind == ValueKind::kUnsigned) return fmt::format("{}", value);
      return fmt::format("{}", as_signed(value));
    }
    case Functor::kMin:
    case Functor::kMax: {
      std::string best = text(e.arguments[0], batch, row);
      for (std::size_t i = 1; i < e.arguments.size(); ++i) {
        std::string other = text(e.arguments[i], batch, row);
        if (e.functor == Functor::kMin ? other < best : other > best) best = std::move(other);
      }
      return best;
    }
    case Functor::kReinterpret: {
      const std::uint64_t id = bits(e.arguments[0], batch, row);
      if (id < values_->shared().symbols().size())
        return std::string(values_->shared().text(static_cast<Cell>(id)));
      fail(fmt::format("as(..., symbol): there is no symbol number {}", id));
      return {};
    }
    case Functor::kExternal:
      return is_stateful(e) ? std::string(values_->text(call_stateful(e, batch, row)))
                            : call(e, batch, row).text;
    default:
      fail("this functor does not yield a symbol");
      return {};
  }
}

bool ExpressionEvaluator::compare_text(Comparison comparison, const std::string& left,
                                       const std::string& right) {
  switch (comparison) {
    case Comparison::kContains:
      return right.find(left) != std::string::npos;
    case Comparison::kNotContains:
      return right.find(left) == std::string::npos;
    case Comparison::kMatch:
    case Comparison::kNotMatch: {
      auto known = patterns_.find(left);
      if (known == patterns_.end()) {
        auto made = TextPattern::of(left);
        if (made.is_ok()) {
          known = patterns_.emplace(left, std::move(made).value()).first;
        } else {
          known = patterns_.emplace(left, std::nullopt).first;
          std::string warning =
              fmt::format("match: \"{}\" is not a regular expression and matches nothing: {}",
                          left.size() > kMostShown ? left.substr(0, kMostShown) + "..." : left,
                          made.status().message());
          if (place_ != nullptr && !place_->file.empty())
            warning =
                fmt::format("{}:{}:{}: {}", place_->file, place_->line, place_->column, warning);
          warnings_.insert(std::move(warning));
        }
      }
      // As in Soufflé, nothing is known about such a pattern: neither match nor !match holds.
      if (!known->second) return false;
      const auto matches = known->second->matches(right);
      if (!matches.is_ok()) fail(matches.status().message());
      return matches.is_ok() && matches.value() == (comparison == Comparison::kMatch);
    }
    default:
      return holds(comparison, left, right);
  }
}

bool ExpressionEvaluator::compare(Comparison comparison, const Expression& left,
                                  const Expression& right, const Batch& batch, std::uint32_t row) {
  if (left.value_kind == ValueKind::kSymbol)
    return compare_text(comparison, text(left, batch, row), text(right, batch, row));
  if (left.value_kind == ValueKind::kRecord)
    return holds(comparison, evaluate(left, batch, row), evaluate(right, batch, row));
  const std::uint64_t a = bits(left, batch, row);
  const std::uint64_t b = bits(right, batch, row);
  if (left.value_kind == ValueKind::kFloat) {
    // Two variables are one, as if they had one name: the same bits, as in atoms.
    if (comparison == Comparison::kEqual && left.kind == ExpressionKind::kVariable &&
        right.kind == ExpressionKind::kVariable)
      return a == b;
    return holds(comparison, as_float(a), as_float(b));
  }
  if (left.value_kind == ValueKind::kUnsigned) return holds(comparison, a, b);
  return holds(comparison, as_signed(a), as_signed(b));
}

}  // namespace stratalog::datalog
