// SPDX-License-Identifier: Apache-2.0
// RankedLists: of rows or elements that are asked for again and again by bounds of their values,
// what all before each of them come to, so that what lies between two bounds is the difference of
// two places: ranks and running totals take the logarithm of a group and not its length. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "datalog/evaluate/aggregate_fold.h"
#include "datalog/evaluate/place_ranges.h"
#include "relation/index.h"

namespace stratalog::datalog {

struct RankedPart {
  std::uint64_t place = 0;
  FoldedPart part;  // counts, and sums of whole numbers
};

class RankedList {
 public:
  explicit RankedList(std::vector<RankedPart> parts);
  // All that lies in the ranges, which are disjoint.
  FoldedPart between(std::span<const PlaceRange> ranges) const;

 private:
  std::vector<RankedPart> parts_;  // ascending; each part is that of all before it
  FoldedPart all_;
};

class RankedLists {
 public:
  // The list of what begins with a row of an index, of so many parts; null as long as it was not
  // asked for often enough, or where lists have become long. `fill(parts)` appends the parts, in
  // any order. What is returned holds until forget().
  template <typename Fill>
  const RankedList* find(const Index& index, RowId first, std::uint64_t size, const Fill& fill) {
    if (size < kWorthRanks) return nullptr;
    Asked& asked = lists_[{&index, first}];
    if (asked.list) return &*asked.list;
    if (++asked.times < kWorthSorting || listed_ + size > kMostListed) return nullptr;
    std::vector<RankedPart> parts;
    parts.reserve(size);
    fill(parts);
    listed_ += parts.size();
    return &asked.list.emplace(std::move(parts));
  }
  // What they were made of may have grown.
  void forget() {
    if (lists_.empty()) return;
    lists_.clear();
    listed_ = 0;
  }

 private:
  // Fewer are looked at one by one just as quickly.
  static constexpr std::uint64_t kWorthRanks = 32;
  // To sort them takes as long as to look at them so many times.
  static constexpr std::uint32_t kWorthSorting = 8;
  static constexpr std::uint64_t kMostListed = 1U << 22;

  using Place = std::pair<const Index*, RowId>;
  struct HashPlace {
    std::size_t operator()(const Place& place) const {
      return std::hash<const Index*>()(place.first) * 31 + place.second;
    }
  };
  struct Asked {
    std::uint32_t times = 0;
    std::optional<RankedList> list;  // once it is made
  };
  std::unordered_map<Place, Asked, HashPlace> lists_;
  std::uint64_t listed_ = 0;
};

}  // namespace stratalog::datalog
