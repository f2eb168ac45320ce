// SPDX-License-Identifier: Apache-2.0
// RepeatWatch: whether it is worth remembering what comes by, judged by how much of it has come
// before. Where that is little, whoever remembers rests for some batches, longer each time. Local.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stratalog::datalog {

class RepeatWatch {
 public:
  // Worth it where one row in `least` has come before.
  explicit RepeatWatch(std::uint32_t least) : least_(least) {}

  // Of the next batch: true if it is one to let pass.
  bool rests() {
    if (rest_ == 0) return false;
    --rest_;
    return true;
  }

  // A batch that was watched. False where a rest begins.
  bool is_worth_it(std::uint64_t rows, std::uint64_t repeated) {
    watched_ += rows;
    repeated_ += repeated;
    if (++batches_ < kTrial) return true;
    const bool is_useless = repeated_ < watched_ / least_;
    watched_ = repeated_ = batches_ = 0;
    rest_ = is_useless ? next_rest_ : 0;
    next_rest_ = is_useless ? std::min(2 * next_rest_, kLongestRest) : kTrial;
    return !is_useless;
  }

 private:
  static constexpr std::uint32_t kTrial = 16;  // batches before each verdict
  static constexpr std::uint32_t kLongestRest = 1U << 16;  // batches

  std::uint32_t least_;
  std::uint64_t watched_ = 0;  // rows since the last verdict
  std::uint64_t repeated_ = 0;  // of them
  std::uint32_t batches_ = 0;  // since the last verdict
  std::uint32_t rest_ = 0;  // batches to let pass
  std::uint32_t next_rest_ = kTrial;
};

}  // namespace stratalog::datalog
