// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/aggregate_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "datalog/language/aggregate_body.h"
#include "datalog/language/lattice_terms.h"
#include "datalog/language/scope_grounding.h"

namespace stratalog::datalog::language {
namespace {

class TermFinder {
 public:
  TermFinder(const ProgramSyntax& program, const LatticeOfRelation& lattices,
             const AggregateSyntax& aggregate)
      : program_(program), lattices_(lattices), aggregate_(aggregate) {}

  std::optional<AggregateTerms> find(const AtomSyntax& head, const Conjunction& around) {
    DiagnosticSink unheard;
    std::vector<Conjunction> bodies;
    if (!expand_body(aggregate_.body, unheard, bodies) || bodies.size() != 1) return std::nullopt;
    Conjunction& body = bodies[0];
    drop_repeated_atoms(body);
    for (const Goal& goal : body) {
      if (has_generator(*goal.formula) || goal.kind == GoalKind::kFalse) return std::nullopt;
      goals_.push_back(goal_formula(goal));
    }
    if (!look_at_atoms(counts_tuples(body))) return std::nullopt;
    note_types(around);
    if (!divide_names(head, around, body) || !find_value()) return std::nullopt;
    if (!ground_outer_names(around, grounded_names(body, {}, nullptr, nullptr)))
      return std::nullopt;
    result_.body = all_of(std::move(goals_), aggregate_.body.span);
    return std::move(result_);
  }

 private:
  const RelationSyntax* relation_of(const AtomSyntax& atom) const {
    const auto found = std::ranges::find(program_.relations, atom.relation.name,
                                         [](const RelationSyntax& r) { return r.name.name; });
    return found != program_.relations.end() && found->attributes.size() == atom.arguments.size()
               ? &*found
               : nullptr;
  }

  // Every positive atom has variables, constants and `_` only, which gets a name where it counts.
  bool look_at_atoms(bool counts_wildcards) {
    for (Formula& goal : goals_) {
      if (goal.kind != FormulaKind::kAtom) continue;
      const RelationSyntax* relation = relation_of(goal.atom);
      if (relation == nullptr || is_subsumed(relation->name.name)) return false;
      for (std::size_t i = 0; i < goal.atom.arguments.size(); ++i) {
        Term& argument = goal.atom.arguments[i];
        const AttributeSyntax& attribute = relation->attributes[i];
        if (argument.kind == TermKind::kWildcard && counts_wildcards && !attribute.is_lattice)
          argument = variable_term(fmt::format("_#{}", wildcards_++), argument.span);
        if (argument.kind == TermKind::kVariable) {
          types_.emplace(argument.text, attribute.type);
          own_.insert(argument.text);
          if (attribute.is_lattice) values_[argument.text] = lattices_.find(relation->name.name);
        } else if (argument.kind != TermKind::kWildcard && attribute.is_lattice) {
          return false;  // it changes whether the value is this one
        } else if (NameSet names; collect_names(argument, names), !names.empty()) {
          return false;
        }
      }
    }
    return true;
  }

  bool is_subsumed(const std::string& name) const {
    return std::ranges::any_of(program_.rules, [&](const RuleSyntax& rule) {
      return rule.role == RuleRole::kSubsumes && rule.heads[0].relation.name == name;
    });
  }

  // Of variables that are known from outside only.
  void note_types(const Conjunction& around) {
    for (const Goal& goal : around) {
      if (goal.kind != GoalKind::kAtom) continue;
      const RelationSyntax* relation = relation_of(goal.formula->atom);
      for (std::size_t i = 0; relation != nullptr && i < relation->attributes.size(); ++i)
        if (const Term& argument = goal.formula->atom.arguments[i];
            argument.kind == TermKind::kVariable)
          types_.emplace(argument.text, relation->attributes[i].type);
    }
  }

  // As names are bound (bind_rule.cc): those of the target are the aggregate's own.
  bool divide_names(const AtomSyntax& head, const Conjunction& around, const Conjunction& body) {
    NameSet hidden;
    NameSet inside;
    if (aggregate_.target) collect_names(*aggregate_.target, hidden);
    collect_names(body, inside);
    const NameSet grounded = grounded_names(around, {}, &aggregate_, nullptr);
    NameSet mentioned;
    for (const Term& argument : head.arguments) collect_names(argument, mentioned);
    for (const Goal& goal : around)
      if (!has_generator(*goal.formula)) collect_all_names(*goal.formula, mentioned);
    for (const std::string& name : inside) {
      if (hidden.contains(name) || !grounded.contains(name)) {
        // A witness, which an aggregate that changes has none of.
        if (!hidden.contains(name) && mentioned.contains(name)) return false;
        continue;
      }
      if (values_.contains(name)) return false;
      own_.erase(name);
      if (!add(name, result_.outer)) return false;
    }
    return std::ranges::all_of(own_, [&](const std::string& name) {
      return values_.contains(name) || add(name, result_.own);
    });
  }

