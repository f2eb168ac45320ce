// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/tuple_text.h"

#include <fmt/format.h>

#include <bit>

namespace stratalog::datalog {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return result + "\"";
}

std::string bits_text(ValueKind kind, std::uint64_t bits) {
  switch (kind) {
    case ValueKind::kNumber:
      return fmt::format("{}", static_cast<std::int64_t>(bits));
    case ValueKind::kFloat: {
      const std::string text = fmt::format("{}", std::bit_cast<double>(bits));
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    default:
      return fmt::format("{}", bits);
  }
}

const char* infix(Functor functor) {
  switch (functor) {
    case Functor::kAdd:
      return " + ";
    case Functor::kSubtract:
      return " - ";
    case Functor::kMultiply:
      return " * ";
    case Functor::kDivide:
      return " / ";
    case Functor::kModulo:
      return " % ";
    case Functor::kPower:
      return " ^ ";
    default:
      return nullptr;
  }
}

const char* function_name(Functor functor) {
  switch (functor) {
    case Functor::kNegate:
      return "-";
    case Functor::kMin:
      return "min";
    case Functor::kMax:
      return "max";
    case Functor::kCat:
      return "cat";
    case Functor::kStrlen:
      return "strlen";
    case Functor::kSubstr:
      return "substr";
    case Functor::kOrd:
      return "ord";
    case Functor::kToNumber:
      return "to_number";
    case Functor::kToUnsigned:
      return "to_unsigned";
    case Functor::kToFloat:
      return "to_float";
    case Functor::kToString:
      return "to_string";
    case Functor::kReinterpret:
      return "as";
    default:
      return "functor";
  }
}

const char* comparison_sign(Comparison comparison) {
  switch (comparison) {
    case Comparison::kEqual:
      return " = ";
    case Comparison::kNotEqual:
      return " != ";
    case Comparison::kLess:
      return " < ";
    case Comparison::kLessEqual:
      return " <= ";
    case Comparison::kGreater:
      return " > ";
    case Comparison::kGreaterEqual:
      return " >= ";
    default:
      return nullptr;
  }
}

const char* aggregate_name(AggregateFunction function) {
  switch (function) {
    case AggregateFunction::kCount:
      return "count";
    case AggregateFunction::kSum:
      return "sum";
    case AggregateFunction::kMin:
      return "min";
    case AggregateFunction::kMax:
      return "max";
    case AggregateFunction::kMean:
      return "mean";
  }
  return "";
}

class Writer {
 public:
  Writer(const NewValues& values, const Program& program, const Rule& rule,
         const Bindings& bindings)
      : values_(values), program_(program), rule_(rule), bindings_(bindings) {}

  std::string variable(VariableId v) const {
    const Variable& variable = rule_.variables[v];
    if (v < bindings_.size() && bindings_[v])
      return value_text(values_, variable.kind, *bindings_[v]);
    return variable.name.starts_with('_') ? "_" : variable.name;
  }

  std::string expression(const Expression& e) const {
    if (e.kind == ExpressionKind::kVariable) return variable(e.variable);
    if (e.kind == ExpressionKind::kConstant)
      return e.value_kind == ValueKind::kSymbol ? quoted(e.text) : bits_text(e.value_kind, e.bits);
    const char* sign = e.arguments.size() == 2 ? infix(e.functor) : nullptr;
    std::string text = sign == nullptr ? function_name(e.functor) + std::string("(") : "(";
    for (std::size_t i = 0; i < e.arguments.size(); ++i)
      text += (i == 0 ? "" : (sign == nullptr ? ", " : sign)) + expression(e.arguments[i]);
    return text + ")";
  }

  std::string atom(const Atom& a) const {
    std::string text = program_.relations[a.relation].name + "(";
    for (std::size_t i = 0; i < a.arguments.size(); ++i) {
      const Argument& argument = a.arguments[i];
      if (i > 0) text += ", ";
      if (argument.kind == ArgumentKind::kVariable) text += variable(argument.variable);
      if (argument.kind == ArgumentKind::kConstant) text += expression(argument.constant);
      if (argument.kind == ArgumentKind::kWildcard) text += "_";
    }
    return text + ")";
  }

  std::string literal(const Literal& l) const {
    switch (l.kind) {
      case LiteralKind::kAtom:
        return atom(l.atom);
      case LiteralKind::kNegatedAtom:
        return "!" + atom(l.atom);
      case LiteralKind::kComparison:
        if (const char* sign = comparison_sign(l.comparison))
          return expression(l.left) + sign + expression(l.right);
        return fmt::format("{}({}, {})", function_of(l.comparison), expression(l.left),
                           expression(l.right));
      case LiteralKind::kAggregate: {
        std::string body;
        for (const Literal& inner : l.aggregate->body)
          body += (body.empty() ? "" : ", ") + literal(inner);
        const std::string target = l.aggregate->function == AggregateFunction::kCount
                                       ? ""
                                       : " " + expression(l.aggregate->target);
        return fmt::format("{} = {}{} : {{ {} }}", variable(l.aggregate->result),
                           aggregate_name(l.aggregate->function), target, body);
      }
      case LiteralKind::kRange:
        return fmt::format("{} = range({}, {})", variable(l.range->variable),
                           expression(l.range->from), expression(l.range->to));
    }
    return "";
  }

 private:
  static const char* function_of(Comparison comparison) {
    switch (comparison) {
      case Comparison::kMatch:
        return "match";
      case Comparison::kNotMatch:
        return "!match";
      case Comparison::kContains:
        return "contains";
      default:
        return "!contains";
    }
  }

  const NewValues& values_;
  const Program& program_;
  const Rule& rule_;
  const Bindings& bindings_;
};

}  // namespace

std::string value_text(const NewValues& values, ValueKind kind, Cell cell) {
  if (kind == ValueKind::kSymbol) return quoted(values.text(cell));
  return bits_text(kind, values.bits(cell));
}

std::string tuple_text(const NewValues& values, const Relation& relation,
                       std::span<const Cell> tuple) {
  std::string text = relation.name + "(";
  for (std::size_t c = 0; c < relation.attributes.size(); ++c)
    text += (c == 0 ? "" : ", ") + value_text(values, relation.attributes[c].kind, tuple[c]);
  return text + ")";
}

std::string literal_text(const NewValues& values, const Program& program, const Rule& rule,
                         const Literal& literal, const Bindings& bindings) {
  return Writer(values, program, rule, bindings).literal(literal);
}

}  // namespace stratalog::datalog
