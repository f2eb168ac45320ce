// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/print_program.h"
#include "datalog/value_kind_name.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

namespace stratalog::datalog {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += c;
    }
  }
  return out + '"';
}

struct FunctorForm {
  std::string_view text;
  int level;  // of an infix operator; 0: written as a call, -1: prefix
};

constexpr int kPrefixLevel = 10;
constexpr int kPowerLevel = 11;
constexpr int kHighest = 100;

FunctorForm form_of(Functor functor) {
  switch (functor) {
    case Functor::kNegate:
      return {"-", -1};
    case Functor::kBitNot:
      return {"bnot ", -1};
    case Functor::kLogicalNot:
      return {"lnot ", -1};
    case Functor::kAdd:
      return {"+", 8};
    case Functor::kSubtract:
      return {"-", 8};
    case Functor::kMultiply:
      return {"*", 9};
    case Functor::kDivide:
      return {"/", 9};
    case Functor::kModulo:
      return {"%", 9};
    case Functor::kPower:
      return {"^", kPowerLevel};
    case Functor::kLogicalOr:
      return {"lor", 1};
    case Functor::kLogicalXor:
      return {"lxor", 2};
    case Functor::kLogicalAnd:
      return {"land", 3};
    case Functor::kBitOr:
      return {"bor", 4};
    case Functor::kBitXor:
      return {"bxor", 5};
    case Functor::kBitAnd:
      return {"band", 6};
    case Functor::kShiftLeft:
      return {"bshl", 7};
    case Functor::kShiftRight:
      return {"bshr", 7};
    case Functor::kShiftRightUnsigned:
      return {"bshru", 7};
    case Functor::kMin:
      return {"min", 0};
    case Functor::kMax:
      return {"max", 0};
    case Functor::kCat:
      return {"cat", 0};
    case Functor::kStrlen:
      return {"strlen", 0};
    case Functor::kSubstr:
      return {"substr", 0};
    case Functor::kOrd:
      return {"ord", 0};
    case Functor::kToNumber:
      return {"to_number", 0};
    case Functor::kToUnsigned:
      return {"to_unsigned", 0};
    case Functor::kToFloat:
      return {"to_float", 0};
    case Functor::kToString:
      return {"to_string", 0};
    case Functor::kReinterpret:
      return {"as", 0};
    case Functor::kIteration:
      return {"recursive_iteration_cnt", 0};
    case Functor::kCounter:
      return {"autoinc", 0};
    case Functor::kPack:
      return {"[]", 0};
    case Functor::kExternal:
      return {"@", 0};
  }
  return {"?", 0};
}

std::string_view comparison_text(Comparison comparison) {
  constexpr std::string_view kNames[] = {"=",  "!=",    "<",      "<=",       ">",
                                         ">=", "match", "!match", "contains", "!contains"};
  return kNames[static_cast<std::size_t>(comparison)];
}

std::string_view aggregate_text(AggregateFunction function) {
  constexpr std::string_view kNames[] = {"count", "sum", "min", "max", "mean", "@"};
  return kNames[static_cast<std::size_t>(function)];
}

std::string float_text(double value) {
  // The shortest digits that read back as the same value, always with a point so that it reads as a
  // float.
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".n") == std::string::npos) {
    const std::size_t exponent = text.find('e');
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  }
  return text;
}

class Printer {
 public:
  explicit Printer(const Rule& rule) {
    std::map<std::string_view, std::size_t> seen;
    for (const Variable& each : rule.variables) {
      const std::size_t same = ++seen[each.name];
      names_.push_back(same == 1 ? each.name : fmt::format("{}'{}", each.name, same));
    }
  }

  explicit Printer(std::vector<std::string> texts)
      : names_(std::move(texts)), mentions_outer_(false) {}

  const std::string& variable(VariableId id) const { return names_[id]; }

  std::string constant(const Expression& e) const {
    switch (e.value_kind) {
      case ValueKind::kRecord:
        return "nil";
      case ValueKind::kNumber:
        if (!e.text.empty()) return e.text;  // a branch of an enumeration
        return fmt::format("{}", static_cast<std::int64_t>(e.bits));
      case ValueKind::kUnsigned:
        return fmt::format("{}u", e.bits);
      case ValueKind::kFloat:
        return float_text(std::bit_cast<double>(e.bits));
      case ValueKind::kSymbol:
        return quoted(e.text);
    }
    return {};
  }

