// SPDX-License-Identifier: Apache-2.0
// CPU time of this process, for tests that promise speed: wall time would fail on a busy machine.
#pragma once

#include <ctime>

namespace stratalog {

class CpuStopwatch {
 public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

// What a plan may cost, also for 16,384 ranks. Sanitizers make programs several times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kPlanSeconds = 10;
#else
inline constexpr double kPlanSeconds = 1;
#endif

}  // namespace stratalog
