// SPDX-License-Identifier: Apache-2.0
// BindingPass: in which order the atoms of a rule hand bindings to each other when some variables
// of its head are asked for ("sideways information passing"; Beeri and Ramakrishnan, On the power
// of magic, 1991), and which columns of each atom are known when it comes. Says nothing of the
// order in which the rule is joined. Pure; local.
#pragma once

#include <cstdint>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog::language {

// Ascending columns of a relation that are known.
using BoundColumns = std::vector<std::uint32_t>;

// A positive atom, or a comparison that only looks at what is known or gives it another name.
struct PassStep {
  std::uint32_t literal = 0;  // in Rule::body
  BoundColumns bound = {};  // of atoms
};

// All positive atoms of the body. Next comes the one with the fewest unknown variables, of those
// the first as written; last what would have to be asked for as a whole, of the relations that
// `is_restricted` says. Comparisons come as soon as they can.
std::vector<PassStep> pass_bindings(const Rule& rule, std::vector<bool> known_variables,
                                    const std::vector<bool>& is_restricted);

// Of whole numbers, without errors and without texts or records that nobody has made yet: it may be
// computed for more bindings than the rule itself would, and earlier.
bool is_plain_computation(const Expression& e);

}  // namespace stratalog::datalog::language
