// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/reading_order.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "datalog/plan/literal_order.h"

namespace stratalog::datalog {
namespace {

bool is_bound(const Expression& e, const std::set<VariableId>& bound) {
  std::set<VariableId> variables;
  collect_variables(e, variables);
  return std::includes(bound.begin(), bound.end(), variables.begin(), variables.end());
}

bool gives(const Expression& variable, const Expression& value, const std::set<VariableId>& bound) {
  return variable.kind == ExpressionKind::kVariable && is_bound(value, bound);
}

// Whether a literal can be decided once `bound` have values.
bool is_ready(const Literal& literal, const std::set<VariableId>& bound) {
  std::set<VariableId> read;
  switch (literal.kind) {
    case LiteralKind::kAtom:
      return true;
    case LiteralKind::kNegatedAtom:
      collect_variables(literal, read);
      return std::includes(bound.begin(), bound.end(), read.begin(), read.end());
    case LiteralKind::kComparison:
      if (const auto record = record_equation(literal); record && bound.contains(record->variable))
        return true;
      if (is_bound(literal.left, bound) && is_bound(literal.right, bound)) return true;
      return literal.comparison == Comparison::kEqual &&
             (gives(literal.left, literal.right, bound) ||
              gives(literal.right, literal.left, bound));
    case LiteralKind::kAggregate:
      return std::all_of(literal.aggregate->outer.begin(), literal.aggregate->outer.end(),
                         [&](VariableId v) { return bound.contains(v); });
    case LiteralKind::kRange:
      return is_bound(literal.range->from, bound) && is_bound(literal.range->to, bound) &&
             (!literal.range->has_step || is_bound(literal.range->step, bound));
  }
  return false;
}

// Made by the compiler for an expression inside of an atom.
bool is_lifted(const Variable& variable) {
  return variable.name.size() > 1 && variable.name[0] == '_' &&
         std::isdigit(static_cast<unsigned char>(variable.name[1])) != 0;
}

class Reader {
 public:
  explicit Reader(const OpenRule& open) : open_(open), used_(open.rule.body.size(), false) {
    for (const Argument& a : open.goal)
      if (a.kind == ArgumentKind::kVariable) bound_.insert(a.variable);
  }

  ReadingOrder read() {
    // Records of the goal are taken apart before anything else.
    for (std::uint32_t l = open_.written; l < used_.size(); ++l)
      if (record_equation(literal(l)) && is_ready(literal(l), bound_)) take_silently(l);
    while (const auto next = first_ready()) {
      if (const auto equation = equation_for(literal(*next)))
        take_silently(*equation);
      else
        take(*next);
    }
    return std::move(order_);
  }

 private:
  const Literal& literal(std::uint32_t l) const { return open_.rule.body[l]; }

  void take(std::uint32_t l) {
    used_[l] = true;
    order_.literals.push_back(l);
    collect_variables(literal(l), bound_);
  }
  void take_silently(std::uint32_t l) {
    order_.silent.insert(l);
    take(l);
  }

  std::optional<std::uint32_t> first_ready() const {
    for (std::uint32_t l = 0; l < used_.size(); ++l)
      if (!used_[l] && is_ready(literal(l), bound_)) return l;
    return std::nullopt;
  }

  // What gives a lifted argument of an atom its value, where it can.
  std::optional<std::uint32_t> equation_for(const Literal& atom) const {
    if (atom.kind != LiteralKind::kAtom) return std::nullopt;
    for (const Argument& argument : atom.atom.arguments) {
      if (argument.kind != ArgumentKind::kVariable || bound_.contains(argument.variable) ||
          !is_lifted(open_.rule.variables[argument.variable]))
        continue;
      for (std::uint32_t l = 0; l < used_.size(); ++l)
        if (!used_[l] && defines(literal(l), argument.variable)) return l;
    }
    return std::nullopt;
  }
  bool defines(const Literal& equation, VariableId variable) const {
    if (equation.kind != LiteralKind::kComparison || equation.comparison != Comparison::kEqual)
      return false;
    const auto is_it = [&](const Expression& e) {
      return e.kind == ExpressionKind::kVariable && e.variable == variable;
    };
    return (is_it(equation.left) && is_bound(equation.right, bound_)) ||
           (is_it(equation.right) && is_bound(equation.left, bound_));
  }

  const OpenRule& open_;
  std::vector<bool> used_;
  std::set<VariableId> bound_;
  ReadingOrder order_;
};

}  // namespace

ReadingOrder reading_order(const OpenRule& open) { return Reader(open).read(); }

}  // namespace stratalog::datalog
