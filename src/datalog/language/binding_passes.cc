// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/binding_passes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace stratalog::datalog::language {

bool is_plain_computation(const Expression& e) {
  if (e.kind == ExpressionKind::kConstant) return true;
  if (e.value_kind != ValueKind::kNumber && e.value_kind != ValueKind::kUnsigned)
    return e.kind == ExpressionKind::kVariable;
  if (e.kind == ExpressionKind::kVariable) return true;
  switch (e.functor) {
    case Functor::kNegate:
    case Functor::kAdd:
    case Functor::kSubtract:
    case Functor::kMultiply:
    case Functor::kMin:
    case Functor::kMax:
    case Functor::kBitAnd:
    case Functor::kBitOr:
    case Functor::kBitXor:
      return std::all_of(e.arguments.begin(), e.arguments.end(), is_plain_computation);
    default:
      return false;
  }
}

namespace {

class BindingPass {
 public:
  BindingPass(const Rule& rule, std::vector<bool> known, const std::vector<bool>& is_restricted)
      : rule_(rule), known_(std::move(known)), is_restricted_(is_restricted) {
    known_.resize(rule.variables.size());
    is_taken_.resize(rule.body.size());
  }

  std::vector<PassStep> run() {
    take_comparisons();
    while (const std::optional<std::uint32_t> next = next_atom()) {
      const Atom& atom = rule_.body[*next].atom;
      steps_.push_back({.literal = *next, .bound = bound_columns(atom)});
      is_taken_[*next] = true;
      for (const Argument& argument : atom.arguments)
        if (argument.kind == ArgumentKind::kVariable) known_[argument.variable] = true;
      take_comparisons();
    }
    return std::move(steps_);
  }

 private:
  bool is_known(const Expression& e) const {
    if (e.kind == ExpressionKind::kVariable) return known_[e.variable];
    return std::all_of(e.arguments.begin(), e.arguments.end(),
                       [this](const Expression& argument) { return is_known(argument); });
  }

  BoundColumns bound_columns(const Atom& atom) const {
    BoundColumns bound;
    for (std::uint32_t c = 0; c < atom.arguments.size(); ++c) {
      const Argument& argument = atom.arguments[c];
      if (argument.kind == ArgumentKind::kConstant ||
          (argument.kind == ArgumentKind::kVariable && known_[argument.variable]))
        bound.push_back(c);
    }
    return bound;
  }

  std::optional<std::uint32_t> next_atom() const {
    // Would be asked for as a whole; unknown variables; place.
    using Rank = std::tuple<bool, std::size_t, std::uint32_t>;
    std::optional<Rank> best;
    for (std::uint32_t i = 0; i < rule_.body.size(); ++i) {
      if (is_taken_[i] || rule_.body[i].kind != LiteralKind::kAtom) continue;
      const Atom& atom = rule_.body[i].atom;
      const bool is_whole = is_restricted_[atom.relation] && bound_columns(atom).empty();
      const Rank rank = {is_whole, unknown_variables(atom), i};
      if (!best || rank < *best) best = rank;
    }
    if (!best) return std::nullopt;
    return std::get<2>(*best);
  }

  std::size_t unknown_variables(const Atom& atom) const {
    std::set<VariableId> unknown;
    for (const Argument& argument : atom.arguments)
      if (argument.kind == ArgumentKind::kVariable && !known_[argument.variable])
        unknown.insert(argument.variable);
    return unknown.size();
  }

  // The side of an equation that is another name of something known. What is computed from it is
  // not: a demand for `n - 1` made of one for `n` would never end.
  const Expression* named(const Literal& equation) const {
    for (const auto& [target, source] :
         {std::pair(&equation.left, &equation.right), std::pair(&equation.right, &equation.left)})
      if (target->kind == ExpressionKind::kVariable && !is_known(*target) &&
          source->kind != ExpressionKind::kFunctor && is_known(*source))
        return target;
    return nullptr;
  }

  bool try_comparison(const Literal& literal) {
    if (literal.comparison == Comparison::kEqual && takes_record_apart(literal)) return true;
    // Of patterns and texts, and whatever else may cost or fail, the rule itself takes care.
    if (literal.comparison > Comparison::kGreaterEqual) return false;
    if (!is_plain_computation(literal.left) || !is_plain_computation(literal.right)) return false;
    if (is_known(literal.left) && is_known(literal.right)) return true;
    if (literal.comparison != Comparison::kEqual) return false;
    const Expression* const target = named(literal);
    if (target != nullptr) known_[target->variable] = true;
    return target != nullptr;
  }

  // `variable = [a, b]` where the variable is known: then its fields are.
  bool takes_record_apart(const Literal& literal) {
    for (const auto& [whole, fields] :
         {std::pair(&literal.left, &literal.right), std::pair(&literal.right, &literal.left)}) {
      if (whole->kind != ExpressionKind::kVariable || !known_[whole->variable] ||
          fields->kind != ExpressionKind::kFunctor || fields->functor != Functor::kPack)
        continue;
      for (const Expression& field : fields->arguments)
        if (field.kind == ExpressionKind::kVariable) known_[field.variable] = true;
      return true;
    }
    return false;
  }

  void take_comparisons() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::uint32_t i = 0; i < rule_.body.size(); ++i) {
        if (is_taken_[i] || rule_.body[i].kind != LiteralKind::kComparison) continue;
        if (!try_comparison(rule_.body[i])) continue;
        is_taken_[i] = goes_on = true;
        steps_.push_back({.literal = i});
      }
    }
  }

  const Rule& rule_;
  std::vector<bool> known_;  // by variable
  const std::vector<bool>& is_restricted_;
  std::vector<bool> is_taken_;  // by literal
  std::vector<PassStep> steps_;
};

}  // namespace

std::vector<PassStep> pass_bindings(const Rule& rule, std::vector<bool> known_variables,
                                    const std::vector<bool>& is_restricted) {
  return BindingPass(rule, std::move(known_variables), is_restricted).run();
}

}  // namespace stratalog::datalog::language
