// SPDX-License-Identifier: Apache-2.0
// PlaceIterator: walks what has size() and operator[](place), by value. Local.
#pragma once

#include <cstddef>

namespace stratalog {

template <typename Rows>
class PlaceIterator {
 public:
  PlaceIterator(const Rows& rows, std::size_t at) : rows_(&rows), at_(at) {}
  auto operator*() const { return (*rows_)[at_]; }
  PlaceIterator& operator++() {
    ++at_;
    return *this;
  }
  bool operator==(const PlaceIterator& other) const { return at_ == other.at_; }

 private:
  const Rows* rows_;
  std::size_t at_;
};

}  // namespace stratalog
