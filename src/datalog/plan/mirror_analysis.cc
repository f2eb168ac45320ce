// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/mirror_analysis.h"

#include <algorithm>

#include "datalog/relation_storage.h"

namespace stratalog::datalog {

bool may_be_mirrored(const Program& program, const Stratum& stratum, Strategy strategy) {
  if (strategy != Strategy::kSemiNaive || !stratum.subsumptions.empty()) return false;
  return std::none_of(stratum.relations.begin(), stratum.relations.end(), [&](RelationId r) {
    const Relation& relation = program.relations[r];
    return is_equivalence(relation) || !relation.choice_keys.empty() || shrinks(relation);
  });
}

}  // namespace stratalog::datalog
