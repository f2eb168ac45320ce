// SPDX-License-Identifier: Apache-2.0
// PassingPace: how often a rank in the middle of its work looks for mail: seldom enough that
// looking costs nothing, often enough that what it sends and gets is under way. Local.
#pragma once

#include <chrono>

namespace stratalog::datalog {

class PassingPace {
 public:
  bool is_due() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + kBetween;
    return true;
  }

 private:
  static constexpr std::chrono::microseconds kBetween{200};

  std::chrono::steady_clock::time_point next_;
};

}  // namespace stratalog::datalog
