// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/subtype_lattice.h"

#include <algorithm>

namespace stratalog::datalog::language {

const TypeLeaves& SubtypeLattice::leaves(const std::string& type) {
  const auto [entry, is_new] = known_.try_emplace(type);
  if (!is_new) return entry->second;
  std::vector<std::string> waiting{type};
  std::set<std::string> seen;
  while (!waiting.empty()) {
    const std::string name = std::move(waiting.back());
    waiting.pop_back();
    if (!seen.insert(name).second) continue;
    const TypeSyntax* syntax = types_.declaration(name);
    if (syntax == nullptr || syntax->members.empty() || syntax->form == TypeForm::kSubtype) {
      entry->second.insert(name);
      continue;
    }
    for (const NameSyntax& member : syntax->members) waiting.push_back(member.name);
  }
  return entry->second;
}

// Both are leaves; walks up from `low`, through aliases of its bases.
bool SubtypeLattice::is_leaf_below(const std::string& low, const std::string& high) const {
  const std::string* name = &low;
  for (;;) {
    if (*name == high) return true;
    const TypeSyntax* syntax = types_.declaration(*name);
    if (syntax == nullptr || syntax->members.empty() || syntax->form == TypeForm::kUnion)
      return false;
    name = &syntax->members[0].name;
  }
}

bool SubtypeLattice::is_below(const TypeLeaves& low, const TypeLeaves& high) const {
  return std::all_of(low.begin(), low.end(), [&](const std::string& leaf) {
    return std::any_of(high.begin(), high.end(),
                       [&](const std::string& other) { return is_leaf_below(leaf, other); });
  });
}

TypeLeaves SubtypeLattice::meet(const TypeLeaves& a, const TypeLeaves& b) const {
  TypeLeaves result;
  for (const std::string& left : a) {
    for (const std::string& right : b) {
      if (is_leaf_below(left, right)) {
        result.insert(left);
      } else if (is_leaf_below(right, left)) {
        result.insert(right);
      }
    }
  }
  return result;
}

}  // namespace stratalog::datalog::language
