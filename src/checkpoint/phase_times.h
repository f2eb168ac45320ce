// SPDX-License-Identifier: Apache-2.0
// PhaseTimes: where the time of a save goes on one rank, and the stopwatch that adds to it. Timing
// each of millions of small groups would cost more than encoding them, so encoding is sampled.
// Local.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace stratalog {

struct PhaseTimes {
  std::uint64_t metadata_ns = 0;  // who writes what where: exchanges of sizes, planning, creating
  std::uint64_t route_ns = 0;  // rows on their way to the rank that writes them
  std::uint64_t walk_ns = 0;  // whole traversals: packing, encoding and what they call
  std::uint64_t encode_ns = 0;  // estimated from a sample
  std::uint64_t write_ns = 0;
  std::uint64_t sync_ns = 0;
  std::uint64_t commit_ns = 0;

  // What was walked since `before` was written beside it, which took `busy_ns`, and write_ns has
  // grown by the waiting for that only. Whatever was hidden behind the writing is taken out of
  // walk_ns and encode_ns, so that the phases add up to the time that has passed.
  void count_hidden(const PhaseTimes& before, std::uint64_t busy_ns) {
    const std::uint64_t walked = walk_ns - before.walk_ns;
    const std::uint64_t passed = walked + (write_ns - before.write_ns);
    const std::uint64_t shown = std::min(walked, passed - std::min(passed, busy_ns));
    write_ns = before.write_ns + (passed - shown);
    walk_ns = before.walk_ns + shown;
    if (walked == 0) return;
    const auto share = static_cast<double>(shown) / static_cast<double>(walked);
    encode_ns = before.encode_ns + static_cast<std::uint64_t>(
                                       static_cast<double>(encode_ns - before.encode_ns) * share);
  }
};

inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// How long this thread has waited for those who make its calls (checkpoint/comm_beside.h), which is
// time of no phase.
inline thread_local std::uint64_t waited_for_callers_ns = 0;
// What phases are timed by.
inline std::uint64_t working_ns() { return now_ns() - waited_for_callers_ns; }

// Adds the time of its life to `sum`.
class Stopwatch {
 public:
  explicit Stopwatch(std::uint64_t& sum) : sum_(sum), start_(working_ns()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { sum_ += working_ns() - start_; }

 private:
  std::uint64_t& sum_;
  std::uint64_t start_;
};

// Estimates the time spent in many short calls: every 16th small one counts 16 times; those that
// are much longer than looking at the clock are all timed, so that the rest is not blamed for what
// happened in them.
class SampledTime {
 public:
  // Runs `work`, whose size is `elements`. Time that `work` adds to `other_ns` is not counted.
  template <typename Work>
  auto run(std::uint64_t elements, const std::uint64_t& other_ns, Work&& work) {
    const bool large = elements >= kLarge;
    if (!large && (++calls_ % kStride) != 0) return work();
    const std::uint64_t other_before = other_ns;
    const std::uint64_t start = working_ns();
    auto result = work();
    const std::uint64_t spent = working_ns() - start - (other_ns - other_before);
    total_ns_ += large ? spent : spent * kStride;
    return result;
  }
  std::uint64_t total_ns() const { return total_ns_; }

 private:
  static constexpr std::uint64_t kLarge = 256;
  static constexpr std::uint64_t kStride = 16;
  std::uint64_t calls_ = 0;
  std::uint64_t total_ns_ = 0;
};

}  // namespace stratalog