  // `level`: operators that bind less tightly are put in parentheses.
  std::string expression(const Expression& e, int level = 0) const {
    if (e.kind == ExpressionKind::kVariable) return variable(e.variable);
    if (e.kind == ExpressionKind::kConstant) {
      const std::string text = constant(e);
      return text.starts_with('-') && level > kPrefixLevel ? '(' + text + ')' : text;
    }
    if (e.functor == Functor::kPack) return record(e);
    if (e.functor == Functor::kExternal) return call(e, e.text);
    const FunctorForm form = form_of(e.functor);
    if (form.level == 0) return call(e, form.text);
    std::string text;
    int own = form.level;
    if (form.level < 0) {
      own = kPrefixLevel;
      text = fmt::format("{}{}", form.text, expression(e.arguments[0], kHighest));
    } else {
      const bool to_the_right = form.level == kPowerLevel;
      text = fmt::format("{} {} {}", expression(e.arguments[0], to_the_right ? own + 1 : own),
                         form.text, expression(e.arguments[1], to_the_right ? own : own + 1));
    }
    return own < level ? '(' + text + ')' : text;
  }

  // A branch begins with its number, which its name says.
  std::string record(const Expression& e) const {
    const bool is_branch = !e.text.empty();
    std::string text = is_branch ? e.text + '(' : "[";
    const std::size_t first = is_branch ? 1 : 0;
    for (std::size_t i = first; i < e.arguments.size(); ++i)
      text += (i == first ? "" : ", ") + expression(e.arguments[i]);
    return text + (is_branch ? ')' : ']');
  }

  std::string call(const Expression& e, std::string_view name) const {
    std::string text = fmt::format("{}(", name);
    for (std::size_t i = 0; i < e.arguments.size(); ++i) {
      text += (i == 0 ? "" : ", ") + expression(e.arguments[i]);
    }
    if (e.functor == Functor::kReinterpret)
      text += fmt::format(", {}", value_kind_name(e.value_kind));
    return text + ')';
  }

  std::string atom(const Program& program, const Atom& atom) const {
    std::string text = program.relations[atom.relation].name + '(';
    for (std::size_t i = 0; i < atom.arguments.size(); ++i) {
      const Argument& argument = atom.arguments[i];
      if (i > 0) text += ", ";
      switch (argument.kind) {
        case ArgumentKind::kVariable:
          text += variable(argument.variable);
          break;
        case ArgumentKind::kConstant:
          text += constant(argument.constant);
          break;
        case ArgumentKind::kWildcard:
          text += '_';
          break;
      }
    }
    return text + ')';
  }

  std::string literal(const Program& program, const Literal& l) const {
    switch (l.kind) {
      case LiteralKind::kAtom:
        return atom(program, l.atom);
      case LiteralKind::kNegatedAtom:
        return '!' + atom(program, l.atom);
      case LiteralKind::kComparison:
        if (searches_text(l.comparison)) {
          return fmt::format("{}({}, {})", comparison_text(l.comparison), expression(l.left),
                             expression(l.right));
        }
        return fmt::format("{} {} {}", expression(l.left), comparison_text(l.comparison),
                           expression(l.right));
      case LiteralKind::kAggregate:
        return aggregate(program, *l.aggregate);
      case LiteralKind::kRange:
        return range(*l.range);
    }
    return {};
  }

  std::string aggregate(const Program& program, const Aggregate& a) const {
    std::string text = fmt::format("{} = {}", variable(a.result), aggregate_text(a.function));
    if (a.function == AggregateFunction::kFold)
      text += fmt::format("{} {} : {}, {{", a.target.text, expression(a.target.arguments[1]),
                          expression(a.target.arguments[0]));
    else if (a.function == AggregateFunction::kCount)
      text += " : {";
    else
      text += fmt::format(" {} : {{", expression(a.target));
    for (std::size_t i = 0; i < a.body.size(); ++i)
      text += (i == 0 ? " " : ", ") + literal(program, a.body[i]);
    text += " }";
    if (a.outer.empty() || !mentions_outer_) return text;
    text += " with ";  // what the rule hands in; not part of the language
    for (std::size_t i = 0; i < a.outer.size(); ++i)
      text += (i == 0 ? "" : ", ") + variable(a.outer[i]);
    return text;
  }

  std::string range(const Range& r) const {
    std::string text = fmt::format("{} = range({}, {}", variable(r.variable), expression(r.from),
                                   expression(r.to));
    if (r.has_step) text += ", " + expression(r.step);
    return text + ')';
  }

