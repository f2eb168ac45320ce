// SPDX-License-Identifier: Apache-2.0
// What an aggregate runs over, as a relation would have to hold it: a column for each variable that
// it takes from outside, one for each of its own, and the value. Pure. Local.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datalog/language/aggregate_use.h"
#include "datalog/language/rule_expansion.h"

namespace stratalog::datalog::language {

struct TypedName {
  std::string name;
  NameSyntax type;
};

struct AggregateTerms {
  std::vector<TypedName> outer;
  std::vector<TypedName> own;  // those that tell terms apart, with the value
  Term value;  // 1 for `count`
  bool changes = false;  // the value, as it comes from a lattice
  NameSyntax value_type;
  NameSyntax base_type;  // number, unsigned or float
  Formula body;
};

// The terms of an aggregate of `around`, the body below `head` of which it is a part. Nothing where
// the types of its variables cannot be read off atoms, or where a term whose value goes the other
// way than the aggregate, or that several tests see, would not stay one. Reads relations over
// lattices that are not written out yet.
std::optional<AggregateTerms> find_terms(const ProgramSyntax& program,
                                         const LatticeOfRelation& lattices,
                                         const AggregateSyntax& aggregate, const AtomSyntax& head,
                                         const Conjunction& around);

// The constant 0 of a primitive type; nothing of a symbol.
std::optional<Term> zero_of(const std::string& type, Span span);

}  // namespace stratalog::datalog::language
