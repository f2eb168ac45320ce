// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/aggregate_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "datalog/language/scope_grounding.h"

namespace stratalog::datalog::language {
namespace {

constexpr const char* kNoGenerator = " with no aggregate and no range on the other side";

bool mentions(const Term& term, const std::string& name) {
  NameSet names;
  collect_names(term, names);
  return names.contains(name);
}

bool mentions_anywhere(const Formula& formula, const std::string& name) {
  NameSet names;
  collect_all_names(formula, names);
  return names.contains(name);
}

// Whether a comparison stays true as its operand number `operand` goes on.
bool stays_true(Comparison comparison, std::size_t operand, Direction direction) {
  const bool wants_more =
      comparison == Comparison::kGreater || comparison == Comparison::kGreaterEqual;
  const bool wants_less = comparison == Comparison::kLess || comparison == Comparison::kLessEqual;
  const bool is_up = direction == Direction::kUp;
  return operand == 0 ? (is_up ? wants_more : wants_less) : (is_up ? wants_less : wants_more);
}

const char* verb_of(Direction direction) { return direction == Direction::kUp ? "grows" : "falls"; }

// `value` on one side of a comparison, and no aggregate on the other.
bool is_bound_of(const Goal& goal, const std::string& value, Direction direction) {
  if (goal.kind != GoalKind::kComparison || has_generator(*goal.formula)) return false;
  const std::vector<Term>& operands = goal.formula->operands;
  for (std::size_t side = 0; side < 2; ++side)
    if (operands[side].kind == TermKind::kVariable && operands[side].text == value)
      return !mentions(operands[1 - side], value) && stays_true(goal.comparison, side, direction);
  return false;
}

}  // namespace

Direction direction_of(AggregateFunction function) {
  return function == AggregateFunction::kMin ? Direction::kDown : Direction::kUp;
}

bool goes(const LatticeSyntax& lattice, Direction direction) {
  const Functor wanted = direction == Direction::kUp ? Functor::kMax : Functor::kMin;
  return lattice.lub && lattice.lub->kind == TermKind::kFunctor && lattice.lub->functor == wanted;
}

std::string variable_of(const Conjunction& body, AggregatePlace place) {
  const Goal& goal = body[place.goal];
  const Term& other = goal.formula->operands[1 - place.operand];
  const bool is_equal = goal.comparison == Comparison::kEqual;
  return is_equal && other.kind == TermKind::kVariable ? other.text : std::string();
}

std::optional<NoteDraft> UseChecker::refuse(const AtomSyntax& head, const Conjunction& body,
                                            AggregatePlace place, const std::string& base) const {
  const Goal& goal = body[place.goal];
  const Term& term = goal.formula->operands[place.operand];
  const Term& other = goal.formula->operands[1 - place.operand];
  const AggregateFunction function = term.aggregate->function;
  ChangingValue value{.name = variable_of(body, place),
                      .direction = direction_of(function),
                      .base = base,
                      .is_never_negative = function == AggregateFunction::kCount ||
                                           function == AggregateFunction::kSum};
  const bool grows_true = stays_true(goal.comparison, place.operand, value.direction);
  if (grows_true && other.kind != TermKind::kAggregate && other.kind != TermKind::kRange)
    return std::nullopt;
  const bool is_up = value.direction == Direction::kUp;
  if (value.name.empty())
    return NoteDraft{goal.formula->span,
                     fmt::format("this aggregate {} with the recursion, so it can only be compared "
                                 "by `{}` or `{}`{}, or be `n` in `n = ...`",
                                 verb_of(value.direction), is_up ? ">" : "<",
                                 is_up ? ">=" : "<=", grows_true ? kNoGenerator : "")};
  if (mentions_anywhere(term.aggregate->body, value.name))
    return NoteDraft{other.span, fmt::format("`{}` stands in the aggregate, too", value.name)};
  return refuse_value(head, body, place.goal, value, other.span);
}

std::optional<NoteDraft> UseChecker::refuse_value(const AtomSyntax& head, const Conjunction& body,
                                                  std::size_t own_goal, const ChangingValue& value,
                                                  Span span) const {
  for (std::size_t g = 0; g < body.size(); ++g) {
    if (g == own_goal || !mentions_anywhere(*body[g].formula, value.name) ||
        is_bound_of(body[g], value.name, value.direction))
      continue;
    const bool is_up = value.direction == Direction::kUp;
    NoteDraft note{
        body[g].formula->span,
        fmt::format("`{}` {} with the recursion, so a body can only ask for "
                    "`{} {} ...` or `{} {} ...`{}",
                    value.name, verb_of(value.direction), value.name, is_up ? ">" : "<", value.name,
                    is_up ? ">=" : "<=", has_generator(*body[g].formula) ? kNoGenerator : "")};
    if (note.span.begin == note.span.end) note.span = span;
    return note;
  }
  for (std::size_t i = 0; i < head.arguments.size(); ++i)
    if (mentions(head.arguments[i], value.name))
      if (auto note = refuse_in_head(head, i, value)) return note;
  return std::nullopt;
}

std::optional<NoteDraft> UseChecker::refuse_in_head(const AtomSyntax& head, std::size_t attribute,
                                                    const ChangingValue& value) const {
  const Term& term = head.arguments[attribute];
  const std::string verb = verb_of(value.direction);
  const auto lattice = lattices_.find(head.relation.name);
  if (attribute + 1 != head.arguments.size() || lattice == lattices_.end())
    return NoteDraft{term.span, fmt::format("`{}` {} with the recursion, so this attribute would "
                                            "have to be of a lattice `T<>`",
                                            value.name, verb)};
  const std::string& type = lattice->second->type.name;
  const bool keeps_greatest = goes(*lattice->second, Direction::kUp);
  if (!keeps_greatest && !goes(*lattice->second, Direction::kDown))
    return NoteDraft{term.span, fmt::format("`{}` {} with the recursion, and `{}<>` keeps neither "
                                            "the greatest nor the least value",
                                            value.name, verb, type)};
  const Trend trend = trend_of(term, value, type, program_);
  const Trend wanted = keeps_greatest ? Trend::kRises : Trend::kFalls;
  if (trend == wanted || trend == Trend::kStays) return std::nullopt;
  if (trend == Trend::kUnknown)
    return NoteDraft{term.span, fmt::format("this expression is not known to {} while `{}` {}",
                                            keeps_greatest ? "rise" : "fall", value.name, verb)};
  return NoteDraft{term.span,
                   fmt::format("this expression {} while `{}` {}, but `{}<>` keeps the {} value",
                               keeps_greatest ? "falls" : "rises", value.name, verb, type,
                               keeps_greatest ? "greatest" : "least")};
}

std::optional<NoteDraft> UseChecker::refuse_others(const AtomSyntax& head,
                                                   const Conjunction& body) const {
  for (std::size_t g = 0; g < body.size(); ++g)
    if (body[g].kind == GoalKind::kAtom &&
        groups_.are_mutual(body[g].formula->atom.relation.name, head.relation.name))
      if (auto note = refuse_atom(head, body, g)) return note;
  return std::nullopt;
}

// An atom whose tuples may give way to others while the recursion runs.
std::optional<NoteDraft> UseChecker::refuse_atom(const AtomSyntax& head, const Conjunction& body,
                                                 std::size_t goal) const {
  const AtomSyntax& atom = body[goal].formula->atom;
  if (is_subsumed(atom.relation.name))
    return NoteDraft{atom.span, fmt::format("tuples of `{}` are subsumed while it is evaluated, "
                                            "which a rule with such an aggregate cannot follow",
                                            atom.relation.name)};
  const auto lattice = lattices_.find(atom.relation.name);
  if (lattice == lattices_.end() || atom.arguments.empty()) return std::nullopt;
  const Term& term = atom.arguments.back();
  if (term.kind == TermKind::kWildcard) return std::nullopt;
  const bool is_up = goes(*lattice->second, Direction::kUp);
  std::size_t uses = 0;
  for (const Term& argument : atom.arguments) uses += mentions(argument, term.text) ? 1U : 0U;
  if (term.kind != TermKind::kVariable || uses > 1 ||
      (!is_up && !goes(*lattice->second, Direction::kDown)))
    return NoteDraft{term.span, fmt::format("this value of `{}<>` changes with the recursion; only "
                                            "`_`, or a variable of a lattice of `max` or `min`, "
                                            "can stand for it beside such an aggregate",
                                            lattice->second->type.name)};
  const ChangingValue value{.name = term.text,
                            .direction = is_up ? Direction::kUp : Direction::kDown,
                            .base = base_type_of(program_, lattice->second->type.name)};
  return refuse_value(head, body, goal, value, term.span);
}

bool UseChecker::is_subsumed(const std::string& relation) const {
  return std::ranges::any_of(program_.rules, [&](const RuleSyntax& rule) {
    return rule.role == RuleRole::kSubsumes && rule.heads[0].relation.name == relation;
  });
}

}  // namespace stratalog::datalog::language
