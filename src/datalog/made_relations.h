// SPDX-License-Identifier: Apache-2.0
// Relations that the compiler makes out of rules (for autoinc(), for aggregates in recursion, for
// parts of a body of their own, for `_` and for joins in aggregates), and how people are told of
// them. Their names have a `#`, which no program can write, behind the name of the relation that
// they are made for. Pure; local.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "datalog/program.h"

namespace stratalog::datalog {

inline bool is_made_name(std::string_view relation) {
  return relation.find('#') != std::string_view::npos;
}
inline bool is_made_relation(const Relation& relation) { return is_made_name(relation.name); }

inline std::string_view made_for(std::string_view relation) {
  return relation.substr(0, relation.find('#'));
}

// "a part of controls" for one that is made for `controls`.
inline std::string shown_relation(std::string_view relation) {
  std::string shown(made_for(relation));
  return is_made_name(relation) ? "a part of " + shown : shown;
}

// The relations of a stratum, "path, reach", without those that are made for rules, unless there is
// nothing else.
inline std::string shown_relations(std::string_view names) {
  std::string shown;
  for (std::string_view rest = names; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(rest.size(), name.size() + 2));
    if (is_made_name(name)) continue;
    if (!shown.empty()) shown += ", ";
    shown += name;
  }
  return shown.empty() ? shown_relation(names.substr(0, names.find(", "))) : shown;
}

}  // namespace stratalog::datalog
