// SPDX-License-Identifier: Apache-2.0
// needed_relations: which relations some .output or .printsize depends on; fillable_relations:
// which may ever hold a tuple. Soufflé forgets the others, and rules that read what is always
// empty. Pure. Local.
#pragma once

#include <vector>

#include "datalog/language/stratify.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

// By relation: those in `open`, and all that they depend on.
std::vector<bool> with_sources(std::vector<RelationId> open, std::size_t relation_count,
                               const std::vector<Dependency>& dependencies);

// By relation. All of them where nothing is put out.
std::vector<bool> needed_relations(const std::vector<Relation>& relations,
                                   const std::vector<Dependency>& dependencies);

// By relation: read from files, or derived by a rule none of whose atoms is always empty. A
// recursion that nothing begins counts as fillable, as in Soufflé.
std::vector<bool> fillable_relations(const std::vector<Relation>& relations,
                                     const std::vector<Rule>& rules);

}  // namespace stratalog::datalog::language
