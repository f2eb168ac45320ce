// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/bind_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "datalog/language/aggregate_body.h"
#include "datalog/language/declared_names.h"
#include "datalog/language/scope_grounding.h"

namespace stratalog::datalog::language {
namespace {

// The names that are visible in a rule body or in an aggregate's body.
struct Scope {
  const Conjunction* goals = nullptr;
  NameSet mentioned;  // outside of all aggregates
  std::uint32_t depth = 0;  // how many aggregates are around it
  bool counts_tuples = false;  // `_` stands for a variable of its own
  std::map<std::string, VariableId> inherited;  // grounded outside and not hidden by the target
  std::map<std::string, VariableId> names;  // met here so far
  std::vector<BoundLiteral>* literals = nullptr;
};

class Binder {
 public:
  Binder(const Declarations& declarations, DiagnosticSink& sink)
      : names_(declarations, sink), sink_(sink) {}

  std::optional<BoundRule> bind(const AtomSyntax& head, const Conjunction& body, Span span,
                                bool is_fact) {
    rule_.span = span;
    rule_.is_fact = is_fact;
    Scope scope;
    scope.goals = &body;
    for (const Term& argument : head.arguments) collect_names(argument, scope.mentioned);
    collect_names(body, scope.mentioned);
    // The head is bound first, so that its variables have the small numbers, but what it lifts
    // comes last.
    std::vector<BoundLiteral> from_head;
    scope.literals = &from_head;
    bind_head(head, scope);
    scope.literals = &rule_.body;
    for (const Goal& goal : body) bind_goal(goal, scope);
    std::move(from_head.begin(), from_head.end(), std::back_inserter(rule_.body));
    if (!is_ok_ || !names_.is_ok()) return std::nullopt;
    return std::move(rule_);
  }

 private:
  VariableId make_variable(std::string name, Span span, bool is_lifted) {
    rule_.variables.push_back({std::move(name), span, is_lifted});
    return static_cast<VariableId>(rule_.variables.size() - 1);
  }

  VariableId lift(Span span) { return make_variable(fmt::format("_{}", ++lifted_), span, true); }

  VariableId look_up(const std::string& name, Span span, Scope& scope) {
    const auto [entry, is_new] = scope.names.try_emplace(name, 0);
    if (is_new) {
      const auto inherited = scope.inherited.find(name);
      if (inherited != scope.inherited.end()) {
        entry->second = inherited->second;
      } else {
        entry->second = make_variable(shown_name(name), span, false);
        if (scope.depth > 0) rule_.names_inside_aggregates.emplace(name, span);
      }
    }
    return entry->second;
  }

  // Inlining names variables `_x'7`, and `__x'7'9` where it happens twice; the user wrote `x`.
  static std::string shown_name(const std::string& name) {
    const auto marks = static_cast<std::size_t>(std::count(name.begin(), name.end(), '\''));
    return marks == 0 ? name : name.substr(marks, name.find('\'') - marks);
  }

  static BoundTerm variable_term(VariableId variable, Span span) {
    BoundTerm term;
    term.kind = BoundTermKind::kVariable;
    term.variable = variable;
    term.span = span;
    return term;
  }

  void bind_head(const AtomSyntax& head, Scope& scope) {
    rule_.head_span = head.span;
    names_.find_relation(head, rule_.head);
    for (const Term& argument : head.arguments) {
      if (argument.kind == TermKind::kWildcard) {
        is_ok_ = false;
        if (rule_.is_fact) {
          sink_.error(argument.span, "`_` in a fact has no value").expected = "constants only";
        } else {
          sink_.error(argument.span, "`_` in the head of a rule has no value").hint =
              "name the variable and bind it in the body";
        }
        rule_.head_arguments.emplace_back();
        continue;
      }
      rule_.head_arguments.push_back(bind_term(argument, scope));
    }
  }

