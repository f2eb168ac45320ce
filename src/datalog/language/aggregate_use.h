// SPDX-License-Identifier: Apache-2.0
// How a rule uses an aggregate whose value changes while a recursion runs: whether it only asks for
// what stays true as the value goes on in its direction. Pure. Local.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "datalog/language/recursion_groups.h"
#include "datalog/language/rule_expansion.h"
#include "datalog/language/term_trend.h"

namespace stratalog::datalog::language {

// By the name of a relation whose last attribute is a value of the lattice.
using LatticeOfRelation = std::map<std::string, const LatticeSyntax*>;

// `count`, `sum` and `max` go up, `min` goes down; `mean` does neither, and is not asked for.
Direction direction_of(AggregateFunction function);

// Whether a lattice keeps the greatest (or least) value.
bool goes(const LatticeSyntax& lattice, Direction direction);

// One side of a comparison that is an aggregate: `body[goal]`, operand 0 or 1.
struct AggregatePlace {
  std::size_t goal = 0;
  std::size_t operand = 0;
};

// The variable that is equal to the aggregate; empty where the aggregate itself is compared.
std::string variable_of(const Conjunction& body, AggregatePlace place);

class UseChecker {
 public:
  UseChecker(const ProgramSyntax& program, const LatticeOfRelation& lattices,
             const RecursionGroups& groups)
      : program_(program), lattices_(lattices), groups_(groups) {}

  // Why the rule takes notice of the aggregate's value on its way; nothing if it does not.
  std::optional<NoteDraft> refuse(const AtomSyntax& head, const Conjunction& body,
                                  AggregatePlace place, const std::string& base) const;

  // The same of all that its other literals take from the recursion and that changes there.
  std::optional<NoteDraft> refuse_others(const AtomSyntax& head, const Conjunction& body) const;

 private:
  std::optional<NoteDraft> refuse_value(const AtomSyntax& head, const Conjunction& body,
                                        std::size_t own_goal, const ChangingValue& value,
                                        Span span) const;
  std::optional<NoteDraft> refuse_in_head(const AtomSyntax& head, std::size_t attribute,
                                          const ChangingValue& value) const;
  std::optional<NoteDraft> refuse_atom(const AtomSyntax& head, const Conjunction& body,
                                       std::size_t goal) const;
  bool is_subsumed(const std::string& relation) const;

  const ProgramSyntax& program_;
  const LatticeOfRelation& lattices_;
  const RecursionGroups& groups_;
};

}  // namespace stratalog::datalog::language
