// SPDX-License-Identifier: Apache-2.0
// `_` inside aggregates over several atoms: what it stands for must not count, so such an atom
// reads a projection of its relation, a relation of its own with the other columns. Where every
// tuple does count, binding has given `_` a variable, and nothing is left to do here. Local.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "datalog/language/bound_rule.h"
#include "datalog/language/declarations.h"

namespace stratalog::datalog::language {

class AggregateProjections {
 public:
  // Declares what is missing; the same projection is declared once. The relations' names end in `#`
  // and a number, which no program can write.
  explicit AggregateProjections(Declarations& declarations) : declarations_(declarations) {}

  // Changes the aggregates of `rule` and returns the rules of new projections.
  std::vector<BoundRule> apply(BoundRule& rule);

 private:
  void visit(std::vector<BoundLiteral>& literals, const BoundAggregate* around,
             std::vector<BoundRule>& added);
  void project(BoundLiteral& literal, std::vector<BoundRule>& added);
  RelationId declare(const BoundLiteral& literal, const std::vector<std::size_t>& kept);

  Declarations& declarations_;
  std::map<std::string, RelationId> known_;  // by relation and kept columns
};

}  // namespace stratalog::datalog::language