  void bind_goal(const Goal& goal, Scope& scope) {
    switch (goal.kind) {
      case GoalKind::kAtom:
      case GoalKind::kNegatedAtom:
        bind_atom(goal, scope);
        return;
      case GoalKind::kComparison:
        bind_comparison(goal, scope);
        return;
      case GoalKind::kFalse:
        bind_false(goal, scope);
        return;
    }
  }

  void bind_atom(const Goal& goal, Scope& scope) {
    const AtomSyntax& syntax = goal.formula->atom;
    const bool is_positive = goal.kind == GoalKind::kAtom;
    BoundLiteral literal;
    literal.kind = is_positive ? LiteralKind::kAtom : LiteralKind::kNegatedAtom;
    literal.span = syntax.span;
    literal.atom.span = syntax.span;
    names_.find_relation(syntax, literal.atom.relation);
    std::vector<BoundLiteral> lifted;  // `variable = expression` for each compound argument
    for (const Term& argument : syntax.arguments) {
      literal.atom.arguments.push_back(bind_argument(argument, is_positive, scope, lifted));
    }
    // A negated atom needs its arguments before it, a positive one may bind what they compare with.
    const auto place = is_positive ? lifted.begin() : lifted.end();
    lifted.insert(place, std::move(literal));
    std::move(lifted.begin(), lifted.end(), std::back_inserter(*scope.literals));
  }

  BoundTerm bind_argument(const Term& argument, bool is_positive, Scope& scope,
                          std::vector<BoundLiteral>& lifted) {
    if (argument.kind == TermKind::kWildcard) {
      if (scope.counts_tuples && is_positive)
        return variable_term(lift(argument.span), argument.span);
      BoundTerm wildcard;
      wildcard.span = argument.span;
      return wildcard;
    }
    if (names_.is_record(argument)) {
      const VariableId variable = lift(argument.span);
      const RecordUse use = is_positive ? RecordUse::kFound : RecordUse::kAbsent;
      bind_pattern(variable, argument, use, scope, lifted);
      return variable_term(variable, argument.span);
    }
    return bind_simple(argument, scope, lifted);
  }

  // A variable or a constant; anything else is lifted into `variable = expression`.
  BoundTerm bind_simple(const Term& argument, Scope& scope, std::vector<BoundLiteral>& lifted) {
    BoundTerm bound = bind_term(argument, scope);
    if (bound.kind != BoundTermKind::kFunctor) return bound;
    const VariableId variable = lift(argument.span);
    BoundLiteral equation;
    equation.kind = LiteralKind::kComparison;
    equation.span = argument.span;
    equation.left = variable_term(variable, argument.span);
    equation.right = std::move(bound);
    lifted.push_back(std::move(equation));
    return variable_term(variable, argument.span);
  }

  // `variable = [...]` with nothing but variables and constants among the fields.
  void bind_pattern(VariableId variable, const Term& record, RecordUse use, Scope& scope,
                    std::vector<BoundLiteral>& lifted) {
    BoundLiteral equation;
    equation.kind = LiteralKind::kComparison;
    equation.span = record.span;
    equation.record_use = use;
    equation.left = variable_term(variable, record.span);
    equation.right = pack_term(record);
    for (const Term& field : record.arguments) {
      if (field.kind == TermKind::kWildcard) {
        if (use == RecordUse::kAbsent) report_wildcard_in_absent(field);
        equation.right.arguments.push_back(variable_term(lift(field.span), field.span));
      } else if (names_.is_record(field)) {
        const VariableId inner = lift(field.span);
        bind_pattern(inner, field, use, scope, lifted);
        equation.right.arguments.push_back(variable_term(inner, field.span));
      } else {
        equation.right.arguments.push_back(bind_simple(field, scope, lifted));
      }
    }
    lifted.push_back(std::move(equation));
  }

  void report_wildcard_in_absent(const Term& field) {
    is_ok_ = false;
    sink_.error(field.span, "`_` inside a record of a negated atom has no value").hint =
        "give the records that match a relation of their own and negate that";
  }

