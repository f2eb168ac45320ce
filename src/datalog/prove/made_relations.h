// SPDX-License-Identifier: Apache-2.0
// Proofs pass over relations that are made for rules. Pure; local.
#pragma once

#include <vector>

#include "datalog/made_relations.h"
#include "datalog/prove/prove.h"

namespace stratalog::datalog {

// A premise of a made relation gives way to its own premises and conditions. `is_made` says it of
// each node; the first one is not. Heights count what is left.
Proof without_made_relations(Proof proof, const std::vector<bool>& is_made);

}  // namespace stratalog::datalog
