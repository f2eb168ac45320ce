// SPDX-License-Identifier: Apache-2.0
// Relations that the compiler makes out of a rule (for autoinc(), for parts of a body of their own,
// for `_` in aggregates) are not the user's: proofs pass over them. Pure; local.
#pragma once

#include <vector>

#include "datalog/program.h"
#include "datalog/prove/prove.h"

namespace stratalog::datalog {

// Names of such relations have a `#`, which no program can write.
inline bool is_made_relation(const Relation& relation) {
  return relation.name.find('#') != std::string::npos;
}

// A premise of a made relation gives way to its own premises and conditions. `is_made` says it of
// each node; the first one is not. Heights count what is left.
Proof without_made_relations(Proof proof, const std::vector<bool>& is_made);

}  // namespace stratalog::datalog
