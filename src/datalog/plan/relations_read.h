// SPDX-License-Identifier: Apache-2.0
// relations_read: what a stratum needs of others. Pure; local.
#pragma once

#include <set>

#include "datalog/program.h"

namespace stratalog::datalog {

// Relations that the rules of a stratum read in any way, its own among them, and those that
// relations of it number.
std::set<RelationId> relations_read(const Program& program, const Stratum& stratum);

}  // namespace stratalog::datalog
