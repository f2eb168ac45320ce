// SPDX-License-Identifier: Apache-2.0
// An aggregate of one rule, and the relation that its body becomes where that is worth it. Pure;
// local.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "datalog/language/body_copy.h"
#include "datalog/language/declarations.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

class GatheredBody {
 public:
  // Of the aggregate that is `literal` of the rule; both outlive it.
  GatheredBody(const Rule& rule, const Literal& literal, const IsFinished& is_finished);

  // Looks for a copy first: where there is one, it says all that restricts.
  bool is_worth_it(const Projections& projections, const IsFinished& is_finished);
  // The rule of the relation, whose columns are declared here.
  Rule gather(RelationId relation, Declarations& declarations) const;
  // The aggregate of the relation.
  Literal read(RelationId relation) const;

  // Where the rule says all that the body says: the literals that do, and what the relation's
  // columns are there, where they are not `_`.
  struct InRule {
    std::set<std::size_t> literals;
    std::vector<std::optional<VariableId>> columns;
    std::set<VariableId> outer;
    bool is_renamed = false;  // each variable of the body is one of the rule
    auto operator<=>(const InRule&) const = default;
  };
  std::optional<InRule> in_rule() const;

 private:
  using VariableIds = std::set<VariableId>;

  bool meets_outer(const Literal& literal) const;
  bool is_simple_join() const;
  bool joins_what_is_apart() const;
  void forget_unshared(std::vector<Literal>& body) const;
  std::vector<VariableId> columns() const;
  VariableIds without_computed(VariableIds variables) const;

  const Rule& rule_;
  const Literal& literal_;
  const Aggregate& aggregate_;
  VariableIds outer_;  // of the body
  std::vector<Literal> restricting_;  // what the rule says of them
  VariableIds bound_;  // by atoms of these
  std::optional<BodyCopy> copy_;
};

}  // namespace stratalog::datalog::language