  // Where only a test of the aggregate's body names what it takes from outside, that is what atoms
  // outside have at most.
  bool ground_outer_names(const Conjunction& around, NameSet grounded) {
    for (const TypedName& outer : result_.outer) {
      if (grounded.contains(outer.name)) continue;
      const auto goal = std::ranges::find_if(around, [&](const Goal& each) {
        return each.kind == GoalKind::kAtom && has_argument(each.formula->atom, outer.name);
      });
      if (goal == around.end()) return false;
      AtomSyntax atom = goal->formula->atom;
      for (Term& argument : atom.arguments) {
        const bool is_outer = argument.kind == TermKind::kVariable && takes(argument.text);
        if (is_outer) grounded.insert(argument.text);
        if (!is_outer) argument = Term();  // `_`
      }
      goals_.push_back(atom_formula(std::move(atom)));
    }
    return true;
  }

  bool takes(const std::string& name) const {
    return std::ranges::any_of(result_.outer,
                               [&](const TypedName& outer) { return outer.name == name; });
  }

  static bool has_argument(const AtomSyntax& atom, const std::string& name) {
    return std::ranges::any_of(atom.arguments, [&](const Term& argument) {
      return argument.kind == TermKind::kVariable && argument.text == name;
    });
  }

  bool add(const std::string& name, std::vector<TypedName>& to) const {
    const auto type = types_.find(name);
    if (type == types_.end()) return false;
    to.push_back({name, {type->second.name, aggregate_.body.span}});
    return true;
  }

  // What a lattice holds goes on while the recursion runs: it may be the value, or unused.
  bool find_value() {
    const Span span = aggregate_.body.span;
    NameSet used;
    if (aggregate_.target) collect_names(*aggregate_.target, used);
    for (const auto& [name, lattice] : values_) {
      std::size_t count = 0;
      for (const Formula& goal : goals_) count += occurrences(goal, name);
      if (count > 1) return false;
      if (!used.contains(name)) continue;
      result_.changes = true;
      if (!rises_with_its_variables(*aggregate_.target) || lattice == lattices_.end() ||
          !goes(*lattice->second, direction_of(aggregate_.function)))
        return false;
    }
    if (!aggregate_.target) {
      result_.value.kind = TermKind::kInteger;
      result_.value.text = "1";
      result_.value.span = span;
      result_.value_type = result_.base_type = {"number", span};
      return true;
    }
    result_.value = *aggregate_.target;
    std::set<std::string> bases;
    for (const std::string& name : used) {
      const auto type = types_.find(name);
      if (type == types_.end()) return false;
      bases.insert(base_type_of(program_, type->second.name));
      result_.value_type = {type->second.name, span};
    }
    if (bases.size() != 1 || !zero_of(*bases.begin(), span)) return false;
    result_.base_type = {*bases.begin(), span};
    if (aggregate_.target->kind == TermKind::kVariable) {
      if (!result_.changes)  // it is the value itself that tells terms apart
        std::erase_if(result_.own,
                      [&](const TypedName& own) { return own.name == result_.value.text; });
      return true;
    }
    result_.value_type = result_.base_type;
    return is_arithmetic(*aggregate_.target);
  }

  static std::size_t occurrences(const Formula& formula, const std::string& name) {
    std::size_t count = 0;
    for (const Term& term : formula.atom.arguments) count += occurrences(term, name);
    for (const Term& term : formula.operands) count += occurrences(term, name);
    for (const Formula& child : formula.children) count += occurrences(child, name);
    return count;
  }
  static std::size_t occurrences(const Term& term, const std::string& name) {
    std::size_t count = term.kind == TermKind::kVariable && term.text == name ? 1 : 0;
    for (const Term& argument : term.arguments) count += occurrences(argument, name);
    return count;
  }

  static bool rises_with_its_variables(const Term& term) {
    return term.kind != TermKind::kFunctor ||
           ((term.functor == Functor::kAdd || term.functor == Functor::kMin ||
             term.functor == Functor::kMax) &&
            std::ranges::all_of(term.arguments, rises_with_its_variables));
  }

  // Of the same kind as its variables.
  static bool is_arithmetic(const Term& term) {
    switch (term.kind) {
      case TermKind::kVariable:
      case TermKind::kInteger:
      case TermKind::kUnsigned:
      case TermKind::kFloat:
        return true;
      case TermKind::kFunctor:
        return term.functor <= Functor::kLogicalXor &&
               std::ranges::all_of(term.arguments, is_arithmetic);
      default:
        return false;
    }
  }

  const ProgramSyntax& program_;
  const LatticeOfRelation& lattices_;
  const AggregateSyntax& aggregate_;
  AggregateTerms result_;
  std::vector<Formula> goals_;
  std::map<std::string, NameSyntax> types_;
  NameSet own_;
  std::map<std::string, LatticeOfRelation::const_iterator> values_;
  std::uint32_t wildcards_ = 0;
};

}  // namespace

std::optional<AggregateTerms> find_terms(const ProgramSyntax& program,
                                         const LatticeOfRelation& lattices,
                                         const AggregateSyntax& aggregate, const AtomSyntax& head,
                                         const Conjunction& around) {
  return TermFinder(program, lattices, aggregate).find(head, around);
}

std::optional<Term> zero_of(const std::string& type, Span span) {
  Term zero;
  zero.span = span;
  if (type == "number") {
    zero.kind = TermKind::kInteger;
    zero.text = "0";
  } else if (type == "unsigned") {
    zero.kind = TermKind::kUnsigned;
    zero.text = "0u";
  } else if (type == "float") {
    zero.kind = TermKind::kFloat;
    zero.text = "0.0";
  } else {
    return std::nullopt;
  }
  return zero;
}

}  // namespace stratalog::datalog::language
