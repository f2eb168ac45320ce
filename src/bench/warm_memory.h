// SPDX-License-Identifier: Apache-2.0
// WarmMemory: a benchmark in a virtual machine pays for memory that nobody has used for a while:
// the host has taken it back, and hands it out again a page at a time, at a tenth of the speed of
// memory (0.4 GB/s, and 5.3 where it was used just before). Whichever strategy comes after a pause
// would pay that for all. Where "a while" is a second or so, who takes pages as slowly as a disk
// writes them may pay, and who takes all of them first does not: some memory therefore becomes free
// while the measurement goes on.
// Local.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace stratalog {

class WarmMemory {
 public:
  WarmMemory() = default;
  ~WarmMemory() { clear(); }
  WarmMemory(const WarmMemory&) = delete;
  WarmMemory& operator=(const WarmMemory&) = delete;

  // Touches so much memory. `now` bytes are free when this returns, so that who allocates next
  // finds them at hand; `later` bytes become free from then on, all processes together about 1.3
  // GB/s. No more than three quarters of a fair share of what is free, among `sharers` processes of
  // this machine; without memory, nothing. What an earlier call holds is freed before.
  void warm(std::uint64_t now, std::uint64_t later, int sharers);
  // Bytes that are still to become free.
  std::uint64_t held();
  // Frees them.
  void clear();

 private:
  static constexpr std::size_t kSliceBytes = std::size_t{64} << 20;

  void free_slice();

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_ while there is a thread.
  bool stops_ = false;
  std::vector<std::byte*> slices_;  // of kSliceBytes each
  std::thread thread_;
};

}  // namespace stratalog
