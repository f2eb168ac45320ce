// SPDX-License-Identifier: Apache-2.0
// PrefetchOrder: which of the ranges that a reader takes one after the other should be asked for
// before which one is read, so that the device has something to do while a file ends and the next
// one is opened. Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stratalog {

class PrefetchOrder {
 public:
  // Larger ranges are not asked for whole, and then not at all: where what was asked for ends, the
  // kernel would begin anew to read ahead, and the device would wait.
  static constexpr std::uint64_t kMost = std::uint64_t{4} << 20;
  // So much is on its way beyond the range that is read and the next one.
  static constexpr std::uint64_t kWindow = std::uint64_t{8} << 20;

  // Bytes of each range, in the order in which they are read.
  explicit PrefetchOrder(std::vector<std::uint64_t> bytes) : bytes_(std::move(bytes)) {}

  struct Part {
    std::size_t begin = 0;  // of the ranges
    std::size_t end = 0;
  };
  // To be asked for before range `reading` is read; call with 0, 1, 2, ... Each range but the first
  // comes once.
  Part before(std::size_t reading);
  // How much of a range is asked for.
  std::uint64_t asked(std::size_t range) const {
    return bytes_[range] <= kMost ? bytes_[range] : 0;
  }

 private:
  std::vector<std::uint64_t> bytes_;
  std::size_t next_ = 1;  // that was not asked for
  std::uint64_t ahead_ = 0;  // bytes of [reading + 1, next_) that were
};

}  // namespace stratalog
