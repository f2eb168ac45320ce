// SPDX-License-Identifier: Apache-2.0
// VariableSet: variables of one rule as bits, because the search for an order copies and compares
// sets of them many thousand times. Pure; local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog {

class VariableSet {
 public:
  VariableSet() = default;
  explicit VariableSet(const std::set<VariableId>& variables) {
    for (const VariableId v : variables) insert(v);
  }

  bool contains(VariableId v) const {
    return v / kBits < words_.size() && ((words_[v / kBits] >> (v % kBits)) & 1U) != 0;
  }
  void insert(VariableId v) {
    if (v / kBits >= words_.size()) words_.resize((v / kBits) + 1);
    words_[v / kBits] |= std::uint64_t{1} << (v % kBits);
  }
  bool empty() const {
    return std::ranges::all_of(words_, [](std::uint64_t word) { return word == 0; });
  }
  bool is_within(const VariableSet& other) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      if ((words_[w] & ~(w < other.words_.size() ? other.words_[w] : 0)) != 0) return false;
    return true;
  }

 private:
  static constexpr VariableId kBits = 64;
  std::vector<std::uint64_t> words_;
};

}  // namespace stratalog::datalog
