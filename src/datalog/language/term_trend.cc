// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/term_trend.h"

#include <algorithm>
#include <utility>

#include "datalog/language/scope_grounding.h"

namespace stratalog::datalog::language {
namespace {

Trend reversed(Trend trend) {
  if (trend == Trend::kRises) return Trend::kFalls;
  return trend == Trend::kFalls ? Trend::kRises : trend;
}

// Of a sum, a minimum or a maximum.
Trend both(Trend a, Trend b) {
  if (a == Trend::kStays) return b;
  return b == Trend::kStays || a == b ? a : Trend::kUnknown;
}

bool is_constant(const Term& term) {
  return term.kind == TermKind::kInteger || term.kind == TermKind::kUnsigned ||
         term.kind == TermKind::kFloat;
}

bool is_negative(const Term& term) { return is_constant(term) && term.text[0] == '-'; }

// `a * b` or `a / b`, where the constant says which way.
Trend scaled(Trend trend, const Term& by) {
  if (!is_constant(by)) return Trend::kUnknown;
  return is_negative(by) ? reversed(trend) : trend;
}

class TrendFinder {
 public:
  TrendFinder(const ChangingValue& value, const ProgramSyntax& program)
      : value_(value), program_(program) {}

  // `base` is what the term has to be.
  Trend of(const Term& term, const std::string& base) const {
    NameSet names;
    collect_names(term, names);
    if (!names.contains(value_.name)) return Trend::kStays;
    if (term.kind == TermKind::kVariable)
      return base == value_.base ? Trend::kRises : Trend::kUnknown;
    if (term.kind == TermKind::kCast) return of_cast(term, base);
    return term.kind == TermKind::kFunctor ? of_functor(term, base) : Trend::kUnknown;
  }

 private:
  // The bits stay, so they must be read as before; those of a number that is not negative may be
  // read as unsigned.
  Trend of_cast(const Term& term, const std::string& base) const {
    if (base != base_type_of(program_, term.type.name)) return Trend::kUnknown;
    return base == "unsigned" && is_natural(term.arguments[0]) ? Trend::kRises
                                                               : of(term.arguments[0], base);
  }

  bool is_natural(const Term& term) const {
    return term.kind == TermKind::kVariable && value_.is_never_negative && value_.base == "number";
  }

  Trend of_functor(const Term& term, const std::string& base) const {
    const std::vector<Term>& arguments = term.arguments;
    const bool is_unsigned = base == "unsigned";
    // Below 0, what is unsigned starts again from above.
    if (is_unsigned && std::ranges::any_of(arguments, is_negative)) return Trend::kUnknown;
    switch (term.functor) {
      case Functor::kAdd:
      case Functor::kMin:
      case Functor::kMax: {
        Trend all = Trend::kStays;
        for (const Term& argument : arguments) all = both(all, of(argument, base));
        return all;
      }
      case Functor::kSubtract:
        return is_unsigned ? Trend::kUnknown
                           : both(of(arguments[0], base), reversed(of(arguments[1], base)));
      case Functor::kNegate:
        return is_unsigned ? Trend::kUnknown : reversed(of(arguments[0], base));
      case Functor::kMultiply:
        if (is_unsigned) return both(of(arguments[0], base), of(arguments[1], base));
        return is_constant(arguments[0]) ? scaled(of(arguments[1], base), arguments[0])
                                         : scaled(of(arguments[0], base), arguments[1]);
      case Functor::kDivide:
        return scaled(of(arguments[0], base), arguments[1]);
      case Functor::kToUnsigned:
        return is_unsigned && is_natural(arguments[0]) ? Trend::kRises : Trend::kUnknown;
      case Functor::kToFloat:
        return base == "float" ? of(arguments[0], value_.base) : Trend::kUnknown;
      default:
        return Trend::kUnknown;
    }
  }

  const ChangingValue& value_;
  const ProgramSyntax& program_;
};

}  // namespace

std::string base_type_of(const ProgramSyntax& program, std::string type) {
  for (std::size_t steps = 0; steps <= program.types.size(); ++steps) {
    const auto found =
        std::ranges::find(program.types, type, [](const TypeSyntax& t) { return t.name.name; });
    if (found == program.types.end()) return type;
    if (found->members.size() != 1) return {};
    type = found->members[0].name;
  }
  return {};
}

Trend trend_of(const Term& term, const ChangingValue& value, const std::string& type,
               const ProgramSyntax& program) {
  const Trend trend = TrendFinder(value, program).of(term, base_type_of(program, type));
  return value.direction == Direction::kUp ? trend : reversed(trend);
}

}  // namespace stratalog::datalog::language
