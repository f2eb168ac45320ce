// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/value_trend.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stratalog::datalog {
namespace {

// How a term goes while values get better.
enum class Course : std::uint8_t {
  kStays,
  kRises,
  kFalls,
  kGainsBits,
  kLosesBits,
  kImproves,  // in the order of a lattice that a library knows; only the value itself does
  kUnknown,
};

struct Trend {
  Course course = Course::kStays;
  std::string lub;  // kImproves: the library's function
  friend bool operator==(const Trend&, const Trend&) = default;
};

Trend reversed(const Trend& trend) {
  if (trend.course == Course::kRises) return {.course = Course::kFalls, .lub = {}};
  if (trend.course == Course::kFalls) return {.course = Course::kRises, .lub = {}};
  return trend.course == Course::kStays ? trend : Trend{.course = Course::kUnknown, .lub = {}};
}

constexpr Course kNumeric[] = {Course::kStays, Course::kRises, Course::kFalls};
constexpr Course kBits[] = {Course::kStays, Course::kGainsBits, Course::kLosesBits};

// Of a function that rises with each of its operands, among trends of one kind.
template <std::size_t kCount>
Trend both(const Trend& a, const Trend& b, const Course (&kind)[kCount]) {
  const auto belongs = [&](const Trend& t) { return std::ranges::count(kind, t.course) > 0; };
  if (!belongs(a) || !belongs(b)) return {.course = Course::kUnknown, .lub = {}};
  if (a.course == Course::kStays) return b;
  return b.course == Course::kStays || a == b ? a : Trend{.course = Course::kUnknown, .lub = {}};
}

bool is_bare_variable(const Expression& e) { return e.kind == ExpressionKind::kVariable; }

bool is_negative(const Expression& e) {
  return e.kind == ExpressionKind::kConstant && e.value_kind != ValueKind::kUnsigned &&
         (e.bits >> 63) != 0;
}

bool are_same(const Expression& a, const Expression& b) {
  return a.kind == b.kind && a.value_kind == b.value_kind && a.variable == b.variable &&
         a.bits == b.bits && a.text == b.text && a.functor == b.functor && a.shape == b.shape &&
         std::ranges::equal(a.arguments, b.arguments, are_same);
}

bool is_call(const Expression& e, Functor functor) {
  return e.kind == ExpressionKind::kFunctor && e.functor == functor && e.arguments.size() == 2;
}

// The way of the values that a relation keeps.
Trend trend_of_kept(const Program& program, const BestValue& best) {
  if (best.keeps == KeptValue::kLeast) return {.course = Course::kFalls, .lub = {}};
  if (best.keeps == KeptValue::kGreatest) return {.course = Course::kRises, .lub = {}};
  // The rule says `value = Lub(known, added)`.
  for (const Literal& literal : program.rules[best.rule].body)
    if (literal.kind == LiteralKind::kComparison) {
      const Expression& lub = is_bare_variable(literal.left) ? literal.right : literal.left;
      if (is_call(lub, Functor::kBitOr)) return {.course = Course::kGainsBits, .lub = {}};
      if (is_call(lub, Functor::kBitAnd)) return {.course = Course::kLosesBits, .lub = {}};
      if (is_call(lub, Functor::kExternal)) return {.course = Course::kImproves, .lub = lub.text};
    }
  return {.course = Course::kUnknown, .lub = {}};
}

class RuleTrends {
 public:
  RuleTrends(const Program& program, const Rule& rule, const ImprovingRelations& improving)
      : program_(program), rule_(rule), improving_(improving) {}

  std::optional<TakenBack> run() {
    for (const Literal& literal : rule_.body) note_values(literal);
    if (trends_.empty()) return found_;
    for (const Literal& literal : rule_.body) note_others(literal);
    // Equations that give a variable its value, in whatever order they stand.
    for (std::size_t i = 0; i < rule_.body.size(); ++i)
      for (std::size_t j = 0; j < rule_.body.size(); ++j)
        if (rule_.body[j].kind == LiteralKind::kComparison && !is_definition_.contains(j))
          define(j);
    for (std::size_t j = 0; j < rule_.body.size(); ++j) check(rule_.body[j], j);
    check_head();
    return found_;
  }

 private:
  void take_back(const SourcePlace& place) {
    if (!found_) found_ = {.relation = relation_, .place = place};
  }

