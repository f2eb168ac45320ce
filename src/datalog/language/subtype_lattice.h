// SPDX-License-Identifier: Apache-2.0
// The order of declared types: subtypes below their base, members below their union, aliases equal.
// Unions are kept as the sets of their leaves (types that are not unions). Pure after construction.
// Local.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "datalog/language/declarations.h"

namespace stratalog::datalog::language {

using TypeLeaves = std::set<std::string>;

class SubtypeLattice {
 public:
  explicit SubtypeLattice(const TypeTable& types) : types_(types) {}

  // The leaves of a type by its name; a primitive or a subtype is its own leaf.
  const TypeLeaves& leaves(const std::string& type);

  // Every value of `low` is one of `high`.
  bool is_below(const TypeLeaves& low, const TypeLeaves& high) const;

  // What is below both; empty when they have nothing in common.
  TypeLeaves meet(const TypeLeaves& a, const TypeLeaves& b) const;

 private:
  bool is_leaf_below(const std::string& low, const std::string& high) const;

  const TypeTable& types_;
  std::map<std::string, TypeLeaves> known_;
};

}  // namespace stratalog::datalog::language
