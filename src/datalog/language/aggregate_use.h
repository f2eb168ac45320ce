// SPDX-License-Identifier: Apache-2.0
// How a rule uses an aggregate whose value changes while a recursion runs: whether it only asks for
// what stays true as the value goes on in its direction. Pure. Local.
#pragma once

#include <map>
#include <string>

#include "datalog/language/rule_expansion.h"

namespace stratalog::datalog::language {

// By the name of a relation whose last attribute is a value of the lattice.
using LatticeOfRelation = std::map<std::string, const LatticeSyntax*>;

enum class Direction : std::uint8_t { kUp, kDown };

// `count`, `sum` and `max` go up, `min` goes down; `mean` does neither, and is not asked for.
Direction direction_of(AggregateFunction function);

// Whether a lattice keeps the greatest (or least) value.
bool goes(const LatticeSyntax& lattice, Direction direction);

// One side of a comparison that is an aggregate: `body[goal]`, operand 0 or 1.
struct AggregatePlace {
  std::size_t goal = 0;
  std::size_t operand = 0;
};

struct AggregateUse {
  bool is_monotone = false;
  // The variable that is equal to the aggregate; empty where the aggregate itself is compared.
  std::string variable;
};

AggregateUse find_use(const AtomSyntax& head, const Conjunction& body, AggregatePlace place,
                      const LatticeOfRelation& lattices);

}  // namespace stratalog::datalog::language
