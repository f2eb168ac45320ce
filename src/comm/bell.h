// SPDX-License-Identifier: Apache-2.0
// Bell: what threads that stand for ranks wait for, a number that grows when something has
// happened. Where there is a core for each rank, who waits looks a while, then lends the core, and
// sleeps only then: small rounds are shorter than a sleep. Local to a process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace stratalog {

// A look at memory that another core is about to change.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// So long a rank that waits lends its core before it sleeps.
inline constexpr std::chrono::microseconds kLends{3000};

class Bell {
 public:
  enum class Cores : std::uint8_t { kOwn, kCrowded };

  explicit Bell(int looks) : looks_(looks) {}

  void ring() {
    rung_.fetch_add(1, std::memory_order_release);
    rung_.notify_all();
  }

  // Returns when `done()` holds; whatever makes it hold is followed by ring(). Who may be waited
  // for on the same core is given it at once. True if others may have run on this core meanwhile.
  template <typename Done>
  bool wait(Cores cores, Done&& done) const {
    for (int look = 0; cores == Cores::kOwn && look < looks_; ++look) {
      if (done()) return false;
      pause_briefly();
    }
    // Who is woken may be put on the core of the waker: short waits are not slept through, but the
    // core is lent to whoever else wants it.
    if (looks_ > 0) {
      const auto until = std::chrono::steady_clock::now() + kLends;
      do {
        if (done()) return true;
        std::this_thread::yield();
      } while (std::chrono::steady_clock::now() < until);
    }
    for (bool has_slept = false;; has_slept = true) {
      const std::uint32_t before = rung_.load(std::memory_order_acquire);
      if (done()) return has_slept || looks_ > 0;
      rung_.wait(before, std::memory_order_acquire);
    }
  }

 private:
  std::atomic<std::uint32_t> rung_ = 0;
  int looks_;
};

}  // namespace stratalog