  void note_values(const Literal& literal) {
    if (literal.kind != LiteralKind::kAtom) return;
    const auto best = improving_.find(literal.atom.relation);
    if (best == improving_.end()) return;
    relation_ = literal.atom.relation;
    const Argument& value = literal.atom.arguments[best->second.column];
    if (value.kind == ArgumentKind::kConstant) take_back(literal.place);
    if (value.kind != ArgumentKind::kVariable) return;
    const Trend trend = trend_of_kept(program_, best->second);
    // A variable of two values is the same in both, which a better one ends.
    if (!trends_.emplace(value.variable, trend).second) take_back(literal.place);
    const Relation& kept = program_.relations[relation_];
    if (kept.sums) natural_.insert(value.variable);
  }

  // What is named at any other place has to be equal to something.
  void note_other(VariableId variable, const SourcePlace& place) {
    others_.insert(variable);
    if (trends_.contains(variable)) take_back(place);
  }

  void note_others(const Literal& literal) {
    if (literal.range) note_other(literal.range->variable, literal.place);
    if (literal.aggregate) note_other(literal.aggregate->result, literal.place);
    if (!reads_atom(literal)) return;
    const auto best = improving_.find(literal.atom.relation);
    const bool has_value = literal.kind == LiteralKind::kAtom && best != improving_.end();
    for (std::uint32_t c = 0; c < literal.atom.arguments.size(); ++c) {
      const Argument& argument = literal.atom.arguments[c];
      if (argument.kind != ArgumentKind::kVariable) continue;
      if (has_value && c == best->second.column) continue;
      note_other(argument.variable, literal.place);
    }
  }

  // `x = e` where e goes on and nothing else says what x is.
  void define(std::size_t at) {
    const Literal& literal = rule_.body[at];
    if (literal.comparison != Comparison::kEqual) return;
    for (const auto& [name, value] :
         {std::pair{&literal.left, &literal.right}, std::pair{&literal.right, &literal.left}}) {
      if (!is_bare_variable(*name) || others_.contains(name->variable) ||
          trends_.contains(name->variable))
        continue;
      const Trend trend = of(*value);
      if (trend.course == Course::kStays) continue;
      trends_.emplace(name->variable, trend);
      is_definition_.insert(at);
      return;
    }
  }

  bool names_value(const Expression& e) const {
    if (is_bare_variable(e)) return trends_.contains(e.variable);
    return std::ranges::any_of(e.arguments, [&](const auto& a) { return names_value(a); });
  }

  void check(const Literal& literal, std::size_t at) {
    switch (literal.kind) {
      case LiteralKind::kComparison:
        if (!is_definition_.contains(at) && !stays_true(literal)) take_back(literal.place);
        break;
      case LiteralKind::kRange:
        if (names_value(literal.range->from) || names_value(literal.range->to) ||
            names_value(literal.range->step))
          take_back(literal.place);
        break;
      case LiteralKind::kAggregate:
        for (const VariableId v : literal.aggregate->outer)
          if (trends_.contains(v)) take_back(literal.place);
        break;
      default:
        break;
    }
  }

  bool stays_true(const Literal& test) const {
    const Trend left = of(test.left);
    const Trend right = of(test.right);
    if (left.course == Course::kStays && right.course == Course::kStays) return true;
    const auto is_at_most = [](const Trend& a, const Trend& b) {
      return (a.course == Course::kStays || a.course == Course::kFalls) &&
             (b.course == Course::kStays || b.course == Course::kRises);
    };
    switch (test.comparison) {
      case Comparison::kLess:
      case Comparison::kLessEqual:
        return is_at_most(left, right);
      case Comparison::kGreater:
      case Comparison::kGreaterEqual:
        return is_at_most(right, left);
      case Comparison::kEqual:
        return reaches(test.left, test.right) || reaches(test.right, test.left);
      default:
        return false;
    }
  }

