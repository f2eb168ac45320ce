// SPDX-License-Identifier: Apache-2.0
// Which relations depend on each other, judged on the syntax, before anything is checked. Pure.
// Local.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

class RecursionGroups {
 public:
  // The names of `program`'s rules, components written out.
  explicit RecursionGroups(const ProgramSyntax& program);

  // Whether the two need each other, or are one that needs itself.
  bool are_mutual(const std::string& one, const std::string& other) const;
  // Whether an aggregate in `formula` reads a relation that needs `head`, of whose rules it is one.
  bool aggregates_in(const Formula& formula, const std::string& head) const;

 private:
  bool aggregates_in(const Term& term, const std::string& head) const;
  bool reads_mutual(const Formula& formula, const std::string& head) const;

  std::map<std::string, std::uint32_t> group_of_;  // recursive ones only
};

}  // namespace stratalog::datalog::language
