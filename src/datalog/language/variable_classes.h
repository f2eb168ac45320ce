// SPDX-License-Identifier: Apache-2.0
// Variables of a rule in classes: which are tied to each other by literals. Pure; local.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog::language {

class VariableClasses {
 public:
  // Each of the variables 0 .. `variables` - 1 in a class of its own.
  explicit VariableClasses(std::size_t variables) : parent_(variables) {
    std::iota(parent_.begin(), parent_.end(), VariableId{0});
  }

  // The variable that stands for the class.
  VariableId find(VariableId variable) {
    while (parent_[variable] != variable) variable = parent_[variable] = parent_[parent_[variable]];
    return variable;
  }
  void unite(VariableId a, VariableId b) { parent_[find(a)] = find(b); }
  // Variables that follow one another.
  template <typename Variables>
  void unite_all(const Variables& variables) {
    for (const VariableId variable : variables) unite(variable, *variables.begin());
  }

 private:
  std::vector<VariableId> parent_;
};

// By literals of `body` other than `but`.
VariableClasses tied_classes(const std::vector<Literal>& body, std::size_t variables,
                             const Literal* but);

}  // namespace stratalog::datalog::language
