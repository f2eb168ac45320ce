// SPDX-License-Identifier: Apache-2.0
// Rules over relations that keep one value of each key, a better one taking the place of the one
// before: whether what a rule derives from a value still stands once there is a better one. Then
// the rules together only grow in the order of such values, and have one least fixpoint, which can
// be reached from anything below it that the rules follow from: from the fixpoint of fewer facts,
// too. Values that leave their 64 bits aside. Pure.
#pragma once

#include <map>
#include <optional>

#include "datalog/plan/best_value.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// Whose values may get better. All other relations may only get more tuples, or do not change.
using ImprovingRelations = std::map<RelationId, BestValue>;

// Where a better value may take back what the rule has derived, and of which relation; nothing if
// nowhere. True answers are kept where `value >= e` asks for a growing one, where a value is what
// it is compared by as in `Glb(value, known) = known`, and where the head's own value goes the way
// of the body's.
struct TakenBack {
  RelationId relation = 0;
  SourcePlace place;
};
std::optional<TakenBack> may_take_back(const Program& program, const Rule& rule,
                                       const ImprovingRelations& improving);

}  // namespace stratalog::datalog