  // `Glb(value, known) = known`: that the value is at least what is known.
  bool reaches(const Expression& glb, const Expression& known) const {
    if (glb.kind != ExpressionKind::kFunctor || glb.arguments.size() != 2 || names_value(known))
      return false;
    const bool is_second = are_same(glb.arguments[1], known);
    if (!is_second && !are_same(glb.arguments[0], known)) return false;
    const Course value = of(glb.arguments[is_second ? 0 : 1]).course;
    return (glb.functor == Functor::kMin && value == Course::kRises) ||
           (glb.functor == Functor::kMax && value == Course::kFalls) ||
           (glb.functor == Functor::kBitAnd && value == Course::kGainsBits) ||
           (glb.functor == Functor::kBitOr && value == Course::kLosesBits);
  }

  void check_head() {
    const auto best = improving_.find(rule_.head);
    for (std::uint32_t c = 0; c < rule_.head_arguments.size(); ++c) {
      const Trend trend = of(rule_.head_arguments[c]);
      if (trend.course == Course::kStays) continue;
      const bool is_value = best != improving_.end() && best->second.column == c;
      if (!is_value || trend != trend_of_kept(program_, best->second)) take_back(rule_.place);
    }
  }

  Trend of(const Expression& e) const {
    if (!names_value(e)) return {};
    if (is_bare_variable(e)) return trends_.at(e.variable);
    const std::vector<Expression>& arguments = e.arguments;
    const bool is_unsigned = e.value_kind == ValueKind::kUnsigned;
    switch (e.functor) {
      case Functor::kAdd:
      case Functor::kMin:
      case Functor::kMax:
        return all_of(arguments, kNumeric);
      case Functor::kBitAnd:
      case Functor::kBitOr:
        return all_of(arguments, kBits);
      case Functor::kSubtract:
        return is_unsigned ? Trend{.course = Course::kUnknown, .lub = {}}
                           : both(of(arguments[0]), reversed(of(arguments[1])), kNumeric);
      case Functor::kNegate:
        return is_unsigned ? Trend{.course = Course::kUnknown, .lub = {}}
                           : reversed(of(arguments[0]));
      case Functor::kMultiply:
        if (is_unsigned) return all_of(arguments, kNumeric);
        return arguments[0].kind == ExpressionKind::kConstant ? scaled(arguments[1], arguments[0])
                                                              : scaled(arguments[0], arguments[1]);
      case Functor::kDivide:
        return scaled(arguments[0], arguments[1]);
      case Functor::kToFloat:
        return arguments[0].value_kind == ValueKind::kSymbol
                   ? Trend{.course = Course::kUnknown, .lub = {}}
                   : all_of(arguments, kNumeric);
      case Functor::kToUnsigned:
      case Functor::kReinterpret:
        return read_as(e.value_kind, arguments[0]);
      default:
        return {.course = Course::kUnknown, .lub = {}};
    }
  }

  template <std::size_t kCount>
  Trend all_of(const std::vector<Expression>& arguments, const Course (&kind)[kCount]) const {
    Trend all;
    for (const Expression& argument : arguments) all = both(all, of(argument), kind);
    return all;
  }

  // `a * b` or `a / b`, where the constant says which way.
  Trend scaled(const Expression& value, const Expression& by) const {
    if (by.kind != ExpressionKind::kConstant) return {.course = Course::kUnknown, .lub = {}};
    const Trend trend = both(of(value), Trend{}, kNumeric);
    return is_negative(by) ? reversed(trend) : trend;
  }

  // The same bits: as before, or those of a number that is not negative.
  Trend read_as(ValueKind kind, const Expression& value) const {
    const bool is_natural = kind == ValueKind::kUnsigned && is_bare_variable(value) &&
                            natural_.contains(value.variable) &&
                            value.value_kind == ValueKind::kNumber;
    return kind == value.value_kind || is_natural ? of(value)
                                                  : Trend{.course = Course::kUnknown, .lub = {}};
  }

  const Program& program_;
  const Rule& rule_;
  const ImprovingRelations& improving_;
  std::map<VariableId, Trend> trends_;
  std::set<VariableId> natural_;  // counts and sums
  std::set<VariableId> others_;  // named by literals that find them, but not as such values
  std::set<std::size_t> is_definition_;  // into the body
  RelationId relation_ = 0;  // the last one whose value was met
  std::optional<TakenBack> found_;
};

}  // namespace

std::optional<TakenBack> may_take_back(const Program& program, const Rule& rule,
                                       const ImprovingRelations& improving) {
  return RuleTrends(program, rule, improving).run();
}

}  // namespace stratalog::datalog