  // Without its arguments.
  BoundTerm pack_term(const Term& record) {
    names_.check_branch(record);
    BoundTerm bound;
    bound.kind = BoundTermKind::kFunctor;
    bound.functor = Functor::kPack;
    bound.record = &record;
    bound.span = record.span;
    return bound;
  }

  // `x = [a, b]`: takes x apart, or makes it, whichever is known.
  bool bind_record_equation(const Term& left, const Term& right, Scope& scope) {
    if (!names_.is_record(left) && !names_.is_record(right)) return false;
    const Term& record = names_.is_record(right) ? right : left;
    const Term& other = names_.is_record(right) ? left : right;
    std::vector<BoundLiteral> lifted;
    VariableId variable = 0;
    if (other.kind == TermKind::kWildcard) {
      variable = lift(other.span);
    } else if (names_.is_record(other)) {
      variable = lift(other.span);
      bind_pattern(variable, other, RecordUse::kValue, scope, lifted);
    } else {
      BoundTerm bound = bind_term(other, scope);
      if (bound.kind == BoundTermKind::kVariable) {
        variable = bound.variable;
      } else {
        variable = lift(other.span);
        BoundLiteral equation;
        equation.kind = LiteralKind::kComparison;
        equation.span = other.span;
        equation.left = variable_term(variable, other.span);
        equation.right = std::move(bound);
        lifted.push_back(std::move(equation));
      }
    }
    bind_pattern(variable, record, RecordUse::kValue, scope, lifted);
    std::move(lifted.begin(), lifted.end(), std::back_inserter(*scope.literals));
    return true;
  }

  void bind_comparison(const Goal& goal, Scope& scope) {
    const Term& left = goal.formula->operands[0];
    const Term& right = goal.formula->operands[1];
    if (goal.comparison == Comparison::kEqual && bind_record_equation(left, right, scope)) return;
    if (goal.comparison == Comparison::kEqual &&
        (bind_generator(left, right, goal, scope) || bind_generator(right, left, goal, scope))) {
      return;
    }
    BoundLiteral literal;
    literal.kind = LiteralKind::kComparison;
    literal.span = goal.formula->span;
    literal.comparison = goal.comparison;
    literal.left = bind_term(left, scope);
    literal.right = bind_term(right, scope);
    scope.literals->push_back(std::move(literal));
  }

  // `x = sum ...` and `x = range(...)` where nothing else binds x: x is the result itself. `_ = min
  // ...` only asks whether there is a result.
  bool bind_generator(const Term& name, const Term& generator, const Goal& goal, Scope& scope) {
    const bool is_generator =
        generator.kind == TermKind::kAggregate || generator.kind == TermKind::kRange;
    if (is_generator && name.kind == TermKind::kWildcard) {
      bind_generator_into(generator, lift(name.span), scope);
      return true;
    }
    if (name.kind != TermKind::kVariable || !is_generator) return false;
    if (grounded_names(*scope.goals, known_names(scope), nullptr, &goal).contains(name.text))
      return false;
    NameSet inside;
    for (const Term& argument : generator.arguments) collect_names(argument, inside);
    if (inside.contains(name.text)) return false;
    const VariableId result = look_up(name.text, name.span, scope);
    bind_generator_into(generator, result, scope);
    return true;
  }

  void bind_false(const Goal& goal, Scope& scope) {
    if (scope.depth == 0) {
      rule_.never_fires = true;
      return;
    }
    static const Term kZero = integer("0");
    static const Term kOne = integer("1");
    BoundLiteral literal;
    literal.kind = LiteralKind::kComparison;
    literal.span = goal.formula->span;
    literal.left = bind_constant(kZero, goal.formula->span);
    literal.right = bind_constant(kOne, goal.formula->span);
    scope.literals->push_back(std::move(literal));
  }

  static Term integer(std::string digits) {
    Term term;
    term.kind = TermKind::kInteger;
    term.text = std::move(digits);
    return term;
  }

