// SPDX-License-Identifier: Apache-2.0
// Where a rule itself says what the body of one of its aggregates says, of other values, as in
// `c(x, y, n) :- e(x, k), f(k, y), n = count : { e(x, z), f(z, y) }.`: so people write groups. All
// that the body finds for all groups is then no more than what the rule finds anyway, whereas each
// group by itself may look at much in vain. Pure; local.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog::language {

// Whether a literal may be asked of any binding, at any time, without an error.
bool may_be_asked(const Literal& literal);

// A relation that has some columns of another one, as in `r#1(x, z) :- r(x, _, z).`
struct Projection {
  RelationId of = 0;
  std::vector<std::size_t> columns;
};
using Projections = std::map<RelationId, Projection>;

// Those that the compiler made.
Projections find_projections(const std::vector<Relation>& relations,
                             const std::vector<Rule>& rules);

// Whether a relation is complete before the rule's head begins.
using IsFinished = std::function<bool(RelationId)>;

struct BodyCopy {
  // Of the body's variables: which one of the rule's each is there; nothing where it is `_`.
  std::map<VariableId, std::optional<VariableId>> stands_for;
  std::set<std::size_t> literals;  // of the rule
  bool is_whole = false;  // else the aggregate's body says more, of the same values
  std::vector<Literal> others;  // what else the rule says of the outer variables
};

// Nothing where one atom of the body knows all outer variables, each of which then finds its own at
// once, where the rule restricts the others of its copy further, and where what the body computes
// may fail.
std::optional<BodyCopy> find_copy(const Rule& rule, const Literal& aggregate,
                                  const Projections& projections, const IsFinished& is_finished);

}  // namespace stratalog::datalog::language
