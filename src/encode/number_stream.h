// SPDX-License-Identifier: Apache-2.0
// Streams for encode/trie_streams.h that do not pack: NumberStream keeps the numbers as they are,
// for whoever takes them away in chunks; NumberCounter only counts them, which takes no time with
// large sets. Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stratalog {

class NumberStream {
 public:
  void put(std::uint32_t value) { numbers_.push_back(value); }
  void put_zeros(std::uint64_t count) { numbers_.resize(numbers_.size() + count); }
  template <typename T>
  void put_gaps(std::span<const T> elements, T before) {
    const std::size_t begin = numbers_.size();
    numbers_.resize(begin + elements.size());
    std::uint32_t* const to = numbers_.data() + begin;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      to[i] = static_cast<T>(elements[i] - before - 1);
      before = elements[i];
    }
  }

  // What has been put and not been taken.
  std::span<const std::uint32_t> numbers() const { return numbers_; }
  // Takes the first `count` of them away; the rest moves to the front.
  void take(std::size_t count) {
    numbers_.erase(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(count));
    taken_ += count;
  }
  // Of all that were ever put.
  std::uint64_t values() const { return taken_ + numbers_.size(); }
  std::size_t capacity() const { return numbers_.capacity(); }

 private:
  std::vector<std::uint32_t> numbers_;
  std::uint64_t taken_ = 0;
};

class NumberCounter {
 public:
  static constexpr bool kOnlyCounts = true;

  void put(std::uint32_t /*value*/) { ++values_; }
  void put_zeros(std::uint64_t count) { values_ += count; }
  std::uint64_t values() const { return values_; }

 private:
  std::uint64_t values_ = 0;
};

}  // namespace stratalog