  static BoundTerm bind_constant(const Term& constant, Span span) {
    BoundTerm bound;
    bound.kind = BoundTermKind::kConstant;
    bound.constant = &constant;
    bound.span = span;
    return bound;
  }

  // Never a wildcard.
  BoundTerm bind_term(const Term& term, Scope& scope) {
    switch (term.kind) {
      case TermKind::kVariable:
        return variable_term(look_up(term.text, term.span, scope), term.span);
      case TermKind::kWildcard: {
        is_ok_ = false;
        sink_.error(term.span, "`_` has no value that could be used here").hint =
            "`_` may only stand as an argument of an atom in a body; name the variable";
        BoundTerm bound;
        bound.span = term.span;
        return bound;
      }
      case TermKind::kInteger:
      case TermKind::kUnsigned:
      case TermKind::kFloat:
      case TermKind::kString:
      case TermKind::kNil:
        return bind_constant(term, term.span);
      case TermKind::kBranch:
        if (!names_.is_record(term)) {
          names_.check_branch(term);
          return bind_constant(term, term.span);
        }
        [[fallthrough]];
      case TermKind::kRecord: {
        BoundTerm bound = pack_term(term);
        for (const Term& field : term.arguments) bound.arguments.push_back(bind_term(field, scope));
        return bound;
      }
      case TermKind::kAggregate:
      case TermKind::kRange: {
        const VariableId result = lift(term.span);
        bind_generator_into(term, result, scope);
        return variable_term(result, term.span);
      }
      case TermKind::kFunctor:
      case TermKind::kCast:
        break;
    }
    BoundTerm bound;
    bound.kind = BoundTermKind::kFunctor;
    bound.span = term.span;
    bound.functor = term.functor;
    if (term.kind == TermKind::kCast) bound.cast = &term;
    if (term.functor == Functor::kExternal) bound.external = names_.find_external(term);
    for (const Term& argument : term.arguments)
      bound.arguments.push_back(bind_term(argument, scope));
    return bound;
  }

  void bind_generator_into(const Term& generator, VariableId result, Scope& scope) {
    if (generator.kind == TermKind::kAggregate) {
      bind_aggregate(generator, result, scope);
      return;
    }
    auto range = std::make_unique<BoundRange>();
    range->variable = result;
    for (const Term& bound : generator.arguments) range->bounds.push_back(bind_term(bound, scope));
    BoundLiteral literal;
    literal.kind = LiteralKind::kRange;
    literal.span = generator.span;
    literal.range = std::move(range);
    scope.literals->push_back(std::move(literal));
  }

  static NameSet known_names(const Scope& scope) {
    NameSet known;
    for (const auto& [name, variable] : scope.inherited) known.insert(name);
    return known;
  }