 private:
  std::vector<std::string> names_;  // by variable, made distinct
  bool mentions_outer_ = true;
};

std::string print_io(const Relation& relation, const IoDirective& io) {
  constexpr std::string_view kNames[] = {".input", ".output", ".printsize"};
  std::string text =
      fmt::format("{} {}(", kNames[static_cast<std::size_t>(io.action)], relation.name);
  bool is_first = true;
  for (const auto& [key, value] : io.parameters) {
    text += fmt::format("{}{}={}", is_first ? "" : ", ", key, quoted(value));
    is_first = false;
  }
  return text + ")\n";
}

std::string print_relation(const Program& program, const Relation& relation) {
  std::string text = fmt::format(".decl {}(", relation.name);
  for (std::size_t i = 0; i < relation.attributes.size(); ++i) {
    const Attribute& attribute = relation.attributes[i];
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", attribute.name, attribute.type_name);
    const std::string_view kind = value_kind_name(attribute.kind);
    if (kind != attribute.type_name) text += fmt::format(" <: {}", kind);
  }
  text += ')';
  for (const std::string& qualifier : relation.qualifiers) text += ' ' + qualifier;
  for (std::size_t k = 0; k < relation.choice_keys.size(); ++k) {
    text += k == 0 ? " choice-domain (" : ", (";
    for (std::size_t i = 0; i < relation.choice_keys[k].size(); ++i)
      text += (i == 0 ? "" : ", ") + relation.attributes[relation.choice_keys[k][i]].name;
    text += ')';
  }
  if (relation.sums)
    text += (relation.sums->counts ? " counts " : " sums ") +
            program.relations[relation.sums->terms].name;
  text += '\n';
  if (relation.size_limit)
    text += fmt::format(".limitsize {}(n={})\n", relation.name, *relation.size_limit);
  for (const IoDirective& io : relation.io) text += print_io(relation, io);
  return text;
}

}  // namespace

std::string print_expression(const Rule& rule, const Expression& expression) {
  return Printer(rule).expression(expression);
}

std::string print_expression(const Expression& expression, std::vector<std::string> texts) {
  return Printer(std::move(texts)).expression(expression);
}

std::string print_literal(const Program& program, const Rule& rule, const Literal& literal) {
  return Printer(rule).literal(program, literal);
}

std::string print_literal(const Program& program, const Literal& literal,
                          std::vector<std::string> texts) {
  return Printer(std::move(texts)).literal(program, literal);
}

std::string print_rule(const Program& program, const Rule& rule) {
  const Printer printer(rule);
  if (rule.role == RuleRole::kSubsumes) {
    std::string text = printer.literal(program, rule.body[0]);
    text += " <= " + printer.literal(program, rule.body[1]) + " :- ";
    for (std::size_t i = 2; i < rule.body.size(); ++i)
      text += (i == 2 ? "" : ", ") + printer.literal(program, rule.body[i]);
    return text + (rule.body.size() == 2 ? "true." : ".");
  }
  std::string text = program.relations[rule.head].name + '(';
  for (std::size_t i = 0; i < rule.head_arguments.size(); ++i) {
    text += (i == 0 ? "" : ", ") + printer.expression(rule.head_arguments[i]);
  }
  text += ')';
  for (std::size_t i = 0; i < rule.body.size(); ++i) {
    text += (i == 0 ? " :- " : ", ") + printer.literal(program, rule.body[i]);
  }
  return text + '.';
}

std::string print_program(const Program& program) {
  std::string text;
  for (const auto& [name, value] : program.pragmas) {
    text += fmt::format(".pragma {} {}\n", quoted(name), quoted(value));
  }
  for (const Relation& relation : program.relations) text += print_relation(program, relation);
  for (std::size_t i = 0; i < program.strata.size(); ++i) {
    const Stratum& stratum = program.strata[i];
    text += fmt::format("stratum {}{}:", i, stratum.is_recursive ? " (recursive)" : "");
    for (const RelationId relation : stratum.relations)
      text += ' ' + program.relations[relation].name;
    text += '\n';
    for (const std::uint32_t rule : stratum.rules) {
      text += "  " + print_rule(program, program.rules[rule]) + '\n';
    }
    for (const std::uint32_t rule : stratum.subsumptions)
      text += "  " + print_rule(program, program.rules[rule]) + '\n';
  }
  return text;
}

}  // namespace stratalog::datalog
