// SPDX-License-Identifier: Apache-2.0
// needed_relations: which relations some .output or .printsize depends on. Soufflé forgets the
// others. Pure. Local.
#pragma once

#include <vector>

#include "datalog/language/stratify.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

// By relation. All of them where nothing is put out.
std::vector<bool> needed_relations(const std::vector<Relation>& relations,
                                   const std::vector<Dependency>& dependencies);

}  // namespace stratalog::datalog::language