  void bind_aggregate(const Term& term, VariableId result, Scope& scope) {
    const AggregateSyntax& syntax = *term.aggregate;
    std::vector<Conjunction> bodies;
    if (!expand_body(syntax.body, sink_, bodies)) {
      is_ok_ = false;
      return;
    }
    if (bodies.size() != 1) {
      is_ok_ = false;
      sink_.error(syntax.body.span, "not supported yet: disjunction inside an aggregate").hint =
          "give the body a relation of its own";
      return;
    }
    drop_repeated_atoms(bodies[0]);
    auto aggregate = std::make_unique<BoundAggregate>();
    aggregate->function = syntax.function;
    aggregate->result = result;

    Scope inner;
    inner.goals = &bodies[0];
    inner.depth = scope.depth + 1;
    inner.counts_tuples = counts_tuples(bodies[0]);
    inner.literals = &aggregate->body;
    NameSet hidden;
    NameSet inside;
    // What a fold begins with is not of its own.
    const bool is_fold = syntax.function == AggregateFunction::kFold;
    if (is_fold) {
      collect_names(syntax.target->arguments[1], hidden);
      collect_names(syntax.target->arguments[0], inside);
    } else if (syntax.target) {
      collect_names(*syntax.target, hidden);
    }
    inner.mentioned = hidden;
    if (is_fold) collect_names(syntax.target->arguments[0], inner.mentioned);
    collect_names(bodies[0], inner.mentioned);
    collect_all_names(syntax.body, inside);
    const NameSet grounded = grounded_names(*scope.goals, known_names(scope), &syntax, nullptr);
    for (const std::string& name : inside) {
      if (hidden.contains(name) || !grounded.contains(name)) continue;
      inner.inherited.emplace(name, look_up(name, term.span, scope));
    }
    for (const Goal& goal : bodies[0]) bind_goal(goal, inner);
    if (syntax.target) aggregate->target = bind_term(*syntax.target, inner);
    for (const auto& [name, variable] : inner.names) {
      if (inner.inherited.contains(name)) aggregate->outer.push_back(variable);
    }
    std::vector<VariableId> inherited;
    inherited.reserve(inner.inherited.size());
    for (const auto& [name, variable] : inner.inherited) inherited.push_back(variable);
    add_outer_of_nested(*aggregate, std::move(inherited));
    BoundLiteral literal;
    literal.kind = LiteralKind::kAggregate;
    literal.span = term.span;
    literal.aggregate = std::move(aggregate);
    scope.literals->push_back(std::move(literal));
    export_witnesses(term, bodies[0], result, grounded, inner, scope);
  }

  // `n = max h : student(s, h)` where s is used outside and bound nowhere else: s comes from the
  // tuples that reach the maximum. They are found by joining the body once more, with the target
  // equal to the result.
  void export_witnesses(const Term& term, const Conjunction& body, VariableId result,
                        const NameSet& grounded_outside, const Scope& inner, Scope& scope) {
    const AggregateSyntax& syntax = *term.aggregate;
    NameSet inherited = known_names(inner);
    NameSet witnesses;
    for (const std::string& name : grounded_names(body, inherited, nullptr, nullptr)) {
      const bool is_needed = scope.mentioned.contains(name) && !grounded_outside.contains(name);
      if (is_needed && !inherited.contains(name)) witnesses.insert(name);
    }
    // The result itself may have the name of something inside.
    std::erase_if(witnesses, [&](const std::string& name) {
      const auto known = scope.names.find(name);
      return known != scope.names.end() && known->second == result;
    });
    if (witnesses.empty()) return;
    if (syntax.function != AggregateFunction::kMin && syntax.function != AggregateFunction::kMax) {
      is_ok_ = false;
      const std::string& name = *witnesses.begin();
      DiagnosticDraft& draft = sink_.error(
          term.span,
          fmt::format(
              "`{}` is used outside of this aggregate, which has no single tuple to take it from",
              name));
      draft.hint = fmt::format(
          "bind `{}` outside with a positive atom; only min and max can hand it out", name);
      return;
    }
    Scope again;
    again.goals = &body;
    again.mentioned = inner.mentioned;
    again.depth = scope.depth;
    again.inherited = inner.inherited;
    again.literals = scope.literals;
    for (const std::string& name : witnesses)
      again.inherited.emplace(name, look_up(name, term.span, scope));
    for (const Goal& goal : body) bind_goal(goal, again);
    BoundLiteral literal;
    literal.kind = LiteralKind::kComparison;
    literal.span = term.span;
    literal.left = bind_term(*syntax.target, again);
    literal.right = variable_term(result, term.span);
    scope.literals->push_back(std::move(literal));
  }

  DeclaredNames names_;
  DiagnosticSink& sink_;
  BoundRule rule_;
  std::uint32_t lifted_ = 0;
  bool is_ok_ = true;
};

}  // namespace

std::optional<BoundRule> bind_rule(const AtomSyntax& head, const Conjunction& body, Span rule_span,
                                   bool is_fact, const Declarations& declarations,
                                   DiagnosticSink& sink) {
  return Binder(declarations, sink).bind(head, body, rule_span, is_fact);
}

}  // namespace stratalog::datalog::language
