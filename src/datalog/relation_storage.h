// SPDX-License-Identifier: Apache-2.0
// How a relation is filled and kept, where that changes what it holds. Pure.
#pragma once

#include <algorithm>

#include "datalog/program.h"

namespace stratalog::datalog {

// eqrel: reflexive on its elements, symmetric and transitive; kept as classes.
inline bool is_equivalence(const Relation& relation) {
  return std::find(relation.qualifiers.begin(), relation.qualifiers.end(), "eqrel") !=
         relation.qualifiers.end();
}

// Whether some of its tuples come from files.
inline bool is_read_from_files(const Relation& relation) {
  return std::any_of(relation.io.begin(), relation.io.end(),
                     [](const IoDirective& io) { return io.action == IoAction::kInput; });
}

// Whether its tuples, or how many they are, are an output of the program.
inline bool is_shown(const Relation& relation) {
  return std::any_of(relation.io.begin(), relation.io.end(),
                     [](const IoDirective& io) { return io.action != IoAction::kInput; });
}

// Whether some of its tuples come from standard input, which can be read once.
inline bool is_standard_input(const IoDirective& io) {
  const auto kind = io.parameters.find("IO");
  return io.action == IoAction::kInput && kind != io.parameters.end() && kind->second == "stdin";
}
inline bool reads_standard_input(const Relation& relation) {
  return std::any_of(relation.io.begin(), relation.io.end(), is_standard_input);
}

// A stratum whose relation only holds what is read from files.
inline bool is_only_read(const Program& program, const Stratum& stratum) {
  return stratum.rules.empty() && stratum.subsumptions.empty() &&
         !program.relations[stratum.relations.front()].numbering;
}

// A relation with rules that subsume: it does not only grow. (The language stage adds the
// qualifier, as Soufflé does.)
inline constexpr const char* kShrinkingQualifier = "btree_delete";
inline bool shrinks(const Relation& relation) {
  return std::find(relation.qualifiers.begin(), relation.qualifiers.end(), kShrinkingQualifier) !=
         relation.qualifiers.end();
}

// Whether the relation holds what its rules and its facts say, no matter in which pass they say it.
inline bool holds_what_rules_say(const Relation& relation) {
  return !is_equivalence(relation) && relation.choice_keys.empty() && !relation.size_limit &&
         !relation.numbering && !relation.sums && !shrinks(relation);
}

}  // namespace stratalog::datalog
